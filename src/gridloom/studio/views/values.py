"""Runs that the page steps through: the data a run is fed, its trace, and the trace as the page takes it.

Words are 64 bits wide and travel as bytes, since numbers of JavaScript are not exact beyond 53 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from gridloom import registry
from gridloom.archs.model import Kind
from gridloom.dfg.interpreter import Interpreter, OutOfBounds, Stimulus, Words
from gridloom.dfg.model import Dfg
from gridloom.dfg.semantics import decode, encode
from gridloom.emit.waves.perfetto import Span
from gridloom.errors import OptionError, SimulationError
from gridloom.mapping.configuration import configure
from gridloom.mapping.model import Mapping
from gridloom.sim.slot_code import SlotCode
from gridloom.sim.stimulus import stimulus_for
from gridloom.sim.trace.clocked import ClockedTrace, record

#: Iterations that a run of the studio has at most, and those it has where nothing is said.
MOST_ITERATIONS: Final = 10_000
ITERATIONS: Final = 16
#: Iterations and moments of a run on a target's own simulator.
_OWN_ITERATIONS: Final = 6
_MOMENTS: Final = 2000

_KINDS: Final = {"op": 0, "move": 1, "load": 2, "store": 3}


class OwnTrace(Protocol):
    """The trace of a target's own simulator, as the hook ``traces`` returns it."""

    def head(self) -> dict[str, Any]:
        """What the page has to know of the run, with its ``kind``."""
        ...

    def spans(self) -> Iterator[Span]:
        """What each tile does over time, for Perfetto."""
        ...


@dataclass(frozen=True, kw_only=True)
class StudioRun:
    """A trace with an id, and what it was fed."""

    id: str
    trace: ClockedTrace | OwnTrace
    mapping: Mapping


def run_of(mapping: Mapping, asked: MappingABC[str, Any], name: str = "run") -> StudioRun:
    """Run a mapping as a page asks for it: ``iterations``, ``seed``, and values of the user's own in ``data``.

    ``name`` is the id of the run.
    OptionError for values that the graph does not take; SimulationError where they lead outside an array.
    """
    configuration = configure(mapping)
    iterations = _number(asked, "iterations", ITERATIONS, 1, MOST_ITERATIONS)
    seed = _number(asked, "seed", 0, 0, 2**31 - 1)
    own = registry.hook_for("traces", mapping.arch)
    if own is not None:
        trace = own(configuration, iterations=min(iterations, _OWN_ITERATIONS), moments=_MOMENTS)
        return StudioRun(id=name, trace=trace, mapping=mapping)
    stimulus = readable(mapping.dfg, stimulus_for(mapping.dfg, iterations, seed))
    if data := asked.get("data"):
        stimulus = with_data(mapping.dfg, stimulus, data)
        _check(mapping.dfg, stimulus)
    return StudioRun(id=name, trace=record(configuration, stimulus, seed=seed), mapping=mapping)


def readable(dfg: Dfg, stimulus: Stimulus) -> Stimulus:
    """A stimulus with small values in the place of wild ones, as far as the graph's indices allow it.

    A simulation that looks for mistakes wants words that use every bit; a reader wants numbers of two digits. Opaque
    values have no size and stay as they are.
    """
    if dfg.domain == "opaque":
        return stimulus
    small: dict[str, Any] = {
        "streams": {name: _small(dfg, words) for name, words in stimulus.streams.items()},
        "memory": {name: _small(dfg, words) for name, words in stimulus.memory.items()},
        "liveins": {name: int(_small(dfg, np.array([word]))[0]) for name, word in stimulus.liveins.items()},
    }
    interpreter = Interpreter(dfg)
    for kept in ((), ("liveins",), ("liveins", "memory"), ("liveins", "streams")):
        given = {group: getattr(stimulus, group) if group in kept else tamed for group, tamed in small.items()}
        candidate = Stimulus(iterations=stimulus.iterations, **given)
        try:
            interpreter.run(candidate)
        except OutOfBounds:
            continue
        return candidate
    return stimulus


def _small(dfg: Dfg, words: Words) -> Words:
    """Words as numbers from 0 to 99 in the domain of a graph."""
    return np.array([encode(dfg.domain, int(word) % 100) for word in words], dtype=np.int64)


def _number(asked: MappingABC[str, Any], key: str, default: int, low: int, high: int) -> int:
    """A whole number of a request; OptionError where it is none or out of range."""
    value = asked.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise OptionError(f"{key}: expected a whole number from {low} to {high}, found {value!r}"[:300])
    return value


def with_data(dfg: Dfg, stimulus: Stimulus, data: Any) -> Stimulus:
    """A stimulus with values of the user's own: ``{"streams": {x: [..]}, "liveins": {n: ..}, "memory": {a: [..]}}``.

    What is not given stays as it was; a stream or an array that is given in part keeps the rest.
    """
    if not isinstance(data, dict) or not data.keys() <= {"streams", "liveins", "memory"}:
        raise OptionError('data: expected an object with "streams", "liveins" and "memory"')
    streams = {name: words.copy() for name, words in stimulus.streams.items()}
    memory = {name: words.copy() for name, words in stimulus.memory.items()}
    liveins = dict(stimulus.liveins)
    for name, given in _named(data, "streams", streams):
        _fill(streams[name], given, dfg.domain, f"streams.{name}")
    for name, given in _named(data, "memory", memory):
        _fill(memory[name], given, dfg.domain, f"memory.{name}")
    for name, given in _named(data, "liveins", liveins):
        liveins[name] = _word(given, dfg.domain, f"liveins.{name}")
    return Stimulus(iterations=stimulus.iterations, streams=streams, liveins=liveins, memory=memory)


def _named(data: dict[str, Any], group: str, known: MappingABC[str, Any]) -> list[tuple[str, Any]]:
    """The values of a group by name; OptionError for a name that the graph does not have."""
    given = data.get(group, {})
    if not isinstance(given, dict):
        raise OptionError(f"data.{group}: expected an object, found {type(given).__name__}")
    for name in given:
        if name not in known:
            raise OptionError(
                f"data.{group}: the graph has no {name[:60]!r}; it has: {', '.join(known) or 'none'}"[:600]
            )
    return list(given.items())


def _fill(words: Words, given: Any, domain: str, where: str) -> None:
    """Write the values that are given over the first words."""
    if not isinstance(given, list):
        raise OptionError(f"data.{where}: expected a list of numbers")
    for k, value in enumerate(given[: len(words)]):
        words[k] = _word(value, domain, f"{where}[{k}]")


def _word(value: Any, domain: str, where: str) -> int:
    """A number as a word of the domain."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 2**63:
        raise OptionError(f"data.{where}: expected a number, found {str(value)[:40]!r}")
    return encode(domain, value)


def _check(dfg: Dfg, stimulus: Stimulus) -> None:
    """Raise SimulationError where the user's values lead outside an array, with the node and the iteration."""
    try:
        Interpreter(dfg).run(stimulus)
    except OutOfBounds as error:
        raise SimulationError(f"{error}; give other values, or fewer iterations") from None


# -- as the page takes it ---------------------------------------------------------------------------------------------


def head(run: StudioRun) -> dict[str, Any]:
    """What the page has to know of a run before it asks for words."""
    if not isinstance(run.trace, ClockedTrace):
        return {"id": run.id, **run.trace.head()}
    trace = run.trace
    compiled, configuration = trace.compiled, trace.compiled.configuration
    dfg, arch = configuration.dfg, configuration.arch
    resources = len(arch.kind)
    rows = [row if row < resources else configuration.lanes[row - resources] for row in compiled.rows]
    return {
        "id": run.id,
        "kind": "clocked",
        "cycles": trace.cycles,
        "ii": configuration.ii,
        "iterations": trace.stimulus.iterations,
        "stages": compiled.depth,
        "domain": dfg.domain,
        "rows": [[r, int(arch.kind[r]), arch.resource_names[r]] for r in rows],
        "valid": [np.flatnonzero(row).tolist() for row in trace.valid],
        "poison": max(len(compiled.rows), len(compiled.issues), len(compiled.operands), 1),
        "issues": [_issue(compiled, k) for k in range(len(configuration.slots))],
        "arrays": {name: list(span) for name, span in compiled.arrays.items()},
        "words": len(trace.memory),
        "constants": {
            str(k): decode(dfg.domain, int(trace.constants[k])) for k, op in enumerate(dfg.ops) if op.timeless
        },
        "streams": {
            str(dfg.index[name]): [decode(dfg.domain, int(word)) for word in words[: trace.stimulus.iterations]]
            for name, words in trace.stimulus.streams.items()
        },
        "fed": stimulus_values(dfg, trace.stimulus),
        "wires": [int(Kind.IN), int(Kind.LINK), int(Kind.SWITCH)],
    }


def stimulus_values(dfg: Dfg, stimulus: Stimulus, most: int = 64) -> dict[str, Any]:
    """What a run was fed, as the user may change it: the first values of each stream and array."""

    def plain(words: Sequence[int] | Words) -> list[int | float]:
        return [decode(dfg.domain, int(word)) for word in words[:most]]

    return {
        "streams": {name: plain(words) for name, words in stimulus.streams.items()},
        "liveins": {name: decode(dfg.domain, word) for name, word in stimulus.liveins.items()},
        "memory": {name: plain(words) for name, words in stimulus.memory.items()},
    }


def _issue(compiled: SlotCode, k: int) -> list[Any]:
    """An issue slot: node, copy, tile, resource, slot, stage, kind, latency, writes, operands, edges."""
    slot = compiled.configuration.slots[k]
    begin = int(compiled.issues[k, 3])
    operands = compiled.operands[begin : begin + int(compiled.issues[k, 4])].tolist()
    dfg = compiled.configuration.dfg
    edges = dfg.operand_edges(dfg.nodes[slot.node].id) if slot.kind == "op" else ()
    return [
        slot.node, slot.copy, slot.tile, slot.resource, slot.slot, compiled.stages[k], _KINDS[slot.kind], slot.latency,
        int(slot.writes), operands, list(edges) if len(edges) == len(operands) else [],
    ]  # fmt: skip


def words(run: StudioRun, part: str, first: int = 0, count: int = 64) -> bytes:
    """A part of a trace as little-endian 64-bit words.

    ``values`` are rows of ``count`` cycles from ``first`` on, ``results`` all results by firing, ``memory`` the words
    before cycle 0, ``stores`` rows of cycle, word and value. OptionError for another name.
    """
    trace = run.trace
    if not isinstance(trace, ClockedTrace):
        raise OptionError("a run of tokens has no words")
    parts = {"values": trace.values[max(first, 0) : max(first, 0) + min(max(count, 0), 4096)],
             "results": trace.results, "memory": trace.memory, "stores": trace.stores}  # fmt: skip
    if part not in parts:
        raise OptionError(f"expected one of {', '.join(parts)}, found {part[:40]!r}")
    return bytes(np.ascontiguousarray(parts[part], dtype="<i8").tobytes())
