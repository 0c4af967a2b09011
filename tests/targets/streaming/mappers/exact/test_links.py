"""exact at level strict: links are part of the proof, checked against every placement and every way of small cases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("ortools")

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.solver import ExactConfig
from gridloom.sim import simulate
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.mappers.exact.mapper import exact_spokes
from gridloom.targets.streaming.mappers.kernel import schedule
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem
from gridloom.verify import legal


def crossing() -> Dfg:
    """Two sources whose values both go to both of two readers' sides."""
    b = DfgBuilder("crossing")
    p = b.add("add", b.input("x"), b.const(1), id="p")
    q = b.add("add", b.input("y"), b.const(2), id="q")
    b.output(b.add("sub", p, q, id="r"), "u")
    b.output(b.add("mul", p, q, id="s"), "v")
    return b.build()


def chain() -> Dfg:
    b = DfgBuilder("chain")
    p = b.add("add", b.input("x"), b.const(1), id="p")
    q = b.add("sub", p, b.const(2), id="q")
    r = b.add("xor", p, q, id="r")
    b.output(b.add("or", r, q, id="s"), "u")
    return b.build()


def star() -> Dfg:
    b = DfgBuilder("star")
    p = b.add("add", b.input("x"), b.const(1), id="p")
    for k in range(3):
        b.output(b.add("add", p, b.const(k), id=f"r{k}"), f"u{k}")
    return b.build()


def ways(start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """All lists of (tile, step) that lead from a tile to another without a detour."""
    if start == end:
        yield []
        return
    for size in (1, 2):
        if size <= abs(end - start):
            step = size if end > start else -size
            for rest in ways(start + step, end):
                yield [(start, step), *rest]


def routable(problem: SpokesProblem, ii: int, tile: np.ndarray, issue: np.ndarray) -> bool:
    wires = sorted(set(zip(problem.tables.wire_source.tolist(), problem.tables.wire_target.tolist())))
    for choice in itertools.product(*(list(ways(int(tile[p]), int(tile[n]))) for p, n in wires)):
        owner: dict[tuple[int, int, int], int] = {}
        if all(
            owner.setdefault((x, step, (int(issue[p]) + 3 + abs(x - int(tile[p]))) % ii), p) == p
            for (p, _), way in zip(wires, choice)
            for x, step in way
        ):
            return True
    return False


def fewest_cycles(dfg: Dfg, tiles: int, ii: int) -> int | None:
    """By trying every placement."""
    problem = build_problem(dfg, build(f"streaming-engine:{tiles},spokes={ii},delays=none"))
    best: int | None = None
    apart = {frozenset(pair) for _, row in problem.cliques for pair in itertools.combinations(row, 2)}
    for slots in itertools.product(range(tiles * ii), repeat=problem.size):
        tile = np.array([slot // ii for slot in slots], dtype=np.int32)
        spoke = np.array([slot % ii for slot in slots], dtype=np.int32)
        if len(set(slots)) < len(slots) or any(tile[a] == tile[b] for a, b in map(tuple, apart)):
            continue
        issue = np.empty(problem.size, dtype=np.int32)
        schedule(problem.tables, ii, tile, spoke, issue)
        cycles = int(issue.max()) + 3
        if (best is None or cycles < best) and routable(problem, ii, tile, issue):
            best = cycles
    return best


@pytest.mark.parametrize(
    ("graph", "tiles", "ii"), [(crossing, 3, 2), (crossing, 4, 1), (chain, 3, 2), (chain, 4, 1), (star, 4, 1)]
)
def test_optimum_is_that_of_all_placements_and_ways(graph: object, tiles: int, ii: int) -> None:
    dfg = graph()  # type: ignore[operator]
    arch = build(f"streaming-engine:{tiles},spokes={ii},delays=none")
    found = exact_spokes(dfg, arch, ExactConfig(ii=ii, workers=1), Budget(time_limit=60, seed=1))
    best = fewest_cycles(dfg, tiles, ii)
    if best is None:
        assert isinstance(found, Failure)
        return
    assert isinstance(found, Mapping)
    assert max(instance.cycle for instance in found.instances) + 3 == best
    assert found.provenance["optimal"]
    assert legal(found) == [] and simulate(found).ok


@pytest.mark.parametrize(
    ("source", "ii", "cycles"),
    [
        ("kernel:fft_radix2", 1, 16),
        ("kernel:random_growing,nodes=10,inputs=4,seed=2,domain=opaque", 2, 24),
        ("kernel:random_growing,nodes=15,inputs=4,seed=1,domain=opaque", 2, 25),
    ],
)
def test_strict_optimum_is_proved_legal_and_simulated(source: str, ii: int, cycles: int) -> None:
    dfg = fuse(load_source(source))
    arch = build("streaming-engine:16,spokes=6")
    found = exact_spokes(dfg, arch, ExactConfig(ii=ii, workers=1), Budget(time_limit=120, seed=1))
    assert isinstance(found, Mapping)
    assert (max(i.cycle for i in found.instances) + 3, found.provenance["optimal"]) == (cycles, True)
    assert legal(found) == [] and simulate(found).ok


def test_ii_without_enough_links_is_refuted() -> None:
    dfg = load_source("kernel:random_growing,nodes=10,inputs=4,seed=2,domain=opaque")
    paper, strict = (build(f"streaming-engine:16,spokes=1,level={level}") for level in ("paper", "strict"))
    found = exact_spokes(dfg, strict, ExactConfig(workers=1), Budget(time_limit=120, seed=1))
    assert isinstance(found, Failure) and found.bound == "none"
    assert isinstance(exact_spokes(dfg, paper, ExactConfig(workers=1), Budget(time_limit=5, seed=1)), Mapping)
