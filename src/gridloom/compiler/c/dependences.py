"""Memory order: which accesses must stay in order, over how many iterations.

Two accesses of an array whose places differ by a constant and move by the same number of bytes per iteration meet at
one distance, or never: that is proved and kept exactly. All others keep program order within an iteration and from one
to the next. A load reads what stood before its cycle's stores, so a store may follow a load in the same cycle; nothing
else may.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from gridloom.compiler.analysis.evolution import Form
from gridloom.compiler.c.arrays import Access, may_overlap
from gridloom.compiler.c.region import LoopRegion
from gridloom.compiler.ir.ir import IrParameter, Value
from gridloom.compiler.loops.motion import ANYWHERE, Motion, meetings, order
from gridloom.compiler.loops.operations import Order


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two arrays that C lets overlap, so that their accesses are kept in order."""

    arrays: tuple[str, str]
    #: Parameters of which one could be ``restrict``.
    restrict: tuple[str, ...]


def motion(place: Form, step_of: Callable[[Value], int | None], inside: Callable[[Value], bool]) -> Motion:
    """How a place moves. ``step_of`` gives the bytes or counts that a symbol moves per iteration, if that is fixed."""
    step = 0
    fixed, varying = set(), set()
    for symbol, coefficient in place.terms.items():
        if not inside(symbol):
            fixed.add((symbol, coefficient))
            continue
        own = step_of(symbol)
        if own is None:
            varying.add((symbol, coefficient))
        else:
            step += own * coefficient
            # Counters start from somewhere: two of them differ by a fixed amount only when they are the same.
            fixed.add((symbol, coefficient))
    return Motion(step, frozenset(fixed), frozenset(varying), place.constant)


def orders(
    accesses: Sequence[Access],
    step_of: Callable[[Value], int | None],
    inside: Callable[[Value], bool],
    outer_step_of: Callable[[Access], Callable[[Value], int | None] | None] = lambda access: None,
    known: Callable[[Access, Access], tuple[tuple[bool, int], ...] | None] = lambda first, second: None,
) -> tuple[list[Order], list[Overlap]]:
    """The orders to keep, and the arrays that are only ordered because C lets them overlap. Quadratic in accesses.

    ``outer_step_of`` is for accesses of a flattened nest that stand around its inner loop and so happen once in each
    iteration of the outer one: what a symbol moves in that. Two of them that meet so many outer iterations apart meet
    at least as many iterations of the nest apart. ``known`` says when two accesses of one array meet, where the caller
    knows better than that.

    Two loads need no order. Accesses of different arrays are ordered only where C lets the arrays overlap; that is
    returned apart, so that the user can be told what ``restrict`` would save.
    """
    motions = {access: motion(access.place, step_of, inside) for access in accesses}
    outer = {a: motion(a.place, steps, inside) for a in accesses if (steps := outer_step_of(a)) is not None}
    kept: list[Order] = []
    overlaps: dict[tuple[str, str], Overlap] = {}
    for k, first in enumerate(accesses):
        for second in accesses[k + 1 :]:
            if not (first.is_store or second.is_store) or first.array is None or second.array is None:
                continue
            if first.address.base is second.address.base:
                table = outer if first in outer and second in outer else motions
                better = known(first, second) if first.array is second.array else None
                if better is None:
                    kept += _within(first, second, table[first], table[second])
                else:
                    kept += _kept(first, second, better)
            elif may_overlap(first, second):
                kept += _kept(first, second, ANYWHERE)
                pair = (first.array.name, second.array.name)
                overlaps.setdefault(pair, Overlap(pair, _restrictable(first, second)))
    return kept, list(overlaps.values())


def _restrictable(*accesses: Access) -> tuple[str, ...]:
    """The parameters among the bases of some accesses: what ``restrict`` could be written on."""
    return tuple(access.address.base.name for access in accesses if isinstance(access.address.base, IrParameter))


def _within(first: Access, second: Access, a: Motion, b: Motion) -> list[Order]:
    """The orders of two accesses of one base pointer."""
    if first.array is not second.array:
        # Members of one struct: their bytes are apart.
        return []
    return _kept(first, second, meetings(a, b))


def _kept(first: Access, second: Access, meeting_points: Sequence[tuple[bool, int]]) -> list[Order]:
    """The order edges of two accesses that meet at the given distances, in the direction in which they meet."""
    return [
        order(first.node, second.node, distance, first.is_store)
        if forward
        else order(second.node, first.node, distance, second.is_store)
        for forward, distance in meeting_points
    ]


def advice(overlap: Overlap) -> str:
    """What an overlap costs and how to end it."""
    a, b = overlap.arrays
    names = " or ".join(dict.fromkeys(overlap.restrict))
    cure = f"'restrict' on {names} removes that" if names else "use arrays that the compiler can tell apart"
    return f"{a} and {b} may overlap, so their accesses are kept in order; {cure}"


def is_safe(
    access: Access, accesses: Collection[Access], region: LoopRegion, always_runs: Callable[[str], bool]
) -> bool:
    """True when the same element (or another member of its struct) is accessed anyway, or is one that exists.

    ``always_runs`` tells whether every iteration runs a block.
    """
    array = access.array
    assert array is not None
    if not access.place.terms:
        return 0 <= (access.place.constant - array.offset) // array.stride < array.length
    start = access.place.constant - array.offset
    same = [
        other.item.block
        for other in accesses
        if other.array is array
        and other.place.terms == access.place.terms
        and other.place.constant == access.place.constant
    ]
    # Every way through the body may have an access of its own, as the cases of a switch do.
    if region.inner is None and region.is_covered(same):
        return True
    return any(
        other is not access
        and other.address.base is access.address.base
        and other.array is not None
        and other.array.stride == array.stride
        and other.place.terms == access.place.terms
        and other.place.constant - other.array.offset == start
        and always_runs(other.item.block)
        for other in accesses
    )
