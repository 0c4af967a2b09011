"""``exact`` on tiles with spokes: IIs upwards, and at each the fewest cycles that the model finds or proves.

The model for one II is in :mod:`gridloom.targets.streaming.mappers.exact.search`. The next II is tried when the model
has refuted the one before, or when it found nothing while there is still time.
"""

from __future__ import annotations

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import check_suits
from gridloom.search.settings import origin
from gridloom.search.solver import ExactConfig
from gridloom.targets.streaming.mappers.exact.search import optimum
from gridloom.targets.streaming.mappers.mapping import to_mapping
from gridloom.targets.streaming.mappers.problem import build_problem
from gridloom.targets.streaming.mappers.screening import screen
from gridloom.targets.streaming.mappers.search import iis, longest_path


def exact_spokes(dfg: Dfg, arch: Arch, config: ExactConfig, budget: Budget) -> Mapping | Failure:
    """The mapping with the fewest cycles at the lowest II, or the best found with a bound; or why there is none.

    The record says whether the cycles are proved to be the fewest at this II; it does not claim that the II is the
    lowest possible, since a lower one may have been left undecided. OptionError for another kind of array; MissingExtra
    without OR-Tools.
    """
    check_suits("exact", dfg, arch)
    clock = budget.start()
    problem = build_problem(dfg, arch)
    reason = screen(problem, config.ii)
    if reason is not None:
        return reason
    clock.prepared()
    floor = longest_path(problem)
    tried: list[int] = []
    for ii in iis(problem, config.ii):
        tried.append(ii)
        best, bound, refuted = optimum(problem, ii, clock, floor, config.workers)
        clock.report(f"II {ii}", best.words)
        if best.legal is not None:
            optimal = best.legal.cycles <= bound
            proof = "fewest cycles at this II" if optimal else "a bound on the cycles at this II"
            record = origin("exact", config, clock, optimal=optimal, bound=bound, proof=proof)
            return to_mapping(problem, best.legal, record)
        if clock.over() and not refuted:
            break
    return Failure(
        constraint=f"exact search at II {tried[0]} to {tried[-1]}",
        demand="a slot, a link and a delay register for every value",
        bound="none found within the budget" if clock.over() else "none",
        levers=("more time", "more spokes", "more tiles"),
        cause="limit" if clock.over() else "proved",
    )
