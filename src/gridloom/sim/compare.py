"""Compares what a mapped array computes with what the graph means.

A right result has to be right for every trip count: a prologue that lasts too long, or a value that one iteration
leaves for the next by accident, shows in short runs only. So a mapping is run for the iterations that are asked for
and for a few trip counts around the number of its pipeline stages, each on values of its own. Undriven wires carry
poison, which no right value equals, so that nothing is right by chance. An array with SIMD lanes has all of them
compared, each with the interpreter on its own streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gridloom import registry
from gridloom.dfg.interpreter import Interpreter, Observation
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import Configuration, configure
from gridloom.mapping.model import Mapping
from gridloom.sim.execute import ArrayRun
from gridloom.sim.lanes import Lane, execute_lanes, lane_stimuli
from gridloom.sim.reading import carries_value, has_cycles, is_timeless, op_rows, program_order, simd_lanes
from gridloom.sim.slot_code import SlotCode, compile_slots
from gridloom.sim.stimulus import fitting_stimulus, shorten_stimulus
from gridloom.sim.verdict import Mismatch, Verdict

#: How many mismatches a verdict lists.
_LISTED = 8


def simulate(mapping: Mapping, *, iterations: int = 64, seed: int = 0) -> Verdict:
    """Simulate a mapping on random inputs and compare every output, store and live-out with the interpreter.

    Runs ``iterations`` iterations, and shorter runs down to a single one, so that prologue and epilogue overlap. The
    verdict's ``iterations`` and ``cycles`` are those of the first run; it has fewer iterations than asked for where
    more would leave the graph's arrays.
    Nodes without a reader are compared as well, in domain ``opaque`` all nodes. An elastic mapping is run token by
    token; its verdict has the period. A configuration that cannot run (a combinational cycle, a deadlock) gives a
    verdict that is not ok.

    Raises MappingError when the mapping names what does not exist, SimulationError when the graph itself cannot run
    within the bounds of its arrays. Costs the interpreter's time, O(iterations * edges), and little more.
    """
    return simulate_configuration(configure(mapping), iterations=iterations, seed=seed)


def simulate_configuration(configuration: Configuration, *, iterations: int = 64, seed: int = 0) -> Verdict:
    """:func:`simulate` for a configuration, wherever it comes from.

    It may be derived from a mapping or read back from bits.
    """
    if iterations < 1:
        raise SimulationError(f"iterations: expected at least 1, found {iterations}")
    style = configuration.arch.style
    if not has_cycles(configuration.arch):
        machine = registry.hook("machines", style)
        if machine is None:
            raise SimulationError(f"no target declares a simulator for {style} arrays")
        verdict: Verdict = machine(configuration, iterations=iterations)
        return verdict
    try:
        compiled = compile_slots(configuration, seed=seed)
    except SimulationError as error:
        return Verdict(ok=False, iterations=0, trip_counts=(), cycles=0, error=str(error))
    return _compare(compiled, iterations, seed)


def _compare(compiled: SlotCode, iterations: int, seed: int) -> Verdict:
    """Run the compiled slots on every stimulus and collect what differs from the interpreter."""
    dfg = compiled.configuration.dfg
    interpreter = Interpreter(dfg)
    counts: list[int] = []
    cycles: list[int] = []
    mismatches: list[Mismatch] = []
    # The first wrong run is looked at closely; later ones mostly repeat it.
    divergence: Mismatch | None = None
    lanes = simd_lanes(compiled.configuration.arch)
    for group in _runs(interpreter, compiled.depth, iterations, seed, lanes):
        stimuli = [stimulus for stimulus, _ in group]
        counts.append(stimuli[0].iterations)
        cycles.append(compiled.length(stimuli[0].iterations))
        for lane, found in enumerate(execute_lanes(compiled, stimuli)):
            expected = group[lane][1]
            wrong = [_in_lane(mismatch, lane) for mismatch in differences(dfg, expected, found)]
            mismatches += wrong
            if wrong and divergence is None:
                first = _first_divergence(dfg, expected, found.observation)
                divergence = first and _in_lane(first, lane)
    return Verdict(
        ok=not mismatches and not compiled.lost,
        iterations=counts[0],
        asked=iterations,
        trip_counts=tuple(sorted(counts)),
        cycles=cycles[0],
        mismatches=tuple(mismatches[:_LISTED]),
        divergence=divergence,
        lanes=lanes,
        error=compiled.lost[0] if compiled.lost else None,
    )


def _in_lane(mismatch: Mismatch, lane: int) -> Mismatch:
    """A mismatch that names the SIMD lane it showed in; the first lane has no name, since most arrays have no other."""
    return replace(mismatch, what=f"lane {lane}: {mismatch.what}") if lane else mismatch


def _runs(interpreter: Interpreter, depth: int, iterations: int, seed: int, lanes: int) -> Iterator[list[Lane]]:
    """The long run, then short ones around the number of stages, each with values of its own.

    Yields stimuli, each with what the interpreter makes of it: one for every SIMD lane in the long run, which shows
    that lanes are right; a single one in short runs, which show that prologue and epilogue are. A graph that cannot
    run for so long without leaving its arrays is run for as long as it can; its short runs are then prefixes of the
    long one where no other stimulus fits.
    """
    long_run = lane_stimuli(interpreter, lanes, iterations, seed)
    yield long_run
    longest = long_run[0][0]
    limit = longest.iterations
    # Beside a pipeline deeper than the long run, that run is a short one already; one that fills it is enough.
    stages = {1, 2, 3, depth + 1} | (set() if depth > iterations else {depth // 2, depth - 1, depth})
    # A graph that ran off its arrays before does so again: only others are run for longer than asked.
    for count in sorted(n for n in stages - {limit} if n >= 1 and (n < limit or limit == iterations)):
        stimulus, observation = fitting_stimulus(interpreter, count, seed + count)
        if stimulus.iterations == count:
            yield [(stimulus, observation)]
        elif count < limit:
            prefix = shorten_stimulus(longest, count)
            yield [(prefix, interpreter.run(prefix))]


def differences(dfg: Dfg, expected: Observation, found: ArrayRun) -> Iterator[Mismatch]:
    """Every output, store, live-out and result that a run got wrong.

    An access out of bounds comes first, as the likely cause of the rest; the interpreter's own run has none.
    """
    n = expected.iterations
    seen = found.observation
    if found.trap is not None:
        trap = found.trap
        yield Mismatch(
            what=f"access of {trap.node}, outside its {trap.length} words: index",
            iteration=trap.firing,
            expected=0,
            found=trap.address,
            trip_count=n,
        )
    for name, words in expected.outputs.items():
        yield from _stream(f"output {name}", words, seen.outputs[name], n)
    for name, words in expected.memory.items():
        for k in (words != seen.memory[name]).nonzero()[0].tolist():
            yield _at_end(f"memory {name}[{k}]", int(words[k]), int(seen.memory[name][k]), n)
    for name, value in expected.liveouts.items():
        if seen.liveouts[name] != value:
            yield _at_end(f"live-out {name}", value, seen.liveouts[name], n)
    for k in _results(dfg):
        yield from _stream(f"node {dfg.nodes[k].id}", expected.values[:, k], seen.values[:, k], n)


def _stream(what: str, expected: object, found: object, n: int) -> Iterator[Mismatch]:
    """The firings in which two streams differ."""
    import numpy as np

    wanted, got = np.asarray(expected), np.asarray(found)
    for k in (wanted != got).nonzero()[0].tolist():
        yield Mismatch(what=what, iteration=k, expected=int(wanted[k]), found=int(got[k]), trip_count=n)


def _at_end(what: str, expected: int, found: int, n: int) -> Mismatch:
    """A mismatch of what stands at the end of a run: memory, or a live-out."""
    return Mismatch(what=what, iteration=-1, expected=expected, found=found, trip_count=n)


def _results(dfg: Dfg) -> list[int]:
    """Nodes that are compared in every iteration although no output names them.

    A value that no edge carries on can only be a result. Opaque graphs come without names for their results, which may
    even be recurrences that feed nothing but themselves: there every node counts, stores too, whose value is the mix of
    what they were given.
    """
    read = {edge.source for edge in dfg.edges if carries_value(edge)}
    return [
        k
        for k, (node, op) in enumerate(zip(dfg.nodes, op_rows(dfg)))
        if (dfg.domain == "opaque" or node.id not in read)
        and node.op != "output"
        and (dfg.domain == "opaque" or op.result)
        and not is_timeless(op)
    ]


def _first_divergence(dfg: Dfg, expected: Observation, found: Observation) -> Mismatch | None:
    """The first wrong node value in program order: a cause stands before its effects."""
    order = program_order(dfg)
    for iteration in range(expected.iterations):
        for k in order:
            wanted, got = int(expected.values[iteration, k]), int(found.values[iteration, k])
            if wanted != got:
                return Mismatch(
                    what=f"node {dfg.nodes[k].id}", iteration=iteration, expected=wanted, found=got,
                    trip_count=expected.iterations,
                )  # fmt: skip
    return None
