"""What the core of the test system takes for blocks of IR: what launches are weighed against.

VexRiscv folds addresses into loads and stores and extensions into what reads them, multiplies in a cycle, and loses
some at every branch that is taken; minima, maxima and selects are branches. The cycles were fitted to eleven functions
and three rewritten ones that it ran alone, which they give within a quarter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gridloom.frontend.c.llvm.ir import BasicBlock, Instruction

#: Cycles of an instruction by opcode; 0.6 for those that are not listed.
CORE_CYCLES: Final[Mapping[str, float]] = {
    "phi": 0, "trunc": 0, "zext": 0, "sext": 0, "freeze": 0, "getelementptr": 0, "alloca": 0, "unreachable": 0,
    "load": 1, "store": 1.5, "mul": 1, "icmp": 2, "select": 3.5, "br": 5, "switch": 8, "call": 10, "ret": 5,
    "sdiv": 34, "srem": 34, "udiv": 34, "urem": 34, "fadd": 60, "fsub": 60, "fmul": 60, "fdiv": 200, "fcmp": 40,
}  # fmt: skip
_OTHER: Final = 0.6
_INTRINSIC: Final = 4.0


def core_cycles(block: BasicBlock) -> int:
    """Cycles that the core takes for one execution of a block, rounded."""
    return round(sum(map(_cycles, block.instructions)))


def _cycles(item: Instruction) -> float:
    if item.opcode == "call" and item.callee.startswith("llvm."):
        return 0.0 if item.callee.startswith(("llvm.assume", "llvm.lifetime", "llvm.dbg")) else _INTRINSIC
    return CORE_CYCLES.get(item.opcode, _OTHER)
