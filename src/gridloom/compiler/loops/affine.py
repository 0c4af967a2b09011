"""What of a loop body is fixed, and what moves by a fixed amount in each iteration.

A value that is ``start + step * iteration`` has a :class:`AffineLine`: two linear forms over atoms, which are values
that no iteration changes. Words wrap around, and sums and products by constants do so alike, so that forms are exact
modulo 2**32. Loads are fixed where their index is and nothing writes their array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.operations import CarriedValue, Const, LiveIn, LoopOperation, Operand, OperationResult

if TYPE_CHECKING:
    from gridloom.compiler.loops.body import Body

#: Operations that touch more than their operands, or stand for something that comes from outside.
_IMPURE: Final = frozenset({"store", "store_if", "input", "output", "poison", "load"})


@dataclass(frozen=True, slots=True)
class LinearForm:
    """``constant`` + the sum of coefficient * atom, modulo 2**32. Coefficients are never 0; atoms are sorted."""

    constant: int = 0
    terms: tuple[tuple[Operand, int], ...] = ()

    def plus(self, other: LinearForm, factor: int = 1) -> LinearForm:
        """The sum of this form and a multiple of another one."""
        terms = dict(self.terms)
        for atom, coefficient in other.terms:
            terms[atom] = wrap(terms.get(atom, 0) + factor * coefficient)
        kept = sorted(((a, c) for a, c in terms.items() if c), key=lambda term: repr(term[0]))
        return LinearForm(wrap(self.constant + factor * other.constant), tuple(kept))

    @property
    def number(self) -> int | None:
        """The constant of a form without atoms; None for any other."""
        return None if self.terms else self.constant


@dataclass(frozen=True, slots=True)
class AffineLine:
    """A value that is ``start + step * iteration``."""

    start: LinearForm
    step: LinearForm

    def plus(self, other: AffineLine, factor: int = 1) -> AffineLine:
        """The sum of this line and a multiple of another one."""
        return AffineLine(self.start.plus(other.start, factor), self.step.plus(other.step, factor))

    def times(self, factor: int) -> AffineLine:
        """The line with everything multiplied by a constant."""
        return AffineLine(LinearForm().plus(self.start, factor), LinearForm().plus(self.step, factor))


class Lines:
    """The lines of a body's values; answers are kept, so that all of them together cost one walk over the body."""

    def __init__(self, body: Body) -> None:
        self.body = body
        stored = {made.array for made in body.operations.values() if made.op in ("store", "store_if")}
        ordered = {end for order in body.orders for end in (order.source, order.target)}
        #: Loads that nothing of the loop may disturb.
        self.undisturbed = {
            id_ for id_, made in body.operations.items()
            if made.op == "load" and made.array not in stored and id_ not in ordered
        }  # fmt: skip
        self._known: dict[Operand, AffineLine | None] = {}

    def of(self, operand: Operand) -> AffineLine | None:
        """The line of an operand; None where it is not known to move by a fixed amount."""
        if operand not in self._known:
            # A value that depends on itself has no line unless it is a counter, which is recognised as a whole.
            self._known[operand] = None
            self._known[operand] = self._line(operand)
        return self._known[operand]

    def is_fixed(self, operand: Operand) -> bool:
        """True for a value that no iteration changes."""
        line = self.of(operand)
        return line is not None and line.step == LinearForm()

    def _line(self, operand: Operand) -> AffineLine | None:
        """The line of :meth:`of`, computed anew."""
        if isinstance(operand, Const):
            return AffineLine(LinearForm(operand.value), LinearForm())
        if isinstance(operand, LiveIn):
            return _fixed(operand)
        if isinstance(operand, CarriedValue):
            return self._counter(operand)
        made = self.body.operations[operand.id]
        line = self._sum(made)
        if line is not None:
            return line
        return _fixed(operand) if self._is_computed_once(operand, made) else None

    def _counter(self, carried: CarriedValue) -> AffineLine | None:
        """The line of a carried value that an iteration moves by a fixed amount."""
        recurrence = self.body.carried[carried.name]
        first = recurrence.initial
        start = LinearForm(0, ((LiveIn(first), 1),)) if isinstance(first, str) else LinearForm(first)
        if not isinstance(recurrence.next, OperationResult):
            return None
        made = self.body.operations[recurrence.next.id]
        if made.op not in ("add", "sub") or carried not in made.operands:
            return None
        place = made.operands.index(carried)
        other = made.operands[1 - place]
        if other == carried or (made.op == "sub" and place == 1):
            return None
        line = self.of(other)
        if line is None or line.step != LinearForm():
            return None
        return AffineLine(start, LinearForm().plus(line.start, -1 if made.op == "sub" else 1))

    def _sum(self, made: LoopOperation) -> AffineLine | None:
        """The line of a sum, a difference, or a product by a fixed value."""
        if made.op not in ("add", "sub", "mul", "shl", "move"):
            return None
        lines = [self.of(operand) for operand in made.operands]
        if any(line is None for line in lines):
            return None
        known = [line for line in lines if line is not None]
        if made.op == "move":
            return known[0]
        if made.op in ("add", "sub"):
            return known[0].plus(known[1], 1 if made.op == "add" else -1)
        if made.op == "shl":
            amount = known[1].start.number if known[1].step == LinearForm() else None
            return known[0].times(wrap(1 << amount)) if amount is not None and 0 <= amount < 32 else None
        return _product(*known)

    def _is_computed_once(self, operand: OperationResult, made: LoopOperation) -> bool:
        """True for an operation that yields the same in every iteration."""
        if made.op in _IMPURE and operand.id not in self.undisturbed:
            return False
        return all(self.is_fixed(o) for o in made.operands)


def _fixed(operand: Operand) -> AffineLine:
    """The line of a value that no iteration changes."""
    return AffineLine(LinearForm(0, ((operand, 1),)), LinearForm())


def _product(a: AffineLine, b: AffineLine) -> AffineLine | None:
    """The product of two lines of which one is a number, or of a counter from a number with one fixed value."""
    for one, other in ((a, b), (b, a)):
        factor = other.start.number if other.step == LinearForm() else None
        if factor is not None:
            return one.times(factor)
        start, step = one.start.number, one.step.number
        # (c + s * i) * w is c * w + (s * w) * i; a product of two fixed values stays an operation of its own.
        if start is not None and step and other.step == LinearForm():
            return AffineLine(LinearForm().plus(other.start, start), LinearForm().plus(other.start, step))
    return None
