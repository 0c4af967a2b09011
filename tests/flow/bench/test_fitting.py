"""Sizes of arrays: the smallest square on which op classes are enough, by counting."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.archs.spec import build
from gridloom.compiler.source import load_source
from gridloom.errors import OptionError
from gridloom.flow.bench.fitting import fill_in_size, fits, node_kinds, tile_kinds
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.targets.grid.mappers.screening import screen


@pytest.mark.parametrize(
    ("source", "arch", "size"),
    [
        # 32 leaves and the result on a border of 4 * (side - 1) tiles; 9 x 9 has 32 of them.
        ("neosa-tree_n_63_t_1", "mesh:fit,io=border", "mesh:10x10,io=border"),
        ("neosa-tree_n_63_t_1", "onehop:fit,io=border", "onehop:10x10,io=border"),
        ("neosa-tree_n_63_t_1", "mesh:fit,mul=checkerboard", "mesh:8x8,mul=checkerboard"),
        ("neosa-matmul22", "hex:fit,io=border,mul=borders", "hex:3x3,io=border,mul=borders"),
        ("vector_add", "chess:fit", "chess:2x2"),
        ("vector_add", "chess:7x7", "chess:7x7"),
    ],
)
def test_fit_is_the_smallest_square_with_room_for_every_class(source, arch, size):
    assert fill_in_size(arch, load_source(f"kernel:{source}")) == size


@pytest.mark.parametrize("layout", ["checkerboard", "columns", "borders"])
@pytest.mark.parametrize("source", ["neosa-tree_n_31_t_1", "neosa-convolution33", "neosa-matmul22normal"])
def test_one_size_less_is_refused_and_the_size_itself_is_not(source, layout):
    dfg = load_source(f"kernel:{source}")
    fitted = fill_in_size(f"onehop:fit,io=border,mul={layout}", dfg)
    side = int(fitted.partition(":")[2].partition("x")[0])
    assert screen(build_problem(dfg, build(fitted))) is None
    smaller = fitted.replace(f"{side}x{side}", f"{side - 1}x{side - 1}")
    assert screen(build_problem(dfg, build(smaller))) is not None


def test_where_no_square_has_the_classes_the_mapper_is_left_to_say_so():
    dfg = load_source("kernel:fir")
    assert fill_in_size("mesh:fit,mul=none", dfg) == fill_in_size("mesh:auto,mul=none", dfg)


KINDS = [frozenset({"alu"}), frozenset({"mul"}), frozenset({"input", "mul"}), frozenset({"input"})]


@given(
    st.dictionaries(st.sampled_from(KINDS), st.integers(1, 3)),
    st.dictionaries(st.sets(st.sampled_from(["alu", "mul", "input"]), min_size=1).map(frozenset), st.integers(1, 3)),
)
def test_counting_sets_of_kinds_is_the_same_as_matching_nodes_with_tiles(needs, tiles):
    nodes = [kind for kind, count in needs.items() for _ in range(count)]
    places = [classes for classes, count in tiles.items() for _ in range(count)]
    assert fits(Counter(needs), Counter(tiles)) == (_matched(nodes, places) == len(nodes))


def _matched(nodes, places):
    owner: dict[int, int] = {}

    def place(node, seen):
        for tile, classes in enumerate(places):
            if tile in seen or not nodes[node] <= classes:
                continue
            seen.add(tile)
            if tile not in owner or place(owner[tile], seen):
                owner[tile] = node
                return True
        return False

    return sum(place(node, set()) for node in range(len(nodes)))


def test_too_many_kinds_are_refused_before_sets_of_them_are_tried():
    many = Counter({frozenset({f"class {k}"}): 1 for k in range(17)})
    with pytest.raises(OptionError, match="17 kinds of nodes are more than are counted; name the size"):
        fits(many, Counter())


def test_constants_need_no_tile():
    assert sum(node_kinds(load_source("kernel:gray"), results_leave=True).values()) < len(
        load_source("kernel:gray").nodes
    )
    assert sum(tile_kinds("mesh:3x4").values()) == 12
