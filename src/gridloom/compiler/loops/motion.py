"""How the place of a memory access moves over the iterations, and when two of them meet.

Two places that differ by a constant and move by the same step meet at one distance, or never: that is exact. Everything
else may meet in any iteration. A load reads what stood before its cycle's stores, so a store may follow a load in the
same cycle, and nothing else may.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from gridloom.compiler.loops.operations import Order
from gridloom.dfg.checks import MAX_DISTANCE


@dataclass(frozen=True, slots=True)
class Motion:
    """A place: a constant, a step per iteration, symbols that are fixed in the loop and symbols that are not."""

    step: int
    fixed: frozenset[tuple[Hashable, int]]
    varying: frozenset[tuple[Hashable, int]]
    constant: int


#: Program order within an iteration, and from one to the next: (from the first to the second, distance).
ANYWHERE: Final = ((True, 0), (False, 1))


def meetings(first: Motion, second: Motion) -> tuple[tuple[bool, int], ...]:
    """The orders that two accesses need, the first being first in the program: (first before second, distance).

    Nothing where they never meet; one exact distance where their places differ by a constant; program order within an
    iteration and into the next where nothing better is known.
    """
    if (first.fixed, first.varying, first.step) != (second.fixed, second.varying, second.step):
        return ANYWHERE
    gap = second.constant - first.constant
    if first.varying:
        # The same unknown place in one iteration, and any other in the next.
        return ANYWHERE if gap == 0 else ((True, 1), (False, 1))
    if first.step == 0:
        return ANYWHERE if gap == 0 else ()
    if gap % first.step:
        return ()
    distance = gap // first.step
    # What the second touches now, the first touches `distance` iterations later.
    return ((False, distance),) if distance > 0 else ((True, -distance),)


def order(source: str, target: str, distance: int, source_stores: bool) -> Order:
    """The order edge from one access to another."""
    return Order(source, target, min(distance, MAX_DISTANCE), 1 if source_stores else 0)
