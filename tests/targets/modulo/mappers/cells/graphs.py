"""Graphs of repeated parts."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from gridloom.dfg import Dfg, DfgBuilder, Edge


def _counter(b: DfgBuilder, step: int) -> str:
    """A counter that goes up by so much in each iteration."""
    b.add("add", id="i")
    b.carry("i", "i", operand=0, distance=1, initial=[-step])
    b.edges.append(Edge(source=b.const(step), target="i", operand=1))
    return "i"


def copies(count: int, *, odd: int = 0) -> Dfg:
    """``y[i] = (x[i] * w) ^ 5`` unrolled; in the last ``odd`` copies the product is a sum."""
    b = DfgBuilder(f"copies{count}")
    b.array("x", 64 * count)
    b.array("y", 64 * count)
    w, i = b.livein("w"), _counter(b, count)
    for k in range(count):
        at = b.add("add", i, b.const(k))
        value = b.add("add" if k >= count - odd else "mul", b.load("x", at), w)
        b.store("y", at, b.add("xor", value, b.const(5)))
    return b.build()


def stencil(count: int) -> Dfg:
    """``y[i] = x[i] + x[i + 1]`` unrolled: neighbouring copies share an address."""
    b = DfgBuilder(f"stencil{count}")
    b.array("x", 64 * count + 1)
    b.array("y", 64 * count)
    i = _counter(b, count)
    addresses = [b.add("add", i, b.const(k)) for k in range(count + 1)]
    for k in range(count):
        b.store("y", addresses[k], b.add("add", b.load("x", addresses[k]), b.load("x", addresses[k + 1])))
    return b.build()


def shuffled(dfg: Dfg, random: Random) -> Dfg:
    """The same graph with its nodes and edges in another order and under other names."""
    nodes, edges = list(dfg.nodes), list(dfg.edges)
    random.shuffle(nodes)
    random.shuffle(edges)
    names = {node.id: f"n{k}" for k, node in enumerate(nodes)}
    return Dfg(
        name=dfg.name,
        domain=dfg.domain,
        nodes=tuple(replace(node, id=names[node.id], variable=node.variable or node.id) for node in nodes),
        edges=tuple(replace(edge, source=names[edge.source], target=names[edge.target]) for edge in edges),
        arrays=dfg.arrays,
    )
