"""The router: windows on lengths, and links that carry one age of one signal."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import random_dag

from gridloom.archs.spec import build
from gridloom.dfg.model import DfgBuilder
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem
from gridloom.targets.grid.mappers.route.pathfinder import route, shortest


def line(*edges: tuple[str, str]) -> DfgBuilder:
    b = DfgBuilder("line", "opaque")
    names = sorted({name for edge in edges for name in edge})
    for name in names:
        b.add("input" if all(target != name for _, target in edges) else "op", id=name)
    slots = dict.fromkeys(names, 0)
    for source, target in edges:
        b.carry(source, target, operand=slots[target], distance=0)
        slots[target] += 1
    return b


def uses(problem: StaticProblem, found) -> dict[int, set[tuple[int, int]]]:
    """link -> the (producer, age) pairs that are on it."""
    table: dict[int, set[tuple[int, int]]] = {}
    for e in range(len(problem.edges)):
        for depth, link in enumerate(found.links(e)):
            table.setdefault(link, set()).add((int(problem.source[e]), depth))
    return table


def connected(problem: StaticProblem, position, found) -> bool:
    links = problem.links
    for e in range(len(problem.edges)):
        way = found.links(e)
        tiles = [int(links.source[way[0]]), *(int(links.target[link]) for link in way)]
        steps = all(links.source[b] == links.target[a] for a, b in itertools.pairwise(way))
        if not steps or tiles[0] != position[problem.source[e]] or tiles[-1] != position[problem.target[e]]:
            return False
    return True


@given(st.integers(4, 12), st.integers(0, 10_000), st.sampled_from(["mesh", "onehop", "hex", "chess"]))
def test_what_is_called_legal_is_connected_and_has_one_signal_of_one_age_a_link(nodes, seed, family):
    dfg = random_dag(nodes, seed)
    problem = build_problem(dfg, build(f"{family}:6x6"))
    position = np.random.default_rng(seed).permutation(36)[: problem.size].astype(np.int32)
    short = shortest(problem, position)
    found = route(problem, position, short, short + 4, seed=seed)
    carried = uses(problem, found)
    assert all(found.used[link] == len(pairs) for link, pairs in carried.items())
    if found.legal:
        assert connected(problem, position, found)
        assert all(len(pairs) == 1 for pairs in carried.values())
        assert ((found.length >= short) & (found.length <= short + 4)).all()


@pytest.mark.parametrize("length", [1, 3, 5, 7])
def test_a_route_is_as_long_as_it_is_asked_to_be(length):
    problem = build_problem(line(("a", "b")).build(), build("mesh:4x4"))
    window = np.array([length], dtype=np.int32)
    found = route(problem, np.array([0, 1], dtype=np.int32), window, window)
    assert found.legal
    assert len(found.links(0)) == length


def test_a_length_of_the_wrong_parity_has_no_way_on_a_mesh():
    problem = build_problem(line(("a", "b")).build(), build("mesh:4x4"))
    window = np.array([2], dtype=np.int32)
    found = route(problem, np.array([0, 1], dtype=np.int32), window, window)
    assert (found.legal, found.lost) == (False, 1)


def test_branches_of_one_age_share_a_link():
    # a is in the corner of a row: both consumers are behind the same link.
    problem = build_problem(line(("a", "b"), ("a", "c")).build(), build("mesh:1x4"))
    position = np.array([0, 2, 3], dtype=np.int32)
    short = shortest(problem, position)
    found = route(problem, position, short, short)
    assert found.legal
    assert found.links(0) == found.links(1)[:2]


def test_two_signals_that_need_one_link_are_reported():
    problem = build_problem(line(("a", "c"), ("b", "d")).build(), build("mesh:1x4"))
    position = np.array([0, 1, 2, 3], dtype=np.int32)
    short = shortest(problem, position)
    found = route(problem, position, short, short + 4)
    assert not found.legal
    assert found.overuse == 1
