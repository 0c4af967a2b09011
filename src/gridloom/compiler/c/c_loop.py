"""What the front end makes of a loop: the graph, and what its names mean in C.

Instructions and values are records of :mod:`gridloom.compiler.ir.ir`, which live as long as the ``CLoop``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gridloom.compiler.c.address import Base
from gridloom.compiler.c.arrays import CArray
from gridloom.compiler.c.dependences import Overlap, advice
from gridloom.compiler.c.region import LoopRegion
from gridloom.compiler.ir.ir import Instruction, IrModule, Value
from gridloom.compiler.loops.operations import LoopOperation
from gridloom.compiler.loops.prologue import elements_of, prologue_values
from gridloom.dfg.model import Dfg


@dataclass(frozen=True, kw_only=True)
class CLoop:
    """A translated loop: its graph, and what the graph's names mean in C.

    Whoever runs the graph needs the meanings to hand it memory and arguments, and to compare it with the compiled C.
    """

    dfg: Dfg
    function: str
    line: int
    arrays: tuple[CArray, ...]
    #: Array -> the pointer that its words are counted from.
    bases: Mapping[str, Base] = field(repr=False)
    #: Load or store -> the node that does it (which may be left out where nothing needs it).
    accesses: Mapping[Instruction, str] = field(repr=False)
    #: Input or output node -> the load or store that it stands for.
    streams: Mapping[str, Instruction]
    #: Live-in name -> the IR value that it stands for.
    liveins: Mapping[str, Value]
    #: Live-in of 64 bits -> the live-in that holds its high word.
    high_liveins: Mapping[str, str]
    #: Live-ins that are computed before the loop from those above and from memory: name -> its operation, in order.
    prologue: Mapping[str, LoopOperation]
    #: Live-out name -> the instruction whose last value it is.
    liveouts: Mapping[str, Instruction]
    #: Live-out of 64 bits -> the live-out that holds its high word.
    high_words: Mapping[str, str]
    #: Iterations: a number, the name of the bound, or "" where the source does not say simply.
    trip: str
    #: Arrays that are kept in order because C lets them overlap.
    overlaps: tuple[Overlap, ...]
    #: Node -> line of the source; of an unrolled loop, the node before its copies got their numbers.
    lines: Mapping[str, int] = field(repr=False)
    region: LoopRegion = field(repr=False)
    module: IrModule = field(repr=False)

    def start(self, liveins: Mapping[str, int], memory: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """All live-ins of the graph, from the values of :attr:`liveins` and the words of the arrays before the loop.

        Values are signed words; an array is given by its name in ``arrays``.
        """
        return {**liveins, **prologue_values(self.prologue, liveins, elements_of(memory))}

    def words_of(self, name: str, number: int) -> dict[str, int]:
        """The live-ins that hold a number: one word, or two where it has 64 bits."""
        if name not in self.high_liveins:
            return {name: number}
        low = ((number + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
        high = (((number >> 32) + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
        return {name: low, self.high_liveins[name]: high}

    def last(self, name: str, liveouts: Mapping[str, int]) -> int:
        """What an instruction of :attr:`liveouts` was last, from the graph's live-outs: a word, or two joined."""
        low = liveouts[name]
        if name not in self.high_words:
            return low
        return (low & 0xFFFFFFFF) | liveouts[self.high_words[name]] << 32

    def advice(self) -> list[str]:
        """One line for each pair of arrays that ``restrict`` would set free."""
        return [advice(overlap) for overlap in self.overlaps]
