"""A graph and a static grid as flat arrays: what placers, routers and balancers of the static families share.

Positions, not names: node k of the problem is ``nodes[k]`` of the graph (free ops have none), edge e is ``edges[e]``.
Only data edges between two nodes that need a tile are here: each needs a route. The rules between issue cycles are in
:mod:`gridloom.targets.grid.mappers.balance.exact`.

Everything that a kernel reads is an array, and rows of different lengths are in CSR form (see
:mod:`gridloom.search.arrays`). A problem does not change once it is built, so that starts on several threads may
share it. A placement is an array ``position[node] -> tile`` beside it.

The graph and the grid as the placement kernels see them: named tuples of flat arrays.

numba passes a named tuple of arrays to a kernel as it is, which keeps the kernels' signatures short. The tables are
views of a :class:`~gridloom.targets.grid.mappers.problem.StaticProblem`; no kernel writes to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.search.arrays import Bools, Int32s, csr_of_pairs
from gridloom.search.stores import runs_of, words_of

#: Stands for "no limit" in arrays of FIFO depths and upper bounds.
UNLIMITED = 1 << 20


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkGraph:
    """The links of a grid: where each goes, and which links may follow it a cycle later.

    Links are numbered as in ``arch.links``, and all arrays but the CSR values have one entry for each link.
    ``resource`` is the link's number among the resources of the array; ``source`` and ``target`` are the tiles at its
    ends. ``leaving`` has one row for each tile, ``following`` one row for each link; a follower always leaves the tile
    that the link enters.
    """

    resource: Int32s
    source: Int32s
    target: Int32s
    #: CSR: links that leave a tile; links that may follow a link.
    leaving_at: Int32s
    leaving: Int32s
    following_at: Int32s
    following: Int32s

    @property
    def count(self) -> int:
        """The number of links."""
        return len(self.resource)


@dataclass(frozen=True, kw_only=True, eq=False)
class StaticProblem:
    """What has to be placed and routed, and where it may go.

    :func:`build_problem` makes it. Arrays over nodes have ``size`` entries, arrays over edges one for each routed edge,
    arrays over tiles ``tiles`` entries. An edge whose source is its target (a recurrence of one node) is among the
    edges, but needs no link: the tables of incident edges and nets leave it out. ``hops[a, b]`` is the least number of
    links from tile a to tile b; ``row`` and ``col`` say where a tile sits on the grid.
    """

    dfg: Dfg
    arch: Arch
    #: Problem node -> position in ``dfg.nodes``; graph position -> problem node, -1: free.
    nodes: Int32s
    number: Int32s
    #: Routed edges: index in ``dfg.edges``, source and target (problem nodes), iteration distance.
    edges: Int32s
    source: Int32s
    target: Int32s
    distance: Int32s
    #: Cycles from issue to result of each node, and to the end of a first link that the result takes.
    latency: Int32s
    reach: Int32s
    #: allowed[kind[node], tile]: the node may sit on the tile.
    kind: Int32s
    allowed: Bools
    #: [operand, tile] -> the cycles that an operand of a tile may wait in its FIFO; the operand of each edge.
    fifo: Int32s
    operand: Int32s
    #: In one byte each where they fit: the table of a large grid has to stay in the cache.
    hops: NDArray[Any]
    row: Int32s
    col: Int32s
    links: LinkGraph

    @property
    def size(self) -> int:
        """How many nodes need a tile."""
        return len(self.nodes)

    @property
    def tiles(self) -> int:
        """How many tiles there are."""
        return len(self.row)

    @property
    def _crossing(self) -> list[tuple[int, int, int]]:
        """(edge, source, target) of the edges between different nodes."""
        ends = zip(self.source.tolist(), self.target.tolist())
        return [(e, a, b) for e, (a, b) in enumerate(ends) if a != b]

    @cached_property
    def incident(self) -> tuple[Int32s, Int32s]:
        """CSR: the edges that touch a node, edges onto itself left out."""
        return csr_of_pairs(self.size, ((node, e) for e, *ends in self._crossing for node in ends))

    @cached_property
    def neighbour(self) -> Int32s:
        """For each entry of ``incident`` the node at the other end of the edge."""
        starts, edges = self.incident
        owner = np.repeat(np.arange(self.size, dtype=np.int32), np.diff(starts))
        return np.where(self.source[edges] == owner, self.target[edges], self.source[edges]).astype(np.int32)

    @cached_property
    def nets(self) -> tuple[Int32s, Int32s]:
        """CSR: the edges that leave a node and need links."""
        return csr_of_pairs(self.size, ((a, e) for e, a, _ in self._crossing))

    @cached_property
    def colour(self) -> Bools | None:
        """A colouring of the tiles in which every link joins two colours; None: the topology has odd cycles.

        The colour of a tile is the parity of its distance from tile 0. On a coloured grid (a mesh) all routes between
        two tiles have the same parity.
        """
        odd = (self.hops[0] % 2).astype(np.bool_)
        links = self.links
        return odd if bool((odd[links.source] != odd[links.target]).all()) else None

    def may_sit(self, node: int, tile: int) -> bool:
        """True when a problem node may sit on a tile."""
        return bool(self.allowed[self.kind[node], tile])


def check_grid(arch: Arch) -> None:
    """OptionError unless the array is a static grid of PEs with links and operand FIFOs only."""
    if not arch.has("grid"):
        raise OptionError(f"array {arch.name!r} is not a static grid")


def build_problem(dfg: Dfg, arch: Arch, regions: Mapping[int, frozenset[int]] = MappingProxyType({})) -> StaticProblem:
    """Flatten a graph and a static grid. Linear in both, plus the hop table of the array.

    ``regions`` are tiles by graph position that nodes have to stay within.
    """
    check_grid(arch)
    placed = [k for k, node in enumerate(dfg.nodes) if dfg.op_class(node.id) not in arch.free]
    number = np.full(len(dfg.nodes), -1, dtype=np.int32)
    number[placed] = np.arange(len(placed), dtype=np.int32)
    routed = [
        e
        for e, edge in enumerate(dfg.edges)
        if edge.kind == "data" and number[dfg.index[edge.source]] >= 0 and number[dfg.index[edge.target]] >= 0
    ]
    ends = [(dfg.index[dfg.edges[e].source], dfg.index[dfg.edges[e].target]) for e in routed]
    kind, allowed = _kinds(dfg, arch, placed, number, regions)
    operand = [dfg.edges[e].operand for e in routed]
    latency = np.array([_latency(dfg, arch, k) for k in placed], dtype=np.int32)
    return StaticProblem(
        dfg=dfg,
        arch=arch,
        nodes=np.array(placed, dtype=np.int32),
        number=number,
        edges=np.array(routed, dtype=np.int32),
        source=np.array([number[a] for a, _ in ends], dtype=np.int32),
        target=np.array([number[b] for _, b in ends], dtype=np.int32),
        distance=np.array([dfg.edges[e].distance for e in routed], dtype=np.int32),
        latency=latency,
        reach=latency + np.int32(arch.link_cycles),
        kind=kind,
        allowed=allowed,
        fifo=_fifos(arch, 1 + max(operand, default=0)),
        operand=np.array(operand, dtype=np.int32),
        hops=_small(arch.hops),
        row=np.array([tile.row for tile in arch.tiles], dtype=np.int32),
        col=np.array([tile.col for tile in arch.tiles], dtype=np.int32),
        links=_link_graph(arch),
    )


def _fifos(arch: Arch, operands: int) -> Int32s:
    """[operand, tile] -> the depth of the FIFO; the operands beyond those of a tile have the depth of its others."""
    depths = [[tile.fifo_of(k) for tile in arch.tiles] for k in range(operands)]
    rows = [[UNLIMITED if depth is None else min(depth, UNLIMITED) for depth in row] for row in depths]
    return np.array(rows, dtype=np.int32)


def _small(hops: NDArray[np.int16]) -> NDArray[Any]:
    """The hop table in one byte for each entry where the longest way allows it: it is read at every move."""
    return hops.astype(np.int8) if hops.max(initial=0) <= np.iinfo(np.int8).max else hops


def _latency(dfg: Dfg, arch: Arch, k: int) -> int:
    """Cycles of a node's op: those that most tiles with its class take, on which alone it may sit."""
    return usual_latency(arch, dfg.op_class(dfg.nodes[k].id))


@lru_cache(maxsize=256)
def usual_latency(arch: Arch, op_class: str) -> int:
    """The latency of an op class on most tiles that have it, the shortest of several.

    The searches know one figure for each node. On an array whose tiles differ, ops keep to the tiles with this one.
    """
    counts = Counter(arch.tiles[t].latency_of(op_class) for t in arch.tiles_for(op_class) or (0,))
    return min(counts, key=lambda cycles: (-counts[cycles], cycles))


def operand_count(dfg: Dfg, k: int) -> int:
    """How many operands the function unit of a node's tile must have."""
    return max((dfg.edges[e].operand + 1 for e in dfg.in_edges[k] if dfg.edges[e].carries_value), default=0)


def _signals_in(dfg: Dfg, k: int, number: Int32s) -> int:
    """How many links into its tile a node needs at least: one for each producer other than itself."""
    sources = {dfg.index[dfg.edges[e].source] for e in dfg.in_edges[k] if dfg.edges[e].kind == "data"}
    return sum(1 for source in sources if number[source] >= 0 and source != k)


def _kinds(
    dfg: Dfg, arch: Arch, placed: list[int], number: Int32s, regions: Mapping[int, frozenset[int]]
) -> tuple[Int32s, Bools]:
    """(kind of each node, allowed[kind, tile]): nodes that may sit on the same tiles share a kind.

    Op classes, operands, incoming signals and regions decide where a node may sit. Inputs are a kind of their own,
    since a search may restrict them further (see ``StaticSearch.regions``).
    """
    entering = np.bincount([b for _, b, _ in arch.links], minlength=len(arch.tiles))
    keys: dict[tuple[frozenset[str], int, int, bool, str, int, frozenset[int] | None], int] = {}
    # Which op it is matters only where tiles have some ops of a class, its words where stores are limited.
    partial = any(tile.lacks for tile in arch.tiles)
    stores = arch.has("constant_stores")
    kind = []
    # Where every tile outputs, results are like other nodes, so that they need no kind of their own.
    leave = not all("output" in tile.classes for tile in arch.tiles)
    for k in placed:
        node = dfg.nodes[k]
        needed = dfg.required_classes(node.id, results_leave=leave)
        counts = operand_count(dfg, k), _signals_in(dfg, k, number)
        words = words_of(runs_of(dfg, arch, k)) if stores else 0
        key = (needed, *counts, node.op == "input", node.op if partial else "", words, regions.get(k))
        kind.append(keys.setdefault(key, len(keys)))
    allowed = np.zeros((max(1, len(keys)), len(arch.tiles)), dtype=np.bool_)
    for (needed, operands, signals, _, op, words, region), row in keys.items():
        for t, tile in enumerate(arch.tiles):
            # A new iteration starts in each cycle, so that an op may not keep its unit for longer.
            able = tile.runs(op, needed) and all(tile.occupancy_of(name) == 1 for name in needed)
            able = able and all(tile.latency_of(name) == usual_latency(arch, name) for name in needed)
            able = able and (region is None or t in region)
            able = able and (tile.constants is None or words <= tile.constants)
            allowed[row, t] = able and tile.operands >= operands and entering[t] >= signals
    return np.array(kind, dtype=np.int32), allowed


def _link_graph(arch: Arch) -> LinkGraph:
    """The links of an array with their followers: arcs of the resource graph that join two links."""
    links = arch.links
    place = {resource: k for k, (_, _, resource) in enumerate(links)}
    leaving_at, leaving = csr_of_pairs(len(arch.tiles), ((a, k) for k, (a, _, _) in enumerate(links)))
    arcs = zip(arch.arc_source.tolist(), arch.arc_target.tolist())
    after = ((place[a], place[b]) for a, b in arcs if a in place and b in place)
    following_at, following = csr_of_pairs(len(links), after)
    return LinkGraph(
        resource=np.array([r for _, _, r in links], dtype=np.int32),
        source=np.array([a for a, _, _ in links], dtype=np.int32),
        target=np.array([b for _, b, _ in links], dtype=np.int32),
        leaving_at=leaving_at,
        leaving=leaving,
        following_at=following_at,
        following=following,
    )


class PlacedGraph(NamedTuple):
    """The nodes that need a tile.

    Row k of the CSR table lists the nodes at the other ends of node k's edges, one entry for each edge: a neighbour
    that is joined by two edges is listed twice. Edges onto the node itself are left out, and each edge is listed at
    both its ends.
    """

    #: Nodes that may move; the kind of each node, which says where it may sit.
    movable: Int32s
    kind: Int32s
    #: CSR by node: the nodes at the other ends of its edges.
    starts: Int32s
    neighbour: Int32s


class Edges(NamedTuple):
    """The edges between different nodes.

    ``incident`` runs beside ``Graph.neighbour``: entry k of both is the same edge. A net is the set of edges that carry
    the signal of one node; ``net`` lists every edge between different nodes exactly once, net after net.
    """

    #: CSR by node, with the graph's ``starts``: its edges.
    incident: Int32s
    #: Nodes at the ends of each edge.
    source: Int32s
    target: Int32s
    #: CSR by node: the edges that carry its signal.
    net_at: Int32s
    net: Int32s


class TileGrid(NamedTuple):
    """The tiles, and how far apart they are.

    ``hops[a, b]`` is the least number of links from tile a to tile b, ``row`` and ``col`` are the coordinates of a
    tile, and ``tile[row, col]`` leads back. A search that restricts where kinds may sit passes a copy with another
    ``allowed``.
    """

    #: allowed[kind, tile]; tiles of nodes that stay.
    allowed: Bools
    fixed: Bools
    hops: NDArray[Any]
    row: Int32s
    col: Int32s
    #: The tile in each row and column.
    tile: Int32s


class PlacementMove(NamedTuple):
    """Node a goes from tile ``here`` to tile ``there``, and node b (-1: none) the other way."""

    a: int
    b: int
    here: int
    there: int


def graph_tables(problem: StaticProblem, movable: Int32s) -> PlacedGraph:
    """The graph of a problem with the nodes that may move."""
    starts, _ = problem.incident
    return PlacedGraph(movable, problem.kind, starts, problem.neighbour)


def edge_tables(problem: StaticProblem) -> Edges:
    """The edges of a problem."""
    _, incident = problem.incident
    return Edges(incident, problem.source, problem.target, *problem.nets)


def grid_tables(problem: StaticProblem, fixed: Bools) -> TileGrid:
    """The grid of a problem with the tiles of nodes that stay."""
    tile = np.zeros((problem.arch.rows, problem.arch.cols), dtype=np.int32)
    tile[problem.row, problem.col] = np.arange(problem.tiles, dtype=np.int32)
    return TileGrid(problem.allowed, fixed, problem.hops, problem.row, problem.col, tile)
