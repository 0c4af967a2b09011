"""The rules of a graph with their exact texts."""

from __future__ import annotations

from typing import Any

import pytest

from gridloom.dfg import Dfg, Edge, MemoryArray, Node
from gridloom.dfg.checks import MAX_DISTANCE, MAX_WORDS
from gridloom.errors import DfgError

A, B = Node(id="a", op="input"), Node(id="b", op="neg")
WORDS = MemoryArray(name="words", length=8)


def edge(source: str = "a", target: str = "b", **fields: Any) -> Edge:
    return Edge(source=source, target=target, **fields)


def const(value: float | int | None) -> Node:
    return Node(id="c", op="const", value=value)


# name: (domain, nodes, edges, arrays, message after "graph 'g': ")
BROKEN: dict[str, tuple[str, list[Node], list[Edge], list[MemoryArray], str]] = {
    "no node": ("i32", [], [], [], "has no node; a graph needs at least one"),
    "same id": ("i32", [A, A], [], [], "node id 'a' is used twice; ids must differ"),
    "empty id": ("i32", [Node(id="", op="input")], [], [], "a node has an empty id; give each node a name"),
    "surrogate": (
        "i32", [Node(id="\ud800", op="input")], [], [],
        "node '\\ud800': its id holds half a surrogate pair, which cannot be written; use other characters",
    ),
    "domain": (
        "i33", [A], [], [], "node 'a': unknown domain 'i33'; known: i32, f32, cma24, opaque, tensor",
    ),
    "const without value": ("i32", [const(None)], [], [], "node 'c': is a const without a value; give it 'value'"),
    "infinite integer": (
        "i32", [const(float("inf"))], [], [], "node 'c': has value inf, which domain 'i32' cannot hold",
    ),
    "too large a single": (
        "f32", [const(1e39)], [], [], "node 'c': has value 1e+39, which domain 'f32' cannot hold",
    ),
    "load of nothing": (
        "i32", [A, Node(id="b", op="load")], [edge()], [],
        "node 'b': is a load without 'array'; name the array it touches",
    ),
    "half a load of nothing": (
        "i32", [A, Node(id="b", op="load_data")], [edge(kind="pair")], [],
        "node 'b': is a load_data without 'array'; name the array it touches",
    ),
    "undeclared array": (
        "i32", [A, Node(id="b", op="load", array="x")], [edge()], [WORDS],
        "node 'b': touches array 'x', which is not declared; declared: words",
    ),
    "no array at all": (
        "i32", [A, Node(id="b", op="load", array="x")], [edge()], [],
        "node 'b': touches array 'x', which is not declared; declared: none",
    ),
    "empty array": (
        "i32", [A], [], [MemoryArray(name="x", length=0)], "array 'x' has length 0; expected at least 1",
    ),
    "array twice": ("i32", [A], [], [WORDS, WORDS], "array 'words' is declared twice; names must differ"),
    "huge arrays": (
        "i32", [A], [], [WORDS, MemoryArray(name="x", length=MAX_WORDS)],
        "its arrays have 16777224 words; at most 16777216 are taken",
    ),
    "unknown op class": (
        "i32", [Node(id="a", op="input", op_class="mull")], [], [],
        "node 'a': has op class 'mull'; known: alu, mul, div, fp, mem, mem_data, input, output, const, livein, route, "
        "gemm, vector, buffer, dram",
    ),
    "unknown source": (
        "i32", [A, B], [edge("x")], [], "edge 0 (x -> b): names node 'x', which does not exist",
    ),
    "unknown target": (
        "i32", [A, B], [edge("a", "x")], [], "edge 0 (a -> x): names node 'x', which does not exist",
    ),
    "negative distance": (
        "i32", [A, B], [edge(distance=-1)], [], "edge 0 (a -> b): has distance -1; expected 0 to 4096",
    ),
    "long distance": (
        "i32", [A, B], [edge(distance=MAX_DISTANCE + 1)], [],
        "edge 0 (a -> b): has distance 4097; expected 0 to 4096",
    ),
    "negative operand": (
        "i32", [A, B], [edge(operand=-1)], [], "edge 0 (a -> b): has operand -1; operands count from 0",
    ),
    "too many initial values": (
        "i32", [A, B], [edge(distance=1, initial=(1, 2))], [],
        "edge 0 (a -> b): has 2 initial values for distance 1; one per step of distance is used",
    ),
    "infinite initial value": (
        "i32", [A, B], [edge(distance=1, initial=(float("inf"),))], [],
        "edge 0 (a -> b): has initial value inf, which domain 'i32' cannot hold",
    ),
    "negative delay": (
        "i32", [A, B], [edge(), edge(kind="order", delay=-1)], [],
        "edge 1 (a -> b): has delay -1; expected at least 0",
    ),
    "value of a store": (
        "i32", [A, Node(id="s", op="store", array="words"), B],
        [edge("a", "s"), edge("a", "s", operand=1), edge("s", "b")], [WORDS],
        "edge 2 (s -> b): carries a value of 's', but op 'store' has none",
    ),
    "old constant": (
        "i32", [const(1), B], [edge("c", "b", distance=1)], [],
        "edge 0 (c -> b): has distance 1, but its source is the same in every iteration",
    ),
    "operand missing": (
        "i32", [A, Node(id="b", op="add")], [edge(operand=1)], [],
        "node 'b': op 'add' takes operands 0, 1; found 1",
    ),
    "operand twice": (
        "i32", [A, B], [edge(), edge()], [], "node 'b': op 'neg' takes operands 0; found 0, 0",
    ),
    "operand of an input": (
        "i32", [A, Node(id="b", op="input")], [edge()], [], "node 'b': op 'input' takes operands none; found 0",
    ),
    "no operand": ("i32", [B], [], [], "node 'b': op 'neg' takes operands 0; found none"),
    "gap between operands": (
        "opaque", [A, Node(id="b", op="whatever")], [edge(operand=1)], [],
        "node 'b': operands must be 0, 1, ... once each; found 1",
    ),
    "cycle": (
        "i32", [B, Node(id="d", op="neg")], [edge("b", "d"), edge("d", "b")], [],
        "has a cycle of distance 0: b -> d -> ...; a value cannot depend on itself in one iteration",
    ),
    "cycle of order": (
        "i32", [A, B], [edge(), edge("b", "a", kind="order")], [],
        "has a cycle of distance 0: a -> b -> ...; a value cannot depend on itself in one iteration",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_graph_is_refused_with_the_reason(name: str) -> None:
    domain, nodes, edges, arrays, message = BROKEN[name]
    with pytest.raises(DfgError) as error:
        Dfg(name="g", domain=domain, nodes=tuple(nodes), edges=tuple(edges), arrays=tuple(arrays))
    assert str(error.value) == f"graph 'g': {message}"


def test_unknown_op_lists_the_ops_of_its_domain() -> None:
    with pytest.raises(
        DfgError, match=r"^graph 'g': node 'a': op 'ad' is not in domain 'cma24'; it has: const, livein,"
    ):
        Dfg(name="g", domain="cma24", nodes=(Node(id="a", op="ad"),))


def test_size_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridloom.dfg.checks.MAX_NODES", 1)
    with pytest.raises(DfgError, match=r"^graph 'g': has 2 nodes and 1 edges; at most 1 and 1000000 are taken$"):
        Dfg(name="g", domain="i32", nodes=(A, B), edges=(edge(),))
