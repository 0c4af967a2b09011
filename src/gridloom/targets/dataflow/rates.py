"""Rates of tensor graphs: how often each node fires in one iteration, and what an edge carries in it.

A tensor graph is a cyclo-static dataflow graph: a source puts ``tokens`` at the end of every ``puts_every``-th firing,
a target takes ``takes`` at the start of every ``takes_every``-th one. Whole numbers of firings that leave every buffer
as it was are one iteration of the graph.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from gridloom.errors import DfgError
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph


def taken(edge: TokenEdge) -> int:
    """Tokens that the target of an edge takes at once."""
    return edge.takes or edge.tokens


def repetitions(dfg: UnitGraph, edges: list[int] | None = None) -> list[int]:
    """Firings of each node in one iteration: the least whole numbers that balance every edge and end every cycle.

    ``edges`` are the positions of those that carry tokens (default: all that carry a value). DfgError when the rates
    of the edges contradict each other. Linear in nodes and edges.
    """
    carrying = [k for k, edge in enumerate(dfg.edges) if edge.carries_value] if edges is None else edges
    around: list[list[tuple[int, Fraction, int]]] = [[] for _ in dfg.nodes]
    groups = [1] * len(dfg.nodes)
    for k in carrying:
        edge = dfg.edges[k]
        source, target = dfg.index[edge.source], dfg.index[edge.target]
        ratio = Fraction(edge.tokens * edge.takes_every, taken(edge) * edge.puts_every)
        around[source].append((target, ratio, k))
        around[target].append((source, 1 / ratio, k))
        groups[source] = lcm(groups[source], edge.puts_every)
        groups[target] = lcm(groups[target], edge.takes_every)
    counts = [1] * len(dfg.nodes)
    rate: dict[int, Fraction] = {}
    for start in range(len(dfg.nodes)):
        if start in rate:
            continue
        rate[start] = Fraction(1)
        part = [start]
        for node in part:
            for other, ratio, k in around[node]:
                if other not in rate:
                    rate[other] = rate[node] * ratio
                    part.append(other)
                elif rate[other] != rate[node] * ratio:
                    raise DfgError(_contradiction(dfg, k), where=f"graph {dfg.name!r}")
        scale = lcm(*((rate[node] / groups[node]).denominator for node in part))
        for node in part:
            counts[node] = int(rate[node] * scale)
    return counts


def _contradiction(dfg: UnitGraph, k: int) -> str:
    """What is wrong with the rates of an edge, for the error."""
    edge = dfg.edges[k]
    return (
        f"edge {k} ({edge.source} -> {edge.target}) puts {edge.tokens} tokens and takes {taken(edge)}, "
        "which does not agree with the rates of the other edges"
    )


def edge_tokens(dfg: UnitGraph, counts: list[int]) -> list[int]:
    """Tokens that each edge carries in one iteration, given the firings of each node.

    ``counts`` are those of :func:`repetitions`.
    """
    return [counts[dfg.index[edge.source]] * edge.tokens // edge.puts_every for edge in dfg.edges]


def stages(dfg: UnitGraph, counts: list[int]) -> list[int]:
    """Pipeline stage of each node: how many buffers that hold a whole iteration lie before it.

    A buffer of that size lets its two sides work on different iterations at the same time. Memory is in the stage of
    what it feeds, as late as that allows. Linear in nodes and edges.
    """
    carried = edge_tokens(dfg, counts)
    level = [0] * len(dfg.nodes)
    for node in dfg.topological:
        for k in dfg.out_edges[node]:
            edge = dfg.edges[k]
            if edge.distance == 0:
                target = dfg.index[edge.target]
                level[target] = max(level[target], level[node] + is_deep(edge, carried[k]))
    for node in reversed(dfg.topological):
        fed = [
            level[dfg.index[dfg.edges[k].target]] - is_deep(dfg.edges[k], carried[k])
            for k in dfg.out_edges[node]
            if dfg.edges[k].distance == 0
        ]
        if fed and dfg.nodes[node].op == "buffer":
            level[node] = min(fed)
    return level


def is_deep(edge: TokenEdge, carried: int) -> bool:
    """True for an edge whose buffer is meant to hold an iteration: it says its room, and that is enough."""
    return edge.room is not None and edge.room >= carried
