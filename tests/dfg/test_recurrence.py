"""RecMII against the cycles themselves."""

from __future__ import annotations

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.dfg import Dfg, DfgBuilder, Edge, Node, recurrence_mii
from gridloom.dfg.recurrence import binding_recurrence


def ring(size: int, distance: int, latency: int = 1) -> int:
    nodes = tuple(Node(id=f"n{k}", op="f") for k in range(size))
    edges = tuple(
        Edge(source=f"n{k}", target=f"n{(k + 1) % size}", distance=distance if k == size - 1 else 0)
        for k in range(size)
    )
    return recurrence_mii(Dfg(name="ring", domain="opaque", nodes=nodes, edges=edges), lambda _: latency)


@pytest.mark.parametrize(
    ("size", "distance", "latency", "expected"),
    [(1, 1, 1, 1), (5, 1, 1, 5), (5, 2, 1, 3), (5, 5, 1, 1), (5, 9, 1, 1), (3, 2, 3, 5), (1, 1, 0, 1)],
)
def test_ring_needs_its_latency_over_its_distance(size: int, distance: int, latency: int, expected: int) -> None:
    assert ring(size, distance, latency) == expected


def test_graph_without_a_cycle_has_rec_mii_1() -> None:
    b = DfgBuilder("line")
    b.output(b.add("neg", b.add("neg", b.input("x"))), "y")
    assert recurrence_mii(b.build()) == 1


def test_order_edges_count_with_their_delay_and_async_ones_not_at_all() -> None:
    nodes = (Node(id="a", op="f"), Node(id="b", op="f"))
    order = Edge(source="b", target="a", kind="order", delay=6, distance=1)
    back = Edge(source="b", target="a", kind="async", distance=1)
    forth = Edge(source="a", target="b")
    for edge, expected in ((order, 7), (back, 1)):
        assert recurrence_mii(Dfg(name="g", domain="opaque", nodes=nodes, edges=(forth, edge))) == expected


@st.composite
def cyclic_graphs(draw: st.DrawFn) -> tuple[Dfg, dict[str, int]]:
    count = draw(st.integers(1, 6))
    nodes = tuple(Node(id=f"n{k}", op="f") for k in range(count))
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=7))
    operands = [0] * count
    edges = []
    for a, b in pairs:
        # Forward edges may have distance 0: there is no cycle without a distance.
        distance = draw(st.integers(0 if a < b else 1, 3))
        order = draw(st.booleans())
        operand = 0 if order else operands[b]
        operands[b] += not order
        delay = draw(st.integers(0, 5))
        edges.append(
            Edge(
                source=f"n{a}", target=f"n{b}", operand=operand, distance=distance, delay=delay,
                kind="order" if order else "data",
            )
        )  # fmt: skip
    latency = {node.id: draw(st.integers(0, 5)) for node in nodes}
    return Dfg(name="g", domain="opaque", nodes=nodes, edges=tuple(edges)), latency


@given(cyclic_graphs())
def test_rec_mii_is_the_worst_ratio_over_all_simple_cycles(case: tuple[Dfg, dict[str, int]]) -> None:
    dfg, latency = case
    # One node an edge, so that parallel edges make cycles of their own: seven edges make thousands of them.
    graph = networkx.DiGraph()
    for a, edge in enumerate(dfg.edges):
        for b, following in enumerate(dfg.edges):
            if edge.target == following.source:
                graph.add_edge(a, b)
    worst = 1
    for cycle in networkx.simple_cycles(graph):
        members = [dfg.edges[k] for k in cycle]
        cycles = sum(e.delay if e.kind == "order" else latency[e.source] for e in members)
        worst = max(worst, -(-cycles // sum(e.distance for e in members)))
    assert recurrence_mii(dfg, latency.__getitem__) == worst


@given(cyclic_graphs())
def test_binding_recurrence_is_a_cycle_that_reaches_the_bound(case: tuple[Dfg, dict[str, int]]) -> None:
    dfg, latency = case
    bound = recurrence_mii(dfg, latency.__getitem__)
    found = [dfg.edges[e] for e in binding_recurrence(dfg, latency.__getitem__)]
    if bound == 1:
        assert found == []
        return
    assert all(edge.target == after.source for edge, after in zip(found, [*found[1:], found[0]]))
    cycles = sum(e.delay if e.kind == "order" else latency[e.source] for e in found)
    assert -(-cycles // sum(e.distance for e in found)) == bound
