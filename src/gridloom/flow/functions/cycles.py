"""What a function costs: the host's instructions, and for each launch what it takes to set up, fill, run and drain.

The host is a static single-issue processor: each instruction of the IR takes the cycles of :data:`HOST_CYCLES`, however
it would be scheduled. The array is set up by one configuration packet, one live-in or one word of data per cycle. Both
are models for comparison, not measurements; ``docs/functions.md`` states them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gridloom.frontend.c.llvm.ir import Block, Instruction

#: Cycles of an instruction on the host, by opcode; 1 for those that are not listed.
HOST_CYCLES: Final[Mapping[str, int]] = {
    "phi": 0, "trunc": 0, "zext": 0, "sext": 0, "freeze": 0, "bitcast": 0, "inttoptr": 0, "ptrtoint": 0, "alloca": 0,
    "unreachable": 0, "extractvalue": 0, "load": 2, "mul": 3, "sdiv": 20, "srem": 20, "udiv": 20, "urem": 20, "fadd": 4,
    "fsub": 4, "fmul": 4, "fcmp": 2, "sitofp": 4, "uitofp": 4, "fptosi": 4, "fptoui": 4, "fdiv": 20, "frem": 20,
    "call": 4, "ret": 2, "br": 1,
}  # fmt: skip
#: Calls that compute something small are an instruction of many processors.
_INTRINSIC_CYCLES: Final = 1


def host_cycles(block: Block) -> int:
    """Cycles that the host takes for one execution of a block."""
    return sum(map(_cycles, block.instructions))


def _cycles(item: Instruction) -> int:
    if item.opcode == "call" and item.callee.startswith("llvm."):
        return 0 if item.callee.startswith(("llvm.assume", "llvm.lifetime", "llvm.dbg")) else _INTRINSIC_CYCLES
    return HOST_CYCLES.get(item.opcode, 1)


@dataclass(slots=True)
class LoopCycles:
    """What the launches of one loop cost in all."""

    launches: int = 0
    #: Runs of the array: more than launches where a loop with early exits takes several.
    pieces: int = 0
    iterations: int = 0
    #: Words of configuration, loaded again whenever another loop ran in between.
    configuration: int = 0
    #: Live-ins and the starts of arrays before a launch, live-outs after it, one per cycle.
    transfer: int = 0
    #: II times iterations.
    steady: int = 0
    #: What a pipeline takes to fill and to drain: all cycles of a launch beyond II times iterations.
    fill: int = 0
    #: Launches that ran cycle by cycle and were compared with the host.
    simulated: int = 0
    #: What the host would have taken for the same iterations.
    on_host: int = 0
    #: Launches that the host ran after all, and why.
    kept_on_host: int = 0
    kept_reason: str = ""

    @property
    def total(self) -> int:
        """All cycles of the loop's launches."""
        return self.configuration + self.transfer + self.steady + self.fill
