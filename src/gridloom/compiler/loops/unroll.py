"""Unrolling of a graph: several iterations of the loop in one.

An unrolled graph does the work of several iterations in one, so that an array with idle tiles is used better. Edges
between iterations become edges between copies, and those that cross a whole group keep a shorter distance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gridloom.dfg.model import Dfg, Edge, Node

_FREE: Final = frozenset({"add", "sub", "mul", "and", "or", "xor", "min", "max", "umin", "umax"})


def unroll_graph(dfg: Dfg, factor: int) -> Dfg:
    """The graph whose iteration k does what iterations ``factor * k`` to ``factor * k + factor - 1`` did.

    Copy j of a node is ``id@j``; live-outs are those of the last copy. A counter (a sum of itself and a constant) is
    kept once and its copies add to it, so that unrolling does not lengthen its recurrence. Linear in the result.
    """
    counters = _counters(dfg)
    sums = _sums(dfg)
    nodes: list[Node] = [node for k, node in enumerate(dfg.nodes) if dfg.ops[k].timeless]
    shared = {node.id for node in nodes}
    edges: list[Edge] = []
    for j in range(factor):
        nodes += [
            replace(node, id=f"{node.id}@{j}", liveout=node.liveout if j == factor - 1 else None)
            for node in dfg.nodes
            if node.id not in shared
        ]
    made: dict[int, str] = {}
    for edge in dfg.edges:
        if edge.target in counters or edge.target in sums:
            continue
        for j in range(factor):
            edges.append(_copy(edge, j, factor, shared))
    for name, (step, edge) in counters.items():
        initial = edge.initial[0] if edge.initial else 0
        for j in range(factor):
            # The last copy carries; the others count on from what it left.
            amount = made.setdefault(step * (j + 1), f"count{len(made)}")
            edges.append(
                Edge(source=f"{name}@{factor - 1}", target=f"{name}@{j}", operand=0, distance=1, initial=(initial,))
            )
            edges.append(Edge(source=amount, target=f"{name}@{j}", operand=1))
    for name, edge in sums.items():
        _sum_once(dfg, name, edge, factor, shared, nodes, edges)
    nodes += [Node(id=name, op="const", value=value) for value, name in made.items()]
    ranges = {
        name if name in shared else f"{name}@{j}": known for name, known in dfg.ranges.items() for j in range(factor)
    }
    trips = None if dfg.trip_count is None else max(dfg.trip_count // factor, 1)
    return replace(
        dfg, nodes=tuple(nodes), edges=tuple(edges), name=f"{dfg.name},unroll={factor}", ranges=ranges, trip_count=trips
    )


def _sums(dfg: Dfg) -> dict[str, Edge]:
    """Node -> its carried edge, for every op over itself one iteration ago whose order does not matter.

    Words wrap around, so that sums, products, minima and bitwise ops may be taken in any order; nothing but the node
    itself may read what it was in between.
    """
    found = {}
    counters = _counters(dfg)
    for k, node in enumerate(dfg.nodes):
        if node.op not in _FREE or dfg.domain != "i32":
            continue
        own = [dfg.edges[e] for e in dfg.operand_edges(node.id) if dfg.edges[e].source == node.id]
        read = [dfg.edges[e] for e in dfg.out_edges[k]]
        alone = len(own) == 1 and len(read) == 1 and own[0].distance == 1
        if alone and (node.op != "sub" or own[0].operand == 0) and node.id not in counters:
            found[node.id] = own[0]
    return found


def _sum_once(
    dfg: Dfg, name: str, own: Edge, factor: int, shared: set[str], nodes: list[Node], edges: list[Edge]
) -> None:
    """Let the copies of a sum make a tree of what they add, and the last one add that to the carried sum.

    The recurrence stays one op long, where a chain of copies would make it as long as their number.
    """
    node = dfg.node(name)
    op = "add" if node.op == "sub" else node.op
    (other,) = (dfg.edges[e] for e in dfg.operand_edges(name) if dfg.edges[e].source != name)
    level: list[Edge] = [_copy(other, j, factor, shared) for j in range(factor)]
    free = [f"{name}@{j}" for j in range(factor - 1)]
    for k, record in enumerate(nodes):
        if record.id in free:
            nodes[k] = replace(record, op=op)
    while len(level) > 1:
        pairs, level = [level[k : k + 2] for k in range(0, len(level), 2)], []
        for pair in pairs:
            if len(pair) == 1:
                level += pair
                continue
            target = free.pop(0)
            edges += [replace(edge, target=target, operand=k) for k, edge in enumerate(pair)]
            level.append(Edge(source=target, target=target))
    last = f"{name}@{factor - 1}"
    edges.append(replace(level[0], target=last, operand=other.operand))
    edges.append(replace(own, source=last, target=last))


def _copy(edge: Edge, j: int, factor: int, shared: set[str]) -> Edge:
    """The edge into copy j of its target: which copy of the source it reads, and how many iterations ago."""
    target = f"{edge.target}@{j}"
    if edge.source in shared:
        return replace(edge, target=target)
    distance, source = divmod(j - edge.distance, factor)
    distance = -distance
    # Firing f of copy j was iteration f * factor + j, which read the initial value of that number.
    padded = edge.initial + (0,) * (edge.distance - len(edge.initial))
    initial = tuple(padded[f * factor + j] for f in range(distance)) if edge.kind == "data" else ()
    return replace(edge, source=f"{edge.source}@{source}", target=target, distance=distance, initial=initial)


def _counters(dfg: Dfg) -> dict[str, tuple[int, Edge]]:
    """Node -> (constant step, its carried edge) of every sum of itself one iteration ago and a constant."""
    counters = {}
    for node in dfg.nodes:
        if node.op != "add":
            continue
        first, second = (dfg.edges[k] for k in dfg.operand_edges(node.id))
        other = dfg.node(second.source)
        if first.source == node.id and first.distance == 1 and other.op == "const" and second.distance == 0:
            counters[node.id] = (int(other.value or 0), first)
    return counters
