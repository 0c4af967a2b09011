"""Placement on a row of tiles with spokes, as flat arrays.

A node sits on a (tile, spoke): the tile executes it in every cycle that is congruent to the spoke modulo the II. Its
issue follows from those of its predecessors:

    A = max(0, over predecessors p: issue[p] + lag - II * distance + |tile[p] - tile[n]|)
    issue = A + ((spoke - A) mod II)

so a placement is a whole schedule, and ``cycles`` is its last result. Nodes are numbered in topological order.

Three rules restrict which nodes may share a tile. C1: nodes that use the same variable sit on one tile, whose memory
holds it. C2: nodes that start a synchronous flow (no operand from the same iteration) sit on different tiles. C3: so do
nodes that read the same node. C1 becomes a *group* number for each node, C2 and C3 become *cliques* and, for the
kernels, the CSR ``conflict``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.search.arrays import Int32s, csr_of_pairs


class StreamingDevice(NamedTuple):
    """The figures of the array that the kernels read; the scarcest tile counts for all of them."""

    tiles: int
    #: Cycles from issue to result.
    latency: int
    #: 1 at level strict, where a link carries one value per spoke, else 0.
    strict: int
    #: Delay registers per tile; -1: no limit.
    delays: int
    #: Memory entries per tile.
    memory: int
    #: Entries of the instruction RAM per tile; -1: no limit.
    instructions: int


class Tables(NamedTuple):
    """What the kernels read; rows are CSR (``*_at[n]`` to ``*_at[n + 1]``), and nodes are numbers of the problem."""

    #: The predecessors of a node. For each of them: the node, the cycles from its issue to its result, iterations in
    #: between, and 1 where the distance of the tiles counts (a value is carried) or 0 (only the order is kept).
    pred_at: Int32s
    pred: Int32s
    pred_lag: Int32s
    pred_distance: Int32s
    pred_far: Int32s
    #: The same edges by their source: the successors of a node.
    succ_at: Int32s
    succ: Int32s
    succ_lag: Int32s
    succ_distance: Int32s
    succ_far: Int32s
    #: Nodes that may not share the tile of a node.
    conflict_at: Int32s
    conflict: Int32s
    #: Nodes with the same group share a tile; -1: the node is in none.
    group: Int32s
    #: Tile-memory entries that a node brings to its tile; those of a group come with its first node.
    entries: Int32s
    #: The tile that a node has to sit on; -1: any.
    pinned: Int32s
    #: Wires: the distinct (source, target, iterations between) of the routed edges, sorted.
    wire_source: Int32s
    wire_target: Int32s
    wire_distance: Int32s
    #: The number of a node's op: nodes with the same op share an entry of the instruction RAM.
    opcode: Int32s
    device: StreamingDevice


@dataclass(frozen=True)
class SpokesProblem:
    """A graph on a streaming engine, as ``build_problem`` makes it.

    Immutable; ``pinned_to`` returns a changed copy, which shares all arrays but one. A problem exists for every graph,
    also for one that no placement fits: ``screening.screen`` says so.
    """

    dfg: Dfg
    arch: Arch
    #: Positions in the graph of the nodes that need a slot, in topological order.
    nodes: Int32s
    #: Edges (positions in the graph) that need a route through the fabric.
    edges: tuple[int, ...]
    tables: Tables
    #: Sets of nodes that all need different tiles, each with the rule in words.
    cliques: tuple[tuple[str, tuple[int, ...]], ...]
    #: The nodes that use each variable.
    variables: dict[str, tuple[int, ...]]
    #: Nodes that start a synchronous flow.
    starts: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of nodes to place."""
        return len(self.nodes)

    @property
    def tiles(self) -> int:
        """The number of tiles in the row."""
        return len(self.arch.tiles)

    @cached_property
    def spokes(self) -> int:
        """The number of spokes of every tile, which is the largest II."""
        return min(tile.contexts or 1 << 20 for tile in self.arch.tiles)

    @property
    def latency(self) -> int:
        """Cycles from issue to result."""
        return self.tables.device.latency

    @property
    def strict(self) -> bool:
        """True where a link carries one value per spoke."""
        return bool(self.tables.device.strict)

    def name(self, node: int) -> str:
        """The id of a node of the problem."""
        return self.dfg.nodes[int(self.nodes[node])].id

    def pinned_to(self, tiles: Mapping[int, int]) -> SpokesProblem:
        """The problem with nodes, by position in the graph, that have to sit on given tiles.

        What shares variables with a pinned node is pinned with it. Two pins that contradict each other are kept as they
        are, for ``screen`` to refuse. Pins of the original problem are dropped.
        """
        group = self.tables.group.tolist()
        pinned = [tiles.get(int(k), -1) for k in self.nodes]
        shared = {group[n]: tile for n, tile in enumerate(pinned) if tile >= 0 and group[n] >= 0}
        pinned = [shared.get(group[n], -1) if tile < 0 else tile for n, tile in enumerate(pinned)]
        return replace(self, tables=self.tables._replace(pinned=np.array(pinned, dtype=np.int32)))

    @cached_property
    def number(self) -> dict[str, int]:
        """Id -> number of a node."""
        return {self.name(k): k for k in range(self.size)}


def build_problem(dfg: Dfg, arch: Arch) -> SpokesProblem:
    """The problem of a graph on a streaming engine; OptionError for another kind of array.

    Quadratic in the readers of a node and in the flow starts (they exclude each other pairwise), else linear.
    """
    if not arch.has("spokes"):
        raise OptionError(f"array {arch.name!r} has no spokes")
    return _Build(dfg, arch).result()


class _Build:
    """The parts of a problem, computed one after the other from a graph and an array."""

    def __init__(self, dfg: Dfg, arch: Arch) -> None:
        self.dfg = dfg
        self.arch = arch
        self.nodes = [k for k in dfg.topological if not self._free(dfg.nodes[k].id)]
        self.number = {dfg.nodes[k].id: n for n, k in enumerate(self.nodes)}
        self.latency = max((tile.latency_of("alu") for tile in arch.tiles), default=1)

    def _free(self, node: str) -> bool:
        """True for a node whose class needs no tile on this array."""
        return self.dfg.op_class(node) in self.arch.free

    def result(self) -> SpokesProblem:
        """The problem, with edges between two placed nodes as the routed ones."""
        routed = [
            k
            for k, edge in enumerate(self.dfg.edges)
            if edge.kind == "data" and edge.source in self.number and edge.target in self.number
        ]
        starts = self._starts(routed)
        cliques = self._cliques(routed, starts)
        variables = self._variables()
        return SpokesProblem(
            dfg=self.dfg,
            arch=self.arch,
            nodes=np.array(self.nodes, dtype=np.int32),
            edges=tuple(routed),
            tables=self._tables(routed, cliques, variables),
            cliques=cliques,
            variables=variables,
            starts=starts,
        )

    def _starts(self, routed: list[int]) -> tuple[int, ...]:
        """The nodes without an operand from the same iteration, which start a synchronous flow (C2)."""
        fed = {self.dfg.edges[k].target for k in routed if self.dfg.edges[k].distance == 0}
        return tuple(n for name, n in self.number.items() if name not in fed)

    def _cliques(self, routed: list[int], starts: tuple[int, ...]) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The sets of nodes that have to sit on different tiles, each with its rule in words.

        They are all flow starts (C2), which come first, and the readers of each node in the same iteration (C3). Sets
        of one node are left out.
        """
        readers: dict[str, set[int]] = {}
        for k in routed:
            edge = self.dfg.edges[k]
            if edge.distance == 0:
                readers.setdefault(edge.source, set()).add(self.number[edge.target])
        found = [(f"readers of {name}", tuple(sorted(nodes))) for name, nodes in readers.items() if len(nodes) > 1]
        return (*([("nodes that start a synchronous flow", starts)] if len(starts) > 1 else []), *found)

    def _variables(self) -> dict[str, tuple[int, ...]]:
        """The users of each variable: nodes that read it as a live-in value, and nodes that name it themselves."""
        users: dict[str, set[int]] = {}
        for edge in self.dfg.edges:
            source = self.dfg.node(edge.source)
            if source.op == "livein" and edge.kind == "data" and edge.target in self.number:
                users.setdefault(source.variable or source.id, set()).add(self.number[edge.target])
        for name, n in self.number.items():
            variable = self.dfg.node(name).variable
            if variable is not None:
                users.setdefault(variable, set()).add(n)
        return {name: tuple(sorted(nodes)) for name, nodes in sorted(users.items())}

    def _tables(
        self,
        routed: list[int],
        cliques: tuple[tuple[str, tuple[int, ...]], ...],
        variables: dict[str, tuple[int, ...]],
    ) -> Tables:
        """What the kernels read."""
        arcs = self._arcs(routed)
        count = len(self.nodes)
        conflicts: list[set[int]] = [set() for _ in range(count)]
        for _, members in cliques:
            for n in members:
                conflicts[n].update(members)
        group, entries = _groups(count, variables)
        wires = sorted({(self._end(k, "source"), self._end(k, "target"), self.dfg.edges[k].distance) for k in routed})
        pred_at, pred, pred_lag, pred_distance, pred_far = _rows(
            count, [(target, source, *rest) for source, target, *rest in arcs], 4
        )
        succ_at, succ, succ_lag, succ_distance, succ_far = _rows(count, arcs, 4)
        conflict_at, conflict = _rows(count, [(n, m) for n in range(count) for m in sorted(conflicts[n] - {n})], 1)
        wire_source, wire_target, wire_distance = (
            np.array([wire[k] for wire in wires], dtype=np.int32) for k in range(3)
        )
        return Tables(
            pred_at=pred_at, pred=pred, pred_lag=pred_lag, pred_distance=pred_distance, pred_far=pred_far,
            succ_at=succ_at, succ=succ, succ_lag=succ_lag, succ_distance=succ_distance, succ_far=succ_far,
            conflict_at=conflict_at, conflict=conflict, group=group, entries=entries,
            pinned=np.full(count, -1, dtype=np.int32),
            wire_source=wire_source, wire_target=wire_target, wire_distance=wire_distance,
            opcode=self._opcodes(), device=self._device(),
        )  # fmt: skip

    def _end(self, edge: int, which: str) -> int:
        return self.number[getattr(self.dfg.edges[edge], which)]

    def _arcs(self, routed: list[int]) -> list[tuple[int, ...]]:
        """(source, target, lag, distance, far) of routed and of order edges."""
        arcs = {(self._end(k, "source"), self._end(k, "target"), self.latency, self.dfg.edges[k].distance, 1)
                for k in routed}  # fmt: skip
        for edge in self.dfg.edges:
            if edge.kind == "order" and edge.source in self.number and edge.target in self.number:
                arcs.add((self.number[edge.source], self.number[edge.target], edge.delay, edge.distance, 0))
        return sorted(arcs)

    def _opcodes(self) -> Int32s:
        """The number of each node's op."""
        ops = [self.dfg.nodes[k].op for k in self.nodes]
        number = {op: k for k, op in enumerate(dict.fromkeys(ops))}
        return np.array([number[op] for op in ops], dtype=np.int32)

    def _device(self) -> StreamingDevice:
        """The figures of the array."""
        tiles = self.arch.tiles
        return StreamingDevice(
            tiles=len(tiles),
            latency=self.latency,
            strict=int((self.arch.capacity[self.arch.kind == Kind.LINK] == 1).any()),
            delays=min((tile.delays for tile in tiles if tile.delays is not None), default=-1),
            memory=min(tile.buffer for tile in tiles),
            instructions=min((tile.instructions for tile in tiles if tile.instructions is not None), default=-1),
        )


def _groups(count: int, variables: dict[str, tuple[int, ...]]) -> tuple[Int32s, Int32s]:
    """(group, entries) of each node: nodes that variables tie together, directly or over others, and their variables.

    A group has the number of its first node, which also brings the memory entries of all variables of the group.
    Union-find over the variables, so nearly linear.
    """
    parent = list(range(count))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for nodes in variables.values():
        for n in nodes[1:]:
            low, high = sorted((root(nodes[0]), root(n)))
            parent[high] = low
    group = np.full(count, -1, dtype=np.int32)
    entries = np.zeros(count, dtype=np.int32)
    for nodes in variables.values():
        entries[root(nodes[0])] += 1
        for n in nodes:
            group[n] = root(n)
    return group, entries


def _rows(count: int, rows: list[tuple[int, ...]], columns: int) -> list[Int32s]:
    """CSR start points and the remaining columns of rows (node, ...), sorted by node and then by the columns.

    >>> [array.tolist() for array in _rows(3, [(2, 7), (0, 5), (0, 4)], 1)]
    [[0, 2, 2, 3], [4, 5, 7]]
    """
    rows = sorted(rows)
    starts, _ = csr_of_pairs(count, ((row[0], k) for k, row in enumerate(rows)))
    return [starts, *(np.array([row[1 + k] for row in rows], dtype=np.int32) for k in range(columns))]
