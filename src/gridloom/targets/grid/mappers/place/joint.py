"""Nodes, routes and cycles annealed together: see :mod:`gridloom.targets.grid.mappers.place.joint_kernel`.

This is the side of the kernel that Python sees: it makes the kernel's tables once for each problem, copies a placement
and its routes into a layout with room for longer routes, and turns what the kernel leaves into :class:`GridRoutes`. It
is the slowest and strongest of the placers, used where the plain annealer and the router ended without a legal result.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridloom.search.arrays import Bools, Int32s, Uint8s
from gridloom.targets.grid.mappers.balance.exact import IssueTiming
from gridloom.targets.grid.mappers.problem import Edges, PlacedGraph, TileGrid
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes, link_tables

if TYPE_CHECKING:
    from gridloom.targets.grid.mappers.place.joint_kernel import Problem

# Room for routes beyond the longest of the shortest ways.
_SPARE = 10

# States that the searches of a run may visit, for each move: long windows make moves dear.
_VISITS = 120


class JointAnnealer:
    """The joint annealer of one problem, with its graph and its grid as kernels see them.

    ``StaticSearch`` makes it once; runs share the tables and copy everything that they change, so that several threads
    may run it.
    """

    def __init__(self, timing: IssueTiming, graph: PlacedGraph, edges: Edges, grid: TileGrid) -> None:
        self.timing = timing
        self.problem = timing.problem
        self._graph, self._edges, self._grid = graph, edges, grid

    @cached_property
    def tables(self) -> Problem:
        """The kernel's view of the problem."""
        from gridloom.targets.grid.mappers.place.joint_kernel import MeetingTimes as Times
        from gridloom.targets.grid.mappers.place.joint_kernel import Problem

        p = self.problem
        wait = (p.reach[p.source] - p.distance - 1).astype(np.int32)
        return Problem(self._graph, self._edges, Times(self.timing.tied, wait, p.fifo, p.operand), link_tables(p))

    def run(
        self,
        position: Int32s,
        routes: GridRoutes,
        issue: NDArray[Any] | None,
        allowed: Bools,
        *,
        bound: int,
        moves: int,
        seed: int,
        stop: Uint8s,
        first_legal: bool = True,
        hot: float = 1.0,
        cold: float = 0.3,
        price: float = 6.0,
        hop: float = 0.5,
    ) -> tuple[Int32s, GridRoutes, int]:
        """(placement, routes, moves) from a placement and whatever routes it has.

        With issue cycles the run is timed and ``bound`` is the deepest FIFO; without, ``bound`` is how much longer than
        the shortest way a route may be. ``moves`` bounds the moves, and searches may visit 120 states for each of them.
        ``first_legal`` ends at the first legal state instead of searching for short wires. ``hot`` and ``cold`` are the
        temperatures, ``price`` what a signal without a link costs, ``hop`` what a hop costs a search, all in links. The
        arguments are not changed; issue cycles are not returned, since balancing finds them anew for the routes.
        """
        from gridloom.targets.grid.mappers.place.joint_kernel import JointLayout, MoveRules, anneal_jointly

        p = self.problem
        width = max(routes.way.shape[1], int(p.hops.max(initial=0)) + _SPARE)
        way = np.full((len(routes.way), width), -1, dtype=np.int32)
        way[:, : routes.way.shape[1]] = routes.way
        cycles = np.zeros(p.size, dtype=np.int32) if issue is None else issue.astype(np.int32)
        layout = JointLayout(position.copy(), cycles, way, routes.length.copy(), routes.used.copy())
        rules = MoveRules(issue is not None, bound, price, hop, hot, cold, moves, moves * _VISITS, first_legal)
        grid = self._grid._replace(allowed=allowed)
        over, made = anneal_jointly(self.tables, grid, layout, rules, seed, stop)
        lost = int((layout.length[p.source != p.target] == 0).sum())
        return (
            layout.position,
            GridRoutes(way, layout.length, layout.used, int(over) if not lost else 0, lost),
            int(made),
        )
