"""The flow from a source to a mapping that is confirmed: a list of steps, read from top to bottom.

``run`` prepares the input (:mod:`gridloom.flow.inputs`), maps its sections, of which most sources have one, and joins
their results. For each graph of a section ``map_graph``

1. chooses the mapper and its configuration (:mod:`gridloom.flow.options`),
2. counts: some graphs cannot fit, whatever a search would try (:mod:`gridloom.flow.bounds`),
3. searches: the mapper schedules, places, routes and balances,
4. confirms: ``verify`` and ``sim`` judge what the mapper returned (:mod:`gridloom.flow.confirmation`).

Built-in mappers write their own provenance. A user's function or a plug-in may leave it out: ``sign_outcome`` completes
the record, so that every saved mapping names what made it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gridloom import registry
from gridloom._version import __version__
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.flow.bounds import count_failure, lower_bound
from gridloom.flow.confirmation import confirm
from gridloom.flow.inputs import prepare
from gridloom.flow.lanes import split_alternatives, told_of_split
from gridloom.flow.loops.alternatives import Alternative, map_best
from gridloom.flow.options import choose, make_config
from gridloom.flow.placements import read_placement, split_regions
from gridloom.flow.request import Placement, Request
from gridloom.flow.result import Result
from gridloom.flow.source.comparison import Reference
from gridloom.limits import MOST_SLOTS, reading_seconds
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.choice import MapperFunction, call_mapper, config_type, function_for, mapper_name
from gridloom.search.compiling import report_compilation
from gridloom.search.settings import changed_settings

if TYPE_CHECKING:
    from gridloom.search.budget import Budget


def run(request: Request) -> Result:
    """Map, check and simulate; the result is ``mapped`` only when both checks passed.

    Raises a GridloomError for bad input. Costs the search (see the budget in the request) plus checks that are linear
    in the mapping's hops and in iterations times tiles.
    """
    prepared = prepare(request.source, request.arch, seconds=reading_seconds(request.time_limit))
    request = _left(request, prepared.seconds)
    # Before any search: an II that the style does not have is a mistake of the user, not a failure of the mapper.
    check_ii(request.ii, prepared.arch)
    sections: Sequence[Sequence[Alternative]] = prepared.sections
    if request.split_lanes:
        sections = [split_alternatives(rows, prepared.arch) for rows in sections]
    result = prepared.join(_map_sections(request, sections, prepared.arch))
    return told_of_split(result) if request.split_lanes else result


def _map_sections(request: Request, sections: Sequence[Sequence[Alternative]], arch: Arch) -> list[Result]:
    """Map each section with an equal share of the time and the effort, up to the first that fails."""
    if len(sections) > 1:
        time_limit = None if request.time_limit is None else request.time_limit / len(sections)
        effort = None if request.effort is None else max(1, request.effort // len(sections))
        request = replace(request, time_limit=time_limit, effort=effort)
    results: list[Result] = []
    for rows in sections:
        results.append(map_best(request, rows, arch, map_graph))
        # Without this section there is no program: the others need not be searched.
        if results[-1].mapping is None:
            break
    return results


def map_graph(request: Request, dfg: Dfg, arch: Arch, reference: Reference | None = None) -> Result:
    """Map a graph that is fitted to its array, and confirm what the mapper returns.

    With a ``reference``, the graph is compared with the source that it was read from, too.

    ``request.source`` and ``request.arch`` are not read: callers that make graphs of their own (parts, flows, sections)
    hand them in. Raises OptionError for a mapper or a setting that does not suit the array.
    """
    mapper = choose(request.mapper, arch, prove=request.prove)
    name = mapper_name(mapper)
    config = mapper_config(request, mapper, dfg, arch)
    failure = count_failure(dfg, arch, request.ii)
    result = Result(dfg=dfg, arch=arch, mapper=name, seed=request.seed, seconds=0.0, bound=lower_bound(dfg, arch))
    if failure is not None:
        return replace(result, failure=failure)
    with report_compilation(request.progress):
        searched = search(request, mapper, config, dfg, arch)
        result = replace(result, seconds=searched.seconds)
        if isinstance(searched.outcome, Failure):
            return replace(result, failure=searched.outcome)
        author = "gridloom" if isinstance(mapper, str) and not registry.is_added("mappers", mapper) else name
        return confirm(result, searched.outcome, iterations=request.iterations, reference=reference, author=author)


def _left(request: Request, seconds: float) -> Request:
    """The request with what is left of its time after reading the source; the first second is not counted.

    A limit of CPU time is for the search alone.
    """
    if request.time_limit is None or request.cpu_time or seconds <= 1.0:
        return request
    return replace(request, time_limit=max(request.time_limit - seconds, request.time_limit / 10))


# -- the steps --------------------------------------------------------------------------------------------------------


def check_ii(ii: int | None, arch: Arch) -> None:
    """Raise OptionError when an II is asked for that the array's style does not have, or that makes too many slots."""
    if ii is None:
        return
    slots = ii * len(arch.tiles)
    if arch.style == "modulo" and slots > MOST_SLOTS:
        raise OptionError(f"II {ii} on {len(arch.tiles)} tiles is {slots} slots; expected at most {MOST_SLOTS}",
                          where="--ii")  # fmt: skip
    if not arch.is_timed:
        raise OptionError(f"array {arch.name!r} is {arch.style}: it has no II", where="--ii")
    if ii != 1 and arch.style != "modulo":
        raise OptionError(f"array {arch.name!r} is static: its II is 1, found {ii}", where="--ii")


def mapper_config(request: Request, mapper: str | MapperFunction, dfg: Dfg, arch: Arch) -> Any:
    """Return the mapper's configuration with what the request says of II and placement."""
    given: dict[str, Any] = {}
    if request.ii is not None and arch.style == "modulo":
        given["ii"] = request.ii
    if request.prove:
        given["prove"] = True
    for name in ("place", "init", "pin"):
        asked: Placement | None = getattr(request, name)
        if asked is not None:
            given[name] = read_placement(asked, dfg, arch, option=f"--{name}")
    kind = config_type(function_for(mapper, arch))
    if "pin" in given:
        given |= split_regions(given["pin"])
        fields = {field.name for field in dataclasses.fields(kind)}
        if "region" in given and "pin" in fields and "region" not in fields:
            raise OptionError(f"mapper {mapper_name(mapper)!r} takes tiles, and no regions", where="--pin")
    return make_config(mapper_name(mapper), kind, request.settings, given)


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What a mapper returned and how long it searched."""

    outcome: Mapping | Failure
    seconds: float


def search(request: Request, mapper: str | MapperFunction, config: Any, dfg: Dfg, arch: Arch) -> SearchOutcome:
    """Call the mapper. Its own clock gives the seconds, since it knows what was compilation; else the whole call."""
    from gridloom.search.budget import Budget, Progress

    told: list[float] = []

    def listen(progress: Progress) -> None:
        told[:] = [progress.seconds]
        if request.progress is not None:
            request.progress(progress)

    budget = Budget(
        time_limit=request.time_limit,
        cpu_time=request.cpu_time,
        effort=request.effort,
        seed=request.seed,
        workers=request.jobs,
        progress=listen,
        interrupted=request.interrupted,
    )
    began = time.perf_counter()
    outcome = call_mapper(mapper, dfg, arch, config, budget)
    seconds = told[0] if told else time.perf_counter() - began
    return SearchOutcome(sign_outcome(outcome, mapper, config, budget, dfg, arch), seconds)


def sign_outcome(
    outcome: Any, mapper: str | MapperFunction, config: Any, budget: Budget, dfg: Dfg, arch: Arch
) -> Mapping | Failure:
    """Return the outcome of a mapper; a mapping has a complete provenance, which names a function that was given.

    OptionError for an outcome that is neither a Mapping nor a Failure, and for a mapping of another graph or array: the
    checks would confirm it, and it would answer another question.
    """
    if isinstance(outcome, Failure) or (isinstance(mapper, str) and not registry.is_added("mappers", mapper)):
        kept: Mapping | Failure = outcome
        return kept
    name = mapper_name(mapper)
    if not isinstance(outcome, Mapping):
        raise OptionError(f"mapper {name!r} returned a {type(outcome).__name__}; expected a Mapping or a Failure")
    if outcome.dfg is not dfg and outcome.dfg != dfg:
        raise OptionError(f"mapper {name!r} returned a mapping of another graph, {outcome.dfg.name!r}")
    if outcome.arch is not arch and outcome.arch.fingerprint != arch.fingerprint:
        raise OptionError(f"mapper {name!r} returned a mapping onto another array, {outcome.arch.name!r}")
    record = {"mapper": name, "config": changed_settings(config), "seed": budget.seed, "version": __version__}
    # A function may have called another mapper, which has signed with its own name and settings.
    told = {**record, **outcome.provenance} if isinstance(mapper, str) else {**outcome.provenance, **record}
    return replace(outcome, provenance=told)
