"""torus and its presets: neighbours, register files, rotation, hold, memory buses."""

from __future__ import annotations

import pytest
from tests.archs.paths import drivers, followers

from gridloom.archs import Arch, Kind, build
from gridloom.errors import ArchError

ALL = "all"

# number: (side, file, registers, memory PEs counted from 1 row by row, bus)
PRESETS: dict[int, tuple[int, str, int, object, str]] = {
    1: (2, "central", 16, [3, 4], "dedicated"),
    2: (2, "central", 16, ALL, "row"),
    3: (2, "local", 2, ALL, "row"),
    4: (2, "local", 4, ALL, "row"),
    5: (4, "central", 64, ALL, "row"),
    6: (4, "local", 2, ALL, "row"),
    7: (4, "local", 4, ALL, "row"),
    8: (4, "local", 4, [2, 4, 6, 8], "dedicated"),
    9: (8, "central", 128, ALL, "row"),
    10: (8, "local", 4, ALL, "row"),
    11: (8, "local", 8, ALL, "row"),
    12: (8, "local", 8, [1, 3, 5, 7, 9, 11, 13, 15, 19, 21], "dedicated"),
}


@pytest.mark.parametrize("number", PRESETS)
def test_preset_has_the_published_parts(number: int) -> None:
    side, file, registers, memory, bus = PRESETS[number]
    arch = build(f"ramp-{number}")
    members = list(range(1, side * side + 1)) if memory == ALL else memory
    assert (arch.rows, arch.cols, len(arch.tiles)) == (side, side, side * side)
    assert [len(f.registers) for f in arch.register_files] == [registers] * (1 if file == "central" else side * side)
    assert [f.name for f in arch.register_files] == (["rf"] if file == "central" else [t.name for t in arch.tiles])
    assert [k + 1 for k in arch.tiles_for("mem")] == members
    assert arch.tiles_for("mem") == arch.tiles_for("mem_data")
    if bus == "row":
        expected = [tuple(range(row * side, (row + 1) * side)) for row in range(side)]
    else:
        expected = [(k - 1,) for k in members]  # type: ignore[union-attr]
    assert [(pool.tiles, pool.capacity, pool.classes) for pool in arch.pools] == [(t, 1, {"mem"}) for t in expected]
    # 4 kB of data; 4 kB of instructions of 4 bytes, one a PE and slot.
    assert arch.data_memory == 4096
    assert {tile.contexts for tile in arch.tiles} == {1024 // (side * side)}


def neighbours(arch: Arch, name: str) -> list[str]:
    return [arch.tiles[b].name for a, b, _ in arch.links if arch.tiles[a].name == name]


def test_links_wrap_around() -> None:
    assert neighbours(build("torus:4x4"), "pe_0_0") == ["pe_0_1", "pe_0_3", "pe_1_0", "pe_3_0"]
    assert neighbours(build("torus:3x5"), "pe_2_4") == ["pe_0_4", "pe_1_4", "pe_2_0", "pe_2_3"]


def test_small_torus_has_no_double_links_and_none_to_itself() -> None:
    assert neighbours(build("torus:2x2"), "pe_0_0") == ["pe_0_1", "pe_1_0"]
    assert neighbours(build("torus:1x4"), "pe_0_0") == ["pe_0_1", "pe_0_3"]
    assert neighbours(build("torus:1x2"), "pe_0_1") == ["pe_0_0"]
    assert neighbours(build("torus:1x1"), "pe_0_0") == []


def test_hops_wrap_around() -> None:
    arch = build("torus:5x4")
    for a in arch.tiles:
        for b in arch.tiles:
            rows, cols = abs(a.row - b.row), abs(a.col - b.col)
            assert arch.hops[arch.tile_index[a.name], arch.tile_index[b.name]] == min(rows, 5 - rows) + min(
                cols, 4 - cols
            )


def test_passing_a_value_on_takes_the_function_unit_through_operand_0() -> None:
    arch = build("torus:2x2,regs=1")
    assert arch.route_uses_fu
    assert drivers(arch, "pe_0_0.fu") == ["pe_0_0.in0"]
    assert followers(arch, "pe_0_1>pe_0_0") == ["pe_0_0.in0", "pe_0_0.in1", "pe_0_0.in2"]
    assert drivers(arch, "pe_0_0.in1") == ["pe_0_0.out", "pe_0_0.r0", "pe_0_1>pe_0_0", "pe_1_0>pe_0_0"]
    assert drivers(arch, "pe_0_0.r0") == ["pe_0_0.fu", "pe_0_0.load", "pe_0_0.r0"]


def test_central_file_is_open_to_every_pe() -> None:
    arch = build("torus:2x2,regs=2,file=central,memory=none")
    assert drivers(arch, "rf.r1") == ["pe_0_0.fu", "pe_0_1.fu", "pe_1_0.fu", "pe_1_1.fu", "rf.r1"]
    assert len(followers(arch, "rf.r1")) == 1 + 4 * 3


def test_spill_goes_through_the_issue_slot_of_a_memory_pe() -> None:
    arch = build({"family": "torus", "rows": 1, "cols": 2, "memory": {"tiles": [[0, 1]]}, "latency": {"mem": 2}})
    assert drivers(arch, "pe_0_1.store") == ["pe_0_1.in0"]
    assert followers(arch, "mem") == ["mem", "pe_0_1.load"]
    assert arch.group[arch.resource("pe_0_1.load")] == arch.group[arch.resource("pe_0_1.store")]
    assert arch.group[arch.resource("pe_0_1.load")] == arch.resource("pe_0_1.fu")
    assert "pe_0_0.load" not in arch.resource_index
    assert arch.unroll(1).latencies(arch.resource("pe_0_1.load"), 0, arch.resource("pe_0_1.out")) == (2,)
    assert "mem" not in build("torus:1x2,memory=none").resource_index


def hold(arch: Arch, ii: int, register: str, slot: int, **rotating: int) -> tuple[str, int]:
    """Where what is in a register in a slot is one cycle later, nobody having moved it."""
    graph = arch.unroll(ii, {"rotating": rotating})
    node = arch.resource(register) * ii + slot
    span = slice(graph.indptr[node], graph.indptr[node + 1])
    later = [int(t) for t, cycles in zip(graph.target[span], graph.latency[span], strict=True) if cycles == 1]
    ((resource, then),) = [divmod(t, ii) for t in later if arch.kind[t // ii] == Kind.REG]
    return arch.resource_names[resource], then


def test_registers_hold_until_the_last_slot_and_rotate_there() -> None:
    arch = build("torus:1x2,regs=3")
    assert [hold(arch, 4, "pe_0_0.r1", slot, pe_0_0=2) for slot in range(4)] == [
        ("pe_0_0.r1", 1), ("pe_0_0.r1", 2), ("pe_0_0.r1", 3), ("pe_0_0.r0", 0),
    ]  # fmt: skip
    assert hold(arch, 4, "pe_0_0.r0", 3, pe_0_0=2) == ("pe_0_0.r1", 0)
    assert hold(arch, 4, "pe_0_0.r2", 3, pe_0_0=2) == ("pe_0_0.r2", 0)
    assert hold(arch, 4, "pe_0_1.r1", 3, pe_0_0=2) == ("pe_0_1.r1", 0)
    assert hold(arch, 1, "pe_0_0.r2", 0, pe_0_0=3) == ("pe_0_0.r1", 0)
    assert hold(arch, 4, "pe_0_0.r0", 3, pe_0_0=1) == ("pe_0_0.r0", 0)


def test_fixed_rotation_needs_no_setting_and_takes_no_other() -> None:
    arch = build("torus:1x2,regs=3,rotating=2")
    assert hold(arch, 2, "pe_0_0.r0", 1) == ("pe_0_0.r1", 0)
    assert hold(arch, 2, "pe_0_0.r0", 1, pe_0_0=2) == ("pe_0_0.r1", 0)
    with pytest.raises(ArchError, match=r"^register file 'pe_0_0' has 2 rotating registers and cannot be changed$"):
        arch.unroll(2, {"rotating": {"pe_0_0": 3}})


def test_output_register_holds_until_written_or_for_one_cycle() -> None:
    assert "pe_0_0.out" in followers(build("torus:1x2"), "pe_0_0.out")
    assert "pe_0_0.out" not in followers(build("torus:1x2,hold=next"), "pe_0_0.out")


def test_live_ins_are_placed_and_constants_are_not() -> None:
    assert build("torus:2x2").free == {"const"}


def test_preset_may_be_overridden_one_parameter_at_a_time() -> None:
    arch = build("ramp-7:hold=next,contexts=none")
    assert arch.name == "ramp-7:hold=next,contexts=none"
    assert (arch.rows, len(arch.register_files[0].registers), arch.tiles[0].contexts) == (4, 4, None)


def test_bus_may_be_left_out() -> None:
    assert build("torus:2x2,bus=none").pools == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("regs=1025", "regs: expected 0 to 1024, found 1025"),
        ("regs=-1", "regs: expected 0 to 1024, found -1"),
        ("regs=2,rotating=3", "rotating: expected 0 to regs (2) or 'free', found 3"),
        ("operands=9", "operands: expected 1 to 8, found 9"),
        ("contexts=0", "contexts: expected 1 to 1048576, found 0"),
        ("data_memory=-4", "data_memory: expected 0 to 1099511627776, found -4"),
        ("hold=ever", "hold: Input should be 'until-write' or 'next', found 'ever'"),
        (
            "memory=corner",
            "memory: no layout is called 'corner'; known: all, none, checkerboard, columns, borders, any, border",
        ),
    ],
)
def test_parameter_out_of_range_is_named(text: str, message: str) -> None:
    with pytest.raises(ArchError) as error:
        build(f"torus:2x2,{text}")
    assert str(error.value) == f"array 'torus:2x2,{text}': {message}"
