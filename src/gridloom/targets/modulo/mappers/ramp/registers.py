"""Registers of a file for values and live-ins: which register each is in, and how many of them rotate.

A value takes a register in every cycle from its result to its last use. A register that does not rotate holds it for II
cycles at most; m rotating ones are a band of m * II cells around which every value is shifted by II from iteration to
iteration. Cells are filled first fit, longest value first, for several m and orders.

Rotating registers are the first of a file, live-ins are kept in the last ones. First fit may fail where an allocation
exists; the placement then takes an op out, which is safe.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gridloom.archs.model import RegisterFile

# Random orders of the values that are tried besides those by length and by cycle.
_ORDERS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingValue:
    """The result of an op that waits in a file from cycle ``first`` to ``last``, both included."""

    op: int
    file: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class FileUse:
    """How a file is used: an allocation of registers to values and live-ins, by position in the file."""

    #: Registers that rotate.
    rotating: int
    #: Registers in use in the fullest slot, and over all slots.
    peak: int
    taken: int
    #: For each op the position of the register that its value is in at first.
    register: Mapping[int, int] = field(default_factory=dict)
    #: For each live-in the position of the register that keeps it.
    kept: Mapping[int, int] = field(default_factory=dict)
    #: For each op the cycle of its result.
    first: Mapping[int, int] = field(default_factory=dict)

    def position(self, op: int, cycle: int, ii: int) -> int:
        """The register in which an op's value is in a flat cycle.

        >>> use = FileUse(rotating=2, peak=1, taken=4, register={0: 1}, first={0: 3})
        >>> [use.position(0, cycle, ii=2) for cycle in (3, 4, 5, 6)]
        [1, 0, 0, 1]
        """
        register = self.register[op]
        if register >= self.rotating:
            return register
        return (register - (cycle // ii - self.first[op] // ii)) % self.rotating


#: A file that holds nothing and may choose how many of its registers rotate.
UNUSED = FileUse(rotating=0, peak=0, taken=0)


def allocate(file: RegisterFile, values: Sequence[WaitingValue], kept: Sequence[int], ii: int) -> FileUse | None:
    """Registers for all of them, or None where first fit finds no room.

    Tries the fewest rotating registers first, each with eight orders of the values. Costs the sum of the lifetimes
    times the registers for each try.
    """
    total = len(file.registers)
    counts = [0] * ii
    for value in values:
        for cycle in range(value.first, value.last + 1):
            counts[cycle % ii] += 1
    peak = max(counts, default=0) + len(kept)
    if peak > total:
        return None
    for rotating in _choices(file, values, len(kept), ii):
        for order in _orders(values):
            found = _fill(order, rotating, total - len(kept), ii)
            if found is not None:
                return FileUse(
                    rotating=rotating,
                    peak=peak,
                    taken=sum(counts) + ii * len(kept),
                    register=found,
                    kept={livein: total - 1 - k for k, livein in enumerate(kept)},
                    first={value.op: value.first for value in values},
                )
    return None


def _choices(file: RegisterFile, values: Sequence[WaitingValue], kept: int, ii: int) -> list[int]:
    """How many registers may rotate, the fewest first.

    Values of more than II cycles need at least as many as they overlap iterations. Without such values, none or all
    rotate.
    """
    most = len(file.registers) - kept
    if not file.adjustable:
        return [file.rotating] if file.rotating <= most else []
    spans = [value.last - value.first + 1 for value in values]
    longs = [span for span in spans if span > ii]
    if not longs:
        return sorted({0, most})
    least = max(-(-span // ii) for span in longs)
    together = -(-sum(longs) // ii)
    wanted = {least, least + 1, together, together + 1, (least + most) // 2, most}
    return sorted(m for m in wanted if least <= m <= most)


def _orders(values: Sequence[WaitingValue]) -> Iterator[list[WaitingValue]]:
    """The orders in which values are allocated: by length, by first cycle, and some at random with fixed seeds."""
    yield sorted(values, key=lambda value: (value.first - value.last, value.first, value.op))
    yield sorted(values, key=lambda value: (value.first, value.op))
    for seed in range(_ORDERS):
        yield random.Random(seed).sample(list(values), len(values))


def _fill(order: Sequence[WaitingValue], rotating: int, usable: int, ii: int) -> dict[int, int] | None:
    """First fit in a given order: the first register of each op's value, or None where a value finds none."""
    taken: set[tuple[int, int]] = set()
    found: dict[int, int] = {}
    for value in order:
        for register in _candidates(value, rotating, usable, ii):
            cells = _cells(value, register, rotating, ii)
            if len(cells) == value.last - value.first + 1 and not cells & taken:
                taken |= cells
                found[value.op] = register
                break
        else:
            return None
    return found


def _candidates(value: WaitingValue, rotating: int, usable: int, ii: int) -> Iterator[int]:
    """The registers for a value, in order: a short value tries those that do not rotate first.

    Long values need the rotating ones, which should be left to them.
    """
    if value.last - value.first < ii:
        yield from range(rotating, usable)
    yield from range(min(rotating, usable))


def _cells(value: WaitingValue, register: int, rotating: int, ii: int) -> set[tuple[int, int]]:
    """(register, slot) in each cycle; fewer than cycles where the value would run into itself."""
    if register >= rotating:
        return {(register, cycle % ii) for cycle in range(value.first, value.last + 1)}
    base = value.first // ii
    return {((register - (cycle // ii - base)) % rotating, cycle % ii) for cycle in range(value.first, value.last + 1)}
