"""Tensor programs: lowered to units and cut into sections where they are too large, each of which is mapped alone.

Sections take turns on the array, so a sample takes the sum of their times, and a sample alone the sum of their cold
starts. Sections that are alike (the layers of a transformer) are mapped once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.flow.result import Result
from gridloom.targets.dataflow.lowering.lower import Section, alike, lower
from gridloom.targets.dataflow.program.model import TensorProgram
from gridloom.targets.dataflow.sections.cold_start import SectionStart, section_start

#: Copies of a section at the most, where the array has room: more samples at a time use the units of a large array.
MOST_COPIES: Final = 8


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


@dataclass(frozen=True, kw_only=True)
class TensorSections:
    """A lowered tensor program: sections that are alike are one group, of which the first is mapped."""

    groups: tuple[tuple[Section, ...], ...]

    @property
    def graphs(self) -> tuple[Dfg, ...]:
        """The graph of units of each group."""
        return tuple(group[0].dfg for group in self.groups)

    def join(self, results: Sequence[Result]) -> Result:
        """Return the result of the longest section, with all of them listed, or the first one that failed.

        Period and throughput are those of a whole sample, and the latency is that of one sample that begins with an
        array without configuration. Costs up to about two seconds of simulation for each section.
        """
        mapped = tuple(_mapped_section(group, result) for group, result in zip(self.groups, results))
        if results[-1].mapping is None:
            return replace(results[-1], sections=mapped)
        longest = max(mapped, key=lambda item: item.cycles).result
        total = sum(item.cycles * item.count for item in mapped)
        starts = [None if item.latency is None else item.latency * item.count for item in mapped]
        alone = None if None in starts else sum(cycles for cycles in starts if cycles is not None)
        metrics = {**longest.metrics, "period": total, "throughput": 1 / total if total else None, "latency": alone}
        seconds = sum(result.seconds for result in results)
        return replace(longest, seconds=seconds, metrics=metrics, sections=mapped, remarks=_remarks(mapped))


def cut_program(dfg: Dfg, arch: Arch) -> TensorSections | None:
    """Lower a tensor program and cut it into sections; None for a graph of units, which is mapped as it is."""
    if not isinstance(dfg, TensorProgram):
        return None
    return TensorSections(groups=tuple(map(tuple, alike(lower(dfg, arch, copies=MOST_COPIES).sections))))


def _mapped_section(group: Sequence[Section], result: Result) -> MappedSection:
    """Return what came of the first section of a group, with its cold start."""
    start = None if result.mapping is None else section_start(result.mapping, group[0])
    return MappedSection(section=group[0], result=result, count=len(group), start=start)


def _remarks(mapped: Sequence[MappedSection]) -> tuple[str, ...]:
    """Return what the mapper has to say of the sections, each sentence once."""
    told = [item.result.mapping.provenance.get("remark") for item in mapped if item.result.mapping is not None]
    return tuple(dict.fromkeys(str(text) for text in told if text is not None))
