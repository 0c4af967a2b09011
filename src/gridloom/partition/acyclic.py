"""Bisections in which every dependence runs one way: made from any bisection, and improved under that rule.

Sides are flat arrays over clusters: ops that have to stay together (a loop-carried cycle, a pair of ops on one memory
unit) are one cluster, and the cluster graph has no cycle.

Parts run one after the other, each over all iterations, so that no value may flow back: a bisection is legal when no
arc runs from side 1 to side 0. The cost of a bisection is its transfers, the loads and stores that the cut adds,
counted per value and not per edge. ``refine_kernel`` holds the compiled passes of :func:`refine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import rustworkx

from gridloom.dfg.model import Dfg
from gridloom.partition.split import is_op

if TYPE_CHECKING:
    from gridloom.partition.refine_kernel import Flat, Int32s


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterGraph:
    """What is divided: clusters with weights, the arcs between them, and the values that readers share.

    :func:`cluster` makes one from a Dfg. Clusters are numbered from 0, arcs are acyclic and listed once each, and
    constants and ports are not in it.
    """

    #: Cluster -> ids of its ops.
    members: tuple[tuple[str, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    predecessors: tuple[tuple[int, ...], ...]
    #: For each value: the cluster that makes it (-1: an input of the graph) and the clusters that read it.
    values: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def size(self) -> int:
        """The number of clusters."""
        return len(self.members)

    @cached_property
    def weight(self) -> tuple[int, ...]:
        """Ops of each cluster."""
        return tuple(len(ops) for ops in self.members)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Clusters in an order in which every arc goes forward. Computed once, in linear time."""
        waiting = [len(row) for row in self.predecessors]
        ready = [k for k, count in enumerate(waiting) if count == 0]
        order = []
        while ready:
            k = ready.pop(0)
            order.append(k)
            for j in self.successors[k]:
                waiting[j] -= 1
                if waiting[j] == 0:
                    ready.append(j)
        return tuple(order)

    @cached_property
    def touching(self) -> tuple[tuple[int, ...], ...]:
        """Cluster -> the values that it makes or reads."""
        rows: list[set[int]] = [set() for _ in self.members]
        for v, (maker, readers) in enumerate(self.values):
            for k in (maker, *readers):
                if k >= 0:
                    rows[k].add(v)
        return tuple(tuple(sorted(row)) for row in rows)

    @cached_property
    def flat(self) -> Flat:
        """The graph as the compiled passes take it."""
        from gridloom.partition.refine_kernel import Flat

        return Flat(
            np.array(self.weight, dtype=np.int32),
            *_csr(self.successors),
            *_csr(self.predecessors),
            np.array([maker for maker, _ in self.values], dtype=np.int32),
            *_csr([readers for _, readers in self.values]),
            *_csr(self.touching),
        )


def _csr(rows: Sequence[Sequence[int]]) -> tuple[Int32s, Int32s]:
    """Lists of lists in CSR form: where each begins, and all of them in a row."""
    at = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    return at, np.array([k for row in rows for k in row], dtype=np.int32)


def cluster(dfg: Dfg) -> ClusterGraph:
    """The clusters of a graph's ops. Linear in nodes and edges.

    Ops that a loop-carried cycle, a ``pair`` or ``async`` edge or a written array ties together are one cluster.
    Clusters are numbered by their first op, so that the result is the same each time.
    """
    ops = [node.id for k, node in enumerate(dfg.nodes) if is_op(dfg, k)]
    number = {name: k for k, name in enumerate(ops)}
    graph: rustworkx.PyDiGraph[int, None] = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(range(len(ops)))
    for edge in dfg.edges:
        if edge.source in number and edge.target in number:
            graph.add_edge(number[edge.source], number[edge.target], None)
            # An arc back makes one strongly connected component of the two: such an edge cannot be cut.
            if edge.kind in ("pair", "async"):
                graph.add_edge(number[edge.target], number[edge.source], None)
    _tie_memories(dfg, number, graph)
    # The order in which components are found is not promised; sorting makes the numbering the same each time.
    knots = sorted(sorted(knot) for knot in rustworkx.strongly_connected_components(graph))
    home = {k: c for c, knot in enumerate(knots) for k in knot}
    following: list[set[int]] = [set() for _ in knots]
    leading: list[set[int]] = [set() for _ in knots]
    for a, b in graph.edge_list():
        if home[a] != home[b]:
            following[home[a]].add(home[b])
            leading[home[b]].add(home[a])
    return ClusterGraph(
        members=tuple(tuple(ops[k] for k in knot) for knot in knots),
        successors=tuple(tuple(sorted(row)) for row in following),
        predecessors=tuple(tuple(sorted(row)) for row in leading),
        values=_values(dfg, {name: home[k] for name, k in number.items()}),
    )


def _tie_memories(dfg: Dfg, number: dict[str, int], graph: rustworkx.PyDiGraph[int, None]) -> None:
    """Ops on an array that is written stay together.

    A part runs all iterations before the next begins, so that another part would see the array as it is in the end.
    Both directions of an arc make one strongly connected component of them.
    """
    written = {node.array for node in dfg.nodes if node.array is not None and not dfg.has_result(node.id)}
    first: dict[str, int] = {}
    for node in dfg.nodes:
        if node.array is not None and node.array in written and node.id in number:
            a, b = first.setdefault(node.array, number[node.id]), number[node.id]
            graph.add_edge(a, b, None)
            graph.add_edge(b, a, None)


def _values(dfg: Dfg, home: dict[str, int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The values that ports may have to carry: results of ops and inputs; constants are copied at no cost."""
    readers: dict[str, set[int]] = {}
    for edge in dfg.edges:
        if edge.carries_value and not dfg.op(edge.source).timeless and edge.target in home:
            readers.setdefault(edge.source, set()).add(home[edge.target])
    return tuple((home.get(source, -1), tuple(sorted(clusters))) for source, clusters in sorted(readers.items()))


def one_way(graph: ClusterGraph, side: Sequence[int]) -> list[list[int]]:
    """Bisections near ``side`` (0 or 1 for each cluster) whose arcs all run from side 0 to side 1.

    Both sides are tried as the first; wherever an arc runs backwards, either the reader is moved after it or the maker
    before it, with all that this entails. That makes three repairs for each order of the sides: all readers later, all
    makers earlier, and the cheaper of the two for each arc. A side may come out empty. O(clusters * arcs) at the worst.
    """
    repaired = []
    for first in (0, 1):
        wanted = [int(s != first) for s in side]
        later = list(wanted)
        for k in graph.order:
            if any(later[j] for j in graph.predecessors[k]):
                later[k] = 1
        earlier = list(wanted)
        for k in reversed(graph.order):
            if not all(earlier[j] for j in graph.successors[k]):
                earlier[k] = 0
        repaired += [later, earlier, _meeting(graph, wanted)]
    return repaired


def _meeting(graph: ClusterGraph, wanted: list[int]) -> list[int]:
    """Repair arc by arc: of the two ways to turn one, the one that moves fewer ops, in favour of the smaller side."""
    side = list(wanted)
    for k in graph.order:
        while any(side[j] for j in graph.predecessors[k]) and not side[k]:
            before = [j for j in _closure(graph.predecessors, k) if side[j]]
            after = [j for j in _closure(graph.successors, k) if not side[j]]
            down = sum(graph.weight[j] for j in after)
            up = sum(graph.weight[j] for j in before)
            for j in after if down <= up else before:
                side[j] = 1 if down <= up else 0
    return side


def _closure(arcs: Sequence[Sequence[int]], k: int) -> set[int]:
    """Everything that is reached from k, with k itself."""
    seen = {k}
    frontier = [k]
    while frontier:
        for j in arcs[frontier.pop()]:
            if j not in seen:
                seen.add(j)
                frontier.append(j)
    return seen


def transfers(graph: ClusterGraph, side: Sequence[int]) -> int:
    """Loads and stores that the cut adds: a store for a value that crosses, a load for each further side that reads."""
    return sum(_transfer(side, maker, readers) for maker, readers in graph.values)


def _transfer(side: Sequence[int], maker: int, readers: Sequence[int]) -> int:
    """Loads and stores that the cut adds for one value."""
    sides = {side[k] for k in readers}
    if maker < 0:
        # An input is loaded once anyway; only further sides add a load.
        return len(sides) - 1 if sides else 0
    return 2 if sides - {side[maker]} else 0


def refine(graph: ClusterGraph, side: Sequence[int], limit: int) -> list[int]:
    """The bisection with fewer transfers at an imbalance of at most ``limit``, or nearer to it; Fiduccia-Mattheyses.

    A pass moves each cluster at most once, always the best move that keeps arcs one way, and goes back to the best
    state that it saw; passes go on while they help. A pass costs O(clusters^2), a millisecond for 200. ``side`` must be
    one way already; ``limit`` is in ops. The first call compiles the kernel, or loads it from numba's cache.
    """
    from gridloom.partition.refine_kernel import passes

    refined: list[int] = passes(graph.flat, np.array(side, dtype=np.int32), limit).tolist()
    return refined
