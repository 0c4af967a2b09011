"""The cold start of a mapped section: simulated until one sample has gone through.

A sample of a large network has a thousand blocks, which take the simulator half a minute. A start whose packets cross
more than ``MOST_CROSSINGS`` links is simulated with fewer blocks of results, and again with half of these: what a block
more costs follows from the difference. The passes that fill attention's operands are simulated with all blocks of the
sample where they cross no more links than that, and in the same way with fewer and with half of them otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.mapping.model import Mapping
from gridloom.targets.dataflow.lowering.lower import Section
from gridloom.targets.dataflow.machine.cold import ColdStart, ColdStartFigures, passes
from gridloom.targets.dataflow.machine.measure import Meter
from gridloom.targets.dataflow.report.card import ColdLoad, DataflowLoad, dataflow_card
from gridloom.targets.dataflow.report.load import dataflow_load, flow_links

if TYPE_CHECKING:
    from gridloom.flow.result import Result

Words = NDArray[np.int64]

#: Links that packets cross in a start that is simulated whole, some tens of nanoseconds each.
MOST_CROSSINGS: Final = 8_000_000
#: Blocks that a start is simulated with at the least.
LEAST_BLOCKS: Final = 16


@dataclass(frozen=True, kw_only=True)
class SectionStart:
    """The cold start of a section with one sample: its figures, and the blocks of results that were simulated."""

    figures: ColdStartFigures
    blocks: int


def section_start(mapping: Mapping, section: Section, *, whole: bool = False) -> SectionStart | None:
    """Return the cold start of a section with one sample, or None where it comes to a deadlock.

    With ``whole`` all blocks are simulated, however long it takes. Otherwise costs a few seconds at the most, as long
    as the fewest blocks take no longer.
    """
    meter = Meter(mapping.dfg, mapping.arch)
    start, links = flow_links(mapping, meter)
    held = frozenset(section.held)

    def figures(sample: int, results: int) -> ColdStartFigures | None:
        cold = ColdStart(blocks=sample, results=min(sample, results), held=held)
        return meter.measure(start, links, cold=cold).cold

    sample, results = (section.blocks, section.blocks) if whole else _affordable(meter, start, held, section.blocks)
    found = figures(sample, results)
    if found is None:
        return None
    if results < section.blocks:
        fewer = figures(sample, results // 2)
        found = None if fewer is None else _later(found, fewer, results, section.blocks)
    if found is not None and sample < section.blocks:
        longer, shorter = figures(sample, results // 2), figures(sample // 2, results // 2)
        if longer is None or shorter is None:
            return None
        found = _shifted(found, longer.first_output - shorter.first_output, sample, section.blocks)
    return None if found is None else SectionStart(figures=found, blocks=results)


def _affordable(meter: Meter, route_start: Words, held: frozenset[str], blocks: int) -> tuple[int, int]:
    """Return how many blocks of a sample fill held operands, and how many blocks of results follow them."""
    begins = passes(meter.dfg, held)
    crossings = meter.edge_crossings(route_start)
    before = [max(begins) - begins[meter.dfg.index[edge.source]] for edge in meter.dfg.edges]
    results = min(blocks, max(LEAST_BLOCKS, int(MOST_CROSSINGS / crossings.sum())))
    filling = float(crossings @ np.array(before, dtype=np.float64))
    return (blocks if filling * blocks <= MOST_CROSSINGS else max(results, int(MOST_CROSSINGS / filling))), results


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


def _later(found: ColdStartFigures, fewer: ColdStartFigures, results: int, wanted: int) -> ColdStartFigures:
    """Return the figures with more blocks of results: along the line through a run and one with half of its blocks."""
    more = (found.last_output - fewer.last_output) * (wanted - results) / (results - results // 2)
    return replace(found, last_output=found.last_output + round(more))


def _shifted(found: ColdStartFigures, difference: int, sample: int, wanted: int) -> ColdStartFigures:
    """Return the figures with a longer sample to hold, of which half takes so many cycles less."""
    more = round(difference * (wanted - sample) / (sample - sample // 2))
    return replace(found, first_output=found.first_output + more, last_output=found.last_output + more)


def report_card(result: Result) -> str:
    """Return the card of the report on the pipeline of a result: where its cycles go, and its cold start."""
    load = None if result.mapping is None else with_start(dataflow_load(result.mapping), result)
    return "" if load is None else dataflow_card(result.arch, load)
