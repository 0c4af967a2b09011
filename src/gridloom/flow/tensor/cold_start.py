"""The cold start of a mapped section: simulated until one sample has gone through.

A sample of a large network has a thousand blocks, which take the simulator half a minute. A start that is longer than
``MOST_CROSSINGS`` is simulated twice, with fewer blocks and with half of these: what a block more costs follows from
the difference, also where the pass that fills attention's operands is faster than the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from gridloom.emit.report.dataflow_card import ColdLoad, DataflowLoad
from gridloom.flow.tensor.dataflow_load import flow_links
from gridloom.mapping.model import Mapping
from gridloom.sim.elastic.cold import ColdFigures, ColdStart, passes
from gridloom.sim.elastic.measure import Meter
from gridloom.transform.lower_tensor import Section

if TYPE_CHECKING:
    from gridloom.flow.result import Result

#: Links that packets cross in a start that is simulated whole, some tens of nanoseconds each.
MOST_CROSSINGS: Final = 8_000_000
#: Blocks that a start is simulated with at the least.
LEAST_BLOCKS: Final = 16


@dataclass(frozen=True, kw_only=True)
class SectionStart:
    """The cold start of a section with one sample: its figures, and the blocks of a sample that were simulated."""

    figures: ColdFigures
    blocks: int


def section_start(mapping: Mapping, section: Section, *, whole: bool = False) -> SectionStart | None:
    """Return the cold start of a section with one sample, or None where it comes to a deadlock.

    With ``whole`` all blocks are simulated, however long it takes. Otherwise costs at most about two seconds, as long
    as the fewest blocks take no longer.
    """
    meter = Meter(mapping.dfg, mapping.arch)
    start, links = flow_links(mapping, meter)
    held = frozenset(section.held)
    crossings = meter.block_crossings(start) * (1 + max(passes(mapping.dfg, held), default=0))
    blocks = section.blocks if whole else min(section.blocks, max(LEAST_BLOCKS, int(MOST_CROSSINGS / crossings)))

    def figures(count: int) -> ColdFigures | None:
        return meter.measure(start, links, cold=ColdStart(blocks=count, held=held)).cold

    longer = figures(blocks)
    shorter = longer if blocks == section.blocks else figures(blocks // 2)
    if longer is None or shorter is None:
        return None
    return SectionStart(figures=_extended(shorter, blocks // 2, longer, blocks, section.blocks), blocks=blocks)


def with_start(load: DataflowLoad | None, result: Result) -> DataflowLoad | None:
    """Return the load of a result's mapping with the cold start of the section that it is the mapping of."""
    here = (item.start for item in result.sections if item.result.mapping is result.mapping)
    start = next(here, None)
    if load is None or start is None:
        return load
    found = start.figures
    cold = ColdLoad(
        configured=found.configured,
        loaded=found.loaded,
        first_output=found.first_output,
        last_output=found.last_output,
    )
    return replace(load, cold=cold)


def _extended(shorter: ColdFigures, few: int, longer: ColdFigures, many: int, wanted: int) -> ColdFigures:
    """Return the figures of a start with more blocks than the two that were simulated: along the line through both."""
    if wanted == many:
        return longer

    def along(low: int, high: int) -> int:
        return high + round((high - low) * (wanted - many) / (many - few))

    return ColdFigures(
        configured=longer.configured,
        loaded=longer.loaded,
        first_output=along(shorter.first_output, longer.first_output),
        last_output=along(shorter.last_output, longer.last_output),
    )
