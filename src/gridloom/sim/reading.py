"""What simulators look up in a graph and an array, read from their fields alone.

Methods and properties of ``Dfg`` and ``Arch`` serve mappers, too, and would share their mistakes with the simulator:
it has its own. Only the op table is taken as it is. Every function is linear in what it reads.
"""

from __future__ import annotations

import heapq

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg, Edge, Initial
from gridloom.dfg.ops import Op, lookup

#: What a missing initial value of domain ``opaque`` is: -(1 + edge * this + firing).
_OPAQUE_STEP = 4096


def positions(dfg: Dfg) -> dict[str, int]:
    """Return the position of each node by its id."""
    return {node.id: k for k, node in enumerate(dfg.nodes)}


def op_rows(dfg: Dfg) -> list[Op]:
    """Return the row of the op table of each node."""
    return [lookup(dfg.domain, node.op) for node in dfg.nodes]


def is_timeless(op: Op) -> bool:
    """Return whether an op yields the same value in every cycle."""
    return op.op_class in ("const", "livein")


def op_classes(dfg: Dfg) -> list[str]:
    """Return the op class of each node: its own, or that of its op."""
    return [node.op_class or lookup(dfg.domain, node.op).op_class for node in dfg.nodes]


def carries_value(edge: Edge) -> bool:
    """Return False for an edge that only orders its ends."""
    return edge.kind != "order"


def edges_into(dfg: Dfg) -> list[list[int]]:
    """Return for each node its incoming edges: those that carry a value by operand, then the others."""
    at = positions(dfg)
    rows: list[list[int]] = [[] for _ in dfg.nodes]
    for k, edge in enumerate(dfg.edges):
        rows[at[edge.target]].append(k)
    return [sorted(row, key=lambda k: (dfg.edges[k].kind == "order", dfg.edges[k].operand)) for row in rows]


def operand_edges(dfg: Dfg) -> list[list[int]]:
    """Return for each node the incoming edges that carry a value, by operand."""
    return [[k for k in row if carries_value(dfg.edges[k])] for row in edges_into(dfg)]


def edges_from(dfg: Dfg) -> list[list[int]]:
    """Return for each node its outgoing edges."""
    at = positions(dfg)
    rows: list[list[int]] = [[] for _ in dfg.nodes]
    for k, edge in enumerate(dfg.edges):
        rows[at[edge.source]].append(k)
    return rows


def first_values(dfg: Dfg, e: int) -> list[Initial]:
    """Return what the first firings of an edge's target read: given values, then 0 or, if opaque, distinct numbers."""
    edge = dfg.edges[e]
    opaque = dfg.domain == "opaque"
    missing = [-(1 + e * _OPAQUE_STEP + k) if opaque else 0 for k in range(len(edge.initial), edge.distance)]
    return [*edge.initial, *missing]


def program_order(dfg: Dfg) -> list[int]:
    """Return the nodes in an order in which edges of distance 0 go forward; ties by position."""
    at, leaving = positions(dfg), edges_from(dfg)
    waits = [0] * len(dfg.nodes)
    for edge in dfg.edges:
        waits[at[edge.target]] += edge.distance == 0
    ready = [k for k, count in enumerate(waits) if count == 0]
    order: list[int] = []
    while ready:
        order.append(k := heapq.heappop(ready))
        for target in (at[dfg.edges[e].target] for e in leaving[k] if dfg.edges[e].distance == 0):
            waits[target] -= 1
            if waits[target] == 0:
                heapq.heappush(ready, target)
    return order


def simd_lanes(arch: Arch) -> int:
    """Return how many words the data path of every tile holds."""
    return 1 if arch.simd is None else max(1, arch.simd // arch.word)


def has_cycles(arch: Arch) -> bool:
    """Return whether ops and hops have cycles."""
    return arch.style in ("static", "modulo")


def busy_cycles(arch: Arch, tile: int, op_class: str) -> int:
    """Return the cycles for which an op of a class keeps the unit of a tile."""
    table = arch.tiles[tile].occupancy
    return table[op_class] if op_class in table else table.get("*", 1)


def link_ends(arch: Arch) -> dict[int, tuple[int, int]]:
    """Return for each link that leads somewhere the tiles at its ends.

    A link belongs to the tile that it leaves, and what an arc leads it to belongs to the tile at its end.
    """
    leaving = (arch.kind[arch.arc_source] == Kind.LINK) & (arch.tile[arch.arc_target] >= 0)
    arcs = np.flatnonzero(leaving & (arch.arc_source != arch.arc_target))
    links, ends = arch.arc_source[arcs], arch.arc_target[arcs]
    return dict(zip(links.tolist(), zip(arch.tile[links].tolist(), arch.tile[ends].tolist())))
