"""Placements annealed together with the trees of their nets: see
:mod:`gridloom.targets.grid.mappers.place.nets_kernel`.

This is the side of the kernel that Python sees. It makes the room of a run, and turns what the kernel leaves into
:class:`~gridloom.targets.grid.mappers.route.pathfinder.GridRoutes`.
"""

from __future__ import annotations

import numpy as np

from gridloom.search.arrays import Bools, Int32s, Uint8s
from gridloom.targets.grid.mappers.problem import Edges, PlacedGraph, StaticProblem, TileGrid
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes, link_tables

#: First and last temperature of a run; first and last price of a conflict, and that from which a legal state ends it.
HOT, COLD = 1.5, 0.6
_CHEAP, _DEAR, _SETTLED = 2.0, 6.0, 3.0


class NetAnnealer:
    """The annealer with trees of one problem. Runs copy what they change, so that several threads may run it."""

    def __init__(self, problem: StaticProblem, graph: PlacedGraph, edges: Edges, grid: TileGrid) -> None:
        self.problem = problem
        self._graph, self._edges, self._grid = graph, edges, grid

    def run(
        self, position: Int32s, allowed: Bools, *, moves: int, seed: int, stop: Uint8s
    ) -> tuple[Int32s, GridRoutes, int]:
        """(placement, routes, moves) from a placement that obeys ``allowed``.

        Routes are shortest ways and may be in conflict, in which case an edge may have none.
        """
        from gridloom.targets.grid.mappers.place.nets_kernel import SLOTS, NetLayout, NetMoves, anneal_nets

        p = self.problem
        occupant = np.full(p.tiles, -1, dtype=np.int32)
        occupant[position] = np.arange(p.size, dtype=np.int32)
        edges, links = max(1, len(p.edges)), max(1, p.links.count)
        way = np.full((edges, max(1, int(p.hops.max(initial=1)))), -1, dtype=np.int32)
        length, used = np.zeros(edges, dtype=np.int32), np.zeros(links, dtype=np.int32)
        slots = np.zeros((2, links, SLOTS), dtype=np.int32)
        layout = NetLayout(position.copy(), occupant, way, length, used, slots[0], slots[1])
        schedule = NetMoves(HOT, COLD, _CHEAP, _DEAR, _SETTLED, moves)
        _, _, made = anneal_nets(
            self._graph, self._edges, self._grid._replace(allowed=allowed), link_tables(p), layout, schedule, seed, stop
        )
        length = length[: len(p.edges)]
        lost = int((length[p.source != p.target] == 0).sum())
        return layout.position, GridRoutes(way, length, used, int(np.maximum(used - 1, 0).sum()), lost), int(made)
