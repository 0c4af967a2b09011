"""Launches of mapped loops during a run: memory as the array sees it, simulation, comparison with the host.

The host executes every loop, too, and counts its iterations. For a launch that is simulated, the words of its arrays
are taken from memory when the loop begins; the mapped configuration then runs on them cycle by cycle, and when the
host leaves the loop, the words and the live-outs of both must be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridloom.dfg.interpreter import Stimulus
from gridloom.errors import SimulationError
from gridloom.frontend.c.arrays import CArray
from gridloom.frontend.c.c_loop import CLoop
from gridloom.frontend.c.function.memory import Memory, Placed
from gridloom.frontend.c.llvm.ir import Argument, Value
from gridloom.sim.kernel import Words
from gridloom.sim.slot_code import SlotCode
from gridloom.sim.windows import Window, run_on_memory


@dataclass(frozen=True)
class Region:
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

    def overlaps(self, other: Region) -> bool:
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

    regions: dict[Region, int] = field(default_factory=dict)
    windows: dict[str, Window] = field(default_factory=dict)
    words: int = 0
    refused: str = ""

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
    kept: list[tuple[Region, bool]] = []
    for array, address in zip(graph.arrays, addresses):
        if array.name not in used:
            binding.windows[array.name] = Window(0, 0, 0)
            continue
        region = _region(array, address, memory)
        for other, is_written in kept:
            if other != region and (is_written or array.name in written) and region.overlaps(other):
                binding.refused = f"its array {array.name} shares bytes with another one of different elements"
        kept.append((region, array.name in written))
        if region not in binding.regions:
            binding.regions[region] = binding.words
            binding.words += region.count
        first = (address + array.offset - region.start) // array.stride
        base = binding.regions[region] + first
        binding.windows[array.name] = Window(base, -first, region.count - first)
    return binding


def _region(array: CArray, address: int, memory: Memory) -> Region:
    """The elements of the object that an array lies in; of all memory where its pointer leads beside every object."""
    placed = memory.find(address) or Placed("", 0, len(memory.bytes))
    phase = (address + array.offset - placed.address) % array.stride
    count = max((placed.size - phase - array.size) // array.stride + 1, 0)
    return Region(placed.address + phase, array.stride, array.size, array.signed or array.size == 4, count)


def word_of(value: Value, number: Any) -> int:
    """A value of the host as a word of the array: singles are patterns, narrow integers have their sign."""
    if value.type == "float":
        return int(np.float32(number).view(np.int32))
    if isinstance(value, Argument) and value.unsigned:
        return int(number) & ((1 << int(value.type[1:])) - 1)
    return int(number)


@dataclass
class Launch:
    """A launch between its beginning and its end."""

    binding: Binding
    liveins: dict[str, int]
    before: Words | None
    counts: list[int]


def simulate_launch(graph: CLoop, compiled: SlotCode, launch: Launch, iterations: int, memory: Memory,
                    left: Sequence[Any]) -> int:  # fmt: skip
    """Run a launch on the array and compare it with what the host left; returns its cycles.

    SimulationError where a word or a live-out differs.
    """
    assert launch.before is not None
    stimulus = Stimulus(iterations=iterations, liveins=launch.liveins)
    found = run_on_memory(compiled, stimulus, launch.binding.windows, launch.before)
    expected = launch.binding.image(memory)
    wrong = (found.memory != expected).nonzero()[0]
    if len(wrong):
        k = int(wrong[0])
        raise SimulationError(
            f"word {k} of memory is {int(found.memory[k])} on the array and {int(expected[k])} on the host "
            f"after {iterations} iterations",
            where=f"loop {graph.dfg.name}",
        )
    for (name, item), value in zip(graph.liveouts.items(), left):
        bits = int(item.type[1:]) if item.type.startswith("i") else 32
        mask = (1 << bits) - 1
        if name in found.liveouts and (found.liveouts[name] ^ word_of(item, value)) & mask:
            if item.type == "float" and np.isnan(value):
                continue
            raise SimulationError(
                f"live-out {name} is {found.liveouts[name]} on the array and {value} on the host after {iterations} "
                "iterations",
                where=f"loop {graph.dfg.name}",
            )
    return found.cycles
