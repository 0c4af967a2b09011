"""Runs the flows of a program on one clock, with messages between them that take a random time each.

A flow advances by a cycle when the messages that its issues of that cycle read are there, else it waits whole: a
synchronous domain stops together. Messages carry the number of their iteration, so one may overtake another. A value
that was read before its message came would be poison, and show.

The reference knows no time: the interpreter runs one flow after the other.

Every run draws its message times anew. A program that is right under times from one cycle to sixty is taken to be
right under any, since a flow sees nothing of time but which messages are there.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from gridloom.dfg.interpreter import Interpreter, Observation, Stimulus
from gridloom.dfg.semantics import encode
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import configure
from gridloom.mapping.program import Channel, Flow, Program, flow_order
from gridloom.sim import kernel
from gridloom.sim.compare import differences
from gridloom.sim.execute import ArrayRun, Execution
from gridloom.sim.slot_code import compile_slots
from gridloom.sim.stimulus import fitting_stimulus
from gridloom.sim.verdict import Mismatch

#: Longest times of a message, in cycles, that a program is run with.
LATENCIES: Final = (1, 7, 60)

_LISTED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRun:
    """What a flow did with its cycles, for reports.

    Cycles are those of the common clock, so that flows can be compared. ``ended - began + 1`` is the sum of the cycles
    in which the flow worked and those in which it waited.
    """

    flow: str
    #: Global cycles of its first and last work.
    began: int
    ended: int
    #: Cycles in between in which it waited for messages.
    waited: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramVerdict:
    """The outcome of ``simulate_program``.

    It is ok when no value differs in any run and no tile memory overflowed.

    ``latencies`` and ``cycles`` have one entry for each run. ``error`` is set where more messages waited at a tile than
    its memory holds; the values may be right all the same.
    """

    ok: bool
    #: Longest message time of each run, and the cycles it took until all flows had ended.
    latencies: tuple[int, ...]
    cycles: tuple[int, ...]
    #: Flows of the first run.
    flows: tuple[FlowRun, ...] = ()
    #: Most messages of a channel that waited in the target's tile memory, over all runs.
    waiting: dict[str, int] = field(default_factory=dict)
    mismatches: tuple[Mismatch, ...] = ()
    error: str | None = None


def simulate_program(
    program: Program, *, seed: int = 0, latencies: tuple[int, ...] = LATENCIES, runs: int = 2
) -> ProgramVerdict:
    """Run a program with messages of up to each of some latencies, and compare every flow with the interpreter.

    Each latency is run ``runs`` times, with other random times. SimulationError when a graph cannot run within the
    bounds of its arrays for its iterations, or when flows wait for messages that nobody sends. Costs the flows' cycles
    once for each run, about ten microseconds each.
    """
    stimuli, expected = reference(program, seed)
    wrong: list[Mismatch] = []
    cycles: list[int] = []
    flows: tuple[FlowRun, ...] = ()
    waiting: dict[str, int] = {}
    for most in latencies:
        for k in range(runs):
            clock = _Clock(program, stimuli, most, np.random.default_rng((seed, most, k)))
            clock.run()
            # All runs do the same work; the first one stands for them in reports.
            flows = flows or tuple(clock.flow_run(flow) for flow in program.flows)
            cycles.append(clock.now)
            for channel, count in clock.peak.items():
                waiting[channel] = max(waiting.get(channel, 0), count)
            for flow in program.flows:
                found = clock.parts[flow.name].outcome()
                for mismatch in differences(flow.mapping.dfg, expected[flow.name], found):
                    wrong.append(replace(mismatch, what=f"flow {flow.name}: {mismatch.what}"))
    error = _overflow(program, waiting)
    return ProgramVerdict(
        ok=not wrong and error is None,
        latencies=tuple(most for most in latencies for _ in range(runs)),
        cycles=tuple(cycles),
        flows=flows,
        waiting=waiting,
        mismatches=tuple(wrong[:_LISTED]),
        error=error,
    )


def _overflow(program: Program, waiting: dict[str, int]) -> str | None:
    """The text of an error where more messages waited than the smallest tile memory holds; None where all fit."""
    room = min(tile.buffer for tile in program.arch.tiles)
    full = [f"{channel} ({count})" for channel, count in waiting.items() if count > room]
    return f"more messages wait than a tile memory holds ({room}): {', '.join(full)}" if full else None


def reference(program: Program, seed: int) -> tuple[dict[str, Stimulus], dict[str, Observation]]:
    """What each flow is fed and what it shall show, by the interpreter alone.

    Flows run in an order in which channels go forward; what a channel brings replaces that part of the random
    stimulus. SimulationError for a flow that cannot run for its iterations within its arrays.
    """
    stimuli: dict[str, Stimulus] = {}
    shown: dict[str, Observation] = {}
    for position, name in enumerate(flow_order([flow.name for flow in program.flows], program.channels)):
        flow = program.flow(name)
        interpreter = Interpreter(flow.mapping.dfg)
        stimulus, _ = fitting_stimulus(interpreter, flow.iterations, seed + position)
        if stimulus.iterations < flow.iterations:
            raise SimulationError(
                f"runs off its arrays after {stimulus.iterations} of {flow.iterations} iterations",
                where=f"flow {name!r}",
            )
        for channel in program.into(name):
            _feed(channel, stimulus, shown[channel.source])
        stimuli[name], shown[name] = stimulus, interpreter.run(stimulus)
    return stimuli, shown


def _feed(channel: Channel, stimulus: Stimulus, source: Observation) -> None:
    """Put what a channel carries into the stimulus of its target."""
    value, into = channel.value or "", channel.into or ""
    if channel.kind == "transfer":
        stimulus.streams[into] = source.outputs[value].copy()
    elif channel.kind == "load" and value in source.memory:
        stimulus.memory[into] = source.memory[value].copy()
    elif channel.kind == "load":
        stimulus.liveins[into] = source.liveouts[value]


@dataclass(frozen=True, slots=True)
class _Sender:
    """A channel's stream at its source: where its values are made, and when.

    The value of firing f is ready in cycle ``ready + f * II`` of the flow's own count; ``initial`` are the values of a
    loop-carried edge into the output, which are sent when the flow begins.
    """

    channel: Channel
    #: The issue whose results it carries; cycle of the result of firing 0; iterations that come before them.
    issue: int
    ready: int
    initial: tuple[int | str, ...]


class _Part:
    """A flow on its way.

    ``arrived`` says for each fed stream which iterations have come; until then its values are poison. ``missing``
    counts the loads and starts that the flow still waits for; its execution is made when there are none left.
    """

    def __init__(self, flow: Flow, program: Program, stimulus: Stimulus) -> None:
        self.flow = flow
        self.into = program.into(flow.name)
        self.compiled = compile_slots(configure(flow.mapping))
        streams = dict(stimulus.streams)
        unknown = np.full(flow.iterations, kernel.POISON, dtype=np.int64)
        self.arrived: dict[str, np.ndarray] = {}
        for channel in self.into:
            if channel.kind == "transfer":
                streams[channel.into or ""] = unknown.copy()
                self.arrived[channel.into or ""] = np.zeros(flow.iterations, dtype=np.bool_)
        liveins = dict(stimulus.liveins) | {c.into or "": kernel.POISON for c in self._loads() if not self._array(c)}
        memory = dict(stimulus.memory) | {c.into or "": unknown[:0] for c in self._loads() if self._array(c)}
        self.stimulus = Stimulus(iterations=flow.iterations, streams=streams, liveins=liveins, memory=memory)
        self.missing = sum(channel.kind != "transfer" for channel in self.into)
        self.execution: Execution | None = None
        self.reads = self._reads()
        outgoing = [c for c in program.channels if c.source == flow.name]
        self.senders = [self._sender(c) for c in outgoing if c.kind == "transfer"]
        self.endings = [c for c in outgoing if c.kind != "transfer"]
        self.began = self.ended = -1
        self.waited = 0

    def _loads(self) -> list[Channel]:
        """The channels that bring a live-in or an array."""
        return [channel for channel in self.into if channel.kind == "load"]

    def _array(self, channel: Channel) -> bool:
        """True for a channel that brings an array."""
        return channel.into in self.flow.mapping.dfg.array_length

    def _reads(self) -> list[list[tuple[str, int]]]:
        """For each slot the fed streams that its issues read, with the start stage plus the iterations back."""
        compiled, dfg = self.compiled, self.flow.mapping.dfg
        name = {row: dfg.nodes[k].id for k, row in compiled.stream_of.items()}
        rows: list[list[tuple[str, int]]] = [[] for _ in range(self.flow.ii)]
        for k, slot in enumerate(compiled.configuration.slots):
            first, count = compiled.issues[k, kernel.I_OPERANDS], compiled.issues[k, kernel.I_COUNT]
            for operand in compiled.operands[first : first + count]:
                stream = name.get(int(operand[kernel.O_INDEX]), "")
                if operand[kernel.O_KIND] == kernel.FROM_STREAM and stream in self.arrived:
                    rows[slot.slot].append((stream, compiled.stages[k] + int(operand[kernel.O_DISTANCE])))
        return rows

    def _sender(self, channel: Channel) -> _Sender:
        """The record of a transfer that leaves this flow: whose results it carries, and from which cycle on.

        SimulationError for an output that only hands on an input or a constant, which no issue slot makes.
        """
        dfg, compiled = self.flow.mapping.dfg, self.compiled
        (e,) = dfg.operand_edges(channel.value or "")
        edge = dfg.edges[e]
        issue = compiled.issue_of.get((dfg.index[edge.source], 0))
        if issue is None:
            raise SimulationError(
                f"{channel.value!r} is {edge.source!r} as it came in; a transfer carries what the flow computes",
                where=str(channel),
            )
        slot = compiled.configuration.slots[issue]
        ready = compiled.stages[issue] * self.flow.ii + slot.slot + slot.latency
        initial = tuple(
            value if isinstance(value, str) else encode(dfg.domain, value) for value in dfg.initial_values(e)
        )
        return _Sender(channel, issue, ready, initial[: self.flow.iterations])

    def take(self, channel: Channel, iteration: int, value: Any) -> None:
        """Take a message: a stream's value, also while the flow runs, or what it needs to begin."""
        into = channel.into or ""
        if channel.kind == "transfer":
            self.stimulus.streams[into][iteration] = value
            self.arrived[into][iteration] = True
            if self.execution is not None:
                row = self.compiled.stream_of[self.flow.mapping.dfg.index[into]]
                self.execution.streams[row, iteration] = value
            return
        self.missing -= 1
        if channel.kind == "load" and self._array(channel):
            self.stimulus.memory[into] = value
        elif channel.kind == "load":
            self.stimulus.liveins[into] = value

    def ready(self) -> bool:
        """True when everything that the next cycle reads is there."""
        if self.missing:
            return False
        cycle = self.execution.cycle if self.execution is not None else 0
        for stream, back in self.reads[cycle % self.flow.ii]:
            iteration = cycle // self.flow.ii - back
            if 0 <= iteration < self.flow.iterations and not self.arrived[stream][iteration]:
                return False
        return True

    def outcome(self) -> ArrayRun:
        """What the flow shows at its end."""
        if self.execution is None:
            raise SimulationError("has not begun", where=f"flow {self.flow.name!r}")
        return self.execution.outcome()


class _Clock:
    """All flows of a program, and the messages under way.

    ``way`` is a heap by the cycle of arrival; the counter in it keeps messages of one cycle in the order in which
    they were sent and comparisons away from values. ``peak`` is the most messages that waited, by channel.
    """

    def __init__(self, program: Program, stimuli: dict[str, Stimulus], most: int, rng: np.random.Generator) -> None:
        self.parts = {flow.name: _Part(flow, program, stimuli[flow.name]) for flow in program.flows}
        self.most = most
        self.rng = rng
        self.now = 0
        self.count = 0
        self.way: list[tuple[int, int, Channel, int, Any]] = []
        self.peak = {str(channel): 0 for channel in program.channels if channel.kind == "transfer"}

    def run(self) -> None:
        """Run until every flow has ended. SimulationError when all of them wait and no message is under way."""
        while any(part.ended < 0 for part in self.parts.values()):
            while self.way and self.way[0][0] <= self.now:
                _, _, channel, iteration, value = heapq.heappop(self.way)
                self.parts[channel.target].take(channel, iteration, value)
            moved = [self._advance(part) for part in self.parts.values() if part.ended < 0]
            if not any(moved) and not self.way:
                names = [name for name, part in self.parts.items() if part.ended < 0]
                raise SimulationError(f"flows {', '.join(names)} wait for messages that nobody sends")
            self._count_waiting()
            self.now += 1

    def _advance(self, part: _Part) -> bool:
        """One cycle of a flow, if it can; True where it moved.

        A flow that begins sends the initial values of its outputs at once; afterwards each result is sent in the
        cycle in which it is complete.
        """
        if not part.ready():
            part.waited += part.began >= 0
            return False
        if part.execution is None:
            part.execution = Execution(part.compiled, part.stimulus)
            part.began = self.now
            for sender in part.senders:
                for iteration, value in enumerate(sender.initial):
                    known = part.stimulus.liveins[value] if isinstance(value, str) else value
                    self._send(sender.channel, iteration, known)
        execution = part.execution
        cycle = execution.cycle
        execution.advance(cycle + 1)
        for sender in part.senders:
            firing, rest = divmod(cycle - sender.ready, part.flow.ii)
            iteration = firing + len(sender.initial)
            if rest == 0 and firing >= 0 and iteration < part.flow.iterations:
                self._send(sender.channel, iteration, int(execution.results[firing, sender.issue]))
        if execution.cycle >= execution.last:
            self._end(part)
        return True

    def _end(self, part: _Part) -> None:
        """Note the end of a flow, and send its live-outs, arrays and starts."""
        part.ended = self.now
        shown = part.outcome().observation
        for channel in part.endings:
            value = channel.value or ""
            self._send(channel, 0, shown.memory[value] if value in shown.memory else shown.liveouts.get(value, 0))

    def _send(self, channel: Channel, iteration: int, value: Any) -> None:
        """Send a message that arrives after 1 to ``most`` cycles, drawn at random."""
        self.count += 1
        due = self.now + 1 + int(self.rng.integers(0, self.most))
        heapq.heappush(self.way, (due, self.count, channel, iteration, value))

    def _count_waiting(self) -> None:
        """Note for each channel how many messages have come and were not read yet."""
        for part in self.parts.values():
            cycle = part.execution.cycle if part.execution is not None else 0
            for channel in part.into:
                if channel.kind != "transfer":
                    continue
                used = _used(part, channel.into or "", cycle)
                waiting = int(part.arrived[channel.into or ""].sum()) - used
                self.peak[str(channel)] = max(self.peak[str(channel)], waiting)

    def flow_run(self, flow: Flow) -> FlowRun:
        """What a flow did."""
        part = self.parts[flow.name]
        return FlowRun(flow=flow.name, began=part.began, ended=part.ended, waited=part.waited)


def _used(part: _Part, stream: str, cycle: int) -> int:
    """Iterations of a stream that the last of its readers has read."""
    ii, count = part.flow.ii, part.flow.iterations
    turns = [
        (cycle - 1 - slot) // ii + 1 - back
        for slot, rows in enumerate(part.reads)
        for name, back in rows
        if name == stream
    ]
    return max(0, min([count, *turns])) if turns else 0
