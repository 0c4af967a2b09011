"""The first mapping of the exact mapper: places, shorter wires, and edges that are in each other's way."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.conftest import proved_right

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg
from gridloom.mapping import Mapping
from gridloom.search.budget import Budget
from gridloom.search.solver import ExactConfig
from gridloom.targets.grid.mappers.exact.first import WireShortening, first_mapping, near_places
from gridloom.targets.grid.mappers.exact.search import exact_static as exact
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem

pytest.importorskip("pysat")


@pytest.fixture
def trees() -> StaticProblem:
    return build_problem(load_source("kernel:neosa-tree_n_15_t_2"), build("mesh:6x6,inputs=skewed,io=border"))


def spans(problem: StaticProblem, places: np.ndarray) -> np.ndarray:
    assert len(set(places.tolist())) == problem.size
    assert all(problem.may_sit(node, int(tile)) for node, tile in enumerate(places))
    return problem.hops[places[problem.source], places[problem.target]]


def test_places_are_within_the_distance(trees: StaticProblem):
    places = near_places(trees, 2, Budget().start(), 100_000, np.random.default_rng(0))
    assert isinstance(places, np.ndarray)
    assert spans(trees, places).max() <= 2


def test_a_triangle_has_no_neighbouring_places_on_a_mesh(triangle: Dfg):
    problem = build_problem(triangle, build("mesh:3x3"))
    assert near_places(problem, 1, Budget().start(), 100_000, np.random.default_rng(0)) is False


@pytest.mark.parametrize("seed", range(3))
def test_small_models_never_make_wires_longer(trees: StaticProblem, seed: int):
    clock, rng = Budget().start(), np.random.default_rng(seed)
    places = near_places(trees, 6, clock, 100_000, rng)
    assert isinstance(places, np.ndarray)
    wires = WireShortening(trees, places, rng)
    lengths = [wires.total]
    while wires.total and len(lengths) < 30:
        shorter = wires.shorten(clock)
        lengths.append(wires.total)
        assert shorter == (lengths[-1] < lengths[-2])
        assert int((spans(trees, wires.places) - 1).sum()) == wires.total
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < lengths[0]


def test_edges_without_routes_are_never_placed_so_again(trees: StaticProblem):
    clock, rng = Budget().start(), np.random.default_rng(1)
    places = near_places(trees, 3, clock, 100_000, rng)
    assert isinstance(places, np.ndarray)
    wires = WireShortening(trees, places, rng)
    ends = sorted({int(node) for e in (0, 1) for node in (trees.source[e], trees.target[e])})
    seen = set()
    for _ in range(8):
        here = tuple(wires.places[ends].tolist())
        assert here not in seen
        seen.add(here)
        assert wires.part([0, 1], clock)
        spans(trees, wires.places)


def test_the_search_ends_with_its_part_of_the_budget(trees: StaticProblem):
    clock = Budget(effort=300).start()
    asked: list[int] = []
    assert not first_mapping(trees, clock, clock.over, lambda places: asked.append(len(places)) or [])
    assert clock.over()


def test_a_first_mapping_is_the_same_for_the_same_effort():
    dfg, arch = load_source("kernel:neosa-tree_n_15_t_2"), build("mesh:6x6,inputs=skewed,io=border")
    config, budget = ExactConfig(first_legal=True, workers=1), Budget(effort=100_000, seed=3)
    found = [exact(dfg, arch, config, budget) for _ in range(2)]
    assert isinstance(found[0], Mapping) and isinstance(found[1], Mapping)
    proved_right(found[0])
    assert found[0].instances == found[1].instances
    assert found[0].routes == found[1].routes
