"""The slot policy on numpy: its weights, the graph network that is evaluated once per graph, and the hand-written rank.

``SlotWeights`` are plain arrays, as ``gridloom train ppo`` writes them. ``net_of`` computes the context of each node of
a graph and returns what the compiled play needs. Nothing here imports torch; ``torch_slots`` has the same network for
training, and the tests compare the two.

The graph network has three rounds. In each, a node adds a function of itself, of the mean of its operands, of the mean
of its readers and of the mean of the nodes that may not share its tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from gridloom.errors import OptionError
from gridloom.learn.weights import TrainingScope, load, weights_path
from gridloom.search.arrays import Int32s
from gridloom.targets.streaming.learned.published.boards import tails
from gridloom.targets.streaming.learned.slots.board_kernel import FEATURES, SURVEY, BoardGraph
from gridloom.targets.streaming.learned.slots.play_kernel import SECOND, WIDE, Net
from gridloom.targets.streaming.mappers.problem import SpokesProblem
from gridloom.targets.streaming.mappers.search import longest_path

Floats = NDArray[np.float32]
Order = Literal["depth", "topological"]

#: Features of a node, width of the graph network, rounds.
NODE, WIDTH, ROUNDS = 10, 24, 3

#: The hand-written rank as weights of the slot's description: grow no path, issue early, wait little, share no link.
RANK: Final[tuple[float, ...]] = (
    -2.0, -3.0, -6.0, 0.0, 0.0, -0.5, -6.0, -0.5, -6.0, -0.5, -0.5, -0.2, 0.0, -0.2, 0.3, 0.2, 0.2, 0.0, 0.0, 0.0,
    -0.3, 0.0, 0.0, 0.0,
)  # fmt: skip

#: The shapes of all arrays of a file of weights.
SHAPES: Final = {
    "first": (NODE, WIDTH),
    "first_bias": (WIDTH,),
    **{f"round{k}_{part}": (WIDTH, WIDTH) for k in range(ROUNDS) for part in ("self", "operands", "readers", "rivals")},
    **{f"round{k}_bias": (WIDTH,) for k in range(ROUNDS)},
    "context": (WIDTH + NODE, WIDE),
    "context_bias": (WIDE,),
    "board": (SURVEY, WIDE),
    "slot": (FEATURES, WIDE),
    "second": (WIDE, SECOND),
    "second_bias": (SECOND,),
    "score": (SECOND,),
    "direct": (FEATURES,),
    "new_tile": (1,),
}

SlotWeights = dict[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class GraphInputs:
    """What the graph network reads: features of the nodes, and three matrices that average over related nodes."""

    nodes: Floats
    operands: Floats
    readers: Floats
    rivals: Floats


def load_slots(weights: str | None = None, name: str = "ppo") -> SlotWeights:
    """Return the shipped weights, or those of a file; OptionError where a file holds others."""
    path = weights_path(name) if weights is None else Path(weights)
    arrays, about = load(path)
    if about.get("policy") != "slots":
        raise OptionError(f"these weights are of policy {about.get('policy')!r}; expected 'slots'", where=str(path))
    return check_weights(arrays, str(path))


def scope_of_slots(weights: str | None = None) -> TrainingScope:
    """Return what the shipped weights, or those of a file, were trained for."""
    about = load(weights_path("ppo") if weights is None else Path(weights))[1]
    return TrainingScope.of_record(about.get("scope", {}))


def numbers_of(problem: SpokesProblem) -> dict[str, float]:
    """Return the numbers by which weights know what they were trained for."""
    return {"tiles": float(problem.tiles), "nodes": float(problem.size)}


def check_weights(arrays: dict[str, NDArray[np.float32]], where: str) -> SlotWeights:
    """Return the arrays as weights; OptionError for one that is missing or has another shape."""
    for name, shape in SHAPES.items():
        found = arrays[name].shape if name in arrays else None
        if found != shape:
            raise OptionError(f"array {name!r}: expected shape {shape}, found {found}", where=where)
    return {name: np.ascontiguousarray(arrays[name], dtype=np.float32) for name in SHAPES}


def random_slots(seed: int) -> SlotWeights:
    """Return untrained weights: each layer scaled by the square root of its inputs."""
    rng = np.random.default_rng(seed)
    drawn = {}
    for name, shape in SHAPES.items():
        scale = 0.0 if name.endswith("bias") else 1.0 / np.sqrt(shape[0])
        drawn[name] = (rng.standard_normal(shape) * scale).astype(np.float32)
    drawn["new_tile"][:] = 0
    return drawn


def rank_slots() -> SlotWeights:
    """Return weights that are the hand-written rank and nothing else."""
    zero = {name: np.zeros(shape, dtype=np.float32) for name, shape in SHAPES.items()}
    return {**zero, "direct": np.array(RANK, dtype=np.float32), "new_tile": np.ones(1, dtype=np.float32)}


def graph_of(problem: SpokesProblem, order: Order = "depth") -> BoardGraph:
    """Return the part of a board that does not change: order, tails, longest path and starts."""
    starts = np.zeros(problem.size, dtype=np.bool_)
    starts[list(problem.starts)] = True
    tail = tails(problem)
    nodes = np.arange(problem.size, dtype=np.int32) if order == "topological" else depth_first(problem, tail)
    return BoardGraph(order=nodes, tail=tail, floor=longest_path(problem), starts=starts)


def depth_first(problem: SpokesProblem, tail: Int32s) -> Int32s:
    """Return a topological order in which operands come shortly before their readers, the longest path first.

    Depth first from the nodes that nothing reads, those at the end of the longest paths first; a node comes after its
    operands, of which the one with the longest path before it is visited first.
    """
    tables, count = problem.tables, problem.size
    head = np.zeros(count, dtype=np.int64)
    operands: list[list[int]] = []
    for n in range(count):
        row = slice(int(tables.pred_at[n]), int(tables.pred_at[n + 1]))
        same = tables.pred[row][tables.pred_distance[row] == 0].tolist()
        head[n] = max((head[p] + problem.latency for p in same), default=0)
        operands.append(sorted(same, key=lambda p: -head[p]))
    read = np.zeros(count, dtype=np.bool_)
    for same in operands:
        read[same] = True
    order: list[int] = []
    done = np.zeros(count, dtype=np.bool_)
    for sink in sorted(range(count), key=lambda n: (bool(read[n]), -head[n])):
        stack = [(sink, 0)]
        while stack:
            n, k = stack.pop()
            if done[n]:
                continue
            if k < len(operands[n]):
                stack += [(n, k + 1), (operands[n][k], 0)]
            else:
                done[n] = True
                order.append(n)
    return np.array(order, dtype=np.int32)


def inputs_of(problem: SpokesProblem, graph: BoardGraph) -> GraphInputs:
    """Return what the graph network reads of a problem. Quadratic in the nodes."""
    tables, count, latency = problem.tables, problem.size, problem.latency
    head = np.zeros(count)
    for n in range(count):
        row = slice(int(tables.pred_at[n]), int(tables.pred_at[n + 1]))
        before = tables.pred[row][tables.pred_distance[row] == 0]
        head[n] = (head[before] + latency).max(initial=0)
    place = np.empty(count)
    place[graph.order] = np.arange(count) / max(1, count)
    columns = [
        head / (12.0 * latency),
        graph.tail / (12.0 * latency),
        (graph.floor - head - graph.tail) / (6.0 * latency),
        np.diff(tables.pred_at) / 3,
        np.diff(tables.succ_at) / 4,
        np.diff(tables.conflict_at) / 8,
        graph.starts,
        tables.group >= 0,
        place,
        np.ones(count),
    ]
    nodes = np.stack(columns, axis=1).astype(np.float32)
    return GraphInputs(
        nodes=nodes,
        operands=_means(count, tables.pred_at, tables.pred),
        readers=_means(count, tables.succ_at, tables.succ),
        rivals=_means(count, tables.conflict_at, tables.conflict),
    )


def _means(count: int, starts: Int32s, others: Int32s) -> Floats:
    """The matrix that averages over the nodes that a CSR lists for each node."""
    matrix = np.zeros((count, count), dtype=np.float32)
    rows = np.repeat(np.arange(count), np.diff(starts))
    np.add.at(matrix, (rows, others), 1.0)
    means: Floats = matrix / np.maximum(1.0, matrix.sum(axis=1, keepdims=True))
    return means


def contexts(weights: SlotWeights, inputs: GraphInputs) -> Floats:
    """Return the context of each node: three rounds of the graph network and a linear layer."""
    hidden = np.maximum(0, inputs.nodes @ weights["first"] + weights["first_bias"])
    for k in range(ROUNDS):
        around = (inputs.operands @ hidden) @ weights[f"round{k}_operands"]
        around += (inputs.readers @ hidden) @ weights[f"round{k}_readers"]
        around += (inputs.rivals @ hidden) @ weights[f"round{k}_rivals"]
        hidden = hidden + np.maximum(0, hidden @ weights[f"round{k}_self"] + around + weights[f"round{k}_bias"])
    both = np.concatenate([hidden, inputs.nodes], axis=1)
    return np.ascontiguousarray(both @ weights["context"] + weights["context_bias"], dtype=np.float32)


def net_of(weights: SlotWeights, problem: SpokesProblem, graph: BoardGraph) -> Net:
    """Return the policy for one graph, as the compiled play takes it."""
    plain = not weights["score"].any()
    return Net(
        context=contexts(weights, inputs_of(problem, graph)),
        board=weights["board"],
        slot=weights["slot"],
        second=weights["second"],
        bias=weights["second_bias"],
        score=weights["score"],
        direct=weights["direct"],
        new_tile=float(weights["new_tile"][0]),
        plain=plain,
    )
