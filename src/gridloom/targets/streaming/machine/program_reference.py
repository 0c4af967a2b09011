"""What the flows of a program shall show, by the interpreter alone, which knows no time.

A flow that no ``branch`` leads to runs once. Every branch message makes its target run once more: with the live-ins and
arrays that loads have brought by then, and with the arrays as its own last run left them. Each run is an *activation*.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gridloom.dfg.interpreter import Interpreter, Observation, Stimulus
from gridloom.errors import SimulationError
from gridloom.sim.stimulus import fitting_stimulus
from gridloom.targets.streaming.program.model import HOST, Channel, Program, flow_order

#: Activations after which a loop of flows is taken to have no end.
MOST_ACTIVATIONS: Final = 20_000


def reference(program: Program, seed: int) -> tuple[dict[str, Stimulus], dict[str, Observation]]:
    """Return what each flow is fed before any message comes, and what its last activation shall show."""
    stimuli, shown = activations(program, seed)
    return stimuli, {name: runs[-1] for name, runs in shown.items() if runs}


def activations(program: Program, seed: int) -> tuple[dict[str, Stimulus], dict[str, list[Observation]]]:
    """Return what each flow is fed before any message comes, and what each of its activations shall show, in order.

    SimulationError for a flow that cannot run for its iterations within its arrays, for a loop that does not end, and
    for an activation whose streams nobody sends.
    """
    run = _Reference(program, seed)
    run.run()
    return run.first, run.shown


class _Reference:
    """The state of the sequential run: tile memories, streams that wait, and the activations that were asked for."""

    def __init__(self, program: Program, seed: int) -> None:
        self.program = program
        self.flows = {flow.name: flow for flow in program.flows}
        self.interpreters = {flow.name: Interpreter(flow.mapping.dfg) for flow in program.flows}
        self.state: dict[str, Stimulus] = {}
        self.first: dict[str, Stimulus] = {}
        self.shown: dict[str, list[Observation]] = {flow.name: [] for flow in program.flows}
        self.streams: dict[Channel, deque[object]] = {c: deque() for c in program.channels if c.kind == "transfer"}
        names = [flow.name for flow in program.flows]
        self.order = flow_order(names, program.channels)
        for position, name in enumerate(self.order):
            self.state[name] = self._stimulus(name, seed + position)
            self.first[name] = _copy(self.state[name])

    def _stimulus(self, name: str, seed: int) -> Stimulus:
        """A random stimulus with which the flow stays within its arrays."""
        flow = self.flows[name]
        stimulus, _ = fitting_stimulus(self.interpreters[name], flow.iterations, seed)
        if stimulus.iterations < flow.iterations:
            raise SimulationError(
                f"runs off its arrays after {stimulus.iterations} of {flow.iterations} iterations",
                where=f"flow {name!r}",
            )
        return stimulus

    def run(self) -> None:
        """Run flows that start once in the order of their channels, then what branches ask for."""
        asked: deque[str] = deque(c.target for c in self.program.channels if c.kind == "branch" and c.source == HOST)
        for name in self.order:
            if not any(c.kind == "branch" and c.target == name for c in self.program.channels):
                asked.extend(self._activate(name))
        count, stuck = 0, 0
        while asked:
            name = asked.popleft()
            if any(not self.streams[c] for c in self._transfers(name)):
                asked.append(name)
                stuck += 1
                if stuck > len(asked):
                    waiting = ", ".join(dict.fromkeys(asked))
                    raise SimulationError(f"flows {waiting} wait for streams that nobody sends")
                continue
            stuck = 0
            asked.extend(self._activate(name))
            count += 1
            if count > MOST_ACTIVATIONS:
                raise SimulationError(f"runs for more than {MOST_ACTIVATIONS} activations", where=f"flow {name!r}")

    def _transfers(self, name: str) -> list[Channel]:
        """The channels that bring a flow its streams."""
        return [c for c in self.program.channels if c.kind == "transfer" and c.target == name]

    def _activate(self, name: str) -> list[str]:
        """Run a flow once, hand on what it leaves, and return the flows that its branches ask for."""
        fed = self.state[name]
        for channel in self._transfers(name):
            fed.streams[channel.into or ""] = self.streams[channel].popleft()  # type: ignore[assignment]
        shown = self.interpreters[name].run(_copy(fed))
        self.shown[name].append(shown)
        fed.memory.update({array: words.copy() for array, words in shown.memory.items()})
        for channel in self.program.channels:
            if channel.source != name:
                continue
            value = channel.value or ""
            if channel.kind == "transfer":
                self.streams[channel].append(shown.outputs[value].copy())
            elif channel.kind == "load" and value in shown.memory:
                self.state[channel.target].memory[channel.into or ""] = shown.memory[value].copy()
            elif channel.kind == "load":
                self.state[channel.target].liveins[channel.into or ""] = shown.liveouts[value]
        return [c.target for c in self.program.channels if c.source == name and _is_sent(c, shown.liveouts)]


def _is_sent(channel: Channel, liveouts: Mapping[str, int]) -> bool:
    """Whether a branch is sent after a run that left these live-outs."""
    # Not the function that the simulated flows ask: the reference would share its mistakes.
    asked = channel.kind == "branch" and (channel.when is None or liveouts[channel.when] != 0)
    return asked and (channel.unless is None or liveouts[channel.unless] == 0)


def _copy(stimulus: Stimulus) -> Stimulus:
    """A stimulus that shares nothing that a run changes."""
    return replace(
        stimulus,
        streams=dict(stimulus.streams),
        liveins=dict(stimulus.liveins),
        memory={name: words.copy() for name, words in stimulus.memory.items()},
    )
