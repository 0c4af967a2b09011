"""When a counter with constant ends leaves its loop, with the wrap-around that its width brings.

``for (signed char j = 0; j != -100; j++)`` runs 156 times: its counter wraps around after 127. Counters of up to 16
bits are followed step by step, since they take each value at most once; of wider ones the meeting with the bound is
solved for.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gridloom.frontend.c.llvm.ir import Constant

#: Counters of at most so many bits are followed step by step.
_FOLLOWED: Final = 16
_RELATIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq, "ne": operator.ne, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Test:
    """The comparison that decides whether a loop goes on.

    ``swapped``: the counter is the second operand. ``stops``: the loop ends where the comparison holds.
    """

    predicate: str
    swapped: bool
    stops: bool

    @property
    def is_unsigned(self) -> bool:
        """True where the comparison reads numbers without a sign."""
        return self.predicate[0] == "u"

    def goes_on(self, value: int, bound: int) -> bool:
        """Whether the loop goes on, from numbers as the comparison reads them."""
        a, b = (bound, value) if self.swapped else (value, bound)
        return _RELATIONS[self.predicate[-2:]](a, b) != self.stops


def bits_of(type_: str) -> int:
    """Bits of an integer type; a pointer has those of an address."""
    return 32 if type_ == "ptr" else int(type_[1:])


def signed(number: int, bits: int) -> int:
    """The low bits of a number, read with their sign.

    >>> signed(200, 8), signed(-56, 8)
    (-56, -56)
    """
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def last_visit(test: Test, tested: Callable[[int], int], counter: tuple[Constant, int], bound: Constant) -> int | None:
    """The first visit, counted from 0, whose test ends a loop; None for a loop that never ends, or not known to.

    ``tested`` gives the tested value, signed in its width, from the counter's; ``counter`` is its start and its step.
    """
    start, step = counter
    bits, width = bits_of(start.type), bits_of(bound.type)

    def read(number: int) -> int:
        return number & ((1 << width) - 1) if test.is_unsigned else number

    def ends(visit: int) -> bool:
        return not test.goes_on(read(tested(signed(start.value + visit * step, bits))), read(bound.value))

    if bits <= _FOLLOWED:
        return next((visit for visit in range((1 << bits) + 1) if ends(visit)), None)
    if test.predicate in ("eq", "ne"):
        if ends(0) or not test.goes_on(0, 1):
            return 0 if ends(0) else 1
        return None if bits != width else _meeting(step, bound.value - tested(signed(start.value, bits)), bits)
    return _crossing(ends, read, tested, (start.value, step, bits), read(bound.value))


def _meeting(step: int, distance: int, bits: int) -> int | None:
    """The first multiple of a step that is a distance apart, modulo the width; None where none is.

    >>> _meeting(1, -100, 8), _meeting(2, 3, 8), _meeting(-3, 1, 8)
    (156, None, 85)
    """
    common = math.gcd(step, 1 << bits)
    if distance % common:
        return None
    modulus = (1 << bits) // common
    return distance // common * pow(step // common, -1, modulus) % modulus


def _crossing(
    ends: Callable[[int], bool], read: Callable[[int], int], tested: Callable[[int], int],
    counter: tuple[int, int, int], bound: int,
) -> int | None:  # fmt: skip
    """The visit at which an ordered test ends a loop whose counter does not wrap around before; None for one that does.

    Where the first test does not end the loop, its value moves towards the bound or away from it.
    """
    if ends(0):
        return 0
    start, step, bits = counter
    first = read(tested(signed(start, bits)))
    near = max((bound - first) // step, 1)
    for visit in (near - 1, near, near + 1):
        if visit > 0 and ends(visit):
            # What is tested has moved as far as the steps say, unless it has wrapped around.
            straight = read(tested(signed(start + visit * step, bits))) == first + visit * step
            return visit if straight else None
    return None
