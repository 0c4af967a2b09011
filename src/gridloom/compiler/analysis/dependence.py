"""Dependence: whether two memory accesses meet, and how many iterations apart.

    may_overlap(a, b)                alias classes: can the objects of two accesses share a byte at all
    meetings(first, second, trips)   distances in one loop between places of one array
    may_cross(gap, outer, inner)     directions in a nest: can a meeting change its order when the loops change places

A place is a linear form: a constant, fixed symbols, and symbols that an iteration moves by a form over fixed symbols.
Two places whose steps are equal meet where ``distance * step = gap`` has a solution. With numbers that is a division.
With symbols it is decided where gap and step are multiples of one form (``l`` and ``2 l`` never meet), and where the
gap is at least as long as the way that the loop goes. All else may meet anywhere.

Places are elements of one array, so that two of them are equal or at least an element apart. Indices do not wrap around
within an array, since no array has 2**30 elements. :class:`DistanceSolver` says what was proved only because
a loop ends, or ends when it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gridloom.compiler.analysis.evolution import Form, expand
from gridloom.compiler.ir.ir import Constant, Global, Instruction, IrParameter, Value

#: Loops with more iterations are taken for endless where iterations are followed one by one.
_FOLLOWED: Final = 4096


# -- alias classes ----------------------------------------------------------------------------------------------------


def may_overlap(first: Value, second: Value, kinds: tuple[str, str] = ("", "")) -> bool:
    """False where C says that two objects share no byte: restrict, two variables, a table, other effective types.

    ``kinds`` are the scalar types of two accesses as clang notes them, "" for ``char``, which may overlap anything.
    """
    if first is second:
        return True
    pair = (first, second)
    if any(_is_apart(value) for value in pair) or all(_is_variable(value) for value in pair):
        return False
    # A variable of the call is made after the caller chose what the parameters point to.
    if any(_is_local(a) and isinstance(b, IrParameter) for a, b in (pair, pair[::-1])):
        return False
    return not (all(kinds) and kinds[0] != kinds[1])


def _is_apart(value: Value) -> bool:
    """True for what nothing else leads to: a ``restrict`` parameter, or a table that nothing may write."""
    return value.apart if isinstance(value, IrParameter) else isinstance(value, Global) and value.constant


def _is_local(value: Value) -> bool:
    return isinstance(value, Instruction) and value.opcode == "alloca"


def _is_variable(value: Value) -> bool:
    return isinstance(value, Global) or _is_local(value)


# -- one loop ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Motion:
    """A place in iteration k: ``start + k * step``, plus symbols that move by no fixed amount."""

    start: Form
    step: Form = field(default_factory=Form)
    varying: Form = field(default_factory=Form)


class Meeting(NamedTuple):
    """Two accesses meet ``distance`` iterations apart; ``forward`` where the one that is first in the program leads."""

    forward: bool
    distance: int


#: Program order within an iteration, and from one to the next.
ANYWHERE: Final = (Meeting(True, 0), Meeting(False, 1))
#: The same place only in one iteration.
HERE: Final = (Meeting(True, 0),)


def motion(place: Form, step_of: Callable[[Any], Form | None], inside: Callable[[Any], bool]) -> Motion:
    """How a place moves. ``step_of`` gives what an iteration adds to a symbol from inside, None where nothing fixed."""
    start, step, varying = Form(place.constant), Form(), Form()
    for symbol, coefficient in place.terms.items():
        own = step_of(symbol) if inside(symbol) else Form()
        if own is None:
            varying += Form(0, {symbol: coefficient})
        else:
            # Counters start from somewhere: two of them differ by a fixed amount only where they are the same.
            start += Form(0, {symbol: coefficient})
            step += own.times(coefficient)
    return Motion(start, expand(step), varying)


#: What orders may rest on.
ENDS: Final = "the loop ends"
COUNTED: Final = "the loop runs as often as its bounds say"


@dataclass
class DistanceSolver:
    """When places of one loop meet.

    ``trips`` is the number of iterations as a form; None where it is not known. ``moves`` are steps of counters that
    decide when this loop or one around it ends. Such a step is not 0, since the loop ends. ``relied_on`` collects what
    proofs needed besides the places: :data:`ENDS`, :data:`COUNTED`.
    """

    trips: Form | None = None
    moves: Sequence[Form] = ()
    relied_on: set[str] = field(default_factory=set)

    def meetings(self, first: Motion, second: Motion) -> tuple[Meeting, ...]:
        """The orders that two accesses need, the first being first in the program.

        Nothing where they never meet, and one distance where they meet at that alone.
        """
        gap = second.start.minus(first.start)
        if (first.step, first.varying) != (second.step, second.varying):
            return ANYWHERE
        if first.varying.terms:
            # The same unknown place in one iteration, and any other one in the next.
            return (Meeting(True, 1), Meeting(False, 1)) if gap.constant and not gap.terms else ANYWHERE
        return self._solve(gap, first.step)

    def _solve(self, gap: Form, step: Form) -> tuple[Meeting, ...]:
        """The meetings of two places that are ``gap`` apart and move by ``step`` both."""
        if step == Form():
            return () if gap.constant and not gap.terms else ANYWHERE
        if self._is_beyond(gap, step):
            # A number of iterations is also in the graph. One that is no number may be 0 where the loop runs once.
            self.relied_on |= {COUNTED} if gap.terms else set()
            return HERE if gap.terms else ()
        ratio = divide(gap, step)
        if ratio is None or not self._is_moving(step):
            return ANYWHERE
        distance, rest = divmod(ratio[0], ratio[1])
        if rest:
            return ()
        # What the second touches now, the first touches `distance` iterations later.
        return (Meeting(False, distance),) if distance > 0 else (Meeting(True, -distance),)

    def _is_moving(self, step: Form) -> bool:
        """True for a step that is not 0."""
        if not step.terms:
            return True
        known = any(divide(step, own) is not None for own in self.moves)
        self.relied_on |= {ENDS} if known else set()
        return known

    def _is_beyond(self, gap: Form, step: Form) -> bool:
        """True where a place is further away than the loop goes: ``a[i]`` and ``a[i + l]`` in ``l`` iterations."""
        if self.trips is None or step.terms:
            return False
        way = self.trips.times(abs(step.constant))
        spare = [side.minus(way) for side in (gap, gap.times(-1))]
        return any(not left.terms and left.constant >= 0 for left in spare)


def divide(form: Form, by: Form) -> tuple[int, int] | None:
    """The quotient of two forms as a fraction of integers, the denominator positive; None where it is no number.

    >>> divide(Form(12), Form(8)), divide(Form(0), Form(4)), divide(Form(3), Form(0))
    ((3, 2), (0, 1), None)
    """
    pairs = [(form.constant, by.constant), *((form.terms.get(s, 0), c) for s, c in by.terms.items())]
    a, b = next(((x, y) for x, y in pairs if y), (0, 0))
    if not b or any(x * b != y * a for x, y in pairs) or not form.terms.keys() <= by.terms.keys():
        return None
    common = math.gcd(a, b) * (1 if b > 0 else -1)
    return a // common, b // common


# -- nests ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop of a nest, for one place: what an iteration adds to it, and what is known of the number of iterations.

    ``low`` and ``high`` are the ends between which a counter that moves by ones goes, ``high - low + extra`` the
    iterations; ``constant`` is their number where it is one.
    """

    step: Form
    constant: int | None = None
    low: Value | None = None
    high: Value | None = None
    extra: int = 0

    @property
    def most(self) -> int | None:
        """The most iterations that two can be apart; None where that is not known."""
        return self.constant - 1 if self.constant is not None and self.constant <= _FOLLOWED else None


def may_cross(gap: Form, reach: int, outer: Axis, inner: Axis) -> bool:
    """Whether two accesses ``gap`` apart may meet with outer iterations in one order and inner ones in the other.

    The iterations of a nest run in the order of (outer, inner). Such a meeting, and no other, changes its order when
    the inner counter becomes the outer one, or when several outer iterations run side by side. ``reach`` is how far two
    places may be apart and still share a byte.
    """
    if gap.terms:
        return True
    gaps = range(gap.constant - reach, gap.constant + reach + 1)
    return _crosses(gaps, outer, inner) or _crosses([-g for g in gaps], outer, inner)


def _crosses(gaps: Sequence[int], outer: Axis, inner: Axis) -> bool:
    """True where ``outer d + inner e`` may be one of the gaps for some d > 0 and e < 0."""
    a, b = outer.step, inner.step
    if not a.terms and not b.terms:
        return any(_solvable(a.constant, b.constant, gap, outer.most, inner.most) for gap in gaps)
    reach = max(map(abs, gaps))
    if not b.terms:
        return not _is_row(a, b.constant, inner, reach)
    return bool(a.terms) or not _is_row(b, a.constant, outer, reach)


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


def _is_row(row: Form, step: int, along: Axis, reach: int) -> bool:
    """True where a loop that moves by ``step`` stays within a row of ``n`` steps, less ``reach`` bytes, so that two
    rows never meet. ``row`` has to be a multiple of the same n that bounds the loop.
    """
    if row.constant or len(row.terms) != 1 or not isinstance(along.low, Constant):
        return False
    ((width, size),) = row.terms.items()
    if along.high is not width or abs(size) < abs(step):
        return False
    # The loop runs n - spare times, so that its iterations are at most n - spare - 1 apart.
    return reach < abs(step) * (along.low.value - along.extra + 1)
