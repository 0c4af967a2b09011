"""A graph and the first columns of an array of combinational rows as flat arrays, numbered in topological order.

Time needs no search on these arrays. A value that goes up crosses every switched-on row boundary between its rows
exactly once, whichever route it takes, so each resource has one cycle in which it carries something: its *stage*. Arcs
that do not fit the stages (an output that turns south before the last stage) are left out, and what remains is legal in
time by construction.

Two numberings are in use. A *resource* is an index into the arrays of :class:`~gridloom.archs.model.Arch`; a *number*
is a position in the topological order of those resources that lie in the first columns. The kernels see numbers only,
and every arc goes from a lower number to a higher one, so a single ascending sweep relaxes all arcs.
``RowArray.resource`` translates a number back. Tiles keep the indices of the whole array, whatever the width.

The graph side is numbered as well: nodes that need room on the array, in the order of ``dfg.nodes``, and data edges
between two such nodes, in the order of ``dfg.edges``.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import rustworkx

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.search.arrays import Bools, Float64s, Int32s, Uint8s, csr_of_pairs

#: Groups of nodes, by what they sit on: a PE, a load port, a store port, or constant registers.
OP, LOAD, STORE, CONST = 0, 1, 2, 3
_GROUP = {"load": LOAD, "store": STORE, "const": CONST}

#: What a signal pays for a resource. An operand input costs nothing, since every edge needs its own.
_BASE = {Kind.SWITCH: 1.0, Kind.LINK: 1.0, Kind.FU: 1.5, Kind.CONST: 0.5}


class RowTables(NamedTuple):
    """The first columns of an array as the kernels read them: arcs, prices and places as flat arrays.

    A NamedTuple of arrays, since numba passes one to compiled code without a copy. Everything that is indexed by a
    resource uses search numbers; tiles are those of the whole array, including those outside the columns.
    """

    #: CSR: the successors of each number, ascending.
    succ_at: Int32s
    succ: Int32s
    #: The tile whose function unit a number is; -1: the number is another kind of resource.
    owner: Int32s
    #: What a signal pays for the resource where it is the only one there.
    base: Float64s
    #: reach[number, tile] is 1 when a value there can get to an operand of the tile.
    reach: Uint8s
    #: tile_in[tile, operand], tile_out[tile] and tile_fu[tile] are numbers; -1: the tile has none in these columns.
    tile_in: Int32s
    tile_out: Int32s
    tile_fu: Int32s
    #: Numbers of the constant registers, ascending.
    roots: Int32s
    #: Row and column of each tile.
    row: Int32s
    col: Int32s
    #: at[row, column] is the PE there, ports[0 for loads and 1 for stores, column] the port; -1: there is none.
    at: Int32s
    ports: Int32s


@dataclass(frozen=True, kw_only=True, eq=False)
class RowArray:
    """The first ``width`` columns of an array under given pipeline bits, ready to be searched.

    ``restrict`` makes it. It does not depend on a graph, so that all starts on the same columns share one instance;
    nothing in it is ever written to.
    """

    arch: Arch
    width: int
    settings: MappingABC[str, Any]
    #: Number in the search -> resource of the array.
    resource: Int32s
    #: The cycle in which each resource of the array (not: number) carries its value.
    stage: Int32s
    #: What the kernels read.
    rows: RowTables


@dataclass(frozen=True, kw_only=True, eq=False)
class RowGraph:
    """The nodes of a graph that need a place and the edges that need a route, as made by ``flatten``.

    Nodes whose class is free on the array are left out, and so are edges at such nodes and edges that carry no data. A
    graph with loop-carried or order edges can be flattened, but ``screening.counted`` refuses it.
    """

    dfg: Dfg
    #: For each number the position in ``dfg.nodes``, and the group.
    nodes: Int32s
    group: Int32s
    #: For each edge its index in ``dfg.edges``, the numbers of its ends, and the operand of the target that it feeds.
    edges: Int32s
    source: Int32s
    target: Int32s
    operand: Int32s

    @cached_property
    def touch(self) -> tuple[Int32s, Int32s]:
        """CSR (starts, edges): the edges that have to be routed again when a node moves.

        Each edge occurs twice, once for each of its ends.
        """
        ends = enumerate(zip(self.source.tolist(), self.target.tolist(), strict=True))
        return csr_of_pairs(len(self.nodes), ((node, e) for e, edge in ends for node in edge))

    def count(self, group: int) -> int:
        """The number of nodes in a group (``OP``, ``LOAD``, ``STORE`` or ``CONST``)."""
        return int((self.group == group).sum())


def check_rows(arch: Arch) -> None:
    """Raise OptionError unless the array is one of combinational rows with load and store ports.

    Such an array is statically configured, has PEs, load ports and store ports (and perhaps constant registers), no
    latency on any arc or ALU, and no pool of ports that would have to be shared between loads and stores.
    """
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
    """The group of a node by the kind of tile that it sits on; every timeless op counts as a constant."""
    op = dfg.ops[k]
    if op.timeless:
        return CONST
    return {"input": LOAD, "output": STORE}.get(op.op_class, OP)


def restrict(arch: Arch, width: int, bits: Sequence[int]) -> RowArray:
    """The first ``width`` columns under the given pipeline bits, one bit for each row boundary from the bottom up.

    Without settings on the array the bits are ignored. Costs O(arcs + resources * tiles), most of it for ``reach``, so
    callers keep the result (``search`` holds the last 256).
    """
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
        rows=RowTables(
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
        ),
    )


def _inside(arch: Arch, width: int) -> Bools:
    """Resources of the first columns and of constant registers."""
    kept = np.array([tile.kind == "const" or tile.col < width for tile in arch.tiles])
    return np.asarray(kept[arch.tile])


def timed_arcs(arch: Arch, inside: Bools, settings: MappingABC[str, Any]) -> tuple[Int32s, set[tuple[int, int]]]:
    """The stage of each resource, and the arcs between resources ``inside`` that agree with the stages.

    The stage is the number of switched-on boundaries below the row of the resource. Load ports are always at stage 0,
    and resources that only lead to store ports at the last stage, since an output leaves the array once, after all
    boundaries. An arc agrees when its latency is the difference of the stages of its ends; arcs from constants always
    agree.
    """
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
    """For each pipeline bit the row above its boundary; ``arch.rows`` for a bit that gates no arc."""
    bits = arch.settings[0].length if arch.settings else 0
    rows = np.array([tile.row for tile in arch.tiles])[arch.tile]
    return [int(rows[arch.arc_target[arch.arc_gate == k]].min(initial=arch.rows)) for k in range(bits)]


def feeds_operands(arch: Arch) -> Bools:
    """True for resources from which a value can still get to a PE's operand; the others only lead to store ports.

    The fixed point of a backward propagation over all arcs; the number of passes is the length of the longest path of
    switches at most.
    """
    computes = np.array([tile.kind == "pe" for tile in arch.tiles])
    feeds: Bools = ((arch.kind == Kind.IN) | (arch.kind == Kind.FU) | (arch.kind == Kind.OUT)) & computes[arch.tile]
    feeds |= np.array([tile.kind in ("load", "const") for tile in arch.tiles])[arch.tile]
    while True:
        more = feeds.copy()
        np.logical_or.at(more, arch.arc_source, feeds[arch.arc_target])
        if (more == feeds).all():
            return feeds
        feeds = more


def _topological(arch: Arch, inside: Bools, arcs: set[tuple[int, int]]) -> Int32s:
    """An order of the resources in which every arc goes forward, with ALUs as arcs from their inputs to their output.

    Where the array has combinational cycles, arcs that close one are taken out of ``arcs``: no mapping may use a whole
    cycle, and without them none can. This can forbid legal mappings that use another part of the cycle, which is the
    price of a router that needs only one sweep.
    """
    inputs = np.flatnonzero((arch.kind == Kind.IN) & inside)
    through = {(int(r), int(arch.fu[arch.tile[r]])) for r in inputs}
    while True:
        graph: rustworkx.PyDiGraph[int, None] = rustworkx.PyDiGraph(multigraph=False)
        graph.add_nodes_from(range(len(arch.kind)))
        graph.add_edges_from_no_data(sorted(arcs | through))
        components = [component for component in rustworkx.strongly_connected_components(graph) if len(component) > 1]
        if not components:
            order = rustworkx.lexicographical_topological_sort(graph, key=lambda r: _sort_key(arch, r))
            return np.array([r for r in order if inside[r]], dtype=np.int32)
        for component in components:
            arcs -= _closing(arch, set(component), arcs)


def _sort_key(arch: Arch, r: int) -> str:
    """Constants first, then row by row: what a signal may use is then near it in number."""
    if arch.kind[r] == Kind.CONST:
        return f"0{r:08d}"
    return f"1{max(0, arch.tiles[arch.tile[r]].row):04d}{r:08d}"


def _closing(arch: Arch, component: set[int], arcs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Arcs to leave out of a cycle: those back to an ALU's own inputs, else those to the west, else one arc.

    Only arcs inside the strongly connected component are candidates, and none that ends at an ALU's output. The
    fallback, the largest pair, keeps the choice independent of the order of a set.
    """
    inner = [(a, b) for a, b in arcs if a in component and b in component and arch.kind[b] != Kind.OUT]
    col = [tile.col for tile in arch.tiles]
    west = {(a, b) for a, b in inner if col[arch.tile[a]] > col[arch.tile[b]] and arch.kind[b] != Kind.SWITCH}
    own = {(a, b) for a, b in inner if arch.kind[a] == Kind.OUT and arch.position[b] == 3}
    return own or west or {max(inner)}


def _reach(arch: Arch, order: Int32s, succ_at: Int32s, succ: Int32s) -> Uint8s:
    """reach[number, tile], by one pass against the order: what a resource reaches is what its successors reach."""
    reach = np.zeros((len(order), len(arch.tiles)), dtype=np.uint8)
    operands = np.flatnonzero(arch.kind[order] == Kind.IN)
    reach[operands, arch.tile[order[operands]]] = 1
    at, following = succ_at.tolist(), succ.tolist()
    for k in range(len(order) - 1, -1, -1):
        row = reach[k]
        for v in following[at[k] : at[k + 1]]:
            np.bitwise_or(row, reach[v], out=row)
    return reach


def _places(arch: Arch, width: int) -> tuple[Int32s, Int32s]:
    """(PEs by row and column, ports by kind and column); -1 where there is none."""
    at = np.full((arch.rows, width), -1, dtype=np.int32)
    ports = np.full((2, width), -1, dtype=np.int32)
    for k, tile in enumerate(arch.tiles):
        if tile.kind == "pe" and tile.col < width:
            at[tile.row, tile.col] = k
        elif tile.kind in ("load", "store") and tile.col < width:
            ports[_GROUP[tile.kind] - 1, tile.col] = k
    return at, ports
