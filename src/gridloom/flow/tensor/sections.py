"""Tensor programs: lowered to units, cut into sections where they are too large, each section mapped alone.

Sections take turns on the array, so a sample takes the sum of their times. Sections that are alike (the layers of a
transformer) are mapped once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from gridloom.archs.families.rdu import RduParameters
from gridloom.archs.model import Arch
from gridloom.archs.spec import parameters
from gridloom.dfg.model import Dfg
from gridloom.flow.request import Request
from gridloom.flow.result import Result
from gridloom.transform.lower_tensor import Section, alike, lower

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

    @property
    def cycles(self) -> float:
        """Cycles per sample in one such section; copies work on samples of their own at the same time."""
        return float(self.result.metrics.get("period") or 0.0) * self.section.blocks / self.section.copies

    @property
    def load_cycles(self) -> int:
        """Cycles to bring the weights of all copies from DRAM before the first sample, over all channels at once."""
        return self._read_cycles(self.section.weights * self.section.copies)

    @property
    def configure_cycles(self) -> int:
        """Cycles to bring the configuration of its units from DRAM, over all channels at once."""
        p = parameters(RduParameters, self.result.arch.spec)
        return self._read_cycles(len(self.section.dfg.nodes) * p.configure_vectors)

    def _read_cycles(self, vectors: int) -> int:
        """Cycles in which all DRAM channels together bring so many vectors, refreshes included, and the latency."""
        p = parameters(RduParameters, self.result.arch.spec)
        interfaces = sum(tile.kind == "dram" for tile in self.result.arch.tiles)
        channels = max(1, min(p.dram_channels, interfaces))
        busy = p.dram_cycles * -(-vectors // channels)
        return busy + busy // (p.refresh_every - p.refresh_cycles) * p.refresh_cycles + p.dram_latency if vectors else 0

    @property
    def held_cycles(self) -> float:
        """Cycles until attention's held operands are there for the first time: a sample has to pass before."""
        return self.cycles if any(stage.held for stage in self.section.stages) else 0.0

    @property
    def latency(self) -> float:
        """Cycles of one sample alone: configuration, weights, held operands, filling the pipeline, and its blocks."""
        start = self.configure_cycles + self.load_cycles + self.held_cycles
        return start + self.fill_cycles + self.cycles

    @property
    def fill_cycles(self) -> float:
        """Cycles from the first block to the first complete result: the pipeline's depth in blocks."""
        return float(self.result.metrics.get("period") or 0.0) * self.section.depth

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
            "configure_cycles": self.configure_cycles,
            "load_cycles": self.load_cycles,
            "held_cycles": self.held_cycles,
            "fill_cycles": self.fill_cycles,
            "latency": self.latency,
            "bound": bound,
            "efficiency": bound / period if period else None,
            "flops": self.section.flops,
            "status": self.result.status,
        }


def run_sections(request: Request, dfg: Dfg, arch: Arch, map_graph: MapGraph) -> Result:
    """Lower a tensor program and map its sections; the result is that of the longest one, with all of them listed.

    It is ``mapped`` when every section is; period and throughput are those of a whole sample. A time limit or an effort
    is shared by the different sections. Costs the searches.
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
        mapped.append(MappedSection(section=group[0], result=result, count=len(group)))
        # Without this section there is no program: the others need not be searched.
        if result.mapping is None:
            return replace(result, sections=tuple(mapped))
    longest = max(mapped, key=lambda item: item.cycles).result
    total = sum(item.cycles * item.count for item in mapped)
    seconds = sum(item.result.seconds for item in mapped)
    alone = sum(item.latency * item.count for item in mapped)
    metrics = {**longest.metrics, "period": total, "throughput": 1 / total if total else None, "latency": alone}
    return replace(longest, seconds=seconds, metrics=metrics, sections=tuple(mapped), remarks=_remarks(mapped))


def _remarks(mapped: list[MappedSection]) -> tuple[str, ...]:
    """Return what the mapper has to say of the sections, each sentence once."""
    told = [item.result.mapping.provenance.get("remark") for item in mapped if item.result.mapping is not None]
    return tuple(dict.fromkeys(str(text) for text in told if text is not None))
