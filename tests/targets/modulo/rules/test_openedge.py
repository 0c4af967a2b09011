"""Rules of OpenEdgeCGRA, each with a planted fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.hand_mappings import make

import gridloom as gl
from gridloom.dfg import DfgBuilder
from gridloom.mapping.model import Mapping
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.one_register import share_registers
from gridloom.verify import legal


@pytest.fixture(scope="module")
def sepia() -> Mapping:
    """A mapping with selects and registers."""
    result = gl.map("kernel:sepia", "openedge-cgra", effort=20_000, seed=0)
    assert result.mapping is not None
    return result.mapping


def kinds(mapping: Mapping) -> set[str]:
    """The kinds of violations of a mapping."""
    return {violation.kind for violation in legal(mapping)}


def waiting(arch: str, tile: str) -> Mapping:
    """A value that waits in an output register while a store issues on a tile."""
    b = DfgBuilder("waiting")
    b.array("y", 8)
    x = b.add("add", b.const(5), b.const(6), id="x")
    b.add("sub", x, b.const(1), id="read", liveout="read")
    b.add("store", b.const(1), b.const(2), array="y", id="put")
    places = {"x": ("pe_0_0", 0), "read": ("pe_0_0", 3), "put": (tile, 1)}
    out = [("pe_0_0.out", cycle) for cycle in (1, 2, 3)]
    return make(b.build(), arch, 4, places, {("x", "read", 0): ([*out, ("pe_0_0.in0", 3)], 0)})


def test_a_store_overwrites_the_output_register_of_its_tile():
    assert legal(waiting("openedge-cgra", "pe_0_1")) == []
    assert legal(waiting("torus:4x4", "pe_0_0")) == []
    clobbered = waiting("openedge-cgra", "pe_0_0")
    found = legal(clobbered)
    assert [(violation.kind, violation.where) for violation in found] == [("conflict", "pe_0_0.out in slot 2")]
    assert not simulate(clobbered).ok


def test_a_result_goes_to_one_register():
    b = DfgBuilder("registers")
    x = b.add("add", b.const(5), b.const(6), id="x")
    for name in ("one", "two"):
        b.add("sub", x, b.const(1), id=name, liveout=name)
    places = {"x": ("pe_0_0", 0), "one": ("pe_0_0", 2), "two": ("pe_0_0", 3)}
    ways = {
        name: [*((f"pe_0_0.r{k}", cycle) for cycle in range(1, last + 1)), ("pe_0_0.in0", last)]
        for name, k, last in (("one", 0, 2), ("two", 1, 3))
    }
    mapping = make(b.build(), "openedge-cgra", 4, places, {("x", name, 0): (way, 0) for name, way in ways.items()})
    assert [str(violation) for violation in legal(mapping)] == [
        "one-register at x at 1 on pe_0_0: found pe_0_0.r0, pe_0_0.r1; allowed: one register"
    ]
    shared = replace(mapping, routes=tuple(share_registers(mapping.routes, mapping.dfg, mapping.arch)))
    assert {name for route in shared.routes for name, _ in route.hops} == {"pe_0_0.r1", "pe_0_0.in0"}
    assert legal(shared) == []
    assert simulate(shared).ok


@pytest.mark.parametrize(("value", "allowed"), [(4095, True), (4096, False), (-4096, True), (-4097, False)])
def test_immediates_have_13_bits(value: int, allowed: bool):
    b = DfgBuilder("immediate")
    b.add("ne", b.add("add", b.const(value), b.const(0), id="x"), b.const(0), id="loop_branch")
    places = {"x": ("pe_0_0", 0), "loop_branch": ("pe_0_0", 1)}
    hops = [("pe_0_0.out", 1), ("pe_0_0.in0", 1)]
    mapping = make(b.build(), "openedge-cgra", 2, places, {("x", "loop_branch", 0): (hops, 0)})
    assert [str(violation) for violation in legal(mapping)] == (
        [] if allowed else [f"one-immediate at x: found {value}; allowed: one number from -4096 to 4095"]
    )


def test_an_instruction_has_one_immediate():
    b = DfgBuilder("immediates")
    b.add("ne", b.add("add", b.const(3), b.const(4), id="x"), b.const(0), id="loop_branch")
    places = {"x": ("pe_0_0", 0), "loop_branch": ("pe_0_0", 1)}
    hops = [("pe_0_0.out", 1), ("pe_0_0.in0", 1)]
    mapping = make(b.build(), "openedge-cgra", 2, places, {("x", "loop_branch", 0): (hops, 0)})
    assert [violation.kind for violation in legal(mapping)] == ["one-immediate"]


def test_constants_of_addresses_count_bytes(sepia: Mapping):
    pointer = next(edge for edge in sepia.dfg.edges if edge.source == edge.target and "pointer" in edge.source)
    step = next(e.source for e in sepia.dfg.edges if e.target == pointer.source and e.operand == 1)
    for value, found in ((1023, set()), (1024, {"one-immediate"})):
        nodes = tuple(replace(node, value=value) if node.id == step else node for node in sepia.dfg.nodes)
        assert kinds(replace(sepia, dfg=replace(sepia.dfg, nodes=nodes))) == found


def test_a_flag_is_not_read_from_a_register(sepia: Mapping):
    edges = sepia.dfg.edges
    k, route = next(
        (k, route)
        for k, route in enumerate(sepia.routes)
        if edges[route.edge].operand == 2 and sepia.dfg.node(edges[route.edge].target).op == "select_sign"
    )
    (name, cycle), tile = route.hops[-1], route.hops[-1][0].split(".")[0]
    assert name == f"{tile}.in2"
    register = f"{tile}.r3"
    wrong = replace(route, hops=(*route.hops[:-1], (register, cycle), (name, cycle)))
    found = legal(replace(sepia, routes=(*sepia.routes[:k], wrong, *sepia.routes[k + 1 :])))
    assert [violation.kind for violation in found] == ["route-step", "route-step"]
    assert found[1].demanded == f"{register} at {cycle} -> {name} at {cycle}"


def test_a_loop_has_one_branch(sepia: Mapping):
    nodes = tuple(
        replace(node, op="ne") if node.op == "sub" and len(sepia.dfg.operand_edges(node.id)) == 2 else node
        for node in sepia.dfg.nodes
    )
    assert "loop-branch" in kinds(replace(sepia, dfg=replace(sepia.dfg, nodes=nodes)))
