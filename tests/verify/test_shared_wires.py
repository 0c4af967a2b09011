"""Buses, ports of register files, FIFOs by operand and constant stores: what does not fit is a violation, and wrong."""

from __future__ import annotations

from typing import Any

from tests.verify.sketch import sketch

from gridloom.archs import Arch, build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.mapping import Mapping
from gridloom.sim import simulate
from gridloom.verify import legal


def described(**keys: Any) -> Arch:
    tiles = [{"ops": {"add": "io"}}, keys.pop("tiles", {})]
    return build({"style": "modulo", "rows": 1, "cols": 3, "tiles": tiles, **keys})


def two_streams() -> Dfg:
    """Two counters, and their sum, which leaves the array."""
    b = DfgBuilder("sums")
    b.add("add", b.const(1), id="a")
    b.add("add", b.const(3), id="b")
    b.add("add", "a", "b", id="s")
    b.add("output", "s", id="t")
    for node in "ab":
        b.carry(node, node, operand=1, distance=1, initial=(0,))
    return b.build()


def on_buses(second: str, **keys: Any) -> Mapping:
    """The counters stand on the outer tiles and reach the middle one in the same cycle, the second over this bus."""
    return sketch(
        two_streams(),
        described(links="none", tiles={"registers": 2}, **keys),
        {"a": ("pe_0_0", 0), "b": ("pe_0_2", 0), "s": ("pe_0_1", 2), "t": ("pe_0_1", 3)},
        {
            "a->a": "pe_0_0.out@1 pe_0_0.out@2 pe_0_0.in1@2",
            "b->b": "pe_0_2.out@1 pe_0_2.out@2 pe_0_2.in1@2",
            "a->s": "pe_0_0.out@1 pe_0_0.out@2 row_0.bus0@2 pe_0_1.in0@2",
            "b->s": f"pe_0_2.out@1 pe_0_2.out@2 {second}@2 pe_0_1.in1@2",
            "s->t": "pe_0_1.out@3 pe_0_1.in0@3",
        },
        ii=2,
    )


def test_a_bus_carries_one_value_per_cycle() -> None:
    crowded = on_buses("row_0.bus0", buses="rows")
    text = "conflict at row_0.bus0 in slot 0: found a at 2, b at 2; allowed: one signal"
    assert [str(v) for v in legal(crowded)] == [text]
    assert not simulate(crowded)


def test_two_buses_carry_two_values_per_cycle() -> None:
    mapping = on_buses("row_0_1.bus1", buses={"along": "rows", "count": 2})
    assert legal(mapping) == []
    assert simulate(mapping)


def in_one_tile(second: str, **tile: Any) -> Mapping:
    """Both counters and their sum stand on one tile, which reads both registers in one cycle; ``tile`` describes it."""
    read = [f"pe_0_0.{port}@{{0}} " if second else "" for port in ("read0", second)]
    return sketch(
        two_streams(),
        described(tiles=tile),
        {"a": ("pe_0_0", 0), "b": ("pe_0_0", 1), "s": ("pe_0_0", 2), "t": ("pe_0_1", 3)},
        {
            "a->a": f"pe_0_0.r0@1 pe_0_0.r0@2 pe_0_0.r0@3 {read[0].format(3)}pe_0_0.in1@3",
            "b->b": f"pe_0_0.r1@2 pe_0_0.r1@3 pe_0_0.r1@4 {read[0].format(4)}pe_0_0.in1@4",
            "a->s": f"pe_0_0.r0@1 pe_0_0.r0@2 {read[0].format(2)}pe_0_0.in0@2",
            "b->s": f"pe_0_0.r1@2 {read[1].format(2)}pe_0_0.in1@2",
            "s->t": "pe_0_0.out@3 pe_0_0>pe_0_1@3 pe_0_1.in0@3",
        },
        ii=3,
    )


def test_a_read_port_carries_one_register_per_cycle() -> None:
    crowded = in_one_tile("read0", registers={"count": 2, "reads": 1})
    text = "conflict at pe_0_0.read0 in slot 2: found a at 2, b at 2; allowed: one signal"
    assert [str(v) for v in legal(crowded)] == [text]
    assert not simulate(crowded)


def test_two_read_ports_carry_two_registers_per_cycle() -> None:
    mapping = in_one_tile("read1", registers={"count": 2, "reads": 2})
    assert legal(mapping) == []
    assert simulate(mapping)


def in_a_shared_file(second: str, writes: int) -> Mapping:
    """The counters stand on two tiles, whose results enter the file of both in one cycle, the second by this port."""
    where = {"cols": [0, 1]}
    file = {"name": "mid", "count": 3, "where": where, "writes": writes}
    return sketch(
        two_streams(),
        described(files=[file]),
        {"a": ("pe_0_0", 0), "b": ("pe_0_1", 0), "s": ("pe_0_0", 1), "t": ("pe_0_1", 2)},
        {
            "a->a": "mid.write0@1 mid.r0@1 mid.r0@2 mid.r0@3 pe_0_0.in1@3",
            "b->b": f"mid.{second}@1 mid.r1@1 mid.r1@2 mid.r1@3 pe_0_1.in1@3",
            "a->s": "mid.write0@1 mid.r0@1 pe_0_0.in0@1",
            "b->s": f"mid.{second}@1 mid.r1@1 pe_0_0.in1@1",
            "s->t": "pe_0_0.out@2 pe_0_0>pe_0_1@2 pe_0_1.in0@2",
        },
        ii=3,
    )


def test_a_write_port_takes_one_value_per_cycle() -> None:
    crowded = in_a_shared_file("write0", 1)
    text = "conflict at mid.write0 in slot 1: found a at 1, b at 1; allowed: one signal"
    assert [str(v) for v in legal(crowded)] == [text]
    assert not simulate(crowded)


def test_two_write_ports_take_two_values_per_cycle() -> None:
    mapping = in_a_shared_file("write1", 2)
    assert legal(mapping) == []
    assert simulate(mapping)


def test_a_full_constant_store_is_named_and_loses_the_op() -> None:
    full = in_one_tile("", registers=2, constants=2)
    assert [str(v) for v in legal(full)] == [
        "constants at constant store of pe_0_0: found 3 words (0, 1, 3); allowed: 2"
    ]
    verdict = simulate(full)
    assert not verdict
    assert "tile pe_0_0: its constant store has 2 words, and b needs a word more" in verdict.explain()


def test_a_constant_store_of_the_right_size_is_legal() -> None:
    mapping = in_one_tile("", registers=2, constants=3)
    assert legal(mapping) == []
    assert simulate(mapping)


def test_each_operand_waits_in_its_own_fifo() -> None:
    b = DfgBuilder("late")
    b.add("input", id="x")
    b.add("add", "x", b.const(1), id="y")
    b.add("sub", "y", "x", id="z")
    b.add("output", "z", id="o")
    arch = build({"style": "static", "rows": 2, "cols": 2, "tiles": {"fifo": [0, 1, 0]}})
    places = {"x": ("pe_0_0", 0), "y": ("pe_0_1", 1), "z": ("pe_1_0", 3), "o": ("pe_1_1", 4)}
    ways: dict[str, str | tuple[str, int]] = {
        "x->y": "pe_0_0.out@1 pe_0_0>pe_0_1@1 pe_0_1.in0@1",
        "y->z": "pe_0_1.out@2 pe_0_1>pe_1_1@2 pe_1_1>pe_1_0@3 pe_1_0.in0@3",
        "x->z": ("pe_0_0.out@1 pe_0_0>pe_1_0@1 pe_1_0.in1@1", 2),
        "z->o": "pe_1_0.out@4 pe_1_0>pe_1_1@4 pe_1_1.in0@4",
    }
    found = [str(v) for v in legal(sketch(b.build(), arch, places, ways))]
    assert found == ["fifo at edge 3 (x -> z): found FIFO 2; allowed: 0 to 1 on pe_1_0"]
