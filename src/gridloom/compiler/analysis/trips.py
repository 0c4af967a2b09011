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

from gridloom.compiler.analysis.evolution import bits_of
from gridloom.compiler.ir.ir import Constant, Instruction, Value

#: Counters of at most so many bits are followed step by step.
_FOLLOWED: Final = 16
_RELATIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq, "ne": operator.ne, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip

#: Opcode -> what it computes from the width of its first operand and numbers that are signed in theirs.
_COMPUTED: Final[dict[str, Callable[..., int]]] = {
    "add": lambda bits, a, b: a + b, "sub": lambda bits, a, b: a - b, "and": lambda bits, a, b: a & b,
    "shl": lambda bits, a, b: a << (b & (bits - 1)), "ashr": lambda bits, a, b: a >> (b & (bits - 1)),
    "sext": lambda bits, a: a, "zext": lambda bits, a: a & ((1 << bits) - 1), "trunc": lambda bits, a: a,
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


def read_signed(number: int, bits: int) -> int:
    """The low bits of a number, read with their sign.

    >>> read_signed(200, 8), read_signed(-56, 8)
    (-56, -56)
    """
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def counted_root(value: Value, inside: Callable[[Value], bool]) -> Value | None:
    """The value that another one counts with: itself, after amounts from outside are taken off, and cuts undone.

    clang keeps narrow counters in words: ``(j + 3) & 255``, or ``((j << 24) + (3 << 24)) >> 24``. None where a shift
    is left over.
    """
    shifted = 0
    while isinstance(value, Instruction) and inside(value):
        second = value.operands[1] if len(value.operands) == 2 else None
        if value.opcode in ("add", "sub", "getelementptr") and second is not None and not inside(second):
            pass
        elif value.opcode in ("shl", "ashr") and isinstance(second, Constant):
            shifted += second.value if value.opcode == "ashr" else -second.value
        elif value.opcode not in ("sext", "zext", "trunc") and not _is_mask(value, second):
            break
        value = value.operands[0]
    return None if shifted else value


def _is_mask(value: Instruction, second: Value | None) -> bool:
    """True for an operation that keeps the low bits of a value."""
    return value.opcode == "and" and isinstance(second, Constant) and second.value & (second.value + 1) == 0


@dataclass(frozen=True, slots=True)
class LoopCounter:
    """A counter of a loop: its phi, its start, what follows it, the value that is tested, and the step if it is fixed.

    Only the phi and constants decide what follows and what is tested.
    """

    phi: Instruction
    start: Constant
    following: Value
    tested: Value
    step: int | None

    def value_of(self, value: Value, number: int) -> int | None:
        """What a value is where the counter is ``number``, signed in its width; None for what is not known here."""
        if value is self.phi:
            return number
        if isinstance(value, Constant):
            return value.value
        if not isinstance(value, Instruction) or value.opcode not in _COMPUTED:
            return None
        operands = [self.value_of(operand, number) for operand in value.operands]
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands):
            return None
        bits = bits_of(value.operands[0].type)
        return read_signed(_COMPUTED[value.opcode](bits, *known), bits_of(value.type))


def last_visit(test: Test, counter: LoopCounter, bound: Constant) -> int | None:
    """The first visit, counted from 0, whose test ends a loop; None for a loop that never ends, or not known to."""
    width = bits_of(bound.type)

    def read(number: int) -> int:
        return number & ((1 << width) - 1) if test.is_unsigned else number

    def tested(number: int) -> int | None:
        return counter.value_of(counter.tested, number)

    start, bits = counter.start.value, bits_of(counter.start.type)
    first = tested(start)
    if first is None or counter.value_of(counter.following, start) is None:
        return None
    if bits <= _FOLLOWED or not counter.step:
        return _followed(lambda number: not test.goes_on(read(tested(number) or 0), read(bound.value)), counter)
    step = counter.step

    def ends(visit: int) -> bool:
        return not test.goes_on(read(tested(read_signed(start + visit * step, bits)) or 0), read(bound.value))

    if ends(0):
        return 0
    if test.predicate in ("eq", "ne"):
        if not test.goes_on(0, 1):
            return 1
        # A value that is cut or extended may meet the bound earlier than the counter does.
        return _meeting(step, bound.value - first, bits) if bits == width and _is_sum(counter) else None
    # An ordered test ends the loop next to the bound, or where the counter has wrapped around at an end of its range.
    low, high = (0, (1 << width) - 1) if test.is_unsigned else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    for place in (read(bound.value), high if step > 0 else low):
        near = max((place - read(first)) // step, 1)
        for visit in (near - 1, near, near + 1):
            before = read(tested(read_signed(start + (visit - 1) * step, bits)) or 0)
            # Between two values that do not end the loop none does, where the counter has gone straight.
            if visit > 0 and ends(visit) and not ends(visit - 1) and before == read(first) + (visit - 1) * step:
                return visit
    return None


def _is_sum(counter: LoopCounter) -> bool:
    """True where what is tested is the counter plus a constant."""
    value = counter.tested
    while isinstance(value, Instruction) and value.opcode in ("add", "sub") and value is not counter.phi:
        value = value.operands[0]
    return value is counter.phi


def _followed(ends: Callable[[int], bool], counter: LoopCounter) -> int | None:
    """The visit that ends a loop whose counter takes few values, found by counting; None where no visit does."""
    number: int | None = counter.start.value
    for visit in range((1 << _FOLLOWED) + 1):
        if number is None:
            return None
        if ends(number):
            return visit
        number = counter.value_of(counter.following, number)
    return None


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
