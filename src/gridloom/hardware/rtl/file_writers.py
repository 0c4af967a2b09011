"""What writes the registers of an array: results of function units, and wires, straight or by write ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.errors import ArchError

_WIRES: Final = (Kind.IN, Kind.LINK, Kind.SWITCH)

#: (source, cycles, gate) of an arc.
Arc = tuple[int, int, int]


def find_multiplexers(arch: Arch) -> list[bool]:
    """Return for each resource whether it is a multiplexer of its unit; write ports are part of a register file."""
    wires = np.isin(arch.kind, [int(kind) for kind in _WIRES])
    written = (arch.kind[arch.arc_target] == Kind.REG) & (arch.arc_latency == 0)
    ports = arch.arc_source[written & (arch.kind[arch.arc_source] == Kind.SWITCH)]
    wires[ports] = False
    return [bool(wire) for wire in wires]


class FileWriters:
    """Who writes a register, by the arcs into it (``incoming``) and the resources that are multiplexers."""

    def __init__(self, arch: Arch, incoming: Mapping[int, Sequence[Arc]], is_wire: Sequence[bool]) -> None:
        self.arch, self.incoming, self.is_wire = arch, incoming, is_wire

    def ports(self, register: int) -> list[int]:
        """Return the write ports that lead to a register."""
        rows = self.incoming.get(register, ())
        return [s for s, cycles, _ in rows if cycles == 0 and self.arch.kind[s] == Kind.SWITCH]

    def writers(self, register: int) -> list[tuple[int, int]]:
        """Return what may write a register, straight or by ports: (source, cycles)."""
        ends = self.ports(register) or [register]
        return list(dict.fromkeys((s, c) for r in ends for s, c, _ in self.incoming.get(r, ())))

    def wires(self, register: int) -> list[int]:
        """Return the wires that may write a register; ArchError where one takes another time than the register does."""
        rows = [(source, cycles) for source, cycles in self.writers(register) if self.is_wire[source]]
        for source, cycles in rows:
            if cycles != 1:
                names = self.arch.resource_names
                raise ArchError(
                    f"{names[source]!r} reaches register {names[register]!r} of array {self.arch.name!r} in {cycles} "
                    "cycles; hardware is generated for 1"
                )
        return [source for source, _ in rows]
