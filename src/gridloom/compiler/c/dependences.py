"""Memory order: which accesses of a loop must stay in order, over how many iterations.

:mod:`gridloom.compiler.analysis.dependence` says when two accesses meet; all that may meet keep program order. A load
reads what stood before its cycle's stores, so a store may follow a load in the same cycle; nothing else may.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from gridloom.compiler.analysis.dependence import ANYWHERE, HERE, Axis, DistanceSolver, Meeting, may_overlap, motion
from gridloom.compiler.analysis.evolution import AddRec, Evolution, Form, expand, linear_form
from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.arrays import Access
from gridloom.compiler.c.region import LoopRegion, Trip, trip_parts
from gridloom.compiler.ir.ir import Instruction, IrParameter, Value
from gridloom.compiler.loops.operations import Order, order
from gridloom.errors import SourceError

#: What an iteration adds to a symbol; None where it is not fixed.
Step = Callable[[Value], Form | None]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two arrays that C lets overlap, so that their accesses are kept in order."""

    arrays: tuple[str, str]
    #: Parameters of which one could be ``restrict``.
    restrict: tuple[str, ...]


def orders(
    accesses: Sequence[Access],
    step_of: Step,
    inside: Callable[[Value], bool],
    outer_step_of: Callable[[Access], Step | None] = lambda access: None,
    known: Callable[[Access, Access], tuple[Meeting, ...] | None] = lambda first, second: None,
    distances: DistanceSolver | None = None,
    asserted: str = "",
) -> tuple[list[Order], list[Overlap]]:
    """The orders to keep, and the arrays that are only ordered because C lets them overlap. Quadratic in accesses.

    ``outer_step_of`` is for accesses of a flattened nest that stand around its inner loop and so happen once in each
    iteration of the outer one: what a symbol moves in that. Two of them that meet so many outer iterations apart meet
    at least as many iterations of the nest apart. ``known`` says when two accesses of one array meet, where the caller
    knows better than that. ``asserted`` is what the source says of the loop: iterations that it calls ``ivdep`` meet
    only where that is proved, those that it calls ``independent`` never; SourceError where it is proved that they do.

    Two loads need no order. Accesses of different arrays are ordered only where C lets the arrays overlap; that is
    returned apart, so that the user can be told what ``restrict`` would save.
    """
    solver = distances or DistanceSolver()
    motions = {access: motion(access.place, step_of, inside) for access in accesses}
    outer = {a: motion(a.place, steps, inside) for a in accesses if (steps := outer_step_of(a)) is not None}
    kept: list[Order] = []
    overlaps: dict[tuple[str, str], Overlap] = {}
    for k, first in enumerate(accesses):
        for second in accesses[k + 1 :]:
            if not (first.is_store or second.is_store) or first.array is None or second.array is None:
                continue
            if first.address.base is second.address.base:
                if first.array is not second.array:
                    # Members of one struct: their bytes are apart.
                    continue
                table = outer if first in outer and second in outer else motions
                found = known(first, second)
                if found is None:
                    found = solver.meetings(table[first], table[second])
            elif accesses_overlap(first, second):
                found = ANYWHERE
                if not asserted:
                    pair = (first.array.name, second.array.name)
                    overlaps.setdefault(pair, Overlap(pair, _restrictable(first, second)))
            else:
                continue
            kept += _kept(first, second, _as_asserted(first, second, found, asserted) if asserted else found)
    return kept, list(overlaps.values())


def axis_of(step: Form, trip: Trip | None) -> Axis:
    """A loop of a nest for a place that it moves by a step."""
    if trip is None:
        return Axis(step)
    if abs(trip.step) != 1:
        return Axis(step, trip.constant)
    low, high = (trip.start, trip.bound) if trip.step > 0 else (trip.bound, trip.start)
    return Axis(step, trip.constant, low, high, trip.extra)


def distances_of(region: LoopRegion, pointers: Pointers) -> DistanceSolver:
    """What decides how far accesses of a region may be apart: its number of iterations, and how loops end."""
    trip = trip_parts(region) if region.inner is None else None
    trips = None
    if trip is not None and trip.constant is not None:
        trips = Form(trip.constant)
    elif trip is not None and abs(trip.step) == 1 and trip.is_word:
        way = linear_form(trip.bound).minus(linear_form(trip.start)).times(trip.step)
        trips = way + Form(trip.extra)
    moves, loop = [], region.loop if region.inner is None else region.loop.parent
    while loop is not None:
        moves += ending_steps(loop, pointers.evolution(loop))
        loop = loop.parent
    return DistanceSolver(trips, moves)


def ending_steps(loop: NaturalLoop, evolution: Evolution) -> list[Form]:
    """The symbolic steps of a counter that alone decides when a loop ends. A loop that ends does not move by 0."""
    if len({source for source, _ in loop.exits}) != 1:
        return []
    test = loop.function.blocks[loop.exits[0][0]].terminator.operands[0]
    if not isinstance(test, Instruction) or test.opcode != "icmp":
        return []
    moved = [evolution.of(value) for value in test.operands if loop.contains(value)]
    return [expand(found.step) for found in moved if isinstance(found, AddRec) and len(moved) == 1 and found.step.terms]


def _as_asserted(first: Access, second: Access, found: tuple[Meeting, ...], asserted: str) -> tuple[Meeting, ...]:
    """Meetings without those between iterations that the source denies."""
    if len(found) > 1:
        return HERE
    if asserted == "independent" and any(meeting.distance for meeting in found):
        lines = " and ".join(dict.fromkeys(str(access.item.line) for access in (first, second)))
        raise SourceError(
            f"is said to be independent, but iterations that are {found[0].distance} apart touch the same element of "
            f"{first.array.name if first.array else ''} (line {lines}); leave out the pragma"
        )
    return found


def accesses_overlap(first: Access, second: Access) -> bool:
    """Whether two accesses may touch the same byte, as far as the objects say that they lie in."""
    kinds = (first.item.access_type, second.item.access_type)
    return may_overlap(first.address.base, second.address.base, kinds)


def _restrictable(*accesses: Access) -> tuple[str, ...]:
    """The parameters among the bases of some accesses: what ``restrict`` could be written on."""
    return tuple(access.address.base.name for access in accesses if isinstance(access.address.base, IrParameter))


def _kept(first: Access, second: Access, meeting_points: Sequence[Meeting]) -> list[Order]:
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
