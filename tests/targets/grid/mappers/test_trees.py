"""``trees``: layouts with the published areas, routed and balanced; anything but a complete binary tree is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.conftest import proved_right, random_dag

from gridloom import registry
from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.trees import TreeLayout, TreesConfig, compact, h_tree, trees
from gridloom.verify import stats

H_TREE_AREA = {15: 21, 31: 49, 63: 105, 127: 225}
COMPACT_AREA = {15: 16, 31: 36, 63: 81, 127: 144}


def tree(nodes: int, kernel: str = "tree_reduce", **settings: object) -> Dfg:
    dfg: Dfg = registry.load("kernels", kernel).build(nodes=nodes, **settings)
    return dfg


def mapped(dfg: Dfg, layout: TreeLayout, config: TreesConfig, family: str = "mesh") -> Mapping:
    found = trees(dfg, build(f"{family}:{layout.rows}x{layout.cols}"), config, Budget())
    assert isinstance(found, Mapping), str(found)
    proved_right(found)
    return found


def lengths(layout: TreeLayout) -> np.ndarray:
    """Cells from each node to its parent, root first (0)."""
    k = np.arange(len(layout.cells))
    found: np.ndarray = np.abs(layout.cells - layout.cells[np.maximum(k - 1, 0) // 2]).sum(axis=1)
    return found


@pytest.mark.parametrize("nodes", H_TREE_AREA)
def test_h_trees_have_the_published_area_and_wires_of_one_length_a_level(nodes):
    layout = h_tree(nodes.bit_length())
    assert layout.rows * layout.cols == H_TREE_AREA[nodes]
    wires = lengths(layout)
    for level in range(1, nodes.bit_length()):
        assert len(set(wires[2**level - 1 : 2 ** (level + 1) - 1].tolist())) == 1


def test_the_h_tree_of_31_has_six_wires_with_one_cell_between():
    assert sorted(lengths(h_tree(5)).tolist()) == [0] + [1] * 24 + [2] * 6


@pytest.mark.parametrize("nodes", COMPACT_AREA)
def test_compact_layouts_have_the_published_area(nodes):
    for layout in compact(nodes.bit_length(), 3):
        assert layout.rows * layout.cols == COMPACT_AREA[nodes]


@pytest.mark.parametrize("levels", range(1, 9))
def test_no_two_nodes_share_a_cell(levels):
    for layout in (h_tree(levels), *compact(levels, 2)):
        assert layout.cells.shape == (2**levels - 1, 2)
        assert len({tuple(cell) for cell in layout.cells.tolist()}) == len(layout.cells)
        assert (layout.cells >= 0).all()
        assert (layout.cells < [layout.rows, layout.cols]).all()
        assert len(layout.free) == layout.rows * layout.cols - len(layout.cells)


@pytest.mark.parametrize("nodes", [3, 7, 15, 31, 63, 127])
def test_h_trees_need_no_fifo_and_their_latency_is_their_path(nodes):
    layout = h_tree(nodes.bit_length())
    found = mapped(tree(nodes), layout, TreesConfig())
    wires = lengths(layout)
    path = sum(int(wires[2**level - 1]) for level in range(1, nodes.bit_length()))
    assert not any(route.fifo for route in found.routes)
    assert stats(found).latency == path + 1
    assert stats(found).wirelength == np.maximum(wires - 1, 0).sum()


@pytest.mark.parametrize(("nodes", "latency"), [(15, 4), (31, 6), (63, 11), (127, 14)])
def test_h_trees_are_as_fast_as_published_by_hops_from_leaf_to_root(nodes, latency):
    found = mapped(tree(nodes), h_tree(nodes.bit_length()), TreesConfig())
    assert stats(found).latency - 1 <= latency
    assert stats(found).occupancy == nodes / H_TREE_AREA[nodes]


@pytest.mark.parametrize(("nodes", "latency"), [(15, 6), (31, 8), (63, 9), (127, 12)])
@pytest.mark.parametrize("objective", ["wirelength", "latency"])
def test_compact_trees_are_as_fast_as_published(nodes, latency, objective):
    found = mapped(tree(nodes), compact(nodes.bit_length())[0], TreesConfig(layout="compact", objective=objective))
    assert stats(found).latency <= latency
    assert stats(found).occupancy == nodes / COMPACT_AREA[nodes]


@pytest.mark.parametrize(("nodes", "deepest"), [(15, 1), (31, 2), (63, 1), (127, 2)])
@pytest.mark.parametrize("objective", ["wirelength", "latency"])
def test_compact_trees_are_legal_with_fifos_no_deeper_than_published(nodes, deepest, objective):
    config = TreesConfig(layout="compact", objective=objective)
    found = mapped(tree(nodes), compact(nodes.bit_length())[0], config)
    assert max(route.fifo for route in found.routes) <= deepest


def test_no_path_of_the_compact_tree_of_five_levels_is_longer_than_five_cells():
    layout = compact(5)[0]
    wires = lengths(layout)
    paths = [0]
    for node in range(1, 31):
        paths.append(paths[(node - 1) // 2] + int(wires[node]))
    assert max(paths) == 5
    assert stats(mapped(tree(31), layout, TreesConfig(layout="compact"))).latency == 6


@pytest.mark.parametrize(
    ("layout", "array", "occupancy"), [("htree", "mesh:7x12", 60 / 84), ("compact", "mesh:8x8", 60 / 64)]
)
@pytest.mark.parametrize("kernel", ["tree_reduce", "tree_expand"])
def test_four_trees_lie_beside_each_other_without_a_fifo(layout, array, occupancy, kernel):
    found = trees(tree(15, kernel, components=4), build(array), TreesConfig(layout=layout), Budget())
    assert isinstance(found, Mapping)
    proved_right(found)
    assert stats(found).occupancy == occupancy
    assert not any(route.fifo for route in found.routes)


@pytest.mark.parametrize("components", [2, 3, 5])
def test_any_number_of_equal_trees_is_laid_out(components):
    found = trees(tree(7, components=components), build("mesh:8x9"), TreesConfig(), Budget())
    assert isinstance(found, Mapping)
    proved_right(found)


def test_expanding_trees_map_too():
    mapped(tree(31, "tree_expand"), h_tree(5), TreesConfig())


@pytest.mark.parametrize("family", ["onehop", "hex", "chess"])
def test_other_grids_take_the_layouts(family):
    mapped(tree(31), h_tree(5), TreesConfig(), family)


def test_a_layout_is_turned_to_fit():
    found = trees(tree(15), build("mesh:7x3"), TreesConfig(), Budget())
    assert isinstance(found, Mapping)
    proved_right(found)


def _of_two_sizes() -> Dfg:
    """A tree of seven nodes and, beside it, two trees of one node and one of five."""
    b = DfgBuilder("two sizes", "i32")
    b.add("add", b.add("add", b.input("a"), b.input("b")), b.add("add", b.input("c"), b.input("d")))
    b.add("add", b.add("add", b.input("e"), b.input("f")), b.input("g"))
    b.input("h")
    b.input("i")
    return b.build()


@pytest.mark.parametrize(
    "dfg",
    [_of_two_sizes(), random_dag(13, 1), registry.load("kernels", "vector_add").build(), tree(15, "map_reduce")],
    ids=lambda dfg: dfg.name,
)
def test_other_graphs_are_refused(dfg):
    with pytest.raises(OptionError, match="not one complete binary tree, nor several of one size"):
        trees(dfg, build("mesh:12x12"), TreesConfig(), Budget())


def test_a_lopsided_tree_of_the_right_size_is_refused():
    b = DfgBuilder("lopsided", "i32")
    total = b.input("x0")
    for k in range(1, 4):
        total = b.add("add", total, b.input(f"x{k}"))
    dfg = b.build()
    assert len(dfg.nodes) == 7
    with pytest.raises(OptionError, match="7 placed nodes and 6 routed edges"):
        trees(dfg, build("mesh:6x6"), TreesConfig(), Budget())


def test_an_array_smaller_than_the_layout_is_a_failure():
    found = trees(tree(15), build("mesh:4x4"), TreesConfig(), Budget())
    assert isinstance(found, Failure)
    assert (found.constraint, found.demand) == ("area of the layout", "3x7 tiles for a tree of 15 nodes")


def test_an_array_too_small_for_all_of_several_trees_is_a_failure():
    found = trees(tree(15, components=4), build("mesh:7x9"), TreesConfig(), Budget())
    assert isinstance(found, Failure)
    assert found.demand == "3x7 tiles for a tree of 15 nodes, 4 times"


def test_op_classes_that_no_part_of_the_array_has_are_a_failure():
    found = trees(tree(31), build("mesh:9x9,io=border"), TreesConfig(), Budget())
    assert isinstance(found, Failure)
    assert found.constraint == "op classes under the layout"


@pytest.mark.parametrize("wrong", [{"layout": "x"}, {"objective": "area"}, {"tries": 0}, {"detour": -1}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(OptionError, match=next(iter(wrong))):
        TreesConfig(**wrong)
