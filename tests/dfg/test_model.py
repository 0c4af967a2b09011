"""The graph and its builder: look-ups, orders, exports."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.dfg.graphs import dfgs

from gridloom.dfg import Dfg, DfgBuilder, Edge, Node
from gridloom.errors import DfgError

A, B = Node(id="a", op="input"), Node(id="b", op="neg")


def test_unknown_node_is_named() -> None:
    with pytest.raises(DfgError, match=r"^graph 'g' has no node 'x'$"):
        Dfg(name="g", domain="i32", nodes=(A,)).node("x")


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
    dfg = Dfg(name="g", domain="i32", nodes=(A, B), edges=(Edge(source="a", target="b"),))
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
