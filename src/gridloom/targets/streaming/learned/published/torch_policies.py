"""Policies that place the nodes of a graph on a streaming engine.

``GraphPolicy`` (global graph attention) is a graph network over the DFG with edges in both directions and tile-memory
dependences, attention from the node to be placed over all nodes, and an MLP over the device's slots, joined into masked
logits. Its keys and queries depend on the graph alone, so a graph is encoded once, and a step costs a weighted sum and
two small layers per slot. Slots are described by what a placement there would mean, not by their number: one set of
weights serves every graph, every number of tiles and every II.

``StackedMlp``, the baseline, has three MLPs over the same observation, without graph network and attention.
``StateMlp`` has three MLPs over the published state (slots, node, results), padded to a fixed size; ``PublishedActor``
adds the published graph network and attention to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from gridloom.errors import OptionError
from gridloom.targets.streaming.learned.published.boards import BoardBatch
from gridloom.targets.streaming.learned.published.kernel import FEATURES
from gridloom.targets.streaming.learned.training_graphs import Kind
from gridloom.targets.streaming.mappers.kernel import NONE
from gridloom.targets.streaming.mappers.problem import SpokesProblem

Arrays = dict[str, NDArray[Any]]

#: How many candidate slots a step considers.
CANDIDATES: Final = 32

#: How many features a node has in the graph and on a board; how many the goal and the device have.
_NODE, _STATE = 8, 3
_GOAL, _DEVICE = 3, 4

#: To how many slots and nodes the policies ``state`` and ``gga`` are padded.
_MOST_SLOTS, _MOST_NODES = 1024, 128
#: Their width where they are trained over many graphs; most weights belong to the slots, so it decides their number.
_WIDTH = 48


class Encoded:
    """The features and relations of a graph, as the policies read them; the same for all boards and steps of the graph.

    ``nodes`` is [node, 8 features], ``edges`` three relations as (2, count) index tensors.
    """

    def __init__(self, problem: SpokesProblem, tail: NDArray[np.int32]) -> None:
        self.problem = problem
        self.tail = torch.from_numpy(tail.astype(np.float32))
        self.nodes = torch.from_numpy(node_features(problem, tail))
        self.edges = [torch.from_numpy(pairs) for pairs in relations(problem)]


def node_features(problem: SpokesProblem, tail: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return [node, feature]: depth, height, degrees, conflicts, start, variables and position in the order.

    Columns are divided by typical sizes, so that they are about 0 to 1 for graphs of all sizes.
    """
    tables, count = problem.tables, problem.size
    depth = np.zeros(count)
    for n in range(count):
        row = slice(int(tables.pred_at[n]), int(tables.pred_at[n + 1]))
        depth[n] = (depth[tables.pred[row]] + 1)[tables.pred_distance[row] == 0].max(initial=0)
    starts = np.zeros(count)
    starts[list(problem.starts)] = 1
    columns = [
        depth / 12,
        tail / (12.0 * problem.latency),
        np.diff(tables.pred_at) / 3,
        np.diff(tables.succ_at) / 4,
        np.diff(tables.conflict_at) / 8,
        starts,
        tables.group >= 0,
        np.arange(count) / max(1, count),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def relations(problem: SpokesProblem) -> list[NDArray[np.int64]]:
    """Return edges, reversed edges, and pairs that share tile-memory variables, as (2, count) arrays."""
    tables, count = problem.tables, problem.size
    target = np.repeat(np.arange(count), np.diff(tables.pred_at))
    forward = np.stack([tables.pred, target]).astype(np.int64).reshape(2, -1)
    group = tables.group
    shared = [(a, b) for a in range(count) for b in range(count) if a != b and group[a] >= 0 and group[a] == group[b]]
    together = np.array(shared, dtype=np.int64).reshape(-1, 2).T.copy()
    return [forward, forward[::-1].copy(), together]


class SlotPolicy(nn.Module, ABC):
    """The common part of the policies that describe slots: the shortlist they see, and the MLPs over slots and context.

    Subclasses describe the node to be placed and its surroundings: ``encode`` once per graph, ``join`` in each step.

    The logit of a slot is the sum of two parts: an MLP over the slot's features and the context, and a linear term over
    the features alone. The linear term starts as "prefer the slot that ranks first", so an untrained policy already is
    nearly the greedy rule of the shortlist, and training has to improve on it. ``_STATE`` numbers describe a node on a
    board: whether it is placed, its slack against the bound, the cycle of its result.
    """

    kind: Kind

    def __init__(self, joined: int, width: int, slot_width: int) -> None:
        super().__init__()
        self.context = nn.Sequential(nn.Linear(joined, width), nn.ReLU(), nn.Linear(width, slot_width))
        self.slot = nn.Linear(FEATURES, slot_width)
        self.hidden = nn.Linear(slot_width, slot_width)
        self.score = nn.Linear(slot_width, 1)
        self.direct = nn.Linear(FEATURES, 1)
        self.critic = nn.Sequential(nn.Linear(joined, width), nn.ReLU(), nn.Linear(width, 1))
        with torch.no_grad():
            self.score.weight.mul_(0.1)
            # The rank alone is a good first policy: an early issue on a short path.
            self.direct.weight.zero_()
            self.direct.weight[0, -1] = -8.0

    def observe(self, batch: BoardBatch) -> Arrays:
        """Return the observation from which the next decision on every board is made."""
        boards = batch.boards
        actions, features, legal = batch.shortlist(CANDIDATES)
        placed = boards.tile != NONE
        slack = boards.issue + batch.tail - boards.bound[:, None]
        states = np.stack([placed, placed * slack / 12.0, placed * boards.ready / 60.0], axis=2)
        used = (boards.load > 0).sum(axis=1)
        device = np.stack(
            [
                boards.position / boards.order.shape[1],
                (boards.bound - batch.floor) / 12.0,
                used / batch.problem.tiles,
                boards.position / np.maximum(1, used * batch.options.ii),
            ],
            axis=1,
        )
        return {
            "actions": actions,
            "legal": legal,
            "features": features,
            "node": boards.node.copy(),
            "states": states.astype(np.float32),
            "device": device.astype(np.float32),
            "goal": batch.goal,
        }

    @abstractmethod
    def encode(self, graph: Encoded) -> tuple[Tensor, Tensor]:
        """Return the encoding of a graph, computed once for all its steps."""

    @abstractmethod
    def join(self, encoded: tuple[Tensor, Tensor], seen: dict[str, Tensor]) -> Tensor:
        """Return the node to be placed with its surroundings, one row per board."""

    def forward(self, encoded: tuple[Tensor, Tensor], seen: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return logits of the candidates (illegal ones at minus infinity) and the value, for each row of ``seen``."""
        joined = self.join(encoded, seen)
        context = self.context(joined)
        hidden = torch.relu(self.slot(seen["features"]) + context[:, None, :])
        hidden = torch.relu(self.hidden(hidden))
        logits = self.score(hidden).squeeze(2) + self.direct(seen["features"]).squeeze(2)
        return logits.masked_fill(~seen["legal"], -1e9), self.critic(joined).squeeze(1)


class GraphPolicy(SlotPolicy):
    """A graph network and global graph attention, with slots described by features.

    Per layer there are three SAGE convolutions (Hamilton et al. 2017), one for each relation, with their sum added to
    the input. Attention weights depend on the graph alone; what moves with the board are the ``_STATE`` numbers that
    they average, so a step needs no pass through the graph network.
    """

    kind: Kind = "attention"

    def __init__(self, width: int = 48, heads: int = 4, layers: int = 3, slot_width: int = 32) -> None:
        super().__init__(width + width + heads * _STATE + _GOAL + _DEVICE, width, slot_width)
        self.heads = heads
        self.first = nn.Linear(_NODE, width)
        self.convolutions = nn.ModuleList(
            nn.ModuleList(SAGEConv(width, width) for _ in range(3)) for _ in range(layers)
        )
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def encode(self, graph: Encoded) -> tuple[Tensor, Tensor]:
        """Return embeddings of all nodes, and the attention of each node to each other: (heads, nodes, nodes)."""
        hidden = self.first(graph.nodes)
        for row in self.convolutions:
            hidden = hidden + torch.relu(sum(layer(hidden, pairs) for layer, pairs in zip(row, graph.edges)))
        count, width = hidden.shape
        query = self.query(hidden).view(count, self.heads, -1).transpose(0, 1)
        key = self.key(hidden).view(count, self.heads, -1).transpose(0, 1)
        attention = torch.softmax(query @ key.transpose(1, 2) / (width / self.heads) ** 0.5, dim=-1)
        return hidden, attention

    def join(self, encoded: tuple[Tensor, Tensor], seen: dict[str, Tensor]) -> Tensor:
        """Return the node, what it attends to (in the graph and on the board), the goal and the device."""
        hidden, attention = encoded
        rows = len(seen["node"])
        values = self.value(hidden).view(len(hidden), self.heads, -1).transpose(0, 1)
        static = (attention @ values).transpose(0, 1).reshape(len(hidden), -1)
        weights = attention[:, seen["node"], :].transpose(0, 1)
        moving = torch.bmm(weights, seen["states"]).reshape(rows, -1)
        return torch.cat([hidden[seen["node"]], static[seen["node"]], moving, seen["goal"], seen["device"]], dim=1)


class StackedMlp(SlotPolicy):
    """Three MLPs (node, slots, both) over the same observation: no graph network, no attention."""

    kind: Kind = "mlp"

    def __init__(self, width: int = 96, slot_width: int = 32) -> None:
        super().__init__(width + _STATE + _GOAL + _DEVICE, width, slot_width)
        self.node = nn.Sequential(nn.Linear(_NODE, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())

    def encode(self, graph: Encoded) -> tuple[Tensor, Tensor]:
        """Return embeddings of the nodes, each computed from its own features."""
        return self.node(graph.nodes), torch.zeros(0)

    def join(self, encoded: tuple[Tensor, Tensor], seen: dict[str, Tensor]) -> Tensor:
        """Return the node, the mean of the board, the goal and the device."""
        mean = seen["states"].mean(dim=1)
        return torch.cat([encoded[0][seen["node"]], mean, seen["goal"], seen["device"]], dim=1)


class StateMlp(nn.Module):
    """Three MLPs over the published state: the slots, the node with all results, both together; of a fixed size.

    Slots are told apart by their numbers and nodes by their positions, as in the published mapper, so what it learns
    about one array and II does not carry over to others. OptionError for more than 1024 slots or 128 nodes.
    """

    kind: Kind = "state"

    def __init__(self, width: int = 96, slots: int = _MOST_SLOTS, nodes: int = _MOST_NODES) -> None:
        super().__init__()
        self.slots, self.nodes = slots, nodes
        self.device_part = nn.Sequential(nn.Linear(slots, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.node_part = nn.Sequential(
            nn.Linear(3 * nodes + _NODE + _GOAL, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.joint_part = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, slots))
        self.critic = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def observe(self, batch: BoardBatch) -> Arrays:
        """Return the published state, padded: slots, node, and results; OptionError for a graph that is too large."""
        boards, problem = batch.boards, batch.problem
        if batch.slots > self.slots or problem.size > self.nodes:
            raise OptionError(f"policy 'state' takes {self.slots} slots and {self.nodes} nodes at most")
        position = np.minimum(boards.position, boards.order.shape[1] - 1)
        node = boards.order[np.arange(batch.count), position].astype(np.int64)
        slots = np.zeros((batch.count, self.slots), dtype=np.float32)
        slots[:, : batch.slots] = boards.slots / problem.size
        legal = np.zeros((batch.count, self.slots), dtype=np.bool_)
        legal[:, : batch.slots] = boards.mask & batch.running[:, None]
        ready = np.zeros((batch.count, self.nodes), dtype=np.float32)
        ready[:, : problem.size] = boards.ready / 60.0
        tile = np.zeros((batch.count, self.nodes), dtype=np.float32)
        tile[:, : problem.size] = (boards.tile + 1) / 64.0
        return {
            "actions": np.tile(np.arange(self.slots, dtype=np.int32), (batch.count, 1)),
            "legal": legal,
            "slots": slots,
            "ready": ready,
            "tile": tile,
            "node": node,
            "goal": batch.goal,
        }

    def encode(self, graph: Encoded) -> tuple[Tensor, Tensor]:
        """Return the features of the nodes, and a row of predecessors for each."""
        count = len(graph.nodes)
        rows = torch.zeros(count, self.nodes)
        rows[graph.edges[0][1], graph.edges[0][0]] = 1.0
        return graph.nodes, rows

    def forward(self, encoded: tuple[Tensor, Tensor], seen: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits of all slots and the value for each row of ``seen``."""
        nodes, rows = encoded
        node = seen["node"]
        near = torch.cat([nodes[node], rows[node], seen["ready"], seen["tile"], seen["goal"]], dim=1)
        both = torch.cat([self.device_part(seen["slots"]), self.node_part(near)], dim=1)
        logits = self.joint_part(both)
        return logits.masked_fill(~seen["legal"], -1e9), self.critic(both).squeeze(1)


class PublishedActor(StateMlp):
    """The published actor: a graph network, attention over all nodes, and MLPs over the whole state, with masks.

    Static data is the graph: three rounds of SAGE convolutions over edges, reversed edges and tile-memory dependences
    embed the nodes, and the node to be placed attends to all embeddings (global graph attention). Dynamic data is the
    state of tiles and spokes, as in ``StateMlp``. Both embeddings go into an MLP with a logit for every slot.
    """

    kind: Kind = "gga"

    def __init__(
        self, width: int = 96, slots: int = _MOST_SLOTS, nodes: int = _MOST_NODES, embedding: int = 32
    ) -> None:
        super().__init__(width, slots, nodes)
        self.first = nn.Linear(_NODE, embedding)
        self.convolutions = nn.ModuleList(
            nn.ModuleList(SAGEConv(embedding, embedding) for _ in range(3)) for _ in range(3)
        )
        self.query, self.key, self.value = (nn.Linear(embedding, embedding) for _ in range(3))
        joined = 2 * width + 2 * embedding
        self.joint_part = nn.Sequential(nn.Linear(joined, width), nn.ReLU(), nn.Linear(width, slots))
        self.critic = nn.Sequential(nn.Linear(joined, width), nn.ReLU(), nn.Linear(width, 1))

    def encode(self, graph: Encoded) -> tuple[Tensor, Tensor]:
        """Return features, embedding and attended embedding of each node, and its row of predecessors."""
        hidden = self.first(graph.nodes)
        for row in self.convolutions:
            hidden = hidden + torch.relu(sum(layer(hidden, pairs) for layer, pairs in zip(row, graph.edges)))
        scores = self.query(hidden) @ self.key(hidden).T / hidden.shape[1] ** 0.5
        attended = torch.softmax(scores, dim=-1) @ self.value(hidden)
        return torch.cat([graph.nodes, hidden, attended], dim=1), super().encode(graph)[1]

    def forward(self, encoded: tuple[Tensor, Tensor], seen: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits of all slots and the value for each row of ``seen``."""
        embedded, rows = encoded
        node = seen["node"]
        own = embedded[node]
        near = torch.cat([own[:, :_NODE], rows[node], seen["ready"], seen["tile"], seen["goal"]], dim=1)
        both = torch.cat([self.device_part(seen["slots"]), self.node_part(near), own[:, _NODE:]], dim=1)
        logits = self.joint_part(both)
        return logits.masked_fill(~seen["legal"], -1e9), self.critic(both).squeeze(1)


Policy = GraphPolicy | StackedMlp | StateMlp | PublishedActor


def make_policy(kind: Kind) -> Policy:
    """Return a policy with random weights."""
    made: dict[Kind, Callable[[], Policy]] = {
        "attention": GraphPolicy,
        "mlp": StackedMlp,
        "state": lambda: StateMlp(width=_WIDTH),
        "gga": lambda: PublishedActor(width=_WIDTH),
    }
    if kind not in made:
        raise OptionError(f"policy: expected one of {', '.join(made)}, found {kind!r}")
    return made[kind]()


def tensors(seen: Arrays) -> dict[str, Tensor]:
    """Return an observation without its actions, as tensors that share memory with it."""
    return {key: torch.from_numpy(value) for key, value in seen.items() if key != "actions"}
