"""The flow: from a source to a mapping that is confirmed. ``run`` is the list of steps, read from top to bottom."""

from __future__ import annotations

import time
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg
from gridloom.dfg.tensors import is_tensor_program
from gridloom.errors import OptionError
from gridloom.flow.bounds import count_failure, lower_bound
from gridloom.flow.choice import choose, config_type, make_config
from gridloom.flow.confirmation import confirm
from gridloom.flow.files import load_arch, memory_of
from gridloom.flow.placements import read_placement
from gridloom.flow.request import Placement, Request
from gridloom.flow.result import Result
from gridloom.flow.tensor.sections import run_sections
from gridloom.frontend.loops.spec import Memory
from gridloom.frontend.source import load_source
from gridloom.mappers.core.compiling import reported
from gridloom.mapping.model import Failure, Mapping
from gridloom.transform.fuse import fuse, fuses
from gridloom.transform.streams import needs_memory, streams_to_memory


def run(request: Request) -> Result:
    """Map, check and simulate; the result is ``mapped`` only when both checks passed.

    Raises a GridloomError for bad input. Costs the search (see the budget in the request) plus checks that are linear
    in the mapping's hops and in iterations times tiles.
    """
    arch = read_arch(request.arch)
    dfg = suited(read_source(request.source, memory_of(arch)), arch)
    check_ii(request.ii, arch)
    if is_tensor_program(dfg):
        return run_sections(request, dfg, arch, map_graph)
    return map_graph(request, dfg, arch)


# -- the steps --------------------------------------------------------------------------------------------------------


def map_graph(request: Request, dfg: Dfg, arch: Arch) -> Result:
    """Map a graph that suits its array, and confirm what the mapper returns."""
    mapper = choose("exact" if request.prove and request.mapper == "auto" else request.mapper, arch)
    config = mapper_config(request, mapper, dfg, arch)
    failure = count_failure(dfg, arch, request.ii)
    result = Result(dfg=dfg, arch=arch, mapper=mapper, seed=request.seed, seconds=0.0, bound=lower_bound(dfg, arch))
    if failure is not None:
        return replace(result, failure=failure)
    with reported(request.progress):
        found = search(request, mapper, config, dfg, arch)
        result = replace(result, seconds=found.seconds)
        if isinstance(found.outcome, Failure):
            return replace(result, failure=found.outcome)
        return confirm(result, found.outcome, iterations=request.iterations)


def read_source(source: Dfg | str | Path, memory: Memory | None = None) -> Dfg:
    """The graph of a SOURCE, for an array that takes memory accesses that way; a graph stands for itself."""
    return source if isinstance(source, Dfg) else load_source(str(source), memory=memory)


def read_arch(arch: Arch | MappingABC[str, Any] | str | Path) -> Arch:
    """The array of an ARCH; an array stands for itself."""
    if isinstance(arch, Arch):
        return arch
    return build(arch) if isinstance(arch, MappingABC) else load_arch(str(arch))


def suited(dfg: Dfg, arch: Arch) -> Dfg:
    """The graph as the array takes it: fused instructions, or streams as loads and stores where there is no port."""
    if fuses(arch):
        return fuse(dfg)
    return streams_to_memory(dfg) if needs_memory(dfg, arch) else dfg


def check_ii(ii: int | None, arch: Arch) -> None:
    """OptionError when an II is asked for that the array's style does not have."""
    if ii is None or arch.style == "modulo":
        return
    if arch.style == "elastic":
        raise OptionError(f"array {arch.name!r} is elastic: it has no II", where="--ii")
    if ii != 1:
        raise OptionError(f"array {arch.name!r} is static: its II is 1, found {ii}", where="--ii")


def mapper_config(request: Request, mapper: str, dfg: Dfg, arch: Arch) -> Any:
    """The mapper's configuration with what the request says of II and placement."""
    given: dict[str, Any] = {}
    if request.ii is not None and arch.style == "modulo":
        given["ii"] = request.ii
    if request.prove:
        given["prove"] = True
    for name in ("place", "init", "pin"):
        asked: Placement | None = getattr(request, name)
        if asked is not None:
            given[name] = read_placement(asked, dfg, arch, option=f"--{name}")
    return make_config(mapper, config_type(registry.load("mappers", mapper)), request.settings, given)


@dataclass(frozen=True, slots=True)
class Search:
    """What a mapper returned and how long it searched."""

    outcome: Mapping | Failure
    seconds: float


def search(request: Request, mapper: str, config: Any, dfg: Dfg, arch: Arch) -> Search:
    """Call the mapper. Its own clock gives the seconds, since it knows what was compilation; else the whole call."""
    from gridloom.mappers.budget import Budget, Progress

    told: list[float] = []

    def listen(progress: Progress) -> None:
        told[:] = [progress.seconds]
        if request.progress is not None:
            request.progress(progress)

    budget = Budget(
        time_limit=request.time_limit,
        effort=request.effort,
        seed=request.seed,
        workers=request.jobs,
        progress=listen,
        interrupted=request.interrupted,
    )
    began = time.perf_counter()
    outcome: Mapping | Failure = registry.load("mappers", mapper)(dfg, arch, config, budget)
    return Search(outcome, told[0] if told else time.perf_counter() - began)
