"""The walk of ``modulo`` over IIs under a time limit: any mapping first, then better ones.

A start of a large loop may take longer than the whole time limit, so that a walk which waits for the end of each start
is still at the bound when time is up. Here each II gets a slice of the time:

1. a first mapping is built by list starts, within a quarter of the limit; before that a small loop, and after that a
   large one, gets a slice at the bound;
2. where list starts find nothing, half of what is left goes to four times the bound, half of the rest to twice that
   II, and so on; the last of them gets all that is left. A loop with long routes is mapped sooner where there is more
   room, and short slices at many IIs map none;
3. the IIs between the bound and the best one are halved, again and again while the best is far from the bound;
4. the rest goes to each II below the best, the nearest first, with slices that are a part of what is left, and with
   more patience from pass to pass.

Loops whose placements are annealed gain more from longer annealing than from patience, and no length of it suits all of
them: short ones leave routes too long, long ones crowd nodes together. So rounds at the II next below the best anneal
longer and shorter in turns, and the IIs below that one get few rounds.

A loop that is mapped at its bound at once never gets to know its slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers.mapping import Solution
from gridloom.targets.modulo.mappers.state import Parameters
from gridloom.targets.modulo.mappers.walk import Walk

if TYPE_CHECKING:
    from gridloom.targets.modulo.mappers.config import ModuloConfig

# Seconds below which a slice would be too short for a start.
_SHORTEST_LIMIT = 2.0

# Parts of the time limit: of the first slice at the bound, of the first mapping, of a step of the halving, and of the
# shortest slice below the best.
_AT_BOUND = 1 / 16
_BUILDING = 1 / 4
_HALVING = 1 / 16
_SHORTEST = 1 / 16

# Parts of what is left: of an II far above the bound, of the II next to the best, and of one below that.
_AGAIN = 1 / 2
_NEAREST = 1 / 2
_BELOW = 1 / 4

# Distance to the bound within which each II below the best is tried.
_NEAR = 4

# Steps of a halving that may fail.
_MISSES = 2

# The multiple of the bound with which the climb begins.
_HIGHEST = 4

# The part of a slice for the annealing of a start, and about the seconds of a move.
_ANNEALED = 1 / 4
_MOVE = 2e-6

# Where the time is short: the part of the usual annealing with which starts begin, and by what patience is divided.
_QUICKEST = 1 / 2
_IMPATIENT = 4

# Seconds per node below which a time limit is short.
_QUICK = 0.03

# About the seconds per node that the tables of another II take.
_TABLES = 3e-4

# Batches of short starts in a slice at most.
_BATCHES = 24

# Annealing moves per node of a large loop: of the first round below the best; the powers of two by which those of a
# cycle of rounds are longer; of a start at the bound; and of one between the bound and the best.
_ROUND = 2000
_LONGER = (0, 1, 1, 2)
_FIRST = 4000
_HALVED = 2000


def takes_slices(config: ModuloConfig, budget: Budget) -> bool:
    """True when a run is ended by time alone, which is long enough to be divided, and no II is asked for."""
    limit = budget.time_limit
    return config.ii is None and budget.effort is None and limit is not None and limit >= _SHORTEST_LIMIT


def is_short_of_time(budget: Budget, nodes: int) -> bool:
    """True when time alone ends a run, and is short for a graph of so many nodes: low IIs would only use it up."""
    limit = budget.time_limit
    return budget.effort is None and limit is not None and _SHORTEST_LIMIT <= limit < _QUICK * nodes


class TimedWalk(Walk):
    """II by II in slices of a time limit: up a ladder until something is found, then between it and the bound."""

    #: Seconds spent at each II.
    spent: dict[int, float]
    #: True when some slice ended a start before its patience did.
    cut: bool

    def best(self) -> Solution | None:
        """Walk until the bound is reached or time is up; without a mapping, until all IIs were tried in full."""
        self.spent = {}
        self.cut = False
        if not self.search.large:
            self._at_bound()
        if self.found is None and not self.clock.over():
            with self.clock.slice(_BUILDING * self._limit) as part:
                self._construct(part)
        if self.search.large and self._above_bound:
            self._at_bound()
        if self.found is None and not self.clock.over():
            self._climb()
        if self.found is not None:
            self._improve()
        return self.found

    # -- any mapping --------------------------------------------------------------------------------------------------

    def _at_bound(self) -> None:
        """Try the bound with the usual patience; where the time is short for the graph, it would only be used up."""
        if not self._hurried:
            self._spend(self.bound.total, self._annealed(self.effort(0), _FIRST), _AT_BOUND * self._limit)

    @property
    def _above_bound(self) -> bool:
        """True while the best II may be lowered and there is time."""
        return (self.found is None or self.found.ii > self.bound.total) and not self.clock.over()

    def _climb(self) -> None:
        """Try ever higher IIs until a mapping is found."""
        turn, top = 0, _HIGHEST * self.bound.total
        while True:
            self.cut = False
            ii = min(top, self._last())
            if self._rung(ii, turn) or self.clock.over():
                return
            if ii >= self._last() and not self.cut and turn >= self.config.passes:
                return
            turn, top = turn + 1, top * 2
            if self._remaining < _TABLES * len(self.search.problem.nodes):
                return

    def _rung(self, ii: int, turn: int) -> bool:
        """Try an II far above the bound with many short starts.

        Where the time is short, the first starts anneal little: at an II with much room that is often enough.
        """
        left = (1 - _AGAIN) * self._remaining
        # What would be too little for another II goes to this one: the tables of each take their time.
        seconds = self._remaining if turn and left < _BUILDING * self._limit else _AGAIN * self._remaining
        effort = self._short()
        if self._hurried:
            annealing = int(_QUICKEST * self._annealing(seconds))
            effort = effort._replace(annealing=annealing, patience=max(1, effort.patience // _IMPATIENT))
        return self._spend(ii, effort, seconds, _BATCHES, hurried=self._hurried)

    @property
    def _hurried(self) -> bool:
        """True when the time is short for the graph."""
        return is_short_of_time(self.clock.budget, len(self.search.problem.nodes))

    # -- better ones --------------------------------------------------------------------------------------------------

    def _improve(self) -> None:
        """Pass after pass below the best II, with more patience from pass to pass: by halves while it is far off."""
        turn = 0
        while self.found is not None and self._above_bound:
            before = self.found.ii
            if before - self.bound.total > _NEAR or not turn:
                self._halve(before, turn)
            elif self.search.large:
                self._alternate(before, turn)
            else:
                self._descend(before, turn)
            if self.found.ii == before or not turn:
                turn += 1

    def _halve(self, best: int, turn: int) -> None:
        """Halve the distance between the best II and one that fails, at first the bound, until some steps have failed.

        Luck decides as much as the II, so that another pass with longer slices is worth more than a step close to the
        best.
        """
        failed, misses = self.bound.total, 0
        while best - failed > 1 and misses < _MISSES and not self.clock.over():
            middle = (failed + best) // 2
            effort = self._annealed(self._short(), _HALVED)
            if self._spend(middle, effort, (turn + 1) * _HALVING * self._limit, _BATCHES):
                best = middle
            else:
                failed, misses = middle, misses + 1

    def _descend(self, best: int, turn: int) -> None:
        """Try each II below the best one, the nearest first."""
        for ii in range(best - 1, self.bound.total - 1, -1):
            part = _NEAREST if ii == best - 1 else _BELOW
            seconds = max(part * self._remaining, _SHORTEST * self._limit)
            if self._spend(ii, self.effort(turn), seconds) or self.clock.over():
                return

    def _alternate(self, best: int, turn: int) -> None:
        """A round of a large loop at the II next below the best; the last one of a cycle tries those below, too.

        Cycles double what the rounds of the one before anneal, and how long starts are patient.
        """
        cycle, step = divmod(turn - 1, len(_LONGER))
        longer = min(cycle, self.config.doublings)
        effort = self._annealed(self.effort(longer), _ROUND << (longer + _LONGER[step]))
        lowest = self.bound.total if step == len(_LONGER) - 1 else best - 1
        for ii in range(best - 1, lowest - 1, -1):
            part = _NEAREST if ii == best - 1 else _BELOW
            seconds = max(part * self._remaining, _SHORTEST * self._limit)
            if self._spend(ii, effort, seconds) or self.clock.over():
                return

    # -- one II -------------------------------------------------------------------------------------------------------

    def _spend(self, ii: int, effort: Parameters, seconds: float, batches: int = 1, *, hurried: bool = False) -> bool:
        """Try an II for some seconds and at most some batches of starts; True when a mapping is found.

        Hurried batches end with the first mapping in time, and anneal twice as long from one to the next.
        """
        effort = effort._replace(annealing=min(effort.annealing, self._annealing(seconds)))
        with self.clock.slice(seconds) as part:
            won = False
            for _ in range(batches):
                won = self._try(ii, effort, part, any_wins=hurried)
                if won or part.over():
                    break
                effort = effort._replace(annealing=effort.annealing * 2) if hurried else effort
            self.cut = self.cut or bool(part.stop[0])
            self.spent[ii] = self.spent.get(ii, 0.0) + part.seconds
        return won

    def _annealed(self, effort: Parameters, annealing: int) -> Parameters:
        """The effort with so many annealing moves per node, for a large loop; others keep theirs."""
        return effort._replace(annealing=annealing) if self.search.large else effort

    def _annealing(self, seconds: float) -> int:
        """Annealing moves per node that take about a quarter of a slice on one core."""
        return max(20, int(_ANNEALED * seconds / (_MOVE * max(1, len(self.search.problem.nodes)))))

    def _short(self) -> Parameters:
        """The effort of a short start: half of the moves, which is where most of those end that succeed at all.

        Its patience is twice the usual one, since rounds take few moves where there is room.
        """
        usual = self.effort(0)
        moves, annealing = max(1, usual.moves // 2), max(1, usual.annealing // 2)
        return usual._replace(moves=moves, patience=2 * usual.patience, annealing=annealing)

    @property
    def _limit(self) -> float:
        return self.clock.budget.time_limit or 0.0

    @property
    def _remaining(self) -> float:
        return self.clock.remaining or 0.0

    # -- words --------------------------------------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """The IIs that were tried, with the batches of starts and the seconds that each took."""
        tried = [
            f"II {ii}: {self.batches[ii]} {'batch' if self.batches[ii] == 1 else 'batches'} of starts, {seconds:.2f} s"
            for ii, seconds in sorted(self.spent.items())
        ]
        return {**super().record(), "tried": tried}

    def span(self) -> str:
        """The IIs that were tried, one by one."""
        return "II " + ", ".join(map(str, sorted(self.batches)))
