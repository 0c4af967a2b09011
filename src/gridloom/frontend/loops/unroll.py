"""Unrolling of a graph: several iterations of the loop in one.

An unrolled graph does the work of several iterations in one, so that an array with idle tiles is used better. Edges
between iterations become edges between copies, and those that cross a whole group keep a shorter distance.
"""

from __future__ import annotations

from dataclasses import replace

from gridloom.dfg.model import Dfg, Edge, Node


def unrolled(dfg: Dfg, factor: int) -> Dfg:
    """The graph whose iteration k does what iterations ``factor * k`` to ``factor * k + factor - 1`` did.

    Copy j of a node is ``id@j``; live-outs are those of the last copy. A counter (a sum of itself and a constant) is
    kept once and its copies add to it, so that unrolling does not lengthen its recurrence. Linear in the result.
    """
    counters = _counters(dfg)
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
        if edge.target in counters:
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
    nodes += [Node(id=name, op="const", value=value) for value, name in made.items()]
    return replace(dfg, nodes=tuple(nodes), edges=tuple(edges), name=f"{dfg.name},unroll={factor}")


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
