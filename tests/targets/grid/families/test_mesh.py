"""mesh, onehop, hex, chess: distances, degrees, timing, who can do what."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archs.paths import drivers, earliest, followers

from gridloom.archs import Arch, Kind, build
from gridloom.errors import ArchError

FAMILIES = ("mesh", "onehop", "hex", "chess")


def hops(arch: Arch, a: tuple[int, int], b: tuple[int, int]) -> int:
    return int(arch.hops[a[0] * arch.cols + a[1], b[0] * arch.cols + b[1]])


def cells(arch: Arch) -> list[tuple[int, int]]:
    return [(tile.row, tile.col) for tile in arch.tiles]


@pytest.mark.parametrize("size", ["6x6", "1x7", "5x2", "1x1"])
def test_mesh_distance_is_rows_plus_columns(size: str) -> None:
    arch = build(f"mesh:{size}")
    for r, c in cells(arch):
        for y, x in cells(arch):
            assert hops(arch, (r, c), (y, x)) == abs(r - y) + abs(c - x)


@pytest.mark.parametrize("size", ["6x6", "1x7", "5x2", "1x1"])
def test_onehop_distance_halves_rows_and_columns(size: str) -> None:
    arch = build(f"onehop:{size}")
    for r, c in cells(arch):
        for y, x in cells(arch):
            assert hops(arch, (r, c), (y, x)) == (abs(r - y) + 1) // 2 + (abs(c - x) + 1) // 2


def test_corner_to_corner_of_6x6_takes_the_published_hops() -> None:
    found = {family: hops(build(f"{family}:6x6"), (0, 0), (5, 5)) for family in FAMILIES}
    assert found == {"mesh": 10, "onehop": 6, "chess": 6, "hex": 8}


def test_even_rows_of_hex_are_shifted_left() -> None:
    arch = build("hex:6x6")
    around = {(r, c): {cell for cell in cells(arch) if hops(arch, (r, c), cell) == 1} for r, c in cells(arch)}
    assert around[2, 2] == {(1, 1), (1, 2), (2, 1), (2, 3), (3, 1), (3, 2)}
    assert around[3, 2] == {(2, 2), (2, 3), (3, 1), (3, 3), (4, 2), (4, 3)}
    assert around[0, 0] == {(0, 1), (1, 0)}


def test_cells_with_8_links_alternate_with_cells_with_4_in_chess() -> None:
    arch = build("chess:8x8")
    for r in range(2, 6):
        for c in range(2, 6):
            leaving = [b for a, b, _ in arch.links if a == r * 8 + c]
            assert len(leaving) == (8 if (r + c) % 2 == 0 else 4)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_link_has_one_that_goes_back(family: str) -> None:
    pairs = {(a, b) for a, b, _ in build(f"{family}:5x4").links}
    assert pairs == {(b, a) for a, b in pairs}


@pytest.mark.parametrize("family", FAMILIES)
def test_value_arrives_after_hops_minus_one_cycles(family: str) -> None:
    arch = build(f"{family}:4x5")
    for start in arch.tiles:
        reached = earliest(arch, f"{start.name}.out")
        for end in arch.tiles:
            between = hops(arch, (start.row, start.col), (end.row, end.col))
            assert {reached[f"{end.name}.in{k}"] for k in range(3)} == {max(0, between - 1)}


def test_link_carries_one_signal_and_leads_everywhere_but_back() -> None:
    arch = build("mesh:3x3")
    assert followers(arch, "pe_0_1>pe_1_1") == [
        "pe_1_1.in0", "pe_1_1.in1", "pe_1_1.in2", "pe_1_1>pe_1_0", "pe_1_1>pe_1_2", "pe_1_1>pe_2_1",
    ]  # fmt: skip
    assert drivers(arch, "pe_0_1>pe_1_1") == ["pe_0_0>pe_0_1", "pe_0_1.out", "pe_0_2>pe_0_1"]
    assert set(arch.capacity[arch.kind == Kind.LINK]) == {1}
    assert drivers(arch, "pe_0_1.fu") == []


def with_class(arch: Arch, name: str) -> set[tuple[int, int]]:
    return {(tile.row, tile.col) for tile in arch.tiles if name in tile.classes}


BORDER_4X4 = {(r, c) for r in range(4) for c in range(4) if r in (0, 3) or c in (0, 3)}


def test_op_classes_follow_their_layouts() -> None:
    arch = build("mesh:4x4,io=border,mul=checkerboard")
    assert with_class(arch, "input") == with_class(arch, "output") == BORDER_4X4
    assert with_class(arch, "mul") == {(r, c) for r in range(4) for c in range(4) if (r + c) % 2 == 0}
    assert with_class(arch, "alu") == set(cells(arch))
    assert with_class(build("mesh:4x4,mul=columns"), "mul") == {(r, c) for r in range(4) for c in (0, 2)}
    assert with_class(build({"family": "mesh", "rows": 4, "cols": 4, "classes": {"div": "none"}}), "div") == set()


def test_fifo_is_unbounded_unless_given() -> None:
    assert {tile.fifo for tile in build("mesh:2x2").tiles} == {None}
    assert {tile.fifo for tile in build("mesh:2x2,fifo=4").tiles} == {4}
    region: dict[str, Any] = {"where": {"region": {"rows": [0, 0]}}, "value": 7}
    mixed = build({"family": "hex", "rows": 2, "cols": 2, "fifo": [{"value": 1}, region]})
    assert [tile.fifo for tile in mixed.tiles] == [7, 7, 1, 1]


def test_latency_is_by_op_class_and_at_least_one() -> None:
    arch = build({"family": "chess", "rows": 2, "cols": 2, "latency": {"mul": 3}})
    assert (arch.tiles[0].latency_of("mul"), arch.tiles[0].latency_of("alu")) == (3, 1)


@given(st.sampled_from(FAMILIES), st.integers(1, 5), st.integers(1, 5))
def test_names_and_inputs_follow_the_description(family: str, rows: int, cols: int) -> None:
    arch = build(f"{family}:{rows}x{cols},inputs=skewed")
    assert (arch.style, arch.rows, arch.cols, arch.inputs) == ("static", rows, cols, "skewed")
    assert arch.name == f"{family}:{rows}x{cols},inputs=skewed"
    assert [tile.name for tile in arch.tiles] == [f"pe_{r}_{c}" for r in range(rows) for c in range(cols)]
    assert arch.resource_names[arch.operand_inputs[-1, 2]] == f"{arch.tiles[-1].name}.in2"
    assert (arch.hops >= 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_registers_at_the_ends_of_links_add_a_cycle_whatever_the_way(family: str) -> None:
    plain, registered = build(f"{family}:4x4"), build(f"{family}:4x4,link=1")
    assert (plain.link_cycles, registered.link_cycles) == (0, 1)
    start = "pe_1_2.out"
    before, after = earliest(plain, start), earliest(registered, start)
    operands = [name for name in before if name.endswith(".in0")]
    assert len(operands) == 16
    for name in operands:
        own = name == "pe_1_2.in0"
        assert after[name] - before[name] == (0 if own else 1), name


def test_a_link_has_one_register_at_most() -> None:
    with pytest.raises(ArchError) as caught:
        build("mesh:4x4,link=2")
    assert str(caught.value) == "array 'mesh:4x4,link=2': link: expected 0 to 1, found 2"
