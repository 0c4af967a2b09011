"""What bounds the II of a graph on an array: recurrences, op classes, buses, banks, and ops that no tile has.

Bounds by counting and by recurrences hold for every mapping. Above them only a search can tell. The reasons are those
of :mod:`gridloom.mapping.mii`, each with the nodes, edges and tiles that it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.dfg.recurrence import binding_recurrence, recurrence_mii
from gridloom.mapping.mii import least_latencies, resource_bounds

#: A chain longer than this is shown by its beginning.
_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One bound on the II, and what it is about."""

    kind: Literal["recurrence", "resource", "missing", "bottleneck"]
    #: The least II that it allows; 0 where no II will do, a period on arrays without an II.
    ii: float
    text: str
    #: Op classes that count; empty for a recurrence.
    classes: tuple[str, ...] = ()
    #: Positions of nodes, edges and tiles.
    nodes: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()
    tiles: tuple[int, ...] = ()
    #: The lines of the source that the nodes were made of, where they are known.
    lines: tuple[int, ...] = ()
    #: What kind of change lowers it, in words.
    help: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The reason as plain JSON data."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def find_reasons(dfg: Dfg, arch: Arch, lines: Mapping[str, int] | None = None) -> list[Reason]:
    """Every bound on the II of a graph on an array, ops without a tile first, then the largest first.

    ``lines`` says of which line of the source a node was made; a recurrence then names its lines. Costs the MII.
    """
    bounds, missing = resource_bounds(dfg, arch)
    reasons = [
        Reason(
            kind="missing",
            ii=0,
            text=f"no tile runs {name}",
            classes=(name,),
            nodes=_nodes(dfg, {name}),
            help="an array that has them",
        )
        for name in missing
    ]
    counted = [
        Reason(
            kind="resource",
            ii=bound.ii,
            text=bound.reason,
            classes=bound.classes,
            nodes=_nodes(dfg, set(bound.classes)),
            tiles=tuple(t for t, tile in enumerate(arch.tiles) if tile.classes & set(bound.classes)),
            help=f"more tiles that run {' or '.join(bound.classes)}, or fewer such operations",
        )
        for bound in bounds
    ]
    recurrences = [_located(reason, dfg, lines or {}) for reason in _recurrences(dfg, arch)]
    return reasons + sorted(recurrences + counted, key=lambda reason: -reason.ii)


def _located(reason: Reason, dfg: Dfg, lines: Mapping[str, int]) -> Reason:
    """A recurrence with the lines of its nodes, where they are known."""
    found = sorted({line for k in reason.nodes if (line := lines.get(dfg.nodes[k].id)) is not None})
    if not found:
        return reason
    *before, last = map(str, found)
    words = f"lines {', '.join(before)} and {last}" if before else f"line {last}"
    return replace(reason, lines=tuple(found), text=f"{reason.text} ({words})")


def _nodes(dfg: Dfg, classes: set[str]) -> tuple[int, ...]:
    return tuple(k for k, node in enumerate(dfg.nodes) if dfg.op_class(node.id) in classes)


def _recurrences(dfg: Dfg, arch: Arch) -> list[Reason]:
    """The bound of the binding recurrence, with its edges; none where no recurrence asks for more than II 1."""
    latency = least_latencies(dfg, arch)
    edges = binding_recurrence(dfg, latency)
    if not edges:
        return []
    rows = [dfg.edges[e] for e in edges]
    cycles = sum(latency(edge.source) if edge.kind == "data" else edge.delay for edge in rows)
    distance = sum(edge.distance for edge in rows)
    chain = " → ".join([*(edge.source for edge in rows[:_SHOWN]), "…" if len(rows) > _SHOWN else rows[0].source])
    later = f"{distance} iteration{'s' if distance > 1 else ''}"
    return [
        Reason(
            kind="recurrence",
            ii=recurrence_mii(dfg, latency),
            text=f"the recurrence {chain} takes {cycles} cycles and comes back after {later}",
            nodes=tuple(dfg.index[edge.source] for edge in rows),
            edges=tuple(edges),
            help="shorten the chain between two iterations: fewer or faster operations on it, or an unrolled reduction",
        )
    ]
