"""Follows a run of the host: counts the launches of mapped loops, simulates some, and adds up what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gridloom.flow.functions.compile import Compiled, CompiledLoop
from gridloom.flow.functions.cycles import LoopCycles, host_cycles
from gridloom.flow.functions.launches import (
    Binding,
    Launch,
    bind,
    pieces_for,
    simulate_launch,
    simulate_pieces,
    word_of,
)
from gridloom.flow.functions.timeline import Event
from gridloom.frontend.c.function.memory import Memory


class Launcher:
    """Counts launches and simulates some of them while the host runs.

    The first ``simulated`` launches of each loop run cycle by cycle, and after them every launch whose number is a
    power of two; all of them where it is -1. ``counts`` is shared with the host: how often each block ran. Events are
    kept where ``data_in`` says how long it took to bring the data.
    """

    def __init__(self, compiled: Compiled, memory: Memory, simulated: int, data_in: int | None = None) -> None:
        self.timeline = None if data_in is None else Timeline(data_in)
        self.compiled, self.memory, self.simulated = compiled, memory, simulated
        self.mapped = [loop for loop in compiled.loops if loop.mapping is not None]
        self.loops: dict[int, LoopCycles] = {loop.plan.number: LoopCycles() for loop in self.mapped}
        self.open: dict[int, Launch] = {}
        self.bindings: dict[tuple[int, tuple[int, ...], int], Binding] = {}
        self.loaded: int | None = None
        self.loaded_now = 0
        self.counts: list[int] = []
        self.blocks = {loop.plan.number: self._block_numbers(loop) for loop in self.mapped}
        functions = compiled.program.functions
        self.costs = [host_cycles(block) for function in functions for block in function.blocks.values()]
        #: What the host would have taken for the launches.
        self.on_array = 0

    def _block_numbers(self, loop: CompiledLoop) -> list[int]:
        code = self.compiled.host.code
        return [code.block_number(loop.plan.loop.function, name) for name in loop.plan.loop.blocks]

    def hooks(self) -> dict[str, Any]:
        """What the generated code calls when a loop begins and ends."""
        found: dict[str, Any] = {}
        for loop in self.mapped:
            number = loop.plan.number
            found[f"ENTER_{number}"] = lambda values, loop=loop: self._enter(loop, values)
            found[f"LEAVE_{number}"] = lambda way, values, loop=loop: self._leave(loop, way, values)
        return found

    def single_issue(self) -> int:
        """What the host alone would take for everything that ran."""
        return sum(cost * count for cost, count in zip(self.costs, self.counts))

    def _enter(self, loop: CompiledLoop, values: tuple[Any, ...]) -> None:
        """Note what a launch starts from."""
        graph, number = loop.plan.graph, loop.plan.number
        assert graph is not None
        row = self.loops[number]
        liveins = {name: word_of(v, word) for (name, v), word in zip(graph.liveins.items(), values)}
        rest = values[len(liveins) :]
        binding = self._bound(loop, rest[: len(graph.arrays)])
        wanted = self.simulated < 0 or row.launches < self.simulated or row.launches & (row.launches + 1) == 0
        before = binding.image(self.memory) if wanted and not binding.refused else None
        counts = [self.counts[k] for k in self.blocks[number]]
        launch = Launch(binding, liveins, rest[len(graph.arrays) :], before, counts)
        if self.timeline is not None:
            launch.host, launch.transfer = self.single_issue() - self.on_array, row.transfer
        self.open[number] = launch

    def _bound(self, loop: CompiledLoop, addresses: tuple[int, ...]) -> Binding:
        """The places of a loop's arrays; many launches have the same ones."""
        # Where the stack ends tells which local arrays there are.
        key = (loop.plan.number, addresses, self.memory.mark)
        if key not in self.bindings:
            graph = loop.plan.graph
            assert graph is not None
            self.bindings[key] = bind(graph, addresses, self.memory)
        return self.bindings[key]

    def _leave(self, loop: CompiledLoop, way: int, left: tuple[Any, ...]) -> None:
        """Count a launch, and simulate it where that is wanted."""
        launch = self.open.pop(loop.plan.number)
        row, numbers = self.loops[loop.plan.number], self.blocks[loop.plan.number]
        visits = [self.counts[k] - before for k, before in zip(numbers, launch.counts)]
        spent = sum(self.costs[k] * n for k, n in zip(numbers, visits))
        iterations = _iterations(loop, dict(zip(loop.plan.loop.blocks, visits)))
        if launch.binding.refused or not iterations:
            # The host tests the loop's condition before it starts the array: a loop without iterations costs that.
            row.kept_on_host += bool(launch.binding.refused)
            row.kept_reason = launch.binding.refused or row.kept_reason
            return
        self._account(loop, launch, iterations, self._cycles(loop, launch, iterations, left, way))
        row.on_host += spent
        self.on_array += spent

    def finish(self, data_out: int) -> tuple[Event, ...]:
        """The events of the run, if they were kept."""
        if self.timeline is None:
            return ()
        self.timeline.host(self.single_issue() - self.on_array)
        self.timeline.add("memory", "data out", data_out)
        return tuple(self.timeline.events)

    def _cycles(self, loop: CompiledLoop, launch: Launch, iterations: int, left: Sequence[Any], way: int) -> int:
        """The cycles of a launch: simulated, or by the rule that the simulator follows."""
        slots, plan = loop.slots, loop.plan
        assert slots is not None
        if launch.before is None:
            pieces = [iterations] if plan.pieces is None else pieces_for(iterations)
            return sum(map(slots.cycles, pieces))
        self.loops[plan.number].simulated += 1
        if plan.pieces is not None:
            return simulate_pieces(plan, slots, launch, iterations, self.memory, left, way)
        return simulate_launch(plan, slots, launch, iterations, self.memory, left)

    def _account(self, loop: CompiledLoop, launch: Launch, iterations: int, cycles: int) -> None:
        """Add a launch to what its loop costs."""
        row = self.loops[loop.plan.number]
        assert loop.ii is not None
        self.loaded_now = loop.packets if self.loaded != loop.plan.number else 0
        row.configuration += self.loaded_now
        self.loaded = loop.plan.number
        pieces = 1 if loop.plan.pieces is None else len(pieces_for(iterations))
        carried = 0 if loop.plan.pieces is None else sum(bool(item.livein) for item in loop.plan.pieces.carried)
        row.launches += 1
        row.pieces += pieces
        row.iterations += iterations
        row.transfer += loop.given_words + pieces * loop.left_words + (pieces - 1) * (carried + loop.prologue)
        row.steady += loop.ii * iterations
        row.fill += cycles - loop.ii * iterations
        if self.timeline is not None:
            self._tell(loop, launch, cycles, iterations, self.loaded_now)

    def _tell(self, loop: CompiledLoop, launch: Launch, cycles: int, iterations: int, configuration: int) -> None:
        """Add a launch to the timeline."""
        timeline, name = self.timeline, loop.plan.name
        assert timeline is not None
        timeline.host(launch.host)
        timeline.add("array", "configuration", configuration)
        timeline.add("array", "live-ins", loop.given_words)
        timeline.add("array", name, cycles, iterations)
        moved = self.loops[loop.plan.number].transfer - launch.transfer - loop.given_words
        timeline.add("array", "live-outs", moved)


class Timeline:
    """Events one after the other; the host's come from how many cycles it has spent."""

    def __init__(self, data_in: int) -> None:
        self.events: list[Event] = []
        self.now = self.spent = 0
        self.add("memory", "data in", data_in)

    def add(self, unit: str, what: str, cycles: int, iterations: int = 0) -> None:
        """What a unit does next."""
        if cycles:
            self.events.append(Event(unit, what, self.now, cycles, iterations))
            self.now += cycles

    def host(self, spent: int) -> None:
        """What the host has done since it was last asked."""
        self.add("host", "host", spent - self.spent)
        self.spent = spent


def _iterations(loop: CompiledLoop, visits: Mapping[str, int]) -> int:
    """Iterations of the graph, from how often the blocks of its loop ran.

    A counted loop that is left in the middle of its body runs the part before once more than the rest; a loop in
    pieces takes the exit in its last iteration.
    """
    graph = loop.plan.graph
    assert graph is not None
    count = visits[loop.plan.loop.header]
    if loop.plan.pieces is not None:
        return count
    region = graph.region
    after = [item for name in region.after_exit for item in region.blocks[name].instructions]
    if region.exiting != region.loop.latches[0] and any(i.opcode not in ("br", "switch", "phi") for i in after):
        count -= 1
    return count
