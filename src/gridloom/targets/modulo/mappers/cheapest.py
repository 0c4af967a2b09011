"""The mapping of least clocks among those of several starts and IIs, on arrays whose slots last several clocks.

A mapping of the lowest II may lose to one of a higher II that has its slow ops in fewer slots. And a mapping may have
no use at all: a program may be longer than the memory of a tile. So starts at the II that was found, in which longer
slots have a price, give mappings to choose from, then starts at the next IIs; IIs go on until some mapping is of use.
Starts are numbered on from those of the walk, which are not repeated.

Cost: ``batches`` batches of starts for each II, and a program for each mapping that they find.
"""

from __future__ import annotations

import math
from typing import Final

from gridloom.search.budget import SearchClock
from gridloom.targets.modulo.mappers.mapping import Solution, to_mapping
from gridloom.targets.modulo.mappers.search import BATCH, ModuloSearch
from gridloom.targets.modulo.mappers.walk import Walk

#: IIs above the lowest that are tried.
_FURTHER: Final = 3
#: IIs above the lowest that are tried as long as no mapping is of use.
_FURTHEST: Final = 24
#: The least price of a clock.
_CLOCK_PRICE: Final = 0.25


def find_cheapest(found: Solution, walk: Walk, search: ModuloSearch, clock: SearchClock) -> Solution:
    """Return the solution of least cost, ``found`` or a better one; of equal ones the first."""
    config = walk.config
    best, least = found, search.objective.cost(to_mapping(found, {}))
    effort = walk.effort(0)._replace(clock_price=_CLOCK_PRICE)
    last = found.ii if config.ii is not None else min(found.ii + _FURTHEST, search.objective.MOST_II)
    for ii in range(found.ii, last + 1):
        if ii > found.ii + _FURTHER and least < math.inf:
            break
        for batch in range(config.batches):
            if clock.over():
                return best
            for solution in search.sample(ii, (walk.batches.get(ii, 0) + batch) * BATCH, effort, clock):
                cost = search.objective.cost(to_mapping(solution, {}))
                if cost < least:
                    best, least = solution, cost
            clock.report(f"clocks at II {ii}", f"II {best.ii}, {least:g} clocks")
    return best
