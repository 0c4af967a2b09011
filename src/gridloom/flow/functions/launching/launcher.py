"""Follows a run of the host: logs the launches of mapped loops, and simulates some.

A loop controller starts one launch for each iteration of the outer loops, all by one start of the host. It adds a fixed
amount to each live-in and to the start of each array before it starts the loop again, one amount for each level.
Whether a run keeps to that is checked at every launch: a difference is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gridloom.compiler.c.function.memory import Memory
from gridloom.errors import SimulationError
from gridloom.flow.functions.compile import Compiled, CompiledLoop
from gridloom.flow.functions.launching.cycles import exchanged_transfer, host_cycles, transfer
from gridloom.flow.functions.launching.launches import (
    Binding,
    Launch,
    bind,
    graph_iterations,
    pieces_for,
    simulate_interchanged_nest,
    simulate_jam,
    simulate_launch,
    simulate_pieces,
    word_of,
)
from gridloom.flow.functions.launching.schedule import LaunchRow, LoopCost
from gridloom.sim.windows import run_on_memory

_WORD = 1 << 32


@dataclass
class ControlledLaunches:
    """The launches of one run of the loops around: their row, how long they take, and what each level adds."""

    row: int
    #: How often each block of the loops around had run before.
    counts: list[int]
    launches: int = 0
    cycles: int = 0
    iterations: int = 0
    simulated: int = 0
    #: Why the array cannot do one of them.
    refused: str = ""
    #: How often the header of each loop around had run at the last launch, and what that was given.
    last: tuple[list[int], Sequence[int]] | None = None
    #: Level -> what it adds to everything that a launch is given.
    steps: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def begin(self, headers: list[int], given: Sequence[int], where: str) -> None:
        """Note what a launch is given. SimulationError where it is not what the controller would give it."""
        if self.last is not None:
            before, old = self.last
            level = max(k for k, (was, now) in enumerate(zip(before, headers)) if was != now)
            step = tuple((new - was) % _WORD for was, new in zip(old, given))
            if self.steps.setdefault(level, step) != step:
                raise SimulationError(f"the loops around move by another amount at launch {self.launches}", where=where)
        self.last = headers, list(given)

    def end(self, cycles: int, iterations: int, simulated: bool, refused: str) -> None:
        """Add a launch that is over."""
        self.launches += 1
        self.cycles += cycles
        self.iterations += iterations
        self.simulated += simulated
        self.refused = self.refused or refused

    def transfer(self, given_words: int) -> int:
        """Cycles for what the controller is given: what the first launch needs, and for each level its number of
        iterations and the amounts that are not 0. Each further launch costs a cycle for the additions.
        """
        amounts = sum(1 + sum(map(bool, step)) for step in self.steps.values())
        return given_words + amounts + max(self.launches - 1, 0)


@dataclass
class LaunchGroup:
    """Launches side by side that have begun: their row, what the first started from, and what each left so far."""

    row: int
    launch: Launch
    #: How often the loop around was entered.
    entry: int
    counts: list[int]
    iterations: list[int] = field(default_factory=list)
    left: list[tuple[Any, ...]] = field(default_factory=list)


class Launcher:
    """Logs the launches of mapped loops and simulates some of them while the host runs.

    The first ``simulated`` launches of each loop run cycle by cycle, and after them every launch whose number is a
    power of two; all of them where it is -1. ``counts`` is shared with the host: how often each block ran. With
    ``traced`` the rows say when they began.
    """

    def __init__(self, compiled: Compiled, memory: Memory, simulated: int, traced: bool = False) -> None:
        self.compiled, self.memory, self.simulated, self.traced = compiled, memory, simulated, traced
        self.mapped = [loop for loop in compiled.loops if loop.mapping is not None]
        self.rows: list[LaunchRow] = []
        self.launched, self.simulations = [0] * len(self.mapped), [0] * len(self.mapped)
        self.objects: list[set[str]] = [set() for _ in self.mapped]
        self.open: dict[int, tuple[int, Launch]] = {}
        self.nest = -1
        self.groups: dict[int, LaunchGroup] = {}
        numbers = {loop.plan.loop: k for k, loop in enumerate(self.mapped) if loop.plan.jam > 1}
        #: Loop -> the same loop with several launches side by side.
        self.jam_of = {k: numbers[loop.plan.loop] for k, loop in enumerate(self.mapped)
                       if loop.plan.jam == 1 and loop.plan.loop in numbers}  # fmt: skip
        #: Loop whose launches run side by side -> how often the loop around it was entered.
        self.entries = dict.fromkeys(numbers.values(), 0)
        #: Loop that a loop controller starts -> the same with the loops around it, whose launches are open.
        inner = {
            loop.plan.loop: k for k, loop in enumerate(self.mapped) if loop.plan.jam == 1 and not loop.plan.is_nest
        }
        self.controlled_by = {
            inner[loop.plan.controls[0]]: k for k, loop in enumerate(self.mapped) if loop.plan.controls
        }
        self.controlled: dict[int, ControlledLaunches] = {}
        self.bindings: dict[tuple[int, tuple[int, ...], int], Binding] = {}
        self.counts: list[int] = []
        self.blocks = [self._block_numbers(loop) for loop in self.mapped]
        functions = compiled.program.functions
        self.costs = [host_cycles(block) for function in functions for block in function.blocks.values()]

    def _block_numbers(self, loop: CompiledLoop) -> list[int]:
        code = self.compiled.host.code
        return [code.block_number(loop.plan.loop.function, name) for name in loop.plan.loop.blocks]

    def hooks(self) -> dict[str, Any]:
        """What the generated code calls when a loop begins and ends."""
        found: dict[str, Any] = {}
        for k, loop in enumerate(self.mapped):
            label = loop.plan.variant.label
            found[f"ENTER_{label}"] = lambda values, k=k: self._enter(k, values)
            found[f"LEAVE_{label}"] = lambda way, values, k=k: self._leave(k, way, values)
            if k in self.entries:
                outer = loop.plan.outer_variant.label
                found[f"ENTER_{outer}"] = lambda values, k=k: self._enter_outer(k)
                found[f"LEAVE_{outer}"] = lambda way, values: None
        return found

    def _enter_outer(self, k: int) -> None:
        """Launches of one run of the loop around are side by side, and not with those of the next run."""
        self.entries[k] += 1

    def single_issue(self) -> int:
        """What the host alone would take for everything that ran."""
        return sum(cost * count for cost, count in zip(self.costs, self.counts))

    def loop_costs(self) -> list[LoopCost]:
        """What the schedule has to know of each mapped loop, when the run is over."""
        return [
            LoopCost(
                counted=loop.plan.pieces is None and not loop.plan.is_nest and loop.plan.jam == 1,
                nest=loop.plan.is_nest or loop.plan.jam > 1,
                objects=frozenset(self.objects[k]),
            )
            for k, loop in enumerate(self.mapped)
        ]  # fmt: skip

    def _enter(self, k: int, values: tuple[Any, ...]) -> None:
        """Note what a launch starts from."""
        loop = self.mapped[k]
        if loop.plan.controls:
            self._enter_controlled(k)
            return
        if k in self.entries and not self._begins_group(k):
            self.groups[k].counts = [self.counts[number] for number in self.blocks[k]]
            return
        graph = loop.plan.graph
        assert graph is not None
        liveins: dict[str, int] = {}
        for (name, value), number in zip(graph.liveins.items(), values):
            liveins |= graph.words_of(name, word_of(value, number))
        rest = values[len(graph.liveins) :]
        binding = self._bound(k, rest[: len(graph.arrays)])
        if (around := self.controlled.get(self.controlled_by.get(k, -1))) is not None:
            around.begin(self._headers(k), [*liveins.values(), *rest[: len(graph.arrays)]], f"loop {loop.plan.name}")
        launched = self.launched[k]
        wanted = self.simulated < 0 or launched < self.simulated or launched & (launched + 1) == 0
        before = binding.image(self.memory) if wanted and not binding.refused else None
        counts = [self.counts[number] for number in self.blocks[k]]
        self.open[k] = len(self.rows), Launch(binding, liveins, rest[len(graph.arrays) :], before, counts)
        spent = self.single_issue() if self.traced else 0
        jam = self.groups.get(self.jam_of.get(k, -1))
        self.rows.append(LaunchRow(k, self.nest if jam is None else jam.row, refused=binding.refused, spent=spent))
        if k in self.entries:
            self.groups[k] = LaunchGroup(len(self.rows) - 1, self.open.pop(k)[1], self.entries[k], counts)
        if loop.plan.is_nest:
            self.nest = len(self.rows) - 1

    def _bound(self, k: int, addresses: tuple[int, ...]) -> Binding:
        """The places of a loop's arrays; many launches have the same ones."""
        # Where the stack ends tells which local arrays there are.
        key = (k, addresses, self.memory.mark)
        if key not in self.bindings:
            graph = self.mapped[k].plan.graph
            assert graph is not None
            self.bindings[key] = bind(graph, addresses, self.memory)
            self.objects[k] |= self.bindings[key].objects
        return self.bindings[key]

    def _leave(self, k: int, way: int, left: tuple[Any, ...]) -> None:
        """Log a launch, and simulate it where that is wanted."""
        loop, numbers = self.mapped[k], self.blocks[k]
        if k in self.groups:
            self._leave_group(k, left)
            return
        if loop.plan.controls:
            self._leave_controlled(k)
            return
        place, launch = self.open.pop(k)
        row = self.rows[place]
        if loop.plan.is_nest:
            self.nest = row.nest
        visits = [self.counts[number] - before for number, before in zip(numbers, launch.counts)]
        row.host = sum(self.costs[number] * n for number, n in zip(numbers, visits))
        if loop.plan.interchange is not None:
            self._leave_exchanged(k, row, launch, dict(zip(loop.plan.loop.blocks, visits)))
            return
        # The host tests the loop's condition before it starts the array: a loop without iterations costs that.
        row.iterations = graph_iterations(loop.plan, dict(zip(loop.plan.loop.blocks, visits)))
        if not row.refused and row.iterations:
            row.cycles = self._cycles(k, launch, row.iterations, left, way)
            row.array = row.cycles + transfer(loop, row.iterations)
            self.launched[k] += 1
        if (around := self.controlled.get(self.controlled_by.get(k, -1))) is not None:
            around.end(row.cycles, row.iterations, launch.before is not None and row.cycles > 0, row.refused)

    def _headers(self, k: int) -> list[int]:
        """How often the headers of the loops around a loop that a controller starts have run, from the inside out."""
        plan = self.mapped[self.controlled_by[k]].plan
        code = self.compiled.host.code
        return [self.counts[code.block_number(loop.function, loop.header)] for loop in plan.controls[1:]]

    def _enter_controlled(self, k: int) -> None:
        """Begin the launches that the loop controller starts."""
        counts = [self.counts[number] for number in self.blocks[k]]
        self.controlled[k] = ControlledLaunches(len(self.rows), counts)
        self.rows.append(LaunchRow(k, self.nest, spent=self.single_issue() if self.traced else 0))
        self.nest = len(self.rows) - 1

    def _leave_controlled(self, k: int) -> None:
        """Log the launches that the loop controller started, as one."""
        group = self.controlled.pop(k)
        row = self.rows[group.row]
        self.nest = row.nest
        visits = [self.counts[number] - before for number, before in zip(self.blocks[k], group.counts)]
        row.host = sum(self.costs[number] * n for number, n in zip(self.blocks[k], visits))
        row.iterations, row.runs, row.cycles, row.refused = (
            group.iterations, group.launches, group.cycles, group.refused
        )  # fmt: skip
        row.array = group.cycles + group.transfer(self.mapped[k].given_words)
        self.simulations[k] += group.simulated
        self.objects[k] |= self.objects[next(inner for inner, outer in self.controlled_by.items() if outer == k)]

    def _leave_exchanged(self, k: int, row: LaunchRow, launch: Launch, visits: Mapping[str, int]) -> None:
        """Log a nest whose loops are exchanged: as many launches as its inner loop has iterations each time."""
        loop = self.mapped[k]
        assert loop.slots is not None
        length, total = visits[loop.plan.loop.header], visits[loop.plan.loop.children[0].header]
        if row.refused or not total:
            return
        row.iterations, row.runs = total, total // length
        launches = row.runs
        if launch.before is None:
            row.cycles = launches * loop.slots.cycles(length)
        else:
            self.simulations[k] += 1
            row.cycles = simulate_interchanged_nest(
                loop.plan, partial(run_on_memory, loop.slots), launch, (length, launches),
                launch.binding.image(self.memory),
            )  # fmt: skip
        row.array = row.cycles + exchanged_transfer(loop, launches)
        self.launched[k] += 1

    def _begins_group(self, k: int) -> bool:
        """True where a launch is the first of several side by side: the loop around was entered anew, or enough ran."""
        group = self.groups.get(k)
        return group is None or group.entry != self.entries[k]

    def _leave_group(self, k: int, left: tuple[Any, ...]) -> None:
        """Add a launch to those side by side; the last of them is logged. A group that stays short is no launch."""
        loop, group = self.mapped[k], self.groups[k]
        row = self.rows[group.row]
        visits = [self.counts[number] - before for number, before in zip(self.blocks[k], group.counts)]
        row.host += sum(self.costs[number] * n for number, n in zip(self.blocks[k], visits))
        group.iterations.append(graph_iterations(loop.plan, dict(zip(loop.plan.loop.blocks, visits))))
        group.left.append(left)
        if len(group.left) < loop.plan.jam:
            return
        del self.groups[k]
        if row.refused or len(set(group.iterations)) > 1:
            return
        assert loop.slots is not None
        row.iterations = group.iterations[0]
        if group.launch.before is None:
            row.cycles = loop.slots.cycles(row.iterations)
        else:
            self.simulations[k] += 1
            row.cycles = simulate_jam(
                loop.plan, partial(run_on_memory, loop.slots), group.launch, row.iterations, group.left
            )
        row.array = row.cycles + transfer(loop, row.iterations)
        self.launched[k] += 1

    def _cycles(self, k: int, launch: Launch, iterations: int, left: Sequence[Any], way: int) -> int:
        """The cycles of a launch: simulated, or by the rule that the simulator follows."""
        loop = self.mapped[k]
        slots, plan = loop.slots, loop.plan
        assert slots is not None
        if launch.before is None:
            pieces = [iterations] if plan.pieces is None else pieces_for(iterations)
            return sum(map(slots.cycles, pieces))
        self.simulations[k] += 1
        run, after = partial(run_on_memory, slots), launch.binding.image(self.memory)
        if plan.pieces is not None:
            return simulate_pieces(plan, run, launch, iterations, after, left, way)
        return simulate_launch(plan, run, launch, iterations, after, left)
