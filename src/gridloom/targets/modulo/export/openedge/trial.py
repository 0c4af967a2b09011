"""Runs a program on the interpreter and compares the memory that it leaves with what the graph means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gridloom.dfg.interpreter import Interpreter, Observation, Stimulus
from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError, SimulationError
from gridloom.sim.stimulus import fitting_stimulus
from gridloom.targets.modulo.export.openedge.interpreter import run_program, word
from gridloom.targets.modulo.export.openedge.program import TRIPS, PeProgram
from gridloom.targets.modulo.export.openedge.scaling import BYTES

#: Where the arrays begin, and the bytes between two of them.
_BEGIN: Final = 0x10000
_GAP: Final = 0x400
_JUNK: Final = 0x9E3779B1
#: What registers hold when a program starts: it must not rely on a reset.
_FIRST: Final = 0x51EDBEEF
#: Trip counts of a trial, beside the least.
_TRIPS: Final = (64, 17)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A run that left what the graph means: its trip count, memory before and after, and clocks."""

    trips: int
    clocks: int
    before: dict[int, int]
    after: dict[int, int]
    #: A pointer for each column: to what it loads, and to where it stores live-outs.
    reads: tuple[int, ...]
    writes: tuple[int, ...]


def try_program(program: PeProgram, dfg: Dfg, *, seed: int = 0, trips: tuple[int, ...] = ()) -> list[Trial]:
    """Run a program for some trip counts on random data; the longest run comes first.

    MappingError where a run leaves something else than the graph, or the graph has no run that is long enough.
    """
    interpreter = Interpreter(dfg)
    trials = []
    for asked in trips or (*_TRIPS, program.least + 1, program.least):
        stimulus, expected = fitting_stimulus(interpreter, max(asked, program.least), seed + asked)
        if stimulus.iterations < program.least:
            raise MappingError(
                f"the loop runs {stimulus.iterations} iterations at most, and the program at least {program.least}"
            )
        trials.append(_try_once(program, dfg, stimulus, expected))
    return trials


def _try_once(program: PeProgram, dfg: Dfg, stimulus: Stimulus, expected: Observation) -> Trial:
    """One run."""
    addresses: dict[str, int] = {}
    memory: dict[int, int] = {}
    at = _BEGIN

    def place(words: list[int]) -> int:
        """Put words where nothing is; return their address."""
        nonlocal at
        begin = at + _GAP
        at = begin + BYTES * len(words) + _GAP
        # What surrounds them is there as well, and of no use.
        memory.update((address, word(address * _JUNK)) for address in range(begin - _GAP, at, BYTES))
        memory.update((begin + BYTES * k, word(value)) for k, value in enumerate(words))
        return begin

    for array in dfg.arrays:
        addresses[array.name] = place([int(value) for value in stimulus.memory[array.name]])
    values = {**stimulus.liveins, TRIPS: stimulus.iterations}
    reads = tuple(place([parameter.value(addresses, values) for parameter in column]) for column in program.reads)
    writes = tuple(place([0] * len(names)) for names in program.writes)
    try:
        run = run_program(program.lines, memory, cols=program.cols, reads=reads, writes=writes, first=_FIRST)
    except SimulationError as error:
        raise MappingError(f"the program of {program.name!r} does not run: {error}") from None
    found = {
        f"{name}[{k}]": (run.memory[begin + BYTES * k], word(int(value)))
        for name, begin in addresses.items()
        for k, value in enumerate(expected.memory[name])
    }
    for names, begin in zip(program.writes, writes):
        found |= {name: (run.memory[begin + BYTES * k], word(expected.liveouts[name])) for k, name in enumerate(names)}
    meant = {addresses[array.name] + BYTES * k for array in dfg.arrays for k in range(array.length)}
    meant |= {begin + BYTES * k for names, begin in zip(program.writes, writes) for k in range(len(names))}
    found |= {f"the word at {at:#x}": (run.memory[at], memory[at]) for at in memory.keys() - meant}
    wrong = [f"{name} is {mine}, expected {right}" for name, (mine, right) in found.items() if mine != right]
    if wrong:
        raise MappingError(
            f"the program of {program.name!r} leaves {len(wrong)} wrong words after {stimulus.iterations} iterations: "
            + "; ".join(wrong[:3])
        )
    return Trial(
        trips=stimulus.iterations,
        clocks=run.clocks,
        before=memory,
        after=dict(run.memory),
        reads=reads,
        writes=writes,
    )
