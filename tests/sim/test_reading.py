"""The judges' own look-ups find what the model finds: two derivations of each fact, made apart."""

from __future__ import annotations

import random

import pytest
from tests.random_cases import loop_graph, static_graph

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder, Edge, Node
from gridloom.sim import reading as sim
from gridloom.verify.reading import Reading

ARRAYS = ("mesh:3x3", "torus:2x3,regs=2", "hycube:2x2", "vpcma:3x4", "streaming-engine:8", "rdu:3x3,channels=2")


def memory_graph() -> Dfg:
    """Order edges, live-ins as initial values, and values that the graph does not give."""
    b = DfgBuilder("memory")
    b.array("a", 8)
    b.add("add", b.const(1), id="i")
    b.carry("i", "i", operand=1, distance=3, initial=["start"])
    b.load("a", "i", id="v")
    b.store("a", "i", b.add("add", "v", b.livein("k")), id="st")
    b.edges.append(Edge(source="v", target="st", kind="order", operand=0))
    return b.build()


def graphs() -> list[Dfg]:
    made = [make(random.Random(seed)) for make in (loop_graph, static_graph) for seed in range(4)]
    return [*made, memory_graph(), opaque_graph()]


def opaque_graph() -> Dfg:
    nodes = (Node(id="x", op="input"), Node(id="y", op="butterfly", op_class="mul"))
    edges = (Edge(source="x", target="y"), Edge(source="y", target="y", operand=1, distance=3, initial=(7,)))
    return Dfg(name="opaque", domain="opaque", nodes=nodes, edges=edges)


@pytest.mark.parametrize("dfg", graphs(), ids=lambda dfg: dfg.name)
def test_graphs_are_read_alike(dfg: Dfg) -> None:
    own = Reading(dfg, build("mesh:2x2"))
    assert sim.positions(dfg) == dfg.index
    assert sim.op_classes(dfg) == [dfg.op_class(node.id) for node in dfg.nodes]
    assert [own.op_class(node.id) for node in dfg.nodes] == sim.op_classes(dfg)
    assert sim.op_rows(dfg) == list(own.rows.values()) == list(dfg.ops)
    assert sim.edges_into(dfg) == [list(row) for row in dfg.in_edges]
    assert sim.operand_edges(dfg) == [list(dfg.operand_edges(node.id)) for node in dfg.nodes]
    assert sim.edges_from(dfg) == [list(row) for row in dfg.out_edges]
    assert sim.program_order(dfg) == list(dfg.topological)
    for e in range(len(dfg.edges)):
        assert tuple(sim.first_values(dfg, e)) == dfg.initial_values(e)


@pytest.mark.parametrize("text", ARRAYS)
def test_arrays_are_read_alike(text: str) -> None:
    arch = build(text)
    own = Reading(memory_graph(), arch)
    links = {link: (source, target) for source, target, link in arch.links}
    assert own.links == sim.link_ends(arch) == links
    assert own.tile_numbers == arch.tile_index
    assert own.resource_numbers == arch.resource_index
    assert own.units == {tile: r for tile, r in enumerate(arch.fu.tolist()) if r >= 0}
    assert own.outputs == {tile: r for tile, r in enumerate(arch.out.tolist()) if r >= 0}
    assert sim.simd_lanes(arch) == arch.simd_lanes()
