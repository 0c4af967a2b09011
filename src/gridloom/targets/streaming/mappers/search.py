"""What the mappers for tiles with spokes share: IIs upwards, first placements, the best so far.

A mapper supplies ``attempt``, one batch of work at one II; ``sweep`` decides which II gets the next batch. That way all
mappers, learned ones as well, spend a budget by the same rule, and differ only in how they look for placements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gridloom.mapping.model import Failure
from gridloom.search.arrays import Int32s
from gridloom.search.budget import SearchClock
from gridloom.targets.streaming.mappers.kernel import sample
from gridloom.targets.streaming.mappers.mapping import SpokeSchedule, realise
from gridloom.targets.streaming.mappers.problem import SpokesProblem
from gridloom.targets.streaming.mappers.screening import least_ii, tile_assignment

#: More cycles than any placement has.
ENDLESS = 1 << 28

#: Random placements tried before tiles are searched for by backtracking.
_TRIES = 50
#: Drawn slots of which a node takes the soonest: first placements should not sprawl.
_GREED = 8


def iis(problem: SpokesProblem, asked: int | None) -> Iterator[int]:
    """The IIs to try: the one asked for, or from the least possible to the number of spokes."""
    if asked is not None:
        yield asked
        return
    yield from range(least_ii(problem), problem.spokes + 1)


def first_placement(
    problem: SpokesProblem, ii: int, seed: int, stop: NDArray[np.uint8] | None = None
) -> tuple[Int32s, Int32s] | None:
    """A placement that keeps C1 to C3 and the slots: the best of a few greedy ones, else one found by backtracking.

    (tile, spoke), or None when both fail or ``stop`` is set before there is one. Links and delay registers are not
    looked at, and a placement by backtracking may leave carried values too little time. Pinned nodes are on their
    tiles.
    """
    tile = np.zeros(problem.size, dtype=np.int32)
    spoke = np.zeros(problem.size, dtype=np.int32)
    stop = np.zeros(1, dtype=np.uint8) if stop is None else stop
    _, whole, _ = sample(problem.tables, ii, seed & 0xFFFFFFFF, _TRIES, _GREED, stop, tile, spoke, ENDLESS)
    if whole:
        return tile, spoke
    if stop[0]:
        return None
    tiles, _ = tile_assignment(problem, ii)
    if tiles is None:
        return None
    taken: dict[int, int] = {}
    for n in range(problem.size):
        t = int(tiles[n])
        spoke[n] = taken.get(t, 0)
        taken[t] = int(spoke[n]) + 1
    return tiles, spoke


def longest_path(problem: SpokesProblem) -> int:
    """Cycles that no placement is below: the longest chain of dependences, with no time between tiles.

    Carried dependences are left out. Linear in the edges.
    """
    tables = problem.tables
    ready = np.zeros(problem.size, dtype=np.int64)
    for n in range(problem.size):
        row = slice(int(tables.pred_at[n]), int(tables.pred_at[n + 1]))
        same = tables.pred_distance[row] == 0
        ready[n] = (ready[tables.pred[row]] + tables.pred_lag[row])[same].max(initial=0)
    return int(ready.max(initial=0)) + problem.latency


@dataclass
class Best:
    """The best placement so far, by II first and cycles next; illegal ones are kept apart."""

    legal: SpokeSchedule | None = None
    closest: SpokeSchedule | None = None
    tried: list[int] = field(default_factory=list)

    def take(
        self, problem: SpokesProblem, ii: int, tile: Int32s, spoke: Int32s, late: Callable[[], bool] = lambda: False
    ) -> None:
        """Schedule and route a placement, and keep it if it is the best; ``late`` ends the routing early."""
        self.keep(realise(problem, ii, tile, spoke, late))

    def keep(self, found: SpokeSchedule | None) -> None:
        """Keep a placement that has its routes already, if it is the best legal one or the one nearest to legal."""
        if found is None:
            return
        if found.violations:
            if self.closest is None or found.violations < self.closest.violations:
                self.closest = found
        elif self.legal is None or (found.ii, found.cycles) < (self.legal.ii, self.legal.cycles):
            self.legal = found

    @property
    def words(self) -> str:
        """The best legal placement for a progress report; empty: there is none."""
        return "" if self.legal is None else f"II {self.legal.ii}, {self.legal.cycles} cycles"

    def failure(self) -> Failure:
        """Why there is no mapping: the IIs that were tried, and what the nearest placement lacks."""
        span = f"II {self.tried[0]} to {self.tried[-1]}" if self.tried else "no II"
        left = "no placement" if self.closest is None else f"{self.closest.violations} values without one at best"
        last = self.tried[-1] + 1 if self.tried else 1
        return Failure(
            constraint=f"search at {span}",
            demand="a link and a delay register for every value",
            bound=left,
            levers=("more time or effort", f"spokes={last}", "more delays", "level=paper"),
        )


def sweep(
    problem: SpokesProblem,
    asked: int | None,
    clock: SearchClock,
    attempt: Callable[[int, Best, int], bool],
    patience: int,
) -> Best:
    """Call ``attempt(ii, best, turn)`` for IIs upwards until one has a placement, then for that one and those below.

    ``attempt`` makes one batch of work, the larger the later its turn, and returns True when its II cannot be bettered
    any more. Without a limit it is called ``patience`` times for the II that is kept. Every II gets one batch before
    the search fails, also when the budget ends before, unless the time limit is long past; after that the two largest
    IIs get the rest. Ends early once nothing can become better.
    """
    best = Best()
    candidates = list(iis(problem, asked))
    turns = dict.fromkeys(candidates, 0)

    def once(ii: int) -> bool:
        """One batch at an II, counted and reported."""
        done = attempt(ii, best, turns[ii])
        turns[ii] += 1
        clock.report(f"II {ii}", best.words)
        return done

    order = candidates
    while best.legal is None and not (clock.budget.unlimited and turns[candidates[-1]] >= patience):
        for ii in order:
            best.tried = sorted({*best.tried, ii})
            once(ii)
            if best.legal is not None or (clock.over() and (asked is not None or ii == candidates[-1])) or clock.late:
                break
        # Where no II had a placement at once, one is likeliest at the largest, which have most room.
        order = candidates[-2:][::-1]
        if clock.over():
            break
    _improve(best, candidates, turns, once, clock, patience)
    return best


def _improve(
    best: Best,
    candidates: list[int],
    turns: dict[int, int],
    once: Callable[[int], bool],
    clock: SearchClock,
    patience: int,
) -> None:
    """Spend the rest of the budget on the II that was found, and in turn on those below it.

    The lower IIs are tried from the nearest down, each between two batches of the kept II. Ends when the kept II is the
    lowest and cannot be bettered.
    """
    below = 0
    while best.legal is not None and not clock.over():
        ii = best.legal.ii
        if clock.budget.unlimited and turns[ii] >= patience:
            return
        lower = [other for other in candidates if other < ii]
        if lower:
            once(lower[-1 - below % len(lower)])
            below += 1
            if best.legal.ii < ii or clock.over():
                continue
        if once(ii) and not lower:
            return
