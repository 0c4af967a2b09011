"""Placements annealed together with shortest ways: see :mod:`gridloom.targets.grid.mappers.place.ways_kernel`.

This is the side of the kernel that Python sees. It lists the shortest ways between tiles once for each problem and runs
the kernel with one of two aims: short wires for which every signal has its links (:meth:`WaysAnnealer.run`), or close
tiles, whatever links that takes (:meth:`WaysAnnealer.place`). A first run only knows ways of up to five links. Where it
leaves conflicts, runs at higher prices and with longer ways follow, each from the placement before.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gridloom.search.arrays import Int32s, Uint8s
from gridloom.targets.grid.mappers.problem import Edges, PlacedGraph, StaticProblem, TileGrid
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes, link_tables

if TYPE_CHECKING:
    from gridloom.targets.grid.mappers.place.ways_kernel import WayList

# Between these temperatures (in links) nodes settle; the rest of a schedule would be spent on noise and on nothing.
HOT, COLD = 0.7, 0.3

# What a conflict costs, in links: more than one, and nodes hardly pass each other any more. Where conflicts are left,
# hotter runs with higher prices follow: (price, first temperature).
_PRICE = 1.0
# The same where only the placement is to be close: routes may take detours.
_CHEAP = 0.5
_DEARER = ((3.0, 1.0), (6.0, 0.9))

# Links of an edge beyond which it counts as a conflict in first runs: good mappings have no longer ones.
_NEAR = 5

# What a conflict counts when states are ranked, in links: no number of links is worth one, or none is worth a link.
_MOST, _LEAST = 1e6, 1e-3


class WaysAnnealer:
    """The annealer with shortest ways of one problem, with its graph and its grid as kernels see them.

    ``StaticSearch`` makes it once. Runs copy what they change, so that several threads may run it.
    """

    def __init__(self, problem: StaticProblem, graph: PlacedGraph, edges: Edges, grid: TileGrid) -> None:
        self.problem = problem
        self._graph, self._edges, self._grid = graph, edges, grid

    @cached_property
    def ways(self) -> WayList:
        """The shortest ways between tiles. Listing them takes time and memory of tiles^2, once per problem."""
        from gridloom.targets.grid.mappers.place.ways_kernel import WayList, list_ways

        return WayList(*list_ways(link_tables(self.problem)))

    @cached_property
    def near(self) -> WayList:
        """The same, with ways of a few links only."""
        ways = self.ways
        return ways._replace(listed=np.where(ways.hops <= _NEAR, ways.listed, 0).astype(np.int32))

    def run(
        self, position: Int32s, *, moves: int, seed: int, stop: Uint8s, hot: float = HOT
    ) -> tuple[Int32s, GridRoutes, int]:
        """(placement, routes, moves) from a placement: the shortest wires found for which every signal has its links.

        Where no such placement was met, that with the fewest conflicts, with the routes it has; edges may be without.
        """
        position, routes, made = self._cooled(self.near, position, hot, _PRICE, moves, seed, stop)
        for price, warm in _DEARER:
            if routes.legal or stop[0]:
                break
            position, routes, more = self._cooled(self.ways, position, warm, price, moves, seed + 1, stop)
            made += more
        return position, routes, made

    def place(
        self, position: Int32s, *, moves: int, seed: int, stop: Uint8s, hot: float = HOT
    ) -> tuple[Int32s, GridRoutes, int]:
        """The same for the closest placement found, of equally close ones that with the fewest conflicts."""
        return self._cooled(self.near, position, hot, _CHEAP, moves, seed, stop, worth=_LEAST)

    def _cooled(
        self,
        near: WayList,
        position: Int32s,
        hot: float,
        price: float,
        moves: int,
        seed: int,
        stop: Uint8s,
        worth: float = _MOST,
    ) -> tuple[Int32s, GridRoutes, int]:
        """One run of the kernel from a placement, with all routes laid anew: (placement, routes, moves).

        ``near`` lists the ways that edges may take, ``price`` is what a conflict costs a move and ``worth`` what it
        counts when states are ranked, both in links.
        """
        from gridloom.targets.grid.mappers.place.ways_kernel import REACH, RouteLayout, RouteMoves, anneal_ways

        p = self.problem
        occupant = np.full(p.tiles, -1, dtype=np.int32)
        occupant[position] = np.arange(p.size, dtype=np.int32)
        way = np.full((max(1, len(p.edges)), REACH), -1, dtype=np.int32)
        length = np.zeros(len(way), dtype=np.int32)
        layout = RouteLayout(position.copy(), occupant, way, length, np.zeros(max(1, p.links.count), dtype=np.int32))
        schedule = RouteMoves(hot, COLD, price, moves, worth)
        _, _, made = anneal_ways(self._graph, self._edges, self._grid, near, layout, schedule, seed, stop)
        length = length[: len(p.edges)]
        lost = int((length[p.source != p.target] == 0).sum())
        overuse = int(np.maximum(layout.used - 1, 0).sum())
        return layout.position, GridRoutes(way, length, layout.used, overuse, lost), int(made)
