"""Random graphs of every interpreted domain, for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from gridloom.dfg import Dfg, Edge, MemoryArray, Node
from gridloom.dfg.ops import ANY_ARITY, OP_TABLE

DOMAINS = ("i32", "f32", "cma24", "opaque")
SPECIAL = ("const", "livein", "input", "output", "load", "store", "store_if")

#: Any text that UTF-8 can hold.
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)


def plain_ops(domain: str) -> list[str]:
    """Ops that compute a value from operands and nothing else."""
    return [name for name, op in OP_TABLE[domain].items() if name not in SPECIAL and op.op_class[:3] != "mem"]


def numbers(domain: str) -> st.SearchStrategy[Any]:
    """Constants that a graph of the domain may hold; NaN is left out because it does not equal itself."""
    if domain == "f32":
        return st.floats(width=32, allow_nan=False) | st.integers(-1000, 1000)
    return st.integers(-(1 << 70), 1 << 70)


@st.composite
def dfgs(draw: st.DrawFn, domains: tuple[str, ...] = DOMAINS) -> Dfg:
    """A graph with inputs, constants, live-ins, an array, ops, loop-carried and order edges."""
    domain = draw(st.sampled_from(domains))
    ids = draw(st.lists(NAMES, min_size=4, max_size=9, unique=True))
    nodes = [Node(id=ids[0], op="input", variable=draw(st.none() | NAMES))]
    nodes.append(Node(id=ids[1], op="const", value=draw(numbers(domain))))
    nodes.append(Node(id=ids[2], op="livein", label=draw(st.none() | NAMES)))
    ops = {id: draw(st.sampled_from(plain_ops(domain))) for id in ids[3:]}
    edges: list[Edge] = []
    for id, op in ops.items():
        arity = OP_TABLE[domain][op].arity
        count = draw(st.integers(0, 3)) if arity == ANY_ARITY else arity
        edges += [draw(_operand(domain, id, k, [node.id for node in nodes], list(ops))) for k in range(count)]
        nodes.append(Node(id=id, op=op, liveout=draw(st.none() | NAMES)))
    if draw(st.booleans()):
        edges.append(Edge(source=ids[0], target=ids[-1], kind="order", delay=draw(st.integers(0, 3))))
    arrays = (MemoryArray(name="words", length=draw(st.integers(1, 9))),) if draw(st.booleans()) else ()
    return Dfg(
        name=draw(NAMES), domain=domain, nodes=tuple(nodes), edges=tuple(edges), arrays=arrays, notes=draw(st.text())
    )


@st.composite
def _operand(draw: st.DrawFn, domain: str, target: str, operand: int, earlier: list[str], later: list[str]) -> Edge:
    if not draw(st.booleans()):
        return Edge(source=draw(st.sampled_from(earlier)), target=target, operand=operand)
    distance = draw(st.integers(1, 3))
    initial = draw(st.lists(numbers(domain), max_size=distance))
    source = draw(st.sampled_from(later))
    return Edge(source=source, target=target, operand=operand, distance=distance, initial=tuple(initial))
