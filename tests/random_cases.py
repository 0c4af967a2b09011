"""Random graphs that suit a style, the arrays they go to, and the legal mappings that the constructive mapper finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

from tests.constructive import construct

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder, Edge
from gridloom.mapping import Mapping

OPS = ("add", "sub", "mul", "and", "or", "xor", "min", "max", "shl", "lt")
KEPT = ("input", "output", "const", "livein")
CMA_OPS = ("add", "sub", "mult", "and", "or", "xor", "sl", "gt")

STATIC = (
    "mesh:4x4", "mesh:4x5,inputs=skewed", "onehop:4x4,fifo=3", "hex:4x4,mul=checkerboard", "chess:4x4,io=border",
    "mesh:4x4,mul=columns,fifo=6,inputs=skewed", "onehop:5x3,mul=borders",
)  # fmt: skip
MODULO = (
    ("torus:2x2,regs=2", 4), ("torus:3x3,regs=2,hold=next", 4), ("torus:3x3,regs=4", 3),
    ("torus:2x3,regs=4,bus=none", 4), ("torus:4x4,regs=8,file=central", 3), ("ramp-7", 3),
    ("torus:2x2,regs=4,rotating=2", 5),
)  # fmt: skip
ENGINE = (("streaming-engine:8,spokes=4,delays=40", 3), ("streaming-engine:16,spokes=6,level=paper", 2))


def operands(b: DfgBuilder, rng: random.Random, values: list[str]) -> list[str]:
    """Two operands: recent values more often, a constant now and then."""
    first = values[-1 - min(int(rng.expovariate(0.5)), len(values) - 1)]
    second = b.const(rng.randint(1, 9)) if rng.random() < 0.3 else rng.choice(values)
    return [first, second]


def static_graph(rng: random.Random) -> Dfg:
    """Streams in, streams out, now and then an accumulator."""
    b = DfgBuilder("static")
    values = [b.input(f"x{k}") for k in range(rng.randint(1, 3))]
    for k in range(rng.randint(2, 7)):
        if rng.random() < 0.2:
            node = b.add(rng.choice(("add", "xor")), rng.choice(values), id=f"acc{k}")
            b.edges.append(Edge(source=node, target=node, operand=1, distance=1, initial=(rng.randint(1, 99),)))
        else:
            node = b.add(rng.choice(OPS), *operands(b, rng, values))
        values.append(node)
    used = {edge.source for edge in b.edges if edge.source != edge.target}
    for k, node in enumerate(v for v in values if v not in used):
        b.output(node, f"y{k}")
    return b.build()


def loop_graph(rng: random.Random) -> Dfg:
    """A counter, loads, arithmetic with carried values and live-ins, stores and live-outs."""
    b = DfgBuilder("loop")
    b.array("A", 128)
    b.array("B", 128)
    b.add("add", id="i")
    b.edges.append(Edge(source="i", target="i", operand=0, distance=1, initial=(-1,)))
    b.edges.append(Edge(source=b.const(1), target="i", operand=1))
    values = ["i", b.load("A", "i", id="a")]
    livein = b.livein("k") if rng.random() < 0.4 else None
    for n in range(rng.randint(2, 5)):
        if rng.random() < 0.4:
            distance = rng.randint(1, 3)
            node = b.add(rng.choice(("add", "xor", "sub")), rng.choice(values), id=f"r{n}")
            origin = rng.choice([node, node, "a"])
            initial = tuple(rng.randint(1, 99) for _ in range(distance))
            b.edges.append(Edge(source=origin, target=node, operand=1, distance=distance, initial=initial))
        else:
            first, second = operands(b, rng, values)
            if livein and rng.random() < 0.5:
                second = livein
            node = b.add(rng.choice(OPS), first, second)
        values.append(node)
    if rng.random() < 0.6:
        b.store("B", "i", values[-1], id="w")
    used = {edge.source for edge in b.edges if edge.source != edge.target}
    final = []
    for node in b.nodes:
        observed = node.id not in used and node.op not in ("store", "const", "livein")
        final.append(type(node)(id=node.id, op=node.op, value=node.value, array=node.array, variable=node.variable,
                                liveout=node.id if observed else None))  # fmt: skip
    b.nodes = [n for n in final if n.id in used or n.liveout or n.op == "store"]
    return b.build()


def engine_graph(rng: random.Random) -> Dfg:
    """Instructions with up to three operands, streams and tile-memory variables."""
    b = DfgBuilder("engine")
    values: list[str] = []
    streams = [b.input("x"), b.input("y")]
    variable = b.livein("v")
    for k in range(rng.randint(3, 7)):
        if k < 2 or rng.random() < 0.2:
            node = b.add("sub", streams[k % 2], variable if k == 0 else b.const(3 + k), id=f"s{k}")
        else:
            node = b.add("mul_add", values[-1], rng.choice(values), rng.choice([*values, *streams]))
        values.append(node)
    used = {edge.source for edge in b.edges}
    for k, node in enumerate(v for v in values if v not in used):
        b.output(node, f"out{k}")
    return b.build()


def vpcma_graph(rng: random.Random) -> Dfg:
    """A few ALU ops between load and store ports."""
    b = DfgBuilder("cma", "cma24")
    values = [b.input(f"x{k}") for k in range(rng.randint(1, 3))]
    for _ in range(rng.randint(1, 4)):
        first = values[-1]
        second = b.const(rng.randint(1, 99)) if rng.random() < 0.5 else rng.choice(values)
        values.append(b.add(rng.choice(CMA_OPS), first, second))
    used = {edge.source for edge in b.edges}
    for k, node in enumerate(v for v in values if v not in used):
        b.output(node, f"y{k}")
    return b.build()


def opaque(dfg: Dfg) -> Dfg:
    """The same graph with uninterpreted ops: no value is masked, so that every wrong wire or cycle shows."""
    nodes = tuple(
        replace(n, op=n.op if n.op in KEPT else f"opaque_{n.op}", op_class=dfg.op_class(n.id), array=None)
        for n in dfg.nodes
    )
    return Dfg(name=dfg.name, domain="opaque", nodes=nodes, edges=dfg.edges)


@cache
def legal_mappings(style: str, count: int, mixed: bool = False) -> tuple[Mapping, ...]:
    """The first ``count`` random mappings of a style that the constructive mapper finds, or those of opaque graphs."""
    return tuple(islice(candidates(style, mixed), count))


def candidates(style: str, mixed: bool = False) -> Iterator[Mapping]:
    """Random mappings without end."""
    for seed in range(100_000):
        rng = random.Random(f"{style} {seed}")
        settings: dict[str, object] = {}
        ii = 1
        if style == "static":
            dfg, text = static_graph(rng), STATIC[seed % len(STATIC)]
        elif style == "modulo":
            dfg = loop_graph(rng)
            text, ii = MODULO[seed % len(MODULO)]
        elif style == "engine":
            dfg = engine_graph(rng)
            text, ii = ENGINE[seed % len(ENGINE)]
        else:
            dfg, text = vpcma_graph(rng), "vpcma:6x5"
            settings = {"pipeline": [rng.randint(0, 1) for _ in range(5)]}
        arch = build(text)
        if style == "modulo" and arch.register_files[0].adjustable:
            half = len(arch.register_files[0].registers) // 2
            settings = {"rotating": {file.name: half for file in arch.register_files}}
        if mixed:
            dfg = opaque(dfg)
        mapping = construct(dfg, arch, seed, ii=ii, settings=settings)
        if mapping is not None:
            yield mapping
