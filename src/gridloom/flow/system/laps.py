"""What the launched loops of a program take, with the array and without: the profile that launches are chosen by.

A call of ``gl_lap`` marks where control enters a loop and where it leaves it; the model of the core notes when. The
calls cost a few cycles each, so that only shares are taken from such a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridloom.compiler.ir.ir import Constant, Function
from gridloom.compiler.ir.writer import Builder, add_way, gather_entry, phis_of, way_from

#: What marks are declared as.
LAP_DECLARED = "declare void @gl_lap(i32)"
LAP_C = "void gl_lap(unsigned word) { *(volatile unsigned *)0xf0010010u = word; }\n"


@dataclass(frozen=True)
class LoopTime:
    """How often a loop was entered, and the cycles inside of it."""

    entries: int = 0
    cycles: int = 0


def mark_loop(function: Function, blocks: set[str], header: str, number: int) -> None:
    """Mark the ways into some blocks, all of which lead to ``header``, and the ways out of them."""
    made = Builder(function, f"gl.lap.in.{number}", f"gl.lap.in.{number}.v")
    starts = gather_entry(function, blocks, header, made)
    made.add("call", "void", Constant("i32", 2 * number + 1), callee="gl_lap")
    made.go(header)
    for phi, start in starts.items():
        add_way(phi, start, made.block.name)
    exits = [(name, target) for name in blocks for target in function.blocks[name].successors if target not in blocks]
    for k, (source, target) in enumerate(exits):
        out = Builder(function, f"gl.lap.out.{number}.{k}", f"gl.lap.out.{number}.{k}.v")
        out.add("call", "void", Constant("i32", 2 * number), callee="gl_lap")
        for phi in phis_of(function.blocks[target]):
            add_way(phi, way_from(phi, source), out.block.name)
        out.go(target)
        end = function.blocks[source].terminator
        end.targets = [out.block.name if name == target else name for name in end.targets]
        for phi in phis_of(function.blocks[target]):
            kept = [(value, way) for value, way in zip(phi.operands, phi.incoming) if way != source]
            phi.operands, phi.incoming = [value for value, _ in kept], [way for _, way in kept]


def loop_times(laps: Sequence[tuple[int, int]], loops: int) -> list[LoopTime]:
    """The time in each loop from marks: (word, cycle). A loop inside of another one counts for both."""
    began: dict[int, int] = {}
    entries, cycles = [0] * loops, [0] * loops
    for word, cycle in laps:
        number = word >> 1
        if word & 1:
            began[number] = cycle
            entries[number] += 1
        elif number in began:
            cycles[number] += cycle - began.pop(number)
    return [LoopTime(*row) for row in zip(entries, cycles)]
