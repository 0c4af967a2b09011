"""Fewest cycles at an II on tiles with spokes: annealing finds, a matching bounds, and the solver closes the gap.

1. Annealing gives a first placement.
2. Discs around each node that cannot hold all others give a bound
(:mod:`gridloom.targets.streaming.mappers.exact.reach`).
3. The model without links looks for fewer cycles than the first placement has; there are none: that one is optimal.
4. At level strict, up to 40 nodes on 16 tiles, the same with links and, summed over the spokes, delay registers
   (:mod:`gridloom.targets.streaming.mappers.exact.links`). A solution that one spoke's registers do not hold gives a
   bound only.

Larger problems at level strict have the bounds of 2 and 3, which are reached when an annealed placement has them. Cost:
exponential at worst; 20 nodes in seconds.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gridloom.search.budget import Budget, SearchClock
from gridloom.search.solver import OutOfTimeError, Solved, solve
from gridloom.targets.streaming.mappers.annealing import anneal_batches
from gridloom.targets.streaming.mappers.exact.links import models_links, placement
from gridloom.targets.streaming.mappers.exact.model import SpokesModel, build_model
from gridloom.targets.streaming.mappers.exact.reach import fewest_cycles
from gridloom.targets.streaming.mappers.problem import SpokesProblem
from gridloom.targets.streaming.mappers.search import Best

# What annealing has for a first solution: a share of the time, seconds at most, and batches.
_SHARE, _MOST, _BATCHES = 0.2, 8.0, 3
#: The share of what is left that the bound by matchings has.
_BOUNDING: Final = 0.3
#: The share of what is left that the model without links has where one with links follows.
_WITHOUT_LINKS: Final = 0.6


def optimum(problem: SpokesProblem, ii: int, clock: SearchClock, floor: int, workers: int) -> tuple[Best, int, bool]:
    """The best placement at an II, a lower bound on its cycles, and whether none exists. May use up the budget.

    The placement is the better of the annealed one and the solver's. When the solver finds that nothing beats the
    annealed one, its cycles are the bound.
    """
    best = _annealed(problem, ii, clock, floor)
    bound = floor
    if not _reached(best, bound):
        bound = fewest_cycles(problem, ii, floor, _part(clock, _BOUNDING, None).start())
    for with_links in (False, True) if models_links(problem) else (False,):
        if _reached(best, bound):
            break
        share = _WITHOUT_LINKS if models_links(problem) and not with_links else 1.0
        try:
            proved = _solved(problem, ii, best, bound, clock, workers, share, with_links)
        except OutOfTimeError:
            break
        if proved is None:
            return best, bound, best.legal is None
        bound = max(bound, proved)
    return best, bound, False


def _reached(best: Best, bound: int) -> bool:
    """True when the best placement cannot be bettered."""
    return best.legal is not None and best.legal.cycles <= bound


def _solved(
    problem: SpokesProblem,
    ii: int,
    best: Best,
    least: int,
    clock: SearchClock,
    workers: int,
    share: float,
    with_links: bool,
) -> int | None:
    """Look for a placement with fewer cycles than the best, and return a bound on the cycles of all placements.

    None: there is none at all. OutOfTimeError where the clock ends before the model is built.
    """
    known = None if best.legal is None else best.legal.cycles
    model = build_model(problem, ii, least, None if known is None else known - 1, clock, with_links=with_links)
    found = solve(model.model, clock, workers=workers, share=share)
    if found.found:
        _keep(problem, ii, best, found, model)
    if found.answer == "infeasible":
        return known
    return least if found.bound is None else max(least, found.bound)


def _keep(problem: SpokesProblem, ii: int, best: Best, found: Solved, model: SpokesModel) -> None:
    """Keep the placement of a solution, with the solver's links where it has some, else routed."""
    if model.links is not None:
        best.keep(placement(problem, ii, found, model.tile, model.issue, model.links))
    else:
        best.take(problem, ii, _values(found, model.tile), _values(found, model.spoke))


def _annealed(problem: SpokesProblem, ii: int, clock: SearchClock, floor: int) -> Best:
    """A first solution within a share of the budget."""
    return anneal_batches(problem, ii, _part(clock, _SHARE, _MOST).start(), _BATCHES, floor)


def _part(clock: SearchClock, share: float, most: float | None) -> Budget:
    """A share of what is left of a budget, and of its effort; with so many seconds at most."""
    budget = clock.budget
    limit = None if clock.remaining is None else max(0.05, share * clock.remaining)
    effort = None if budget.effort is None else max(64, int(share * budget.effort))
    return Budget(
        time_limit=limit if limit is None or most is None else min(limit, most),
        effort=effort,
        seed=budget.seed,
        workers=budget.workers,
        interrupted=budget.interrupted,
    )


def _values(found: Solved, row: list[Any]) -> np.ndarray:
    """The values of a row of variables in the solution."""
    return np.array([found.value(variable) for variable in row], dtype=np.int32)
