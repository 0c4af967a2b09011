"""A cold start, packet by packet: configuration, weights, and a section that runs from empty buffers and drains.

The three are programs (`cold`, `loading`) that run one after the other on the machine of `packet_kernel`; refreshes of
the DRAM go on from one to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.errors import SimulationError
from gridloom.targets.dataflow.machine import loading
from gridloom.targets.dataflow.machine import packet_tables as tables
from gridloom.targets.dataflow.machine.cold import ColdProgram, ColdStart, ColdStartFigures, section_program
from gridloom.targets.dataflow.machine.measure import MAX_CYCLES, Measurement, Meter
from gridloom.targets.dataflow.machine.packet_tables import RunRecord

Words = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class _Run:
    """What a program did: the cycles in which its results were there for the first and the last time."""

    record: RunRecord
    first: int
    last: int
    done: bool


def measure_cold(meter: Meter, route_start: Words, route_links: Words, start: ColdStart) -> Measurement:
    """Return the measurement of a cold start, whose ``cold`` says when each step was done; None for a deadlock.

    Its period is that of the blocks between the first and the last block of results, and units are counted from the
    start of the section to their last firing. Costs the packets of all blocks times the hops of their routes.
    """
    dfg, arch, fabric = meter.dfg, meter.arch, meter.fabric
    tiles = _tiles(meter, route_start, route_links)
    configured = _load(loading.configuration(arch, fabric, [tile for tile in tiles if tile >= 0]), arch, 0)
    loaded = _load(loading.weights(arch, fabric, dfg, meter.counts, tiles), arch, configured)
    run = _run(section_program(dfg, meter.counts, start), arch, route_start, route_links, loaded)
    figures = ColdStartFigures(
        configured=configured, loaded=loaded, first_output=loaded + run.first, last_output=loaded + run.last
    )
    between = max(1, start.wanted - 1)
    period = max((run.last - run.first) / between, float(meter.bound)) if run.done else float("inf")
    return Measurement(
        period=period,
        bound=meter.bound,
        cycles=figures.last_output if run.done else 0,
        filled=figures.first_output if run.done else -1,
        units=run.record.usage[: len(dfg.nodes)],
        links=run.record.link_usage[: fabric.links],
        others=run.record.link_usage[fabric.links :],
        deadlock=not run.done,
        cold=figures if run.done else None,
    )


def _tiles(meter: Meter, route_start: Words, route_links: Words) -> list[int]:
    """Return the tile of each node, from where its routes begin or end; -1 for a node without edges."""
    tiles, at = [-1] * len(meter.dfg.nodes), meter.at
    for k, edge in enumerate(meter.dfg.edges):
        tiles[at[edge.source]] = int(meter.fabric.link_from[route_links[route_start[k]]])
        tiles[at[edge.target]] = int(meter.fabric.link_to[route_links[route_start[k + 1] - 1]])
    return tiles


def _load(load: loading.Loading | None, arch: Arch, begin: int) -> int:
    """Return the cycle in which a loading that begins in a cycle is done; None is done at once."""
    if load is None:
        return begin
    number = Meter(load.program.dfg, arch, program=load.program).link_number
    start = np.concatenate([[0], np.cumsum([len(path) for path in load.paths])]).astype(np.int64)
    links = np.array([number[link] for path in load.paths for link in path], dtype=np.int64)
    return begin + _run(load.program, arch, start, links, begin).last


def _run(program: ColdProgram, arch: Arch, route_start: Words, route_links: Words, begin: int) -> _Run:
    """Run a program whose first cycle is ``begin`` of the array, until nothing moves any more."""
    from gridloom.targets.dataflow.machine.packet_kernel import run_packets

    meter = Meter(program.dfg, arch, program=program)
    meter.fabric = loading.later(meter.fabric, begin)
    record, network = meter.record(0), meter.network(route_start)
    goals = program.goals
    network.units[:, tables.U_GOAL] = [*goals, *(goals[k] for k in meter.reading)]
    limits = tables.RunLimits(-1, -1, True, MAX_CYCLES, meter.wheel_bits, meter.fabric.waiting)
    status = run_packets(
        limits, network, meter.trees(route_start, route_links), meter.tree_table, meter.tree_unit, record
    )
    if status == tables.OUT_OF_CELLS:
        raise SimulationError("has more events at a time than there is room for", where=f"graph {program.dfg.name!r}")
    ends = record.blocks[program.ends]
    done = bool((network.units[:, tables.U_FIRED] == network.units[:, tables.U_GOAL]).all())
    return _Run(record=record, first=int(ends[:, 0].max(initial=0)), last=int(ends[:, 1].max(initial=0)), done=done)
