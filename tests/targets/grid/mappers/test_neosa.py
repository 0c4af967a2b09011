"""``neosa``: the published placer keeps its rules, and what is returned is legal and right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import shared_in_time
from tests.search.conftest import proved_right, random_dag

from gridloom import registry
from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.annealing import logarithms
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.neosa import NeosaConfig, _Instances, neosa
from gridloom.targets.grid.mappers.place.neosa_kernel import NeosaSchedule, wirelength
from gridloom.targets.grid.mappers.place.neosa_kernel import neosa as kernel
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.verify import stats

FEW = NeosaConfig(instances=4, cooling=0.98)


def tree(nodes: int) -> Dfg:
    dfg: Dfg = registry.load("kernels", "tree_reduce").build(nodes=nodes)
    return dfg


@settings(max_examples=6)
@given(st.integers(4, 20), st.integers(0, 1000), st.sampled_from(["mesh", "onehop", "hex", "chess"]))
def test_what_is_returned_for_a_random_graph_is_legal_and_right(nodes, seed, family):
    found = neosa(random_dag(nodes, seed), build(f"{family}:6x6"), FEW, Budget(seed=seed))
    if isinstance(found, Mapping):
        proved_right(found)
        assert found.provenance["legal_instances"] >= 1
    else:
        assert found.constraint == "links"


def test_the_published_schedule_is_the_default_and_finds_the_tree_without_wires():
    config = NeosaConfig(objective="wirelength", instances=40)
    assert config.sweeps(20) == 16111
    found = neosa(tree(15), build("mesh:4x5"), config, Budget(seed=2))
    assert isinstance(found, Mapping)
    proved_right(found)
    assert stats(found).wirelength == 0
    assert found.provenance["optimal"]


@pytest.mark.parametrize("options", ["io=border,mul=checkerboard", "mul=columns", "io=border"])
def test_nodes_swap_only_within_the_region_they_begin_in(options):
    problem = build_problem(registry.load("kernels", "distance").build(), build(f"mesh:6x6,{options}"))
    run = _Instances(problem, FEW, Budget().start())
    begin = run.search.scattered(np.random.default_rng(5), problem.allowed)
    end, sweeps = run.place(5, cooling=0.9, stop=np.zeros(1, dtype=np.uint8))
    assert sweeps > 0
    assert (begin != end).any()
    assert (run.region[begin] == run.region[end]).all()
    assert problem.allowed[problem.kind, end].all()


def test_the_kernel_reports_the_wirelength_of_what_it_leaves():
    problem = build_problem(random_dag(20, 3), build("mesh:6x6"))
    run = _Instances(problem, FEW, Budget().start())
    position = run.search.scattered(np.random.default_rng(1), problem.allowed)
    graph, grid = run.search.graph, run.search.grid
    before = wirelength(position, graph.starts, graph.neighbour, grid.hops)
    stop = np.zeros(1, dtype=np.uint8)
    cost, sweeps = kernel(
        position, run.region, graph, grid, NeosaSchedule(100.0, 1e-5, 0.95, False), logarithms(), 7, stop
    )
    hops = problem.hops[position[problem.source], position[problem.target]]
    assert cost == np.maximum(hops - 1, 0).sum() < before
    assert sweeps == 315
    assert len(set(position.tolist())) == problem.size


def test_the_released_schedule_cools_once_for_each_first_cell():
    config = NeosaConfig(schedule="released", objective="wirelength")
    assert config.sweeps(64) == 252
    problem = build_problem(random_dag(20, 3), build("mesh:6x6"))
    run = _Instances(problem, config, Budget().start())
    _, sweeps = run.place(3, cooling=config.cooling, stop=np.zeros(1, dtype=np.uint8))
    assert sweeps == config.sweeps(36) == 448


def test_instances_after_the_one_that_ends_the_run_do_not_count():
    config = NeosaConfig(schedule="released", objective="wirelength", instances=64)
    made = {
        neosa(tree(7), build("mesh:4x4"), config, Budget(seed=1, workers=workers)).provenance["instances"]
        for workers in (1, 3)
    }
    assert len(made) == 1


def test_the_same_seed_gives_the_same_bytes_whatever_the_workers():
    dfg, arch = random_dag(16, 5), build("mesh:6x6")
    saved = {
        json_format.dumps(neosa(dfg, arch, NeosaConfig(), Budget(effort=400_000, seed=9, workers=workers)))
        for workers in (1, 2, 3)
    }
    assert len(saved) == 1


def test_effort_too_small_for_whole_instances_cools_faster():
    found = neosa(random_dag(12, 2), build("chess:5x5"), NeosaConfig(), Budget(effort=120_000))
    assert isinstance(found, Mapping)
    assert found.provenance["moves"] <= 2 * 120_000


def test_the_first_legal_instance_is_taken_if_asked_for():
    dfg, arch = registry.load("kernels", "kmeans").build(k=3, n=2), build("hex:7x7")
    first, best = (
        neosa(dfg, arch, NeosaConfig(instances=8, cooling=0.9, first_legal=taken, objective="wirelength"), Budget())
        for taken in (True, False)
    )
    assert isinstance(first, Mapping)
    assert isinstance(best, Mapping)
    assert first.provenance["legal_instances"] == 1
    assert best.provenance["instances"] == 8
    assert stats(best).wirelength <= stats(first).wirelength


def test_too_few_tiles_is_a_failure_and_no_search():
    found = neosa(tree(15), build("mesh:3x3"), FEW, Budget())
    assert isinstance(found, Failure)
    assert found.constraint == "tiles"


@pytest.mark.parametrize(
    "wrong", [{"instances": 0}, {"cooling": 1.0}, {"cold": 200.0}, {"objective": "area"}, {"detour": -1}]
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(OptionError, match=next(iter(wrong))):
        NeosaConfig(**wrong)


def test_arrays_that_are_no_static_grids_are_refused():
    with pytest.raises(OptionError, match="mapper 'neosa' takes static grids such as mesh"):
        neosa(tree(15), shared_in_time(), FEW, Budget())
