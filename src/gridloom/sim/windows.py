"""Runs compiled slots on memory that somebody else laid out: the arrays of the graph are windows of it.

Pointers of a program may lead into the middle of an object, and two of them into the same one. So the arrays of a
graph are placed anew for each run: each gets the word that its index 0 stands for, and the indices that exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gridloom.dfg.interpreter import Stimulus
from gridloom.sim import kernel
from gridloom.sim.execute import Execution, Trap
from gridloom.sim.kernel import Words
from gridloom.sim.slot_code import SlotCode


@dataclass(frozen=True, slots=True)
class ArrayWindow:
    """Where an array of the graph lies: ``base`` is the word of its index 0; indices are ``low`` to ``high`` - 1."""

    base: int
    low: int
    high: int


@dataclass(kw_only=True)
class WindowRun:
    """What a run left: live-outs by name, the words of the memory, the cycles, an access outside every window."""

    liveouts: dict[str, int]
    memory: Words
    cycles: int
    trap: Trap | None


def run_on_memory(
    compiled: SlotCode, stimulus: Stimulus, windows: Mapping[str, ArrayWindow], memory: Words
) -> WindowRun:
    """Run compiled slots on a memory in which the graph's arrays are windows; the memory given is not changed.

    Needs a window for each array of the graph and a value for each live-in. A load outside its window yields poison,
    which no right value equals; a store outside does nothing. The cost of a cycle is that of the slot's code.
    """
    placed = place_arrays(compiled, windows, len(memory))
    running = Execution(placed, stimulus)
    running.memory[compiled.words : compiled.words + len(memory)] = memory
    running.advance(running.last)
    outcome = running.outcome()
    left = running.memory[compiled.words : compiled.words + len(memory)].copy()
    return WindowRun(liveouts=outcome.observation.liveouts, memory=left, cycles=outcome.cycles, trap=outcome.trap)


def place_arrays(compiled: SlotCode, windows: Mapping[str, ArrayWindow], words: int) -> SlotCode:
    """The code with its accesses moved to the windows, which lie behind the memory that it has itself."""
    issues = compiled.issues.copy()
    dfg = compiled.configuration.dfg
    for k, slot in enumerate(compiled.configuration.slots):
        array = dfg.nodes[slot.node].array if slot.kind == "op" else None
        if array:
            window = windows[array]
            issues[k, kernel.I_BASE] = compiled.words + window.base
            issues[k, kernel.I_LOW] = window.low
            issues[k, kernel.I_LENGTH] = window.high
    return replace(compiled, issues=np.ascontiguousarray(issues), arrays={}, words=compiled.words + words)
