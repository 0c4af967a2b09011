"""64-bit integers as pairs of words: a low word that counts as unsigned and a high word with the sign.

Fixed-point code accumulates products in 64 bits and rounds before it shifts. Sums carry over by a comparison, products
come from ``mul`` and ``mulh``, and shifts join parts of both words. A live-in of 64 bits is two live-ins, and so are
elements of memory (:mod:`gridloom.compiler.c.wide_integers.elements`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gridloom.compiler.ir.ir import Constant, Instruction, Value
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.operations import FALSE, TRUE, Const, Operand
from gridloom.errors import SourceError

_BITWISE: Final = ("and", "or", "xor")
_EXTREMA: Final = {"smin": ("slt", False), "smax": ("slt", True), "umin": ("ult", False), "umax": ("ult", True)}
_TAKEN: Final = (
    "64-bit integers are taken where they are sums, products, shifts, bitwise ops, comparisons and choices of values "
    "that the loop computes"
)


@dataclass(frozen=True, slots=True)
class WordPair:
    """The two words of a 64-bit integer."""

    low: Operand
    high: Operand


class Wide:
    """Turns instructions on 64-bit integers into operations on pairs; ``value`` gives the operand of a word.

    ``problem`` says why a value of the loop has no pair; ``pairs`` holds the pair of every instruction that has one.
    ``livein`` gives the two words of a value from before the loop.
    Methods raise SourceError without a place.
    """

    def __init__(
        self,
        body: Body,
        value: Callable[[Value], Operand],
        extended: Callable[[Value, bool], Operand],
        problem: Callable[[Value], SourceError | None],
        livein: Callable[[Value], tuple[Operand, Operand] | None],
    ) -> None:
        self.body, self.value, self.extended, self.problem, self.livein = body, value, extended, problem, livein
        self.pairs: dict[Value, WordPair] = {}

    def pair(self, value: Value) -> WordPair:
        """The pair of a value; SourceError for one of the loop that has none."""
        if isinstance(value, Constant):
            return WordPair(Const(wrap(value.value)), Const(wrap(value.value >> 32)))
        if value in self.pairs:
            return self.pairs[value]
        words = self.livein(value)
        if words is None:
            raise self.problem(value) or SourceError(f"it makes a 64-bit integer of an address; {_TAKEN}")
        return WordPair(*words)

    def lower(self, item: Instruction) -> WordPair:
        """The pair of an instruction whose result has 64 bits. SourceError for what is not taken."""
        body, opcode = self.body, item.opcode
        if opcode == "sext":
            low = self.extended(item.operands[0], True)
            return WordPair(low, body.emit("shr", low, Const(31)))
        if opcode == "zext":
            return WordPair(self.extended(item.operands[0], False), FALSE)
        if opcode == "freeze":
            return self.pair(item.operands[0])
        if opcode in ("shl", "lshr", "ashr"):
            return self._shift(item)
        if opcode == "select":
            return self.choose(self.value(item.operands[0]), self.pair(item.operands[1]), self.pair(item.operands[2]))
        if opcode == "call":
            return self._call(item)
        if opcode not in ("add", "sub", "mul", *_BITWISE):
            raise SourceError(f"it computes {opcode!r} of 64-bit integers; {_TAKEN}")
        a, b = (self.pair(operand) for operand in item.operands)
        if opcode in _BITWISE:
            return WordPair(body.emit(opcode, a.low, b.low, hint=item.name), body.emit(opcode, a.high, b.high))
        if opcode == "mul":
            return self._product(item, a, b)
        return self.add(a, b) if opcode == "add" else self._subtract(a, b)

    def add(self, a: WordPair, b: WordPair) -> WordPair:
        """A sum: the low words carry where their sum is below one of them."""
        body = self.body
        low = body.emit("add", a.low, b.low)
        high = body.emit("add", a.high, b.high)
        if b.low == FALSE or a.low == FALSE:
            return WordPair(low, high)
        return WordPair(low, body.emit("add", high, body.emit("ult", low, b.low)))

    def _subtract(self, a: WordPair, b: WordPair) -> WordPair:
        """A difference: the low words borrow where the first is below the second."""
        body = self.body
        borrow = body.emit("ult", a.low, b.low)
        return WordPair(body.emit("sub", a.low, b.low), body.emit("sub", body.emit("sub", a.high, b.high), borrow))

    def _product(self, item: Instruction, a: WordPair, b: WordPair) -> WordPair:
        """A product; where both factors are widened words, their high product is all of the high word."""
        body = self.body
        low = body.emit("mul", a.low, b.low, hint=item.name)
        if self._is_signed_word(a) and self._is_signed_word(b):
            return WordPair(low, body.emit("mulh", a.low, b.low))
        high = body.emit("mulh", a.low, b.low)
        # A low word counts as unsigned: it is 2**32 more than its signed reading says where its top bit is set.
        for word, other in ((a.low, b), (b.low, a)):
            if body.range(word)[0] < 0:
                sign = body.emit("shr", word, Const(31))
                high = body.emit("add", high, body.emit("and", sign, other.low))
        for word, other in ((a.high, b), (b.high, a)):
            if word != FALSE:
                high = body.emit("add", high, body.emit("mul", word, other.low))
        return WordPair(low, high)

    def _is_signed_word(self, pair: WordPair) -> bool:
        """True for a pair that is a word widened with its sign."""
        if isinstance(pair.low, Const):
            return pair.high == Const(-1 if pair.low.value < 0 else 0)
        if pair.high == FALSE:
            return self.body.range(pair.low)[0] >= 0
        return pair.high == self.body.emit("shr", pair.low, Const(31))

    def _shift(self, item: Instruction) -> WordPair:
        """A shift by a constant; shifts by what is computed are refused."""
        amount = item.operands[1]
        if not isinstance(amount, Constant):
            raise SourceError(f"it shifts a 64-bit integer by an amount that it computes; {_TAKEN}")
        pair, by, body = self.pair(item.operands[0]), amount.value & 63, self.body
        if by == 0:
            return pair
        if item.opcode == "shl":
            if by >= 32:
                return WordPair(FALSE, body.emit("shl", pair.low, Const(by - 32)))
            carried = body.emit("lshr", pair.low, Const(32 - by))
            return WordPair(
                body.emit("shl", pair.low, Const(by)), body.emit("or", body.emit("shl", pair.high, Const(by)), carried)
            )
        op = "shr" if item.opcode == "ashr" else "lshr"
        if by >= 32:
            filled = body.emit("shr", pair.high, Const(31)) if item.opcode == "ashr" else FALSE
            return WordPair(body.emit(op, pair.high, Const(by - 32)), filled)
        carried = body.emit("shl", pair.high, Const(32 - by))
        low = body.emit("or", body.emit("lshr", pair.low, Const(by)), carried, hint=item.name)
        return WordPair(low, body.emit(op, pair.high, Const(by)))

    def choose(self, condition: Operand, yes: WordPair, no: WordPair) -> WordPair:
        """``yes`` where the condition holds, else ``no``."""
        return WordPair(self.body.select(condition, yes.low, no.low), self.body.select(condition, yes.high, no.high))

    def compare(self, predicate: str, a: WordPair, b: WordPair) -> Operand:
        """A comparison: of the high words, and of the low ones where those are equal."""
        body = self.body
        if predicate in ("eq", "ne"):
            differ = body.emit("or", body.emit("xor", a.low, b.low), body.emit("xor", a.high, b.high))
            return body.emit(predicate, differ, FALSE)
        if predicate.endswith(("gt", "ge")):
            a, b = b, a
        strict = predicate.endswith("t")
        # a < b is not (b <= a); only "less" is made, and its opposite inverted.
        first, second = (a, b) if strict else (b, a)
        high = body.emit("lt" if predicate.startswith("s") else "ult", first.high, second.high)
        low = body.emit("ult", first.low, second.low)
        less = body.select(body.emit("eq", first.high, second.high), low, high)
        return less if strict else body.emit("xor", less, TRUE)

    def _call(self, item: Instruction) -> WordPair:
        """A minimum, a maximum or an absolute value."""
        name = item.callee.removeprefix("llvm.").partition(".")[0]
        if name in _EXTREMA:
            predicate, larger = _EXTREMA[name]
            a, b = (self.pair(operand) for operand in item.operands[:2])
            less = self.compare(predicate, a, b)
            return self.choose(less, *((b, a) if larger else (a, b)))
        if name == "abs":
            a = self.pair(item.operands[0])
            negative = self.body.emit("lt", a.high, FALSE)
            return self.choose(negative, self._subtract(WordPair(FALSE, FALSE), a), a)
        raise SourceError(f"it calls {item.callee!r} on 64-bit integers; {_TAKEN}")
