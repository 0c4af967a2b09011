"""Scalar evolution: what an iteration of a loop adds to a value, and how wide the value is.

    Evolution(loop).of(value)       Fixed, AddRec or Unknown
    Evolution(loop).step_of(value)  the same as a number: 0 for a fixed value, None where the step is no number

A value is an add recurrence where it is ``start + k * step`` in iteration k, modulo ``2**bits``. The answer is exact in
that width and says nothing about a wider one: an 8-bit counter wraps around, so its extension to a word is unknown.

The idea is that of LLVM's scalar evolution, reduced to one level: a value is expanded into a linear form over header
phis, fixed values and products by fixed values; each phi contributes what separates it from its next value. A query is
linear in the instructions between the value and the phis; answers for phis are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gridloom.compiler.ir.ir import Constant, Instruction, IrParameter, Value
from gridloom.compiler.ir.layout import DataLayout, array_parts, integer_bits
from gridloom.errors import SourceError

if TYPE_CHECKING:
    from gridloom.compiler.analysis.loops import NaturalLoop

#: Bits of an address.
WORD = 32


@dataclass(frozen=True)
class Form:
    """``constant`` + the sum of coefficient * symbol, in bytes or in counts.

    Coefficients are never 0. Symbols are IR values, which are compared by identity, or operands of a loop body.
    """

    constant: int = 0
    terms: dict[Any, int] = field(default_factory=dict)

    def __add__(self, other: Form) -> Form:
        """The sum; symbols whose coefficients cancel are dropped, so that equal places have equal forms."""
        terms = dict(self.terms)
        for symbol, coefficient in other.terms.items():
            terms[symbol] = terms.get(symbol, 0) + coefficient
        return Form(self.constant + other.constant, {s: c for s, c in terms.items() if c})

    def times(self, factor: int) -> Form:
        """The form with everything multiplied."""
        return Form(self.constant * factor, {s: c * factor for s, c in self.terms.items()} if factor else {})

    def minus(self, other: Form) -> Form:
        """The difference."""
        return self + other.times(-1)


@dataclass(frozen=True)
class Fixed:
    """A value that no iteration changes."""


@dataclass(frozen=True)
class AddRec:
    """A value that is ``start + k * step`` in iteration k, modulo ``2**bits``; the step is a form over fixed values.

    ``start`` is None where it is computed in the first iteration, or comes from several places.
    """

    start: Value | None
    step: Form
    bits: int


@dataclass(frozen=True)
class Unknown:
    """A value that moves by no fixed amount, or that is not known to."""


def bits_of(kind: str) -> int:
    """Bits of an integer type; a pointer has those of an address, any other type none."""
    return WORD if kind == "ptr" else integer_bits(kind)


def linear_form(value: Value, inside: Callable[[Value], bool] = lambda value: True) -> Form:
    """An integer as a linear form in its own width, as far as it is linear; any other value is a symbol of its own.

    Values that are not ``inside`` are symbols, too.
    """
    if isinstance(value, Constant):
        return Form(value.value)
    if not isinstance(value, Instruction) or not inside(value):
        return Form(0, {value: 1})
    if value.opcode in ("add", "sub"):
        a, b = (linear_form(operand, inside) for operand in value.operands)
        return a + b if value.opcode == "add" else a.minus(b)
    if value.opcode == "select" and all(isinstance(o, Constant) for o in value.operands[1:]):
        condition, yes, no = value.operands
        assert isinstance(yes, Constant) and isinstance(no, Constant)
        return Form(no.value, {condition: yes.value - no.value}) if yes.value != no.value else Form(no.value)
    second = value.operands[1] if len(value.operands) > 1 else None
    if isinstance(second, Constant):
        if value.opcode == "mul":
            return linear_form(value.operands[0], inside).times(second.value)
        if value.opcode == "shl" and 0 <= second.value < bits_of(value.type) - 1:
            return linear_form(value.operands[0], inside).times(1 << second.value)
        # clang writes a sum that cannot carry as an or.
        if value.opcode == "or" and "disjoint" in value.text:
            return linear_form(value.operands[0], inside) + Form(second.value)
    return Form(0, {value: 1})


def expand(form: Form) -> Form:
    """A form of words over innermost symbols, fixed or not: what forms are compared in."""
    total = Form(form.constant)
    for symbol, coefficient in form.terms.items():
        is_word = isinstance(symbol, Instruction) and symbol.type == "i32"
        total += (linear_form(symbol) if is_word else Form(0, {symbol: 1})).times(coefficient)
    return total


def indexed_bytes(item: Instruction, layout: DataLayout, integer: Callable[[Value], Form]) -> Form:
    """The bytes that the indices of a getelementptr add; ``integer`` gives the form of an index.

    The first index steps over whole objects of the source type, each further one goes a level deeper into it, as LLVM
    defines the instruction.
    """
    kind, total = item.source_type, Form()
    for k, index in enumerate(item.operands[1:]):
        array = array_parts(kind) if k else None
        if k and array is None:
            # LLVM takes only constants as indices of struct members.
            offset, kind = layout.members(kind)[index.value if isinstance(index, Constant) else 0]
            total += Form(offset)
            continue
        kind = array.element if array else kind
        total += integer(index).times(layout.size(kind))
    return total


class Evolution:
    """The evolution of values in one loop.

    ``layout`` is needed for pointers into structs. With ``turn``, an iteration is one that ``turn`` counts: it moves
    by 1, and the header phis of the loop are fixed.
    """

    def __init__(self, loop: NaturalLoop, layout: DataLayout | None = None, turn: Value | None = None) -> None:
        self.loop, self.turn = loop, turn
        self.layout = DataLayout({}) if layout is None else layout
        self._steps: dict[Instruction, Form | None] = {}

    def of(self, value: Value) -> Fixed | AddRec | Unknown:
        """What the loop does to a value."""
        if value is not self.turn and not self.loop.contains(value):
            return Fixed()
        step = self._step(value)
        if step is None:
            return Unknown()
        if step == Form():
            return Fixed()
        is_phi = isinstance(value, Instruction) and value in self.loop.phis
        return AddRec(self.loop.initial(value) if is_phi else None, step, bits_of(value.type))  # type: ignore[arg-type]

    def step_of(self, value: Value) -> int | None:
        """What an iteration adds to a value, a pointer in bytes; 0 for a fixed value, None where it is no number."""
        step = self.of(value)
        if isinstance(step, AddRec):
            return None if step.step.terms else step.step.constant
        return 0 if isinstance(step, Fixed) else None

    def word_step(self, value: Value) -> Form | None:
        """What an iteration adds to a word or a pointer, as a form over fixed values; None where that is not fixed.

        None also for a narrower value that moves, which may wrap around before it is extended.
        """
        step = self.of(value)
        if isinstance(step, AddRec):
            return step.step if bits_of(value.type) >= WORD else None
        return Form() if isinstance(step, Fixed) else None

    def moves(self, place: Form) -> Form | None:
        """What an iteration adds to a sum of words and pointers; None where that is not fixed."""
        total = Form()
        for symbol, coefficient in place.terms.items():
            step = self.word_step(symbol)
            if step is None:
                return None
            total += step.times(coefficient)
        return total

    def _step(self, value: Value) -> Form | None:
        """What an iteration adds, in the width of the value."""
        if isinstance(value, Instruction) and value.opcode == "trunc" and self.loop.contains(value):
            return self._step(value.operands[0])
        total = Form()
        for symbol, coefficient in self._form(value).terms.items():
            own = self._symbol_step(symbol)
            # A symbol narrower than the sum wraps around at another place.
            if own is None or (own != Form() and bits_of(symbol.type) < bits_of(value.type)):
                return None
            total += own.times(coefficient)
        return total

    def _form(self, value: Value) -> Form:
        """A value over header phis, fixed values and what is not linear."""
        if isinstance(value, Instruction) and self.loop.contains(value):
            if value.opcode == "getelementptr":
                try:
                    return self._form(value.operands[0]) + indexed_bytes(value, self.layout, self._index)
                except SourceError:
                    return Form(0, {value: 1})
            if value.opcode == "phi" and value not in self.loop.phis and len(set(value.operands)) == 1:
                return self._form(value.operands[0])
        return linear_form(value, self.loop.contains)

    def _index(self, value: Value) -> Form:
        """An index over the same; a narrower one is extended after it has wrapped around, so that it stays a symbol."""
        narrow = not isinstance(value, Constant) and bits_of(value.type) < WORD
        return Form(0, {value: 1}) if narrow else self._form(value)

    def _symbol_step(self, symbol: Value) -> Form | None:
        """What an iteration adds to a symbol of a form."""
        if symbol is self.turn:
            return Form(1)
        if not isinstance(symbol, Instruction) or not self.loop.contains(symbol):
            return Form()
        if symbol in self.loop.phis:
            return Form() if self.turn is not None else self._phi_step(symbol)
        if symbol.opcode == "mul":
            for factor, fixed in (symbol.operands, symbol.operands[::-1]):
                if isinstance(fixed, IrParameter | Instruction) and isinstance(self.of(fixed), Fixed):
                    step = self._step(factor)
                    return None if step is None or step.terms else Form(0, {fixed: step.constant})
        return None

    def _phi_step(self, phi: Instruction) -> Form | None:
        """What separates a header phi from its next value."""
        if phi not in self._steps:
            # A value that is asked for while it is computed depends on itself.
            self._steps[phi] = None
            step = self._form(self.loop.following(phi)).minus(Form(0, {phi: 1}))
            fixed = not any(self.loop.contains(symbol) for symbol in step.terms)
            self._steps[phi] = step if fixed and bits_of(phi.type) else None
        return self._steps[phi]
