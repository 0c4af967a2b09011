"""Each kind of violation is reported for a mapping that is legal but for it."""

from __future__ import annotations

import doctest
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.verify import legal_mappings as made
from tests.verify.sketch import adding, edge_number, hops, sketch, with_instance, with_route, without_route
from tests.verify.test_links_per_cycle import multicast

import gridloom as gl
from gridloom.archs import Arch, ArchBuilder, Kind, Tile, build
from gridloom.dfg import Dfg, DfgBuilder, Edge, MemoryArray, Node
from gridloom.mapping import Instance, Mapping, Route
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph, UnitNode
from gridloom.targets.dataflow.rules import elastic
from gridloom.verify import KINDS, Violation, legal

DOCS = Path(__file__).resolve().parents[2] / "docs" / "verify.md"

TWO = (Node(id="a", op="make"), Node(id="b", op="use"))


def kinds(mapping: Mapping) -> set[str]:
    return {violation.kind for violation in legal(mapping)}


def loads_in_one_row(second: int) -> Mapping:
    nodes = (Node(id="a", op="load"), Node(id="b", op="load"))
    dfg = Dfg(name="loads", domain="opaque", nodes=nodes)
    return sketch(dfg, "torus:2x2", {"a": ("pe_0_0", 0), "b": ("pe_0_1", second)}, {}, ii=2)


def divided(second: int, ii: int = 4) -> Mapping:
    """Two divisions on one tile that keeps each for two cycles, the first at cycle 0."""
    dfg = Dfg(name="divided", domain="opaque", nodes=(Node(id="a", op="div"), Node(id="b", op="div")))
    arch = build({"extends": "torus:2x2", "tiles": [{"occupancy": {"div": 2}}]})
    return sketch(dfg, arch, {"a": ("pe_0_0", 0), "b": ("pe_0_0", second)}, {}, ii=ii)


def stored() -> Mapping:
    """A sum of two constants on a tile whose store has one word."""
    b = DfgBuilder("stored")
    b.add("add", b.const(1), b.const(2), id="a")
    arch = build({"extends": "torus:2x2", "tiles": {"constants": 1}})
    return sketch(b.build(), arch, {"a": ("pe_0_0", 0)}, {})


def banked(second: int, banks: dict[str, str], ii: int = 2) -> Mapping:
    """Two loads of arrays of 16 words in two rows, each of which reaches a bank of 64 bytes of its own."""
    arrays = (MemoryArray(name="p", length=16), MemoryArray(name="q", length=16))
    nodes = (Node(id="k", op="const", value=0), Node(id="a", op="load", array="p"), Node(id="b", op="load", array="q"))
    edges = (Edge(source="k", target="a"), Edge(source="k", target="b"))
    dfg = Dfg(name="banked", domain="i32", nodes=nodes, edges=edges, arrays=arrays)
    rows = [{"name": f"m{row}", "where": {"rows": [0, row]}, "bytes": 64} for row in (0, 1)]
    arch = build({"extends": "torus:2x2", "memory": {"banks": rows}})
    return sketch(dfg, arch, {"a": ("pe_0_0", 0), "b": ("pe_1_1", second)}, {}, ii=ii, settings={"banks": banks})


def ordered(cycle: int, kind: str = "order", place: str = "pe_0_1", spec: str = "torus:2x2") -> Mapping:
    """Two nodes with an edge that takes no route, the second at the given cycle and place; II 4, delay 2."""
    nodes = (Node(id="a", op="load_address"), Node(id="b", op="load_data"))
    edges = (Edge(source="a", target="b", kind=kind, delay=2),)  # type: ignore[arg-type]
    dfg = Dfg(name="ordered", domain="opaque", nodes=nodes, edges=edges)
    return sketch(dfg, spec, {"a": ("pe_0_0", 0), "b": (place, cycle)}, {}, ii=4)


def recomputed(copy: int = 1) -> Mapping:
    """The fork on a larger mesh, with a copy of m that nobody reads."""
    mapping = made.mesh("mesh:3x2")
    edge = edge_number(mapping.dfg, "x->m")
    way = hops("pe_0_1.out@1 pe_0_1>pe_1_1@1 pe_1_1>pe_2_1@2 pe_2_1.in0@2")
    return adding(
        mapping,
        [Instance(node="m", place="pe_2_1", cycle=2, copy=copy)],
        [Route(edge=edge, hops=way, copy=copy)],
    )


def engine(nodes: list[tuple[str, tuple[str, ...]]], places: dict[str, tuple[str, int]], spec: str = "") -> Mapping:
    """Opaque nodes with sources by name, free live-ins where a name is not a node; routes are not drawn."""
    known = {name for name, _ in nodes}
    variables = dict.fromkeys(s for _, sources in nodes for s in sources if s not in known)
    dfg = Dfg(
        name="engine",
        domain="opaque",
        nodes=(*(Node(id=v, op="livein") for v in variables), *(Node(id=name, op="f") for name, _ in nodes)),
        edges=tuple(Edge(source=s, target=name, operand=k) for name, sources in nodes for k, s in enumerate(sources)),
    )
    return sketch(dfg, spec or "streaming-engine:8,spokes=4", places, {}, ii=2)


def two_ops(instructions: int) -> Mapping:
    """An add and a multiplication on one tile, whose operands are live-ins of the tile memory."""
    dfg = Dfg(
        name="two_ops",
        domain="i32",
        nodes=(Node(id="v", op="livein"), Node(id="a", op="add"), Node(id="m", op="mul")),
        edges=tuple(Edge(source="v", target=target, operand=k) for target in ("a", "m") for k in (0, 1)),
    )
    places = {"a": ("t_0", 0), "m": ("t_0", 1)}
    return sketch(dfg, f"streaming-engine:8,spokes=4,instructions={instructions}", places, {}, ii=2)


def waiting(delays: int) -> Mapping:
    """c's operands come from two tiles and wait 3 cycles each: at II 2 two registers each in the worse slot."""
    dfg = Dfg(
        name="waiting",
        domain="opaque",
        nodes=(Node(id="a", op="f"), Node(id="b", op="f"), Node(id="c", op="f")),
        edges=(Edge(source="a", target="c"), Edge(source="b", target="c", operand=1)),
    )
    return sketch(
        dfg,
        f"streaming-engine:4,spokes=4,delays={delays}",
        {"a": ("t_0", 0), "b": ("t_2", 0), "c": ("t_1", 7)},
        {
            "a->c": ("t_0.out@3 t_0>t_1@3 t_1.in0@4", 3),
            "b->c": ("t_2.out@3 t_2>t_1@3 t_1.in1@4", 3),
        },
        ii=2,
    )


def ring() -> Arch:
    """A producer, two wires that feed each other without latency, a consumer that reads both."""
    builder = ArchBuilder()
    for name in ("p", "q"):
        tile = builder.add_tile(Tile(name=name, row=0, col=len(builder.tiles), classes=frozenset({"alu"})))
        fu = builder.add(f"{name}.fu", Kind.FU, tile)
        builder.arc(fu, builder.add(f"{name}.out", Kind.OUT, tile), 1)
        for k in range(2):
            builder.add(f"{name}.in{k}", Kind.IN, tile, position=k)
    wires = [builder.add(name, Kind.SWITCH, 0) for name in ("u", "v")]
    builder.arc(wires[0], wires[1])
    builder.arc(wires[1], wires[0])
    for wire in wires:
        builder.arc(builder.index["p.out"], wire)
        for k in range(2):
            builder.arc(wire, builder.index[f"q.in{k}"])
    return builder.build(name="ring", style="static", rows=1, cols=2, spec={})


def around_the_ring(second: str) -> Mapping:
    dfg = Dfg(
        name="ring",
        domain="opaque",
        nodes=TWO,
        edges=(Edge(source="a", target="b"), Edge(source="a", target="b", operand=1)),
    )
    ways = {"a->b.0": "p.out@1 u@1 v@1 q.in0@1", "a->b.1": second}
    return sketch(dfg, ring(), {"a": ("p", 0), "b": ("q", 1)}, ways)


def inconsistent() -> Mapping:
    """e gets two tokens of x for each of g's, but takes one of each."""
    mapping = made.reconvergent(gather=1, spread=1, fifo=16)
    edges = tuple(replace(e, tokens=2, takes=1) if e.operand == 1 else e for e in mapping.dfg.edges)
    return replace(mapping, dfg=replace(mapping.dfg, edges=edges))


def endless() -> Mapping:
    """A chain in which each node fires 15 times for 16 of the one before: 16 ** 7 firings until it starts over."""
    arch = build("rdu:4x4,fifo=64")
    units = [tile.name for tile in arch.tiles if tile.kind == "cu"]
    names = [f"g{k}" for k in range(len(units))]
    dfg = UnitGraph(
        name="endless",
        nodes=tuple(UnitNode(id=name, op="gemm") for name in names),
        edges=tuple(TokenEdge(source=a, target=b, tokens=15, takes=16) for a, b in pairwise(names)),
    )
    return sketch(dfg, arch, {name: (unit, 0) for name, unit in zip(names, units, strict=True)}, {})


TO_S = "pe_0_0.out@2 pe_0_0>pe_1_0@2 pe_1_0>pe_1_1@3 pe_1_1.in0@3"

#: Ways from switch sw_1_1 back to it.
AROUND = "sw_1_1>sw_1_2 sw_1_2>sw_0_2 sw_0_2>sw_0_1 sw_0_1>sw_1_1"
ANOTHER = "sw_1_1>sw_2_1 sw_2_1>sw_2_2 sw_2_2>sw_1_2 sw_1_2>sw_1_1"

#: kind -> a mapping that breaks it, once or in several ways.
DAMAGED: dict[str, list[Callable[[], Mapping]]] = {
    "ii": [
        lambda: replace(made.torus(), ii=0),
        lambda: replace(made.torus(), ii=-3),
        lambda: replace(made.mesh(), ii=2),
        lambda: replace(made.rdu(), ii=2),
        lambda: replace(made.torus(), ii=10**12),
    ],
    "contexts": [lambda: made.streaming("streaming-engine:4,spokes=1"), lambda: made.torus("torus:2x2,contexts=1")],
    "settings": [
        lambda: replace(made.mesh(), settings={"pipeline": [1]}),
        lambda: replace(made.vpcma(), settings={"pipeline": [1, 1]}),
        lambda: replace(made.held(), settings={"rotating": {"pe_0_0": 3}}),
        lambda: replace(made.held(), settings={"rotating": {"pe_9_9": 1}}),
    ],
    "unknown-rule": [lambda: replace(made.mesh(), arch=replace(build("mesh:2x2"), rules=("no_such_rule",)))],
    "unknown-node": [lambda: adding(made.mesh(), [Instance(node="ghost", place="pe_0_0")])],
    "unplaced": [lambda: replace(made.mesh(), instances=made.mesh().instances[:-1])],
    "free-node": [
        lambda: adding(made.torus(), [Instance(node="one", place="pe_0_0", cycle=1)]),
        lambda: adding(made.streaming(), [Instance(node="x", place="t_3")]),
    ],
    "copies": [
        lambda: recomputed(copy=2),
        lambda: recomputed(copy=-1),
        lambda: adding(made.mesh(), [Instance(node="m", place="pe_0_0", cycle=1)]),
    ],
    "single-copy": [
        lambda: adding(made.mesh(), [Instance(node="o", place="pe_0_0", cycle=4, copy=1)]),
        lambda: adding(made.mesh(), [Instance(node="x", place="pe_0_0", copy=1)]),
        lambda: adding(made.torus(), [Instance(node="st", place="pe_0_0", cycle=3, copy=1)]),
        lambda: adding(made.rdu("rdu:3x3"), [Instance(node="g", place="cu_2_2", copy=1)]),
    ],
    "unknown-place": [
        lambda: with_instance(made.mesh(), "m", place="pe_9_9"),
        lambda: with_instance(made.mesh(), "m", place="pe_0_0.out"),
        lambda: with_instance(made.mesh(), "m", place=""),
    ],
    "op-class": [
        lambda: on(made.mesh(), {"family": "mesh", "rows": 2, "cols": 2, "classes": {"alu": "none"}}),
        lambda: on(made.torus(), {"family": "torus", "rows": 2, "cols": 2, "regs": 2, "mul": "none"}),
        lambda: with_instance(made.torus(), "i", place="pe_0_0.r1"),
        lambda: with_instance(made.vpcma(), "o", place="pe_3_2"),
        lambda: with_instance(made.rdu(), "e", place="mu_0_1"),
        lambda: with_instance(made.rdu(), "e", place="sw_0_1"),
        lambda: with_instance(made.mesh("mesh:3x3,io=border"), "o", place="pe_1_1"),
    ],
    "rotating-live-in": [
        lambda: replace(made.torus(), settings={"rotating": {"pe_1_1": 1}}),
        lambda: made.torus("torus:2x2,regs=2,rotating=1"),
    ],
    "negative-cycle": [
        lambda: with_instance(made.torus(), "v", cycle=-1),
        lambda: with_route(made.torus(), "k->w", "pe_1_1.r0@-2 pe_1_1.in1@-2"),
    ],
    "inputs-aligned": [lambda: with_instance(made.mesh(), "x", cycle=1)],
    "unknown-edge": [
        lambda: adding(made.mesh(), routes=[Route(edge=99, hops=())]),
        lambda: adding(made.mesh(), routes=[Route(edge=-1, hops=())]),
    ],
    "unknown-copy": [
        lambda: with_route(made.mesh(), "m->s", source_copy=1),
        lambda: adding(made.mesh(), routes=[Route(edge=0, hops=hops("pe_0_1.out@1"), copy=7)]),
        lambda: adding(ordered(2, "pair"), routes=[Route(edge=0, hops=(), source_copy=3)]),
    ],
    "unknown-resource": [lambda: with_route(made.mesh(), "m->s", TO_S.replace("pe_1_0>pe_1_1", "pe_1_0>pe_9_9"))],
    "missing-route": [lambda: without_route(made.mesh(), "m->s"), lambda: without_route(made.rdu(), "g->e")],
    "extra-route": [
        lambda: adding(made.mesh(), routes=[made.mesh().routes[0]]),
        lambda: adding(made.streaming(), routes=[Route(edge=0, hops=hops("t_0.in0@0"))]),
        lambda: adding(ordered(2), routes=[Route(edge=0, hops=())]),
        lambda: adding(ordered(2, "pair"), routes=[Route(edge=0, hops=hops("pe_0_0.out@1"))]),
    ],
    "route-start": [
        lambda: with_route(made.mesh(), "m->s", "pe_0_1.out@2 pe_0_1>pe_1_1@2 pe_1_1.in0@2", fifo=1),
        lambda: with_instance(made.torus(), "k", place="pe_1_1.r1"),
        lambda: with_instance(made.torus(), "k", place="mem"),
        lambda: with_instance(made.vpcma(), "c", place="const_2"),
        lambda: with_route(made.rdu(), "g->e", "cu_0_0>sw_1_1 sw_1_1>cu_1_1 cu_1_1.in0"),
    ],
    "route-step": [
        lambda: with_route(made.mesh(), "m->s", "pe_0_0.out@2 pe_1_0>pe_1_1@3 pe_1_1.in0@3"),
        lambda: made.torus("torus:2x2,regs=2,hold=next"),
        lambda: with_route(made.rdu(), "g->e", "cu_0_0.out sw_1_1>cu_1_1 cu_1_1.in0"),
    ],
    "route-time": [
        lambda: with_route(made.mesh(), "m->s", TO_S.replace("@2 pe_1_0>", "@3 pe_1_0>")),
        lambda: with_route(made.mesh(), "m->s", TO_S.replace("@3", "@4")),
        lambda: with_instance(made.mesh("mesh:2x2,inputs=skewed"), "x", cycle=1),
        lambda: replace(made.vpcma(), settings={"pipeline": [1, 0, 1]}),
    ],
    "route-end": [
        lambda: with_route(made.mesh(), "m->s", TO_S.replace("in0", "in1")),
        lambda: with_route(made.mesh(), "m->s", ""),
        lambda: with_route(made.mesh(), "m->s", TO_S.removesuffix(" pe_1_1.in0@3")),
        lambda: with_instance(made.mesh("mesh:3x3"), "o", place="pe_2_2"),
        lambda: with_route(made.rdu(), "g->e", "cu_0_0.out cu_0_0>sw_1_1 sw_1_1>cu_1_1 cu_1_1.in1"),
    ],
    "timing": [
        lambda: with_instance(made.mesh(), "o", cycle=5),
        lambda: with_route(made.mesh(), "x->s", fifo=1),
        lambda: with_route(made.torus(), "i->i", "pe_0_0.out@1 pe_0_0.in0@1"),
        lambda: with_route(made.torus(), "k->w", "pe_1_1.r0@4 pe_1_1.in1@4"),
    ],
    "fifo": [
        lambda: made.mesh("mesh:2x2,fifo=1"),
        lambda: with_route(made.mesh(), "x->s", fifo=-2),
        lambda: with_route(made.torus(), "v->w", fifo=1),
        lambda: with_route(made.rdu(), "g->e", fifo=1),
    ],
    "instruction-ram": [lambda: two_ops(1)],
    "delays": [lambda: waiting(3), lambda: made.streaming("streaming-engine:4,spokes=4,delays=1")],
    "order": [lambda: ordered(1), lambda: ordered(0)],
    "pair-time": [lambda: ordered(1, "pair"), lambda: ordered(3, "pair")],
    "pair-place": [
        lambda: ordered(2, "pair", "pe_1_0"),
        lambda: ordered(2, "pair", "pe_0_1", "torus:2x2,bus=dedicated"),
    ],
    "conflict": [
        lambda: with_instance(made.mesh(), "o", place="pe_1_1"),
        lambda: with_instance(made.torus(), "w", cycle=4),
        lambda: made.held(until=7),
        lambda: made.held(rotating=0),
        lambda: with_instance(made.rdu(), "e", place="cu_0_0"),
    ],
    "occupancy": [
        lambda: divided(1),
        lambda: divided(3),
        lambda: divided(5),
        lambda: replace(divided(0, 1), instances=divided(0, 1).instances[:1]),
    ],
    "pool": [lambda: loads_in_one_row(0), lambda: loads_in_one_row(2), lambda: spill_on_a_taken_bus()],
    "data-memory": [
        lambda: made.torus("torus:2x2,regs=2,data_memory=508"),
        lambda: made.spilled("torus:2x2,data_memory=4"),
    ],
    "bank": [lambda: banked(1, {"p": "m1", "q": "m0"}), lambda: banked(1, {"p": "m0"})],
    "bank-size": [lambda: banked(1, {"p": "m1", "q": "m1"})],
    "constants": [stored],
    "bank-ports": [lambda: banked(0, {"p": "m1", "q": "m1"}), lambda: banked(2, {"p": "m1", "q": "m1"})],
    "links-per-cycle": [lambda: multicast("hycube:4x4,hops=1", port="ports")],
    "combinational-cycle": [
        lambda: around_the_ring("p.out@1 v@1 u@1 q.in1@1"),
        lambda: around_the_ring("p.out@1 u@1 v@1 u@1 q.in1@1"),
        lambda: vpcma_loop(),
    ],
    "outputs-together": [
        lambda: with_instance(made.vpcma(), "o", cycle=1),
        lambda: replace(made.vpcma(), settings={"pipeline": [1, 1, 1]}),
    ],
    "constant-range": [lambda: constant_of(65536), lambda: constant_of(-65537)],
    "tile-memory-shared": [
        lambda: engine([("a", ("v",)), ("b", ("v",))], {"a": ("t_0", 0), "b": ("t_1", 0)}),
    ],
    "tile-memory-size": [
        lambda: engine([("a", ("v", "w"))], {"a": ("t_0", 0)}, "streaming-engine:8,tile_memory=1"),
        lambda: engine([("a", ("v", "w"))], {"a": ("t_0", 0)}, "streaming-engine:8,memories=1,words=1,simd=512"),
    ],
    "flow-starts-apart": [lambda: engine([("a", ()), ("b", ())], {"a": ("t_0", 0), "b": ("t_0", 1)})],
    "siblings-apart": [
        lambda: engine(
            [("a", ()), ("b", ("a",)), ("c", ("a",))], {"a": ("t_0", 0), "b": ("t_1", 4), "c": ("t_1", 5)}
        ),
    ],
    "route-circle": [
        lambda: with_route(made.rdu(), "g->e", f"cu_0_0.out cu_0_0>sw_1_1 {AROUND} sw_1_1>cu_1_1 cu_1_1.in0"),
        lambda: with_route(
            made.rdu(), "g->e", f"cu_0_0.out cu_0_0>sw_1_1 {AROUND} {ANOTHER} sw_1_1>cu_1_1 cu_1_1.in0"
        ),
    ],
    "packet": [lambda: with_packets(9), lambda: with_packets(9, "rdu:2x2,switch_buffer=8")],
    "turns": [lambda: round_trip()],
    "rates": [inconsistent, endless],
    "deadlock": [
        made.reconvergent,
        lambda: made.reconvergent(gather=5000, spread=1, fifo=6000),
        lambda: circle(takes=3),
    ],
}  # fmt: skip


def on(mapping: Mapping, spec: dict[str, Any]) -> Mapping:
    return replace(mapping, arch=build(spec))


def spill_on_a_taken_bus() -> Mapping:
    """The spill's store shares its row's bus with a load in the same slot (1 = 4 mod 3)."""
    mapping = made.spilled()
    dfg = replace(mapping.dfg, nodes=(*mapping.dfg.nodes, Node(id="l", op="load")))
    return adding(replace(mapping, dfg=dfg), [Instance(node="l", place="pe_0_1", cycle=4)])


def constant_of(value: int) -> Mapping:
    """The vpcma mapping with another constant."""
    mapping = made.vpcma()
    nodes = tuple(replace(node, value=value) if node.id == "c" else node for node in mapping.dfg.nodes)
    return replace(mapping, dfg=replace(mapping.dfg, nodes=nodes))


@pytest.mark.parametrize("value", [65535, -65536, 0xFF0000])
def test_constants_of_17_bits_and_their_sign_extensions_fit(value):
    assert legal(constant_of(value)) == []


def vpcma_loop() -> Mapping:
    """p and q feed each other along a row; the way back through the switch to the west has no register."""
    b = DfgBuilder("loop", "cma24")
    b.add("add", b.input("x"), id="p")
    b.add("add", "p", b.input("y"), id="q")
    b.carry("q", "p", operand=1)
    return sketch(
        b.build(),
        "vpcma:rows=2,cols=2,constants=0",
        {"x": ("load_0", 0), "y": ("load_1", 0), "p": ("pe_0_0", 0), "q": ("pe_0_1", 0)},
        {
            "x->p": "load_0.out@0 pe_0_0.in0@0",
            "p->q": "pe_0_0.out@0 pe_0_0.e@0 pe_0_1.in0@0",
            "y->q": "load_1.out@0 pe_0_1.in1@0",
            "q->p": "pe_0_1.out@0 pe_0_1.w@0 pe_0_0.in1@0",
        },
    )


def with_packets(tokens: int, spec: str = "rdu:2x2") -> Mapping:
    """Two stages, the first of which sends packets of so many vectors to the second."""
    mapping = made.rdu(spec)
    edges = tuple(replace(edge, tokens=tokens) if edge.target == "e" else edge for edge in mapping.dfg.edges)
    return replace(mapping, dfg=replace(mapping.dfg, edges=edges))


def round_trip(first: str = "sw_0_0 sw_0_1 sw_1_1") -> Mapping:
    """Four flows around the four switches of a unit, each over two links of the circle."""
    nodes = (("p", "gemm"), ("q", "elementwise"), ("m", "buffer"), ("n", "buffer"), ("o", "output"))
    dfg = UnitGraph(
        name="round trip",
        nodes=tuple(UnitNode(id=name, op=op) for name, op in nodes),
        edges=(
            TokenEdge(source="p", target="q"),
            TokenEdge(source="n", target="m"),
            TokenEdge(source="q", target="o"),
            TokenEdge(source="m", target="n", distance=1),
        ),
    )
    places = {"p": "cu_0_0", "q": "cu_1_1", "m": "mu_1_0", "n": "mu_0_1", "o": "dram_left_0"}

    def way(*tiles: str) -> str:
        return " ".join([f"{tiles[0]}.out", *(f"{a}>{b}" for a, b in pairwise(tiles)), f"{tiles[-1]}.in0"])

    return sketch(
        dfg,
        "rdu:2x2",
        {name: (tile, 0) for name, tile in places.items()},
        {
            "p->q": way("cu_0_0", *first.split(), "cu_1_1"),
            "n->m": way("mu_0_1", "sw_0_1", "sw_1_1", "sw_1_0", "mu_1_0"),
            "q->o": way("cu_1_1", "sw_1_1", "sw_1_0", "sw_0_0", "dram_left_0"),
            "m->n": way("mu_1_0", "sw_1_0", "sw_0_0", "sw_0_1", "mu_0_1"),
        },
    )


def test_four_flows_around_a_unit_may_wait_for_each_other():
    assert [str(violation) for violation in legal(round_trip())] == [
        "turns at the routes: found links that wait for each other: sw_0_0>sw_0_1 -> sw_0_1>sw_1_1 -> sw_1_1>sw_1_0 -> "
        "sw_1_0>sw_0_0 -> sw_0_0>sw_0_1; allowed: no circle of such waits"
    ]
    # One of them by a way of its own opens the circle.
    assert legal(round_trip("sw_1_1")) == []


def circle(takes: int) -> Mapping:
    """Two compute units that feed each other; two tokens are there when the first wants ``takes``."""
    dfg = UnitGraph(
        name="circle",
        nodes=(UnitNode(id="g", op="gemm"), UnitNode(id="e", op="elementwise")),
        edges=(
            TokenEdge(source="g", target="e", tokens=takes, takes=2),
            TokenEdge(source="e", target="g", tokens=2, takes=takes, distance=1),
        ),
    )
    return sketch(
        dfg,
        "rdu:2x2,fifo=8",
        {"g": ("cu_0_0", 0), "e": ("cu_1_1", 0)},
        {
            "g->e": "cu_0_0.out cu_0_0>sw_1_1 sw_1_1>cu_1_1 cu_1_1.in0",
            "e->g": "cu_1_1.out cu_1_1>sw_1_1 sw_1_1>cu_0_0 cu_0_0.in0",
        },
    )


def fed_back() -> Mapping:
    """A compute unit with an edge to itself."""
    dfg = UnitGraph(
        name="fed back",
        nodes=(UnitNode(id="g", op="gemm"),),
        edges=(TokenEdge(source="g", target="g", distance=1),),
    )
    way = "cu_0_0.out cu_0_0>sw_1_1 sw_1_1>sw_0_1 sw_0_1>cu_0_0 cu_0_0.in0"
    return sketch(dfg, "rdu:2x2", {"g": ("cu_0_0", 0)}, {"g->g": way})


def with_circle(mapping: Mapping, rng: random.Random) -> Mapping:
    """The mapping with a walk from a switch back to it in one of its routes, over links of the array."""
    arch, k = mapping.arch, rng.randrange(len(mapping.routes))
    route = mapping.routes[k]
    name = arch.resource_names
    leaving: dict[int, list[tuple[int, int]]] = {}
    for source, target, link in arch.links:
        leaving.setdefault(source, []).append((target, link))
    ends = {name[link]: (source, target) for source, target, link in arch.links}
    place = rng.choice([p for p in range(len(route.hops)) if route.hops[p][0] in ends][:-1])
    start = here = ends[route.hops[place][0]][1]
    before, circle = ends[route.hops[place][0]][0], []
    while not circle or here != start:
        steps = [(tile, link) for tile, link in leaving[here] if tile != before and arch.tiles[tile].kind == "switch"]
        close = [step for step in steps if step[0] == start]
        before, (here, link) = here, rng.choice(close or steps)
        circle.append(name[link])
    hops = (*route.hops[: place + 1], *((link, 0) for link in circle), *route.hops[place + 1 :])
    routes = (*mapping.routes[:k], replace(route, hops=hops), *mapping.routes[k + 1 :])
    return replace(mapping, routes=routes)


@pytest.fixture(scope="module")
def mapped_network() -> Mapping:
    """A network on an elastic grid, as the mapper maps it."""
    result = gl.map("model:mlp", "rdu:6x6", effort=200)
    assert result.mapping is not None
    return result.mapping


def test_mapped_network_is_legal(mapped_network: Mapping):
    assert legal(mapped_network) == []


@pytest.mark.parametrize("seed", range(100))
def test_elastic_route_with_a_circle_is_refused(mapped_network: Mapping, seed: int):
    assert "route-circle" in kinds(with_circle(mapped_network, random.Random(seed)))


def test_circle_is_named():
    way = f"cu_0_0.out cu_0_0>sw_1_1 {AROUND} sw_1_1>cu_1_1 cu_1_1.in0"
    assert [str(violation) for violation in legal(with_route(made.rdu(), "g->e", way))] == [
        "route-circle at edge 1 (g -> e): found a route that comes back to sw_1_1; allowed: each unit and switch once"
    ]


@pytest.mark.parametrize("name", made.LEGAL)
def test_hand_made_mapping_is_legal(name: str):
    assert legal(made.LEGAL[name]()) == []


@pytest.mark.parametrize(
    "mapping",
    [
        recomputed(),
        loads_in_one_row(1),
        divided(2),
        divided(6),
        banked(0, {"p": "m0", "q": "m1"}),
        ordered(2),
        ordered(3),
        ordered(2, "pair"),
        waiting(4),
    ]
    + [ordered(2, "pair", "pe_0_0"), ordered(2, "pair", "pe_1_1", "torus:2x2,bus=none")]
    + [around_the_ring("p.out@1 u@1 q.in1@1"), made.reconvergent(fifo=16), circle(takes=1), fed_back()]
    + [adding(ordered(2, "pair"), routes=[Route(edge=0, hops=())])],
    ids=lambda mapping: mapping.dfg.name,
)
def test_undamaged_counterpart_is_legal(mapping: Mapping):
    assert legal(mapping) == []


@pytest.mark.parametrize(("kind", "case"), [(kind, k) for kind, cases in DAMAGED.items() for k in range(len(cases))])
def test_damage_is_reported(kind: str, case: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(elastic, "MAX_TURNS", 20_000)
    assert kind in kinds(DAMAGED[kind][case]())


def test_every_kind_is_shown_by_a_damaged_mapping():
    # test_program_rules.py shows the kinds of programs.
    assert DAMAGED.keys() | {"tile-shared", "flow-tiles", "flow-array"} == KINDS.keys()


def test_every_kind_is_documented():
    kinds_part = DOCS.read_text(encoding="utf-8").partition("## Kinds of violations")[2].partition("## Metrics")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in kinds_part.splitlines() if line[:3] == "| `"]
    assert [(kind.strip("`"), meaning) for kind, meaning in rows] == list(KINDS.items())


def test_examples_of_the_docs_run():
    failed, tried = doctest.testfile(str(DOCS), module_relative=False)
    assert (failed, tried > 0) == (0, True)


def test_a_violation_reads_as_a_sentence():
    violation = Violation("timing", "edge 3 (a -> b)", "arrival 2 + FIFO 0 = 2", "4: issue 4 + II 1 * distance 0")
    assert str(violation) == (
        "timing at edge 3 (a -> b): found arrival 2 + FIFO 0 = 2; allowed: 4: issue 4 + II 1 * distance 0"
    )


@pytest.mark.parametrize(
    ("kind", "part", "words"),
    [
        ("flow-starts-apart", "allowed", "one start per tile"),
        ("siblings-apart", "allowed", "one sibling per tile"),
        ("rates", "demanded", "1 tokens put and 1 taken per firing"),
    ],
)
def test_violations_name_the_rule_in_plain_words(kind: str, part: str, words: str):
    mappings = [damaged() for damaged in DAMAGED[kind]]
    assert words in {getattr(found, part) for mapping in mappings for found in legal(mapping)}
