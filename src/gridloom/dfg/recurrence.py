"""RecMII: the least II that a graph's recurrences allow.

Each cycle of a graph takes the sum of its latencies and spans the sum of its distances in iterations; an II below the
quotient would start an iteration before the values that it needs are there.
"""

from __future__ import annotations

from collections.abc import Callable

from gridloom.dfg.model import Dfg, Edge


def recurrence_mii(dfg: Dfg, latency: Callable[[str], int] | None = None) -> int:
    """The smallest II for which no cycle has positive slack demand: max over cycles of ceil(latency / distance).

    ``latency`` gives the cycles from a node's issue to its result (default 1, constants and live-ins 0). Binary search
    over II with Bellman-Ford over the loop-carried part: O(V E log(total latency)).
    """
    arcs = [arc for arc, _ in _carried(dfg, latency)]
    if not arcs:
        return 1
    low, high = 1, max(1, sum(max(w, 0) for _, _, w, _ in arcs))
    while low < high:
        middle = (low + high) // 2
        if _has_positive_cycle(len(dfg.nodes), arcs, middle):
            low = middle + 1
        else:
            high = middle
    return low


def binding_recurrence(dfg: Dfg, latency: Callable[[str], int] | None = None) -> tuple[int, ...]:
    """The edges of a cycle that sets RecMII, in order; empty where no recurrence asks for more than II 1.

    The latencies along the cycle, divided by its distances and rounded up, are :func:`recurrence_mii`. Costs that, and
    one more run of Bellman-Ford that keeps predecessors.
    """
    bound = recurrence_mii(dfg, latency)
    if bound == 1:
        return ()
    carried = _carried(dfg, latency)
    longest = [0] * len(dfg.nodes)
    into: list[tuple[int, int]] = [(-1, -1)] * len(dfg.nodes)
    for _ in range(len(dfg.nodes) + 1):
        for (a, b, weight, distance), e in carried:
            value = longest[a] + weight - (bound - 1) * distance
            if value > longest[b]:
                longest[b], into[b] = value, (a, e)
        if cycle := _closed(into):
            return cycle
    raise AssertionError("an II below the bound has a cycle that is too long")


def _closed(into: list[tuple[int, int]]) -> tuple[int, ...]:
    """The edges of a cycle among predecessors, in order; empty where there is none."""
    done: set[int] = set()
    for start in range(len(into)):
        path: dict[int, int] = {}
        at = start
        while at >= 0 and at not in done and at not in path:
            path[at], at = into[at][1], into[at][0]
        if at in path:
            nodes = list(path)
            return tuple(path[node] for node in reversed(nodes[nodes.index(at) :]))
        done |= path.keys()
    return ()


def _carried(dfg: Dfg, latency: Callable[[str], int] | None) -> list[tuple[tuple[int, int, int, int], int]]:
    """The arcs (source, target, cycles, distance) that are on some cycle, each with its edge."""
    cycles = latency or (lambda node: 0 if dfg.op(node).timeless else 1)

    def weight(edge: Edge) -> int:
        return cycles(edge.source) if edge.kind == "data" else edge.delay

    arcs = [
        ((dfg.index[edge.source], dfg.index[edge.target], weight(edge), edge.distance), e)
        for e, edge in enumerate(dfg.edges)
        if edge.kind != "async"
    ]
    members = _on_cycles(len(dfg.nodes), [arc for arc, _ in arcs])
    return [(arc, e) for arc, e in arcs if members[arc[0]] >= 0 and members[arc[0]] == members[arc[1]]]


def _on_cycles(count: int, arcs: list[tuple[int, int, int, int]]) -> list[int]:
    """The strongly connected component of each node that is on a cycle, else -1."""
    import rustworkx

    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from([(a, b, None) for a, b, _, _ in arcs])
    loops = {a for a, b, _, _ in arcs if a == b}
    component = [-1] * count
    for k, members in enumerate(rustworkx.strongly_connected_components(graph)):
        if len(members) > 1 or members[0] in loops:
            for node in members:
                component[node] = k
    return component


def _has_positive_cycle(count: int, arcs: list[tuple[int, int, int, int]], ii: int) -> bool:
    """True when some cycle is longer than ``ii`` times its distance (Bellman-Ford)."""
    longest = [0] * count
    for _ in range(count + 1):
        changed = False
        for a, b, weight, distance in arcs:
            value = longest[a] + weight - ii * distance
            if value > longest[b]:
                longest[b] = value
                changed = True
        if not changed:
            return False
    return True
