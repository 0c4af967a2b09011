"""Placements annealed with trees of nets: what is counted on links is what the ways say; dense graphs are mapped."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.conftest import proved_right, random_dag

from gridloom import registry
from gridloom.archs.spec import build
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.anneal import AnnealConfig, anneal
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes
from gridloom.targets.grid.mappers.search import StaticSearch

GO = np.zeros(1, dtype=np.uint8)


def spread(
    array: str, seed: int, moves: int, fixed: int = 0
) -> tuple[StaticProblem, np.ndarray, np.ndarray, GridRoutes]:
    """(problem, placement before, placement after, routes); the first ``fixed`` nodes stay."""
    problem = build_problem(random_dag(20, seed), build(array))
    free = StaticSearch(problem, AnnealConfig(), {})
    first = free.scattered(np.random.default_rng(seed), problem.allowed)
    search = StaticSearch(problem, AnnealConfig(), {k: int(first[k]) for k in range(fixed)})
    position, routes, made = search.nets.run(first, problem.allowed, moves=moves, seed=seed, stop=GO)
    assert made <= moves
    return problem, first, position, routes


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("array", ["mesh:6x6", "chess:6x6", "hex:6x6", "onehop:6x6", "mesh:8x8,io=border"])
def test_links_are_those_of_the_ways_that_come_out(seed, array):
    problem, _, position, routes = spread(array, seed, 4_000)
    assert len(set(position.tolist())) == problem.size
    assert all(problem.may_sit(node, tile) for node, tile in enumerate(position.tolist()))
    on: dict[int, set[tuple[int, int]]] = {}
    for e, (a, b) in enumerate(zip(problem.source.tolist(), problem.target.tolist())):
        links = routes.links(e)
        if not links:
            continue
        stops = [int(position[a]), *(int(problem.links.target[link]) for link in links)]
        assert [int(problem.links.source[link]) for link in links] == stops[:-1]
        assert stops[-1] == position[b]
        assert len(links) == problem.hops[position[a], position[b]]
        for age, link in enumerate(links):
            on.setdefault(link, set()).add((a, age))
    assert routes.used.tolist() == [len(on.get(link, ())) for link in range(problem.links.count)]
    assert routes.overuse == sum(len(signals) - 1 for signals in on.values())
    assert routes.lost == sum(not routes.links(e) for e in range(len(problem.edges)))


def test_fixed_nodes_stay():
    _, before, after, _ = spread("mesh:6x6", 3, 20_000, fixed=6)
    assert before[:6].tolist() == after[:6].tolist()
    assert before.tolist() != after.tolist()


def test_no_moves_change_nothing():
    _, before, after, _ = spread("mesh:6x6", 3, 0)
    assert before.tolist() == after.tolist()


@pytest.mark.slow
def test_a_dense_product_is_mapped_where_hops_alone_leave_conflicts():
    dfg = registry.load("kernels", "matmul_add").build(n=3)
    found = anneal(dfg, build("mesh:11x11,inputs=skewed"), AnnealConfig(), Budget(effort=60_000_000, seed=1))
    assert isinstance(found, Mapping), str(found)
    proved_right(found)
