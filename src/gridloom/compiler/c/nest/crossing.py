"""Whether two accesses of a nest meet in the opposite order when its loops are exchanged.

The iterations of a nest run in the order of (outer, inner). A meeting of two accesses whose outer iterations differ by
d > 0 and whose inner ones by e < 0 is turned round when the inner counter becomes the outer one; no other is. So the
question is whether ``a d + b e = gap`` has such a solution, where an access moves by a bytes in each iteration of the
outer loop and by b in each of the inner one. Where one of them is a row of ``n`` elements and the other loop runs at
most n times, two rows never meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gridloom.compiler.analysis.evolution import Evolution, Form
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.arrays import Access, may_overlap
from gridloom.compiler.c.region import LoopRegion, Trip
from gridloom.compiler.ir.ir import Constant, IrParameter

#: Loops with more iterations are taken for endless.
_MOST = 4096


@dataclass(frozen=True, slots=True)
class _Moves:
    """Bytes that an access moves in an iteration of the outer and of the inner loop."""

    outer: Form
    inner: Form


class Crossing:
    """The test for one nest, whose outer loop runs inside the region and whose inner one is counted by ``turn``."""

    def __init__(
        self, region: LoopRegion, pointers: Pointers, turn: IrParameter, outer: Trip | None, inner: Trip
    ) -> None:
        self.evolutions = [Evolution(region.loop, pointers.layout, counter) for counter in (None, turn)]
        self.outer, self.inner = outer, inner

    def possible(self, first: Access, second: Access, *, repeats: bool, alone: bool) -> bool:
        """True unless it is known that the two never meet in an order that is turned round.

        One of them ``repeats`` where it stands around the inner loop, so that it happens once for each of its
        iterations when the loops are exchanged; one has to be ``alone`` where it stands for a value that the inner loop
        carried. Neither may meet the other at all, in any order.
        """
        if first.address.base is not second.address.base:
            return may_overlap(first, second)
        if repeats or alone:
            return True
        gap = second.place.minus(first.place)
        moves = self._moves(first.place)
        if gap.terms or moves is None:
            return True
        reach = max(first.size, second.size) - 1
        gaps = range(gap.constant - reach, gap.constant + reach + 1)
        return self._meets(moves, gaps) or self._meets(moves, [-g for g in gaps])

    def _moves(self, place: Form) -> _Moves | None:
        """What each loop adds to a place; None where that is not fixed."""
        outer, inner = (evolution.moves(place) for evolution in self.evolutions)
        return None if outer is None or inner is None else _Moves(outer, inner)

    def _meets(self, moves: _Moves, gaps: range | list[int]) -> bool:
        """True where ``outer d + inner e`` may be one of the gaps for some d > 0 and e < 0."""
        if not moves.outer.terms and not moves.inner.terms:
            most = _most(self.outer), _most(self.inner)
            return any(_solvable(moves.outer.constant, moves.inner.constant, gap, *most) for gap in gaps)
        reach = max(map(abs, gaps))
        if not moves.inner.terms:
            return not _rows_apart(moves.outer, moves.inner.constant, self.inner, reach)
        if not moves.outer.terms:
            return not _rows_apart(moves.inner, moves.outer.constant, self.outer, reach)
        return True


def _most(trip: Trip | None) -> int | None:
    """The most iterations that two of a loop can be apart; None where that is not known."""
    if trip is None or trip.constant is None:
        return None
    return trip.constant - 1 if trip.constant <= _MOST else None


def _solvable(a: int, b: int, gap: int, most_outer: int | None, most_inner: int | None) -> bool:
    """True where ``a d - b e = gap`` has a solution with d and e of at least 1, and at most what is known.

    >>> _solvable(64, 4, 0, 15, 15), _solvable(64, 4, 60, 15, 15), _solvable(4, 0, 4, None, None)
    (False, True, True)
    """
    if 0 in (most_outer, most_inner):
        return False
    if a == 0 and b == 0:
        return gap == 0
    if a == 0 or b == 0:
        step, most = (-b, most_inner) if a == 0 else (a, most_outer)
        return gap % step == 0 and 1 <= gap // step <= (most or gap // step)
    if most_inner is None:
        return gap % math.gcd(a, b) == 0
    for e in range(1, most_inner + 1):
        d, rest = divmod(gap + b * e, a)
        if not rest and 1 <= d <= (most_outer or d):
            return True
    return False


def _rows_apart(row: Form, step: int, trip: Trip | None, reach: int) -> bool:
    """True where a loop that moves by ``step`` stays within a row of ``n`` steps, less ``reach`` bytes, so that two
    rows never meet. ``row`` has to be a multiple of the same n that bounds the loop.
    """
    if row.constant or len(row.terms) != 1 or trip is None or abs(trip.step) != 1:
        return False
    ((width, size),) = row.terms.items()
    up = trip.step > 0
    low, high = (trip.start, trip.bound) if up else (trip.bound, trip.start)
    if high is not width or not isinstance(low, Constant) or abs(size) < abs(step):
        return False
    # The loop runs n - spare times, so that its iterations are at most n - spare - 1 apart.
    spare = low.value - trip.extra
    return reach < abs(step) * (spare + 1)
