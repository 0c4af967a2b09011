"""Placements annealed together with shortest ways: see :mod:`gridloom.mappers.grid.place.ways_kernel`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gridloom.mappers.grid.problem import Bools, Ints, StaticProblem
from gridloom.mappers.grid.route.pathfinder import Routes

if TYPE_CHECKING:
    from gridloom.mappers.grid.place.ways_kernel import Ground

# Between these temperatures (in links) nodes settle; the rest of a schedule would be spent on noise and on nothing.
HOT, COLD = 0.7, 0.3

# What a fight costs, in links: more than one, and nodes hardly pass each other any more. Where fights are left, hotter
# runs with higher prices follow: (price, first temperature).
_PRICE = 1.0
# The same where only the placement is to be close: routes may take detours.
_CHEAP = 0.5
_DEARER = ((3.0, 1.0), (6.0, 0.9))

# Links of an edge beyond which it counts as a fight in first runs: good mappings have no longer ones.
_NEAR = 5

# What a fight counts when states are ranked, in links: no number of links is worth one, or none is worth a link.
_MOST, _LEAST = 1e6, 1e-3


class WaysAnnealer:
    """The annealer with shortest ways of one problem, with the nodes that stay and the grid's shape."""

    def __init__(self, problem: StaticProblem, movable: Ints, fixed_tiles: Bools, grid: Ints) -> None:
        self.problem = problem
        self._movable, self._fixed, self._grid = movable, fixed_tiles, grid

    @cached_property
    def ground(self) -> Ground:
        """The kernel's view of the problem."""
        from gridloom.mappers.grid.place.ways_kernel import Ground, list_ways

        p, links = self.problem, self.problem.links
        starts, incident = p.incident
        owner = np.repeat(np.arange(p.size, dtype=np.int32), np.diff(starts))
        net_at, net = p.nets
        pair, listed, ways = list_ways(
            p.hops, links.target, links.leaving_at, links.leaving, links.following_at, links.following
        )
        return Ground(
            movable=self._movable,
            fixed=self._fixed,
            kind=p.kind,
            allowed=p.allowed,
            starts=starts,
            incident=incident,
            neighbour=np.where(p.source[incident] == owner, p.target[incident], p.source[incident]).astype(np.int32),
            source=p.source,
            target=p.target,
            net_at=net_at,
            net=net,
            hops=p.hops,
            row=p.row,
            col=p.col,
            grid=self._grid,
            pair=pair,
            listed=listed,
            ways=ways,
        )

    @cached_property
    def near(self) -> Ground:
        """The same, with ways of a few links only."""
        ground = self.ground
        return ground._replace(listed=np.where(ground.hops <= _NEAR, ground.listed, 0).astype(np.int32))

    def run(
        self, position: Ints, *, moves: int, seed: int, stop: NDArray[np.uint8], hot: float = HOT
    ) -> tuple[Ints, Routes, int]:
        """(placement, routes, moves) from a placement: the shortest wires found for which every signal has its links.

        Where no such placement was met, that with the fewest fights, with the routes it has; edges may be without.
        """
        position, routes, made = self._cooled(self.near, position, hot, _PRICE, moves, seed, stop)
        for price, warm in _DEARER:
            if routes.legal or stop[0]:
                break
            position, routes, more = self._cooled(self.ground, position, warm, price, moves, seed + 1, stop)
            made += more
        return position, routes, made

    def place(
        self, position: Ints, *, moves: int, seed: int, stop: NDArray[np.uint8], hot: float = HOT
    ) -> tuple[Ints, Routes, int]:
        """The same for the closest placement found, of equally close ones that with the fewest fights."""
        return self._cooled(self.near, position, hot, _CHEAP, moves, seed, stop, worth=_LEAST)

    def _cooled(
        self,
        ground: Ground,
        position: Ints,
        hot: float,
        price: float,
        moves: int,
        seed: int,
        stop: NDArray[np.uint8],
        worth: float = _MOST,
    ) -> tuple[Ints, Routes, int]:
        from gridloom.mappers.grid.place.ways_kernel import REACH, Course, Plan, anneal_ways

        p = self.problem
        occupant = np.full(p.tiles, -1, dtype=np.int32)
        occupant[position] = np.arange(p.size, dtype=np.int32)
        way = np.full((max(1, len(p.edges)), REACH), -1, dtype=np.int32)
        length = np.zeros(len(way), dtype=np.int32)
        plan = Plan(position.copy(), occupant, way, length, np.zeros(max(1, p.links.count), dtype=np.int32))
        _, _, made = anneal_ways(ground, plan, Course(hot, COLD, price, moves, worth), seed, stop)
        length = length[: len(p.edges)]
        lost = int((length[p.source != p.target] == 0).sum())
        overuse = int(np.maximum(plan.used - 1, 0).sum())
        return plan.position, Routes(way, length, plan.used, overuse, lost), int(made)
