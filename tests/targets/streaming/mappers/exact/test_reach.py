"""The bound by discs around a node: never above the fewest cycles of all placements, and above the longest path."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.search.budget import Budget
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.mappers.exact.reach import fewest_cycles, has_matching, paths_of
from gridloom.targets.streaming.mappers.kernel import makespan, schedule
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem
from gridloom.targets.streaming.mappers.search import longest_path


@st.composite
def small_graphs(draw: st.DrawFn) -> Dfg:
    """Graphs of three or four ops over two inputs."""
    b = DfgBuilder("small")
    values = [b.input("x"), b.input("y")]
    for k in range(draw(st.integers(3, 4))):
        operands = draw(st.lists(st.sampled_from(values), min_size=2, max_size=2))
        values.append(b.add("xor", *operands, id=f"n{k}"))
    for k, value in enumerate(values[2:]):
        b.output(value, f"z{k}")
    return b.build()


def fewest_of_all(problem: SpokesProblem, ii: int) -> int:
    """The fewest cycles over all placements that keep the rules, without links; very many where there is none."""
    best = 1 << 20
    issue = np.empty(problem.size, dtype=np.int32)
    for slots in itertools.permutations(range(problem.tiles * ii), problem.size):
        tile, spoke = (np.array(row, dtype=np.int32) for row in zip(*(divmod(slot, ii) for slot in slots)))
        if all(len({int(tile[n]) for n in row}) == len(row) for _, row in problem.cliques):
            schedule(problem.tables, ii, tile, spoke, issue)
            best = min(best, int(makespan(problem.tables, issue)))
    return best


@settings(deadline=None, max_examples=25)
@given(dfg=small_graphs(), shape=st.sampled_from([(2, 2), (3, 1), (3, 2), (4, 1)]))
def test_bound_is_never_above_the_fewest_cycles(dfg: Dfg, shape: tuple[int, int]) -> None:
    tiles, ii = shape
    problem = build_problem(dfg, build(f"streaming-engine:{tiles},spokes={ii},level=paper"))
    best = fewest_of_all(problem, ii)
    if best < 1 << 20:
        assert longest_path(problem) <= fewest_cycles(problem, ii, longest_path(problem), Budget().start()) <= best


@pytest.mark.parametrize(
    ("source", "ii", "floor", "bound"),
    [("kernel:matmul,n=3", 2, 9, 10), ("kernel:convolution,k=4", 2, 15, 21), ("kernel:map_reduce", 2, 18, 23)],
)
def test_bound_is_what_placements_reach(source: str, ii: int, floor: int, bound: int) -> None:
    problem = build_problem(fuse(load_source(source)), build("streaming-engine:16,spokes=16"))
    assert longest_path(problem) == floor
    assert fewest_cycles(problem, ii, floor, Budget().start()) == bound


def test_bound_ends_with_the_clock() -> None:
    problem = build_problem(fuse(load_source("kernel:convolution,k=4")), build("streaming-engine:16,spokes=16"))
    clock = Budget(interrupted=lambda: True).start()
    assert fewest_cycles(problem, 2, 15, clock) == 15


def test_paths_are_those_of_one_iteration() -> None:
    b = DfgBuilder("chain")
    b.add("add", b.input("x"), b.const(1), id="p")
    b.add("sub", "p", b.const(2), id="q")
    b.output(b.add("xor", "p", "q", id="r"), "u")
    paths = paths_of(build_problem(b.build(), build("streaming-engine:4")))
    assert paths.head.tolist() == [0, 3, 6] and paths.tail.tolist() == [6, 3, 0]
    assert paths.between[0].tolist() == [0, 3, 6]
    assert not paths.reaches(2, 0)


@settings(deadline=None)
@given(slots=st.lists(st.integers(0, 63), max_size=6))
def test_matching_is_that_of_all_choices(slots: list[int]) -> None:
    bits = [[k for k in range(6) if mask >> k & 1] for mask in slots]
    assert has_matching(slots) == any(len(set(row)) == len(row) for row in itertools.product(*bits))
