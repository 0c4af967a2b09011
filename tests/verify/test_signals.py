"""The rules of signals and time, where they are easy to get wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.verify import legal_mappings as made
from tests.verify.sketch import adding, hops, sketch, with_route
from tests.verify.test_violations import around_the_ring, vpcma_loop

from gridloom.archs import build
from gridloom.dfg import Dfg, Edge, Node
from gridloom.mapping import Instance, Mapping, Route
from gridloom.verify import legal


def found(mapping: Mapping) -> list[str]:
    return [str(violation) for violation in legal(mapping)]


def shared_link(first: str, second: tuple[str, int]) -> Mapping:
    """a's value goes to b and to c, both of which are beyond the link pe_0_0>pe_0_1."""
    dfg = Dfg(
        name="shared",
        domain="opaque",
        nodes=tuple(Node(id=name, op="f") for name in "abc"),
        edges=(Edge(source="a", target="b"), Edge(source="a", target="c")),
    )
    return sketch(
        dfg,
        "mesh:2x3",
        {"a": ("pe_0_0", 0), "b": ("pe_0_1", 1), "c": ("pe_0_2", second[1])},
        {"a->b": first, "a->c": second[0]},
    )


TO_B = "pe_0_0.out@1 pe_0_0>pe_0_1@1 pe_0_1.in0@1"


def test_branches_of_the_same_age_share_a_link():
    assert found(shared_link(TO_B, ("pe_0_0.out@1 pe_0_0>pe_0_1@1 pe_0_1>pe_0_2@2 pe_0_2.in0@2", 2))) == []


def test_branches_of_different_age_do_not_share_a_link():
    # The same value comes back over pe_1_0 and pe_1_1 to pe_0_1>pe_0_2, two cycles older than the direct one.
    dfg = Dfg(
        name="ages",
        domain="opaque",
        nodes=tuple(Node(id=name, op="f") for name in "abc"),
        edges=(Edge(source="a", target="b"), Edge(source="a", target="c")),
    )
    older = "pe_0_0.out@1 pe_0_0>pe_1_0@1 pe_1_0>pe_1_1@2 pe_1_1>pe_0_1@3 pe_0_1>pe_0_2@4 pe_0_2>pe_1_2@5 pe_1_2.in0@5"
    mapping = sketch(
        dfg,
        "mesh:2x3",
        {"a": ("pe_0_0", 0), "b": ("pe_0_2", 2), "c": ("pe_1_2", 5)},
        {"a->b": "pe_0_0.out@1 pe_0_0>pe_0_1@1 pe_0_1>pe_0_2@2 pe_0_2.in0@2", "a->c": older},
    )
    assert found(mapping) == ["conflict at pe_0_1>pe_0_2 in slot 0: found a at 2, a at 4; allowed: one signal"]


def test_value_outlives_the_ii_in_rotating_registers():
    assert found(made.held(until=5)) == []


def test_rotating_registers_wrap_around():
    assert found(made.held(until=7)) == [
        "conflict at pe_0_0.r1 in slot 1: found a at 1, a at 7; allowed: one signal",
    ]


def test_value_cannot_outlive_the_ii_in_a_register_that_does_not_rotate():
    assert found(made.held(until=4, rotating=0)) == [
        "conflict at pe_0_0.r1 in slot 1: found a at 1, a at 4; allowed: one signal",
    ]


def test_holding_in_place_is_no_arc_of_a_rotating_register():
    mapping = replace(made.held(until=4, rotating=0), settings={"rotating": {"pe_0_0": 2}})
    assert (
        "route-step at edge 0 (a -> b): found pe_0_0.r1 at 2 -> pe_0_0.r1 at 3; allowed: an arc of the array"
        in found(mapping)
    )


def test_output_register_that_lasts_one_cycle_holds_nothing():
    violations = legal(made.torus("torus:2x2,regs=2,hold=next"))
    assert {violation.kind for violation in violations} == {"route-step"}
    assert {violation.demanded for violation in violations} == {"pe_0_0.out at 1 -> pe_0_0.out at 2"}


def test_unread_result_overwrites_the_output_register():
    # b's value is read by nobody, but it enters pe_0_0's output at 2, where a's is held for c.
    dfg = Dfg(
        name="held",
        domain="opaque",
        nodes=tuple(Node(id=name, op="f") for name in "abc"),
        edges=(Edge(source="a", target="c"),),
    )
    way = "pe_0_0.out@1 pe_0_0.out@2 pe_0_0>pe_0_1@2 pe_0_1.in0@2"
    places = {"a": ("pe_0_0", 0), "b": ("pe_0_0", 1), "c": ("pe_0_1", 2)}
    assert found(sketch(dfg, "torus:2x2", places, {"a->c": way}, ii=4)) == [
        "conflict at pe_0_0.out in slot 2: found a at 2, b at 2; allowed: one signal"
    ]
    places["b"] = ("pe_0_0", 2)
    assert found(sketch(dfg, "torus:2x2", places, {"a->c": way}, ii=4)) == []


def test_move_writes_the_output_register_even_when_it_goes_to_a_register():
    mapping = made.torus()
    dfg = replace(
        mapping.dfg,
        nodes=(*mapping.dfg.nodes, Node(id="z", op="neg"), Node(id="y", op="neg")),
        edges=(*mapping.dfg.edges, Edge(source="i", target="z"), Edge(source="z", target="y")),
    )
    # z on pe_1_0 would issue in slot 0 beside the move: its own slot is taken, and so is the output at 3.
    fuller = adding(
        replace(mapping, dfg=dfg),
        [Instance(node="z", place="pe_1_0", cycle=2), Instance(node="y", place="pe_1_0", cycle=5)],
    )
    kinds = [str(v) for v in legal(fuller) if v.kind == "conflict"]
    assert "conflict at pe_1_0.out in slot 1: found i at 3, z at 3; allowed: one signal" in kinds
    assert "conflict at pe_1_0.fu in slot 0: found i at 2, op z at 2; allowed: one signal" in kinds


def test_long_op_keeps_its_issue_slot():
    arch = build("torus:2x2")
    slow = replace(arch, tiles=tuple(replace(tile, occupancy={"*": 1, "mul": 3}) for tile in arch.tiles))
    dfg = Dfg(name="slow", domain="opaque", nodes=(Node(id="m", op="mul"), Node(id="a", op="f")))
    places = {"m": ("pe_0_0", 0), "a": ("pe_0_0", 2)}
    assert [v.kind for v in legal(sketch(dfg, slow, places, {}, ii=4))] == ["occupancy"]
    assert legal(sketch(dfg, slow, {**places, "a": ("pe_0_0", 3)}, {}, ii=4)) == []
    alone = Dfg(name="alone", domain="opaque", nodes=(Node(id="m", op="mul"),))
    assert [v.kind for v in legal(sketch(alone, slow, {"m": ("pe_0_0", 0)}, {}, ii=2))] == ["occupancy"]


def test_live_in_is_one_signal_at_all_cycles():
    # Two readers take the moved live-in at different rounds of the same slot.
    dfg = Dfg(
        name="live",
        domain="opaque",
        nodes=(Node(id="k", op="livein"), Node(id="a", op="f"), Node(id="b", op="f")),
        edges=(Edge(source="k", target="a"), Edge(source="k", target="b")),
    )
    moved = "pe_0_0.r0@{0} pe_0_0.in0@{0} pe_0_0.fu@{0} pe_0_0.out@{1} pe_0_0>{2}@{1} {2}.in0@{1}"
    mapping = sketch(
        dfg,
        "torus:2x2",
        {"k": ("pe_0_0.r0", 0), "a": ("pe_0_1", 1), "b": ("pe_1_0", 3)},
        {"k->a": moved.format(0, 1, "pe_0_1"), "k->b": moved.format(2, 3, "pe_1_0")},
        ii=2,
    )
    assert found(mapping) == []


def test_register_of_a_live_in_is_taken_in_every_slot():
    mapping = made.held(until=4)
    nodes = (*mapping.dfg.nodes, Node(id="k", op="livein"))
    mapping = replace(mapping, dfg=replace(mapping.dfg, nodes=nodes), settings={"rotating": {"pe_0_0": 0}})
    kept = adding(mapping, [Instance(node="k", place="pe_0_0.r0")])
    kept = with_route(kept, "a->b", "pe_0_0.r0@1 pe_0_0.r0@2 pe_0_0.r0@3 pe_0_0.r0@4 pe_0_0.in0@4")
    assert sum(v.kind == "conflict" for v in legal(kept)) == 3


def test_waits_of_one_value_share_delay_registers():
    # a waits at c.0 from 4 to 10 and at c.1 from 4 to 10: six cycles at II 2 are three registers, not six.
    dfg = Dfg(
        name="twice",
        domain="opaque",
        nodes=(Node(id="a", op="f"), Node(id="c", op="f")),
        edges=(Edge(source="a", target="c"), Edge(source="a", target="c", operand=1)),
    )
    ways = {f"a->c.{k}": (f"t_0.out@3 t_0>t_1@3 t_1.in{k}@4", 6) for k in range(2)}
    places = {"a": ("t_0", 0), "c": ("t_1", 10)}
    assert found(sketch(dfg, "streaming-engine:4,delays=3", places, ways, ii=2)) == []
    assert found(sketch(dfg, "streaming-engine:4,delays=2", places, ways, ii=2)) == [
        "delays at t_1 in slot 0: found 3 waiting values; allowed: 2 delay registers"
    ]


def test_level_paper_shares_links_that_strict_does_not():
    # a on t_0 and b on t_1 both send to t_2 over t_1>t_2 in slot 0.
    dfg = Dfg(
        name="ports",
        domain="opaque",
        nodes=tuple(Node(id=name, op="f") for name in "abcd"),
        edges=(Edge(source="a", target="c"), Edge(source="b", target="d")),
    )
    places = {"a": ("t_0", 0), "b": ("t_1", 1), "c": ("t_3", 6), "d": ("t_2", 5)}
    ways = {
        "a->c": "t_0.out@3 t_0>t_1@3 t_1>t_2@4 t_2>t_3@5 t_3.in0@6",
        "b->d": "t_1.out@4 t_1>t_2@4 t_2.in0@5",
    }
    assert found(sketch(dfg, "streaming-engine:4,level=paper", places, ways, ii=2)) == []
    assert found(sketch(dfg, "streaming-engine:4,level=strict", places, ways, ii=2)) == [
        "conflict at t_1>t_2 in slot 0: found a at 4, b at 4; allowed: one signal"
    ]


def test_combinational_cycle_is_the_only_finding_where_all_else_is_legal():
    assert found(around_the_ring("p.out@1 v@1 u@1 q.in1@1")) == [
        "combinational-cycle at u, v: found a cycle without latency; allowed: a register on every cycle"
    ]


def test_combinational_cycle_through_two_alus_of_a_vpcma_row():
    cycles = [v for v in legal(vpcma_loop()) if v.kind == "combinational-cycle"]
    assert [v.where for v in cycles] == [
        "pe_0_0.fu, pe_0_0.out, pe_0_0.in1, pe_0_0.e, pe_0_1.fu, pe_0_1.out, pe_0_1.in0, pe_0_1.w"
    ]


def test_spill_needs_a_word_for_each_value_under_way():
    # Stored at 1, loaded at 6: at II 3 two values are in memory.
    assert found(made.spilled("torus:2x2,regs=0,data_memory=8")) == []
    assert found(made.spilled("torus:2x2,regs=0,data_memory=4")) == [
        "data-memory at the data memory: found 8 bytes: 0 words of arrays, 2 of spilled values, 0 of live-ins; "
        "allowed: 4 bytes"
    ]
    assert found(made.spilled("torus:2x2,regs=0,data_memory=4", reload=2)) == []


def test_recomputed_node_feeds_the_reader_that_names_its_copy():
    # A second m beside s, so that its value needs no detour.
    mapping = made.mesh("mesh:3x2")
    places = tuple(i for i in mapping.instances if i.node not in ("s", "o"))
    mapping = replace(mapping, instances=places, routes=())
    s, o = Instance(node="s", place="pe_1_1", cycle=3), Instance(node="o", place="pe_1_0", cycle=4)
    second = Instance(node="m", place="pe_2_1", cycle=2, copy=1)
    ways = [
        Route(edge=0, hops=hops("pe_0_1.out@1 pe_0_1>pe_0_0@1 pe_0_0.in0@1")),
        Route(edge=0, hops=hops("pe_0_1.out@1 pe_0_1>pe_1_1@1 pe_1_1>pe_2_1@2 pe_2_1.in0@2"), copy=1),
        Route(edge=1, hops=hops("pe_2_1.out@3 pe_2_1>pe_1_1@3 pe_1_1.in0@3"), source_copy=1),
        Route(edge=2, hops=hops("pe_0_1.out@1 pe_0_1>pe_1_1@1 pe_1_1.in1@1"), fifo=2),
        Route(edge=3, hops=hops("pe_1_1.out@4 pe_1_1>pe_1_0@4 pe_1_0.in0@4")),
    ]
    mapping = adding(mapping, [s, o, second], ways)
    assert found(mapping) == []
    stolen = replace(mapping, routes=(*ways[:2], replace(ways[2], source_copy=0), *ways[3:]))
    assert (
        "route-start at edge 1 (m -> s): found pe_2_1.out at 3; allowed: a resource that pe_0_0.fu leads to"
        in found(stolen)
    )


def test_deadlock_names_the_full_and_the_starving_edge():
    (violation,) = legal(made.reconvergent())
    assert violation.kind == "deadlock"
    assert "edge 2 (x -> e) is full: x puts 1, 8 of 8 used" in violation.demanded
    assert "edge 0 (x -> b) starves: b takes 16, 8 are there" in violation.demanded


@pytest.mark.parametrize(("fifo", "free"), [(8, False), (15, False), (16, True), (64, True)])
def test_deadlock_ends_where_the_buffer_holds_what_the_other_branch_gathers(fifo: int, free: bool):
    assert (legal(made.reconvergent(fifo=fifo)) == []) is free
