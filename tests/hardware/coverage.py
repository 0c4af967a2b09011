"""What a set of runs has exercised of an array's hardware: inputs of multiplexers and ops of function units.

Co-simulation shows that the hardware computes what a configuration says; coverage says which part of the hardware the
configurations have used at all. A wire of one source is no multiplexer. An input counts for the unit variant that it
belongs to, since units of one variant share their circuit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gridloom.dfg.ops import OP_TABLE
from gridloom.hardware.bitstream.packets import Fields
from gridloom.hardware.rtl.shapes import Shape, Unit
from gridloom.hardware.rtl.structure import Hardware


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How many inputs and ops there are, how many were used, and which were not."""

    inputs: int
    inputs_used: int
    ops: int
    ops_used: int
    #: ``VARIANT.WIRE <- SOURCE`` and ``VARIANT: OP`` of what no configuration has used.
    unused: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.inputs_used} of {self.inputs} multiplexer inputs, {self.ops_used} of {self.ops} ops"


def cover(hardware: Hardware, configured: Iterable[Fields]) -> Coverage:
    """Return what a sequence of encoded configurations of this hardware has used. Linear in their fields.

    A wire that carries nothing in a slot has selection 0 in the bits; its first input counts as used only in a slot
    that issues something.
    """
    names = hardware.variants
    possible: dict[str, bool] = {}
    for shape, name in names.items():
        muxes = [mux for mux in shape.muxes if mux.select_bits]
        possible |= {_input(name, mux.name, source.signal): True for mux in muxes for source in mux.sources}
    ops = {f"{names[shape]}: {op}" for shape in names for op in _ops(hardware, shape)}
    used: set[str] = set()
    for fields in configured:
        for unit in hardware.units:
            if unit.shape.kind == "pe" and unit.name in fields.units:
                for context in fields.units[unit.name].contexts.values():
                    used |= _used(hardware, unit, context)
    return Coverage(
        inputs=len(possible),
        inputs_used=len(used & possible.keys()),
        ops=len(ops),
        ops_used=len(used & ops),
        unused=tuple(sorted((possible.keys() | ops) - used)),
    )


def _input(variant: str, wire: str, source: str) -> str:
    return f"{variant}.{wire} <- {source}"


def _used(hardware: Hardware, unit: Unit, context: dict[str, int]) -> set[str]:
    """What one slot of a unit uses."""
    name = hardware.variants[unit.shape]
    issues = bool(context.get("valid"))
    used = set()
    for mux in unit.shape.muxes:
        chosen = context.get(f"{mux.name}.select", 0) - mux.idle
        if 0 <= chosen < len(mux.sources) and (chosen or issues):
            used.add(_input(name, mux.name, mux.sources[chosen].signal))
    if issues and "opcode" in context:
        used |= {f"{name}: {op}" for op in _ops(hardware, unit.shape) if hardware.opcode(unit, op) == context["opcode"]}
    return used


def _ops(hardware: Hardware, shape: Shape) -> list[str]:
    """The ops that a shape's function unit computes."""
    unit = hardware.places[shape][0]
    return [
        name for name in OP_TABLE[hardware.domain] if shape.kind == "pe" and hardware.opcode(unit, name) is not None
    ]
