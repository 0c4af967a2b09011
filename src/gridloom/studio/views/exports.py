"""A run as files for other tools: its waveform as VCD, its tiles over time for Perfetto."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from gridloom.archs.model import Kind
from gridloom.dfg.semantics import decode
from gridloom.emit.waves.perfetto import Span, perfetto
from gridloom.emit.waves.vcd import Signal, vcd
from gridloom.errors import OptionError
from gridloom.sim.trace.clocked import ClockedTrace, is_poison
from gridloom.studio.views.values import StudioRun

_WIDTH: Final = {"i32": 32, "f32": 32, "cma24": 25}
_SHOWN: Final = {int(Kind.IN), int(Kind.OUT), int(Kind.LINK), int(Kind.REG), int(Kind.SWITCH)}


def run_as_vcd(run: StudioRun) -> str:
    """The wires, registers and results of a run as VCD; OptionError for a run of tokens, which has no wires."""
    if not isinstance(run.trace, ClockedTrace):
        raise OptionError("a run of tokens has no waveform; export it for Perfetto")
    return vcd(_signals(run.trace), module=run.mapping.dfg.name)


def _signals(trace: ClockedTrace) -> Iterator[Signal]:
    """A signal for each row that holds values, within the scope of its tile, and one for each node's results."""
    configuration = trace.compiled.configuration
    arch, dfg = configuration.arch, configuration.dfg
    width = _WIDTH.get(dfg.domain, 64)
    poisoned = is_poison(trace, trace.values)
    slots = np.arange(trace.cycles) % configuration.ii
    known = trace.valid[slots] & ~poisoned
    for k, row in enumerate(trace.compiled.rows):
        resource = row if row < len(arch.kind) else configuration.lanes[row - len(arch.kind)]
        if int(arch.kind[resource]) in _SHOWN and known[:, k].any():
            tile = int(arch.tile[resource])
            scope = arch.tiles[tile].name if tile >= 0 else "array"
            name = arch.resource_names[resource].removeprefix(f"{scope}.")
            values = [int(value) if ok else None for value, ok in zip(trace.values[:, k], known[:, k])]
            yield Signal(
                scope=scope, name=name if row < len(arch.kind) else f"{name}_{row}", width=width, values=values
            )
    for k, slot in enumerate(configuration.slots):
        if slot.kind == "op" and dfg.ops[slot.node].result:
            results: list[int | None] = [None] * trace.cycles
            for firing in range(trace.stimulus.iterations):
                at = (trace.compiled.stages[k] + firing) * configuration.ii + slot.slot + slot.latency
                if at < trace.cycles:
                    results[at:] = [int(trace.results[firing, k])] * (trace.cycles - at)
            name = dfg.nodes[slot.node].id + (f"_copy{slot.copy}" if slot.copy else "")
            yield Signal(scope="nodes", name=name, width=width, values=results)


def run_as_perfetto(run: StudioRun) -> str:
    """The tiles of a run over time: what each issues in which iteration, with its result; or what each unit does."""
    trace = run.trace
    spans = _issue_spans(trace) if isinstance(trace, ClockedTrace) else trace.spans()
    return perfetto(spans, process=f"{run.mapping.dfg.name} on {run.mapping.arch.name}")


def _issue_spans(trace: ClockedTrace) -> Iterator[Span]:
    """A span for each firing of each issue slot."""
    configuration = trace.compiled.configuration
    arch, dfg = configuration.arch, configuration.dfg
    order = sorted(range(len(configuration.slots)), key=lambda k: configuration.slots[k].tile)
    for k in order:
        slot = configuration.slots[k]
        node = dfg.nodes[slot.node] if slot.node >= 0 else None
        name = (node.id if slot.kind == "op" else f"{slot.kind} of {node.id}") if node is not None else slot.kind
        for firing in range(trace.stimulus.iterations):
            start = (trace.compiled.stages[k] + firing) * configuration.ii + slot.slot
            facts = {"iteration": firing, "value": str(decode(dfg.domain, int(trace.results[firing, k])))}
            yield Span(
                track=arch.tiles[slot.tile].name, name=name, start=start, cycles=max(slot.latency, 1), facts=facts
            )
