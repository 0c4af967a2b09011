"""The mapping of least clocks among those of several starts and IIs, on arrays whose slots last several clocks.

A mapping of the lowest II may lose to one of a higher II that has its slow ops in fewer slots. And a mapping may have
no use at all: a program may be longer than the memory of a tile. So one batch of starts for each II looks for a mapping
of use; then rounds over the IIs around it, in which longer slots have a price, give mappings to choose from.
Starts are numbered on from those of the walk, which are not repeated.

Cost: ``batches`` batches of starts for each II, and a program for each mapping that they find.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gridloom.search.budget import SearchClock
from gridloom.targets.modulo.mappers.mapping import Solution, to_mapping
from gridloom.targets.modulo.mappers.search import BATCH, ModuloSearch
from gridloom.targets.modulo.mappers.walk import Walk

if TYPE_CHECKING:
    from gridloom.targets.modulo.mappers.config import ModuloConfig

#: IIs beside that of a mapping of use that are tried.
_FURTHER: Final = 3
#: IIs above the lowest that are tried as long as no mapping is of use.
_FURTHEST: Final = 24
#: Rounds after which an II without a mapping is given up.
_FUTILE: Final = 2
#: The least price of a clock.
_CLOCK_PRICE: Final = 0.25


class _Choice:
    """The solution of least cost so far; of equal ones the first."""

    def __init__(self, found: Solution, search: ModuloSearch) -> None:
        self.search = search
        self.best, self.least = found, math.inf
        self.offer(found)

    def offer(self, solution: Solution) -> None:
        """Take a solution that costs less."""
        cost = self.search.objective.cost(to_mapping(solution, {}), self.least)
        if cost < self.least:
            self.best, self.least = solution, cost


def find_cheapest(found: Solution, walk: Walk, search: ModuloSearch, clock: SearchClock) -> Solution:
    """Return the solution of least cost, ``found`` or a better one."""
    choice = _Choice(found, search)
    effort = walk.effort(0)._replace(clock_price=_CLOCK_PRICE)
    made = dict(walk.batches)
    hits: dict[int, int] = {}
    for ii in _iis(choice, walk.config, walk.bound.total, hits):
        if clock.over():
            break
        number = made.get(ii, 0)
        made[ii] = number + 1
        solutions = search.sample(ii, number * BATCH, effort, clock)
        hits[ii] = hits.get(ii, 0) + len(solutions)
        for solution in solutions:
            choice.offer(solution)
        clock.report(f"clocks at II {ii}", f"II {choice.best.ii}, {choice.least:g} clocks")
    return choice.best


def _iis(choice: _Choice, config: ModuloConfig, bound: int, hits: dict[int, int]) -> Iterator[int]:
    """The II of each batch: one batch for each II until some mapping is of use, then rounds over the IIs around it.

    An II at which some rounds found nothing gets no more, and so does one that promises nothing better.
    """
    found, most = choice.best.ii, choice.search.objective.MOST_II
    last = found if config.ii is not None else max(found, min(found + _FURTHEST, most))
    for _ in range(config.batches):
        for ii in range(found, last + 1):
            if choice.least == math.inf:
                yield ii
    first = choice.best.ii
    least = found if config.ii is not None else max(bound, first - _FURTHER)
    around = sorted(range(least, min(last, first + _FURTHER) + 1), key=lambda ii: (abs(ii - first), ii))
    costs = {
        ii: choice.search.objective.expect(choice.search.problem.dfg, choice.search.problem.arch, ii) for ii in around
    }
    for turn in range(config.batches if choice.least < math.inf else 0):
        for ii in around:
            if costs[ii] < choice.least and (turn < _FUTILE or hits.get(ii)):
                yield ii
