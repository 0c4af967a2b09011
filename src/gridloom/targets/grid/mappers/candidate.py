"""A placement on a static grid with its routes and issue cycles: what searches make and compare."""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.search.arrays import Int32s
from gridloom.targets.grid.mappers.balance.exact import Balance
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes

Score = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlacementCandidate:
    """A placement with what became of it. ``score`` is compared first to last; its head is 0 for legal ones.

    The head is 1 where everything is routed but no issue cycles obey the rules, and 2 where links are missing.
    ``position[node]`` is the tile of each node. ``balance`` is None for the last two kinds. ``moves`` is what the
    candidate has cost, which the clock counts.
    """

    score: Score
    position: Int32s
    routes: GridRoutes
    balance: Balance | None
    moves: int

    @property
    def legal(self) -> bool:
        """True when it is routed and balanced."""
        return self.balance is not None and self.routes.legal
