"""Throughput of an elastic array: the steady-state period of a placement, and where its cycles go.

This is the ground truth of the cost models: a simulation, where the published work measured hardware. The machine is
that of `gridloom.targets.dataflow.machine.run` (a test holds the two to the same cycle counts), without values and
packet by packet, which is two orders of magnitude faster. A run starts in the middle of things: every memory unit
between two stages holds the blocks that a pipeline under way has there, so that nothing has to be filled before
measuring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError
from gridloom.sim.reading import carries_value, edges_from, edges_into, op_classes, positions
from gridloom.targets.dataflow.machine import packet_tables as tables
from gridloom.targets.dataflow.machine.cold import ColdProgram, ColdStart, ColdStartFigures
from gridloom.targets.dataflow.machine.fabric import PacketFabric, fabric_of, pack_rows
from gridloom.targets.dataflow.machine.firing_rates import count_tokens, firings, tokens_taken
from gridloom.targets.dataflow.machine.packet_tables import PacketNetwork, RunRecord
from gridloom.targets.dataflow.program.model import UnitGraph, unit_graph

if TYPE_CHECKING:
    from gridloom.targets.dataflow.machine.packet_trees import PacketTrees

Words = NDArray[np.int64]

#: Cycles of a run at the most.
MAX_CYCLES = 1 << 40

#: So many times the bound of all iterations is what a run without fair links may take.
_PATIENCE = 32
_MAX_WHEEL_BITS = 22
#: Cycles of full speed after which a pipeline has settled, and iterations that it takes at the least and at the most.
_SETTLED = 4096
_FEWEST = 2
_MOST = 8
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
    #: The cycle in which the first iteration was done: what filling the pipeline takes where it starts empty.
    filled: int
    #: Unit -> busy, starved, stalled cycles; in the order of the graph's nodes.
    units: Words
    #: Link (in the order of the array's links) -> tokens carried, cycles that packets waited for it.
    links: Words
    #: Banks of memory units and channels of the DRAM -> the same.
    others: Words
    deadlock: bool = False
    #: With ``cold``: when the steps of the start were done.
    cold: ColdStartFigures | None = None

    @property
    def efficiency(self) -> float:
        """Throughput over the bound of the slowest stage: what cost models predict."""
        return 0.0 if self.deadlock else self.bound / self.period


class Meter:
    """A graph on an array, ready to be measured under many routes.

    Tables that do not depend on the routes are made once: a search measures thousands of placements of one graph. An
    input buffer counts as large as the smallest one of the tiles that can run the consumer, so that the tables do not
    depend on the placement either. With ``warm`` a run begins in the middle of things, else with empty buffers.
    """

    def __init__(self, dfg: Dfg, arch: Arch, *, warm: bool = True, program: ColdProgram | None = None) -> None:
        """Prepare the tables; SimulationError when the graph's rates do not balance. Linear in nodes and edges.

        A ``program`` of the graph, which starts empty, says firings and dropped tokens itself (`packet_cold`).
        """
        dfg = self.dfg = unit_graph(dfg)
        self.arch, self.program = arch, program
        self.fabric: PacketFabric = fabric_of(arch)
        self.classes = op_classes(dfg)
        self.at = positions(dfg)
        self.counts = firings(dfg, _travelling(dfg)) if program is None else list(program.counts)
        carried = count_tokens(dfg, self.counts)
        rooms = [self._room(edge.target, edge.room) for edge in dfg.edges]
        behind = head_starts(dfg, carried, rooms)
        self.bound = max(
            (node.work * n for node, n, name in zip(dfg.nodes, self.counts, self.classes) if name in _COMPUTE),
            default=1,
        )
        rows = []
        for k, edge in enumerate(dfg.edges):
            source, target = self.at[edge.source], self.at[edge.target]
            room = rooms[k]
            early = edge.distance * edge.tokens
            if program is not None:
                early -= program.dropped[k]
            elif warm and not edge.distance:
                early = (behind[target] - behind[source]) * carried[k]
            rows.append(
                [source, target, edge.tokens, tokens_taken(edge), edge.puts_every, edge.takes_every, room, early]
            )
        units = [(node.work, n) for node, n in zip(dfg.nodes, self.counts)]
        entering, leaving = edges_into(dfg), edges_from(dfg)
        for k in self.reading:
            size = read_size(dfg, k)
            entering[k].append(len(rows))
            leaving.append([len(rows)])
            entering.append([])
            rows.append([len(units), k, size, size, 1, 1, self.fabric.ahead, 0])
            # An address is made in each cycle.
            units.append((size, self.counts[k]))
        self.flows: Words = np.array(rows, dtype=np.int64).reshape(-1, 8)
        self.units: Words = np.array(units, dtype=np.int64)
        inputs = (program.inputs if program else ()) or [edge.operand for edge in dfg.edges]
        self._operand = np.array([*inputs, *(0 for _ in self.reading)], dtype=np.int64)
        self._inputs, self._outputs = pack_rows(entering), pack_rows(leaving)
        self._group()
        self.wheel_bits = self._wheel()

    def _group(self) -> None:
        """Find the flows of each multicast: those of one source with the same part, tokens and ``puts_every``.

        ``_tree`` is the tree of each flow, ``_order`` lists the flows tree by tree.
        """
        number: dict[tuple[int, int, int, int], int] = {}
        self._tree = np.zeros(len(self.flows), dtype=np.int64)
        for k, edge in enumerate(self.dfg.edges):
            key = (self.at[edge.source], edge.part, edge.tokens, edge.puts_every)
            self._tree[k] = number.setdefault(key, len(number))
        for k in range(len(self.dfg.edges), len(self.flows)):
            self._tree[k] = number.setdefault((int(self.flows[k, 0]), 0, int(self.flows[k, 2]), 1), len(number))
        self._order = np.argsort(self._tree, kind="stable").astype(np.int64)
        keys = list(number)
        self._sizes = np.array([key[2] for key in keys], dtype=np.int64)
        self.tree_table = np.array([[key[3]] for key in keys], dtype=np.int64).reshape(-1, 1)
        self.tree_unit = np.array([key[0] for key in keys], dtype=np.int64)
        owned: list[list[int]] = [[] for _ in self.units]
        for tree, key in enumerate(keys):
            owned[key[0]].append(tree)
        self._trees = pack_rows(owned)

    def _wheel(self) -> int:
        """Bits of the wheel of events: none is further ahead than the longest firing, packet, rest or way back."""
        fabric = self.fabric
        packet = int(max(self._sizes.max(initial=1), self.flows[:, 3].max(initial=1)))
        slow = packet * int(fabric.pace.max(initial=1)) + int(fabric.latency.max(initial=0)) + fabric.rows[2]
        ways = int(fabric.rest_cycles.max(initial=0)) + self.arch.rows + self.arch.cols + 8
        longest = max(int(self.units[:, 0].max(initial=1)), slow, ways)
        bits = (longest + 2).bit_length()
        if bits > _MAX_WHEEL_BITS:
            raise SimulationError(
                f"a firing of {longest} cycles is too long to measure", where=f"graph {self.dfg.name!r}"
            )
        return bits

    def _room(self, target: str, asked: int | None) -> int:
        """Tokens that the input buffer of an edge's target holds.

        They are those of the smallest tile that can run it, or fewer where the edge says so.
        """
        room = self._buffers[self.classes[self.at[target]]]
        return room if asked is None else min(room, asked)

    @cached_property
    def _buffers(self) -> dict[str, int]:
        """The smallest input buffer of the tiles that can run an op class, for each class of the graph."""
        arch = self.arch
        classes = sorted(set(self.classes))
        return {name: min((t.buffer for t in arch.tiles if name in t.classes), default=0) for name in classes}

    @cached_property
    def reading(self) -> list[int]:
        """The nodes that read DRAM: inputs with something to send."""
        leaving = edges_from(self.dfg)
        return [k for k, node in enumerate(self.dfg.nodes) if node.op == "input" and leaving[k]]

    @property
    def link_number(self) -> Words:
        """Resource -> number of the link, -1 for what is none."""
        return self.fabric.link_number

    def measure(
        self,
        route_start: Words,
        route_links: Words,
        *,
        skip: int | None = None,
        iterations: int | None = None,
        cap: int | None = None,
        fair: bool = True,
        noise: float = 0.0,
        seed: int = 0,
        cold: ColdStart | None = None,
    ) -> Measurement:
        """The period over so many iterations after ``skip`` ones that are not counted.

        Both are 2 to 8 unless told: short iterations take more of them to settle. Edge e goes over the links
        ``route_links[route_start[e]:route_start[e + 1]]`` (numbers as in ``link_number``), at least one each. With
        ``cap`` no unit runs more iterations than that; a cap below ``skip + iterations`` ends like a deadlock. Unless
        ``fair``, links serve the flow of the lowest number first instead of taking turns; a flow may then wait for as
        long as others go on, and a run that is slower than the bound by a factor of 32 ends like a deadlock. With
        ``noise`` the period is that of a measurement whose logarithm errs by so much (standard deviation, drawn from
        ``seed``). Costs the packets of the iterations times the hops of their routes: some tens of nanoseconds each.

        With ``cold`` the run begins with an array that has no configuration and ends when the last result is there;
        nothing else but the routes is then read, and the measurement is that of the whole run.
        """
        from gridloom.targets.dataflow.machine.packet_kernel import run_packets

        if cold is not None:
            from gridloom.targets.dataflow.machine.packet_cold import measure_cold

            return measure_cold(self, route_start, route_links, cold)
        settle = self._settle
        skip = settle if skip is None else skip
        iterations = settle if iterations is None else iterations
        if skip < 0 or iterations < 1:
            raise SimulationError(f"expected a skip of at least 0 and 1 iteration, found {skip} and {iterations}")
        last = skip + iterations
        record = self.record(last)
        most = MAX_CYCLES if fair else _PATIENCE * last * self.bound
        limits = tables.RunLimits(skip, last, fair, most, self.wheel_bits, self.fabric.waiting)
        trees = self.trees(route_start, route_links)
        network = self.network(route_start)
        network.units[:, tables.U_GOAL] = self.units[:, 1] * (MAX_CYCLES if cap is None else cap)
        status = run_packets(limits, network, trees, self.tree_table, self.tree_unit, record)
        if status == tables.OUT_OF_CELLS:
            raise SimulationError("has more events at a time than there is room for", where=f"graph {self.dfg.name!r}")
        return self._measurement(record, skip, last, status == tables.DONE, noise, seed)

    def record(self, last: int) -> RunRecord:
        """An empty record of a run of so many iterations."""
        record = RunRecord(
            finish=np.full(last + 64, -1, dtype=np.int64),
            done=np.zeros(last + 64, dtype=np.int64),
            blocks=np.full((len(self.units), 2), -1, dtype=np.int64),
            usage=np.zeros((len(self.units), 3), dtype=np.int64),
            link_usage=np.zeros((self.fabric.resources, 2), dtype=np.int64),
        )
        record.finish[0] = 0
        return record

    @property
    def _settle(self) -> int:
        """The iterations after which a run has settled, by default."""
        return min(_MOST, max(_FEWEST, _SETTLED // self.bound))

    def crossings(self, route_start: Words) -> int:
        """How many links the packets of a measurement cross, with the usual number of iterations."""
        return int(2 * self._settle * self.edge_crossings(route_start).sum())

    def edge_crossings(self, route_start: Words) -> NDArray[np.float64]:
        """How many links the packets of each edge cross in an iteration."""
        edges = self.dfg.edges
        packets = np.array([self.counts[self.at[edge.source]] / edge.puts_every for edge in edges])
        crossed: NDArray[np.float64] = packets * (np.diff(route_start)[: len(edges)] + 1)
        return crossed

    def _measurement(self, record: RunRecord, skip: int, last: int, done: bool, noise: float, seed: int) -> Measurement:
        """What a record shows; a run that is not done came to a deadlock."""
        links, others = record.link_usage[: self.fabric.links], record.link_usage[self.fabric.links :]
        cycles = int(record.finish[last] - record.finish[skip]) if done else 0
        # Units that catch up within the window can make it look shorter than the slowest one can sustain.
        period = max(cycles / (last - skip), float(self.bound)) if done else float("inf")
        if noise:
            period *= float(np.exp(noise * np.random.default_rng(seed).standard_normal()))
        return Measurement(
            period=period,
            bound=self.bound,
            cycles=cycles,
            filled=int(record.finish[1]),
            units=record.usage[: len(self.dfg.nodes)],
            links=links,
            others=others,
            deadlock=not done,
        )

    def trees(self, route_start: Words, route_links: Words) -> PacketTrees:
        """The multicast trees of routes, as the kernel takes them. Linear in the hops."""
        from gridloom.targets.dataflow.machine import packet_trees

        fabric = self.fabric
        # A reader is where the first link of what its input sends begins.
        leaving = edges_from(self.dfg)
        sends = [leaving[k][0] for k in self.reading]
        tiles = fabric.link_from[np.asarray(route_links, dtype=np.int64)[np.asarray(route_start)[sends]]]
        reads = np.stack([fabric.channel[tiles], fabric.port[tiles]], axis=1).ravel()
        starts = route_start[-1] + 2 * np.arange(1, len(sends) + 1)
        routes = packet_trees.FlowRoutes(
            np.concatenate([route_start, starts]).astype(np.int64),
            np.concatenate([route_links, reads]).astype(np.int64),
            len(sends),
        )
        nowhere = np.full(len(fabric.bank), -1, dtype=np.int64)
        ends = (fabric.bank, fabric.channel) if self.program is None or self.program.stores else (nowhere, nowhere)
        places = packet_trees.Places(
            fabric.link_to, *ends, fabric.banks, fabric.links, int(fabric.port.max(initial=0))
            - int(np.count_nonzero(fabric.port >= 0)) + 1,
        )  # fmt: skip
        grown: PacketTrees = packet_trees.grow_trees(
            self._order, self._tree, self._sizes, self._operand, routes, places, fabric.resources
        )
        return grown

    def network(self, route_start: Words) -> PacketNetwork:
        """Units, flows, resources and queues as they are in cycle 0."""
        fabric = self.fabric
        units = np.zeros((len(self.units), tables.U_COLUMNS), dtype=np.int64)
        units[:, :2] = self.units
        units[:, tables.U_UNTIL] = units[:, tables.U_LOOKED] = -1
        units[:, tables.U_REASON] = tables.STARVED
        flows = np.zeros((len(self.flows), tables.F_COLUMNS), dtype=np.int64)
        flows[:, :8] = self.flows
        flows[: len(self.dfg.edges), tables.F_CREDIT] = np.diff(route_start)
        flows[len(self.dfg.edges) :, tables.F_CREDIT] = 1
        flows[:, tables.F_PROMISED] = flows[:, tables.F_COME] = flows[:, tables.F_EARLY]
        flows[:, tables.F_BEGAN], flows[:, tables.F_PACE] = tables.LONG_AGO, 1
        links = np.zeros((fabric.resources, tables.L_COLUMNS), dtype=np.int64)
        fixed = (fabric.pace, fabric.latency, fabric.rest_every, fabric.rest_cycles, fabric.rest_phase)
        links[:, :5] = np.stack(fixed, axis=1)
        links[:, tables.L_MARKED] = -1
        queues = np.zeros((len(fabric.capacity), tables.Q_COLUMNS), dtype=np.int64)
        queues[:, tables.Q_CAPACITY], queues[:, tables.Q_FEEDER] = fabric.capacity, fabric.feeder
        queues[1:, tables.Q_RING] = np.cumsum(fabric.capacity)[:-1]
        rows = np.array(fabric.rows, dtype=np.int64)
        open_rows = np.full((fabric.resources - fabric.rows[3], fabric.rows[1], 2), -1, dtype=np.int64)
        return PacketNetwork(units, flows, links, queues, *self._inputs, *self._outputs, *self._trees, rows, open_rows)


def _travelling(dfg: UnitGraph) -> list[int]:
    """Return the edges that carry tokens."""
    return [e for e, edge in enumerate(dfg.edges) if carries_value(edge)]


def head_starts(dfg: UnitGraph, carried: Sequence[int], rooms: Sequence[int]) -> list[int]:
    """Iterations that each node is behind the inputs in a pipeline under way: as many as the buffers let it be.

    ``carried`` are the tokens of each edge in an iteration, ``rooms`` those that fit on it. A buffer that is meant to
    hold iterations keeps one free; other edges hold none, so that both ends are in the same iteration. Where ways of
    different depth meet, the shallower one decides. What an edge holds is the difference between its ends. Shortest
    paths, about linear in the edges.
    """
    at = positions(dfg)
    around: list[list[tuple[int, int]]] = [[] for _ in dfg.nodes]
    for k in _travelling(dfg):
        edge = dfg.edges[k]
        if edge.distance == 0:
            deep = edge.room is not None and edge.room >= carried[k]
            around[at[edge.source]].append((at[edge.target], max(0, rooms[k] // carried[k] - 1) if deep else 0))
            around[at[edge.target]].append((at[edge.source], 0))
    behind = [1 << 60] * len(dfg.nodes)
    waiting = [k for k, node in enumerate(dfg.nodes) if node.op == "input"] or [0]
    for node in waiting:
        behind[node] = 0
    for node in waiting:
        for other, most in around[node]:
            if behind[node] + most < behind[other]:
                behind[other] = behind[node] + most
                waiting.append(other)
    # Parts that no input reaches hold nothing.
    return [0 if value == 1 << 60 else value for value in behind]


def read_size(dfg: UnitGraph, node: int) -> int:
    """Vectors that an input has to read for a firing: those of each part of what it sends, once."""
    sent = [edge for edge in dfg.edges if edge.source == dfg.nodes[node].id]
    parts = {(edge.part, edge.tokens, edge.puts_every) for edge in sent}
    return max(1, sum(tokens // every for _, tokens, every in parts))
