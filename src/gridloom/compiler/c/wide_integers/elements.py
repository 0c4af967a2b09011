"""64-bit elements of arrays: each access is two accesses of words, four bytes apart.

The words of an ``int64_t`` array are those of an array of twice as many ``int32_t``. A load or store of 64 bits is
therefore replaced by two of 32 bits before arrays are made of the accesses; what is loaded is a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from gridloom.compiler.c.wide_integers.pairs import Wide, WordPair
from gridloom.compiler.ir.ir import Constant, Instruction, Value
from gridloom.compiler.loops.operations import Operand
from gridloom.errors import SourceError


def word_accesses(items: Iterable[Instruction]) -> dict[Instruction, tuple[Instruction, ...]]:
    """Load or store of 64 bits -> that of its low word and that of its high word."""
    return {item: _halves(item) for item in items if item.opcode in ("load", "store") and _stored(item) == "i64"}


def _stored(item: Instruction) -> str:
    return item.type if item.opcode == "load" else item.operands[0].type


def _halves(item: Instruction) -> tuple[Instruction, ...]:
    """The accesses of the two words of a 64-bit access."""
    pointer = item.operands[-1]
    above = Instruction(f"{item.name or 'wide'}_above", "ptr", "getelementptr", "", item.block, item.line)
    above.operands, above.source_type = [pointer, Constant("i32", 1)], "i32"
    made = []
    for word, place in (("low", pointer), ("high", above)):
        name = f"{item.name}_{word}" if item.name else ""
        half = replace(item, name=name, align=4, operands=[place], type="i32" if item.opcode == "load" else item.type)
        if item.opcode == "store":
            half.operands.insert(0, Instruction(f"stored_{word}", "i32", "trunc", "", item.block, item.line))
        made.append(half)
    return tuple(made)


class WideElements:
    """The 64-bit accesses of a loop; ``access`` translates one of a word, ``known`` takes the operands of words."""

    def __init__(
        self, wide: Wide, known: dict[Value, Operand | SourceError], access: Callable[[Instruction], Operand]
    ) -> None:
        self.wide, self.known, self.access = wide, known, access
        self.halves: dict[Instruction, tuple[Instruction, ...]] = {}

    def split(self, items: Iterable[Instruction]) -> list[Instruction]:
        """The instructions with those of 64-bit accesses replaced by those of their words."""
        rows = list(items)
        self.halves = word_accesses(rows)
        return [part for item in rows for part in self.halves.get(item, (item,))]

    def visit(self, item: Instruction) -> None:
        """Translate a 64-bit access. SourceError where the stored value cannot be computed."""
        halves = self.halves[item]
        if item.opcode == "store":
            pair = self.wide.pair(item.operands[0])
            for half, word in zip(halves, (pair.low, pair.high)):
                self.known[half.operands[0]] = word
        low, high = (self.access(half) for half in halves)
        if item.opcode == "load":
            self.wide.pairs[item] = WordPair(low, high)
