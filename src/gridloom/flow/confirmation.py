"""A mapping counts when the checker finds no violation and the simulated array computes what the source computes.

A mapper's own word is never enough. The checker recomputes every rule from the mapping, and the simulator runs its
configuration and compares every output, store and live-out with the reference interpreter. The graph of a loop is run
beside the source that it was read from, too: then source, graph and array compute the same. What any of them refuses is
a Failure that asks for a report: it is an error in gridloom and not in the user's source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from gridloom.flow.result import Result, Verified
from gridloom.mapping.configuration import Configuration
from gridloom.mapping.model import Failure, Mapping

if TYPE_CHECKING:
    from gridloom.flow.source.comparison import Reference
    from gridloom.sim import Verdict

_SHOWN = 5


def confirm(
    result: Result,
    mapping: Mapping,
    *,
    iterations: int = 64,
    reference: Reference | None = None,
    author: str = "gridloom",
) -> Result:
    """Return the result with the mapping and its metrics if ``verify`` and ``sim`` pass it, else with their reasons.

    With a ``reference``, the graph also has to compute what its source computes, on random data. ``author`` is who
    wrote the mapper: gridloom, or the mapper's own name. Costs time linear in the mapping's hops and in iterations
    times tiles, and about 0.1 s for the source.
    """
    violations = illegalities(mapping)
    if violations:
        return replace(result, failure=_refusal("legality", violations, author), refused=mapping)
    legal = replace(result, verified=Verified(legal=True))
    simulation = run_simulation(mapping, iterations=iterations, seed=result.seed)
    if simulation.findings:
        return replace(legal, failure=_refusal("simulation", simulation.findings, author), refused=mapping)
    verified = Verified(legal=True, simulated=True)
    if reference is not None:
        compared = reference.compare(mapping.dfg, result.seed)
        if compared.findings:
            failure = _refusal("comparison with the source", compared.findings)
            return replace(legal, failure=failure, refused=mapping)
        kept: Literal["source", "graph"] = "source" if compared.runs else "graph"
        verified = replace(verified, compared_with=kept, not_compared=compared.reason)
    # On elastic arrays only the simulation knows the period; elsewhere the rate is empty.
    measured = {**metrics(mapping), **simulation.rate}
    return replace(legal, verified=verified, mapping=mapping, metrics=measured)


def illegalities(mapping: Mapping) -> list[str]:
    """Return what ``verify`` finds wrong with a mapping, one sentence each."""
    from gridloom.verify import legal

    return [str(violation) for violation in legal(mapping)]


def find_faults(mapping: Mapping) -> list[str]:
    """Return why nothing is written for a mapping: what the checker or the simulator finds wrong with it.

    Empty for a mapping that is legal and computes what its graph computes over 64 iterations.
    """
    found = illegalities(mapping)
    return [f"not legal: {line}" for line in found] or [
        f"different values: {line}" for line in run_simulation(mapping, iterations=64, seed=0).findings
    ]


def metrics(mapping: Mapping) -> dict[str, Any]:
    """Return the metrics that ``verify`` recomputes from a mapping.

    On an array with SIMD lanes they also say why one loop cannot be split over them, if so.
    """
    from gridloom.transform.lanes import lanes_refusal
    from gridloom.verify import stats

    found = dict(stats(mapping).to_dict())
    if "simd" in found:
        refusal = lanes_refusal(mapping.dfg, found["simd"]["lanes"])
        found["simd"] |= {"split": False, "split_refused": refusal}
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What a simulation showed: findings (none: all values are right) and, on elastic arrays, the period."""

    findings: tuple[str, ...] = ()
    #: Iterations and cycles of the run that was asked for; fewer iterations where more would leave the arrays.
    iterations: int = 0
    cycles: int = 0
    asked: int = 0
    #: Trip counts of all runs, that one among them.
    trip_counts: tuple[int, ...] = ()
    #: SIMD lanes that ran, each on values of its own.
    lanes: int = 1
    period: float | None = None

    @property
    def rate(self) -> dict[str, float]:
        """The period and the throughput, where the array has them."""
        return {} if not self.period else {"period": self.period, "throughput": 1 / self.period}


def run_simulation(mapping: Mapping, *, iterations: int, seed: int) -> Simulation:
    """Run a mapping cycle by cycle and compare it with the interpreter.

    Raises a GridloomError when the graph cannot be run at all or the mapping names what does not exist.
    """
    from gridloom.sim import simulate

    return _told(simulate(mapping, iterations=iterations, seed=seed))


def run_configuration(configuration: Configuration, *, iterations: int, seed: int) -> Simulation:
    """Run a configuration as :func:`run_simulation` runs a mapping, for a caller that uses it again."""
    from gridloom.sim.compare import simulate_configuration

    return _told(simulate_configuration(configuration, iterations=iterations, seed=seed))


def _told(verdict: Verdict) -> Simulation:
    """Return a simulator's verdict as findings in words."""
    found = [verdict.error] if verdict.error else []
    found += [str(mismatch) for mismatch in verdict.mismatches]
    if verdict.divergence is not None:
        found.append(f"first to diverge: {verdict.divergence}")
    return Simulation(
        findings=() if verdict.ok else tuple(found) or ("the values differ",),
        iterations=verdict.iterations,
        cycles=verdict.cycles,
        asked=verdict.asked,
        trip_counts=verdict.trip_counts,
        lanes=verdict.lanes,
        period=verdict.period,
    )


def _refusal(check: str, reasons: Sequence[str], author: str = "gridloom") -> Failure:
    """Return the Failure of a mapping that its mapper believed in and a check refused: an error in the mapper."""
    blame = "the mapper returned (an error in gridloom; please report it)"
    more = f" and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    return Failure(
        constraint=f"{check} of what {blame if author == 'gridloom' else f'mapper {author!r} returned'}",
        demand="no finding",
        bound=f"{len(reasons)}: " + "; ".join(reasons[:_SHOWN]) + more,
        levers=("another seed", "another mapper"),
    )
