"""Which launches of a run the array does, and which the host: whatever takes fewer cycles in all.

The run is logged: every launch with its iterations, and what it takes on the array and on the host. A counted loop has
a threshold: the host compares the number of iterations with it and launches the array from there on. A loop with early
exits, and a nest that runs as one loop, is launched always or never, since nobody knows how long it will run.
Thresholds are improved one loop at a time, from several starts, until no change of one of them saves a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gridloom.flow.functions.launching.configurations import Loads

#: Never on the array.
NEVER: Final = 1 << 62
#: Cycles of the host to compare a number of iterations with a threshold, for each launch.
COMPARISON: Final = 2
_ROUNDS: Final = 4
#: Launches that one may be a part of: several side by side, of a nest as one loop, of one that is exchanged, and of
#: those that a loop controller starts.
_LEVELS: Final = 5
_Numbers = np.ndarray[Any, np.dtype[np.int64]]
_Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(slots=True)
class LaunchRow:
    """One launch: what it takes on the array without its configuration, and on the host.

    ``nest`` is the row of the launch that this one is a part of, of a nest or of several side by side, or -1. Rows that
    are ``refused`` and those without iterations are the host's in any case.
    """

    loop: int
    nest: int
    iterations: int = 0
    array: int = 0
    host: int = 0
    #: Cycles of the array without transfers.
    cycles: int = 0
    #: How often the array starts, for a nest with exchanged loops.
    runs: int = 1
    refused: str = ""
    #: Cycles of the host before the launch, for the timeline.
    spent: int = 0


@dataclass(frozen=True, kw_only=True)
class LoopCost:
    """What the schedule has to know of a loop: when it is launched, and the objects that have to be moved for it."""

    #: Whether the number of iterations is known when the loop begins.
    counted: bool
    nest: bool
    objects: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class LaunchSchedule:
    """Row -> whether the array does it; loop -> the least number of iterations that the array is launched for."""

    on_array: Sequence[bool] = field(repr=False)
    thresholds: tuple[int, ...]
    #: Cycles of the host for comparing numbers of iterations with thresholds.
    comparisons: int = 0
    #: The objects that the array works on, and the cycles for moving them.
    objects: frozenset[str] = frozenset()
    movement: int = 0


class _Log:
    """The log as columns."""

    def __init__(
        self, rows: Sequence[LaunchRow], loops: Sequence[LoopCost], loads: Loads, words: Mapping[str, int],
        divided: bool,
    ) -> None:  # fmt: skip
        def column(values: Any) -> _Numbers:
            return np.fromiter(values, np.int64, len(rows))

        self.loops, self.words, self.divided = loops, words, divided
        self.loop = column(row.loop for row in rows)
        self.nest = column(row.nest for row in rows)
        self.iterations = column(row.iterations for row in rows)
        self.gain = column(row.host - row.array for row in rows)
        self.able: _Flags = np.fromiter((row.iterations > 0 and not row.refused for row in rows), np.bool_, len(rows))
        self.first, self.switch = np.array(loads.first, np.int64), np.array(loads.switch, np.int64)
        self.has_nests = bool((self.nest >= 0).any())

    def on_array(self, thresholds: Sequence[int]) -> _Flags:
        """Which launches the array does; a launch inside of a nest that it does is none of its own."""
        on: _Flags = self.able & (self.iterations >= np.array(thresholds, np.int64)[self.loop])
        if self.has_nests:
            # A launch may be one of several side by side, which are a part of a nest, which may be exchanged.
            inside = self.nest >= 0
            covered = np.zeros_like(on)
            for _ in range(_LEVELS):
                covered = inside & (on[self.nest] | covered[self.nest])
            on &= ~covered
        return on

    def comparisons(self, thresholds: Sequence[int]) -> int:
        """Cycles that the host takes to choose between itself and the array."""
        chosen = [k for k, threshold in enumerate(thresholds) if 0 < threshold < NEVER]
        return COMPARISON * int(np.isin(self.loop, chosen).sum()) if chosen else 0

    def objects(self, on: _Flags) -> frozenset[str]:
        """What the loops on the array work on."""
        return frozenset().union(*(self.loops[k].objects for k in set(self.loop[on].tolist())))

    def movement(self, on: _Flags) -> int:
        """Cycles to move what the loops on the array work on."""
        return sum(self.words.get(name, 0) for name in self.objects(on))

    def saved(self, thresholds: Sequence[int]) -> int:
        """Cycles that a schedule takes less than the host alone."""
        on = self.on_array(thresholds)
        order = self.loop[on]
        if not order.size:
            return -self.comparisons(thresholds)
        loading = int(self.first[order[0]]) + int(self.switch[order[:-1], order[1:]].sum())
        return int(self.gain[on].sum()) - loading - self.movement(on) - self.comparisons(thresholds)


def schedule(
    rows: Sequence[LaunchRow], loops: Sequence[LoopCost], loads: Loads, words: Mapping[str, int], *, always: bool,
    divided: bool = True,
) -> LaunchSchedule:  # fmt: skip
    """The schedule of a logged run.

    ``loads`` are the cycles that it takes to load configurations, ``words`` those to move each object in and out.
    With ``always``, every innermost loop that can be on the array is there. Unless launches of one loop may be
    ``divided`` between host and array, each loop is launched always or never. Costs some passes over the rows for each
    loop.
    """
    log = _Log(rows, loops, loads, words, divided)
    usual = [NEVER if loop.nest else 0 for loop in loops]
    best = usual
    if not always and rows:
        starts = [usual, [0] * len(loops), [NEVER] * len(loops)]
        found = [_improved(log, start) for start in starts]
        best = max(found, key=log.saved)
    on = log.on_array(best)
    return LaunchSchedule(
        on_array=on.tolist(), thresholds=tuple(best), comparisons=log.comparisons(best), objects=log.objects(on),
        movement=log.movement(on),
    )  # fmt: skip


def saved_cycles(
    rows: Sequence[LaunchRow], loops: Sequence[LoopCost], loads: Loads, words: Mapping[str, int],
    thresholds: Sequence[int],
) -> int:  # fmt: skip
    """The cycles that some thresholds save against the host alone, for a logged run."""
    return _Log(rows, loops, loads, words, False).saved(thresholds)


def _improved(log: _Log, thresholds: Sequence[int]) -> list[int]:
    """Thresholds that no change of one of them makes better."""
    best, saved = list(thresholds), log.saved(thresholds)
    for _ in range(_ROUNDS):
        before = saved
        for k in range(len(best)):
            for candidate in _candidates(log, k):
                changed = [*best[:k], candidate, *best[k + 1 :]]
                value = log.saved(changed)
                if value > saved:
                    best, saved = changed, value
        if saved == before:
            break
    return best


def _candidates(log: _Log, k: int) -> list[int]:
    """Thresholds of a loop that are worth a try: always, never, and where the array breaks even."""
    own = (log.loop == k) & log.able
    if not own.any():
        return [0]
    iterations, gain = log.iterations[own], log.gain[own]
    least, most = int(iterations.min()), int(iterations.max())
    if not log.loops[k].counted or not log.divided or least == most:
        return [0, NEVER]
    found = {0, NEVER}
    for start in (0, int(log.first[k])):
        # The least number from which on no launch costs more than it saves.
        losing = iterations[gain < start]
        if losing.size and least < (threshold := int(losing.max()) + 1) <= most:
            found.add(threshold)
    return sorted(found)
