"""Chains of links within a cycle: as long as the array allows, never in a circle, one signal per link."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.verify.sketch import sketch

from gridloom.dfg import Dfg, DfgBuilder
from gridloom.mapping import Mapping
from gridloom.sim import simulate
from gridloom.verify import legal


def accumulators() -> Dfg:
    """A running sum with two readers that keep sums of their own."""
    b = DfgBuilder("sums")
    b.add("add", b.const(1), id="a")
    b.add("add", "a", id="x")
    b.add("sub", "a", id="y")
    for node in ("a", "x", "y"):
        b.carry(node, node, operand=1, distance=1, initial=(0,))
    return b.build()


def multicast(arch: str, *, port: str = "") -> Mapping:
    """The example with which the authors of HyCUBE explain it: PE 12 reaches PE 9 and PE 14 over PE 13 in one cycle.

    Places are numbered row by row in a 4 x 4 array. The result of the sum on PE 12 is there at cycle 1. In the same
    cycle it crosses the link to PE 13, which passes it on to both readers; the first link is shared.
    """
    at_13, at_9, at_14 = (f" pe_{place}@1" for place in ("3_1.p1", "2_1.p3", "3_2.p1")) if port else ("", "", "")
    first = f"pe_3_0.out@1 pe_3_0>pe_3_1@1{at_13}"
    return sketch(
        accumulators(),
        arch,
        {"a": ("pe_3_0", 0), "x": ("pe_2_1", 1), "y": ("pe_3_2", 1)},
        {
            "a->a": "pe_3_0.out@1 pe_3_0.in1@1",
            "x->x": "pe_2_1.out@2 pe_2_1.in1@2",
            "y->y": "pe_3_2.out@2 pe_3_2.in1@2",
            "a->x": f"{first} pe_3_1>pe_2_1@1{at_9} pe_2_1.in0@1",
            "a->y": f"{first} pe_3_1>pe_3_2@1{at_14} pe_3_2.in0@1",
        },
    )


@pytest.mark.parametrize(("arch", "port"), [("hycube:4x4,regs=1", ""), ("hycube:4x4", "ports")])
def test_the_published_multicast_takes_one_cycle(arch: str, port: str) -> None:
    mapping = multicast(arch, port=port)
    assert legal(mapping) == []
    assert simulate(mapping).ok


def test_more_links_than_a_cycle_allows_are_named_in_their_order() -> None:
    found = [str(v) for v in legal(multicast("hycube:4x4,hops=1", port="ports"))]
    assert found == [
        f"links-per-cycle at pe_3_1>{last} in slot 0: found 2 links in one cycle (pe_3_0>pe_3_1, pe_3_1>{last}); "
        "allowed: 1"
        for last in ("pe_2_1", "pe_3_2")
    ]


def test_a_link_carries_one_signal_per_slot() -> None:
    mapping = multicast("hycube:4x4,regs=1")
    way = ("pe_3_1.out", "pe_3_1>pe_3_2", "pe_3_2.in1")
    number = next(k for k, e in enumerate(mapping.dfg.edges) if (e.source, e.target) == ("x", "x"))
    routes = [r for r in mapping.routes if r.edge != number]
    stray = replace(next(r for r in mapping.routes if r.edge == number), hops=tuple((name, 2) for name in way))
    kinds = {(v.kind, v.where) for v in legal(replace(mapping, routes=(*routes, stray)))}
    assert ("conflict", "pe_3_1>pe_3_2 in slot 0") in kinds


def test_two_routes_of_one_value_that_close_a_ring_are_a_violation() -> None:
    """Each way is sound alone; together each of two links would be driven by the other."""
    ring = ("pe_0_0>pe_0_1", "pe_0_1>pe_1_1", "pe_1_1>pe_1_0", "pe_1_0>pe_0_0")
    b = DfgBuilder("ring")
    b.add("add", b.const(1), id="a")
    b.carry("a", "a", operand=1, distance=1, initial=(0,))
    b.add("add", "a", "a", id="x")
    forward = f"pe_0_0.out@1 {ring[0]}@1 {ring[1]}@1 pe_1_1.in0@1"
    around = f"pe_0_0.out@1 pe_0_0.r0@1 {ring[1]}@1 {ring[2]}@1 {ring[3]}@1 {ring[0]}@1 {ring[1]}@1 pe_1_1.in1@1"
    mapping = sketch(
        b.build(),
        "hycube:2x2,regs=1,hops=8",
        {"a": ("pe_0_0", 0), "x": ("pe_1_1", 1)},
        {"a->a": "pe_0_0.out@1 pe_0_0.in1@1", "a->x.0": forward, "a->x.1": around},
    )
    assert "combinational-cycle" in {v.kind for v in legal(mapping)}


def test_arrays_without_a_limit_are_not_asked() -> None:
    mapping = multicast("hycube:4x4,hops=1", port="ports")
    free = replace(mapping, arch=replace(mapping.arch, links_per_cycle=None))
    assert legal(free) == []
