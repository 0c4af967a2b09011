"""Random stimuli that a graph can take: indices stay inside their arrays.

A graph says nothing about the range of its inputs, but an input that reaches an index must not point outside an
array. Stimuli are tried from the wildest to the tamest, each by a run of the interpreter, and the first that fits is
taken; where none fits for all iterations, the longest prefix of one is.

A live-in that is never 0 by the graph's own word has a value of its range: memory order may rely on it, as where the
rows of a nest are known to be long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from gridloom.dfg.interpreter import Interpreter, Observation, OutOfBounds, Stimulus, random_stimulus
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError
from gridloom.sim.promises import find_meeting, recorder_of
from gridloom.sim.reading import operand_edges, positions

_SEEDS_TRIED: Final = 4
_SPREADS_TRIED: Final = 48
#: Where the range of a live-in may begin.
_LOWS: Final = (0, 1, 1, 2, 2, 3, 4, 8, 16)
_Recorder = recorder_of(Interpreter, lambda run, node, index: (node.array, index))
_ACCESSES: Final = ("load", "store", "store_if", "load_address", "store_address")


def stimulus_for(dfg: Dfg, iterations: int, seed: int = 0) -> Stimulus:
    """A random stimulus whose run stays within the bounds of every array.

    Values are as wild as the graph allows: first unbounded, then with the streams, live-ins and array contents that
    reach an index kept below the shortest array, then 0, then each within a range of its own: the counter of an outer
    loop that starts at 1, a row and its stride. Where even that runs off an array (a counter that counts past its end),
    the stimulus has fewer iterations than asked for: as many as fit. So it has where the loop's trip count is smaller.
    SimulationError when not one fits. Runs the interpreter once for graphs without memory accesses, a few hundred times
    for stubborn ones.
    """
    return fitting_stimulus(Interpreter(dfg), iterations, seed)[0]


def fitting_stimulus(interpreter: Interpreter, iterations: int, seed: int) -> tuple[Stimulus, Observation]:
    """The stimulus of :func:`stimulus_for` together with what the interpreter says to it."""
    dfg = interpreter.dfg
    # What a loop would do beyond its last iteration means nothing.
    iterations = min(iterations, dfg.trip_count or iterations)
    best: tuple[Stimulus, Observation] | None = None
    for candidate in _candidates(dfg, iterations, seed):
        _keep_ranges(dfg, candidate)
        longest = _longest_prefix(interpreter, candidate, best[0].iterations if best else 0)
        if longest is not None:
            best = longest
        if best is not None and best[0].iterations == iterations:
            break
    if best is None:
        raise SimulationError(
            "no stimulus keeps its first iteration inside its arrays; check the index expressions and array lengths",
            where=f"graph {dfg.name!r}",
        )
    return best


def _keep_ranges(dfg: Dfg, stimulus: Stimulus) -> None:
    """Bring live-ins whose range leaves out 0 into it: as far inside as they were beyond its end."""
    for name, (low, high) in dfg.ranges.items():
        if name in stimulus.liveins and not low <= 0 <= high:
            value = stimulus.liveins[name]
            inside = 2 * high - value if value > high else 2 * low - value if value < low else value
            stimulus.liveins[name] = max(low, min(high, inside))


def shorten_stimulus(stimulus: Stimulus, iterations: int) -> Stimulus:
    """The first iterations of a stimulus. Live-ins and memory are shared with it, not copied."""
    streams = {name: words[:iterations] for name, words in stimulus.streams.items()}
    return replace(stimulus, iterations=iterations, streams=streams)


def _candidates(dfg: Dfg, iterations: int, seed: int) -> Iterator[Stimulus]:
    """Stimuli from the wildest to the tamest; the first one alone for a graph without arrays."""
    yield random_stimulus(dfg, iterations, seed)
    if not dfg.arrays:
        return
    shortest = min(array.length for array in dfg.arrays)
    indexing, arrays = reaching_an_index(dfg)
    if not indexing and not arrays:
        # Counters alone decide on indices, whatever the stimulus.
        return
    # Sums of indices may still leave the array, hence the smaller bounds.
    for bound in (shortest, max(shortest // 4, 1), 1):
        for k in range(_SEEDS_TRIED if bound > 1 else 1):
            tame = random_stimulus(dfg, iterations, seed + k, within=dict.fromkeys(indexing, bound))
            _bound_memory(tame, arrays, bound)
            yield tame
    rng = np.random.default_rng(seed)
    for k in range(_SPREADS_TRIED):
        yield _spread(dfg, iterations, seed + k, shortest, indexing, arrays, rng)


def index_bounds(dfg: Dfg) -> dict[str, int]:
    """Return a bound for each stream and live-in that reaches an index: the length of the shortest array."""
    shortest = min((array.length for array in dfg.arrays), default=1)
    return dict.fromkeys(reaching_an_index(dfg)[0], shortest)


def _spread(
    dfg: Dfg, iterations: int, seed: int, shortest: int, indexing: set[str], arrays: set[str], rng: np.random.Generator
) -> Stimulus:
    """A stimulus in which every live-in that reaches an index has a range of its own.

    An index may need one live-in above 0 (the row of ``x[y - 1][i]``) and another one small (``x[y * stride + i]``), so
    each starts from a small number and reaches up to a power of two of its own.
    """
    bound = 1 << int(rng.integers(0, max(shortest, 2).bit_length()))
    stimulus = random_stimulus(dfg, iterations, seed, within=dict.fromkeys(indexing, bound))
    _bound_memory(stimulus, arrays, bound)
    for name in sorted(indexing & stimulus.liveins.keys()):
        low = int(rng.choice(_LOWS))
        stimulus.liveins[name] = low + int(rng.integers(0, 1 << int(rng.integers(0, shortest.bit_length() + 1))))
    return stimulus


def _bound_memory(stimulus: Stimulus, arrays: set[str], bound: int) -> None:
    """Bring the contents of some arrays below a bound, since an index depends on them."""
    for name in arrays:
        stimulus.memory[name] %= bound


def reaching_an_index(dfg: Dfg) -> tuple[set[str], set[str]]:
    """Return the streams and live-ins that an index depends on, and the arrays whose contents do."""
    seen: set[int] = set()
    names: set[str] = set()
    work = []
    at, operands = positions(dfg), operand_edges(dfg)
    for row, node in zip(operands, dfg.nodes):
        if node.op in _ACCESSES:
            work += [e for e in row if dfg.edges[e].operand == 0]
    while work:
        edge = dfg.edges[work.pop()]
        names.update(value for value in edge.initial if isinstance(value, str))
        k = at[edge.source]
        if k not in seen:
            seen.add(k)
            work += operands[k]
    nodes = [dfg.nodes[k] for k in seen]
    arrays = {node.array for node in nodes if node.op in ("load", "load_data") and node.array}
    return names | {node.id for node in nodes if node.op in ("input", "livein")}, arrays


def _kept_for(dfg: Dfg, stimulus: Stimulus) -> int:
    """The iterations for which a stimulus keeps what the graph takes for granted."""
    if not dfg.assumed or not stimulus.iterations:
        return stimulus.iterations
    recorder: Any = _Recorder(dfg)
    recorder.run(stimulus)
    met = find_meeting(dfg, recorder.touched)
    return stimulus.iterations if met is None else met.iterations[1]


def _longest_prefix(
    interpreter: Interpreter, stimulus: Stimulus, more_than: int
) -> tuple[Stimulus, Observation] | None:
    """The longest run of a stimulus that stays in bounds and keeps what the graph takes for granted, if it beats
    ``more_than`` iterations.

    A run that leaves its arrays ends in the iteration in which it does so; those before it are then run once more,
    since the run has already written to memory in the last one.
    """
    try:
        observed = interpreter.run(stimulus)
        within = _kept_for(interpreter.dfg, stimulus)
        if within == stimulus.iterations:
            return stimulus, observed
    except OutOfBounds as error:
        within = _kept_for(interpreter.dfg, shorten_stimulus(stimulus, error.iteration))
    if within <= more_than:
        return None
    prefix = shorten_stimulus(stimulus, within)
    return prefix, interpreter.run(prefix)
