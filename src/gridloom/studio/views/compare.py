"""Two mappings side by side: figures, and what is placed or routed differently."""

from __future__ import annotations

from typing import Any, Final

from gridloom.emit.report.data import flat_facts
from gridloom.studio.views.opened import Opened

#: Figures for which less is better; of the others nothing is said.
_LESS: Final = frozenset(
    {"II", "latency in cycles", "wirelength", "longest wire", "deepest buffer", "buffers in all", "tiles used",
     "routing tiles", "slots for moves", "period in cycles", "columns used", "seconds of search", "placed wirelength"}
)  # fmt: skip


def comparison(first: Opened, second: Opened) -> dict[str, Any]:
    """The figures of both with the better one marked, and the nodes and edges that differ.

    Nodes are compared by id, so that two arrays, mappers or seeds can be compared for one graph.
    """
    return {
        "metrics": _figures(first, second),
        "nodes": _nodes(first, second),
        "only": [_missing(first, second), _missing(second, first)],
        "edges": _edges(first, second),
        "same_array": first.mapping.arch.fingerprint == second.mapping.arch.fingerprint,
    }


def _figures(first: Opened, second: Opened) -> list[dict[str, Any]]:
    """Rows of name, both texts, and which is better: 0, 1 or None."""
    ours, theirs = (dict(flat_facts({"ii": one.mapping.ii, **one.metrics})) for one in (first, second))
    rows = []
    for name in dict.fromkeys([*ours, *theirs]):
        a, b = ours.get(name, ""), theirs.get(name, "")
        rows.append({"name": name, "values": [a, b], "differs": a != b, "better": _better(name, a, b)})
    return rows


def _better(name: str, a: str, b: str) -> int | None:
    """Which of two figures is better; None where they are equal or nobody can say."""
    try:
        left, right = float(a), float(b)
    except ValueError:
        return None
    if left == right or name not in _LESS:
        return None
    return 0 if left < right else 1


def _placed(one: Opened) -> dict[str, tuple[str, int]]:
    """Node -> tile and cycle of its first copy, for nodes on tiles."""
    return {
        instance.node: (instance.place, instance.cycle)
        for instance, tile in zip(one.mapping.instances, one.details.instance_tiles)
        if tile >= 0 and not instance.copy
    }


def _nodes(first: Opened, second: Opened) -> list[dict[str, Any]]:
    """The nodes that sit elsewhere or issue in another cycle, with their numbers in both graphs."""
    ours, theirs = _placed(first), _placed(second)
    return [
        {
            "id": node,
            "numbers": [first.mapping.dfg.index[node], second.mapping.dfg.index[node]],
            "places": [list(ours[node]), list(theirs[node])],
        }
        for node in ours
        if node in theirs and ours[node] != theirs[node]
    ]


def _missing(first: Opened, second: Opened) -> list[str]:
    """Nodes of the first that the second does not have."""
    return [node.id for node in first.mapping.dfg.nodes if node.id not in second.mapping.dfg.index][:200]


def _edges(first: Opened, second: Opened) -> list[int]:
    """Edges with another route, where both have the same graph; empty otherwise."""
    if first.mapping.dfg != second.mapping.dfg:
        return []
    ours, theirs = first.mapping.route_of, second.mapping.route_of
    return sorted({e for e, copy in ours if (e, copy) not in theirs or ours[e, copy].hops != theirs[e, copy].hops})
