"""Parts that are mapped, unrolled and run: each checked and simulated, and all together against the unsplit graph.

Two checks make a partition trustworthy. Each part, with all its copies, must be legal and compute what its own graph
computes; and the parts, run one after the other, must give the outputs of the unsplit graph, which also tests the cut
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridloom.dfg.interpreter import Stimulus, Words, interpret
from gridloom.dfg.model import Dfg
from gridloom.flow.confirmation import illegalities, metrics, run_configuration
from gridloom.flow.loops.alternatives import Rewrite
from gridloom.flow.partition.result import MappedPart
from gridloom.flow.partition.unroll_columns import copy_name, side_by_side, width_of
from gridloom.mapping.configuration import configure
from gridloom.mapping.model import Mapping
from gridloom.partition import Part


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """The parts as they run, and what is wrong with them; no findings: nothing."""

    parts: tuple[MappedPart, ...]
    findings: tuple[str, ...]


def confirm_parts(
    dfg: Dfg,
    parts: Sequence[Part],
    mappings: Sequence[Mapping],
    iterations: int,
    seed: int,
    rewrite: Rewrite | None = None,
) -> Confirmed:
    """Unroll each mapping over the columns, check and simulate it, and run the parts one after the other.

    With ``rewrite``, the whole is also compared with the loop of 32-bit integers that the graph stands for. Linear in
    hops, and in iterations times tiles.
    """
    mapped: list[MappedPart] = []
    findings: list[str] = []
    for part, mapping in zip(parts, mappings, strict=True):
        width = width_of(mapping)
        copies = mapping.arch.cols // width
        placed = side_by_side(mapping, copies)
        problems = [f"{placed.dfg.name}: {text}" for text in illegalities(placed)]
        configuration = None if problems else configure(placed)
        if configuration is not None:
            simulation = run_configuration(configuration, iterations=iterations, seed=seed)
            problems = [f"{placed.dfg.name}: {text}" for text in simulation.findings]
        findings += problems
        measured = metrics(placed)
        mapped.append(
            MappedPart(
                part=part,
                mapping=placed,
                configuration=configuration,
                width=width,
                unroll=copies,
                latency=int(measured["latency"] or 0),
                occupancy=float(measured["occupancy"]),
                confirmed=not problems,
            )
        )
    # Parts that are wrong by themselves would only repeat their findings as differences of the whole.
    if not findings:
        findings = whole_differences(dfg, mapped, iterations, seed)
    if not findings and rewrite is not None:
        given, words = rewrite.stimulus(iterations, seed)
        findings = rewrite.findings(given, run_mapped_parts(mapped, words))
    return Confirmed(parts=tuple(mapped), findings=tuple(findings))


def whole_differences(dfg: Dfg, parts: Sequence[MappedPart], iterations: int, seed: int) -> list[str]:
    """Return where the parts differ from the unsplit graph, one sentence each.

    The parts run one after the other on the simulated array, over a shared memory.
    """
    from gridloom.sim import stimulus_for

    stimulus = stimulus_for(dfg, iterations, seed)
    expected = interpret(dfg, stimulus).outputs
    outputs = run_mapped_parts(parts, stimulus)
    return [
        f"output {name!r} of the parts differs from the unsplit graph's"
        for name, words in expected.items()
        if name not in outputs or not np.array_equal(outputs[name], words)
    ]


def run_mapped_parts(parts: Sequence[MappedPart], stimulus: Stimulus) -> dict[str, Words]:
    """Run each part's configuration over all iterations; memory holds one stream for each value that was stored.

    Copy k of n takes iterations k, k + n, k + 2n, ...; where they do not come out even, the last ones are made up
    and dropped again. Returns the output streams by node.
    """
    memory: dict[str, Words] = dict(stimulus.streams)
    outputs: dict[str, Words] = {}
    for item in parts:
        seen = _run(item, memory, stimulus)
        for output, source in item.part.stores.items():
            memory[source] = seen[output]
        outputs |= seen
    return outputs


def _run(item: MappedPart, memory: dict[str, Words], stimulus: Stimulus) -> dict[str, Words]:
    """Run the copies of one part over all iterations and return the streams that it stores."""
    from gridloom.sim import run

    copies, n = item.unroll, stimulus.iterations
    rounds = -(-n // copies)
    streams = {}
    for name, source in item.part.loads.items():
        padded = np.concatenate([memory[source], np.zeros(rounds * copies - n, dtype=np.int64)])
        for k in range(copies):
            streams[copy_name(name, k)] = np.ascontiguousarray(padded[k::copies])
    seen = run(
        item.configuration or configure(item.mapping),
        Stimulus(iterations=rounds, streams=streams, liveins=dict(stimulus.liveins)),
    )
    outputs = {}
    for name in item.part.stores:
        words = np.empty(rounds * copies, dtype=np.int64)
        for k in range(copies):
            words[k::copies] = seen.outputs[copy_name(name, k)]
        outputs[name] = words[:n]
    return outputs
