"""Which arrays the code of the core touches outside of launched loops: it decides when data moves.

An array that only loops on the array touch stays in its memory from launch to launch, and goes back when the function
ends. One that the core reads goes back after every launch that writes it, and one that the core writes comes in anew
before every launch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gridloom.compiler.analysis.dependence import may_overlap
from gridloom.compiler.ir.ir import Function, GlobalAddress, Instruction, Value

_ON_NUMBERS: Final = (
    "llvm.smax", "llvm.smin", "llvm.umax", "llvm.umin", "llvm.abs", "llvm.lifetime", "llvm.assume", "llvm.fsh",
    "llvm.ctpop", "llvm.ctlz", "llvm.cttz", "llvm.bswap", "llvm.bitreverse", "llvm.usub", "llvm.uadd", "llvm.sadd",
    "llvm.ssub", "llvm.dbg", "llvm.experimental.noalias",
)  # fmt: skip
#: Intrinsics on memory whose first argument leads to what is written, and whose second to what is read.
_ON_MEMORY: Final = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")


@dataclass
class HostAccess:
    """What the core reads and writes, by the objects that pointers lead to; ``all_memory`` where nobody knows."""

    reads: set[Value] = field(default_factory=set)
    writes: set[Value] = field(default_factory=set)
    all_memory: bool = False

    def reads_of(self, base: Value) -> bool:
        """True where the core may read what a pointer leads to."""
        return self._touches(self.reads, base)

    def writes_of(self, base: Value) -> bool:
        """True where the core may write what a pointer leads to."""
        return self._touches(self.writes, base)

    def _touches(self, places: set[Value], base: Value) -> bool:
        mine = roots(base)
        return self.all_memory or any(may_overlap(a, b) for a in mine for b in places)


def host_access(function: Function, launched: Iterable[str]) -> HostAccess:
    """What a function does to memory in blocks that are not launched."""
    found = HostAccess()
    inside = set(launched)
    for name, block in function.blocks.items():
        if name in inside:
            continue
        for item in block.instructions:
            if item.opcode == "load":
                found.reads |= roots(item.operands[0])
            elif item.opcode == "store":
                found.writes |= roots(item.operands[1])
            elif item.opcode == "call" and item.callee.startswith(_ON_MEMORY):
                found.writes |= roots(item.operands[0])
                found.reads |= roots(item.operands[1]) if not item.callee.startswith("llvm.memset") else set()
            elif item.opcode == "call" and _touches_memory(item):
                found.all_memory = True
    return found


def _touches_memory(item: Instruction) -> bool:
    """True for a call that may load or store; intrinsics on numbers do not."""
    return not item.callee.startswith(_ON_NUMBERS)


def roots(value: Value, seen: frozenset[Value] = frozenset()) -> set[Value]:
    """The objects that a pointer may lead into, as far as the function says."""
    if isinstance(value, GlobalAddress):
        return {value.base}
    if isinstance(value, Instruction) and value not in seen:
        deeper = seen | {value}
        if value.opcode == "getelementptr":
            return roots(value.operands[0], deeper)
        if value.opcode in ("phi", "select"):
            choices = value.operands[1:] if value.opcode == "select" else value.operands
            return set().union(*(roots(choice, deeper) for choice in choices))
    return set() if isinstance(value, Instruction) and value in seen else {value}
