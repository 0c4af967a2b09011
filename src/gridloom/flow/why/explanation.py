"""Why a result is what it is: the reasons that bind, the verdict in one sentence, and what would help.

``explain`` serves the command line, reports, the studio and ``Result.why``. Its numbers add up: a reason that binds
allows the II that it names and no lower one, and a lever is listed only after it was tried
(:mod:`gridloom.flow.why.levers`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, replace
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.flow.why.levers import Lever, find_levers, variations
from gridloom.flow.why.reasons import Reason, find_reasons
from gridloom.mapping.model import Failure, Mapping

if TYPE_CHECKING:
    from gridloom.flow.request import Request

#: Moves of a short search, and seconds after which it ends all the same.
TRIAL_EFFORT: Final = 20_000
TRIAL_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation:
    """What bounds a mapping or forbids one, and what would change that."""

    #: The graph and the array, in words.
    subject: str
    #: What was reached; None where nothing was, and on arrays without an II.
    ii: int | None
    #: What the bounds allow; None on arrays without an II.
    mii: int | None
    verdict: str
    #: Whether there is a mapping.
    is_mapped: bool = True
    reasons: tuple[Reason, ...] = ()
    levers: tuple[Lever, ...] = ()
    #: What a mapper says of its own proof or bound; empty where it says nothing.
    proof: str = ""

    @property
    def binding(self) -> tuple[Reason, ...]:
        """The reasons that the result is at; all that forbid a mapping, where there is none."""
        if any(reason.kind == "missing" for reason in self.reasons):
            return tuple(reason for reason in self.reasons if reason.kind == "missing")
        at = self.mii if self.ii is None else self.ii
        return tuple(reason for reason in self.reasons if at is None or (reason.ii == at and at > 1))

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain JSON data."""
        binding = self.binding
        return {
            "subject": self.subject,
            "ii": self.ii,
            "mii": self.mii,
            "verdict": self.verdict,
            "mapped": self.is_mapped,
            "reasons": [{**reason.to_dict(), "binding": reason in binding} for reason in self.reasons],
            "levers": [lever.to_dict() for lever in self.levers],
            "proof": self.proof,
        }

    def __repr__(self) -> str:
        return f"<Explanation of {self.subject}: {self.verdict}>"

    def _repr_html_(self) -> str:
        bounds = "".join(f"<li>{escape(reason.text)}</li>" for reason in self.binding)
        levers = "".join(f"<li>{escape(str(lever))}</li>" for lever in self.levers)
        parts = [f"<p>{heading}</p><ul>{items}</ul>" for heading, items in
                 (("bound by", bounds), ("would help, tried", levers)) if items]  # fmt: skip
        return f"<div><strong>{escape(self.subject)}</strong><p>{escape(self.verdict)}</p>{''.join(parts)}</div>"

    def __str__(self) -> str:
        lines = [f"{self.subject}: {self.verdict}"]
        lines += [f"  bound by: {reason.text}" for reason in self.binding if reason.text not in self.verdict]
        lines += [f"  would help: {lever}" for lever in self.levers]
        return "\n".join(lines)


def explain(
    dfg: Dfg,
    arch: Arch,
    mapping: Mapping | None = None,
    failure: Failure | None = None,
    *,
    ii: int | None = None,
    lines: MappingABC[str, int] | None = None,
    trial: Request | None = None,
    most: int = 6,
    seconds: float = math.inf,
) -> Explanation:
    """Explain a mapping, a failure, or, without either, the bounds of a graph on an array.

    ``ii`` is the II that was asked for, ``lines`` the line of the source that each node was made of. With a ``trial``
    request, changes that no bound can judge are tried by
    searches with its mapper and seed, until ``most`` of them help or ``seconds`` are over; without one they are not
    offered. Costs an MII for each change that is tried, and the searches.
    """
    subject = f"{dfg.name} on {arch.name}"
    measure = registry.hook_for("explanations", arch)
    if measure is not None:
        return _explain_pipeline(subject, arch, mapping, failure, measure)
    reasons = tuple(find_reasons(dfg, arch, lines))
    missing = any(reason.kind == "missing" for reason in reasons)
    least = max([1, *(int(reason.ii) for reason in reasons)])
    reached = None if mapping is None else mapping.ii
    proved = mapping is not None and bool(mapping.provenance.get("optimal"))
    limit = 1 if arch.style == "static" else ii
    unmapped = mapping is None and failure is None
    counted = missing or (reached == least > 1) or (reached is None and limit is not None and least > limit)
    levers: tuple[Lever, ...] = ()
    if counted or unmapped:
        levers = tuple(find_levers(dfg, arch, None if reached else limit, most))
    elif trial is not None and (failure is not None or (reached or 1) > least) and not proved:
        levers = tuple(islice(_try_searches(trial, dfg, arch, reached, seconds), most))
    proof = None if mapping is None else mapping.provenance.get("proof") or mapping.provenance.get("bound")
    return Explanation(
        subject=subject,
        ii=reached,
        mii=None if missing else least,
        verdict=_verdict(arch, mapping, failure, least, reasons),
        is_mapped=mapping is not None,
        reasons=reasons,
        levers=levers,
        proof="" if proof is None else str(proof),
    )


def _verdict(
    arch: Arch, mapping: Mapping | None, failure: Failure | None, least: int, reasons: tuple[Reason, ...]
) -> str:
    """The answer in one sentence."""
    missing = [reason.text for reason in reasons if reason.kind == "missing"]
    if missing:
        return f"there is no mapping: {' and '.join(missing)}."
    why = next((reason.text for reason in reasons if reason.ii == least > 1), "")
    if mapping is None:
        if failure is None:
            return f"no mapping has an II below {least}: {why}." if why else "no bound asks for more than II 1."
        found = f"{failure.constraint}: needs {failure.demand}, has {failure.bound}"
        return f"there is no mapping: {found}." if failure.cause == "proved" else f"no mapping was found: {found}."
    if arch.style == "static":
        return "the II is 1: a static array starts an iteration in every cycle, and no array can do better."
    if mapping.ii <= least:
        why = why or "an iteration cannot start more than once per cycle"
        return f"II {mapping.ii} is the least there is: {why}."
    if mapping.provenance.get("optimal"):
        return f"II {mapping.ii} is above the bound of {least}, and a proof says that there is no lower one."
    return (
        f"the bounds allow II {least}, and the search ended at II {mapping.ii}: no bound forbids less, but routes and "
        f"registers were not found for it."
    )


def _try_searches(trial: Request, dfg: Dfg, arch: Arch, reached: int | None, seconds: float) -> Iterator[Lever]:
    """The changes with which a short search finds a mapping, or one with a lower II; the cheapest searches first."""
    from gridloom.flow.run import map_graph

    effort = trial.effort or TRIAL_EFFORT
    request = replace(trial, effort=effort, time_limit=TRIAL_SECONDS, prove=False, place=None, init=None, pin=None,
                      ii=None if reached is None else reached - 1)  # fmt: skip
    plans = [(words, request, other) for words, other in variations(arch)]
    plans += [(f"--effort {4 * effort}", replace(request, effort=4 * effort, time_limit=4 * TRIAL_SECONDS), arch)]
    end = time.monotonic() + seconds
    for words, asked, other in plans:
        left = end - time.monotonic()
        if left <= 0 or (trial.interrupted is not None and trial.interrupted()):
            return
        found = map_graph(replace(asked, time_limit=min(left, asked.time_limit or left)), dfg, other)
        if found.mapping is not None:
            gain = f"II {found.mapping.ii}" if arch.style == "modulo" else "mapped"
            yield Lever(change=words, gain=gain, tried="search")


def _explain_pipeline(
    subject: str, arch: Arch, mapping: Mapping | None, failure: Failure | None, measure: Callable[[Mapping], Any]
) -> Explanation:
    """Explain a mapping on an array without an II, whose target measures the period; the bottleneck bounds it."""
    load = None if mapping is None else measure(mapping)
    if mapping is None or load is None:
        text = f"no mapping was found: {failure}." if failure is not None else "the pipeline has no steady state."
        return Explanation(subject=subject, ii=None, mii=None, verdict=text, is_mapped=mapping is not None)
    hot = {arch.tile_index[name] for name in load.hot if name in arch.tile_index}
    nodes = tuple(mapping.dfg.index[one.node] for one in mapping.instances if arch.tile_index.get(one.place, -1) in hot)
    reason = Reason(
        kind="bottleneck",
        ii=round(load.period, 2),
        text=load.bottleneck,
        nodes=nodes,
        tiles=tuple(sorted(hot)),
        help="more units for the slowest operation, or shorter ways for its tokens",
    )
    verdict = f"a period of {load.period:g} cycles; the bound is {load.bound:g}. {load.bottleneck}"
    return Explanation(subject=subject, ii=None, mii=None, verdict=verdict, reasons=(reason,))
