"""Runs the flows of a program on one clock, with messages between them that take a random time each.

Messages carry the number of their iteration, so one may overtake another. Flows may branch and loop: then a flow runs
several times, and every one of its runs is compared. The asynchronous fabric, with its limits and the memory
interfaces, is in :mod:`gridloom.targets.streaming.machine.fabric`; a flow's own state in
:mod:`gridloom.targets.streaming.machine.flow_part`.

The reference knows no time: the interpreter runs one flow after the other
(:mod:`gridloom.targets.streaming.machine.program_reference`).

Every run draws its message times anew. A program that is right under times from one cycle to sixty is taken to be
right under any, since a flow sees nothing of time but which messages are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from gridloom.dfg.interpreter import Observation, Stimulus
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import configure
from gridloom.sim.compare import differences
from gridloom.sim.slot_code import SlotCode, compile_slots
from gridloom.sim.verdict import Mismatch
from gridloom.targets.streaming.machine.fabric import FabricLimits, Message, MessageFabric
from gridloom.targets.streaming.machine.flow_part import FlowPart
from gridloom.targets.streaming.machine.program_reference import activations
from gridloom.targets.streaming.program.model import HOST, Flow, Program

#: Longest times of a message, in cycles, that a program is run with.
LATENCIES: Final = (1, 7, 60)

_LISTED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRun:
    """What a flow did with its cycles, for reports.

    Cycles are those of the common clock, so that flows can be compared. For a flow that ran once, ``ended - began + 1``
    is the sum of the cycles in which it worked and those in which it waited. A flow that no branch ever started has -1
    for both.
    """

    flow: str
    #: Global cycles of its first and last work, over all activations.
    began: int
    ended: int
    #: Cycles of its activations in which it waited for messages, places or memory.
    waited: int
    #: How often it ran.
    activations: int = 1


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
    program: Program,
    *,
    seed: int = 0,
    latencies: tuple[int, ...] = LATENCIES,
    runs: int = 2,
    memory: int = 0,
    outstanding: int = 8,
) -> ProgramVerdict:
    """Run a program with messages of up to each of some latencies, and compare every activation with the interpreter.

    Each latency is run ``runs`` times, with other random times. ``memory`` is the longest time of a reply of a memory
    interface (0: within the latency of the access), which holds ``outstanding`` requests. SimulationError when a graph
    cannot run within the bounds of its arrays for its iterations, when a loop of flows does not end, and for a
    deadlock, with what every flow waits for. Costs the flows' cycles once for each run, about ten microseconds each.
    """
    stimuli, expected = activations(program, seed)
    code = {flow.name: compile_slots(configure(flow.mapping)) for flow in program.flows}
    wrong: list[Mismatch] = []
    cycles: list[int] = []
    flows: tuple[FlowRun, ...] = ()
    waiting: dict[str, int] = {}
    for most in latencies:
        for k in range(runs):
            limits = FabricLimits(message=most, memory=memory, outstanding=outstanding)
            clock = FlowClock(program, stimuli, code, limits, np.random.default_rng((seed, most, k)))
            clock.run()
            # All runs do the same work; the first one stands for them in reports.
            flows = flows or tuple(clock.flow_run(flow) for flow in program.flows)
            cycles.append(1 + max(part.ended for part in clock.parts.values()))
            for channel, count in clock.peak.items():
                waiting[channel] = max(waiting.get(channel, 0), count)
            for flow in program.flows:
                wrong += _different(flow, expected[flow.name], clock.parts[flow.name])
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


def _different(flow: Flow, expected: list[Observation], part: FlowPart) -> list[Mismatch]:
    """Where the activations of a flow differ from those of the interpreter, in their number or in their values."""
    if len(expected) != len(part.runs):
        return [
            Mismatch(what=f"flow {flow.name}: activations", iteration=-1, expected=len(expected), found=len(part.runs))
        ]
    wrong = []
    for number, (shall, found) in enumerate(zip(expected, part.runs)):
        which = f"flow {flow.name}" if len(expected) == 1 else f"flow {flow.name}, activation {number}"
        wrong += [
            replace(mismatch, what=f"{which}: {mismatch.what}")
            for mismatch in differences(flow.mapping.dfg, shall, found)
        ]
    return wrong


def _overflow(program: Program, waiting: dict[str, int]) -> str | None:
    """The text of an error where more messages waited than the smallest tile memory holds; None where all fit."""
    room = min(tile.buffer for tile in program.arch.tiles)
    full = [f"{channel} ({count})" for channel, count in waiting.items() if count > room]
    return f"more messages wait than a tile memory holds ({room}): {', '.join(full)}" if full else None


class FlowClock:
    """All flows of a program on one clock, and the fabric between them. ``peak`` is the most messages that waited."""

    def __init__(
        self,
        program: Program,
        stimuli: dict[str, Stimulus],
        code: dict[str, SlotCode],
        limits: FabricLimits,
        rng: np.random.Generator,
    ) -> None:
        self.parts = {flow.name: FlowPart(flow, program, stimuli[flow.name], code[flow.name]) for flow in program.flows}
        self.fabric = MessageFabric(program.channels, limits, rng)
        self.now = 0
        self.peak = {str(channel): 0 for channel in program.channels if channel.kind == "transfer"}
        for channel in program.channels:
            if channel.kind == "branch" and channel.source == HOST:
                self.fabric.send(0, Message("branch", channel, channel.target))
        for name, part in self.parts.items():
            if not part.loops:
                self.fabric.send(0, Message("branch", None, name))

    def run(self) -> None:
        """Run until every activation has ended. SimulationError for a deadlock.

        The host sends the commands that a program begins with as messages, through the dispatch interface.
        """
        while True:
            for message in self.fabric.arrived(self.now):
                if message.target in self.parts:
                    self.parts[message.target].take(message, self.fabric, self.now)
            moved = [self._advance(part) for part in self.parts.values() if part.running or part.asked]
            for part in self.parts.values():
                part.branch(self.fabric, self.now)
            if not any(moved) and not self.fabric.way:
                if not any(part.running or part.asked for part in self.parts.values()):
                    return
                raise SimulationError(self._deadlock())
            self._count_waiting()
            self.now += 1

    def _advance(self, part: FlowPart) -> bool:
        """One cycle of a flow, if it can; True where it moved."""
        if part.blocked(self.fabric) is not None:
            part.waited += part.running
            return False
        part.step(self.fabric, self.now)
        return True

    def _deadlock(self) -> str:
        """Which flows wait for each other, and for what."""
        waits = [
            f"flow {name} waits for {part.blocked(self.fabric)}"
            for name, part in self.parts.items()
            if part.running or part.asked
        ]
        return f"deadlock in cycle {self.now}: {'; '.join(waits)}"

    def _count_waiting(self) -> None:
        """Note for each channel how many messages have come and were not read yet."""
        for part in self.parts.values():
            cycle = part.execution.cycle if part.execution is not None else 0
            for stream, channel in part.fed.items():
                waiting = int(part.arrived[stream].sum()) - part.used(stream, cycle)
                waiting += sum(len(values) for values in part.queues[stream])
                self.peak[str(channel)] = max(self.peak[str(channel)], waiting)

    def flow_run(self, flow: Flow) -> FlowRun:
        """What a flow did."""
        part = self.parts[flow.name]
        return FlowRun(
            flow=flow.name, began=part.began, ended=part.ended, waited=part.waited, activations=len(part.runs)
        )
