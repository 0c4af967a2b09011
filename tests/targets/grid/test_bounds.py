"""Bounds of spatial mappings: never above what brute force or a mapper finds, and where the theory says so, above 0."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.conftest import random_dag

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.archs.spec import build, build_spec
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.grid.bounds import degree_bound, latency_bound, parity_bound, wirelength_bound
from gridloom.targets.grid.mappers.anneal import AnnealConfig, anneal
from gridloom.verify import stats


def triangle() -> Dfg:
    b = DfgBuilder("triangle", "i32")
    x = b.input("a")
    y = b.add("neg", x, id="b")
    b.add("add", x, y, id="c")
    return b.build()


def star(leaves: int) -> Dfg:
    b = DfgBuilder("star", "i32")
    x = b.input("x")
    for k in range(leaves):
        b.output(x, f"y{k}")
    return b.build()


def tree(nodes: int, components: int = 1) -> Dfg:
    dfg: Dfg = registry.load("kernels", "tree_reduce").build(nodes=nodes, components=components)
    return dfg


def least_wirelength(dfg: Dfg, arch: Arch) -> int:
    """By trying every placement."""
    ends = np.array([(dfg.index[e.source], dfg.index[e.target]) for e in dfg.edges])
    places = np.array(list(permutations(range(len(arch.tiles)), len(dfg.nodes))))
    hops = arch.hops[places[:, ends[:, 0]], places[:, ends[:, 1]]]
    hops = np.where(ends[:, 0] == ends[:, 1], 1, hops)
    return int(np.maximum(hops - 1, 0).sum(axis=1).min())


def test_the_triangle_needs_a_long_wire_on_a_mesh_and_none_on_onehop():
    bound = parity_bound(triangle(), build("mesh:4x4"))
    assert bound.value == 1
    assert "odd cycles" in bound.reason
    assert least_wirelength(triangle(), build("mesh:2x3")) == 1
    assert wirelength_bound(triangle(), build("onehop:4x4")).value == 0
    assert least_wirelength(triangle(), build("onehop:2x3")) == 0


def test_triangles_without_a_common_edge_add_up():
    b = DfgBuilder("triangles", "i32")
    x = b.input("x")
    for k in range(3):
        y = b.add("neg", x, id=f"y{k}")
        x = b.add("add", x, y, id=f"z{k}")
    assert parity_bound(b.build(), build("mesh:4x4")).value == 3


def test_the_tree_of_15_does_not_fit_the_colours_of_16_tiles_but_of_20():
    # 10 of its nodes are of one colour; the grids have 8 and 10 tiles of each.
    bound = parity_bound(tree(15), build("mesh:4x4"))
    assert bound.value == 1
    assert "8 and 8 tiles" in bound.reason
    assert parity_bound(tree(15), build("mesh:4x5")).value == 0


def test_two_trees_of_opposite_colours_fit_together():
    # 10 + 5 and 5 + 10 nodes of each colour.
    assert parity_bound(tree(15, 2), build("mesh:5x6")).value == 0


def test_a_node_with_more_partners_than_neighbours_leaves_some_out():
    # Of six partners two are in excess, and an edge may be in excess at both its ends.
    assert degree_bound(star(6), build("mesh:4x4")).value == 1
    assert degree_bound(star(4), build("mesh:4x4")).value == 0
    assert degree_bound(star(6), build("onehop:5x5")).value == 0
    assert degree_bound(star(4), build("mesh:1x5")).value == 1


def test_the_latency_is_at_least_the_longest_path():
    assert latency_bound(tree(15), build("mesh:4x5")).value == 4
    slow = build_spec({"family": "mesh", "rows": 4, "cols": 4, "latency": {"alu": 3}}, "test")
    assert latency_bound(triangle(), slow).value == 7


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000), st.sampled_from(["mesh:2x3", "mesh:1x6", "onehop:2x3", "mesh:1x7"]))
def test_no_bound_is_above_the_best_of_all_placements(nodes, seed, array):
    rng = np.random.default_rng(seed)
    b = DfgBuilder(f"random_{seed}", "i32")
    made = [b.input("x")]
    while len(made) < nodes:
        made.append(b.add("add", *(made[int(k)] for k in rng.integers(0, len(made), 2))))
    dfg, arch = b.build(), build(array)
    least = least_wirelength(dfg, arch)
    assert parity_bound(dfg, arch).value <= least
    assert degree_bound(dfg, arch).value <= least
    assert wirelength_bound(dfg, arch).value == max(parity_bound(dfg, arch).value, degree_bound(dfg, arch).value)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("objective", ["wirelength", "latency"])
def test_no_bound_is_above_what_a_mapper_finds(seed, objective):
    dfg, arch = random_dag(16, seed), build("mesh:6x6")
    found = anneal(dfg, arch, AnnealConfig(objective=objective), Budget(effort=40_000, seed=seed))
    assert isinstance(found, Mapping)
    assert wirelength_bound(dfg, arch).value <= stats(found).wirelength
    assert latency_bound(dfg, arch).value <= stats(found).latency
