"""What is proved of the IIs below a mapping: the registry's proof mapper decides them one by one, from the MII on.

A refuted II raises the bound. The first II that has a mapping is the lowest, and that mapping is the result. The first
one that stays open ends the proof.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.mii import Mii
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import call_mapper, config_type, function_for, mappers_for


def decide_below(found: Mapping, dfg: Dfg, arch: Arch, bound: Mii, budget: Budget, clock: SearchClock) -> Mapping:
    """The mapping of the lowest II that is known, with ``optimal``, ``bound`` and ``proof`` in its provenance.

    Each II may take the time that ``clock`` has left; where effort is the limit, an equal part of that of ``budget``.
    """
    best, least = found, bound.total
    proof = [f"II below {least}: refuted by counting ({'; '.join(bound.explanations) or 'no II is less than 1'})"]
    names = mappers_for(arch, "proof")
    while least < best.ii and names and not clock.over():
        outcome = _decide(names[0], dfg, arch, least, _share(budget, clock, found.ii - bound.total))
        if isinstance(outcome, Mapping):
            told: dict[str, Any] = {"mapper": found.provenance["mapper"], "found_by": names[0]}
            best = replace(outcome, provenance={**found.provenance, **told})
        elif outcome.cause == "proved":
            least += 1
            proof.append(outcome.bound)
        else:
            proof.append(f"II {least}: not decided")
            break
    proof.append(f"II {best.ii}: found")
    return replace(best, provenance={**best.provenance, "optimal": best.ii == least, "bound": least, "proof": proof})


def _share(budget: Budget, clock: SearchClock, parts: int) -> Budget:
    """What deciding one of several IIs may cost."""
    effort = None if budget.effort is None else max(1, budget.effort // parts)
    return replace(budget, time_limit=clock.remaining, effort=effort, progress=None)


def _decide(name: str, dfg: Dfg, arch: Arch, ii: int, budget: Budget) -> Mapping | Failure:
    """What a proof mapper makes of an II."""
    config = config_type(function_for(name, arch))(ii=ii, prove=True)
    outcome: Mapping | Failure = call_mapper(name, dfg, arch, config, budget)
    return outcome
