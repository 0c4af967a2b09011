"""Grids with a register at the end of each link: an edge between tiles takes a cycle more, one on a tile does not."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.flow import Request, run
from gridloom.mapping import Mapping
from gridloom.targets.grid.bounds import latency_bound, least_links

MAPPERS = ("anneal", "neosa", "genetic-grid", "divide", "exact")


def chain(length: int) -> Dfg:
    """x -> a_0 -> ... -> y, one op behind another."""
    b = DfgBuilder("chain")
    value = b.input("x")
    for k in range(length):
        value = b.add("neg", value, id=f"a_{k}")
    b.output(value, "y")
    return b.build()


def running_sum() -> Dfg:
    """A sum that reads its own result of the iteration before: an edge that takes no link."""
    b = DfgBuilder("sum")
    b.add("add", b.input("x"), id="s")
    b.carry("s", "s", operand=1, distance=1, initial=[0])
    b.output("s", "y")
    return b.build()


def mapped(dfg: Dfg, array: str, mapper: str = "anneal", **settings: str) -> Mapping:
    """The mapping of a graph, which is legal and simulates right, or the flow would not give it."""
    result = run(Request(source=dfg, arch=array, mapper=mapper, effort=20_000, seed=1, settings=settings))
    assert result.mapping is not None, result.failure
    assert result.verified.legal and result.verified.simulated
    return result.mapping


def cycles(mapping: Mapping) -> dict[str, int]:
    return {instance.node: instance.cycle for instance in mapping.instances}


@pytest.mark.parametrize("mapper", MAPPERS)
@pytest.mark.parametrize("family", ["mesh", "chess"])
def test_every_search_knows_the_cycle_of_a_link(family: str, mapper: str) -> None:
    b = DfgBuilder("diamond")
    a = b.add("add", b.input("x"), b.const(1), id="a")
    left = b.add("mul", a, b.const(3), id="left")
    right = b.add("sub", b.add("xor", a, b.const(9), id="far"), left, id="right")
    b.output(right, "y")
    mapping = mapped(b.build(), f"{family}:4x4,link=1", mapper)
    at = cycles(mapping)
    assert at["a"] - at["x"] >= 2
    assert at["right"] - at["a"] >= 4


def test_exact_meets_the_bound_of_the_latency() -> None:
    pytest.importorskip("ortools")
    dfg, array = chain(3), "mesh:3x3,link=1"
    bound = latency_bound(dfg, build(array)).value
    # Five nodes of one cycle, and four links of one.
    assert bound == 9
    mapping = mapped(dfg, array, "exact", objective="latency")
    assert cycles(mapping)["y"] + 1 == bound


def test_bound_of_fifos_counts_the_cycles_of_links() -> None:
    b = DfgBuilder("short")
    x = b.input("x")
    far = x
    for k in range(6):
        far = b.add("neg", far, id=f"n{k}")
    b.output(b.add("add", x, far, id="sum"), "y")
    dfg = b.build()
    # Without FIFOs the short way of x is as long as six ops more, each of which takes a link.
    plain, registered = (least_links(dfg, build(f"mesh:3x3{link}"), 0) for link in ("", ",link=1"))
    assert registered - plain == 6


def test_a_recurrence_on_one_tile_needs_no_link() -> None:
    mapping = mapped(running_sum(), "mesh:2x2,link=1")
    assert mapping.ii == 1


def test_a_recurrence_over_two_tiles_is_refused_with_its_cycles() -> None:
    b = DfgBuilder("ring")
    b.add("add", b.input("x"), id="s")
    b.add("neg", "s", id="t")
    b.carry("t", "s", operand=1, distance=2, initial=[0, 0])
    b.output("t", "y")
    dfg = b.build()
    assert mapped(dfg, "mesh:3x3").ii == 1
    failure = run(Request(source=dfg, arch="mesh:3x3,link=1", mapper="anneal", effort=1000)).failure
    assert failure is not None
    assert (failure.demand, failure.bound) == ("4 cycles", "2 (its distance, at II 1)")
