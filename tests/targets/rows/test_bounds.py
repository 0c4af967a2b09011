"""Rows that a graph needs: what is proved never contradicts what is mapped."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.plain_arrays import static_grid
from tests.search.conftest import butterflies, sums

from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import DfgBuilder
from gridloom.mapping.model import Failure
from gridloom.targets.rows.bounds import count_columns, heard_in_row, register_rows, row_windows, upon
from gridloom.targets.rows.families import genmap as genmap_arch
from gridloom.targets.rows.mappers.problem import CONST, OP, RowGraph, flatten
from gridloom.targets.rows.mappers.screening import low_constants, screen, screen_by_counts, too_high
from gridloom.targets.rows.mappers.search import FIT, TURNS, Starts, narrowest, seed_of


def windows(graph: RowGraph, heard: int) -> tuple[list[int], list[int]]:
    edges = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    return row_windows((graph.group == OP).tolist(), edges, heard)


@pytest.mark.parametrize(
    ("spec", "heard"),
    [
        ("vpcma", 1),
        ("vpcma:4x3", 1),
        ("vpcma:8x1", 0),
        ({"family": "vpcma", "alu_routes": False}, 1),
        (dict(static_grid().spec), None),
    ],
)
def test_an_op_hears_of_its_row_by_one_wire(spec: str, heard: int | None) -> None:
    assert heard_in_row(build(spec)) == heard


@pytest.mark.parametrize(
    ("chip", "heard"),
    [("CCSOTB2/arch.xml", 1), ("CCSOTB/arch_real.xml", 2), ("VPCMA2/arch.xml", 2), ("RHP-CGRA/arch.xml", None)],
)
def test_published_descriptions_have_their_own_rule(benchmarks: Path, chip: str, heard: int | None) -> None:
    assert heard_in_row(genmap_arch.read(benchmarks / "genmap" / "chip_files" / chip)) == heard


@pytest.mark.parametrize(
    ("rows", "heard", "expected"),
    [([], 1, 0), ([3], 1, 3), ([3, 3], 1, 4), ([3, 2], 1, 3), ([3, 1], 1, 3), ([2, 2], 0, 3), ([2, 2], 2, 2)],
)
def test_operands_beyond_those_heard_come_from_below(rows: list[int], heard: int, expected: int) -> None:
    assert upon(rows, heard) == expected


def test_butterflies_climb_a_row_a_stage_and_chains_do_not() -> None:
    """Two values that are both read twice: sum and difference cannot share the row of both."""
    butterfly = [(0, 2), (1, 2), (0, 3), (1, 3), (2, 4), (3, 4), (2, 5), (3, 5)]
    assert row_windows([True] * 6, butterfly, 1) == ([0, 0, 1, 1, 2, 2], [2, 2, 1, 1, 0, 0])
    chain = [(k, k + 1) for k in range(9)]
    assert row_windows([True] * 10, chain, 1) == ([0] * 10, [0] * 10)
    assert row_windows([False, True, True], [(0, 1), (0, 2), (1, 2)], 1) == ([0, 0, 0], [0, 0, 0])


def test_an_operand_that_is_read_twice_is_one_wire() -> None:
    assert row_windows([True, True], [(0, 1), (0, 1)], 1)[0] == [0, 0]


def test_columns_make_room_from_every_row_on() -> None:
    assert count_columns([0, 0, 1, 1], 2) == 2
    assert count_columns([0, 1, 1, 1], 2) == 3
    assert count_columns([0, 1, 2], 2) is None
    assert count_columns([], 2) == 0


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    ops=st.integers(2, 14),
    inputs=st.integers(1, 3),
    near=st.integers(1, 4),
    spec=st.sampled_from(["vpcma:3x4", "vpcma:4x3", "vpcma:5x5"]),
)
def test_no_mapping_has_an_op_below_its_lowest_row(seed: int, ops: int, inputs: int, near: int, spec: str) -> None:
    arch = build(spec)
    graph = flatten(sums(seed, ops, inputs, near), arch)
    found = narrowest(Starts(graph, arch), arch.cols, fit=FIT[:3], seed=seed)
    assume(found.width is not None)
    assert found.layout is not None
    lowest, _ = windows(graph, 1)
    for n in np.flatnonzero(graph.group == OP).tolist():
        assert arch.tiles[found.layout.place[n]].row >= lowest[n]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), ops=st.integers(5, 14), near=st.integers(2, 4))
def test_no_search_maps_what_the_rows_refuse(seed: int, ops: int, near: int) -> None:
    """On an array of one row less than is proved to be needed."""
    dfg = sums(seed, ops, 2, near)
    height = max(windows(flatten(dfg, build("vpcma")), 1)[0]) + 1
    assume(height > 1)
    arch = build(f"vpcma:{height - 1}x{ops}")
    graph = flatten(dfg, arch)
    assert screen_by_counts(graph, arch, arch.cols) is None
    assert too_high(graph, arch, arch.cols) is not None
    starts, go = Starts(graph, arch), np.zeros(1, dtype=np.uint8)
    for k, heat in product(range(2), TURNS):
        layout = starts.start(arch.cols, seed_of(seed, k), starts.moves(0.5), None, go, go, heat)
        assert layout is not None
        assert not layout.legal


@pytest.fixture(scope="module")
def vpcma() -> Arch:
    return build("vpcma")


def test_a_graph_of_more_rows_is_refused_with_the_reason(vpcma: Arch) -> None:
    assert too_high(flatten(butterflies(8), vpcma), vpcma, 12) is None
    failure = too_high(flatten(butterflies(9), vpcma), vpcma, 12)
    assert failure is not None
    assert (failure.constraint, failure.bound) == ("rows", "8 rows")
    assert failure.demand == "9 rows: at most the value of an op comes from a reader's own row"
    assert narrowest(Starts(flatten(butterflies(9), vpcma), vpcma), 12).decided == "proof"


def test_ops_that_sit_high_need_columns() -> None:
    """Four ops that all read two ops of row 0 sit in row 1 of two: not on three columns."""
    b = DfgBuilder("wide", "cma24")
    x, z = b.input("x"), b.input("z")
    left, right = b.add("add", x, z), b.add("sub", x, z)
    for k, op in enumerate(("add", "sub", "xor", "or")):
        b.output(b.add(op, left, right), f"y{k}")
    arch = build("vpcma:2x6")
    failure = too_high(flatten(b.build(), arch), arch, 3)
    assert failure is not None
    assert (failure.demand, failure.bound) == ("4 ops in row 1 or above", "3 PEs there in 3 columns")
    assert too_high(flatten(b.build(), arch), arch, 4) is None


# -- constant registers -----------------------------------------------------------------------------------------------


def trees_of_constants(count: int) -> RowGraph:
    """Trees of three levels, each of which reads a constant of its own at all four leaves: in row 0 of three."""
    b = DfgBuilder("trees", "cma24")
    inputs = [b.input(f"x{k}") for k in range(4)]
    for k in range(count):
        constant = b.const(100 + k)
        leaves = [b.add("add", x, constant) for x in inputs]
        halves = [b.add("xor", *leaves[:2]), b.add("xor", *leaves[2:])]
        b.output(b.add("add", *halves), f"y{k}")
    return flatten(b.build(), build("vpcma:3x12"))


@pytest.mark.parametrize(
    ("spec", "rows"), [("vpcma:3x4", (0, 0, 1, 1, 2, 2)), ("vpcma:3x4,constants=4", (0, 0, 1, 2)), ("vpcma", None)]
)
def test_a_constant_register_serves_its_row_and_those_above(spec: str, rows: tuple[int, ...] | None) -> None:
    expected = rows or tuple(sorted([*range(8), *range(8)]))
    assert register_rows(build(spec)) == expected


def test_constants_that_are_all_read_in_the_lowest_row_need_its_registers() -> None:
    arch = build("vpcma:3x12")
    assert screen(trees_of_constants(2), arch, 12) is None
    failure = screen(trees_of_constants(3), arch, 12)
    assert failure is not None
    assert failure.constraint == "constant registers"
    assert failure.demand == "3 constants with a reader in row 0 or below, whatever the placement"
    assert failure.bound == "2 registers that serve rows 0 to 0"
    assert narrowest(Starts(trees_of_constants(3), arch), 12).decided == "proof"
    # A row more, and the readers of one constant sit a row higher.
    assert screen(trees_of_constants(3), build("vpcma:4x12"), 12) is None


@pytest.mark.parametrize("rows", [3, 4, 8])
def test_no_graph_that_a_short_search_maps_is_refused(rows: int) -> None:
    """Families of the mappability data with many constants for the rows: registers matter, and some graphs map."""
    from gridloom.targets.rows.learned.random_graphs import draw

    arch = build(f"vpcma:{rows}x12")
    stop = np.zeros(1, dtype=np.uint8)
    seen: set[bool] = set()
    for family in range(60):
        graph = flatten(draw(family, 0), arch)
        if graph.count(CONST) < min(rows, 4) or screen(graph, arch, 12) not in (None, _by_registers(graph, arch)):
            continue
        refused = low_constants(graph, arch, 12) is not None
        starts = Starts(graph, arch)
        layout = starts.start(12, seed_of(0, 0), starts.moves(0.25), None, stop, stop, TURNS[0])
        assert layout is not None
        assert not (refused and layout.legal)
        seen.add(layout.legal)
    assert seen == {True, False}


def _by_registers(graph: RowGraph, arch: Arch) -> Failure | None:
    """The refusal by registers, where it is the first."""
    failure = screen(graph, arch, 12)
    return failure if failure is not None and failure.constraint == "constant registers" else None
