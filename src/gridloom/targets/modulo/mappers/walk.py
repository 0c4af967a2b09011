"""The walk of ``modulo`` over IIs: a first mapping is built, then IIs are tried upwards from the bound, then below.

The first mapping is that of a list start (:mod:`gridloom.targets.modulo.mappers.listed`) at twice the bound; where that
fails, the II doubles. From a mapping on, IIs halfway to the bound are tried the same way while they succeed. A
small loop, which is as a rule mapped at its bound at once, gets a batch of starts there first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gridloom.mapping.mii import Mii
from gridloom.mapping.model import Failure
from gridloom.search.budget import SearchClock
from gridloom.targets.modulo.mappers.mapping import Solution, find_congestion, look_at
from gridloom.targets.modulo.mappers.recompute import with_copies
from gridloom.targets.modulo.mappers.search import ANNEALING, BATCH, LARGE, PULL, ModuloAttempt, ModuloSearch
from gridloom.targets.modulo.mappers.state import Parameters

if TYPE_CHECKING:
    from gridloom.targets.modulo.mappers.config import ModuloConfig


class Walk:
    """II by II: first upwards until something is found, then below that.

    ``found`` is the best solution so far; each one has a lower II than the one before. ``closest`` is the attempt with
    the least overuse, for the report when nothing is found.
    """

    def __init__(self, search: ModuloSearch, config: ModuloConfig, clock: SearchClock, bound: Mii) -> None:
        self.search = search
        self.config = config
        self.clock = clock
        self.bound = bound
        #: Batches made at each II.
        self.batches: dict[int, int] = {}
        self.closest: ModuloAttempt | None = None
        self.found: Solution | None = None
        #: IIs of the mappings that list starts have built.
        self.constructed: list[int] = []

    def best(self) -> Solution | None:
        """The solution with the lowest II found before the MII was reached or the budget was used up; None: none."""
        large = len(self.search.problem.nodes) >= LARGE
        if large:
            self._construct(self.clock)
        for ii in self._upwards():
            if self.found is not None and ii >= self.found.ii:
                break
            if self._try(ii, self.effort(0), self.clock) or self.clock.over():
                break
            if not large and ii == self.bound.total:
                self._construct(self.clock)
        if self.config.ii is None:
            self._below()
        else:
            self._insist(self.config.ii)
        return self.found

    def _construct(self, clock: SearchClock) -> None:
        """Build a first mapping by list starts, and go halfway to the bound while that succeeds.

        Nothing is built where an II is asked for, or where clocks count, whose walk begins at the bound.
        """
        if self.config.ii is not None or self.search.counts_clocks(self.config):
            return
        last, ii = self._last(), min(2 * self.bound.total, self._last())
        while not clock.over():
            won, closest = self.search.batch(ii, 0, None, clock)
            if self.closest is None or closest.overuse <= self.closest.overuse:
                self.closest = closest
            if won is not None:
                self.found = won.solution
                self.constructed.append(ii)
            clock.report(f"II {ii}", "" if self.found is None else f"II {self.found.ii}")
            if self.found is None:
                following = min(last, 2 * ii)
            else:
                following = ii if won is None else (self.bound.total + ii) // 2
            if following == ii:
                return
            ii = following

    def _upwards(self) -> Iterator[int]:
        """The IIs of the first walk: the one asked for, or those from the bound up to where a serial schedule fits.

        Contexts limit them, too. Steps grow with the distance from the bound.
        """
        if self.config.ii is not None:
            yield self.config.ii
            return
        last = self._last()
        ii, step = self.bound.total, 1
        while ii <= last:
            yield ii
            # Far above the bound a finer walk only costs time; what is skipped is tried afterwards.
            step = 1 + (ii - self.bound.total) // 4
            ii += step

    def _last(self) -> int:
        """The highest II that is worth a try: the contexts of a tile end it, or one node after the other."""
        contexts = [tile.contexts for tile in self.search.problem.arch.tiles if tile.contexts is not None]
        serial = 4 * len(self.search.problem.nodes) + self.bound.total + 8
        return min([*contexts, max(serial, self.bound.total)])

    def _below(self) -> None:
        """Try IIs below the best one, the nearest first, with more patience from pass to pass."""
        turn = 1
        while self.found is not None and self.found.ii > self.bound.total and not self.clock.over():
            if turn > self.passes():
                return
            before = self.found.ii
            for ii in range(before - 1, self.bound.total - 1, -1):
                if self._try(ii, self.effort(turn), self.clock) or self.clock.over():
                    break
            if self.found.ii == before:
                turn += 1

    def _insist(self, ii: int) -> None:
        """Go on at an II that was asked for, with more patience from pass to pass, until it has a mapping."""
        turn = 1
        while self.found is None and not self.clock.over():
            if turn > self.passes():
                return
            self._try(ii, self.effort(turn), self.clock)
            turn += 1

    def _try(self, ii: int, effort: Parameters, clock: SearchClock, *, any_wins: bool = False) -> bool:
        """Run a batch at an II under a clock; True when it finds a mapping, which is then the best.

        With ``any_wins`` the batch ends with the first mapping in time, whichever start it is from.
        """
        number = self.batches.get(ii, 0)
        self.batches[ii] = number + 1
        won, closest = self._search_of(ii, number).batch(ii, number * BATCH, effort, clock, any_wins=any_wins)
        if self.closest is None or closest.overuse <= self.closest.overuse:
            self.closest = closest
        if won is not None:
            self.found = won.solution
        shown = closest if won is None else won
        self.clock.report(
            f"II {ii}",
            "" if self.found is None else f"II {self.found.ii}",
            look=lambda: look_at(shown.solution, 0 if shown.found else shown.overuse),
        )
        return won is not None

    def _search_of(self, ii: int, number: int) -> ModuloSearch:
        """The search of a batch: every third one computes some nodes more than once."""
        if number % 3 != 2 or not self.config.recompute:
            return self.search
        rng = np.random.default_rng((self.clock.budget.seed, ii, number))
        problem = with_copies(self.search.problem, self.search.loop(ii).preferred, ii, rng)
        return self.search if problem is None else ModuloSearch(problem)

    def passes(self) -> float:
        """The passes below the best II: without a limit as many as are asked for; none where clocks count."""
        if self.search.counts_clocks(self.config) and self.config.ii is None:
            return 0
        return self.config.passes if self.clock.budget.unlimited else math.inf

    def effort(self, turn: int) -> Parameters:
        """The parameters of a pass: moves and patience double from pass to pass, up to ``doublings`` times."""
        c = self.config
        times = 2 ** min(turn, c.doublings)
        # Where effort is the limit, small graphs do without annealing, which would take most of it.
        small = len(self.search.problem.nodes) < LARGE
        anneals = not (small and self.clock.budget.effort is not None)
        return Parameters(
            moves=c.moves * times, patience=c.patience * times, present=c.present, growth=c.growth, ceiling=c.ceiling,
            history=c.history, noise=c.noise, extra=c.extra, pull=PULL, removal=c.removal,
            annealing=ANNEALING * c.moves * times if anneals else 0,
        )  # fmt: skip

    def record(self) -> dict[str, Any]:
        """What the provenance says beside what every mapper writes."""
        return {"constructed": self.constructed} if self.constructed else {}

    def span(self) -> str:
        """The IIs that were tried, in words."""
        tried = sorted(self.batches)
        return f"II {tried[0]}" if len(tried) == 1 else f"II {tried[0]} to {tried[-1]}"

    def failure(self) -> Failure:
        """What was short when the budget ended."""
        left = self.closest.overuse if self.closest is not None else 0
        crowded = find_congestion(self.closest.solution) if self.closest is not None else ()
        judged = 0 < left < 1 << 30
        return Failure(
            constraint=f"search at {self.span()}",
            demand="a slot or register for every signal",
            bound=f"{left} signals without one at best" if judged else "an end before the first round",
            levers=self._levers(judged),
            congested=crowded,
            cause="limit" if self.clock.over() else "exhausted",
        )

    def _levers(self, judged: bool) -> tuple[str, ...]:
        """What would help: a search that was cut short says nothing of the array, nor of the seed."""
        late = self.clock.remaining == 0
        more = "more time" if late else "more time or effort"
        if not judged:
            return (more,)
        larger = f"II {max(self.batches) + 1}"
        return (more, larger) if late else (more, "another seed", larger, "more registers")
