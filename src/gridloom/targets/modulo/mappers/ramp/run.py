"""What ``ramp``, ``regimap`` and ``memmap`` have in common: checks before the search, the search, its result.

A mapper is a name, a :class:`~gridloom.targets.modulo.mappers.ramp.search.Technique` and its limits.
"""

from __future__ import annotations

from typing import Any

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.mii import mii
from gridloom.mapping.model import Cause, Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import check_suits
from gridloom.search.settings import origin
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.ramp.mapping import to_mapping
from gridloom.targets.modulo.mappers.ramp.search import RampLimits, RampSearch, Technique
from gridloom.targets.modulo.mappers.screening import screen
from gridloom.targets.modulo.mappers.search import two_ops


def run_technique(
    name: str,
    dfg: Dfg,
    arch: Arch,
    technique: Technique,
    limits: RampLimits,
    config: Any,
    budget: Budget,
    kind: type[RampSearch] = RampSearch,
) -> Mapping | Failure:
    """A mapping by a technique at the first II it succeeds at, or why there is none.

    ``kind`` is the search: RAMP's, or one that does more than leave strategies out. The provenance says how often each
    strategy was used. OptionError for an array that is not like a torus, has larger buses, or makes too many (op, PE)
    pairs.
    """
    check_suits(name, dfg, arch)
    clock = budget.start()
    problem = ModuloProblem(dfg, arch)
    bound = mii(dfg, arch)
    reason = screen(problem, bound, limits.ii)
    if reason is not None:
        return reason
    search = kind(problem, technique, limits, bound)
    warm_up()
    clock.prepared()
    found = search.run(clock)
    clock.report("done", "" if found is None else f"II {found.ii}")
    if found is None:
        return _failure(search, ended=clock.over())
    strategies = dict(sorted(search.trace.chosen.items()))
    ops = len(found.graph.ops)
    sizes = {
        "ops": ops,
        "inserted": ops - len(problem.nodes),
        "pairs": ops * len(arch.tiles),
        "placements": search.trace.placements,
    }
    record = origin(name, config, clock, optimal=found.ii == bound.total, strategies=strategies, graph=sizes)
    return to_mapping(search.placer, found, record)


def _failure(search: RampSearch, *, ended: bool) -> Failure:
    """Why there is no mapping: no time, no schedule, or the ops without a PE in the attempt that came closest.

    More time is named as a help where the budget ended the search, and not where every start failed at every II.
    """
    trace, dfg = search.trace, search.problem.dfg
    if not trace.iis:
        return Failure(
            constraint="the budget",
            demand="an attempt",
            bound="an end before the first",
            levers=("more time",),
            cause="limit",
        )
    more = ("more time",) if ended else ()
    cause: Cause = "limit" if ended else "exhausted"
    span = f"II {trace.iis[0]}" if len(trace.iis) == 1 else f"II {trace.iis[0]} to {trace.iis[-1]}"
    if trace.closest is None:
        return Failure(
            constraint=f"schedule at {span}",
            demand="a cycle for every op",
            bound="none found",
            levers=(*more, "a higher II"),
            cause=cause,
        )
    left = [trace.closest.graph.ops[n] for n in trace.closest.unmapped]
    names = [f"{op.kind} of {dfg.nodes[op.node].id}" if op.kind != "op" else dfg.nodes[op.node].id for op in left]
    return Failure(
        constraint=f"clique of (op, PE) pairs at {span}",
        demand=f"{len(trace.closest.graph.ops)} ops",
        bound=f"{len(left)} without a PE at best ({', '.join(names[:4])}{', ...' if len(names) > 4 else ''})",
        levers=(*more, "more registers", "a larger array", "mapper 'modulo'"),
        cause=cause,
    )


def warm_up() -> None:
    """Load or compile the kernels before any clock runs: a loop of two ops on two PEs."""
    problem = two_ops()
    limits = RampLimits(ii=2, attempts=1, starts=1, moves=4, links=1, sideways=0, options=1, first=1)
    RampSearch(problem, Technique(), limits, mii(problem.dfg, problem.arch)).run(Budget().start())
