"""What a mapping costs on the machine: the clocks of its program, which its II says little about.

An instruction of all PEs lasts 1 clock, 3 with a multiplication, and for each column the number of its accesses and 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MappingError
from gridloom.mapping.model import Mapping
from gridloom.targets.modulo.export.openedge.assembly import assemble
from gridloom.targets.modulo.export.openedge.words import LENGTH, PeInstruction

#: Iterations of the run whose clocks are counted.
TRIPS: Final = 64
#: The II from which on no program has a line left for its end.
MOST_II: Final = LENGTH - 1
#: Iterations that a program begins before its kernel at most, beside those that its nodes span.
_BEGUN: Final = 4
#: Clocks of a multiplication, and of one access.
_SLOW: Final = 3
_ACCESS: Final = 2
_ACCESSES: Final = frozenset({"LWI", "SWI", "LWD", "SWD"})


def clocks_of(op_class: str) -> int:
    """Return the clocks of an instruction that has nothing but an op of this class."""
    return {"mul": _SLOW, "mem": _ACCESS}.get(op_class, 1)


def takes_lane(op_class: str) -> bool:
    """Return whether ops of this class wait for each other in their lane."""
    return op_class == "mem"


def lanes_of(arch: Arch) -> list[int]:
    """Return the lane of each tile: its column."""
    return [tile.col for tile in arch.tiles]


def cost(mapping: Mapping, most: float = math.inf) -> float:
    """Return the clocks of a run of the mapping's program; infinite where there is none, or not fewer than ``most``.

    Most mappings are dismissed by the clocks of their nodes, which takes a small part of the time.
    """
    if _least_clocks(mapping) >= most:
        return math.inf
    try:
        program = assemble(mapping)
    except MappingError:
        return math.inf
    begin, end = program.kernel
    clocks = [_clocks(line, program.cols) for line in program.lines]
    kernel = sum(clocks[begin:end])
    return sum(clocks) + kernel * (max(TRIPS, program.least) - program.least)


def expect(dfg: Dfg, arch: Arch, ii: int) -> int:
    """Return the clocks of a run at an II where slow ops share slots and accesses are spread over lanes.

    A slot of a slow op has time for some accesses of each lane; each further clock has time for one more.
    """
    classes = [op.op_class for op in dfg.ops]
    slow = math.ceil(sum(clocks_of(name) > _ACCESS for name in classes) / len(arch.tiles))
    kernel = ii + slow * (_SLOW - 1)
    lanes = len(set(lanes_of(arch)))
    left = sum(takes_lane(name) for name in classes) - slow * (_SLOW - 1) * lanes
    return (kernel + max(0, math.ceil(left / lanes))) * (TRIPS - 1)


def _least_clocks(mapping: Mapping) -> int:
    """Return a bound on the clocks of a run: those of the kernel's passes, each of which has each node once."""
    classes = {node.id: op.op_class for node, op in zip(mapping.dfg.nodes, mapping.dfg.ops)}
    longest = [1] * mapping.ii
    waiting: dict[tuple[int, int], int] = {}
    for instance in mapping.instances:
        if instance.place in mapping.arch.tile_index:
            slot, op_class = instance.cycle % mapping.ii, classes[instance.node]
            longest[slot] = max(longest[slot], clocks_of(op_class))
            if takes_lane(op_class):
                lane = slot, mapping.arch.tiles[mapping.arch.tile_index[instance.place]].col
                waiting[lane] = waiting.get(lane, 0) + 1
    for (slot, _), accesses in waiting.items():
        longest[slot] = max(longest[slot], accesses + 1)
    cycles = [instance.cycle for instance in mapping.instances]
    begun = (max(cycles) - min(cycles)) // mapping.ii + _BEGUN
    return sum(longest) * max(0, TRIPS - begun)


def _clocks(line: Sequence[PeInstruction], cols: int) -> int:
    """Return the clocks of an instruction of all PEs."""
    waiting = [sum(i.op in _ACCESSES for i in line[column::cols]) for column in range(cols)]
    return max(3 if any(i.op in ("SMUL", "FXPMUL") for i in line) else 1, max(waiting) + 1)
