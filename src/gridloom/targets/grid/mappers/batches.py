"""Batches of starts of a spatial mapper: run until the budget, the number of starts or a bound ends them.

Starts of a batch know nothing of each other, and their results are taken in the order of their numbers. So a run that
ends by effort gives the same result on any number of workers. :class:`ObjectiveGoal` ends a run early where counting
proves that nothing better exists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gridloom.search.budget import SearchClock
from gridloom.search.settings import origin
from gridloom.targets.grid.bounds import GridBound, fifo_bound, latency_bound, wirelength_bound
from gridloom.targets.grid.mappers.mapping import PlacementCandidate
from gridloom.targets.grid.mappers.problem import StaticProblem
from gridloom.targets.grid.mappers.search import Objective

#: Starts between which nothing is exchanged. Fixed, so that a result does not depend on the number of workers.
BATCH = 4


def best_of(
    job: Callable[[int], Callable[[], PlacementCandidate]], clock: SearchClock, *, starts: int, goal: ObjectiveGoal
) -> PlacementCandidate:
    """The best of many candidates; ``job(number)`` makes the start of that number.

    Ends after ``starts`` when the budget has no limit, with the budget, or at the bound. At least one batch is run,
    whatever the budget says, so that there is always a candidate. Of equally good candidates the first one stays.
    """
    best: PlacementCandidate | None = None
    made = 0
    while True:
        for candidate in clock.run_some([job(made + k) for k in range(BATCH)]):
            clock.moves += candidate.moves
            if best is None or candidate.score < best.score:
                best = candidate
        made += BATCH
        clock.report(f"{made} starts", in_words(best))
        if best is not None and (clock.over() or goal.reached(best)):
            return best
        if best is not None and clock.budget.unlimited and made >= starts:
            return best


def start_seed(seed: int, start: int) -> int:
    """A seed of its own for each start, well apart from its neighbours'."""
    return int(np.random.SeedSequence((seed, start)).generate_state(1, np.uint64)[0] >> np.uint64(2))


class ObjectiveGoal:
    """What the objective's first figure is at least, and why: counted only once a candidate has not reached 0.

    The bounds are those of :mod:`gridloom.targets.grid.bounds`; they hold for every mapping of the graph on the
    array. ``candidate.score[1]`` is the figure that they are compared with, so the score of a legal candidate has to
    have the objective's figure in second place.
    """

    def __init__(self, problem: StaticProblem, objective: Objective) -> None:
        self.problem = problem
        self.objective = objective

    @cached_property
    def bound(self) -> GridBound:
        """The bound on the deepest FIFO, the wirelength or the latency."""
        # The wirelength's is one on distances between tiles, however signals get there.
        counted = {"buffers": fifo_bound, "latency": latency_bound}.get(self.objective, wirelength_bound)
        return counted(self.problem.dfg, self.problem.arch)

    def proof(self, candidate: PlacementCandidate) -> GridBound | None:
        """The bound that a candidate is at; None: it is above."""
        if candidate.score[1] == 0:
            return GridBound(0, "nothing is below 0")
        return self.bound if candidate.score[1] <= self.bound.value else None

    def reached(self, candidate: PlacementCandidate) -> bool:
        """True when nothing is left to search for; with FIFOs, one as deep as the bound has to be the only one."""
        if not candidate.legal or self.proof(candidate) is None:
            return False
        return self.objective != "buffers" or candidate.score[2] <= candidate.score[1]


def in_words(candidate: PlacementCandidate | None) -> str:
    """A candidate for a progress line: its FIFOs, wirelength and latency, or how many signals have no link."""
    if candidate is None or not candidate.legal or candidate.balance is None:
        over = "" if candidate is None else f": {candidate.routes.overuse} signals without a link"
        return f"not legal yet{over}"
    wire = int(np.maximum(candidate.routes.length - 1, 0).sum())
    depth = candidate.balance
    return f"FIFO {depth.maximum} (total {depth.total}), wirelength {wire}, latency {depth.latency}"


def provenance(
    mapper: str, config: Any, clock: SearchClock, best: PlacementCandidate, goal: ObjectiveGoal
) -> dict[str, Any]:
    """Where a mapping came from, with the bound that it is at or above and why that is a bound."""
    proof = goal.proof(best)
    bound = proof or goal.bound
    return origin(mapper, config, clock, optimal=proof is not None, bound=bound.value, reason=bound.reason)
