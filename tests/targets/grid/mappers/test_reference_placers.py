"""``divide`` and ``genetic-grid``: other ways to a placement, the same promises about what is returned."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import shared_in_time
from tests.search.conftest import proved_right, random_dag

from gridloom.archs.spec import build
from gridloom.compiler.source import load_source
from gridloom.errors import OptionError
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.divide import DivideConfig, _Cuts, divide
from gridloom.targets.grid.mappers.genetic import GeneticGridConfig, _Evolution, _Individual, genetic_grid
from gridloom.targets.grid.mappers.place.bisect_kernel import BisectionPart, bisect
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.targets.grid.mappers.search import StaticSearch

FAST = GeneticGridConfig(starts=1, population=6, offspring=6, generations=3)
PLACERS = [(divide, DivideConfig(starts=1)), (genetic_grid, FAST)]


@pytest.mark.parametrize(("mapper", "config"), PLACERS)
@settings(max_examples=8)
@given(st.integers(4, 24), st.integers(0, 999), st.sampled_from(["mesh", "onehop", "hex", "chess"]))
def test_what_is_returned_is_legal_and_right(mapper, config, nodes, seed, family):
    found = mapper(random_dag(nodes, seed), build(f"{family}:7x7"), config, Budget(seed=seed))
    assert isinstance(found, Mapping), str(found)
    proved_right(found)


@pytest.mark.parametrize(("mapper", "config"), PLACERS)
@pytest.mark.parametrize("layout", ["io=border", "mul=checkerboard", "io=border,mul=borders"])
def test_op_classes_are_kept(mapper, config, layout):
    found = mapper(load_source("kernel:fir"), build(f"onehop:7x7,inputs=skewed,{layout}"), config, Budget(seed=3))
    assert isinstance(found, Mapping), str(found)
    proved_right(found)


@pytest.mark.parametrize(("mapper", "config"), PLACERS)
def test_a_run_ended_by_effort_does_not_depend_on_workers(mapper, config):
    dfg, arch = random_dag(14, 5), build("chess:5x5")
    texts = {
        json_format.dumps(mapper(dfg, arch, config, Budget(effort=20_000, seed=4, workers=workers)))
        for workers in (1, 3)
    }
    assert len(texts) == 1


@pytest.mark.parametrize(("mapper", "config"), PLACERS)
def test_too_small_a_grid_and_other_arrays_are_refused(mapper, config):
    assert isinstance(mapper(random_dag(12, 1), build("mesh:3x3"), config, Budget()), Failure)
    with pytest.raises(OptionError, match="takes static grids such as mesh; array 'shared-in-time' is none of them"):
        mapper(random_dag(4, 1), shared_in_time(), config, Budget())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DivideConfig(passes=-1), "passes: expected at least 0, found -1"),
        (lambda: DivideConfig(objective="area"), "objective: expected buffers, wirelength or latency, found 'area'"),
        (lambda: GeneticGridConfig(population=1), "population: expected at least 2, found 1"),
        (lambda: GeneticGridConfig(mutation=2.0), "mutation: expected 0 to 1, found 2.0"),
    ],
)
def test_settings_out_of_range_are_named(make, message):
    with pytest.raises(OptionError, match=message):
        make()


def test_a_chain_in_random_order_is_cut_once():
    size = 16
    order = np.random.default_rng(1).permutation(size)
    place = np.argsort(order)
    rows = [[int(order[place[n] + step]) for step in (-1, 1) if 0 <= place[n] + step < size] for n in range(size)]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    neighbour = np.array([other for row in rows for other in row], dtype=np.int32)
    members = np.arange(size, dtype=np.int32)
    side = np.arange(size) % 2 == 1
    part = BisectionPart(members, members.copy(), starts, neighbour, np.zeros(size))
    bisect(side, part, np.array([8, 8], dtype=np.int32), 50)
    cut = sum(side[a] != side[b] for a, b in pairwise(order))
    assert side.sum() == 8
    assert cut <= 3


def test_cuts_leave_every_node_a_tile_of_its_own():
    problem = build_problem(load_source("kernel:kmeans,k=4,n=4"), build("mesh:8x8"))
    cuts = _Cuts(StaticSearch(problem, DivideConfig(), {}), DivideConfig())
    position = cuts.place(np.random.default_rng(2), np.zeros(1, dtype=np.uint8))
    assert len(set(position.tolist())) == problem.size
    assert all(problem.may_sit(node, tile) for node, tile in enumerate(position.tolist()))


def test_a_child_has_its_tiles_from_its_parents_where_they_do_not_collide():
    problem = build_problem(load_source("kernel:fir"), build("mesh:7x7"))
    config = GeneticGridConfig(mutation=0.0)
    evolution = _Evolution(StaticSearch(problem, config, {}), config)
    rng = np.random.default_rng(3)
    people = [_Individual(evolution.search.scattered(rng, problem.allowed), cost) for cost in (1, 2)]
    child = evolution._child(people, rng)
    inherited = (child == people[0].position) | (child == people[1].position)
    assert len(set(child.tolist())) == problem.size
    assert inherited.mean() > 0.5
