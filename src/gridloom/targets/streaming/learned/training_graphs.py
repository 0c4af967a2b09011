"""The graphs that placement is learned from: random graphs of many shapes and sizes, each with an array and an II.

Seeds of training graphs begin where those of suites and of evaluations end, so that no graph is in both.

The distribution is broad on purpose, since the policy is meant for graphs that it has not seen: sizes of 6 to 52 nodes,
three generators, a fifth of the graphs with shared variables, and IIs from tight to the array's eight spokes.

How much is trained: the part of the settings that needs no torch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal

import numpy as np

from gridloom.archs.model import Arch
from gridloom.archs.spec import build, parameters
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg
from gridloom.learn.labels import array_of
from gridloom.learn.weights import TrainingScope
from gridloom.targets.streaming.families.streaming_engine import StreamingEngineParameters
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.learned.published.boards import BoardOptions
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem
from gridloom.targets.streaming.mappers.screening import least_ii, screen
from gridloom.targets.streaming.mappers.search import longest_path

Kind = Literal["slots", "attention", "mlp", "state", "gga"]


@dataclass(frozen=True, kw_only=True)
class TrainingAmount:
    """Which policy is trained, and on how much."""

    #: ``slots``, the mapper's; ``gga``, the published actor; ``state``, MLPs over the published state; ``attention``
    #: and ``mlp`` over a shortlist of slots.
    policy: Kind = "slots"
    #: Level of the arrays that ``gga``, ``state``, ``attention`` and ``mlp`` are trained on; ``slots`` has both.
    level: Literal["paper", "strict"] = "paper"
    iterations: int = 900
    #: Graphs per iteration, and boards played for each; a large graph has half as many boards.
    graphs: int = 8
    boards: int = 16


#: The first seed of training graphs; seeds below it are for suites, evaluations and tests.
FIRST_SEED: Final = 100_000

_TILES, _MANY_TILES, _SPOKES = 16, 64, 8


@dataclass(frozen=True, kw_only=True)
class TrainingGraph:
    """A graph on an array, with the rules of its boards."""

    source: str
    problem: SpokesProblem
    options: BoardOptions


@cache
def engine(tiles: int, spokes: int, level: str = "paper") -> Arch:
    """Return a streaming engine, built once."""
    return build(f"streaming-engine:{tiles},spokes={spokes},level={level}")


def problem_of(source: str, arch: Arch) -> SpokesProblem:
    """Return the placement problem of a SOURCE on an array."""
    return build_problem(fuse(load_source(source)), arch)


def draw_task(rng: np.random.Generator, large: float = 0.25) -> TrainingGraph:
    """Return a random task; a share ``large`` of them has 25 to 52 nodes on 64 tiles, the others 6 to 24 on 16.

    Draws that :func:`~gridloom.targets.streaming.mappers.screening.screen` refuses are drawn again. The II is 6 in six
    of ten tasks, else uniform from the II with three tenths more slots than nodes to the number of spokes. Costs the
    construction of a graph.
    """
    while True:
        big = rng.random() < large
        source = _source(rng, big)
        tiles = _MANY_TILES if big else _TILES
        dfg = fuse(load_source(source))
        if rng.random() < 0.2:
            dfg = _with_variables(dfg, rng)
        problem = build_problem(dfg, engine(tiles, _SPOKES))
        # Three tenths of the slots are spare at least, so that a graph does not fill the array to the last slot.
        least = max(2, -(-13 * problem.size // (10 * tiles)))
        ii = 6 if rng.random() < 0.6 else int(rng.integers(min(least, _SPOKES), _SPOKES + 1))
        if screen(problem, ii) is None:
            weight = float(rng.random()) if rng.random() < 0.2 else 0.0
            options = BoardOptions(ii=ii, reward="bound", penalty=30.0, tiles_weight=weight)
            return TrainingGraph(source=source, problem=problem, options=options)


def _source(rng: np.random.Generator, big: bool) -> str:
    """The SOURCE of a random graph."""
    nodes = int(rng.integers(25, 53)) if big else int(rng.integers(6, 25))
    seed = FIRST_SEED + int(rng.integers(1 << 30))
    shape = rng.random()
    if shape < 0.65:
        return f"kernel:random_growing,nodes={nodes},inputs={int(rng.integers(2, 10))},seed={seed},domain=opaque"
    if shape < 0.85:
        width = int(rng.integers(2, 9 if big else 6))
        return f"kernel:random_layered,layers={max(1, nodes // width)},width={width},seed={seed},domain=opaque"
    return f"kernel:random_series_parallel,nodes={nodes},seed={seed},domain=opaque"


def _with_variables(dfg: Dfg, rng: np.random.Generator) -> Dfg:
    """The graph with one or two tile-memory variables, each used by two or three ops."""
    nodes = list(dfg.nodes)
    inner = [k for k, node in enumerate(nodes) if node.op not in ("input", "output", "const", "livein")]
    for number in range(int(rng.integers(1, 3))):
        users = rng.choice(inner, size=min(len(inner), int(rng.integers(2, 4))), replace=False)
        for k in users:
            nodes[k] = replace(nodes[k], variable=f"shared_{number}")
    return replace(dfg, nodes=tuple(nodes))


@dataclass(frozen=True, kw_only=True)
class StrictTask:
    """A graph on an array at an II, in an order of its nodes, for the slot policy."""

    source: str
    problem: SpokesProblem
    ii: int
    order: Literal["depth", "topological"]
    tiles_weight: float


#: Tiles of the arrays that the slot policy is trained on; evaluations use others as well. And the most nodes.
TRAINED_TILES: Final = (12, 16, 24, 32, 64)
_MOST_NODES: Final = 110


@dataclass(frozen=True, kw_only=True)
class OwnTasks:
    """The user's array, and graphs that are prepared for it: half of the tasks are of these."""

    arch: str
    graphs: tuple[Dfg, ...] = ()


def training_scope(own: OwnTasks | None) -> TrainingScope:
    """Return what the tasks of :func:`draw_strict` cover."""
    if own is None:
        seen = [{"tiles": float(tiles), "nodes": float(_MOST_NODES)} for tiles in TRAINED_TILES]
    else:
        arch = array_of(own.arch)
        tiles, most = len(arch.tiles), _most_nodes(len(arch.tiles), _spokes(arch))
        seen = [{"tiles": float(tiles), "nodes": float(max(most, *(len(dfg.nodes) for dfg in own.graphs), 0))}]
    return TrainingScope.of(seen, downwards=("nodes",))


def _spokes(arch: Arch) -> int:
    return int(parameters(StreamingEngineParameters, arch.spec).spokes)


def _most_nodes(tiles: int, spokes: int) -> int:
    """The most nodes of a graph that is drawn for an array: three of four slots at the most."""
    return max(13, min(_MOST_NODES, 5 * tiles, 3 * tiles * spokes // 4))


def _draw_problem(rng: np.random.Generator, own: OwnTasks | None) -> SpokesProblem:
    """A random graph on a random array, or on the user's."""
    if own is None:
        tiles, spokes = int(rng.choice(TRAINED_TILES)), 16
    else:
        arch = array_of(own.arch)
        if own.graphs and rng.random() < 0.5:
            return build_problem(own.graphs[int(rng.integers(len(own.graphs)))], arch)
        tiles, spokes = len(arch.tiles), _spokes(arch)
    nodes = int(rng.integers(12, _most_nodes(tiles, spokes)))
    if own is None:
        level = "strict" if rng.random() < 0.8 else "paper"
        delays = int(rng.choice((4, 8, 8, 8, 12)))
        arch = build(f"streaming-engine:{tiles},spokes={spokes},level={level},delays={delays}")
    dfg = fuse(load_source(_shape(rng, nodes, tiles)))
    if rng.random() < 0.2:
        dfg = _with_variables(dfg, rng)
    return build_problem(dfg, arch)


def draw_strict(rng: np.random.Generator, own: OwnTasks | None = None) -> StrictTask:
    """Return a random task for the slot policy: 12 to 110 nodes, 12 to 64 tiles, IIs from the least possible on.

    With ``own`` all tasks are on the user's array. Four of five others are at level strict, with 4 to 12 delay
    registers. The II is from one below to two above the first at which the hand-written rank comes near to a legal
    board: much lower ones have none, and much higher ones are easy. Draws that are refused are drawn again.
    """
    while True:
        problem = _draw_problem(rng, own)
        if screen(problem, None) is not None:
            continue
        ii = _tight(problem, least_ii(problem)) + int(rng.integers(-1, 3))
        ii = max(least_ii(problem), min(problem.spokes, ii))
        if screen(problem, ii) is not None or problem.size * problem.tiles * ii > 60_000:
            continue
        weight = float(rng.random() * 2) if rng.random() < 0.25 else 0.0
        order: Literal["depth", "topological"] = "depth" if rng.random() < 0.6 else "topological"
        return StrictTask(source=problem.dfg.name, problem=problem, ii=ii, order=order, tiles_weight=weight)


def _tight(problem: SpokesProblem, least: int) -> int:
    """The first II at which the best of four boards by the hand-written rank lacks few links and registers."""
    from gridloom.targets.streaming.learned.guided import GuidedSettings, slot_player
    from gridloom.targets.streaming.learned.slots.play_kernel import CLASH
    from gridloom.targets.streaming.learned.slots.policy import rank_slots

    player = slot_player(rank_slots(), GuidedSettings(), np.zeros(1, dtype=np.uint8))
    floor = longest_path(problem)
    for ii in range(least, problem.spokes + 1):
        cost = player(ii, problem, "depth", 1, np.linspace(0, 0.6, 4, dtype=np.float32))[2]
        if float(cost.min()) <= 2 * floor + CLASH * problem.size / 8:
            return ii
    return problem.spokes


def _shape(rng: np.random.Generator, nodes: int, tiles: int) -> str:
    """The SOURCE of a random graph of about so many nodes, with no more inputs than tiles."""
    seed = FIRST_SEED + int(rng.integers(1 << 30))
    shape = rng.random()
    if shape < 0.55:
        inputs = int(rng.integers(2, min(12, tiles // 2) + 1))
        return f"kernel:random_growing,nodes={nodes},inputs={inputs},seed={seed},domain=opaque"
    if shape < 0.85:
        width = int(rng.integers(2, min(12, tiles // 2) + 1))
        return f"kernel:random_layered,layers={max(1, nodes // width)},width={width},seed={seed},domain=opaque"
    return f"kernel:random_series_parallel,nodes={nodes},seed={seed},domain=opaque"
