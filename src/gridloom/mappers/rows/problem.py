"""A graph and the first columns of an array of combinational rows as flat arrays, numbered in topological order.

Time needs no search on these arrays. A value that goes up crosses every switched-on row boundary between its rows
exactly once, whichever way it takes, so each resource has one cycle in which it carries something: its *stage*. Arcs
that do not fit the stages (an output that turns south before the last stage) are left out, and what remains is legal in
time by construction.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import rustworkx
from numpy.typing import NDArray

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.mappers.rows.kernel import Rows

Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]

#: Groups of nodes, as in the kernel: what they sit on.
OP, LOAD, STORE, CONST = 0, 1, 2, 3
_GROUP = {"load": LOAD, "store": STORE, "const": CONST}

#: What a signal pays for a resource. An operand input costs nothing, since every edge needs its own.
_BASE = {Kind.SWITCH: 1.0, Kind.LINK: 1.0, Kind.FU: 1.5, Kind.CONST: 0.5}


@dataclass(frozen=True, kw_only=True, eq=False)
class RowArray:
    """The first ``width`` columns of an array, ready to be searched."""

    arch: Arch
    width: int
    settings: MappingABC[str, Any]
    #: Search number -> resource of the array.
    resource: Ints
    #: The cycle in which each resource of the array carries its value.
    stage: Ints
    succ_at: Ints
    succ: Ints
    #: The tile whose function unit a search number is, -1: another kind of resource.
    owner: Ints
    base: Floats
    #: reach[number, tile]: a value there can get to an operand of the tile.
    reach: Bytes
    tile_in: Ints
    tile_out: Ints
    tile_fu: Ints
    #: Constant registers, ascending.
    roots: Ints
    row: Ints
    col: Ints
    #: [row, column] -> tile; [load or store, column] -> port.
    at: Ints
    ports: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class RowGraph:
    """The nodes that need a place and the edges that need a way."""

    dfg: Dfg
    #: Number -> position in ``dfg.nodes``, and the group of each.
    nodes: Ints
    group: Ints
    #: Index in ``dfg.edges``, ends (numbers) and operand of each edge.
    edges: Ints
    source: Ints
    target: Ints
    operand: Ints

    @cached_property
    def touch(self) -> tuple[Ints, Ints]:
        """CSR: the edges that move with a node."""
        rows: list[list[int]] = [[] for _ in self.nodes]
        for e, (a, b) in enumerate(zip(self.source.tolist(), self.target.tolist())):
            rows[a].append(e)
            rows[b].append(e)
        starts = np.zeros(len(rows) + 1, dtype=np.int32)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return starts, np.array([e for row in rows for e in row], dtype=np.int32)

    def count(self, group: int) -> int:
        """How many nodes a group has."""
        return int((self.group == group).sum())


def check_rows(arch: Arch) -> None:
    """OptionError unless the array is one of combinational rows with load and store ports."""
    kinds = {tile.kind for tile in arch.tiles}
    timed = bool((arch.arc_latency != 0).any()) or any(tile.latency_of("alu") != 0 for tile in arch.tiles)
    if arch.style != "static" or not {"pe", "load", "store"} <= kinds <= {"pe", "load", "store", "const"} or timed:
        raise OptionError(
            f"array {arch.name!r} is not one of combinational rows with ports; this mapper takes the family vpcma "
            "and GenMap descriptions of that kind"
        )
    if arch.pools:
        raise OptionError(f"array {arch.name!r} has ports that load or store, not both, which this mapper cannot share")


def flatten(dfg: Dfg, arch: Arch) -> RowGraph:
    """The nodes and edges of a graph that need room on the array. Linear in both."""
    placed = [k for k, node in enumerate(dfg.nodes) if dfg.op_class(node.id) not in arch.free]
    number = {dfg.nodes[k].id: n for n, k in enumerate(placed)}
    routed = [
        e for e, edge in enumerate(dfg.edges) if edge.kind == "data" and edge.source in number and edge.target in number
    ]
    return RowGraph(
        dfg=dfg,
        nodes=np.array(placed, dtype=np.int32),
        group=np.array([_group(dfg, k) for k in placed], dtype=np.int32),
        edges=np.array(routed, dtype=np.int32),
        source=np.array([number[dfg.edges[e].source] for e in routed], dtype=np.int32),
        target=np.array([number[dfg.edges[e].target] for e in routed], dtype=np.int32),
        operand=np.array([dfg.edges[e].operand for e in routed], dtype=np.int32),
    )


def _group(dfg: Dfg, k: int) -> int:
    op = dfg.ops[k]
    if op.timeless:
        return CONST
    return {"input": LOAD, "output": STORE}.get(op.op_class, OP)


def restrict(arch: Arch, width: int, bits: Sequence[int]) -> RowArray:
    """The first ``width`` columns under the given pipeline bits. O(arcs + resources * tiles)."""
    settings = {arch.settings[0].name: [int(bit) for bit in bits]} if arch.settings else {}
    inside = _inside(arch, width)
    stage, arcs = timed_arcs(arch, inside, settings)
    order = _topological(arch, inside, arcs)
    number = np.full(len(arch.kind), -1, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    ends = number[np.array(sorted(arcs), dtype=np.int32).reshape(-1, 2)]
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    succ_at = np.zeros(len(order) + 1, dtype=np.int32)
    np.cumsum(np.bincount(ends[:, 0], minlength=len(order)), out=succ_at[1:])
    kind, tile = arch.kind[order], arch.tile[order]
    at, ports = _places(arch, width)
    return RowArray(
        arch=arch,
        width=width,
        settings=settings,
        resource=order,
        stage=stage,
        succ_at=succ_at,
        succ=np.ascontiguousarray(ends[:, 1]),
        owner=np.where(kind == Kind.FU, tile, -1).astype(np.int32),
        base=np.array([_BASE.get(Kind(k), 0.0) for k in kind.tolist()]),
        reach=_reach(arch, order, succ_at, ends[:, 1]),
        tile_in=np.where(arch.operand_inputs >= 0, number[arch.operand_inputs], -1).astype(np.int32),
        tile_out=np.where(arch.out >= 0, number[arch.out], -1).astype(np.int32),
        tile_fu=np.where(arch.fu >= 0, number[arch.fu], -1).astype(np.int32),
        roots=np.flatnonzero(kind == Kind.CONST).astype(np.int32),
        row=np.array([t.row for t in arch.tiles], dtype=np.int32),
        col=np.array([t.col for t in arch.tiles], dtype=np.int32),
        at=at,
        ports=ports,
    )


def _inside(arch: Arch, width: int) -> NDArray[np.bool_]:
    """Resources of the first columns and of constant registers."""
    kept = np.array([tile.kind == "const" or tile.col < width for tile in arch.tiles])
    return np.asarray(kept[arch.tile])


def timed_arcs(
    arch: Arch, inside: NDArray[np.bool_], settings: MappingABC[str, Any]
) -> tuple[Ints, set[tuple[int, int]]]:
    """The stage of each resource, and the arcs that agree with the stages."""
    graph = arch.unroll(1, settings)
    source = np.repeat(np.arange(graph.nodes, dtype=np.int32), np.diff(graph.indptr))
    bits: list[int] = next(iter(settings.values()), [])
    rows = np.array([tile.row for tile in arch.tiles])[arch.tile]
    below = crossed_rows(arch)
    stage = np.zeros(len(rows), dtype=np.int32)
    for k, bit in enumerate(bits):
        stage += bit * (rows >= below[k])
    stage[np.array([tile.kind == "load" for tile in arch.tiles])[arch.tile]] = 0
    stage[~feeds_operands(arch)] = sum(bits)
    timeless = arch.kind == Kind.CONST
    fits = inside[source] & inside[graph.target]
    fits &= timeless[source] | (stage[source] + graph.latency == stage[graph.target])
    return stage, set(zip(source[fits].tolist(), graph.target[fits].tolist()))


def crossed_rows(arch: Arch) -> list[int]:
    """For each pipeline bit the row above its boundary."""
    bits = arch.settings[0].length if arch.settings else 0
    rows = np.array([tile.row for tile in arch.tiles])[arch.tile]
    return [int(rows[arch.arc_target[arch.arc_gate == k]].min(initial=arch.rows)) for k in range(bits)]


def feeds_operands(arch: Arch) -> NDArray[np.bool_]:
    """Resources from which a value can still get to a PE's operand; the others only lead to store ports."""
    computes = np.array([tile.kind == "pe" for tile in arch.tiles])
    feeds: NDArray[np.bool_] = ((arch.kind == Kind.IN) | (arch.kind == Kind.FU) | (arch.kind == Kind.OUT)) & computes[
        arch.tile
    ]
    feeds |= np.array([tile.kind in ("load", "const") for tile in arch.tiles])[arch.tile]
    while True:
        more = feeds.copy()
        np.logical_or.at(more, arch.arc_source, feeds[arch.arc_target])
        if (more == feeds).all():
            return feeds
        feeds = more


def _topological(arch: Arch, inside: NDArray[np.bool_], arcs: set[tuple[int, int]]) -> Ints:
    """An order of the resources in which every arc goes forward.

    Where the array has combinational cycles, arcs that close one are taken out of ``arcs``: no mapping may use a whole
    cycle, and without them none can.
    """
    inputs = np.flatnonzero((arch.kind == Kind.IN) & inside)
    through = {(int(r), int(arch.fu[arch.tile[r]])) for r in inputs}
    while True:
        graph: rustworkx.PyDiGraph[int, None] = rustworkx.PyDiGraph(multigraph=False)
        graph.add_nodes_from(range(len(arch.kind)))
        graph.add_edges_from_no_data(sorted(arcs | through))
        knots = [knot for knot in rustworkx.strongly_connected_components(graph) if len(knot) > 1]
        if not knots:
            order = rustworkx.lexicographical_topological_sort(graph, key=lambda r: _sort_key(arch, r))
            return np.array([r for r in order if inside[r]], dtype=np.int32)
        for knot in knots:
            arcs -= _closing(arch, set(knot), arcs)


def _sort_key(arch: Arch, r: int) -> str:
    """Constants first, then row by row: what a signal may use is then near it in number."""
    if arch.kind[r] == Kind.CONST:
        return f"0{r:08d}"
    return f"1{max(0, arch.tiles[arch.tile[r]].row):04d}{r:08d}"


def _closing(arch: Arch, knot: set[int], arcs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Arcs to leave out of a knot: those from an ALU to the west, or else those to the lowest column."""
    inner = [(a, b) for a, b in arcs if a in knot and b in knot and arch.kind[b] != Kind.OUT]
    col = [tile.col for tile in arch.tiles]
    west = {(a, b) for a, b in inner if col[arch.tile[a]] > col[arch.tile[b]] and arch.kind[b] != Kind.SWITCH}
    own = {(a, b) for a, b in inner if arch.kind[a] == Kind.OUT and arch.position[b] == 3}
    return own or west or {max(inner)}


def _reach(arch: Arch, order: Ints, succ_at: Ints, succ: Ints) -> Bytes:
    """reach[number, tile], by one pass against the order."""
    reach = np.zeros((len(order), len(arch.tiles)), dtype=np.uint8)
    for k in range(len(order) - 1, -1, -1):
        if arch.kind[order[k]] == Kind.IN:
            reach[k, arch.tile[order[k]]] = 1
        for v in succ[succ_at[k] : succ_at[k + 1]]:
            reach[k] |= reach[v]
    return reach


def _places(arch: Arch, width: int) -> tuple[Ints, Ints]:
    """Tiles by row and column, ports by kind and column; -1: none."""
    at = np.full((arch.rows, width), -1, dtype=np.int32)
    ports = np.full((2, width), -1, dtype=np.int32)
    for k, tile in enumerate(arch.tiles):
        if tile.kind == "pe" and tile.col < width:
            at[tile.row, tile.col] = k
        elif tile.kind in ("load", "store") and tile.col < width:
            ports[_GROUP[tile.kind] - 1, tile.col] = k
    return at, ports


def kernel_rows(array: RowArray) -> Rows:
    """The array as the kernels take it."""
    from gridloom.mappers.rows.kernel import Rows

    return Rows(
        array.succ_at,
        array.succ,
        array.owner,
        array.base,
        array.reach,
        array.tile_in,
        array.tile_out,
        array.tile_fu,
        array.roots,
        array.row,
        array.col,
        array.at,
        array.ports,
    )
