"""A mapping on its own hardware: the RTL is simulated by another program and compared with our simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gridloom.dfg.interpreter import Observation, Stimulus
from gridloom.mapping.configuration import Configuration, configure
from gridloom.mapping.model import Mapping

if TYPE_CHECKING:
    from gridloom.emit.rtl.cosim import Bench, HardwareRun, Simulator


@dataclass(frozen=True, kw_only=True)
class Cosimulation:
    """What a co-simulation found: nothing, if hardware and simulator agree in every firing, output and memory word."""

    findings: tuple[str, ...]
    trip_counts: tuple[int, ...]
    cycles: int


def cosimulate_mapping(
    mapping: Mapping,
    *,
    iterations: int = 32,
    seed: int = 0,
    simulator: Simulator = "icarus",
    bench: Bench | None = None,
) -> Cosimulation:
    """Run a mapping on the generated hardware of its array, loaded with its bits, and in ``sim``; compare them.

    Random streams, live-ins and memories; a run of ``iterations`` iterations, one of 2 and one of 1. MissingExtra when
    the simulator is not installed. Costs the compilation of the hardware unless a ``bench`` is given.
    """
    from gridloom.emit.rtl.cosim import Bench
    from gridloom.emit.rtl.encode import fitted
    from gridloom.emit.rtl.structure import Hardware
    from gridloom.sim import stimulus_for

    configuration = configure(mapping)
    chosen = bench or Bench(Hardware(mapping.arch, fitted(configuration)), simulator=simulator)
    findings: list[str] = []
    counts: list[int] = []
    cycles = 0
    for count in sorted({1, min(2, iterations), iterations}):
        stimulus = stimulus_for(mapping.dfg, count, seed=seed + count)
        shown = chosen.run(configuration, stimulus)
        findings += compare(configuration, stimulus, shown)
        counts.append(stimulus.iterations)
        cycles += shown.cycles
    return Cosimulation(findings=tuple(findings), trip_counts=tuple(counts), cycles=cycles)


def compare(configuration: Configuration, stimulus: Stimulus, shown: HardwareRun) -> list[str]:
    """The differences between a run of the hardware and the simulator's run of the same stimulus, in words."""
    from gridloom.sim import run

    expected, found = run(configuration, stimulus), shown.observation
    where = f" (run of {stimulus.iterations})"
    findings = [problem + where for problem in shown.problems]
    nodes = configuration.dfg.nodes
    for iteration, k in zip(*(axis.tolist() for axis in np.nonzero(expected.values != found.values))):
        values = f"simulator {expected.values[iteration, k]}, hardware {found.values[iteration, k]}"
        findings.append(f"node {nodes[k].id} in iteration {iteration}: {values}{where}")
    return findings + [text + where for text in _end_differences(expected, found)]


def _end_differences(expected: Observation, found: Observation) -> list[str]:
    lines = []
    for kind, want, got in (
        ("output", expected.outputs, found.outputs),
        ("memory", expected.memory, found.memory),
    ):
        for name, words in want.items():
            lines += [
                f"{kind} {name}[{k}]: simulator {words[k]}, hardware {got[name][k]}"
                for k in np.flatnonzero(words != got[name]).tolist()
            ]
    for name, value in expected.liveouts.items():
        if found.liveouts.get(name) != value:
            lines.append(f"live-out {name}: simulator {value}, hardware {found.liveouts.get(name)}")
    return lines
