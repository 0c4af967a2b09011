"""One flow of a program on its way: what it still waits for, its run, and what it has to send.

A flow advances by a cycle when the messages that its issues of that cycle read are there, when everything it sends in
that cycle has a place, and when the replies of memory that it needs have come; else it waits whole: a synchronous
domain stops together. A value that was read before its message came would be poison, and show.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gridloom.dfg.interpreter import Stimulus
from gridloom.dfg.semantics import encode
from gridloom.errors import SimulationError
from gridloom.sim import kernel
from gridloom.sim.execute import ArrayRun, Execution
from gridloom.sim.reading import first_values, op_classes, operand_edges, positions
from gridloom.sim.slot_code import SlotCode
from gridloom.targets.streaming.machine.fabric import INTERFACES, Message, MessageFabric
from gridloom.targets.streaming.program.model import Channel, Flow, Program, taken


@dataclass(frozen=True, slots=True)
class Sender:
    """A channel's stream at its source: where its values are made, and when.

    The value of firing f is ready in cycle ``ready + f * II`` of the flow's own count; ``initial`` are the values of a
    loop-carried edge into the output, which are sent when the flow begins.
    """

    channel: Channel
    #: The issue whose results it carries; cycle of the result of firing 0; iterations that come before them.
    issue: int
    ready: int
    initial: tuple[int | str, ...]

    def iteration(self, cycle: int, flow: Flow) -> int | None:
        """The iteration whose value is ready in a cycle of the flow; None where there is none."""
        firing, rest = divmod(cycle - self.ready, flow.mapping.ii)
        number = firing + len(self.initial)
        return number if rest == 0 and firing >= 0 and number < flow.iterations else None


class FlowPart:
    """A flow with its messages.

    ``missing`` counts loads and starts that a flow which runs once still waits for; ``asked`` counts branch messages,
    and commands of the host, that have come and were not answered by a run yet. ``unfreed`` counts loads of this run
    that their targets have not taken yet: branches are sent after that, so that whoever they start sees what was
    loaded.
    """

    def __init__(self, flow: Flow, program: Program, stimulus: Stimulus, compiled: SlotCode) -> None:
        self.flow = flow
        self.loops = program.branched(flow.name)
        self.into = program.into(flow.name)
        self.compiled = compiled
        self.fed: dict[str, Channel] = {c.into or "": c for c in self.into if c.kind == "transfer"}
        self.queues: dict[str, deque[dict[int, Any]]] = {stream: deque() for stream in self.fed}
        self.arrived = {stream: np.zeros(flow.iterations, dtype=np.bool_) for stream in self.fed}
        self.stimulus = self._waiting(stimulus)
        self.missing = 0 if self.loops else sum(c.kind in ("load", "start") for c in self.into)
        self.asked = 0
        self.execution: Execution | None = None
        self.reads = self._reads()
        self.accesses = self._accesses()
        outgoing = [c for c in program.channels if c.source == flow.name]
        self.senders = [self._sender(c) for c in outgoing if c.kind == "transfer"]
        self.endings = [c for c in outgoing if c.kind not in ("transfer", "branch")]
        self.branches = [c for c in outgoing if c.kind == "branch"]
        self.branching: list[Channel] = []
        self.unfreed = 0
        self.runs: list[ArrayRun] = []
        self.began = self.ended = -1
        self.waited = self.requested = 0
        self.due: dict[int, int] = {}

    def _waiting(self, stimulus: Stimulus) -> Stimulus:
        """The stimulus with poison where messages bring the values."""
        unknown = np.full(self.flow.iterations, kernel.POISON, dtype=np.int64)
        streams = dict(stimulus.streams) | {stream: unknown.copy() for stream in self.fed}
        loads = [] if self.loops else [c for c in self.into if c.kind == "load"]
        liveins = dict(stimulus.liveins) | {c.into or "": kernel.POISON for c in loads if not self._array(c)}
        memory = {name: words.copy() for name, words in stimulus.memory.items()}
        memory |= {c.into or "": unknown[:0] for c in loads if self._array(c)}
        return Stimulus(iterations=self.flow.iterations, streams=streams, liveins=liveins, memory=memory)

    def _array(self, channel: Channel) -> bool:
        """True for a channel that brings an array."""
        return any(array.name == channel.into for array in self.flow.mapping.dfg.arrays)

    def _reads(self) -> list[list[tuple[str, int]]]:
        """For each slot the fed streams that its issues read, with the start stage plus the iterations back."""
        compiled, dfg = self.compiled, self.flow.mapping.dfg
        name = {row: dfg.nodes[k].id for k, row in compiled.stream_of.items()}
        rows: list[list[tuple[str, int]]] = [[] for _ in range(self.flow.mapping.ii)]
        for k, slot in enumerate(compiled.configuration.slots):
            first, count = compiled.issues[k, kernel.I_OPERANDS], compiled.issues[k, kernel.I_COUNT]
            for operand in compiled.operands[first : first + count]:
                stream = name.get(int(operand[kernel.O_INDEX]), "")
                if operand[kernel.O_KIND] == kernel.FROM_STREAM and stream in self.fed:
                    rows[slot.slot].append((stream, compiled.stages[k] + int(operand[kernel.O_DISTANCE])))
        return rows

    def _accesses(self) -> list[list[tuple[int, int, int]]]:
        """For each slot its memory accesses: (memory interface, start stage, cycles until the result is needed)."""
        classes = op_classes(self.flow.mapping.dfg)
        rows: list[list[tuple[int, int, int]]] = [[] for _ in range(self.flow.mapping.ii)]
        for k, slot in enumerate(self.compiled.configuration.slots):
            if slot.node >= 0 and classes[slot.node] == "mem":
                rows[slot.slot].append((slot.tile % INTERFACES, int(self.compiled.stages[k]), slot.latency))
        return rows

    def _sender(self, channel: Channel) -> Sender:
        """The record of a transfer that leaves this flow: whose results it carries, and from which cycle on.

        SimulationError for an output that only hands on an input or a constant, which no issue slot makes.
        """
        dfg, compiled = self.flow.mapping.dfg, self.compiled
        at = positions(dfg)
        (e,) = operand_edges(dfg)[at[channel.value or ""]]
        edge = dfg.edges[e]
        issue = compiled.issue_of.get((at[edge.source], 0))
        if issue is None:
            raise SimulationError(
                f"{channel.value!r} is {edge.source!r} as it came in; a transfer carries what the flow computes",
                where=str(channel),
            )
        slot = compiled.configuration.slots[issue]
        ready = compiled.stages[issue] * self.flow.mapping.ii + slot.slot + slot.latency
        initial = tuple(
            value if isinstance(value, str) else encode(dfg.domain, value) for value in first_values(dfg, e)
        )
        return Sender(channel, issue, ready, initial[: self.flow.iterations])

    @property
    def running(self) -> bool:
        """True between the first cycle of an activation and its last."""
        return self.execution is not None

    def take(self, message: Message, fabric: MessageFabric, now: int) -> None:
        """Take a message: a stream's value, also while the flow runs, or what it needs to begin."""
        channel = message.channel
        if message.kind == "reply":
            del self.due[message.iteration]
        elif message.kind == "free":
            self.unfreed -= channel is not None and channel.kind == "load"
        elif message.kind == "branch":
            self.asked += 1
            if channel is not None and channel.capacity is not None:
                fabric.free(now, channel)
        elif channel is not None and channel.kind == "transfer":
            self._take_value(channel.into or "", message)
        elif channel is not None:
            self._take_load(channel, message.value)
            fabric.free(now, channel)

    def _take_value(self, stream: str, message: Message) -> None:
        """Keep a stream's value for the activation that it was sent in; that may be one that has not begun."""
        activation, iteration = divmod(message.iteration, self.flow.iterations)
        ahead = activation - len(self.runs)
        if ahead == 0:
            self._put(stream, iteration, message.value)
        queue = self.queues[stream]
        while len(queue) < ahead:
            queue.append({})
        if ahead > 0:
            queue[ahead - 1][iteration] = message.value

    def _put(self, stream: str, iteration: int, value: Any) -> None:
        """A value of the activation that runs, or that is about to."""
        self.stimulus.streams[stream][iteration] = value
        self.arrived[stream][iteration] = True
        if self.execution is not None:
            row = self.compiled.stream_of[positions(self.flow.mapping.dfg)[stream]]
            self.execution.streams[row, iteration] = value

    def _take_load(self, channel: Channel, value: Any) -> None:
        """Write what a load brings; SimulationError where the flow runs, since it may have read the old value."""
        into = channel.into or ""
        if self.running and channel.source != self.flow.name:
            raise SimulationError(f"flow {self.flow.name!r} is loaded while it runs", where=str(channel))
        self.missing -= not self.loops
        if channel.kind == "load" and self._array(channel):
            self.stimulus.memory[into] = value
        elif channel.kind == "load":
            self.stimulus.liveins[into] = value

    def blocked(self, fabric: MessageFabric) -> str | None:
        """What the flow waits for before its next cycle, in words; None when nothing holds it up."""
        if not self.ready():
            return self._unread()
        cycle = self.execution.cycle if self.execution is not None else 0
        for sender in self.senders:
            more = len(sender.initial) if self.execution is None else 0
            more += sender.iteration(cycle, self.flow) is not None
            if more and not fabric.room(sender.channel, more):
                return f"a place on {sender.channel} (capacity {sender.channel.capacity})"
        if fabric.limits.memory:
            if any(due <= cycle for due in self.due.values()):
                return "a reply of memory"
            for interface, _, _ in self._now(cycle):
                if not fabric.accepts(interface):
                    return f"memory interface {interface}"
        return None

    def _now(self, cycle: int) -> list[tuple[int, int, int]]:
        """The memory accesses of a cycle."""
        rounds = cycle // self.flow.mapping.ii
        return [
            row for row in self.accesses[cycle % self.flow.mapping.ii] if 0 <= rounds - row[1] < self.flow.iterations
        ]

    def ready(self) -> bool:
        """True when everything that the next cycle reads is there."""
        if self.missing or (self.execution is None and not self.asked):
            return False
        cycle = self.execution.cycle if self.execution is not None else 0
        return all(
            self.arrived[stream][iteration]
            for stream, back in self.reads[cycle % self.flow.mapping.ii]
            if 0 <= (iteration := cycle // self.flow.mapping.ii - back) < self.flow.iterations
        )

    def _unread(self) -> str:
        """What a flow that is not ready waits for."""
        if self.missing:
            return f"{self.missing} loads or starts"
        cycle = self.execution.cycle if self.execution is not None else 0
        for stream, back in self.reads[cycle % self.flow.mapping.ii]:
            iteration = cycle // self.flow.mapping.ii - back
            if 0 <= iteration < self.flow.iterations and not self.arrived[stream][iteration]:
                return f"iteration {iteration} of {self.fed[stream]}"
        return "a branch"

    def step(self, fabric: MessageFabric, now: int) -> None:
        """Run one cycle: begin where it is the first, send what becomes ready, ask memory, end where it is the last."""
        if self.execution is None:
            self._begin(fabric, now)
        execution = self.execution
        if execution is None:
            return
        cycle = execution.cycle
        if fabric.limits.memory:
            for interface, _, latency in self._now(cycle):
                self.requested += 1
                self.due[self.requested] = cycle + latency
                fabric.request(now, interface, self.flow.name, self.requested)
        self._free_read(fabric, now, cycle)
        execution.advance(cycle + 1)
        for sender in self.senders:
            iteration = sender.iteration(cycle, self.flow)
            if iteration is not None:
                value = int(execution.results[iteration - len(sender.initial), sender.issue])
                self._send_value(fabric, now, sender.channel, iteration, value)
        if execution.cycle >= execution.last:
            self._end(fabric, now)

    def _begin(self, fabric: MessageFabric, now: int) -> None:
        """Begin an activation; the initial values of its outputs are sent at once."""
        self.asked -= 1
        self.execution = Execution(self.compiled, self.stimulus)
        self.began = now if self.began < 0 else self.began
        for sender in self.senders:
            for iteration, value in enumerate(sender.initial):
                known = self.stimulus.liveins[value] if isinstance(value, str) else value
                self._send_value(fabric, now, sender.channel, iteration, known)

    def _send_value(self, fabric: MessageFabric, now: int, channel: Channel, iteration: int, value: Any) -> None:
        """Send a value of a stream; its number counts the iterations of all activations."""
        number = len(self.runs) * self.flow.iterations + iteration
        fabric.send(now, Message("transfer", channel, channel.target, number, value))

    def _free_read(self, fabric: MessageFabric, now: int, cycle: int) -> None:
        """Give back the places of values whose last reader issues in this cycle."""
        for stream, channel in self.fed.items():
            if channel.capacity is not None:
                for _ in range(self.used(stream, cycle + 1) - self.used(stream, cycle)):
                    fabric.free(now, channel)

    def _end(self, fabric: MessageFabric, now: int) -> None:
        """Note the end of an activation, send its live-outs, arrays and starts, and see which branches are taken."""
        if self.execution is None:
            return
        shown = self.execution.outcome()
        self.runs.append(shown)
        self.execution = None
        self.ended = now
        seen = shown.observation
        self.stimulus = replace(
            self.stimulus,
            memory={name: words.copy() for name, words in seen.memory.items()},
            streams={
                name: np.full_like(words, kernel.POISON) if name in self.fed else words
                for name, words in self.stimulus.streams.items()
            },
        )
        for stream, queue in self.queues.items():
            self.arrived[stream][:] = False
            for iteration, value in (queue.popleft() if queue else {}).items():
                self._put(stream, iteration, value)
        for channel in self.endings:
            value = channel.value or ""
            what = seen.memory[value].copy() if value in seen.memory else seen.liveouts.get(value, 0)
            fabric.send(now, Message(channel.kind, channel, channel.target, 0, what))
            self.unfreed += channel.kind == "load"
        self.branching = [c for c in self.branches if taken(c, seen.liveouts)]

    def branch(self, fabric: MessageFabric, now: int) -> None:
        """Send the branches of the last activation once its loads have been taken."""
        if self.branching and not self.unfreed:
            for channel in self.branching:
                fabric.send(now, Message("branch", channel, channel.target))
            self.branching = []

    def used(self, stream: str, cycle: int) -> int:
        """Iterations of a stream that the last of its readers has read before a cycle."""
        ii, count = self.flow.mapping.ii, self.flow.iterations
        turns = [
            (cycle - 1 - slot) // ii + 1 - back
            for slot, rows in enumerate(self.reads)
            for name, back in rows
            if name == stream
        ]
        return max(0, min([count, *turns])) if turns else 0
