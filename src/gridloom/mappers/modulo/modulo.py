"""``modulo``: scheduling, placement and routing together on the time-expanded resource graph of a torus-like array.

After negotiated congestion (McMurchie and Ebeling, PathFinder, 1995) as SPR (Friedman et al. 2009) brought it to
modulo-scheduled arrays, and iterative modulo scheduling (Rau 1994). The idea:

1. for II from MII on, many starts; each places nodes one by one at the (tile, cycle) of least routing cost;
2. costs are found cycle by cycle over output registers, register files, moves and spills, branches share for free;
3. overuse is paid for; what touches it is taken out and placed again, crowded places grow dearer;
4. starts differ in order, in random numbers, in how many registers rotate and in which nodes are computed more than
   once; short ones raise the II until one succeeds;
5. the rest of the budget goes to lower IIs, with more patience from pass to pass.

Cost: a move (placing one node with its edges) is O(edges * window * (tiles * links + registers)). Limits: needs output
registers and no operand FIFOs (torus and presets); all files of an array rotate alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mappers.budget import Budget, Clock
from gridloom.mappers.choice import refuse_unsuited
from gridloom.mappers.modulo.mapping import Solution, congested, to_mapping
from gridloom.mappers.modulo.problem import ModuloProblem
from gridloom.mappers.modulo.recompute import with_copies
from gridloom.mappers.modulo.screening import screen, with_pins
from gridloom.mappers.modulo.search import BATCH, PULL, Attempt, ModuloSearch
from gridloom.mappers.modulo.state import Parameters
from gridloom.mappers.origin import origin
from gridloom.mappers.placements import GivenPlacements, given_tiles, misplaced
from gridloom.mappers.settings import check_settings
from gridloom.mapping.mii import Mii, mii
from gridloom.mapping.model import Failure, Mapping


@dataclass(frozen=True, kw_only=True)
class ModuloConfig(GivenPlacements):
    """Settings of ``modulo``; the starts of a batch vary the prices at random around these values."""

    #: The II to map at; None: from the MII on, the lowest that is found.
    ii: int | None = None
    #: Moves per node after which a start of the first walk gives up.
    moves: int = 24
    #: Rounds without progress after which a start of the first walk gives up.
    patience: int = 15
    #: How often ``moves`` and ``patience`` double at most, from pass to pass.
    doublings: int = 4
    #: Passes over IIs below the best when the budget has no limit.
    passes: int = 4
    #: What each signal in a slot adds to its price at first, as a multiple of the price of the empty slot.
    present: float = 0.6
    #: The largest value that ``present`` grows to.
    ceiling: float = 12.0
    #: The factor by which ``present`` grows from round to round.
    growth: float = 1.06
    #: What a round of overuse adds to the price of a slot for the rest of the start.
    history: float = 0.3
    #: Random part of a candidate's price.
    noise: float = 0.05
    #: Cycles beyond one II in which a node is tried.
    extra: int = 3
    #: The probability that what touches overuse is taken out in a round.
    removal: float = 0.65
    #: Whether nodes may be computed more than once.
    recompute: bool = True

    def __post_init__(self) -> None:
        check_settings(
            self,
            at_least={
                "ii": 1,
                "moves": 1,
                "patience": 1,
                "doublings": 0,
                "passes": 0,
                "extra": 0,
                "history": 0,
                "noise": 0,
            },
            positive=("present", "ceiling", "growth", "removal"),
        )


def modulo(dfg: Dfg, arch: Arch, config: ModuloConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of a loop on a torus-like array at the lowest II found, or why there is none.

    Runs until the II is the MII, the budget is used up, or (budget without limit) ``config.passes`` passes over lower
    IIs found nothing better. OptionError for another kind of array, or a placement that names what is not there.
    """
    refuse_unsuited("modulo", dfg, arch)
    pinned, first = given_tiles(dfg, arch, config, shared=True)
    problem = ModuloProblem(dfg, arch, pinned=pinned, first=first)
    bound = with_pins(mii(dfg, arch), problem)
    reason = misplaced(dfg, arch, pinned | first) or screen(problem, bound, config.ii)
    if reason is not None:
        return reason
    search = ModuloSearch(problem)
    search.warm_up()
    clock = budget.start()
    walk = _Walk(search, config, clock, bound)
    best = walk.best()
    clock.report("done", "" if best is None else f"II {best.ii}")
    if best is None:
        return walk.failure()
    return to_mapping(best, origin("modulo", config, clock, optimal=best.ii == bound.total))


class _Walk:
    """II by II: first upwards until something is found, then below that.

    ``found`` is the best solution so far; each one has a lower II than the one before. ``closest`` is the attempt with
    the least overuse, for the report when nothing is found.
    """

    def __init__(self, search: ModuloSearch, config: ModuloConfig, clock: Clock, bound: Mii) -> None:
        self.search = search
        self.config = config
        self.clock = clock
        self.bound = bound
        #: Batches made at each II.
        self.batches: dict[int, int] = {}
        self.closest: Attempt | None = None
        self.found: Solution | None = None

    def best(self) -> Solution | None:
        """The solution with the lowest II found before the MII was reached or the budget was used up; None: none."""
        for ii in self._upwards():
            if self._try(ii, 0) or self.clock.over():
                break
        if self.config.ii is None:
            self._below()
        else:
            self._insist(self.config.ii)
        return self.found

    def _upwards(self) -> Iterator[int]:
        """The IIs of the first walk: the one asked for, or those from the bound up to where a serial schedule fits.

        Contexts limit them, too. Steps grow with the distance from the bound.
        """
        if self.config.ii is not None:
            yield self.config.ii
            return
        contexts = [tile.contexts for tile in self.search.problem.arch.tiles if tile.contexts is not None]
        serial = 4 * len(self.search.problem.nodes) + self.bound.total + 8
        last = min([*contexts, max(serial, self.bound.total)])
        ii, step = self.bound.total, 1
        while ii <= last:
            yield ii
            # Far above the bound a finer walk only costs time; what is skipped is tried afterwards.
            step = 1 + (ii - self.bound.total) // 4
            ii += step

    def _below(self) -> None:
        """Try IIs below the best one, the nearest first, with more patience from pass to pass."""
        turn = 1
        while self.found is not None and self.found.ii > self.bound.total and not self.clock.over():
            if self.clock.budget.unlimited and turn > self.config.passes:
                return
            before = self.found.ii
            for ii in range(before - 1, self.bound.total - 1, -1):
                if self._try(ii, turn) or self.clock.over():
                    break
            if self.found.ii == before:
                turn += 1

    def _insist(self, ii: int) -> None:
        """Go on at an II that was asked for, with more patience from pass to pass, until it has a mapping."""
        turn = 1
        while self.found is None and not self.clock.over():
            if self.clock.budget.unlimited and turn > self.config.passes:
                return
            self._try(ii, turn)
            turn += 1

    def _try(self, ii: int, turn: int) -> bool:
        """Run a batch at an II; True when it finds a mapping, which is then the best."""
        number = self.batches.get(ii, 0)
        self.batches[ii] = number + 1
        won, closest = self._search_of(ii, number).batch(ii, number * BATCH, self._effort(turn), self.clock)
        if self.closest is None or closest.overuse <= self.closest.overuse:
            self.closest = closest
        if won is not None:
            self.found = won.solution
        self.clock.report(f"II {ii}", "" if self.found is None else f"II {self.found.ii}")
        return won is not None

    def _search_of(self, ii: int, number: int) -> ModuloSearch:
        """The search of a batch: every third one computes some nodes more than once."""
        if number % 3 != 2 or not self.config.recompute:
            return self.search
        rng = np.random.default_rng((self.clock.budget.seed, ii, number))
        problem = with_copies(self.search.problem, ii, rng)
        return self.search if problem is None else ModuloSearch(problem)

    def _effort(self, turn: int) -> Parameters:
        """The parameters of a pass: moves and patience double from pass to pass, up to ``doublings`` times."""
        c = self.config
        times = 2 ** min(turn, c.doublings)
        return Parameters(
            moves=c.moves * times, patience=c.patience * times, present=c.present, growth=c.growth, ceiling=c.ceiling,
            history=c.history, noise=c.noise, extra=c.extra, pull=PULL, removal=c.removal,
        )  # fmt: skip

    def failure(self) -> Failure:
        """What was short when the budget ended."""
        tried = sorted(self.batches)
        span = f"II {tried[0]}" if len(tried) == 1 else f"II {tried[0]} to {tried[-1]}"
        left = self.closest.overuse if self.closest is not None else 0
        crowded = congested(self.closest.solution) if self.closest is not None else ()
        return Failure(
            constraint=f"search at {span}",
            demand="a slot or register for every signal",
            bound=f"{left} signals without one at best" if 0 < left < 1 << 30 else "an end before the first round",
            levers=("more time or effort", "another seed", f"II {tried[-1] + 1}", "more registers"),
            congested=crowded,
        )
