"""Training of the slot policy: policy gradients with clipped ratios over boards that compiled code plays.

An iteration draws graphs with an array and an II, plays boards of each with the policy as it is, and improves it by
some epochs of the clipped surrogate (PPO, Schulman et al. 2017). All boards of a graph place the same node in the same
step, so the mean return of the others at that step is the baseline, and no critic is needed. Rewards are minus what a
node adds to the longest path, to link clashes and to missing registers; the last one corrects the sum to the price of
the whole placement as the annealer counts it.

Training begins from the hand-written rank (its linear term) with small random layers beside it. Random numbers come
from (seed, iteration) alone, so a run that continues draws what one that was never stopped would have drawn.

The slot policy in torch, for training; the same arrays and formulas as ``policy`` and ``play_kernel``.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gridloom.search.arrays import Int32s
from gridloom.search.settings import check_settings
from gridloom.targets.streaming.learned.checkpoint import Checkpointed
from gridloom.targets.streaming.learned.guided import NOTHING
from gridloom.targets.streaming.learned.slots.board_kernel import FEATURES, SURVEY, BoardGraph
from gridloom.targets.streaming.learned.slots.play_kernel import DecisionRecord, look, play
from gridloom.targets.streaming.learned.slots.policy import (
    ROUNDS,
    SHAPES,
    GraphInputs,
    SlotWeights,
    graph_of,
    inputs_of,
    load_slots,
    net_of,
    random_slots,
    rank_slots,
)
from gridloom.targets.streaming.learned.training_graphs import OwnTasks, StrictTask, draw_strict
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


#: Graphs on which greedy play is measured.
_CHECKS = 24

#: Decisions of one graph that an epoch looks at.
_DECISIONS = 400

#: Discount of later rewards. At 1 the rewards of a board add up to its price; below, the estimates on the way would
#: count for more than the price at the end, and mislead.
_DISCOUNT = 1.0

#: Training begins from this share of the hand-written rank, whose choices are too sure to learn from.
_FLAT = np.float32(0.4)


@dataclass(frozen=True, kw_only=True)
class SlotTrainingConfig:
    """Settings of the training of the slot policy."""

    iterations: int = 300
    #: Graphs per iteration, and boards of each.
    graphs: int = 8
    boards: int = 16
    #: First learning rate, which falls linearly to a twentieth.
    rate: float = 1e-3
    #: Passes over the decisions, how far the ratio may leave 1, weight of the entropy.
    epochs: int = 3
    clip: float = 0.2
    entropy: float = 0.01
    #: The user's array and a hash of the user's graphs, and the weights that training begins with; none: as it ships.
    arch: str = ""
    graphs_hash: str = ""
    start: str = ""

    def __post_init__(self) -> None:
        check_settings(self, at_least={"iterations": 1, "graphs": 1, "boards": 2, "epochs": 1})


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """The boards of one graph: what was seen and chosen, with the advantage of each choice."""

    inputs: GraphInputs
    node: Tensor
    rows: Tensor
    legal: Tensor
    boards: Tensor
    choice: Tensor
    log: Tensor
    advantage: Tensor
    #: Mean and least price of the boards above the longest path, as a share of it.
    excess: float
    least: float


def first_weights(seed: int) -> SlotWeights:
    """Return the weights that training begins from: the hand-written rank, and random layers that add little to it."""
    drawn = random_slots(seed)
    drawn["score"] *= 0.1
    return {**drawn, "direct": _FLAT * rank_slots()["direct"], "new_tile": rank_slots()["new_tile"]}


def collect(task: StrictTask, weights: SlotWeights, boards: int, seed: int) -> Played | None:
    """Play boards of a task at temperature 1; None where all of them are stuck in the first step."""
    problem, ii = task.problem, task.ii
    graph = graph_of(problem, task.order)
    count, slots = problem.size, problem.tiles * ii
    record = DecisionRecord(
        rows=np.zeros((boards, count, slots, FEATURES), dtype=np.float32),
        legal=np.zeros((boards, count, slots), dtype=np.bool_),
        boards=np.zeros((boards, count, SURVEY), dtype=np.float32),
        choice=np.full((boards, count), -1, dtype=np.int32),
        log=np.zeros((boards, count), dtype=np.float32),
        reward=np.zeros((boards, count), dtype=np.float32),
    )
    cost = _costs(task, graph, weights, np.ones(boards, dtype=np.float32), seed, record)
    made = record.choice >= 0
    if not made.any():
        return None
    returns = record.reward.copy()
    for k in range(count - 2, -1, -1):
        returns[:, k] += _DISCOUNT * returns[:, k + 1]
    advantage = returns - returns.mean(axis=0, keepdims=True)
    advantage = np.clip(advantage / (advantage[made].std() + 1e-3), -4, 4)
    capped = np.minimum(cost, 20.0 * graph.floor) / graph.floor - 1
    keep = torch.from_numpy(made.reshape(-1))
    return Played(
        inputs=inputs_of(problem, graph),
        node=torch.from_numpy(np.tile(graph.order.astype(np.int64), boards))[keep],
        rows=torch.from_numpy(record.rows.reshape(-1, slots, FEATURES))[keep],
        legal=torch.from_numpy(record.legal.reshape(-1, slots))[keep],
        boards=torch.from_numpy(record.boards.reshape(-1, SURVEY))[keep],
        choice=torch.from_numpy(record.choice.reshape(-1).astype(np.int64))[keep],
        log=torch.from_numpy(record.log.reshape(-1))[keep],
        advantage=torch.from_numpy(np.ascontiguousarray(advantage).reshape(-1).astype(np.float32))[keep],
        excess=float(capped.mean()),
        least=float(capped.min()),
    )


def _costs(
    task: StrictTask, graph: BoardGraph, weights: SlotWeights, heats: np.ndarray, seed: int, record: DecisionRecord
) -> np.ndarray:
    """Play boards and return what they cost."""
    problem = task.problem
    tile, spoke = (np.zeros((len(heats), problem.size), dtype=np.int32) for _ in range(2))
    cost = np.zeros(len(heats), dtype=np.float32)
    net = net_of(weights, problem, graph)
    play(problem.tables, graph, net, task.ii, seed, heats, task.tiles_weight, np.zeros(1, dtype=np.uint8), tile, spoke,
         cost, record)  # fmt: skip
    return cost


class SlotTraining(Checkpointed):
    """The training of the slot policy; ``folder`` keeps its checkpoint ``slots.pt`` and its curve ``slots.jsonl``."""

    def __init__(self, config: SlotTrainingConfig, seed: int, folder: Path, own: OwnTasks | None = None) -> None:
        super().__init__("slots", config, seed, folder)
        self.own = own
        first = load_slots(config.start) if config.start else first_weights(seed)
        self.module = self.network = SlotNetwork(first)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=config.rate)
        rng = np.random.default_rng((seed, 1))
        self.checks = [draw_strict(rng, own) for _ in range(_CHECKS)]

    def figures(self) -> dict[str, float]:
        """Return what :meth:`measure` does, by name."""
        return dict(zip(("greedy", "stuck"), self.measure(), strict=True))

    def arrays(self) -> dict[str, Any]:
        """Return the weights as compiled play takes them."""
        return self.network.weights()

    def step(self) -> dict[str, Any]:
        """Run one iteration and return its figures."""
        c = self.config
        rng = np.random.default_rng((self.seed, 2, self.iteration))
        self.cool(c.rate)
        weights = self.network.weights()
        tasks = [draw_strict(rng, self.own) for _ in range(c.graphs)]
        seeds = [int(rng.integers(1 << 31)) for _ in tasks]
        # Play is compiled and holds no lock, so that two threads use two cores; the order of results is that of tasks.
        with ThreadPoolExecutor(max_workers=2) as pool:
            played = list(pool.map(lambda one: collect(one[0], weights, c.boards, one[1]), zip(tasks, seeds)))
        kept = [one for one in played if one is not None]
        parts = [self._improve(kept, rng) for _ in range(c.epochs)]
        self.iteration += 1
        self.decisions += sum(len(one.choice) for one in kept)
        return {
            "iteration": self.iteration,
            "decisions": self.decisions,
            "excess": round(float(np.mean([one.excess for one in kept])), 4),
            "least": round(float(np.mean([one.least for one in kept])), 4),
            "moved": round(float(np.mean([part[0] for part in parts])), 4),
            "entropy": round(float(np.mean([part[1] for part in parts])), 4),
        }

    def _improve(self, played: list[Played], rng: np.random.Generator) -> tuple[float, float]:
        """One epoch: a step for every two graphs. Returns the mean change of the ratio, and the entropy."""
        order = rng.permutation(len(played))
        figures = []
        for first in range(0, len(order), 2):
            losses = [self._loss(played[k], rng) for k in order[first : first + 2]]
            loss = sum((part[0] for part in losses), torch.zeros(())) / len(losses)
            self.optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimiser.step()
            figures += [part[1:] for part in losses]
        moved, entropy = np.mean(figures, axis=0)
        return float(moved), float(entropy)

    def _loss(self, one: Played, rng: np.random.Generator) -> tuple[Tensor, float, float]:
        """The loss over some decisions of a graph, the change of the ratio, and the entropy."""
        c = self.config
        pick = torch.from_numpy(rng.permutation(len(one.choice))[:_DECISIONS])
        context = self.network.contexts(one.inputs)[one.node[pick]]
        logits = self.network(context, one.boards[pick], one.rows[pick], one.legal[pick])
        logs = torch.log_softmax(logits, dim=1)
        ratio = torch.exp(logs.gather(1, one.choice[pick][:, None]).squeeze(1) - one.log[pick])
        advantage = one.advantage[pick]
        surrogate = torch.minimum(ratio * advantage, torch.clamp(ratio, 1 - c.clip, 1 + c.clip) * advantage).mean()
        entropy = -(logs.exp() * logs.clamp(min=-30)).sum(dim=1).mean()
        loss = -surrogate - c.entropy * entropy
        return loss, float((ratio.detach() - 1).abs().mean()), float(entropy.detach())

    def measure(self) -> tuple[float, float]:
        """Return the mean price of greedy boards above the longest path, and the share that gets stuck.

        Over fixed tasks that are not trained on. A stuck board counts with twenty times the longest path.
        """
        weights = self.network.weights()
        excess, stuck = [], 0
        for task in self.checks:
            graph = graph_of(task.problem, task.order)
            cost = float(_costs(task, graph, weights, np.zeros(1, dtype=np.float32), 0, NOTHING)[0])
            stuck += cost >= 1e9
            excess.append(min(cost, 20.0 * graph.floor) / graph.floor - 1)
        return round(float(np.mean(excess)), 4), stuck / len(self.checks)
