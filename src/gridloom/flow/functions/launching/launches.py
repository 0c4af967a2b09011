"""Launches of mapped loops during a run: memory as the array sees it, simulation, comparison with the host.

The host executes every loop, too, and counts its iterations. For a launch that is simulated, the words of its arrays
are taken from memory when the loop begins; the mapped configuration then runs on them cycle by cycle, and when the
host leaves the loop, the words and the live-outs of both must be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gridloom.compiler.c.arrays import CArray
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.function.exits import ExitLoop
from gridloom.compiler.c.function.memory import Memory, MemoryObject
from gridloom.compiler.c.function.program import LoopPlan, entrance
from gridloom.compiler.c.nest.interchange import TURN
from gridloom.compiler.c.region import leaves_early
from gridloom.compiler.ir.ir import IrParameter, Value
from gridloom.compiler.loops.prologue import prologue_values
from gridloom.dfg.interpreter import Stimulus
from gridloom.errors import SimulationError
from gridloom.flow.functions.launching.interpreting import check_assertions
from gridloom.sim.kernel import Words
from gridloom.sim.windows import ArrayWindow, WindowRun

#: Iterations of the first piece of a loop with early exits, and the most that a piece has.
FIRST_PIECE: Final = 16
LAST_PIECE: Final = 1024

#: What runs the graph of a loop on a memory in which its arrays are windows: a mapped array, or an interpreter.
Runner = Callable[[Stimulus, Mapping[str, ArrayWindow], Words], WindowRun]


@dataclass(frozen=True)
class ObjectRegion:
    """Words of an object: element k is ``size`` bytes at ``start + k * stride``."""

    start: int
    stride: int
    size: int
    signed: bool
    count: int

    def words(self, memory: Memory) -> Words:
        """The elements as the array holds them."""
        code = f"<{'i' if self.signed or self.size == 4 else 'u'}{self.size}"
        view: Any = np.ndarray(
            (self.count,), np.dtype(code), memory.bytes, offset=self.start, strides=(self.stride,)
        )  # fmt: skip
        words: Words = view.astype(np.int64)
        return words

    def overlaps(self, other: ObjectRegion) -> bool:
        """True when the two may share a byte without being the same elements."""
        end, other_end = (region.start + region.count * region.stride for region in (self, other))
        if self.start >= other_end or other.start >= end:
            return False
        if self.stride != other.stride:
            return True
        shift = (other.start - self.start) % self.stride
        return shift < self.size or shift + other.size > self.stride


@dataclass
class Binding:
    """The arrays of one launch as windows of regions; ``refused`` says why the array cannot run it."""

    regions: dict[ObjectRegion, int] = field(default_factory=dict)
    windows: dict[str, ArrayWindow] = field(default_factory=dict)
    words: int = 0
    refused: str = ""
    #: The objects that the arrays lie in.
    objects: set[str] = field(default_factory=set)

    def image(self, memory: Memory) -> Words:
        """All regions, one after the other."""
        parts = [region.words(memory) for region in self.regions]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def bind(graph: CLoop, addresses: Sequence[int], memory: Memory) -> Binding:
    """Place the arrays of a loop whose pointers have some values.

    Arrays in one object with the same elements share its words. Elements of different sizes in the same bytes, of
    which some are written, have no place in a memory of words.
    """
    binding = Binding()
    written = {node.array for node in graph.dfg.nodes if node.op in ("store", "store_if")}
    used = {node.array for node in graph.dfg.nodes if node.array}
    used |= {made.array for made in graph.prologue.values() if made.array}
    kept: list[tuple[ObjectRegion, bool]] = []
    for array, address in zip(graph.arrays, addresses):
        if array.name not in used:
            binding.windows[array.name] = ArrayWindow(0, 0, 0)
            continue
        region = _region(array, address, memory)
        binding.objects.add(_object(address, memory).name)
        for other, is_written in kept:
            if other != region and (is_written or array.name in written) and region.overlaps(other):
                binding.refused = f"its array {array.name} shares bytes with another one of different elements"
        kept.append((region, array.name in written))
        if region not in binding.regions:
            binding.regions[region] = binding.words
            binding.words += region.count
        first = (address + array.offset - region.start) // array.stride
        base = binding.regions[region] + first
        binding.windows[array.name] = ArrayWindow(base, -first, region.count - first)
    return binding


def _object(address: int, memory: Memory) -> MemoryObject:
    """The object that a pointer leads into; all of memory where it leads beside every one."""
    return memory.find(address) or MemoryObject("", 0, len(memory.bytes))


def _region(array: CArray, address: int, memory: Memory) -> ObjectRegion:
    """The elements of the object that an array lies in; of all memory where its pointer leads beside every object."""
    placed = _object(address, memory)
    phase = (address + array.offset - placed.address) % array.stride
    count = max((placed.size - phase - array.size) // array.stride + 1, 0)
    return ObjectRegion(placed.address + phase, array.stride, array.size, array.signed or array.size == 4, count)


def complete_live_ins(graph: CLoop, liveins: Mapping[str, int], binding: Binding, words: Words) -> dict[str, int]:
    """All live-ins of a graph: those given, and those that the host computes from them and from memory."""

    def element(array: str, index: int) -> int:
        window = binding.windows[array]
        return int(words[window.base + index]) if window.low <= index < window.high else 0

    return {**liveins, **prologue_values(graph.prologue, liveins, element)}


def word_of(value: Value, number: Any) -> int:
    """A value of the host as a word of the array: singles are patterns, narrow integers have their sign."""
    if value.type == "float":
        return int(np.float32(number).view(np.int32))
    if isinstance(value, IrParameter) and value.unsigned:
        return int(number) & ((1 << int(value.type[1:])) - 1)
    return int(number)


@dataclass
class Launch:
    """A launch between its beginning and its end."""

    binding: Binding
    liveins: dict[str, int]
    #: What later pieces need besides (see :attr:`~gridloom.compiler.c.function.program.LoopPlan.needed`).
    needed: Sequence[Any]
    before: Words | None
    counts: list[int]
    #: Cycles of the host and of transfers before the launch, for the timeline.
    host: int = 0
    transfer: int = 0
    #: What ran the graph and what ran the loop, for messages.
    sides: tuple[str, str] = ("on the array", "on the host")


def graph_iterations(plan: LoopPlan, visits: Mapping[str, int]) -> int:
    """Iterations of the graph, from how often the blocks of its loop ran.

    A counted loop that is left in the middle of its body runs the part before once more than the rest; a loop in
    pieces takes the exit in its last iteration. An iteration of a nest ends where its inner loop goes back, or where
    its outer one does.
    """
    assert plan.graph is not None
    count, region = visits[plan.loop.header], plan.graph.region
    if plan.pieces is not None:
        return count
    if leaves_early(region):
        count -= 1
    if region.inner is not None:
        count += visits[region.inner.header] - visits[entrance(region.inner)]
    return count


def piece_lengths() -> Iterator[int]:
    """Iterations of the pieces of a loop with early exits: each is twice as long as the one before."""
    length = FIRST_PIECE
    while True:
        yield length
        length = min(2 * length, LAST_PIECE)


def pieces_for(iterations: int) -> list[int]:
    """The lengths of the pieces that a loop takes whose exit is in some iteration, counted from 1.

    >>> pieces_for(16), pieces_for(17)
    ([16], [16, 32])
    """
    lengths: list[int] = []
    for length in piece_lengths():
        lengths.append(length)
        if sum(lengths) >= iterations:
            return lengths
    return lengths


def simulate_launch(
    plan: LoopPlan, run: Runner, launch: Launch, iterations: int, after: Words, left: Sequence[Any]
) -> int:
    """Run a launch and compare it with the words and the values that the host left; returns its cycles.

    SimulationError where a word or a live-out differs.
    """
    graph = plan.graph
    assert graph is not None and launch.before is not None
    stimulus = Stimulus(
        iterations=iterations, liveins=complete_live_ins(graph, launch.liveins, launch.binding, launch.before)
    )
    where = f"loop {plan.name}, {iterations} iterations"
    check_assertions(graph, stimulus, launch.binding.windows, launch.before, where)
    found = run(stimulus, launch.binding.windows, launch.before)
    _compare_memory(graph, launch, found.memory, after, where)
    compare_liveouts(graph, launch, found.liveouts, left, where)
    return found.cycles


def simulate_interchanged_nest(
    plan: LoopPlan, run: Runner, launch: Launch, lengths: tuple[int, int], after: Words
) -> int:
    """Run a nest whose loops are exchanged, one launch after the other, and compare memory; returns all cycles.

    ``lengths`` are the iterations of a launch and the number of launches. SimulationError where a word differs.
    """
    graph = plan.graph
    assert graph is not None and launch.before is not None
    words, cycles = launch.before, 0
    length, launches = lengths
    for turn in range(launches):
        liveins = {name: turn if name == TURN else word for name, word in launch.liveins.items()}
        stimulus = Stimulus(iterations=length, liveins=complete_live_ins(graph, liveins, launch.binding, words))
        check_assertions(graph, stimulus, launch.binding.windows, words, f"loop {plan.name}")
        found = run(stimulus, launch.binding.windows, words)
        words, cycles = found.memory, cycles + found.cycles
    where = f"loop {plan.name}, {launches} launches of {length} iterations"
    _compare_memory(graph, launch, words, after, where)
    return cycles


def simulate_jam(plan: LoopPlan, run: Runner, launch: Launch, iterations: int, left: Sequence[Sequence[Any]]) -> int:
    """Run several launches side by side and compare what each leaves with the host; returns the cycles.

    Such loops store nothing. SimulationError where a live-out differs.
    """
    graph = plan.graph
    assert graph is not None and launch.before is not None
    stimulus = Stimulus(
        iterations=iterations, liveins=complete_live_ins(graph, launch.liveins, launch.binding, launch.before)
    )
    found = run(stimulus, launch.binding.windows, launch.before)
    where = f"loop {plan.name}, {iterations} iterations"
    for copy, values in enumerate(left):
        own = {name.removesuffix(f"_{copy}"): word for name, word in found.liveouts.items()} if copy else found.liveouts
        for (name, item), value in zip(graph.liveouts.items(), values):
            if f"{name}_{copy}" in found.liveouts or not copy:
                _compare_value(f"{name} of copy {copy}", item, graph.last(name, own), value, where, launch.sides)
    return found.cycles


def simulate_pieces(
    plan: LoopPlan, run: Runner, launch: Launch, iterations: int, after: Words, left: Sequence[Any], way: int
) -> int:
    """Run a loop with early exits piece by piece until its flag is set; returns the cycles of all pieces.

    SimulationError where a word, a live-out, the way out or the number of pieces differs from the host's.
    """
    graph, loop = plan.graph, plan.pieces
    assert graph is not None and loop is not None and launch.before is not None
    liveins, words = dict(launch.liveins), launch.before
    where = f"loop {plan.name}, {iterations} iterations in pieces"
    cycles = 0
    lengths = pieces_for(iterations)
    for k, length in enumerate(lengths):
        stimulus = Stimulus(iterations=length, liveins=complete_live_ins(graph, liveins, launch.binding, words))
        check_assertions(graph, stimulus, launch.binding.windows, words, f"loop {plan.name}")
        found = run(stimulus, launch.binding.windows, words)
        cycles += found.cycles
        words = found.memory
        if bool(found.liveouts[loop.done]) != (k == len(lengths) - 1):
            raise SimulationError(f"the array ends in another piece than the host, at number {k}", where=where)
        liveins = _next_liveins(loop, liveins, found.liveouts, launch.needed)
    _compare_memory(graph, launch, words, after, where)
    if loop.way and found.liveouts[loop.way] != way:
        raise SimulationError(f"the array leaves by way {found.liveouts[loop.way]}, the host by {way}", where=where)
    roots = iter(launch.needed[len(launch.needed) - sum(item.root is not None for item in loop.left) :])
    for item, value in zip(loop.left, left):
        expected = value
        if item.root is not None:
            expected = (int(value) - int(next(roots))) // item.unit
        if item.liveout and way in item.ways:
            last = graph.last(item.liveout, found.liveouts)
            _compare_value(item.liveout, item.latched, last, expected, where, launch.sides)
    return cycles


def _next_liveins(
    loop: ExitLoop, liveins: Mapping[str, int], liveouts: Mapping[str, int], needed: Sequence[Any]
) -> dict[str, int]:
    """What the next piece starts from."""
    following = dict(liveins)
    later = iter(needed)
    for item in loop.carried:
        if item.livein and item.liveout:
            following |= loop.graph.words_of(item.livein, loop.graph.last(item.liveout, liveouts))
        elif item.livein:
            following |= loop.graph.words_of(item.livein, word_of(item.following, next(later)))
    return following


def compare_liveouts(
    graph: CLoop, launch: Launch, liveouts: Mapping[str, int], left: Sequence[Any], where: str
) -> None:
    """SimulationError for the first live-out that is not what the host left."""
    for (name, item), value in zip(graph.liveouts.items(), left):
        if name in liveouts:
            _compare_value(name, item, graph.last(name, liveouts), value, where, launch.sides)


def _compare_memory(graph: CLoop, launch: Launch, found: Words, expected: Words, where: str) -> None:
    """SimulationError for the first word that the graph left otherwise than the host."""
    wrong = found != expected
    if wrong.any() and _has_singles(graph):
        # Which of its patterns a NaN has is nobody's promise.
        wrong &= ~(_is_nan(found) & _is_nan(expected))
    for k in wrong.nonzero()[0][:1].tolist():
        name = next((n for n, w in launch.binding.windows.items() if w.base + w.low <= k < w.base + w.high), "")
        ours, theirs = launch.sides
        raise SimulationError(
            f"word {k} of memory (array {name}) is {int(found[k])} {ours} and {int(expected[k])} {theirs}", where=where
        )


def _has_singles(graph: CLoop) -> bool:
    return any(item.type == "float" or (item.operands and item.operands[0].type == "float") for item in graph.accesses)


def _is_nan(words: Words) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return (words & 0x7FFFFFFF) > 0x7F800000


def _compare_value(name: str, item: Value, found: int, value: Any, where: str, sides: tuple[str, str]) -> None:
    """SimulationError where a live-out is not what the host has."""
    bits = int(item.type[1:]) if item.type.startswith("i") else 32
    if (found ^ word_of(item, value)) & ((1 << bits) - 1) and not (item.type == "float" and np.isnan(value)):
        raise SimulationError(f"live-out {name} is {found} {sides[0]} and {value} {sides[1]}", where=where)
