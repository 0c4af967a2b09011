"""The SIMD lanes of an array: the same configuration in each of them, on streams and memories of its own.

What a cycle does is the code of its slot, for all lanes alike; carried values, variables of tile memory and data memory
belong to a lane. Constants, live-ins and initial values come with the configuration, so that all lanes have the same.
No lane ever reads a value of another one: the lanes of a run are so many runs of the same length, and it makes no
difference that one is simulated after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gridloom.dfg.interpreter import Interpreter, Observation, OutOfBounds, Stimulus, random_stimulus
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration
from gridloom.sim.execute import ArrayRun, execute
from gridloom.sim.reading import simd_lanes
from gridloom.sim.slot_code import SlotCode, compile_slots
from gridloom.sim.stimulus import fitting_stimulus, index_bounds, reaching_an_index

#: A stimulus, and what the interpreter says to it.
Lane = tuple[Stimulus, Observation]


def run_lanes(configuration: Configuration, stimuli: Sequence[Stimulus], *, seed: int = 0) -> tuple[Observation, ...]:
    """Run a configuration with a stimulus in each SIMD lane of its array and return what each lane shows.

    SimulationError unless there is a stimulus for each lane, all of them with the same live-ins and as many iterations;
    otherwise as :func:`gridloom.sim.run`.
    """
    lanes = simd_lanes(configuration.arch)
    if len(stimuli) != lanes:
        raise SimulationError(f"array {configuration.arch.name!r} has {lanes} SIMD lanes; found {len(stimuli)} stimuli")
    return tuple(one.observation for one in execute_lanes(compile_slots(configuration, seed=seed), stimuli))


def execute_lanes(compiled: SlotCode, stimuli: Sequence[Stimulus]) -> list[ArrayRun]:
    """Run compiled slots in several lanes, which take the same cycles."""
    for lane, stimulus in enumerate(stimuli):
        if stimulus.iterations != stimuli[0].iterations or stimulus.liveins != stimuli[0].liveins:
            raise SimulationError(
                f"lane {lane}: SIMD lanes share live-ins and the number of iterations; its own differ"
            )
    return [execute(compiled, stimulus) for stimulus in stimuli]


def lane_stimuli(interpreter: Interpreter, lanes: int, iterations: int, seed: int) -> list[Lane]:
    """Return random stimuli for the lanes of an array, each with what the interpreter says to it.

    The first one is that of :func:`~gridloom.sim.stimulus.fitting_stimulus`; the others have its live-ins and its
    number of iterations, and streams and memories of their own. Costs one or two runs of the interpreter per lane.
    """
    first = fitting_stimulus(interpreter, iterations, seed)
    return [first, *(_other_lane(interpreter, first[0], seed + 1_000_003 * lane) for lane in range(1, lanes))]


def _other_lane(interpreter: Interpreter, first: Stimulus, seed: int) -> Lane:
    """A stimulus for another lane: wild where its indices stay inside the arrays, otherwise with those of the first."""
    dfg = interpreter.dfg
    drawn = random_stimulus(dfg, first.iterations, seed, within=index_bounds(dfg))
    stimulus = replace(drawn, liveins=first.liveins)
    try:
        return stimulus, interpreter.run(stimulus)
    except OutOfBounds:
        pass
    names, arrays = reaching_an_index(dfg)
    kept = replace(
        stimulus,
        streams={name: first.streams[name] if name in names else words for name, words in stimulus.streams.items()},
        memory={name: first.memory[name] if name in arrays else words for name, words in stimulus.memory.items()},
    )
    return kept, interpreter.run(kept)
