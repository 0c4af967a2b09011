"""Nodes, routes and cycles annealed together: see :mod:`gridloom.mappers.grid.place.joint_kernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridloom.mappers.grid.balance.exact import Timing
from gridloom.mappers.grid.problem import Bools, Ints
from gridloom.mappers.grid.route.pathfinder import Routes

if TYPE_CHECKING:
    from gridloom.mappers.grid.place.joint_kernel import Field

# Room for routes beyond the longest of the shortest ways.
_SPARE = 10

# States of searches that a run may visit, by move: long windows make moves dear.
_VISITS = 120


class JointAnnealer:
    """The joint annealer of one problem, with the nodes that stay and the grid's shape."""

    def __init__(self, timing: Timing, movable: Ints, fixed_tiles: Bools, grid: Ints) -> None:
        self.timing = timing
        self.problem = timing.problem
        self._movable, self._fixed, self._grid = movable, fixed_tiles, grid
        self._field: Field | None = None

    @property
    def field(self) -> Field:
        """The kernel's view of the problem."""
        if self._field is None:
            from gridloom.mappers.grid.place.joint_kernel import Field

            p = self.problem
            starts, incident = p.incident
            owner = np.repeat(np.arange(p.size, dtype=np.int32), np.diff(starts))
            net_at, net = p.nets
            self._field = Field(
                movable=self._movable,
                fixed=self._fixed,
                tied=self.timing.tied,
                kind=p.kind,
                allowed=p.allowed,
                starts=starts,
                incident=incident,
                neighbour=np.where(p.source[incident] == owner, p.target[incident], p.source[incident]).astype(
                    np.int32
                ),
                source=p.source,
                target=p.target,
                wait=(p.latency[p.source] - p.distance - 1).astype(np.int32),
                net_at=net_at,
                net=net,
                hops=p.hops,
                row=p.row,
                col=p.col,
                grid=self._grid,
                fifo=p.fifo,
                link_target=p.links.target,
                leaving_at=p.links.leaving_at,
                leaving=p.links.leaving,
                following_at=p.links.following_at,
                following=p.links.following,
            )
        return self._field

    def run(
        self,
        position: Ints,
        routes: Routes,
        issue: NDArray[Any] | None,
        allowed: Bools,
        *,
        bound: int,
        moves: int,
        seed: int,
        stop: NDArray[np.uint8],
        first_legal: bool = True,
        hot: float = 1.0,
        cold: float = 0.3,
        price: float = 6.0,
        hop: float = 0.5,
    ) -> tuple[Ints, Routes, int]:
        """(placement, routes, moves) from a placement and whatever routes it has.

        With issue cycles the run is timed and ``bound`` is the deepest FIFO; without, ``bound`` is how much longer
        than the shortest way a route may be.
        """
        from gridloom.mappers.grid.place.joint_kernel import Layout, Rules, anneal_jointly

        p = self.problem
        width = max(routes.way.shape[1], int(p.hops.max(initial=0)) + _SPARE)
        way = np.full((len(routes.way), width), -1, dtype=np.int32)
        way[:, : routes.way.shape[1]] = routes.way
        cycles = np.zeros(p.size, dtype=np.int32) if issue is None else issue.astype(np.int32)
        layout = Layout(position.copy(), cycles, way, routes.length.copy(), routes.used.copy())
        rules = Rules(issue is not None, bound, price, hop, hot, cold, moves, moves * _VISITS, first_legal)
        over, made = anneal_jointly(self.field._replace(allowed=allowed), layout, rules, seed, stop)
        lost = int((layout.length[p.source != p.target] == 0).sum())
        return layout.position, Routes(way, layout.length, layout.used, int(over) if not lost else 0, lost), int(made)
