"""The configuration of the hand-written mappings: multiplexers, waits, start stages, spills, presets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests import hand_mappings as hand

from gridloom.dfg import DfgBuilder
from gridloom.errors import ArchError, MappingError
from gridloom.mapping import Configuration, Instance, Mapping, Route, Slot, configure


def driver(c: Configuration, resource: str, slot: int = 0) -> tuple[str, int] | None:
    """(what a resource selects in a slot, cycles of that arc)."""
    r = c.arch.resource(resource)
    selected = int(c.driver[r, slot])
    return (c.arch.resource_names[selected], int(c.delay[r, slot])) if selected >= 0 else None


def slot_of(c: Configuration, node: str) -> Slot:
    (found,) = [slot for slot in c.slots if slot.kind == "op" and slot.node == c.dfg.index[node]]
    return found


def times(c: Configuration) -> dict[str, tuple[int, int]]:
    """node -> (start stage, slot)."""
    return {c.dfg.nodes[s.node].id: (s.start, s.slot) for s in c.slots if s.kind == "op"}


def moves(c: Configuration) -> list[tuple[str, str, int, int]]:
    """(kind, resource, start stage, slot) of every issue slot that is not an op."""
    return [(s.kind, c.arch.resource_names[s.resource], s.start, s.slot) for s in c.slots if s.kind != "op"]


def test_static_grid_selects_links_and_waits_in_fifos() -> None:
    c = configure(hand.mesh_fifo_2())
    assert driver(c, "pe_0_0.out") == ("pe_0_0.fu", 1)
    assert driver(c, "pe_0_0>pe_0_1") == ("pe_0_0.out", 0)
    assert driver(c, "pe_0_1>pe_0_2") == ("pe_0_0>pe_0_1", 1)
    assert driver(c, "pe_0_2>pe_1_2") == ("pe_0_1>pe_0_2", 1)
    assert driver(c, "pe_1_2.in0") == ("pe_0_2>pe_1_2", 0)
    assert driver(c, "pe_1_1>pe_1_0") is None
    assert times(c) == {"a": (0, 0), "b": (1, 0), "c": (3, 0), "d": (4, 0), "y": (5, 0)}
    assert [(o.kind, c.arch.resource_names[o.resource], o.fifo) for o in slot_of(c, "d").operands] == [
        ("routed", "pe_1_1.in0", 2), ("routed", "pe_1_1.in1", 0),
    ]  # fmt: skip
    assert [o.kind for o in slot_of(c, "b").operands] == ["routed", "const"]
    assert c.dfg.nodes[slot_of(c, "b").operands[1].node].value == 1
    assert moves(c) == []


def test_only_ops_with_a_result_that_is_read_write() -> None:
    c = configure(hand.torus_spill())
    assert {c.dfg.nodes[s.node].id: s.writes for s in c.slots if s.kind == "op"} == {
        "i": True, "x": True, "s": True, "w": False,
    }  # fmt: skip
    assert not slot_of(configure(hand.mesh_fifo_2()), "y").writes


def test_rotating_register_is_written_once_and_held() -> None:
    c = configure(hand.torus_rotating())
    assert driver(c, "pe_0_0.r1", 0) == ("pe_0_0.fu", 1)
    assert driver(c, "pe_0_0.r1", 1) is None
    assert driver(c, "pe_0_0.r0", 0) is None
    assert driver(c, "pe_0_0.in0", 0) == ("pe_0_0.r0", 0)
    assert times(c) == {"a": (0, 0), "b": (0, 1), "c": (0, 1), "d": (1, 0)}
    operand = slot_of(c, "a").operands[0]
    assert (operand.distance, operand.initial) == (2, (10, 20))
    assert c.settings == {"rotating": {"pe_0_0": 2}}


def test_moves_between_register_files_are_issue_slots() -> None:
    c = configure(hand.torus_register_transfer())
    assert moves(c) == [("move", "pe_0_0.fu", 1, 2), ("move", "pe_0_1.fu", 1, 3)]
    assert driver(c, "pe_0_0.r0", 0) == ("pe_0_0.fu", 1)
    assert driver(c, "pe_0_1.r0", 4) == ("pe_0_1.fu", 1)
    assert [driver(c, "pe_0_1.r0", slot) for slot in range(4)] == [None] * 4
    (move,) = [s for s in c.slots if s.kind == "move" and s.slot == 2]
    assert c.arch.resource_names[move.operands[0].resource] == "pe_0_0.in0"
    assert driver(c, "pe_0_0.in0", 2) == ("pe_0_0.r0", 0)


def test_spilled_value_has_a_buffer_as_deep_as_it_lives() -> None:
    c = configure(hand.torus_spill())
    # Stored at 2, loaded at 12, II 4: three values of it are in memory at a time.
    assert [spill.depth for spill in c.spills] == [3]
    assert sorted(row for row in moves(c) if row[0] != "move") == [
        ("load", "pe_0_1.load", 3, 0), ("store", "pe_0_0.store", 0, 2),
    ]  # fmt: skip
    assert driver(c, "pe_0_1.out", 1) == ("pe_0_1.load", 1)


def test_shared_move_is_one_issue_slot() -> None:
    c = configure(hand.torus_spill())
    # PE (1,0) passes i on once, for both of its readers.
    assert [row for row in moves(c) if row[0] == "move"] == [("move", "pe_1_0.fu", 0, 1), ("move", "pe_1_1.fu", 0, 2)]


def test_streams_and_live_ins_of_the_streaming_engine_are_no_routes() -> None:
    c = configure(hand.streaming_engine_distance())
    assert [o.kind for o in slot_of(c, "n0").operands] == ["stream", "livein"]
    assert [o.fifo for o in slot_of(c, "n4").operands] == [8, 8, 0]
    assert times(c)["n6"] == (5, 1)
    assert driver(c, "t_1.in0", 5 % 3) == driver(c, "t_1.in1", 5 % 3) == ("t_3>t_1", 2)
    assert c.lanes == ()


def test_constants_sit_in_registers_and_boundaries_take_a_cycle() -> None:
    c = configure(hand.vpcma_three_rows())
    held = {c.arch.resource_names[r]: c.dfg.nodes[k].value for r, k in c.preset.items()}
    assert held == {"const_0.fu": 5, "const_2.fu": 9}
    assert driver(c, "pe_1_1.w") == ("pe_0_1.n", 1)
    assert driver(c, "pe_1_0.in1") == ("pe_1_1.w", 0)
    assert driver(c, "pe_0_0.s") == ("pe_1_0.s", 0)
    assert times(c) == {"x": (0, 0), "w": (0, 0), "p": (0, 0), "q": (1, 0), "r": (2, 0), "y": (2, 0)}


def test_elastic_routes_become_token_paths_over_links() -> None:
    c = configure(hand.rdu_two_stages())
    shown = [
        (c.arch.tiles[f.source].name, [c.arch.resource_names[r] for r in f.links], c.arch.tiles[f.target].name)
        for f in c.token_paths
    ]
    assert shown == [
        ("dram_left_0", ["dram_left_0>sw_0_0", "sw_0_0>cu_0_0"], "cu_0_0"),
        ("cu_0_0", ["cu_0_0>sw_1_1", "sw_1_1>cu_1_1"], "cu_1_1"),
        ("cu_1_1", ["cu_1_1>sw_1_2", "sw_1_2>dram_right_0"], "dram_right_0"),
    ]


def live_in(place: str, hops: list[tuple[str, int]]) -> Mapping:
    b = DfgBuilder("scale")
    b.livein("k")
    b.add("neg", "k", id="n", liveout="n")
    return hand.make(
        b.build(), "torus:1x2,regs=1", 2, {"k": (place, 0), "n": ("pe_0_0", 2)}, {("k", "n", 0): (hops, 0)}
    )  # fmt: skip


def test_live_in_is_preset_in_its_register() -> None:
    c = configure(live_in("pe_0_0.r0", [("pe_0_0.r0", 2), ("pe_0_0.in0", 2)]))
    assert c.preset == {c.arch.resource("pe_0_0.r0"): c.dfg.index["k"]}
    assert driver(c, "pe_0_0.in0", 0) == ("pe_0_0.r0", 0)


def test_live_in_in_memory_has_a_buffer_of_its_own() -> None:
    c = configure(live_in("mem", [("mem", 1), ("pe_0_0.load", 1), ("pe_0_0.out", 2), ("pe_0_0.in0", 2)]))
    assert [(spill.depth, spill.livein) for spill in c.spills] == [(1, c.dfg.index["k"])]
    assert moves(c) == [("load", "pe_0_0.load", 0, 1)]


def test_value_beside_another_on_a_wire_without_limit_gets_a_lane() -> None:
    # Both values are on the link from tile 1 to tile 2 at cycle 4.
    b = DfgBuilder("pair")
    b.add("neg", b.input("x"), id="a")
    b.add("neg", "x", id="b")
    b.add("add", "a", "b", id="c")
    mapping = hand.make(
        b.build(),
        "streaming-engine:3,level=paper",
        2,
        {"a": ("t_0", 0), "b": ("t_1", 1), "c": ("t_2", 5)},
        {
            ("a", "c", 0): ([("t_0.out", 3), ("t_0>t_1", 3), ("t_1>t_2", 4), ("t_2.in0", 5)], 0),
            ("b", "c", 1): ([("t_1.out", 4), ("t_1>t_2", 4), ("t_2.in1", 5)], 0),
        },
    )
    c = configure(mapping)
    count = len(c.arch.kind)
    assert [c.arch.resource_names[r] for r in c.lanes] == ["t_1>t_2"]
    assert c.driver.shape == (count + 1, 2)
    assert driver(c, "t_1>t_2", 0) == ("t_0>t_1", 1)
    assert c.arch.resource_names[c.driver[count, 0]] == "t_1.out"
    assert c.driver[c.arch.resource("t_2.in1"), 1] == count


def test_hop_without_an_arc_leaves_its_multiplexer_undriven() -> None:
    mapping = hand.mesh_local()
    leap = Route(edge=mapping.routes[0].edge, hops=(("pe_0_0.out", 1), ("pe_1_2.in0", 1)))
    c = configure(replace(mapping, routes=(leap, *mapping.routes[1:])))
    assert driver(c, "pe_1_2.in0") == ("pe_1_1>pe_1_2", 0)
    assert driver(c, "pe_0_1.in0") is None


BROKEN: list[tuple[str, str]] = [
    ("route of unknown edge", "route of edge 99: the graph has 7 edges"),
    ("unplaced source", "route of edge 0: copy 1 of 'a' is not placed"),
    ("unknown resource", "route of edge 0: array 'mesh:2x3' has no resource 'pe_7_7.out'"),
    ("unknown node", "instance of 'q': the graph has no such node"),
    ("unknown place", "instance of 'a': array 'mesh:2x3' has no resource 'pe_7_7'"),
]


@pytest.mark.parametrize(("damage", "message"), BROKEN)
def test_name_that_does_not_exist_is_refused(damage: str, message: str) -> None:
    mapping = hand.mesh_local()
    first = mapping.routes[0]
    routes = {
        "route of unknown edge": replace(first, edge=99),
        "unplaced source": replace(first, source_copy=1),
        "unknown resource": replace(first, hops=(("pe_7_7.out", 1),)),
    }
    instances = {
        "unknown node": Instance(node="q", place="pe_0_0"),
        "unknown place": Instance(node="a", place="pe_7_7"),
    }
    if damage in routes:
        mapping = replace(mapping, routes=(routes[damage], *mapping.routes[1:]))
    else:
        mapping = replace(mapping, instances=(*mapping.instances, instances[damage]))
    with pytest.raises(MappingError) as error:
        configure(mapping)
    assert str(error.value) == message


def test_elastic_flow_needs_both_ends_on_tiles() -> None:
    mapping = hand.rdu_two_stages()
    with pytest.raises(MappingError, match=r"^route of edge 0: copy 0 of 'x' is not placed$"):
        configure(replace(mapping, instances=mapping.instances[1:]))
    lost = Instance(node="x", place="dram_up", cycle=0)
    with pytest.raises(MappingError, match=r"^instance of 'x': array 'rdu:2x2' has no tile 'dram_up'$"):
        configure(replace(mapping, instances=(lost, *mapping.instances[1:])))


def test_op_on_a_switch_is_refused() -> None:
    mapping = hand.rdu_two_stages()
    moved = tuple(replace(i, place="sw_0_0") if i.node == "g" else i for i in mapping.instances)
    with pytest.raises(MappingError, match=r"^instance of 'g': tile 'sw_0_0' has no function unit$"):
        configure(replace(mapping, instances=moved))


def test_ii_beyond_all_memory_is_refused() -> None:
    with pytest.raises(
        ArchError, match=r"^II 1000000000 makes \d+ arcs of array 'torus:1x2,regs=2'; at most 20000000$"
    ):
        configure(replace(hand.torus_rotating(), ii=10**9))
