"""The trace of a clocked array: every row in every cycle, every result, every word that is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Kind
from gridloom.dfg.interpreter import Stimulus, Words
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration
from gridloom.sim import kernel
from gridloom.sim.execute import ArrayRun, Execution
from gridloom.sim.slot_code import SlotCode, compile_slots
from gridloom.sim.stimulus import shorten_stimulus

#: Values that a trace holds at most: 128 MB of words.
MOST_CELLS: Final = 16_000_000

_STORAGE: Final = (Kind.OUT, Kind.REG, Kind.CONST)


@dataclass(frozen=True, kw_only=True)
class ClockedTrace:
    """A run of a clocked array, cycle by cycle."""

    compiled: SlotCode
    #: What it was fed; fewer iterations than asked for where more would not fit into a trace.
    stimulus: Stimulus
    #: values[cycle, row]: what each row of ``compiled.rows`` has; see ``valid`` for which of them mean something.
    values: Words
    #: valid[slot, row]: True where the row has a value of its own in the slot; wires that nothing reads have none.
    valid: NDArray[np.bool_]
    #: results[firing, issue], in the order of ``compiled.configuration.slots``.
    results: Words
    #: The words of the flat memory before cycle 0, and rows (cycle, word, value) for each that changed in a cycle.
    memory: Words
    stores: Words
    constants: Words
    #: What the run has shown at its end.
    outcome: ArrayRun

    @property
    def cycles(self) -> int:
        """How many cycles were run."""
        return len(self.values)


def record(configuration: Configuration, stimulus: Stimulus, *, seed: int = 0, cells: int = MOST_CELLS) -> ClockedTrace:
    """Run a configuration on a stimulus and keep every value.

    The run has fewer iterations than the stimulus where its values would be more than ``cells``, but never less than
    one. SimulationError for an elastic array and for what cannot run at all. Costs the run, and a copy of all rows for
    each cycle.
    """
    compiled = compile_slots(configuration, seed=seed)
    stimulus = _fitting(compiled, stimulus, cells)
    running = Execution(compiled, stimulus)
    values = np.empty((running.last, len(compiled.rows)), dtype=np.int64)
    first = running.memory.copy()
    before, stores = first.copy(), []
    for cycle in range(running.last):
        running.advance(cycle + 1)
        values[cycle] = running.row_values()
        changed = np.flatnonzero(running.memory != before)
        if len(changed):
            stores.append(np.stack([np.full(len(changed), cycle), changed, running.memory[changed]], axis=1))
            before[changed] = running.memory[changed]
    return ClockedTrace(
        compiled=compiled,
        stimulus=stimulus,
        values=values,
        valid=_valid(compiled),
        results=running.results,
        memory=first,
        stores=np.concatenate(stores) if stores else np.zeros((0, 3), dtype=np.int64),
        constants=running.constants,
        outcome=running.outcome(),
    )


def is_poison(trace: ClockedTrace, values: Words) -> NDArray[np.bool_]:
    """Return which words were never driven: they carry the simulator's pattern and the number of a row or issue."""
    most = max(len(trace.compiled.rows), len(trace.compiled.issues), len(trace.compiled.operands), 1)
    return np.asarray(((values >> 48) == kernel.POISON >> 48) & (((values >> 28) & 0xFFFFF) < most))


def _fitting(compiled: SlotCode, stimulus: Stimulus, cells: int) -> Stimulus:
    """Return as many iterations of a stimulus as a trace has room for."""
    rows = max(len(compiled.rows), 1)
    if compiled.cycles(1) * rows > cells:
        raise SimulationError(
            f"{compiled.cycles(1)} cycles of {rows} wires and registers are more than a trace holds ({cells} values)"
        )
    room = (cells // rows - compiled.cycles(1)) // max(compiled.configuration.ii, 1) + 1
    return stimulus if stimulus.iterations <= room else shorten_stimulus(stimulus, room)


def _valid(compiled: SlotCode) -> NDArray[np.bool_]:
    """Return in which slots each row has a value of its own: storage always, wires where the code sets them."""
    configuration = compiled.configuration
    resources = len(configuration.arch.kind)
    origin = [row if row < resources else configuration.lanes[row - resources] for row in compiled.rows]
    kinds = configuration.arch.kind[origin] if origin else np.zeros(0, dtype=np.int32)
    valid = np.zeros((configuration.ii, len(compiled.rows)), dtype=np.bool_)
    valid[:, np.isin(kinds, _STORAGE)] = True
    for slot in range(configuration.ii):
        code = compiled.code[compiled.start[slot] : compiled.start[slot + 1]]
        valid[slot, code[code[:, 0] != kernel.ISSUE, 1]] = True
    return valid
