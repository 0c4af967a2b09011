"""Tensor programs: lowered to units, cut into sections where they are too large, each section mapped alone.

Sections take turns on the array, so a sample takes the sum of their times, and a sample alone the sum of their cold
starts. Sections that are alike (the layers of a transformer) are mapped once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.flow.request import Request
from gridloom.flow.result import Result
from gridloom.targets.dataflow.lowering.lower import Section, alike, lower
from gridloom.targets.dataflow.program.costs import is_tensor_program
from gridloom.targets.dataflow.sections.cold_start import SectionStart, section_start

#: Copies of a section at the most, where the array has room: more samples at a time use the units of a large array.
MOST_COPIES: Final = 8

MapGraph = Callable[[Request, Dfg, Arch], Result]


@dataclass(frozen=True, kw_only=True)
class MappedSection:
    """A section and what came of it.

    Of several sections that are alike only the first is mapped; ``count`` says how many times its cycles count.
    """

    section: Section
    result: Result
    #: Sections of the program that are like this one, itself included.
    count: int = 1
    #: Its cold start with one sample; None without a mapping, or where it comes to a deadlock.
    start: SectionStart | None = None

    @property
    def cycles(self) -> float:
        """Cycles per sample in one such section; copies work on samples of their own at the same time."""
        return float(self.result.metrics.get("period") or 0.0) * self.section.blocks / self.section.copies

    @property
    def latency(self) -> int | None:
        """Cycles of one sample alone, from an array without configuration until the last result is in DRAM."""
        return None if self.start is None else self.start.figures.last_output

    def to_dict(self) -> dict[str, Any]:
        """Return the section as plain JSON data."""
        period = self.result.metrics.get("period")
        bound = float(self.section.bound)
        return {
            "name": self.section.dfg.name,
            "count": self.count,
            "stages": [stage.id for stage in self.section.stages],
            "units": len(self.section.dfg.nodes),
            "blocks": self.section.blocks,
            "copies": self.section.copies,
            "period": period,
            **self._steps(),
            "latency": self.latency,
            "bound": bound,
            "efficiency": bound / period if period else None,
            "flops": self.section.flops,
            "status": self.result.status,
        }

    def _steps(self) -> dict[str, int | None]:
        """Return the cycles of the steps of the cold start, and the blocks of a sample that were simulated."""
        if self.start is None:
            return dict.fromkeys(("configure_cycles", "load_cycles", "fill_cycles", "simulated_blocks"))
        figures = self.start.figures
        return {
            "configure_cycles": figures.configured,
            "load_cycles": figures.loaded - figures.configured,
            "fill_cycles": figures.first_output - figures.loaded,
            "simulated_blocks": self.start.blocks,
        }


def run_program(request: Request, dfg: Dfg, arch: Arch, map_graph: MapGraph) -> Result | None:
    """Map a tensor program by sections; None for a graph of units, which is mapped as it is."""
    return run_sections(request, dfg, arch, map_graph) if is_tensor_program(dfg) else None


def run_sections(request: Request, dfg: Dfg, arch: Arch, map_graph: MapGraph) -> Result:
    """Lower a tensor program and map its sections; the result is that of the longest one, with all of them listed.

    It is ``mapped`` when every section is; period and throughput are those of a whole sample, and the latency is that
    of one sample that begins with an array without configuration. A time limit or an effort is shared by the different
    sections. Costs the searches, and up to about two seconds of simulation for each section.
    """
    groups = alike(lower(dfg, arch, copies=MOST_COPIES).sections)
    share = replace(
        request,
        time_limit=None if request.time_limit is None else request.time_limit / len(groups),
        effort=None if request.effort is None else max(1, request.effort // len(groups)),
    )
    mapped: list[MappedSection] = []
    for group in groups:
        result = map_graph(share, group[0].dfg, arch)
        item = MappedSection(section=group[0], result=result, count=len(group))
        # Without this section there is no program: the others need not be searched.
        if result.mapping is None:
            return replace(result, sections=(*mapped, item))
        mapped.append(replace(item, start=section_start(result.mapping, group[0])))
    longest = max(mapped, key=lambda item: item.cycles).result
    total = sum(item.cycles * item.count for item in mapped)
    seconds = sum(item.result.seconds for item in mapped)
    starts = [None if item.latency is None else item.latency * item.count for item in mapped]
    alone = None if None in starts else sum(cycles for cycles in starts if cycles is not None)
    metrics = {**longest.metrics, "period": total, "throughput": 1 / total if total else None, "latency": alone}
    return replace(longest, seconds=seconds, metrics=metrics, sections=tuple(mapped), remarks=_remarks(mapped))


def _remarks(mapped: list[MappedSection]) -> tuple[str, ...]:
    """Return what the mapper has to say of the sections, each sentence once."""
    told = [item.result.mapping.provenance.get("remark") for item in mapped if item.result.mapping is not None]
    return tuple(dict.fromkeys(str(text) for text in told if text is not None))
