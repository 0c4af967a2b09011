"""What a function costs: the host's instructions, and for each launch what it takes to set up, fill, run and drain.

The host is a static single-issue processor: each instruction of the IR takes the cycles of :data:`HOST_CYCLES`, however
it would be scheduled. The array is set up by one word of configuration, one live-in or one word of data per cycle. Both
are models for comparison, not measurements; ``docs/functions.md`` states them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gridloom.compiler.ir.ir import BasicBlock, Instruction
from gridloom.flow.functions.launching.configurations import Loads
from gridloom.flow.functions.launching.launches import pieces_for
from gridloom.flow.functions.launching.schedule import NEVER, LaunchRow, LaunchSchedule

if TYPE_CHECKING:
    from gridloom.flow.functions.compile import CompiledLoop

#: Cycles of an instruction on the host, by opcode; 1 for those that are not listed.
HOST_CYCLES: Final[Mapping[str, int]] = {
    "phi": 0, "trunc": 0, "zext": 0, "sext": 0, "freeze": 0, "bitcast": 0, "inttoptr": 0, "ptrtoint": 0, "alloca": 0,
    "unreachable": 0, "extractvalue": 0, "load": 2, "mul": 3, "sdiv": 20, "srem": 20, "udiv": 20, "urem": 20, "fadd": 4,
    "fsub": 4, "fmul": 4, "fcmp": 2, "sitofp": 4, "uitofp": 4, "fptosi": 4, "fptoui": 4, "fdiv": 20, "frem": 20,
    "call": 4, "ret": 2, "br": 1,
}  # fmt: skip
#: Calls that compute something small are an instruction of many processors.
_INTRINSIC_CYCLES: Final = 1


def host_cycles(block: BasicBlock) -> int:
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
    #: Launches that the array could not do, and why.
    kept_on_host: int = 0
    kept_reason: str = ""
    #: Launches that the schedule gave to the host, what they take there and what the array would have taken.
    moved: int = 0
    moved_host: int = 0
    moved_array: int = 0
    #: The array does launches from so many iterations on; None where that is not what decides.
    threshold: int | None = None
    #: Launches that are a part of others: of a whole nest, or of several side by side.
    in_nest: int = 0

    @property
    def total(self) -> int:
        """All cycles of the loop's launches."""
        return self.configuration + self.transfer + self.steady + self.fill


def transfer(loop: CompiledLoop, iterations: int) -> int:
    """Cycles for the live-ins, starts of arrays and live-outs of a launch."""
    if loop.plan.pieces is None:
        return loop.given_words + loop.left_words
    pieces, graph = len(pieces_for(iterations)), loop.plan.pieces.graph
    carried = sum(1 + (item.livein in graph.high_liveins) for item in loop.plan.pieces.carried if item.livein)
    return loop.given_words + pieces * loop.left_words + (pieces - 1) * (carried + loop.prologue)


def exchanged_transfer(loop: CompiledLoop, launches: int) -> int:
    """Cycles for what the launches of a nest with exchanged loops are given: all words once, then what has changed.

    The host counts the launches: an addition, a comparison and a branch for each.
    """
    again = loop.prologue + len(loop.plan.graph.prologue if loop.plan.graph is not None else ()) + 1
    return loop.given_words + (launches - 1) * again + 3 * launches


def accounts(
    loops: Sequence[CompiledLoop],
    rows: Sequence[LaunchRow],
    found: LaunchSchedule,
    loads: Loads,
    simulated: Sequence[int],
) -> list[LoopCycles]:
    """What each mapped loop of a run costs under a schedule. Linear in the launches."""
    made = [LoopCycles(simulated=count) for count in simulated]
    for account, threshold in zip(made, found.thresholds):
        account.threshold = threshold if 0 < threshold < NEVER else None
    loaded = -1
    for row, on_array in zip(rows, found.on_array):
        account, loop = made[row.loop], loops[row.loop]
        if on_array:
            account.configuration += loads.after(loaded, row.loop)
            loaded = row.loop
            _add(account, loop, row)
        elif _is_inside(row, rows, found.on_array):
            account.in_nest += 1
        elif row.refused:
            account.kept_on_host += 1
            account.kept_reason = row.refused
        elif row.iterations and not loop.plan.is_nest and loop.plan.jam == 1:
            account.moved += 1
            account.moved_host += row.host
            account.moved_array += row.array
    return made


def _is_inside(row: LaunchRow, rows: Sequence[LaunchRow], on_array: Sequence[bool]) -> bool:
    """True for a launch that is a part of another one on the array."""
    while row.nest >= 0:
        if on_array[row.nest]:
            return True
        row = rows[row.nest]
    return False


def _add(account: LoopCycles, loop: CompiledLoop, row: LaunchRow) -> None:
    """Add a launch on the array, but for its configuration."""
    assert loop.ii is not None
    account.launches += row.runs
    account.pieces += row.runs if loop.plan.pieces is None else len(pieces_for(row.iterations))
    account.iterations += row.iterations
    account.transfer += row.array - row.cycles
    account.steady += loop.ii * row.iterations
    account.fill += row.cycles - loop.ii * row.iterations
    account.on_host += row.host
