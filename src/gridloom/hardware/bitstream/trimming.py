"""Hardware that has only what a set of mappings needs.

Multiplexer inputs, ops, FIFO cycles and memory ports that no mapping uses are left out, and settings of the array that
are the same in all of them are wires: then static timing sees the pipeline registers that the mappings switch on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gridloom.errors import MappingError
from gridloom.hardware.bitstream.encode import OP_NAMES, fit_parameters, setting_bits, uses_memory
from gridloom.hardware.parameters import HardwareParameters, Trim
from gridloom.mapping.configuration import Configuration


def trim_parameters(configurations: Sequence[Configuration], parameters: HardwareParameters) -> HardwareParameters:
    """Return parameters of hardware that has only what these configurations of one array need.

    Every op, every input of a multiplexer, FIFO cycle and memory port that none of them uses is left out, the sizes are
    the largest that one of them needs, and a setting that all of them have in common is wired. MappingError for
    configurations of different arrays. Linear in their slots and resources.
    """
    arch = configurations[0].arch
    ops: set[tuple[int, str]] = set()
    arcs: set[tuple[int, int, int, int]] = set()
    memory: set[int] = set()
    fifos = [0] * len(arch.tiles)
    settings = [setting_bits(configuration) for configuration in configurations]
    for configuration in configurations:
        if configuration.arch.fingerprint != arch.fingerprint:
            other = configuration.arch.name
            raise MappingError(f"mappings on {arch.name!r} and {other!r}: trim for one array at a time")
        parameters = fit_parameters(configuration, parameters)
        for slot in configuration.slots:
            if slot.kind == "op":
                op = configuration.dfg.ops[slot.node]
                # Names of domain f32 become those of the one table of codes that the hardware has.
                ops.add((slot.tile, OP_NAMES[op.code] if configuration.dfg.domain == "f32" else op.name))
            if slot.kind in ("load", "store") or uses_memory(configuration, slot):
                memory.add(slot.tile)
            fifos[slot.tile] = max([fifos[slot.tile], *(operand.fifo for operand in slot.operands)])
        arcs |= _used_arcs(configuration)
    common = tuple(found[0] if len(set(found)) == 1 else -1 for found in zip(*settings, strict=True))
    kept = Trim(
        ops=tuple(sorted(ops)), arcs=tuple(sorted(arcs)), fifos=tuple(fifos), memory=tuple(sorted(memory)),
        settings=common,
    )  # fmt: skip
    return replace(parameters, trim=kept)


def _used_arcs(configuration: Configuration) -> set[tuple[int, int, int, int]]:
    """The arcs into wires that a configuration uses, as (source, target, cycles, gate)."""
    arch, count = configuration.arch, len(configuration.arch.kind)
    bits = setting_bits(configuration)
    wanted = set()
    for row, slot in zip(*(axis.tolist() for axis in np.nonzero(configuration.driver >= 0))):
        target = row if row < count else configuration.lanes[row - count]
        wanted.add((int(configuration.driver[row, slot]), target, int(configuration.delay[row, slot])))
    columns = (arch.arc_source.tolist(), arch.arc_target.tolist(), arch.arc_latency.tolist(), arch.arc_gate.tolist())
    return {
        (source, target, cycles, gate)
        for source, target, cycles, gate in zip(*columns)
        if (source, target, cycles + (bits[gate] if gate >= 0 else 0)) in wanted
    }
