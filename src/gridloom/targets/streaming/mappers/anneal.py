"""``anneal`` on tiles with spokes: simulated annealing of whole placements on a streaming engine.

The annealer itself, with its states, its cost and its moves, is in :mod:`gridloom.targets.streaming.mappers.annealing`;
the exact model and the evaluation of learned policies start from it, too. IIs are tried upwards, and the first one that
has a legal placement is annealed on until the budget ends or the cycles are at their bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import check_suits
from gridloom.search.placements import GivenPlacements, find_misplaced, given_tiles
from gridloom.search.settings import check_settings, origin
from gridloom.targets.streaming.mappers.annealing import BATCH, anneal_batches, warm_up
from gridloom.targets.streaming.mappers.mapping import to_mapping
from gridloom.targets.streaming.mappers.problem import build_problem
from gridloom.targets.streaming.mappers.screening import screen
from gridloom.targets.streaming.mappers.search import longest_path


@dataclass(frozen=True, kw_only=True)
class SpokesAnnealConfig(GivenPlacements):
    """Settings of ``anneal`` on tiles with spokes."""

    #: The II to map at; None: the lowest at which a placement is found.
    ii: int | None = None
    #: Starts when the budget has no limit.
    starts: int = 24

    def __post_init__(self) -> None:
        check_settings(self, at_least={"ii": 1, "starts": 1})


def anneal_spokes(dfg: Dfg, arch: Arch, config: SpokesAnnealConfig, budget: Budget) -> Mapping | Failure:
    """A mapping on a streaming engine at the lowest II that is found, with few cycles; or why there is none.

    Runs until the budget is used up, the cycles are at a bound, or (budget without limit) ``config.starts`` starts are
    made. OptionError for another kind of array, or a placement that names what is not there. The mapping is recorded as
    optimal when its cycles are those of the longest path; that says nothing about lower IIs that were tried in vain.
    """
    check_suits("anneal", dfg, arch)
    clock = budget.start()
    pinned, first = given_tiles(dfg, arch, config, shared=True)
    problem = build_problem(dfg, arch).pinned_to(pinned)
    reason = find_misplaced(dfg, arch, pinned | first) or screen(problem, config.ii)
    if reason is not None:
        return reason
    floor = longest_path(problem)
    warm_up(problem, floor)
    clock.prepared()
    begin = problem.pinned_to(first | pinned) if first else None
    best = anneal_batches(problem, config.ii, clock, max(1, config.starts // BATCH), floor, begin=begin)
    clock.report("done", best.words)
    if best.legal is None:
        return best.failure()
    record = origin("anneal", config, clock, optimal=best.legal.cycles <= floor, bound=floor)
    return to_mapping(problem, best.legal, record)
