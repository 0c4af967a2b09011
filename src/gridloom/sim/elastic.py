"""The simulator of elastic arrays: units fire when tokens and room are there; the result is a period, or a deadlock.

A firing takes its tokens, keeps its unit busy for ``node.work`` cycles and puts its tokens out. It begins only when
every consumer has room for them: room is the consumer's input buffer less what is in it and on the way, so that
tokens never wait inside the network for a buffer. A link carries one token per cycle, flows in turn and the tokens of
a firing together; a hop takes a cycle. ``puts_every`` and ``takes_every`` of an edge make that every so many firings.

Tokens carry values, a mix of all that went into them. Complete and in order means: every firing of every unit has the
value that an untimed run of the graph gives it.

The graph is a synchronous dataflow graph (Lee and Messerschmitt, 1987): rates are fixed, so that one iteration is the
least number of firings after which all buffers are as before (:mod:`gridloom.dfg.rates`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gridloom.archs.model import Arch
from gridloom.dfg import rates
from gridloom.dfg.model import Dfg
from gridloom.dfg.rates import taken
from gridloom.dfg.semantics import encode, salt
from gridloom.errors import DfgError, SimulationError
from gridloom.mapping.configuration import Configuration, Slot, TokenPath
from gridloom.sim import elastic_kernel as kernel
from gridloom.sim.elastic_kernel import Words
from gridloom.sim.verdict import Mismatch, UnitUse, Verdict

_LISTED: Final = 8
_MAX_CYCLES: Final = 2_000_000_000
_MAX_FIRINGS: Final = 50_000_000
#: Steps of the cycle loop that a run may take; longer ones run fewer iterations, but no fewer than these.
_MAX_STEPS: Final = 3_000_000_000
_LEAST_ITERATIONS: Final = 6


def simulate_elastic(configuration: Configuration, *, iterations: int = 64) -> Verdict:
    """Run an elastic configuration for so many graph iterations.

    The verdict has the period (cycles per iteration, over the middle half of the run) and what each unit did with its
    cycles; graphs whose iterations are long run fewer of them. A deadlock is a verdict that is not ok and says who
    waits for whom. SimulationError when the graph's rates do not balance or it stops by itself. Costs O(cycles with
    events * (units + hops)) in the kernel.
    """
    dfg = configuration.dfg
    repeats = repetitions(configuration)
    asked = iterations
    iterations = _affordable(configuration, repeats, iterations)
    expected = _untimed(configuration, repeats, iterations)
    network = TokenNetwork(configuration, repeats, iterations)
    cycles = network.run()
    mismatches, divergence = _compare(network, expected)
    stuck = network.stuck()
    return Verdict(
        ok=not mismatches and stuck is None,
        iterations=iterations,
        asked=asked,
        trip_counts=(iterations,),
        cycles=cycles,
        mismatches=tuple(mismatches[:_LISTED]),
        divergence=divergence,
        error=_why(stuck, cycles, iterations),
        period=None if stuck else network.period(),
        units=tuple(
            UnitUse(
                tile=configuration.arch.tiles[slot.tile].name,
                node=dfg.nodes[slot.node].id,
                firings=int(network.fired[u]),
                busy=int(network.usage[u, kernel.BUSY]),
                starved=int(network.usage[u, kernel.STARVED]),
                stalled=int(network.usage[u, kernel.STALLED]),
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
    """The iterations that a run of bearable length has, at most those asked for.

    The longest node bounds the cycles of an iteration from below, and each cycle costs a look at all units and hops.
    """
    hops = sum(len(flow.links) for flow in configuration.token_paths)
    longest = max((node.work * n for node, n in zip(configuration.dfg.nodes, repeats)), default=1)
    bearable = _MAX_STEPS // (longest * (len(configuration.slots) + hops + 1))
    firings = _MAX_FIRINGS // (max(repeats) * len(repeats))
    return min(iterations, max(_LEAST_ITERATIONS, min(bearable, firings)))


def token_edges(configuration: Configuration) -> list[int]:
    """The edges whose tokens travel: those that carry a value of a node that needs a unit."""
    dfg, free = configuration.dfg, configuration.arch.free
    return [
        e for e, edge in enumerate(dfg.edges) if edge.carries_value and dfg.op_class(edge.source) not in free
    ]  # fmt: skip


def repetitions(configuration: Configuration) -> list[int]:
    """Firings of each node in one graph iteration: the least whole numbers that balance every edge.

    SimulationError where no numbers do. The tokens that are put on an edge in an iteration are then those taken from
    it, so that buffers do not grow from iteration to iteration.
    """
    try:
        return rates.repetitions(configuration.dfg, token_edges(configuration))
    except DfgError as error:
        raise SimulationError(error.message, where=error.where) from None


def early_tokens(dfg: Dfg, e: int) -> list[int]:
    """The tokens that are on a loop-carried edge before the first firing.

    There are ``distance`` firings' worth of them, with the values that the graph gives as initial.
    """
    edge = dfg.edges[e]
    values = dfg.initial_values(e)
    if any(isinstance(value, str) for value in values):
        raise SimulationError(f"edge {edge.source} -> {edge.target} starts from a live-in; elastic arrays take numbers")
    return [
        int(kernel.token(encode(dfg.domain, value), j))
        for value in values
        if not isinstance(value, str)
        for j in range(edge.tokens)
    ]


def _untimed(configuration: Configuration, repeats: list[int], iterations: int) -> Words:
    """The value of each firing of each node, ``[node, firing]``, without an array: what the timed run has to reproduce.

    SimulationError for too many firings, and for a graph that stops by itself.
    """
    dfg = configuration.dfg
    if max(repeats) * iterations * len(repeats) > _MAX_FIRINGS:
        raise SimulationError(
            f"an iteration takes up to {max(repeats)} firings of a node: {iterations} of them are too many to simulate",
            where=f"graph {dfg.name!r}",
        )
    edges: list[tuple[int, ...]] = []
    early: list[int] = []
    travelling = token_edges(configuration)
    number = {e: k for k, e in enumerate(travelling)}
    for e in travelling:
        edge, first = dfg.edges[e], early_tokens(dfg, e)
        edges.append(
            (
                dfg.index[edge.source], edge.tokens, taken(edge), len(first), len(early),
                edge.puts_every, edge.takes_every,
            )
        )  # fmt: skip
        early += first
    incoming = [[number[e] for e in dfg.operand_edges(node.id) if e in number] for node in dfg.nodes]
    start, flat = _ragged(incoming)
    results = np.zeros((len(dfg.nodes), max(repeats) * iterations), dtype=np.int64)
    done = kernel.run_untimed(
        iterations, np.array(repeats, dtype=np.int64), np.array([salt(node.id) for node in dfg.nodes], dtype=np.int64),
        start, flat, np.array(edges, dtype=np.int64).reshape(-1, 7), np.array([*early, 0], dtype=np.int64), results,
    )  # fmt: skip
    if not done:
        raise SimulationError("stops by itself: a cycle has too few tokens at the start", where=f"graph {dfg.name!r}")
    return results


@dataclass
class _Tables:
    """What the kernel reads of flows and links, while it is collected.

    A flow is an edge on its way to one unit. Row f of ``flows`` has the columns of :mod:`gridloom.sim.elastic_kernel`.
    A flow of h hops has h + 1 counters in ``counters``: tokens put, tokens that have crossed each link. The counters of
    a hop are at its index and the one after it.
    """

    flows: list[list[int]] = field(default_factory=list)
    counters: list[int] = field(default_factory=list)
    #: Cells of all rings together, and the tokens that some hold at the start.
    cells: int = 0
    early: dict[int, list[int]] = field(default_factory=dict)
    #: Link -> the counters of the hops that cross it, and the tokens of a packet there.
    crossing: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    #: Edge of each flow, and what is wrong with its way.
    edges: list[int] = field(default_factory=list)
    broken: dict[int, str] = field(default_factory=dict)


class TokenNetwork:
    """The units and flows of a configuration, and the state of a run.

    A unit is an issue slot, a flow the way of an edge's tokens into one unit. ``leaving`` and ``entering`` list the
    flows of each unit; an operand without a route gets a flow that nothing enters, so that the run shows as a
    deadlock that says why.
    """

    def __init__(self, configuration: Configuration, repeats: list[int], iterations: int) -> None:
        self.configuration = configuration
        self.dfg: Dfg = configuration.dfg
        self.arch: Arch = configuration.arch
        self.iterations = iterations
        self.slots: list[Slot] = [slot for slot in configuration.slots if slot.kind == "op"]
        self.repeats = [repeats[slot.node] for slot in self.slots]
        self.tables = _Tables()
        self.ends = {resource: (a, b) for a, b, resource in self.arch.links}
        self.leaving: list[list[int]] = [[] for _ in self.slots]
        self.entering: list[list[int]] = [[] for _ in self.slots]
        self._connect()
        count = len(self.slots)
        self.flows = np.array(self.tables.flows, dtype=np.int64).reshape(-1, 10)
        self.counters = np.array([*self.tables.counters, 0], dtype=np.int64)
        self.consumed = np.zeros(len(self.flows), dtype=np.int64)
        self.results = np.zeros((count, max([*self.repeats, 1]) * iterations), dtype=np.int64)
        self.finished = np.full((count, iterations), -1, dtype=np.int64)
        self.usage = np.zeros((count, 3), dtype=np.int64)
        self.fired = np.zeros(count, dtype=np.int64)

    def _connect(self) -> None:
        """Make a flow for each token path, and join flows to the units at their ends."""
        by_end: dict[tuple[int, int], int] = {}
        for flow in self.configuration.token_paths:
            f = self._add_flow(flow)
            by_end[flow.edge, flow.target] = f
            source = self._unit(flow.source, self.dfg.edges[flow.edge].source)
            if source >= 0:
                self.leaving[source].append(f)
        travelling = set(token_edges(self.configuration))
        for u, slot in enumerate(self.slots):
            for e in self.dfg.operand_edges(self.dfg.nodes[slot.node].id):
                if e in travelling:
                    missing = TokenPath(edge=e, source=-1, target=slot.tile, links=())
                    self.entering[u].append(
                        by_end[e, slot.tile] if (e, slot.tile) in by_end else self._add_flow(missing)
                    )

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
        hops = max(len(flow.links), 1)
        first = len(tables.counters)
        tables.flows.append(
            [
                edge.tokens, taken(edge), room, hops, first, tables.cells, size - 1,
                int(flow.source == flow.target), edge.puts_every, edge.takes_every,
            ]
        )  # fmt: skip
        tables.counters += [len(early)] * (hops + 1)
        tables.early[tables.cells] = early
        tables.cells += size
        tables.edges.append(flow.edge)
        self._cross(f, flow, first)
        return f

    def _cross(self, f: int, flow: TokenPath, first: int) -> None:
        """Enter a flow at the links it crosses, as far as they join up: tokens stop where they do not."""
        at = flow.source
        for k, link in enumerate(flow.links):
            source, target = self.ends[link]
            if source != at:
                self.tables.broken[f] = f"{self.arch.resource_names[link]} does not begin at {self.arch.tiles[at].name}"
                return
            self.tables.crossing.setdefault(link, []).append((first + k, self.dfg.edges[flow.edge].tokens))
            at = target
        if flow.source < 0:
            self.tables.broken[f] = "has no route"
        elif not flow.links:
            self.tables.broken[f] = "has a route without links"
        elif at != flow.target:
            # The last hop is taken back: what arrives elsewhere does not arrive.
            self.tables.crossing[flow.links[-1]].pop()
            self.tables.broken[f] = f"ends at {self.arch.tiles[at].name}, not at {self.arch.tiles[flow.target].name}"

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
            (self.dfg.nodes[slot.node].work, repeats, salt(self.dfg.nodes[slot.node].id))
            for slot, repeats in zip(self.slots, self.repeats)
        ]
        crossing = [self.tables.crossing[link] for link in sorted(self.tables.crossing)]
        link_start, link_hops = _ragged([hop for hop, _ in row] for row in crossing)
        _, hop_puts = _ragged([puts for _, puts in row] for row in crossing)
        input_start, inputs = _ragged(self.entering)
        output_start, outputs = _ragged(self.leaving)
        rings = np.zeros(self.tables.cells + 1, dtype=np.int64)
        for first, early in self.tables.early.items():
            rings[first : first + len(early)] = early
        table = np.array(units, dtype=np.int64).reshape(-1, 3)
        network = kernel.Network(table, input_start, inputs, output_start, outputs, self.flows)
        links = kernel.LinkTable(link_start, link_hops, hop_puts)
        state = kernel.TokenState(
            self.counters, self.consumed, rings, self.results, self.finished, self.usage, self.fired
        )
        return TokenRun(self.iterations, network, links, state)

    def period(self) -> float:
        """Cycles per iteration over the middle half of the run: buffers fill before it, and empty after it.

        An iteration ends when the last unit has done its part. Runs too short for a middle half have the cycles of the
        whole run.
        """
        ends = self.finished.max(axis=0)
        first = max(self.iterations // 4, 1)
        last = self.iterations - self.iterations // 4
        if last <= first:
            return float(ends[-1])
        return float(ends[last - 1] - ends[first - 1]) / (last - first)

    def stuck(self) -> str | None:
        """Who waits for whom, when a run came to a stop; None when it came to its end.

        A deadlock is a ring of units that wait for each other's tokens or room; where there is none (a broken route),
        it is the chain from the first waiting unit on.
        """
        waiting = [u for u in range(len(self.slots)) if self.fired[u] < self.iterations * self.repeats[u]]
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
            there = int(self.counters[row[kernel.F_COUNTER] + row[kernel.F_HOPS]] - self.consumed[f])
            if there < row[kernel.F_TAKES]:
                reason = f" ({self.tables.broken[f]})" if f in self.tables.broken else ""
                other = next((v for v, flows in enumerate(self.leaving) if f in flows), -1)
                return f"{name} waits for tokens of {edge.source}: {there} of {row[kernel.F_TAKES]}{reason}", other
        for f in self.leaving[u]:
            row, edge = self.flows[f], self.dfg.edges[self.tables.edges[f]]
            there = int(self.counters[row[kernel.F_COUNTER]] - self.consumed[f])
            if there + row[kernel.F_PUTS] > row[kernel.F_ROOM]:
                other = next((v for v, flows in enumerate(self.entering) if f in flows), -1)
                return f"{name} waits for room at {edge.target}: {there} of {row[kernel.F_ROOM]} taken", other
        return f"{name} waits", -1

    def _name(self, u: int) -> str:
        """Node and tile of a unit, for messages."""
        return f"{self.dfg.nodes[self.slots[u].node].id} on {self.arch.tiles[self.slots[u].tile].name}"


class TokenRun:
    """A run on its way: ``cycle`` is the one that comes next, and the arrays of state and pace show what stands."""

    def __init__(
        self, iterations: int, network: kernel.Network, links: kernel.LinkTable, state: kernel.TokenState
    ) -> None:
        self.iterations = iterations
        self.network, self.links, self.state = network, links, state
        self.pace = kernel.first_pace(network, links, state)
        self.cycle = 0

    def advance(self, cycle: int) -> int:
        """Run until a cycle or to the end; returns the next cycle, which is later where nothing happens in between."""
        self.cycle = int(
            kernel.run_tokens(self.iterations, self.cycle, cycle, self.network, self.links, self.state, self.pace)
        )
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
    order = {k: position for position, k in enumerate(network.dfg.topological)}
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


def _ragged(rows: Iterable[list[int]]) -> tuple[Words, Words]:
    """Rows of different lengths as CSR: where each row starts, and all rows one after the other.

    The second array has a cell to spare, so that it is never empty.
    """
    start, flat = [0], []
    for row in rows:
        flat += row
        start.append(len(flat))
    return np.array(start, dtype=np.int64), np.array([*flat, 0], dtype=np.int64)
