"""Throughput of an elastic array: the steady-state period of a placement, and where its cycles go.

This is the ground truth of the cost models: a simulation, where the published work measured hardware. The array is that
of `gridloom.sim.elastic` (a test holds the two to the same cycle counts), without values and packet by packet, which is
two orders of magnitude faster. A run starts in the middle of things: every memory unit between two stages holds the
blocks that a pipeline under way has there, so that nothing has to be filled before measuring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch, Kind
from gridloom.dfg import rates
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError

Words = NDArray[np.int64]

_MAX_CYCLES = 1 << 40
_MAX_WHEEL_BITS = 22
#: Cycles of full speed after which a pipeline has settled.
_SETTLED = 8192
_COMPUTE = ("gemm", "vector")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What one run showed. Cycles of units and links are those of the measured iterations.

    A placement that comes to a deadlock has an infinite period and an efficiency of 0; its other figures mean nothing.

    ``units`` and ``links`` are tables with one row for each unit and link.
    """

    #: Cycles per iteration; infinite when it came to a deadlock.
    period: float
    #: Cycles per iteration that the slowest compute unit needs at the least.
    bound: int
    #: Measured cycles.
    cycles: int
    #: Unit -> busy, starved, stalled cycles; in the order of the graph's nodes.
    units: Words
    #: Link (in the order of the array's links) -> tokens carried, cycles that packets waited for it.
    links: Words
    deadlock: bool = False

    @property
    def efficiency(self) -> float:
        """Throughput over the bound of the slowest stage: what cost models predict."""
        return 0.0 if self.deadlock else self.bound / self.period


class Meter:
    """A graph on an array, ready to be measured under many routes.

    Tables that do not depend on the routes are made once: a search measures thousands of placements of one graph. An
    input buffer counts as large as the smallest one of the tiles that can run the consumer, so that the tables do not
    depend on the placement either.
    """

    def __init__(self, dfg: Dfg, arch: Arch, *, warm: bool = True) -> None:
        """Prepare the tables; SimulationError when the graph's rates do not balance. Linear in nodes and edges."""
        self.dfg, self.arch = dfg, arch
        self.counts = rates.repetitions(dfg)
        carried = rates.edge_tokens(dfg, self.counts)
        rooms = [self._room(edge.target, edge.room) for edge in dfg.edges]
        behind = rates.head_starts(dfg, self.counts, rooms)
        self.bound = max(
            (node.work * n for node, n in zip(dfg.nodes, self.counts) if dfg.op_class(node.id) in _COMPUTE), default=1
        )
        rows = []
        for k, edge in enumerate(dfg.edges):
            source, target = dfg.index[edge.source], dfg.index[edge.target]
            room = rooms[k]
            early = edge.distance * edge.tokens
            if warm and not edge.distance:
                early = (behind[target] - behind[source]) * carried[k]
            rows.append(
                [source, target, edge.tokens, rates.taken(edge), edge.puts_every, edge.takes_every, room, early]
            )
        self.flows: Words = np.array(rows, dtype=np.int64).reshape(-1, 8)
        self.units: Words = np.array([(node.work, n) for node, n in zip(dfg.nodes, self.counts)], dtype=np.int64)
        self.input_start, self.inputs = _ragged([dfg.in_edges[k] for k in range(len(dfg.nodes))])
        self.output_start, self.outputs = _ragged([dfg.out_edges[k] for k in range(len(dfg.nodes))])
        # No event is further ahead than the longest firing or packet, so that a wheel of this length never wraps.
        longest = int(max(self.units[:, 0].max(), self.flows[:, 2].max(initial=1), self.flows[:, 3].max(initial=1)))
        self._wheel_bits = (longest + 2).bit_length()
        if self._wheel_bits > _MAX_WHEEL_BITS:
            raise SimulationError(f"a firing of {longest} cycles is too long to measure", where=f"graph {dfg.name!r}")

    def _room(self, target: str, asked: int | None) -> int:
        """Tokens that the input buffer of an edge's target holds.

        They are those of the smallest tile that can run it, or fewer where the edge says so.
        """
        room = self._buffers[self.dfg.op_class(target)]
        return room if asked is None else min(room, asked)

    @cached_property
    def _buffers(self) -> dict[str, int]:
        """The smallest input buffer of the tiles that can run an op class, for each class of the graph."""
        arch = self.arch
        classes = sorted({self.dfg.op_class(node.id) for node in self.dfg.nodes})
        return {name: min((arch.tiles[t].buffer for t in arch.tiles_for(name)), default=0) for name in classes}

    @cached_property
    def link_number(self) -> NDArray[np.int32]:
        """Resource -> number of the link, -1 for what is none."""
        table = np.full(len(self.arch.kind), -1, dtype=np.int32)
        links = np.flatnonzero(self.arch.kind == Kind.LINK)
        table[links] = np.arange(len(links))
        return table

    def measure(
        self,
        route_start: Words,
        route_links: Words,
        *,
        skip: int | None = None,
        iterations: int | None = None,
        cap: int | None = None,
        fair: bool = True,
    ) -> Measurement:
        """The period over so many iterations after ``skip`` ones that are not counted.

        Both are 2 to 16 unless told: short iterations take more of them to settle. Edge e goes over the links
        ``route_links[route_start[e]:route_start[e + 1]]`` (numbers as in ``link_number``), at least one each. With
        ``cap`` no unit runs more iterations than that; a cap below ``skip + iterations`` ends like a deadlock. Unless
        ``fair``, links serve the flow of the lowest number first instead of taking turns. Costs the packets of the
        iterations times the hops of their routes: some ten nanoseconds each.
        """
        from gridloom.sim import elastic_measure_kernel as kernel
        from gridloom.sim.elastic_kernel import Network

        settle = min(16, max(2, _SETTLED // self.bound))
        skip = settle if skip is None else skip
        iterations = settle if iterations is None else iterations
        if skip < 0 or iterations < 1:
            raise SimulationError(f"expected a skip of at least 0 and 1 iteration, found {skip} and {iterations}")
        count, links = len(self.units), int(self.link_number.max()) + 1
        last = skip + iterations
        finish = np.full(last + 64, -1, dtype=np.int64)
        finish[0] = 0
        usage, link_usage = np.zeros((count, 3), dtype=np.int64), np.zeros((links, 2), dtype=np.int64)
        fired = np.zeros(count, dtype=np.int64)
        consumed, delivered = np.zeros(len(self.flows), dtype=np.int64), np.zeros(len(self.flows), dtype=np.int64)
        limits = kernel.Limits(_MAX_CYCLES if cap is None else cap, skip, last, fair, _MAX_CYCLES, self._wheel_bits)
        network = Network(self.units, self.input_start, self.inputs, self.output_start, self.outputs, self.flows)
        start = np.ascontiguousarray(route_start, dtype=np.int64)
        routes = kernel.Routes(start, np.ascontiguousarray(route_links, dtype=np.int64), links)
        record = kernel.Record(finish, usage, link_usage, fired, consumed, delivered)
        status = kernel.run_packets(limits, network, routes, record)
        if status == kernel.OUT_OF_CELLS:
            raise SimulationError("has more events at a time than there is room for", where=f"graph {self.dfg.name!r}")
        if status != kernel.DONE:
            return Measurement(
                period=float("inf"), bound=self.bound, cycles=0, units=usage, links=link_usage, deadlock=True
            )
        cycles = int(finish[last] - finish[skip])
        # Units that catch up within the window can make it look shorter than the slowest one can sustain.
        return Measurement(
            period=max(cycles / iterations, float(self.bound)),
            bound=self.bound,
            cycles=cycles,
            units=usage,
            links=link_usage,
        )


def _ragged(rows: Sequence[Sequence[int]]) -> tuple[Words, Words]:
    """Rows of different lengths as CSR: where each row starts, and all rows one after the other.

    The second array has a cell to spare, so that it is never empty.
    """
    start = np.zeros(len(rows) + 1, dtype=np.int64)
    start[1:] = np.cumsum([len(row) for row in rows])
    flat = [k for row in rows for k in row]
    return start, np.array([*flat, 0], dtype=np.int64)
