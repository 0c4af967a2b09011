"""The slot policy in torch, for training; the same arrays and formulas as ``policy`` and ``play_kernel``."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from gridloom.search.arrays import Int32s
from gridloom.targets.streaming.learned.slots.board_kernel import FEATURES, SURVEY, BoardGraph
from gridloom.targets.streaming.learned.slots.play_kernel import look
from gridloom.targets.streaming.learned.slots.policy import ROUNDS, SHAPES, GraphInputs, SlotWeights, inputs_of
from gridloom.targets.streaming.mappers.problem import SpokesProblem


class SlotNetwork(nn.Module):
    """The policy as a module: one parameter for each array of a file of weights."""

    def __init__(self, weights: SlotWeights) -> None:
        super().__init__()
        self.arrays = nn.ParameterDict({name: torch.from_numpy(weights[name].copy()) for name in SHAPES})

    def weights(self) -> SlotWeights:
        """Return a copy of the arrays."""
        return {name: np.ascontiguousarray(value.detach().numpy().copy()) for name, value in self.arrays.items()}

    def contexts(self, inputs: GraphInputs) -> Tensor:
        """Return the context of each node of a graph."""
        w = self.arrays
        nodes, operands, readers, rivals = (
            torch.from_numpy(part) for part in (inputs.nodes, inputs.operands, inputs.readers, inputs.rivals)
        )
        hidden = torch.relu(nodes @ w["first"] + w["first_bias"])
        for k in range(ROUNDS):
            around = (operands @ hidden) @ w[f"round{k}_operands"] + (readers @ hidden) @ w[f"round{k}_readers"]
            around = around + (rivals @ hidden) @ w[f"round{k}_rivals"]
            hidden = hidden + torch.relu(hidden @ w[f"round{k}_self"] + around + w[f"round{k}_bias"])
        out: Tensor = torch.cat([hidden, nodes], dim=1) @ w["context"] + w["context_bias"]
        return out

    def forward(self, context: Tensor, boards: Tensor, rows: Tensor, legal: Tensor) -> Tensor:
        """Return logits [decision, slot] from contexts and surveys [decision, ...] and rows [decision, slot, feature].

        Illegal slots have minus a billion.
        """
        w = self.arrays
        base = context + boards @ w["board"]
        hidden = torch.relu(rows @ w["slot"] + base[:, None, :])
        hidden = torch.relu(hidden @ w["second"] + w["second_bias"])
        goal = boards[:, 8][:, None] * w["new_tile"]
        logits = hidden @ w["score"] + rows @ w["direct"] - goal * rows[:, :, 12]
        return logits.masked_fill(~legal, -1e9)


def play_in_torch(problem: SpokesProblem, graph: BoardGraph, network: SlotNetwork, ii: int) -> Int32s:
    """Return the slot of each node, in the order of the graph, by always taking the greatest logit; with torch.

    Describes the board anew for every node, so it is slow; it is there to be compared with the compiled play. Ends
    early where a node has no slot.
    """
    slots = problem.tiles * ii
    rows, legal = np.zeros((slots, FEATURES), dtype=np.float32), np.zeros(slots, dtype=np.bool_)
    seen = np.zeros(SURVEY, dtype=np.float32)
    chosen: list[int] = []
    with torch.no_grad():
        contexts = network.contexts(inputs_of(problem, graph))
        for n in graph.order:
            rows[:] = 0
            given = np.array(chosen, dtype=np.int32)
            if look(problem.tables, graph, ii, given, 0.0, rows, legal, seen) == 0:
                break
            logits = network(
                contexts[int(n)][None],
                torch.from_numpy(seen)[None],
                torch.from_numpy(rows)[None],
                torch.from_numpy(legal)[None],
            )
            chosen.append(int(logits[0].argmax()))
    return np.array(chosen, dtype=np.int32)
