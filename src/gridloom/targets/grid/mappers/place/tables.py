"""The graph and the grid as the placement kernels see them: named tuples of flat arrays.

numba passes a named tuple of arrays to a kernel as it is, which keeps the kernels' signatures short. The tables are
views of a :class:`~gridloom.targets.grid.mappers.problem.StaticProblem`; no kernel writes to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.search.arrays import Bools, Int32s

if TYPE_CHECKING:
    from gridloom.targets.grid.mappers.problem import StaticProblem


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
