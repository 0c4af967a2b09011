"""The simulator of elastic arrays: units fire when tokens and room are there; the result is a period, or a deadlock.

A firing takes its tokens, keeps its unit busy for ``node.work`` cycles and puts its tokens out. It begins only when
every consumer has room for them: room is the consumer's input buffer less what is in it and on the way, as far as the
credits of what was taken have come back, one link per cycle. So what is on its way will be taken, but it may have to
wait: the buffers between links are small, links are shared in turn, and so are banks of memory units and channels of
the DRAM (docs/dataflow-machine.md). ``puts_every`` and ``takes_every`` of an edge make that every so many firings.

Tokens carry values, a mix of all that went into them. Complete and in order means: every firing of every unit has the
value that an untimed run of the graph gives it.

The graph is a synchronous dataflow graph (Lee and Messerschmitt, 1987): rates are fixed, so that one iteration is the
least number of firings after which all buffers are as before (:mod:`gridloom.targets.dataflow.rates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg.semantics import salt
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration, Slot, TokenPath
from gridloom.sim.reading import carries_value, link_ends, op_classes, operand_edges, positions, program_order
from gridloom.sim.verdict import Mismatch, UnitUse, Verdict
from gridloom.targets.dataflow.machine import token_tables as layout
from gridloom.targets.dataflow.machine.cold import ColdProgram, ColdStart
from gridloom.targets.dataflow.machine.fabric import fabric_of, pack_rows
from gridloom.targets.dataflow.machine.firing_rates import firings, tokens_taken
from gridloom.targets.dataflow.machine.loading import later
from gridloom.targets.dataflow.machine.token_kernel import run_tokens
from gridloom.targets.dataflow.machine.token_tables import Words
from gridloom.targets.dataflow.machine.untimed_values import early_tokens, untimed_values
from gridloom.targets.dataflow.program.model import UnitGraph, unit_graph

_LISTED: Final = 8
#: Operation classes of compute units.
_COMPUTE: Final = ("gemm", "vector")
_MAX_CYCLES: Final = 2_000_000_000
_MAX_FIRINGS: Final = 50_000_000
#: Links that packets cross in a run, half a microsecond each: longer runs have fewer iterations, but at least so many.
_MAX_CROSSINGS: Final = 20_000_000
_LEAST_ITERATIONS: Final = 6


def simulate_elastic(configuration: Configuration, *, iterations: int = 64, cold: ColdStart | None = None) -> Verdict:
    """Run an elastic configuration for so many graph iterations.

    With ``cold`` the run begins with an array that has no configuration, and as many blocks go through as that says;
    ``iterations`` is then not read, and the verdict's ``cold`` says when each step was done.

    The verdict has the period (cycles per iteration, over the middle half of the run) and what each unit did with its
    cycles; graphs whose iterations are long run fewer of them. A deadlock is a verdict that is not ok and says who
    waits for whom. SimulationError when the graph's rates do not balance or it stops by itself. Costs about half a
    microsecond for each link that a packet crosses.
    """
    if cold is not None:
        from gridloom.targets.dataflow.machine.token_cold import simulate_cold

        return simulate_cold(configuration, cold)
    repeats = repetitions(configuration)
    asked = iterations
    iterations = _affordable(configuration, repeats, iterations)
    check_firings(unit_graph(configuration.dfg), repeats, iterations)
    network = TokenNetwork(configuration, repeats, iterations)
    return run_and_compare(network, asked=asked)


def check_firings(dfg: UnitGraph, repeats: Sequence[int], iterations: int) -> None:
    """SimulationError where so many iterations have more firings than can be simulated."""
    if max(repeats) * iterations * len(repeats) > _MAX_FIRINGS:
        raise SimulationError(
            f"an iteration takes up to {max(repeats)} firings of a node: {iterations} of them are too many to simulate",
            where=f"graph {dfg.name!r}",
        )


def run_and_compare(network: TokenNetwork, *, asked: int) -> Verdict:
    """Run a network to its end; the verdict compares its values with those that the graph has without an array."""
    configuration, dfg = network.configuration, network.dfg
    expected = network.expected()
    cycles = network.run()
    mismatches, divergence = _compare(network, expected)
    stuck = network.stuck()
    return Verdict(
        ok=not mismatches and stuck is None,
        iterations=network.iterations,
        asked=asked,
        trip_counts=(network.iterations,),
        cycles=cycles,
        mismatches=tuple(mismatches[:_LISTED]),
        divergence=divergence,
        error=_why(stuck, cycles, network.iterations),
        period=None if stuck else network.period(),
        units=tuple(
            UnitUse(
                tile=configuration.arch.tiles[slot.tile].name,
                node=dfg.nodes[slot.node].id,
                firings=int(network.fired[u]),
                busy=int(network.usage[u, layout.BUSY]),
                starved=int(network.usage[u, layout.STARVED]),
                stalled=int(network.usage[u, layout.STALLED]),
            )
            for u, slot in enumerate(network.slots)
        ),
    )


def _why(stuck: str | None, cycles: int, iterations: int) -> str | None:
    """Why a run is not done: a deadlock, or the limit of cycles, after which nothing is known."""
    if stuck is None:
        return None
    if cycles >= _MAX_CYCLES:
        return f"{iterations} iterations take more than {_MAX_CYCLES} cycles, the most that is simulated: ask for fewer"
    return f"deadlock in cycle {cycles}: {stuck}"


def _affordable(configuration: Configuration, repeats: list[int], iterations: int) -> int:
    """The iterations that a run of bearable length has, at most those asked for."""
    dfg = unit_graph(configuration.dfg)
    at = positions(dfg)
    crossings = 1
    for flow in configuration.token_paths:
        edge = dfg.edges[flow.edge]
        crossings += (len(flow.links) + 1) * repeats[at[edge.source]] // edge.puts_every
    most = _MAX_FIRINGS // (max(repeats) * len(repeats))
    return min(iterations, max(_LEAST_ITERATIONS, min(_MAX_CROSSINGS // crossings, most)))


def token_edges(configuration: Configuration) -> list[int]:
    """The edges whose tokens travel: those that carry a value of a node that needs a unit."""
    dfg, free = unit_graph(configuration.dfg), configuration.arch.free
    travels = {node.id for node, name in zip(dfg.nodes, op_classes(dfg)) if name not in free}
    return [e for e, edge in enumerate(dfg.edges) if carries_value(edge) and edge.source in travels]


def repetitions(configuration: Configuration) -> list[int]:
    """Firings of each node in one graph iteration: the least whole numbers that balance every edge.

    SimulationError where no numbers do. The tokens that are put on an edge in an iteration are then those taken from
    it, so that buffers do not grow from iteration to iteration.
    """
    return firings(unit_graph(configuration.dfg), token_edges(configuration))


@dataclass
class _Tables:
    """What the kernel reads of flows and trees, while it is collected.

    A flow is an edge on its way to one unit. Row f of ``flows`` has the columns of `token_tables`. A flow of h hops has
    h + 1 counters in ``counters``: tokens put, tokens that have crossed each resource.
    """

    flows: list[list[int]] = field(default_factory=list)
    counters: list[int] = field(default_factory=list)
    #: Cells of all rings together, and the tokens that some hold at the start.
    cells: int = 0
    early: dict[int, list[int]] = field(default_factory=dict)
    #: Edge of each flow, and what is wrong with its way.
    edges: list[int] = field(default_factory=list)
    broken: dict[int, str] = field(default_factory=dict)
    #: Trees: the unit and the firings per packet; hops: what `token_tables` has as columns; the counters of each hop.
    trees: list[list[int]] = field(default_factory=list)
    hops: list[list[int]] = field(default_factory=list)
    raised: list[list[int]] = field(default_factory=list)


class TokenNetwork:
    """The units and flows of a configuration, and the state of a run.

    A unit is an issue slot, a flow the way of an edge's tokens into one unit. ``leaving`` and ``entering`` list the
    flows of each unit; an operand without a route gets a flow that nothing enters, so that the run shows as a
    deadlock that says why.
    """

    def __init__(
        self,
        configuration: Configuration,
        repeats: list[int],
        iterations: int,
        *,
        program: ColdProgram | None = None,
        begin: int = 0,
    ) -> None:
        """Lay out a run; a ``program`` says how many iterations each node does, and what is dropped and stored.

        ``begin`` is the cycle of the array in which the run begins: refreshes of the DRAM go by it.
        """
        self.configuration = configuration
        self.dfg: UnitGraph = unit_graph(configuration.dfg)
        self.arch: Arch = configuration.arch
        self.fabric = later(fabric_of(configuration.arch), begin)
        self.iterations = iterations
        self.program = program
        self.slots: list[Slot] = [slot for slot in configuration.slots if slot.kind == "op"]
        self.repeats = [repeats[slot.node] for slot in self.slots]
        self.node_goals = [n * iterations for n in repeats] if program is None else program.goals
        self.goals = [self.node_goals[slot.node] for slot in self.slots]
        #: Edge -> tokens that are dropped at its end before the first one that counts.
        self.dropped = [0] * len(self.dfg.edges) if program is None else list(program.dropped)
        self.tables = _Tables()
        self.ends = link_ends(self.arch)
        #: Readers of DRAM, as (work, firings of an iteration, and of the run): units behind those of the slots.
        self.readers: list[tuple[int, int, int]] = []
        self.leaving: list[list[int]] = [[] for _ in self.slots]
        self.entering: list[list[int]] = [[] for _ in self.slots]
        self._connect()
        self._add_readers()
        count = len(self.slots) + len(self.readers)
        self.flows = np.array(self.tables.flows, dtype=np.int64).reshape(-1, 12)
        self.counters = np.array([*self.tables.counters, 0], dtype=np.int64)
        self.consumed = np.array([self.dropped[e] if e >= 0 else 0 for e in self.tables.edges], dtype=np.int64)
        self.results = np.zeros((count, max([*self.goals, 1])), dtype=np.int64)
        most = max((goal // n for goal, n in zip(self.goals, self.repeats)), default=1)
        self.finished = np.full((count, most), -1, dtype=np.int64)
        self.usage = np.zeros((count, 3), dtype=np.int64)
        self.fired = np.zeros(count, dtype=np.int64)

    def expected(self) -> Words:
        """The value of each firing of each node without an array: what the run has to reproduce.

        SimulationError for a graph that stops by itself.
        """
        return untimed_values(self.dfg, token_edges(self.configuration), self.node_goals, self.dropped)

    def _connect(self) -> None:
        """Make a flow for each token path, join flows to the units at their ends, and grow the trees."""
        by_end: dict[tuple[int, int], int] = {}
        ways: list[tuple[int, int, TokenPath]] = []
        for flow in self.configuration.token_paths:
            f = self._add_flow(flow)
            by_end[flow.edge, flow.target] = f
            source = self._unit(flow.source, self.dfg.edges[flow.edge].source)
            if source >= 0:
                self.leaving[source].append(f)
                ways.append((flow.edge, f, flow))
        travelling = set(token_edges(self.configuration))
        operands = operand_edges(self.dfg)
        for u, slot in enumerate(self.slots):
            for e in operands[slot.node]:
                if e in travelling:
                    missing = TokenPath(edge=e, source=-1, target=slot.tile, links=())
                    self.entering[u].append(
                        by_end[e, slot.tile] if (e, slot.tile) in by_end else self._add_flow(missing)
                    )
        self._grow(sorted(ways, key=lambda way: way[:2]))

    def _add_readers(self) -> None:
        """Add what fetches from DRAM ahead of each input: a unit, and a flow over the channel and the port."""
        tables, fabric = self.tables, self.fabric
        for u, slot in enumerate(self.slots):
            sent = {f: self.dfg.edges[tables.edges[f]] for f in self.leaving[u]}
            if self.dfg.nodes[slot.node].op != "input" or not sent or fabric.channel[slot.tile] < 0:
                continue
            parts = {(edge.part, edge.tokens, edge.puts_every) for edge in sent.values()}
            size = max(1, sum(tokens // every for _, tokens, every in parts))
            f, unit = len(tables.flows), len(self.slots) + len(self.readers)
            cells = 1 << (fabric.ahead + size).bit_length()
            tables.flows.append(
                [size, size, fabric.ahead, 2, len(tables.counters), tables.cells, cells - 1, 0, 1, 1, 1, -1]
            )
            tables.counters += [0, 0, 0]
            tables.cells += cells
            tables.edges.append(-1)
            tree, first = len(tables.trees), len(tables.hops)
            tables.trees.append([unit, 1])
            steps = (int(fabric.channel[slot.tile]), int(fabric.port[slot.tile]))
            tables.hops.append([-1 - tree, int(fabric.reads[slot.tile]), size, 1, steps[0]])
            tables.hops.append([first, -1, size, 0, steps[1]])
            tables.raised += [[tables.flows[f][layout.F_COUNTER] + 1], [tables.flows[f][layout.F_COUNTER] + 2]]
            self.entering[u].append(f)
            self.leaving.append([f])
            self.entering.append([])
            self.readers.append((size, self.repeats[u], self.goals[u]))

    def _unit(self, tile: int, node: str) -> int:
        """The unit on a tile; the one that runs ``node`` where there are several."""
        there = [u for u, slot in enumerate(self.slots) if slot.tile == tile]
        named = [u for u in there if self.dfg.nodes[self.slots[u].node].id == node]
        return (named or there or [-1])[0]

    def _add_flow(self, flow: TokenPath) -> int:
        """Add a flow to the tables; returns its number.

        It has a counter for each hop and one for its end, and a ring of a power of two of cells that holds every
        token that may be in its buffer or on its way.
        """
        tables, edge = self.tables, self.dfg.edges[flow.edge]
        f = len(tables.flows)
        early = early_tokens(self.dfg, flow.edge)
        room = min(self.arch.tiles[flow.target].buffer, edge.room or self.arch.tiles[flow.target].buffer)
        size = 1 << (max(room, len(early)) + edge.tokens).bit_length()
        hops = max(len(self._steps(flow)), 1)
        tables.flows.append(
            [
                edge.tokens, tokens_taken(edge), room, hops, len(tables.counters), tables.cells, size - 1,
                int(flow.source == flow.target), edge.puts_every, edge.takes_every, max(1, len(flow.links)), edge.part,
            ]
        )  # fmt: skip
        tables.counters += [len(early)] * (hops + 1)
        tables.early[tables.cells] = early
        tables.cells += size
        tables.edges.append(flow.edge)
        return f

    def _steps(self, flow: TokenPath) -> list[int]:
        """The resources that a flow's packets cross: its links, perhaps a bank or a DRAM channel."""
        fabric = self.fabric
        steps = [int(fabric.link_number[link]) for link in flow.links]
        if self.program is not None and not self.program.stores:
            return steps
        if fabric.bank[flow.target] >= 0:
            inputs = self.program.inputs if self.program is not None else ()
            operand = inputs[flow.edge] if inputs else self.dfg.edges[flow.edge].operand
            steps.append(int(fabric.bank[flow.target]) + operand % fabric.banks)
        elif fabric.channel[flow.target] >= 0:
            steps.append(int(fabric.channel[flow.target]))
        return steps

    def _grow(self, ways: list[tuple[int, int, TokenPath]]) -> None:
        """Grow the trees of flows, in the order of their edges, tree by tree: this is also the order of turns."""
        trees: dict[tuple[str, int, int, int], list[tuple[int, TokenPath]]] = {}
        for e, f, flow in ways:
            edge = self.dfg.edges[e]
            trees.setdefault((edge.source, edge.part, edge.tokens, edge.puts_every), []).append((f, flow))
        for number, ((source, _, tokens, every), members) in enumerate(trees.items()):
            self.tables.trees.append([self._unit(members[0][1].source, source), every])
            known: dict[tuple[int, ...], int] = {}
            for f, flow in members:
                self._add_way(f, flow, number, tokens, known)

    def _add_way(self, f: int, flow: TokenPath, tree: int, tokens: int, known: dict[tuple[int, ...], int]) -> None:
        """Add the hops of a flow to its tree, as far as its links join up: packets are lost where they do not.

        ``known`` has the hops of the tree by the resources before and at them.
        """
        tables = self.tables
        steps = self._steps(flow)
        whole = self._check(f, flow)
        last = len(steps) if whole == len(flow.links) else whole
        before = -1 - tree
        for k in range(last):
            key = tuple(steps[: k + 1])
            if key not in known:
                known[key] = len(tables.hops)
                tables.hops.append([before, -1 if k + 1 == last else steps[k], tokens, 0, steps[k]])
                tables.raised.append([])
                if before >= 0:
                    tables.hops[before][layout.H_BRANCHES] += 1
            before = known[key]
            tables.raised[before].append(tables.flows[f][layout.F_COUNTER] + k + 1)

    def _check(self, f: int, flow: TokenPath) -> int:
        """Say what is wrong with the way of a flow, if anything; returns how many of its links join up."""
        at = flow.source
        for k, link in enumerate(flow.links):
            source, target = self.ends[link]
            if source != at:
                self.tables.broken[f] = f"{self.arch.resource_names[link]} does not begin at {self.arch.tiles[at].name}"
                return k
            at = target
        if not flow.links:
            self.tables.broken[f] = "has a route without links"
        elif at != flow.target:
            # The last hop is taken back: what arrives elsewhere does not arrive.
            self.tables.broken[f] = f"ends at {self.arch.tiles[at].name}, not at {self.arch.tiles[flow.target].name}"
            return len(flow.links) - 1
        return len(flow.links)

    def run(self) -> int:
        """Run to the end or to a deadlock; returns the cycles.

        Afterwards ``results``, ``finished``, ``usage`` and ``fired`` hold what happened; a run that reaches the limit
        of cycles returns at least that many.
        """
        running = self.start()
        return running.advance(_MAX_CYCLES)

    def start(self) -> TokenRun:
        """Lay units, flows and links out as the kernel's tables, ready to run from cycle 0."""
        units = [
            (self.dfg.nodes[slot.node].work, repeats, salt(self.dfg.nodes[slot.node].id), goal)
            for slot, repeats, goal in zip(self.slots, self.repeats, self.goals)
        ]
        units += [(work, repeats, 0, goal) for work, repeats, goal in self.readers]
        input_start, inputs = pack_rows(self.entering)
        output_start, outputs = pack_rows(self.leaving)
        rings = np.zeros(self.tables.cells + 1, dtype=np.int64)
        for first, early in self.tables.early.items():
            rings[first : first + len(early)] = early
        table = np.array(units, dtype=np.int64).reshape(-1, 4)
        network = layout.TokenTables(table, input_start, inputs, output_start, outputs, self.flows, *self._ends())
        state = layout.TokenState(
            self.counters, self.consumed, rings, self.results, self.finished, self.usage, self.fired
        )
        return TokenRun(network, self._ways(), state)

    def _ends(self) -> tuple[Words, Words]:
        """The unit that puts each flow's tokens, and the unit that takes the tokens of each counter; -1: none."""
        senders = np.full(len(self.flows) + 1, -1, dtype=np.int64)
        takers = np.full(len(self.counters), -1, dtype=np.int64)
        for u, flows in enumerate(self.leaving):
            senders[flows] = u
        for u, flows in enumerate(self.entering):
            takers[self.flows[flows, layout.F_COUNTER] + self.flows[flows, layout.F_HOPS]] = u
        return senders, takers

    def _ways(self) -> layout.PacketTreeTables:
        """The trees as the kernel takes them, with only those resources that some packet crosses."""
        fabric, tables = self.fabric, self.tables
        used = sorted({row[layout.H_RESOURCE] for row in tables.hops})
        sharing: dict[int, list[int]] = {r: [] for r in used}
        after: list[list[int]] = [[] for _ in tables.hops]
        firsts: list[list[int]] = [[] for _ in tables.trees]
        of_unit: list[list[int]] = [[] for _ in (*self.slots, *self.readers)]
        for h, row in enumerate(tables.hops):
            sharing[row[layout.H_RESOURCE]].append(h)
            before = row[layout.H_BEFORE]
            (after[before] if before >= 0 else firsts[-1 - before]).append(h)
        for t, tree in enumerate(tables.trees):
            of_unit[tree[layout.T_UNIT]].append(t)
        share_start, shares = pack_rows(list(sharing.values()))
        counter_start, counters = pack_rows(tables.raised)
        after_start, following = pack_rows(after)
        first_start, first = pack_rows(firsts)
        unit_start, trees_of_unit = pack_rows(of_unit)
        carriers = np.zeros(len(tables.hops) + 1, dtype=np.int64)
        carriers[shares[:-1]] = np.repeat(np.arange(len(used)), np.diff(share_start))
        fed: list[set[int]] = [set() for _ in fabric.capacity]
        for h, row in enumerate(tables.hops):
            if row[layout.H_QUEUE] >= 0:
                fed[row[layout.H_QUEUE]].add(int(carriers[h]))
        feeder_start, feeders = pack_rows([sorted(resources) for resources in fed])
        raises = {c: h for h, raised in enumerate(tables.raised) for c in raised}
        last_hop = [raises.get(row[layout.F_COUNTER] + row[layout.F_HOPS], -1) for row in tables.flows]
        dram_row, row_banks, row_opening, first_channel = fabric.rows
        channel = np.maximum(np.arange(fabric.resources) - first_channel, -1)
        columns = (fabric.pace, fabric.latency, fabric.rest_every, fabric.rest_cycles, fabric.rest_phase, channel)
        return layout.PacketTreeTables(
            trees=np.array(tables.trees, dtype=np.int64).reshape(-1, 2),
            hops=np.array(tables.hops, dtype=np.int64).reshape(-1, 5),
            resources=np.stack(columns, axis=1)[used],
            share_start=share_start,
            shares=shares,
            counter_start=counter_start,
            counters=counters,
            after_start=after_start,
            after=following,
            first_start=first_start,
            firsts=first,
            unit_start=unit_start,
            of_unit=trees_of_unit,
            feeder_start=feeder_start,
            feeders=feeders,
            carriers=carriers,
            last_hop=np.array([*last_hop, -1], dtype=np.int64),
            capacity=fabric.capacity,
            waiting=fabric.waiting,
            row=dram_row,
            row_banks=row_banks,
            row_opening=row_opening,
        )

    def period(self) -> float:
        """Cycles per iteration over the middle half of the run: buffers fill before it, and empty after it.

        It is no shorter than what the slowest compute unit needs: where a DRAM channel rests just before the middle
        half, the iterations that it held up come late into it, and the run catches up within it.
        """
        classes = op_classes(self.dfg)
        nodes = [(self.dfg.nodes[slot.node], n, classes[slot.node]) for slot, n in zip(self.slots, self.repeats)]
        slowest = max((node.work * n for node, n, name in nodes if name in _COMPUTE), default=1)
        cycles, iterations = self.middle()
        return max(cycles / iterations, float(slowest))

    def middle(self) -> tuple[int, int]:
        """Cycles and iterations of the middle half of the run.

        An iteration ends when the last unit has done its part. Runs too short for a middle half have the cycles of the
        whole run as those of one iteration.
        """
        ends = self.finished[: len(self.slots)].max(axis=0)
        first = max(self.iterations // 4, 1)
        last = self.iterations - self.iterations // 4
        if last <= first:
            return int(ends[-1]), 1
        return int(ends[last - 1] - ends[first - 1]), last - first

    def stuck(self) -> str | None:
        """Who waits for whom, when a run came to a stop; None when it came to its end.

        A deadlock is a ring of units that wait for each other's tokens or room; where there is none (a broken route),
        it is the chain from the first waiting unit on.
        """
        waiting = [u for u in range(len(self.slots)) if self.fired[u] < self.goals[u]]
        if not waiting:
            return None
        said = {u: self._wait(u) for u in waiting}
        chain = _ring({u: other for u, (_, other) in said.items()}, waiting[0])
        return "; ".join(said[u][0] for u in chain[:_LISTED])

    def _wait(self, u: int) -> tuple[str, int]:
        """(what a unit waits for, the unit that should provide it).

        Inputs are looked at before outputs, as the kernel does. The second part leads along the chain of waiting
        units, which for a deadlock by full buffers closes to a ring.
        """
        name = self._name(u)
        for f in self.entering[u]:
            row, edge = self.flows[f], self.dfg.edges[self.tables.edges[f]]
            there = int(self.counters[row[layout.F_COUNTER] + row[layout.F_HOPS]] - self.consumed[f])
            if there < row[layout.F_TAKES] and self.tables.edges[f] < 0:
                return f"{name} waits for DRAM", -1
            if there < row[layout.F_TAKES]:
                lost = self.tables.broken.get(f, "" if any(f in flows for flows in self.leaving) else "has no route")
                reason = f" ({lost})" if lost else ""
                other = next((v for v, flows in enumerate(self.leaving) if f in flows), -1)
                return f"{name} waits for tokens of {edge.source}: {there} of {row[layout.F_TAKES]}{reason}", other
        for f in self.leaving[u]:
            row, edge = self.flows[f], self.dfg.edges[self.tables.edges[f]]
            there = int(self.counters[row[layout.F_COUNTER]] - self.consumed[f])
            if there + row[layout.F_PUTS] > row[layout.F_ROOM]:
                other = next((v for v, flows in enumerate(self.entering) if f in flows), -1)
                return f"{name} waits for room at {edge.target}: {there} of {row[layout.F_ROOM]} taken", other
        return f"{name} waits", -1

    def _name(self, u: int) -> str:
        """Node and tile of a unit, for messages."""
        return f"{self.dfg.nodes[self.slots[u].node].id} on {self.arch.tiles[self.slots[u].tile].name}"


class TokenRun:
    """A run on its way: ``cycle`` is the one that comes next, and the arrays of state and pace show what stands."""

    def __init__(self, network: layout.TokenTables, ways: layout.PacketTreeTables, state: layout.TokenState) -> None:
        self.network, self.ways, self.state = network, ways, state
        self.pace = layout.first_pace(network, ways, state)
        self.cycle = 0

    def advance(self, cycle: int) -> int:
        """Run until a cycle or to the end; returns the next cycle, which is later where nothing happens in between."""
        self.cycle = int(run_tokens(self.cycle, cycle, self.network, self.ways, self.state, self.pace))
        return self.cycle


def _ring(after: dict[int, int], start: int) -> list[int]:
    """Follow ``after`` from ``start``; the ring it ends in, or the whole way where it ends in none."""
    path: list[int] = []
    at = start
    while at in after and at not in path:
        path.append(at)
        at = after[at]
    return path[path.index(at) :] if at in path else path


def _compare(network: TokenNetwork, expected: Words) -> tuple[list[Mismatch], Mismatch | None]:
    """Firings whose value is not that of the untimed run; the first in program order stands for the cause."""
    wrong: list[Mismatch] = []
    order = {k: position for position, k in enumerate(program_order(network.dfg))}
    earliest: tuple[int, int] | None = None
    divergence: Mismatch | None = None
    for u, slot in enumerate(network.slots):
        count = int(network.fired[u])
        found, wanted = network.results[u, :count], expected[slot.node, :count]
        for firing in (found != wanted).nonzero()[0].tolist():
            mismatch = Mismatch(
                what=f"node {network.dfg.nodes[slot.node].id}", iteration=firing // network.repeats[u],
                expected=int(wanted[firing]), found=int(found[firing]), trip_count=network.iterations,
            )  # fmt: skip
            wrong.append(mismatch)
            if earliest is None or (mismatch.iteration, order[slot.node]) < earliest:
                earliest, divergence = (mismatch.iteration, order[slot.node]), mismatch
    return wrong, divergence
