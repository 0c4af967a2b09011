"""Random stimuli that a graph can take: indices stay inside their arrays.

A graph says nothing about the range of its inputs, but an input that reaches an index must not point outside an
array. Stimuli are tried from the wildest to the tamest, each by a run of the interpreter, and the first that fits is
taken; where none fits for all iterations, the longest prefix of one is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gridloom.dfg.interpreter import Interpreter, Observation, OutOfBounds, Stimulus, random_stimulus
from gridloom.dfg.model import Dfg
from gridloom.errors import SimulationError

_SEEDS_TRIED: Final = 4
_ACCESSES: Final = ("load", "store", "store_if", "load_address", "store_address")


def stimulus_for(dfg: Dfg, iterations: int, seed: int = 0) -> Stimulus:
    """A random stimulus whose run stays within the bounds of every array.

    Values are as wild as the graph allows: first unbounded, then with the streams, live-ins and array contents that
    reach an index kept below the shortest array, then 0. Where even that runs off an array (a counter that counts past
    its end), the stimulus has fewer iterations than asked for: as many as fit. SimulationError when not one fits.
    Runs the interpreter once for graphs without memory accesses, up to a hundred times for stubborn ones.
    """
    return fitting_stimulus(Interpreter(dfg), iterations, seed)[0]


def fitting_stimulus(interpreter: Interpreter, iterations: int, seed: int) -> tuple[Stimulus, Observation]:
    """The stimulus of :func:`stimulus_for` together with what the interpreter says to it."""
    dfg = interpreter.dfg
    best: tuple[Stimulus, Observation] | None = None
    for candidate in _candidates(dfg, iterations, seed):
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


def shortened(stimulus: Stimulus, iterations: int) -> Stimulus:
    """The first iterations of a stimulus. Live-ins and memory are shared with it, not copied."""
    streams = {name: words[:iterations] for name, words in stimulus.streams.items()}
    return replace(stimulus, iterations=iterations, streams=streams)


def _candidates(dfg: Dfg, iterations: int, seed: int) -> list[Stimulus]:
    """Stimuli from the wildest to the tamest; the first one alone for a graph without arrays."""
    wild = random_stimulus(dfg, iterations, seed)
    if not dfg.arrays:
        return [wild]
    shortest = min(array.length for array in dfg.arrays)
    indexing, arrays = _reaching_an_index(dfg)
    rows = [wild]
    if not indexing and not arrays:
        # Counters alone decide on indices, whatever the stimulus.
        return rows
    # Sums of indices may still leave the array, hence the smaller bounds.
    for bound in (shortest, max(shortest // 4, 1), 1):
        for k in range(_SEEDS_TRIED if bound > 1 else 1):
            rows.append(random_stimulus(dfg, iterations, seed + k, within=dict.fromkeys(indexing, bound)))
            _bound_memory(rows[-1], arrays, bound)
    return rows


def _bound_memory(stimulus: Stimulus, arrays: set[str], bound: int) -> None:
    """Bring the contents of some arrays below a bound, since an index depends on them."""
    for name in arrays:
        stimulus.memory[name] %= bound


def _reaching_an_index(dfg: Dfg) -> tuple[set[str], set[str]]:
    """Streams and live-ins that an index depends on, and arrays whose contents do."""
    seen: set[int] = set()
    work = []
    for node in dfg.nodes:
        if node.op in _ACCESSES:
            work += [e for e in dfg.operand_edges(node.id) if dfg.edges[e].operand == 0]
    while work:
        k = dfg.index[dfg.edges[work.pop()].source]
        if k not in seen:
            seen.add(k)
            work += dfg.operand_edges(dfg.nodes[k].id)
    nodes = [dfg.nodes[k] for k in seen]
    arrays = {node.array for node in nodes if node.op in ("load", "load_data") and node.array}
    return {node.id for node in nodes if node.op in ("input", "livein")}, arrays


def _longest_prefix(
    interpreter: Interpreter, stimulus: Stimulus, more_than: int
) -> tuple[Stimulus, Observation] | None:
    """The longest run of a stimulus that stays in bounds, if it beats ``more_than`` iterations.

    A run that leaves its arrays ends in the iteration in which it does so; those before it are then run once more,
    since the run has already written to memory in the last one.
    """
    try:
        return stimulus, interpreter.run(stimulus)
    except OutOfBounds as error:
        within = error.iteration
    if within <= more_than:
        return None
    prefix = shortened(stimulus, within)
    return prefix, interpreter.run(prefix)
