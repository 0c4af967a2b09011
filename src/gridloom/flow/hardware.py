"""A mapping on its own hardware: the RTL is simulated by another program and compared with our simulator.

The simulator computes in 32 bits. Hardware of other words is compared with the reference interpreter in words of
that length: each firing still has to come in the cycle that the configuration says.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gridloom.dfg.interpreter import Observation, Stimulus
from gridloom.errors import MappingError
from gridloom.mapping.configuration import Configuration, configure
from gridloom.mapping.model import Mapping

if TYPE_CHECKING:
    from gridloom.archs.model import Arch
    from gridloom.dfg.interpreter import Interpreter
    from gridloom.dfg.model import Dfg
    from gridloom.hardware.cosimulation import Bench, HardwareRun, Simulator
    from gridloom.hardware.energy import Energy
    from gridloom.hardware.parameters import HardwareParameters
    from gridloom.hardware.rtl.structure import Hardware


@dataclass(frozen=True, kw_only=True)
class Cosimulation:
    """What a co-simulation found: nothing, if hardware and simulator agree in every firing, output and memory word.

    ``trip_counts`` are the runs that were compared and ``cycles`` their sum. Short trip counts are the hard ones: a
    loop of one iteration is all prologue and epilogue.
    """

    findings: tuple[str, ...]
    trip_counts: tuple[int, ...]
    cycles: int
    #: What streams, memories and live-ins were drawn from, and the live-ins that were drawn.
    seed: int = 0
    random_liveins: tuple[str, ...] = ()


def hardware_for(
    arch: Arch,
    parameters: HardwareParameters,
    *,
    mapping: Mapping | None = None,
    trim: Sequence[Mapping] = (),
) -> Hardware:
    """Return the hardware of an array: large enough for a mapping, no larger than ``trim`` needs if that is given.

    MappingError for mappings on other arrays.
    """
    from gridloom.hardware.bitstream.encode import fit_parameters
    from gridloom.hardware.bitstream.trimming import trim_parameters
    from gridloom.hardware.rtl.structure import Hardware

    if mapping is not None:
        parameters = fit_parameters(configure(mapping), parameters)
    if trim:
        kept = [m for m in (mapping, *trim) if m is not None]
        for other in kept:
            if other.arch.fingerprint != arch.fingerprint:
                raise MappingError(f"a mapping on {other.arch.name!r} says nothing about {arch.name!r}")
        parameters = trim_parameters([configure(m) for m in kept], parameters)
    return Hardware(arch, parameters)


def operations(hardware: Hardware, mapping: Mapping | None = None) -> tuple[int, int]:
    """Return (ops, II) of a mapping: what it computes per round; of an array alone, the most that it could.

    Throughput is ops x clock / II. Ops are those that a function unit or a memory port does, in all SIMD lanes;
    constants, live-ins and ports of streams are none.
    """
    if mapping is None:
        return sum(unit.shape.kind == "pe" and unit.shape.ops > 0 for unit in hardware.units) * hardware.simd_lanes, 1
    return computing_ops(mapping.dfg) * hardware.simd_lanes, mapping.ii


def computing_ops(dfg: Dfg) -> int:
    """Return how many nodes of a graph a function unit or a memory port computes."""
    idle = ("const", "livein", "input", "output", "route")
    return sum(op.op_class not in idle for op in dfg.ops)


def energy_of(mapping: Mapping, *, iterations: int = 32, seed: int = 0, width: int = 32) -> Energy:
    """Return the energy of one iteration of a mapping on random inputs, from the values of a simulated run.

    With SIMD lanes it is the energy of one lane, without the control that lanes share.

    Needs a mapping that the simulator runs. Costs a simulation of ``iterations`` iterations.
    """
    from gridloom.hardware.energy import energy
    from gridloom.sim import run, stimulus_for

    configuration = configure(mapping)
    observed = run(configuration, stimulus_for(mapping.dfg, iterations, seed=seed))
    return energy(mapping, np.asarray(observed.values, dtype=np.int64), width=width)


def shared_parameters(mappings: Sequence[Mapping]) -> HardwareParameters:
    """Return parameters of hardware on which all of these mappings run; they are on the same array.

    Sizes are rounded up to powers of two, and there is a port for live-outs: hardware that is built for some mappings
    then serves most others.
    """
    from gridloom.hardware.bitstream.encode import fit_parameters

    parameters: HardwareParameters | None = None
    for mapping in mappings:
        parameters = fit_parameters(configure(mapping), parameters)
    if parameters is None:
        raise MappingError("hardware for no mapping at all")
    sizes = {name: getattr(parameters, name) for name in ("contexts", "fifo", "values", "memory_words", "spill_depth")}
    rounded = {name: 1 << (size - 1).bit_length() if size else 0 for name, size in sizes.items()}
    stages = (1 << parameters.stages.bit_length()) - 1
    return replace(parameters.at_least(**rounded, stages=stages), liveouts=True)


def bench_files(
    mapping: Mapping,
    hardware: Hardware,
    *,
    iterations: int = 32,
    seed: int = 0,
    liveins: MappingABC[str, int] | None = None,
) -> dict[str, str]:
    """Return the files of one run of the testbench: stimulus, options of its program and the expected trace.

    Streams, memories and live-ins are random, but for the ``liveins`` that are given.
    """
    from gridloom.hardware.cosimulation import bench_inputs, expected_trace

    configuration = configure(mapping)
    lanes = _expected(configuration, hardware, iterations, seed, liveins or {})
    stimuli = [stimulus for stimulus, _ in lanes]
    files, options = bench_inputs(hardware, configuration, stimuli)
    expected = expected_trace(hardware, configuration, stimuli, [shown for _, shown in lanes])
    return files | {"options": " ".join(options) + "\n", "expected.txt": expected}


def cosimulate_mapping(
    mapping: Mapping,
    *,
    iterations: int = 32,
    seed: int = 0,
    simulator: Simulator = "icarus",
    bench: Bench | None = None,
    stall: int = 0,
    liveins: MappingABC[str, int] | None = None,
) -> Cosimulation:
    """Run a mapping on the generated hardware of its array, loaded with its bits, and in ``sim``; compare them.

    Streams, memories and live-ins are random, but for the ``liveins`` that are given; each SIMD lane has streams and
    memories of its own. A run with live-ins that are all 0 would show nothing of a filter. There are runs of
    ``iterations``, of 2 and of 1 iterations. With a seed in ``stall`` streams, outputs and memory make the array wait
    in random cycles. MissingExtra when the simulator is not installed; MappingError where the hardware is too small, or
    a constant does not fit its words. Costs the compilation of the hardware unless a ``bench`` is given.
    """
    from gridloom.hardware.bitstream.encode import fit_parameters
    from gridloom.hardware.cosimulation import Bench
    from gridloom.hardware.rtl.structure import Hardware

    configuration = configure(mapping)
    chosen = bench or Bench(Hardware(mapping.arch, fit_parameters(configuration)), simulator=simulator)
    findings: list[str] = []
    counts: list[int] = []
    cycles = 0
    # Loops of one and two iterations end before the pipeline is full, which a long run never shows.
    for count in sorted({1, min(2, iterations), iterations}):
        lanes = _expected(configuration, chosen.hardware, count, seed + count, liveins or {})
        runs = chosen.run_lanes(configuration, [stimulus for stimulus, _ in lanes], stall=stall)
        for lane, shown in enumerate(runs):
            where = f"lane {lane}: " if lane else ""
            findings += [where + text for text in differences(configuration, lanes[lane][1], shown)]
        counts.append(lanes[0][0].iterations)
        cycles += runs[0].cycles
    drawn = tuple(name for name in mapping.dfg.liveins if name not in (liveins or {}))
    return Cosimulation(
        findings=tuple(findings), trip_counts=tuple(counts), cycles=cycles, seed=seed, random_liveins=drawn
    )


def _expected(
    configuration: Configuration, hardware: Hardware, iterations: int, seed: int, liveins: MappingABC[str, int]
) -> list[tuple[Stimulus, Observation]]:
    """Return a stimulus for each SIMD lane, with what the simulator expects, or the interpreter for other words.

    ``liveins`` replace those that were drawn; SimulationError where they lead outside an array. Narrower words wrap
    earlier, so that the stimulus is one whose addresses stay within their arrays at that length.
    """
    from gridloom.dfg.interpreter import Interpreter
    from gridloom.dfg.words import WordInterpreter
    from gridloom.sim import run
    from gridloom.sim.lanes import lane_stimuli

    dfg, width = configuration.dfg, hardware.word_bits
    if dfg.domain != "i32" or width == 32:
        interpreter = Interpreter(dfg)
        drawn = _given(interpreter, lane_stimuli(interpreter, hardware.simd_lanes, iterations, seed), liveins)
        return [(stimulus, run(configuration, stimulus)) for stimulus, _ in drawn]
    narrow = WordInterpreter(dfg, width)
    drawn = _given(narrow, lane_stimuli(narrow, hardware.simd_lanes, iterations, seed), liveins)
    return [(narrow.fitted(stimulus), expected) for stimulus, expected in drawn]


def _given(
    interpreter: Interpreter, drawn: list[tuple[Stimulus, Observation]], liveins: MappingABC[str, int]
) -> list[tuple[Stimulus, Observation]]:
    """Return stimuli in which these live-ins, words of the configuration bits, replace those that were drawn."""
    from gridloom.dfg.semantics import encode
    from gridloom.dfg.words import word_of

    domain = interpreter.dfg.domain
    words = {name: word_of(value, 32) if domain == "f32" else encode(domain, value) for name, value in liveins.items()}
    stimuli = [replace(stimulus, liveins=stimulus.liveins | words) for stimulus, _ in drawn]
    return [(stimulus, interpreter.run(stimulus)) for stimulus in stimuli] if words else drawn


def compare(configuration: Configuration, stimulus: Stimulus, shown: HardwareRun) -> list[str]:
    """Return the differences between a run of the hardware and the simulator's run, one sentence each."""
    from gridloom.sim import run

    return differences(configuration, run(configuration, stimulus), shown)


def differences(configuration: Configuration, expected: Observation, shown: HardwareRun) -> list[str]:
    """Return the differences between the expected observation and a run of the hardware, one sentence each."""
    observed = shown.observation
    where = f" (run of {expected.iterations})"
    findings = [problem + where for problem in shown.problems]
    nodes = configuration.dfg.nodes
    for iteration, k in zip(*(axis.tolist() for axis in np.nonzero(expected.values != observed.values))):
        values = f"expected {expected.values[iteration, k]}, hardware {observed.values[iteration, k]}"
        findings.append(f"node {nodes[k].id} in iteration {iteration}: {values}{where}")
    return findings + [text + where for text in _end_differences(expected, observed)]


def _end_differences(expected: Observation, observed: Observation) -> list[str]:
    """Return the differences in outputs, memories and live-outs, one sentence each."""
    lines = []
    for kind, want, got in (
        ("output", expected.outputs, observed.outputs),
        ("memory", expected.memory, observed.memory),
    ):
        for name, words in want.items():
            lines += [
                f"{kind} {name}[{k}]: expected {words[k]}, hardware {got[name][k]}"
                for k in np.flatnonzero(words != got[name]).tolist()
            ]
    for name, value in expected.liveouts.items():
        if observed.liveouts.get(name) != value:
            lines.append(f"live-out {name}: expected {value}, hardware {observed.liveouts.get(name)}")
    return lines
