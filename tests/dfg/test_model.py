"""The rules of a graph with their exact texts, the builder, orders, exports."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.dfg.graphs import dfgs

from gridloom.dfg import DOMAINS, OP_CLASSES, Array, Dfg, DfgBuilder, Edge, Node, lookup
from gridloom.dfg.checks import MAX_DISTANCE, MAX_WORDS
from gridloom.errors import DfgError

A, B = Node(id="a", op="input"), Node(id="b", op="neg")
WORDS = Array(name="words", length=8)


def edge(source: str = "a", target: str = "b", **fields: Any) -> Edge:
    return Edge(source=source, target=target, **fields)


def const(value: float | int | None) -> Node:
    return Node(id="c", op="const", value=value)


# name: (domain, nodes, edges, arrays, message after "graph 'g': ")
BROKEN: dict[str, tuple[str, list[Node], list[Edge], list[Array], str]] = {
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
        "i32", [A], [], [Array(name="x", length=0)], "array 'x' has length 0; expected at least 1",
    ),
    "array twice": ("i32", [A], [], [WORDS, WORDS], "array 'words' is declared twice; names must differ"),
    "huge arrays": (
        "i32", [A], [], [WORDS, Array(name="x", length=MAX_WORDS)],
        "its arrays have 16777224 words; at most 16777216 are taken",
    ),
    "unknown op class": (
        "i32", [Node(id="a", op="input", op_class="mull")], [], [],
        "node 'a': has op class 'mull'; known: alu, mul, div, fp, mem, mem_data, input, output, const, livein, route, "
        "gemm, vector, buffer, dram",
    ),
    "no work": (
        "tensor", [Node(id="a", op="input", work=0)], [], [], "node 'a': has work 0; expected at least 1 cycle",
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
    "no tokens": (
        "i32", [A, B], [edge(tokens=0)], [], "edge 0 (a -> b): has tokens 0, takes None; expected at least 1",
    ),
    "takes none": (
        "i32", [A, B], [edge(takes=0)], [], "edge 0 (a -> b): has tokens 1, takes 0; expected at least 1",
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


def test_unknown_node_is_named() -> None:
    with pytest.raises(DfgError, match=r"^graph 'g' has no node 'x'$"):
        Dfg(name="g", domain="i32", nodes=(A,)).node("x")


# -- the op table ------------------------------------------------------------------------------------------------------


def test_every_op_has_a_known_class() -> None:
    from gridloom.dfg.ops import OP_TABLE

    assert set(OP_TABLE) == set(DOMAINS)
    assert {op.op_class for table in OP_TABLE.values() for op in table.values()} <= set(OP_CLASSES)


def test_codes_tell_the_ops_of_a_domain_apart() -> None:
    from gridloom.dfg.ops import OP_TABLE

    for domain in ("i32", "cma24", "tensor"):
        assert len({op.code for op in OP_TABLE[domain].values()}) == len(OP_TABLE[domain])


def test_any_name_is_an_op_of_any_arity_in_domain_opaque() -> None:
    op = lookup("opaque", "butterfly")
    assert (op.arity, op.op_class, op.result) == (-1, "alu", True)
    assert lookup("opaque", "mul").op_class == "mul"


# -- the builder -------------------------------------------------------------------------------------------------------


def test_builder_shares_equal_constants_and_makes_ids() -> None:
    b = DfgBuilder("g", notes="by hand")
    x = b.input("x")
    total = b.add("add", x, b.const(3))
    b.output(b.add("mul", total, b.const(3)), "y")
    dfg = b.build()
    assert [(n.id, n.op) for n in dfg.nodes] == [
        ("x", "input"), ("c1", "const"), ("add2", "add"), ("mul3", "mul"), ("y", "output"),
    ]  # fmt: skip
    assert [(e.source, e.target, e.operand) for e in dfg.edges] == [
        ("x", "add2", 0), ("c1", "add2", 1), ("add2", "mul3", 0), ("c1", "mul3", 1), ("mul3", "y", 0),
    ]  # fmt: skip
    assert dfg.notes == "by hand"


def test_builder_gives_a_constant_of_its_own_where_asked() -> None:
    b = DfgBuilder("g")
    assert b.const(3) == b.const(3) != b.const(3, id="three")


def test_builder_does_not_reuse_an_id() -> None:
    b = DfgBuilder("g")
    b.add("input", id="neg1")
    assert b.add("neg", "neg1") == "neg2"
    assert b.output("neg2", "neg1") == "out_2"
    assert [n.variable for n in b.build().nodes if n.op == "output"] == ["neg1"]


def test_builder_makes_loads_stores_orders_and_live_ins() -> None:
    b = DfgBuilder("g")
    b.array("words", 8)
    value = b.load("words", b.livein("k"), id="l")
    b.store("words", "k", value, id="s")
    b.order("s", "l", delay=2, distance=1)
    dfg = b.build()
    assert dfg.array_length == {"words": 8}
    assert [e for e in dfg.edges if e.kind == "order"] == [
        Edge(source="s", target="l", kind="order", delay=2, distance=1)
    ]
    assert not dfg.has_result("s")
    assert dfg.op("k").timeless


# -- derived -----------------------------------------------------------------------------------------------------------


def test_topological_order_breaks_ties_by_position() -> None:
    nodes = tuple(Node(id=name, op="f") for name in "dbca")
    edges = (Edge(source="a", target="d"), Edge(source="b", target="c"), Edge(source="d", target="b", distance=1))
    dfg = Dfg(name="g", domain="opaque", nodes=nodes, edges=edges)
    assert [dfg.nodes[k].id for k in dfg.topological] == ["b", "c", "a", "d"]
    assert not dfg.is_acyclic


@given(dfgs())
def test_topological_order_holds_every_node_once_after_its_sources(dfg: Dfg) -> None:
    place = {dfg.nodes[k].id: n for n, k in enumerate(dfg.topological)}
    assert len(place) == len(dfg.topological) == len(dfg.nodes)
    assert all(place[e.source] < place[e.target] for e in dfg.edges if e.distance == 0)


@given(dfgs())
def test_edges_are_listed_at_both_ends_with_operands_in_order(dfg: Dfg) -> None:
    for k, node in enumerate(dfg.nodes):
        assert sorted(dfg.in_edges[k]) == [e for e, record in enumerate(dfg.edges) if record.target == node.id]
        assert sorted(dfg.out_edges[k]) == [e for e, record in enumerate(dfg.edges) if record.source == node.id]
        operands = [dfg.edges[e].operand for e in dfg.operand_edges(node.id)]
        assert operands == list(range(len(operands)))


def test_missing_initial_values_are_zero_but_differ_in_domain_opaque() -> None:
    nodes = (Node(id="a", op="f"),)
    edges = (
        Edge(source="a", target="a", distance=3, initial=(7,)),
        Edge(source="a", target="a", operand=1, distance=2),
    )
    opaque = Dfg(name="g", domain="opaque", nodes=nodes, edges=edges)
    found = [*opaque.initial_values(0), *opaque.initial_values(1)]
    assert found[0] == 7
    assert len(set(found)) == 5
    plain = Dfg(
        name="g", domain="i32", nodes=(Node(id="a", op="neg"),), edges=(edges[0],),
    )  # fmt: skip
    assert plain.initial_values(0) == (7, 0, 0)


def test_stream_through_a_multiplier_needs_both_classes() -> None:
    dfg = Dfg(name="g", domain="i32", nodes=(Node(id="a", op="input", op_class="mul"),))
    assert dfg.op_class("a") == "mul"
    assert dfg.required_classes("a") == {"input", "mul"}


def test_renamed_graph_is_the_same_but_for_its_name() -> None:
    dfg = Dfg(name="g", domain="i32", nodes=(A, B), edges=(edge(),))
    other = dfg.renamed("h")
    assert (other.name, other.nodes, other.edges) == ("h", dfg.nodes, dfg.edges)


@given(dfgs())
def test_networkx_graph_holds_every_field(dfg: Dfg) -> None:
    graph = dfg.to_networkx()
    assert graph.graph == {"name": dfg.name, "domain": dfg.domain}
    nodes = tuple(Node(id=id, **fields) for id, fields in graph.nodes(data=True))
    triples = sorted(graph.edges(keys=True, data=True), key=lambda row: row[2])
    edges = tuple(Edge(source=a, target=b, **fields) for a, b, _, fields in triples)
    assert (nodes, edges) == (dfg.nodes, dfg.edges)
