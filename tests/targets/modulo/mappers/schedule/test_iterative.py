"""Schedules without places: dependences and room are kept, windows are used, what is kept stays."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.random_cases import loop_graph

from gridloom.archs import build
from gridloom.mapping.mii import mii
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.schedule import iterative
from gridloom.targets.modulo.mappers.schedule.iterative import (
    NONE,
    Dependence,
    least_distances,
    modulo_schedule,
    relations,
    resources,
    shorten_lifetimes,
)


def chain(count: int) -> list[Dependence]:
    return [Dependence(source=k, target=k + 1, delay=1, distance=0) for k in range(count - 1)]


def ones(count: int) -> np.ndarray:
    return np.ones((count, 1), dtype=np.int64)


@pytest.mark.parametrize("seed", range(6))
def test_random_loops_keep_dependences_and_room(seed: int) -> None:
    dfg, arch = loop_graph(random.Random(seed)), build("torus:2x2")
    problem = ModuloProblem(dfg, arch)
    ii = mii(dfg, arch).total + 1
    counts = resources(arch, problem.classes)
    takes = np.zeros((len(problem.nodes), len(counts.room)), dtype=np.int64)
    for n, k in enumerate(problem.nodes):
        takes[n, list(counts.takes[problem.class_of(k)])] = 1
    least = least_distances(len(problem.nodes), problem.dependences, ii)
    cycle = modulo_schedule(least, ii, takes, np.array(counts.room))
    assert cycle is not None
    links = np.array([(a, b, 0) for a, b in problem.ends if a < len(problem.nodes)], dtype=np.int64).reshape(-1, 3)
    for step in range(2):
        for d in problem.dependences:
            assert cycle[d.target] + ii * d.distance - cycle[d.source] >= d.delay
        for slot in range(ii):
            assert (takes[cycle % ii == slot].sum(axis=0) <= counts.room).all()
        if step == 0:
            shorten_lifetimes(
                least, ii, takes, np.array(counts.room), links, np.ones(len(cycle), dtype=np.int64), cycle
            )


def test_full_slots_push_nodes_on() -> None:
    cycle = modulo_schedule(least_distances(4, [], 2), 2, ones(4), np.array([2]))
    assert cycle is not None
    assert sorted(cycle.tolist()) == [0, 0, 1, 1]


def test_more_nodes_than_slots_have_no_schedule() -> None:
    assert modulo_schedule(least_distances(3, [], 1), 1, ones(3), np.array([2])) is None


def test_cycles_that_are_kept_stay_and_leave_the_rest_what_is_free() -> None:
    least = least_distances(3, chain(3), 4)
    start = np.array([0, -1, 3])
    cycle = modulo_schedule(least, 4, ones(3), np.array([1]), start=start)
    assert cycle is not None
    assert cycle.tolist() in ([0, 1, 3], [0, 2, 3])
    assert modulo_schedule(least, 4, ones(3), np.array([1]), start=np.array([0, -1, 1])) is None


def test_values_wait_less_where_their_node_has_slack() -> None:
    """0 -> 1 -> 2 and 3 -> 2: node 3 could issue at 0 but is wanted at 1."""
    depends = [*chain(3), Dependence(source=3, target=2, delay=1, distance=0)]
    least = least_distances(4, depends, 4)
    cycle = modulo_schedule(least, 4, ones(4), np.array([2]))
    assert cycle is not None
    links = np.array([(0, 1, 0), (1, 2, 0), (3, 2, 0)])
    shorten_lifetimes(least, 4, ones(4), np.array([2]), links, np.ones(4, dtype=np.int64), cycle)
    assert cycle[3] == cycle[2] - 1


def test_readers_beyond_reach_are_moved_apart() -> None:
    """Five readers, three PEs that see the value: three at most in the next cycle, the others in slots of their own."""
    depends = [Dependence(source=0, target=k, delay=1, distance=0) for k in range(1, 6)]
    least = least_distances(6, depends, 8)
    cycle = modulo_schedule(least, 8, ones(6), np.array([8]))
    assert cycle is not None
    links = np.array([(0, k, 0) for k in range(1, 6)])
    shorten_lifetimes(least, 8, ones(6), np.array([8]), links, np.ones(6, dtype=np.int64), cycle, reach=3)
    gaps = [int(c - cycle[0]) for c in cycle[1:]]
    later = [gap for gap in gaps if gap > 1]
    assert gaps.count(1) <= 3
    assert len(set(later)) == len(later)


@pytest.mark.parametrize("seed", range(6))
def test_rows_hold_each_bound_of_the_table_once(seed: int) -> None:
    dfg, arch = loop_graph(random.Random(seed)), build("torus:3x3")
    problem = ModuloProblem(dfg, arch)
    least = least_distances(len(problem.nodes), problem.dependences, mii(dfg, arch).total)
    rows = relations(least)
    after, before = np.full_like(least, NONE), np.full_like(least, NONE)
    for node in range(len(least)):
        for k in range(rows.at[node], rows.at[node + 1]):
            assert rows.other[k] != node
            after[node, rows.other[k]] = rows.after[k]
            before[rows.other[k], node] = rows.before[k]
    apart = ~np.eye(len(least), dtype=bool)
    assert (after == least)[apart].all()
    assert (before == least)[apart].all()


def test_nodes_without_dependences_have_no_rows() -> None:
    rows = relations(least_distances(5, [], 1))
    assert rows.at.tolist() == [0] * 6
    assert len(rows.other) == 0


@pytest.mark.parametrize("seed", range(6))
def test_distances_row_by_row_are_those_of_the_whole_table(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    forward = [(rng.randrange(40), rng.randrange(40), rng.randint(0, 3)) for _ in range(70)]
    found = [Dependence(source=min(a, b), target=max(a, b), delay=d, distance=0) for a, b, d in forward if a != b]
    found += [Dependence(source=b, target=a, delay=1, distance=2) for a, b, _ in forward[:10] if a < b]
    ii = 40
    whole = least_distances(40, found, ii)
    monkeypatch.setattr(iterative, "_DENSE", 0)
    assert (least_distances(40, found, ii) == whole).all()
