"""Follows a run of the host: counts the launches of mapped loops, simulates some, and adds up what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gridloom.flow.functions.compile import Compiled, CompiledLoop
from gridloom.flow.functions.cycles import LoopCycles, host_cycles
from gridloom.flow.functions.launches import Launch, bind, pieces_for, simulate_launch, simulate_pieces, word_of
from gridloom.frontend.c.function.memory import Memory


class Launcher:
    """Counts launches and simulates some of them while the host runs.

    The first ``simulated`` launches of each loop run cycle by cycle, and after them every launch whose number is a
    power of two; all of them where it is -1. ``counts`` is shared with the host: how often each block ran.
    """

    def __init__(self, compiled: Compiled, memory: Memory, simulated: int) -> None:
        self.compiled, self.memory, self.simulated = compiled, memory, simulated
        self.mapped = [loop for loop in compiled.loops if loop.mapping is not None]
        self.loops: dict[int, LoopCycles] = {loop.plan.number: LoopCycles() for loop in self.mapped}
        self.open: dict[int, Launch] = {}
        self.loaded: int | None = None
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
        binding = bind(graph, rest[: len(graph.arrays)], self.memory)
        wanted = self.simulated < 0 or row.launches < self.simulated or row.launches & (row.launches + 1) == 0
        before = binding.image(self.memory) if wanted and not binding.refused else None
        counts = [self.counts[k] for k in self.blocks[number]]
        self.open[number] = Launch(binding, liveins, rest[len(graph.arrays) :], before, counts)

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
            return
        self._account(loop, launch, iterations, self._cycles(loop, launch, iterations, left, way))
        row.on_host += spent
        self.on_array += spent

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
        graph, row = loop.plan.graph, self.loops[loop.plan.number]
        assert graph is not None and loop.ii is not None
        if self.loaded != loop.plan.number:
            row.configuration += loop.packets
            self.loaded = loop.plan.number
        pieces = 1 if loop.plan.pieces is None else len(pieces_for(iterations))
        carried = 0 if loop.plan.pieces is None else sum(bool(item.livein) for item in loop.plan.pieces.carried)
        row.launches += 1
        row.pieces += pieces
        row.iterations += iterations
        row.transfer += len(launch.liveins) + len(graph.arrays) + pieces * len(graph.liveouts) + (pieces - 1) * carried
        row.steady += loop.ii * iterations
        row.fill += cycles - loop.ii * iterations


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
