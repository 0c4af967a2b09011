"""Batches of starts of a spatial mapper: run until the budget, the number of starts or a bound ends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridloom._version import __version__
from gridloom.estimate.spatial_bounds import Bound, fifo_bound, latency_bound, wirelength_bound
from gridloom.map.budget import Clock
from gridloom.map.static_problem import StaticProblem
from gridloom.map.static_search import Candidate, Objective

#: Starts between which nothing is exchanged. Fixed, so that a result does not depend on the number of workers.
BATCH = 4


def best_of(
    job: Callable[[int], Callable[[], Candidate]], clock: Clock, *, starts: int, objective: Objective, bound: int
) -> Candidate:
    """The best of many candidates; ``job(number)`` makes the start of that number.

    Ends after ``starts`` when the budget has no limit, with the budget, or at the bound.
    """
    best: Candidate | None = None
    made = 0
    while True:
        for candidate in clock.run([job(made + k) for k in range(BATCH)]):
            clock.moves += candidate.moves
            if best is None or candidate.score < best.score:
                best = candidate
        made += BATCH
        clock.report(f"{made} starts", in_words(best))
        if best is not None and (clock.over() or best_possible(best, objective, bound)):
            return best
        if best is not None and clock.budget.unlimited and made >= starts:
            return best


def start_seed(seed: int, start: int) -> int:
    """A seed of its own for each start, well apart from its neighbours'."""
    return int(np.random.SeedSequence((seed, start)).generate_state(1, np.uint64)[0] >> np.uint64(2))


def objective_bound(problem: StaticProblem, objective: Objective) -> Bound:
    """What the objective's first figure is at least, and why: the deepest FIFO, the wirelength or the latency."""
    if objective == "latency":
        return latency_bound(problem.dfg, problem.arch)
    if objective == "buffers":
        return fifo_bound(problem.dfg, problem.arch)
    return wirelength_bound(problem.dfg, problem.arch)


def best_possible(candidate: Candidate, objective: Objective, bound: int) -> bool:
    """True when nothing is left to search for; with FIFOs, one as deep as the bound has to be the only one."""
    return candidate.legal and candidate.score[1] <= bound and (objective != "buffers" or candidate.score[2] <= bound)


def in_words(candidate: Candidate | None) -> str:
    """A candidate for a progress line."""
    if candidate is None or not candidate.legal or candidate.balance is None:
        over = "" if candidate is None else f": {candidate.routes.overuse} signals without a link"
        return f"not legal yet{over}"
    wire = int(np.maximum(candidate.routes.length - 1, 0).sum())
    depth = candidate.balance
    return f"FIFO {depth.maximum} (total {depth.total}), wirelength {wire}, latency {depth.latency}"


def provenance(mapper: str, changed: dict[str, Any], clock: Clock, best: Candidate, bound: Bound) -> dict[str, Any]:
    """Where a mapping came from; a run ended by effort says nothing that depends on a clock."""
    origin = {
        "mapper": mapper,
        "config": changed,
        "seed": clock.budget.seed,
        "moves": clock.moves,
        "optimal": best.score[1] <= bound.value,
        "bound": bound.value,
        "reason": bound.reason,
        "version": __version__,
    }
    return origin if clock.budget.time_limit is None else origin | {"seconds": round(clock.seconds, 6)}
