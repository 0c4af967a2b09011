"""Placements annealed with shortest ways: what is listed is shortest, and what comes out is what its links say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.conftest import random_dag

from gridloom.archs.spec import build
from gridloom.targets.grid.mappers.anneal import AnnealConfig
from gridloom.targets.grid.mappers.place.ways import WaysAnnealer
from gridloom.targets.grid.mappers.place.ways_kernel import REACH, list_ways
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.targets.grid.mappers.route.pathfinder import link_tables
from gridloom.targets.grid.mappers.search import StaticSearch

GO = np.zeros(1, dtype=np.uint8)


def annealer(dfg, array) -> tuple[WaysAnnealer, StaticSearch]:
    search = StaticSearch(build_problem(dfg, build(array)), AnnealConfig(objective="wirelength"), {})
    return search.ways, search


@pytest.mark.parametrize("array", ["mesh:4x4", "onehop:4x4", "hex:4x4", "chess:4x4"])
def test_every_listed_way_is_a_shortest_one_and_every_near_pair_has_one(array):
    problem = build_problem(random_dag(6, 1), build(array))
    pair, count, ways, _ = list_ways(link_tables(problem))
    source, target, hops = problem.links.source, problem.links.target, problem.hops
    for s in range(problem.tiles):
        for t in range(problem.tiles):
            near = 0 < hops[s, t] <= REACH
            assert (count[s, t] > 0) == near
            found = {tuple(ways[w, : hops[s, t]].tolist()) for w in range(pair[s, t], pair[s, t] + count[s, t])}
            assert len(found) == count[s, t]
            for chain in found:
                stops = [s, *(int(target[link]) for link in chain)]
                assert [int(source[link]) for link in chain] == stops[:-1]
                assert stops[-1] == t


def test_ways_around_a_corner_are_both_listed():
    problem = build_problem(random_dag(6, 1), build("mesh:3x3"))
    _, count, _, _ = list_ways(link_tables(problem))
    tile = problem.arch.tile_index
    assert count[tile["pe_0_0"], tile["pe_1_1"]] == 2
    assert count[tile["pe_0_0"], tile["pe_0_2"]] == 1
    assert count[tile["pe_0_0"], tile["pe_1_2"]] == 3


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("array", ["mesh:5x5", "chess:5x5"])
@pytest.mark.parametrize("aim", ["run", "place"])
def test_links_and_fights_are_those_of_the_ways_that_come_out(seed, array, aim):
    ways, search = annealer(random_dag(18, seed), array)
    problem = search.problem
    first = search.scattered(np.random.default_rng(seed), problem.allowed)
    position, routes, made = getattr(ways, aim)(first, moves=3_000, seed=seed, stop=GO)
    assert made >= 3_000
    assert len(set(position.tolist())) == problem.size
    signals: list[set[tuple[int, int]]] = [set() for _ in range(problem.links.count)]
    for e in range(len(problem.edges)):
        at, end = int(position[problem.source[e]]), int(position[problem.target[e]])
        assert routes.length[e] in (0, problem.hops[at, end])
        for depth, link in enumerate(routes.links(e)):
            assert problem.links.source[link] == at
            at = int(problem.links.target[link])
            signals[link].add((int(problem.source[e]), depth))
        assert at == end or routes.length[e] == 0
    assert [len(found) for found in signals] == routes.used.tolist()
    assert routes.overuse == sum(max(0, len(found) - 1) for found in signals)


def test_a_run_that_is_stopped_keeps_the_placement_it_was_given():
    ways, search = annealer(random_dag(12, 3), "mesh:5x5")
    first = search.scattered(np.random.default_rng(0), search.problem.allowed)
    position, _, made = ways.run(first, moves=1_000, seed=1, stop=np.ones(1, dtype=np.uint8))
    assert made == 0
    assert position.tolist() == first.tolist()


def test_nodes_stay_on_tiles_that_can_run_them():
    ways, search = annealer(random_dag(14, 2), "onehop:6x6,io=border,mul=checkerboard")
    problem = search.problem
    first = search.scattered(np.random.default_rng(1), problem.allowed)
    position, _, _ = ways.run(first, moves=5_000, seed=4, stop=GO)
    assert problem.allowed[problem.kind, position].all()
