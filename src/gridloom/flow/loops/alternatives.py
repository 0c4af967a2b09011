"""The same loop as several graphs, and which of them suits the array: by the bounds first, then by mapping.

A loop may be taken as written or with less work in each iteration, and one or more of its iterations may run as one.
What is better depends on the array, so that every alternative whose bound leaves a chance is mapped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from gridloom.archs.model import Arch
from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg
from gridloom.errors import ArchError
from gridloom.flow.bounds import lower_bound
from gridloom.mapping.mii import Mii

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus, Words
    from gridloom.flow.loops.loop_text import LoopText
    from gridloom.flow.request import Request
    from gridloom.flow.result import Result
    from gridloom.flow.source.comparison import Reference

#: The part of what is left of the time that an alternative has while another one may be better.
_FIRST_SHARE: Final = 0.75
#: The part of the time limit that the short searches of all alternatives have together.
_SHORT_SHARE: Final = 0.25
#: Tiles of the largest array that a remark on other sizes looks at.
_MOST_TILES: Final = 1024
#: How many alternatives that were not tried a remark names.
_SHOWN: Final = 2


class Rewrite(Protocol):
    """A loop and a graph of other words that stands for it, as the hook ``rewrites`` of a target returns them."""

    @property
    def source(self) -> Dfg:
        """The loop as it was read."""
        ...

    @property
    def dfg(self) -> Dfg:
        """The graph that is mapped instead."""
        ...

    def stimulus(self, iterations: int, seed: int) -> tuple[Stimulus, Stimulus]:
        """The same random values for the loop and for the graph."""
        ...

    def findings(self, given: Stimulus, outputs: Mapping[str, Words]) -> list[str]:
        """Where outputs of the graph differ from what the loop stores."""
        ...


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """One graph of a loop."""

    #: ``reduced``, ``as written``, ``reduced, 4 iterations in one``: what was done to the loop; "" for a plain graph.
    label: str
    dfg: Dfg
    #: Iterations of the loop that one iteration of the graph does.
    copies: int = 1
    text: LoopText | None = None
    #: The MII on the array; None before the array is known, and on elastic arrays.
    bound: Mii | None = None
    #: Where the graph is one of 24-bit words: the loop that it stands for, to compare it with.
    rewrite: Rewrite | None = None
    #: The source that the graph was read from, to run beside it; None for a plain graph.
    reference: Reference | None = None

    @property
    def least(self) -> float:
        """The least number of cycles for each iteration of the loop that the bounds allow."""
        return 0.0 if self.bound is None else self.bound.total / self.copies

    @property
    def operations(self) -> int:
        """Operations of one iteration of the graph."""
        return sum(not op.timeless for op in self.dfg.ops)


def rank_alternatives(rows: Sequence[Alternative], arch: Arch) -> tuple[Alternative, ...]:
    """The alternatives on an array, the one with the best bounds first. Costs the MII of each."""
    if len(rows) == 1:
        return tuple(rows)
    bounded = [replace(row, bound=lower_bound(row.dfg, arch)) for row in rows]
    missing = [bool(row.bound and row.bound.missing) for row in bounded]
    order = sorted(
        range(len(rows)),
        key=lambda k: (missing[k], bounded[k].least, bounded[k].operations / bounded[k].copies, k),
    )
    return tuple(bounded[k] for k in order)


def map_best(
    request: Request,
    rows: Sequence[Alternative],
    arch: Arch,
    mapped: Callable[[Request, Dfg, Arch, Reference | None], Result],
) -> Result:
    """The best result of the alternatives that the bounds leave a chance, with remarks on what came of each.

    All share the request's time limit. Where it is one, each alternative first gets a short search, so that one that
    cannot be mapped does not take the time of one that can; then those that may still be better get the rest in the
    order of their bounds. An effort holds for each search, so that without a time limit each is searched once.
    """
    race = _FormRace(request, arch, mapped, [_Trial(row) for row in rows])
    if len(rows) > 1 and request.time_limit is not None and request.time_limit > 0:
        for trial in race.trials:
            race.search(trial, request.time_limit * _SHORT_SHARE / len(rows))
    for trial in race.trials:
        race.search(trial, None)
    best = race.best
    assert best is not None and best.result is not None
    result, row = best.result, best.row
    told = [f"{trial.row.label}: {_outcome_text(trial.result, trial.row)}" for trial in race.trials if trial.result]
    passed = _passed_over([trial.row for trial in race.trials if trial.result is None])
    remarks = () if len(rows) == 1 else (f"the loop is mapped {row.label}", *told, *passed)
    if any(other.copies != row.copies for other in rows):
        remarks = (*remarks, *_growth(rows, arch))
    if row.text is not None:
        remarks = (*row.text.warnings, *remarks)
    return replace(result, text=row.text, remarks=remarks, copies=row.copies)


@dataclass
class _Trial:
    """An alternative and the best that was found of it."""

    row: Alternative
    result: Result | None = None
    #: Whether a search with all that the budget allows has ended.
    done: bool = False

    @property
    def rate(self) -> float:
        """Cycles for each iteration of the loop; infinite without a mapping."""
        return float("inf") if self.result is None else _rate(self.result, self.row)


class _FormRace:
    """Searches of alternatives under one budget."""

    def __init__(
        self, request: Request, arch: Arch, mapped: Callable[[Request, Dfg, Arch, Reference | None], Result],
        trials: Sequence[_Trial],
    ) -> None:  # fmt: skip
        self.request, self.arch, self.mapped, self.trials = request, arch, mapped, trials
        self.began = _now(request)

    @property
    def best(self) -> _Trial | None:
        """The best of what was found; a failure where nothing was, None before the first search."""
        return min((trial for trial in self.trials if trial.result), key=lambda trial: trial.rate, default=None)

    def search(self, trial: _Trial, seconds: float | None) -> None:
        """Search an alternative for some seconds, or for its share of what is left, if it may be the best."""
        if trial.done or not self._may_win(trial):
            return
        limit = self.request.time_limit
        # A limit that makes no sense is refused where budgets are made.
        if limit is not None and limit > 0:
            left = max(limit - (_now(self.request) - self.began), 0.1)
            contested = any(other is not trial and not other.done and self._may_win(other) for other in self.trials)
            limit = min(seconds, left) if seconds is not None else left * _FIRST_SHARE if contested else left
        result = self.mapped(replace(self.request, time_limit=limit), trial.row.dfg, self.arch, trial.row.reference)
        trial.done = seconds is None
        if trial.result is None or _rate(result, trial.row) <= trial.rate:
            trial.result = result

    def _may_win(self, trial: _Trial) -> bool:
        """True where an alternative may be better than the best so far, or nothing was searched yet."""
        best, row = self.best, trial.row
        if best is None or best.result is None:
            return True
        if self.request.interrupted is not None and self.request.interrupted():
            return False
        if best.result.mapping is None:
            return row.bound is None or not row.bound.missing
        return best.result.arch.style == "modulo" and row.least < best.rate


def _passed_over(rows: Sequence[Alternative]) -> list[str]:
    """One line on the alternatives that were not tried."""
    if not rows:
        return []
    shown = "; ".join(f"{row.label} ({_bound_text(row)})" for row in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return [f"not tried, because their bounds are no better: {shown}{more}"]


def _growth(rows: Sequence[Alternative], arch: Arch) -> list[str]:
    """One line on what the bounds allow on arrays of other sizes; none where the array has no size to change."""
    shown = [f"{size}: {rate:.3g}" for size, rate in rates_by_size(rows, arch).items()]
    if not shown:
        return []
    return [f"most iterations of the loop per cycle by array size, as the bounds allow: {', '.join(shown)}"]


def rates_by_size(rows: Sequence[Alternative], arch: Arch) -> dict[str, float]:
    """Size -> the most iterations of a loop per cycle that the bounds allow on an array of that size.

    Sizes are half, once, twice and four times that of the array; none for an array without rows and columns to change.
    Costs the MII of each alternative for each size.
    """
    spec = dict(arch.spec)
    if not all(isinstance(spec.get(key), int) for key in ("rows", "cols")):
        return {}
    found = {}
    for factor in (0.5, 1, 2, 4):
        size = {key: int(spec[key] * factor) for key in ("rows", "cols")}
        if min(size.values()) < 1 or size["rows"] * size["cols"] > max(_MOST_TILES, len(arch.tiles)):
            continue
        try:
            other = build({**spec, **size})
        except ArchError:
            continue
        bounds = [(lower_bound(row.dfg, other), row.copies) for row in rows]
        rates = [copies / bound.total for bound, copies in bounds if bound is not None and not bound.missing]
        if rates:
            found[f"{size['rows']}x{size['cols']}"] = max(rates)
    return found


def _now(request: Request) -> float:
    """The time on the clock of the request's limit."""
    return time.process_time() if request.cpu_time else time.monotonic()


def _rate(result: Result, row: Alternative) -> float:
    """Cycles for each iteration of the loop; infinite without a mapping."""
    if result.mapping is None:
        return float("inf")
    return result.mapping.ii / row.copies


def _bound_text(row: Alternative) -> str:
    """What the bounds say of an alternative."""
    if row.bound is None:
        return f"{row.operations} operations"
    return f"MII {row.bound.total}, {row.operations} operations"


def _outcome_text(result: Result, row: Alternative) -> str:
    """What came of an alternative."""
    if result.mapping is None:
        return f"no mapping, {_bound_text(row)}"
    each = f", {result.mapping.ii / row.copies:g} cycles for each iteration of the loop" if row.copies > 1 else ""
    return f"II {result.mapping.ii} with {row.operations} operations{each}"
