"""Registers of a file for values and live-ins: which register each is in, and how many of them rotate.

A value takes a register in every cycle from its result to its last use. A register that does not rotate holds it for
II cycles at most; m rotating ones are a band of m * II cells around which every value is shifted by II from iteration
to iteration. Cells are filled first fit, longest value first, for several m and orders.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gridloom.archs.model import RegisterFile

_ORDERS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The result of an op that waits in a file from cycle ``first`` to ``last``, both included."""

    op: int
    file: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class FileUse:
    """How a file is used."""

    #: Registers that rotate.
    rotating: int
    #: Registers in use in the fullest slot, and over all slots.
    peak: int
    taken: int
    #: Op -> position of the register that its value is in at first.
    register: Mapping[int, int] = field(default_factory=dict)
    #: Live-in -> position of the register that keeps it.
    kept: Mapping[int, int] = field(default_factory=dict)
    first: Mapping[int, int] = field(default_factory=dict)

    def position(self, op: int, cycle: int, ii: int) -> int:
        """The register in which an op's value is in a flat cycle."""
        register = self.register[op]
        if register >= self.rotating:
            return register
        return (register - (cycle // ii - self.first[op] // ii)) % self.rotating


def allocate(file: RegisterFile, values: Sequence[Value], kept: Sequence[int], ii: int) -> FileUse | None:
    """Registers for all of them, or None where first fit finds no room."""
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


def _choices(file: RegisterFile, values: Sequence[Value], kept: int, ii: int) -> list[int]:
    """How many registers may rotate, the fewest first."""
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


def _orders(values: Sequence[Value]) -> Iterator[list[Value]]:
    yield sorted(values, key=lambda value: (value.first - value.last, value.first, value.op))
    yield sorted(values, key=lambda value: (value.first, value.op))
    for seed in range(_ORDERS):
        yield random.Random(seed).sample(list(values), len(values))


def _fill(order: Sequence[Value], rotating: int, usable: int, ii: int) -> dict[int, int] | None:
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


def _candidates(value: Value, rotating: int, usable: int, ii: int) -> Iterator[int]:
    """Still registers first for short values: they cannot take long ones."""
    if value.last - value.first < ii:
        yield from range(rotating, usable)
    yield from range(min(rotating, usable))


def _cells(value: Value, register: int, rotating: int, ii: int) -> set[tuple[int, int]]:
    """(register, slot) in each cycle; fewer than cycles where the value would run into itself."""
    if register >= rotating:
        return {(register, cycle % ii) for cycle in range(value.first, value.last + 1)}
    base = value.first // ii
    return {((register - (cycle // ii - base)) % rotating, cycle % ii) for cycle in range(value.first, value.last + 1)}
