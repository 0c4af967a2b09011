"""Values of a flattened nest that move evenly along a row and evenly from row to row, as running sums.

In ``out[y * width + x]`` the index moves by 1 in each iteration of the inner loop, and by ``width`` in each of the
outer one. Computed from both counters it costs a product and two sums in every iteration, and the outer counter costs a
test for the row's end, a select and a sum. As a running sum it costs one addition of an amount that values with the
same steps share: 1 along the row, ``width - (length - 1)`` where a new row begins. Where both are the same number, the
nest is one long row, and nothing of its two loops is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridloom.compiler.loops.affine import LinearForm, Lines
from gridloom.compiler.loops.operations import (
    TRUE,
    CarriedValue,
    Const,
    LiveIn,
    LoopOperation,
    Operand,
    OperationResult,
)
from gridloom.compiler.loops.prologue import Prologue
from gridloom.compiler.loops.reuse import substitute

if TYPE_CHECKING:
    from gridloom.compiler.loops.body import Body

_NOTHING = LinearForm()


@dataclass(frozen=True, slots=True)
class RowValue:
    """A value that is ``start + along * (place in the row) + across * (number of the row)``."""

    start: LinearForm
    along: LinearForm = _NOTHING
    across: LinearForm = _NOTHING

    def plus(self, other: RowValue, factor: int = 1) -> RowValue:
        """The sum of this value and a multiple of another one."""
        return RowValue(
            self.start.plus(other.start, factor), self.along.plus(other.along, factor),
            self.across.plus(other.across, factor),
        )  # fmt: skip

    @property
    def is_fixed(self) -> bool:
        """True for a value that no iteration changes."""
        return self.along == _NOTHING and self.across == _NOTHING

    def numbers(self) -> tuple[int, int, int] | None:
        """Start, along and across where all of them are numbers."""
        parts = [part.number for part in (self.start, self.along, self.across)]
        known = [part for part in parts if part is not None]
        return (known[0], known[1], known[2]) if len(known) == len(parts) else None


@dataclass(frozen=True)
class NestRows:
    """What makes a nest one of rows: how far the inner loop is, its iterations, and counters of the outer loop.

    ``count`` is 0 where a row begins; ``counters`` gives what an outer iteration adds to a carried value.
    """

    count: OperationResult
    length: Const | LiveIn
    counters: Mapping[str, int]


def run_along(body: Body, rows: NestRows) -> None:
    """Let values that move evenly be running sums, where that leaves fewer operations. Costs some walks over the body.

    Every value stays what it was in every iteration.
    """
    changed = body.copy()
    _Running(changed, rows).replace()
    if len(changed.needed()) < len(body.needed()):
        for name in ("operations", "carried", "ranges", "liveouts", "prologue", "reserved", "_shared"):
            setattr(body, name, getattr(changed, name))


class _Running:
    """Replaces the values of one body."""

    def __init__(self, body: Body, rows: NestRows) -> None:
        self.body, self.rows = body, rows
        self.lines, self.prologue = Lines(body), Prologue(body)
        self.known: dict[Operand, RowValue | None] = {}
        #: Additions by which counters of the outer loop count.
        self.counting = {
            following.id for name in rows.counters if isinstance(following := body.carried[name].next, OperationResult)
        }

    def replace(self) -> None:
        """Replace what is read by operations that do not move evenly themselves."""
        self._simplify_tests()
        groups: dict[tuple[LinearForm, LinearForm], Counter[Operand]] = {}
        for operand, reads in self._wanted().items():
            row = self.of(operand)
            assert row is not None
            groups.setdefault((row.along, row.across), Counter())[operand] += reads
        changed: dict[Operand, Operand] = {}
        for members in groups.values():
            changed |= self._sums([operand for operand, _ in members.most_common()])
        kept = {id_: self.body.operations[id_].operands for id_ in self.counting}
        substitute(self.body, changed)
        for id_, operands in kept.items():
            self.body.operations[id_].operands = operands

    # -- what moves evenly --------------------------------------------------------------------------------------------

    def of(self, operand: Operand) -> RowValue | None:
        """How an operand moves; None where it does not move evenly."""
        if operand not in self.known:
            self.known[operand] = None
            self.known[operand] = self._row(operand)
        return self.known[operand]

    def _row(self, operand: Operand) -> RowValue | None:
        if operand == self.rows.count:
            return RowValue(_NOTHING, LinearForm(1))
        if isinstance(operand, CarriedValue) and operand.name in self.rows.counters:
            first = self.body.carried[operand.name].initial
            start = LinearForm(0, ((LiveIn(first), 1),)) if isinstance(first, str) else LinearForm(first)
            return RowValue(start, _NOTHING, LinearForm(self.rows.counters[operand.name]))
        if self.lines.is_fixed(operand):
            line = self.lines.of(operand)
            return None if line is None else RowValue(line.start)
        return self._computed(self.body.operations[operand.id]) if isinstance(operand, OperationResult) else None

    def _computed(self, made: LoopOperation) -> RowValue | None:
        """A sum, a difference, or a product by a fixed value."""
        if made.op not in ("add", "sub", "mul", "shl", "move"):
            return None
        parts = [row for operand in made.operands if (row := self.of(operand)) is not None]
        if len(parts) < len(made.operands):
            return None
        if made.op == "move":
            return parts[0]
        if made.op in ("add", "sub"):
            return parts[0].plus(parts[1], 1 if made.op == "add" else -1)
        if made.op == "shl":
            amount = parts[1].start.number if parts[1].is_fixed else None
            return RowValue(_NOTHING).plus(parts[0], 1 << amount) if amount is not None and 0 <= amount < 31 else None
        return _product(parts[0], parts[1]) or _product(parts[1], parts[0])

    def _wanted(self) -> Counter[Operand]:
        """The values that move from row to row and are read by what does not move evenly, with how often."""
        alive = self.body.needed()
        readers = [made.operands for id_, made in self.body.operations.items()
                   if id_ in alive and id_ not in self.counting and self.of(OperationResult(id_)) is None]  # fmt: skip
        readers.append(tuple(self.body.liveouts.values()))
        readers += [(r.next,) for name, r in self.body.carried.items()
                    if r.next is not None and name not in self.rows.counters]  # fmt: skip
        found: Counter[Operand] = Counter()
        for operand in (operand for operands in readers for operand in operands):
            row = self.of(operand)
            if row is not None and row.across != _NOTHING:
                found[operand] += 1
        return found

    # -- what takes their place ---------------------------------------------------------------------------------------

    def _simplify_tests(self) -> None:
        """A test of a counter of the inner loop for equality asks how far that loop is."""
        for made in self.body.operations.values():
            if made.op not in ("eq", "ne"):
                continue
            for one, other in (made.operands, made.operands[::-1]):
                row, fixed = self.of(one), self.of(other)
                if row is None or fixed is None or not fixed.is_fixed or one == self.rows.count:
                    continue
                if row.along == LinearForm(1) and row.across == _NOTHING:
                    made.operands = (self.rows.count, self.prologue.linear(fixed.start.plus(row.start, -1), "at"))
                    break

    def _sums(self, operands: list[Operand]) -> dict[Operand, Operand]:
        """Running sums for values with the same steps: one, and the others at a fixed distance from it."""
        body, prologue = self.body, self.prologue
        base = self.of(operands[0])
        assert base is not None
        along, jump = prologue.linear(base.along, "along"), self._jump(base)
        amount = along if along == jump else body.emit("select", self.rows.count, along, jump, hint="amount")
        before = prologue.emit("sub", prologue.linear(base.start, "first"), jump, hint="before")
        assert isinstance(before, Const | LiveIn)
        carried = body.recur("along", before.value if isinstance(before, Const) else before)
        total = body.emit("add", carried, amount, hint="along")
        body.carried[carried.name].next = total
        changed: dict[Operand, Operand] = {}
        for operand in operands:
            own = self.of(operand)
            assert own is not None
            changed[operand] = body.emit("add", total, prologue.linear(own.start.plus(base.start, -1), "gap"))
        return changed

    def _jump(self, row: RowValue) -> Operand:
        """What is added where a row begins: a row less the way along the one before."""
        length, step = self.rows.length, row.along.number
        if step is not None:
            whole = LinearForm(length.value) if isinstance(length, Const) else self._form(length)
            return self.prologue.linear(row.across.plus(whole.plus(LinearForm(-1)), -step), "jump")
        way = self.prologue.emit("sub", length, TRUE, hint="way")
        back = self.prologue.emit("mul", self.prologue.linear(row.along, "along"), way, hint="way")
        return self.prologue.emit("sub", self.prologue.linear(row.across, "across"), back, hint="jump")

    def _form(self, livein: LiveIn) -> LinearForm:
        """A computed live-in as a linear form over others, as far as it is a sum of them."""
        made = self.body.prologue.get(livein.name)
        if made is None or made.op not in ("add", "sub") or len(made.operands) != 2:
            return LinearForm(0, ((livein, 1),))
        a, b = (LinearForm(o.value) if isinstance(o, Const) else self._form(o) if isinstance(o, LiveIn) else None
                for o in made.operands)  # fmt: skip
        if a is None or b is None:
            return LinearForm(0, ((livein, 1),))
        return a.plus(b, 1 if made.op == "add" else -1)


def _product(row: RowValue, factor: RowValue) -> RowValue | None:
    """A value times a number; or a value of numbers times a fixed one."""
    if not factor.is_fixed:
        return None
    number = factor.start.number
    if number is not None:
        return RowValue(_NOTHING).plus(row, number)
    numbers = row.numbers()
    if numbers is None or row.is_fixed:
        return None
    return RowValue(*(_NOTHING.plus(factor.start, part) for part in numbers))
