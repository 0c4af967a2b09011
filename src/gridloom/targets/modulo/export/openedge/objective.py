"""What a mapping costs on the machine: the clocks of its program, which its II says little about.

An instruction of all PEs lasts 1 clock, 3 with a multiplication, and for each column the number of its accesses and 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from gridloom.archs.model import Arch
from gridloom.errors import MappingError
from gridloom.mapping.model import Mapping
from gridloom.targets.modulo.export.openedge.assembly import assemble
from gridloom.targets.modulo.export.openedge.words import LENGTH, PeInstruction

#: Iterations of the run whose clocks are counted.
TRIPS: Final = 64
#: The II from which on no program has a line left for its end.
MOST_II: Final = LENGTH - 1
_ACCESSES: Final = frozenset({"LWI", "SWI", "LWD", "SWD"})


def clocks_of(op_class: str) -> int:
    """Return the clocks of an instruction that has nothing but an op of this class."""
    return {"mul": 3, "mem": 2}.get(op_class, 1)


def takes_lane(op_class: str) -> bool:
    """Return whether ops of this class wait for each other in their lane."""
    return op_class == "mem"


def lanes_of(arch: Arch) -> list[int]:
    """Return the lane of each tile: its column."""
    return [tile.col for tile in arch.tiles]


def cost(mapping: Mapping) -> float:
    """Return the clocks of a run of the mapping's program; infinite where there is none."""
    try:
        program = assemble(mapping)
    except MappingError:
        return math.inf
    begin, end = program.kernel
    clocks = [_clocks(line, program.cols) for line in program.lines]
    kernel = sum(clocks[begin:end])
    return sum(clocks) + kernel * (max(TRIPS, program.least) - program.least)


def _clocks(line: Sequence[PeInstruction], cols: int) -> int:
    """Return the clocks of an instruction of all PEs."""
    waiting = [sum(i.op in _ACCESSES for i in line[column::cols]) for column in range(cols)]
    return max(3 if any(i.op in ("SMUL", "FXPMUL") for i in line) else 1, max(waiting) + 1)
