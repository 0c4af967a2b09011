"""One IR instruction into operations on 32-bit words.

Integers of fewer than 32 bits may carry anything above their width; what reads the bits above (comparisons, right
shifts, divisions, widening) extends first, which costs nothing where the range is known. Singles travel as patterns.

Each method ``_<opcode>`` of :class:`InstructionLowering` handles the LLVM instruction of that name; opcodes whose rule
is a plain op are in the tables above it. 64-bit integers travel as pairs of words (``wide_integers``); doubles and
vectors have no words to travel in and are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gridloom.compiler.c.intrinsics import INTRINSICS
from gridloom.compiler.c.wide_integers.pairs import Wide
from gridloom.compiler.ir.ir import Constant, Instruction, Value
from gridloom.compiler.ir.layout import integer_bits
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.operations import FALSE, TRUE, Const, Operand
from gridloom.errors import SourceError

_LOW_BITS_ONLY: Final = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_DIVISIONS: Final = {"sdiv": ("div", True), "srem": ("rem", True), "udiv": ("udiv", False), "urem": ("urem", False)}
_SINGLES: Final = {"fadd": "fadd", "fsub": "fsub", "fmul": "fmul", "fdiv": "fdiv", "fneg": "fneg"}
_SIGNED: Final = {"sgt": "gt", "sge": "ge", "slt": "lt", "sle": "le"}
#: fcmp predicate -> (op, operands swapped, inverted).
_ORDERED: Final = {
    "oeq": ("feq", False, False), "olt": ("flt", False, False), "ole": ("fle", False, False),
    "ogt": ("flt", True, False), "oge": ("fle", True, False), "une": ("feq", False, True),
    "ult": ("fle", True, True), "ule": ("flt", True, True), "ugt": ("fle", False, True), "uge": ("flt", False, True),
}  # fmt: skip
#: Functions of C's library that are known by name and have no operation.
_LIBRARY: Final = frozenset(
    name + ending
    for name in (
        "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "pow", "sin", "cos", "tan", "asin", "acos",
        "atan", "atan2", "sinh", "cosh", "tanh", "cbrt", "hypot", "fmod", "remainder", "erf", "erfc", "tgamma",
        "lgamma", "ldexp", "frexp", "modf", "powi",
    )
    for ending in ("", "f")
)  # fmt: skip
_TAKEN: Final = "8-, 16- and 32-bit integers and float are taken"


def width(type_: str) -> int:
    """Bits of a scalar type; SourceError for one that does not fit a word.

    32 for ``i32`` and ``float``, fewer for smaller integers.
    """
    if 0 < (bits := integer_bits(type_)) <= 32:
        return bits
    if type_ == "float":
        return 32
    if type_ == "double":
        raise SourceError(f"it computes with double; {_TAKEN} (1.5f, sqrtf, float variables)")
    raise SourceError(f"it computes with {'64-bit integers' if type_ == 'i64' else type_}; {_TAKEN}")


class InstructionLowering:
    """Turns instructions into operations of a body; ``value`` gives the operand of an IR value.

    Methods raise SourceError without a place; the caller knows the line.
    """

    def __init__(
        self,
        body: Body,
        value: Callable[[Value], Operand],
        problem: Callable[[Value], SourceError | None],
        wide_livein: Callable[[Value], tuple[Operand, Operand] | None],
    ) -> None:
        self.body = body
        self.value = value
        #: Values of 64 bits.
        self.wide = Wide(body, value, self.extended, problem, wide_livein)

    def lower(self, item: Instruction) -> Operand:
        """The operand that holds an instruction's result. SourceError for what no operation computes.

        ``item`` may be any instruction but phis, branches and memory accesses, which are translated elsewhere.
        """
        method: Callable[[Instruction], Operand] | None = getattr(self, f"_{item.opcode}", None)
        if method is not None:
            return method(item)
        if item.opcode in _LOW_BITS_ONLY:
            return self._low_bits(item, _LOW_BITS_ONLY[item.opcode])
        if item.opcode in _DIVISIONS:
            op, signed = _DIVISIONS[item.opcode]
            return self.body.emit(op, *(self.extended(o, signed) for o in item.operands), hint=item.name)
        if item.opcode in _SINGLES:
            width(item.type)
            return self.body.emit(_SINGLES[item.opcode], *map(self.value, item.operands), hint=item.name)
        raise SourceError(f"instruction {item.opcode!r} has no counterpart on the array")

    def extended(self, value: Value, signed: bool) -> Operand:
        """The operand extended to 32 bits, with its sign or without."""
        return self.body.extend(self.value(value), width(value.type), signed)

    # -- integers ---------------------------------------------------------------------------------------------------

    def _low_bits(self, item: Instruction, op: str) -> Operand:
        """An op whose low result bits depend on low operand bits alone, so that nothing is extended."""
        bits = width(item.type)
        a, b = map(self.value, item.operands)
        # clang writes a sum that cannot carry as an or. Distances of accesses are proved with the sum, so that it is
        # what the graph computes, also from values that the source never has.
        if op == "or" and "disjoint" in item.text:
            op = "add"
        if bits == 1:
            # Arithmetic modulo 2: sums and differences are exclusive ors, products are conjunctions.
            op = {"add": "xor", "sub": "xor", "mul": "and"}.get(op, op)
            return self.body.inverse(a) if op == "xor" and b == TRUE else self.body.emit(op, a, b, hint=item.name)
        if op == "mul" and isinstance(b, Const) and b.value > 0 and b.value & (b.value - 1) == 0:
            return self.body.emit("shl", a, Const(b.value.bit_length() - 1), hint=item.name)
        return self.body.emit(op, a, b, hint=item.name)

    def _shl(self, item: Instruction) -> Operand:
        """A left shift; the low bits of the result depend on low bits alone, so that the value is not extended."""
        amount = self.extended(item.operands[1], False)
        return self.body.emit("shl", self.value(item.operands[0]), amount, hint=item.name)

    def _lshr(self, item: Instruction) -> Operand:
        """A logical right shift brings in what is above the width, so the value is extended without its sign first."""
        amount = self.extended(item.operands[1], False)
        return self.body.emit("lshr", self.extended(item.operands[0], False), amount, hint=item.name)

    def _ashr(self, item: Instruction) -> Operand:
        """An arithmetic right shift of the sign-extended value."""
        amount = self.extended(item.operands[1], False)
        return self.body.emit("shr", self.extended(item.operands[0], True), amount, hint=item.name)

    def _trunc(self, item: Instruction) -> Operand:
        """The low bits are there already; only a truth value is cut to one bit."""
        source = item.operands[0]
        if source.type == "i64":
            product = self._high_product(item)
            low = product if product is not None else self.wide.pair(source).low
            return self.body.emit("and", low, TRUE) if item.type == "i1" else low
        value = self.value(source)
        return self.body.emit("and", value, TRUE) if item.type == "i1" and self.body.range(value) != (0, 1) else value

    def _zext(self, item: Instruction) -> Operand:
        """Zero extension, free where the range of the value is known."""
        width(item.type)
        return self.extended(item.operands[0], False)

    def _sext(self, item: Instruction) -> Operand:
        """Sign extension; a truth value becomes 0 or -1."""
        width(item.type)
        if item.operands[0].type == "i1":
            return self.body.emit("sub", FALSE, self.value(item.operands[0]), hint=item.name)
        return self.extended(item.operands[0], True)

    def _high_product(self, item: Instruction) -> Operand | None:
        """``trunc((a * b) >> k)`` of widened words, which needs no pair of words; None for anything else.

        Fixed-point code is full of it. The high word is ``mulh``, corrected where a factor is unsigned; for shifts
        below 32 the low word's upper bits are joined to it.
        """
        shift = item.operands[0]
        product = shift.operands[0] if isinstance(shift, Instruction) and shift.opcode in ("lshr", "ashr") else None
        if isinstance(product, Instruction) and product.opcode == "mul" and isinstance(shift, Instruction):
            amount = shift.operands[1]
            factors = [self._from_word(o) for o in product.operands]
            if isinstance(amount, Constant) and 0 < amount.value < 64 and None not in factors and width(item.type) > 1:
                (a, a_signed), (b, b_signed) = (f for f in factors if f is not None)
                high = self.body.emit("mulh", a, b)
                # A word that counts as unsigned is 2**32 more than its signed reading says.
                for word, other, signed in ((a, b, a_signed), (b, a, b_signed)):
                    if not signed and self.body.range(word)[0] < 0:
                        sign = self.body.emit("shr", word, Const(31))
                        high = self.body.emit("add", high, self.body.emit("and", sign, other))
                if amount.value >= 32:
                    op = "shr" if shift.opcode == "ashr" else "lshr"
                    return self.body.emit(op, high, Const(amount.value - 32))
                low = self.body.emit("lshr", self.body.emit("mul", a, b), Const(amount.value))
                return self.body.emit("or", self.body.emit("shl", high, Const(32 - amount.value)), low)
        return None

    def _from_word(self, value: Value) -> tuple[Operand, bool] | None:
        """The word that a 64-bit factor is widened from, and whether with its sign; None where it is something else."""
        if isinstance(value, Constant):
            if not -(1 << 31) <= value.value < 1 << 32:
                return None
            return Const(wrap(value.value)), value.value == wrap(value.value)
        if isinstance(value, Instruction) and value.opcode in ("sext", "zext"):
            signed = value.opcode == "sext"
            return self.extended(value.operands[0], signed), signed
        return None

    def _icmp(self, item: Instruction) -> Operand:
        """A comparison of words, extended as its predicate reads them."""
        a, b = item.operands
        if a.type == "ptr":
            raise SourceError("it compares pointers; compare indices")
        if item.predicate in ("eq", "ne"):
            return self.equality(item.predicate, a, b, hint=item.name)
        if a.type == "i64":
            return self.wide.compare(item.predicate, self.wide.pair(a), self.wide.pair(b))
        if item.predicate in _SIGNED:
            return self.body.emit(
                _SIGNED[item.predicate], self.extended(a, True), self.extended(b, True), hint=item.name
            )
        if item.predicate in ("ugt", "uge"):
            a, b = b, a
        op = "ult" if item.predicate in ("ult", "ugt") else "ule"
        return self.body.emit(op, self.extended(a, False), self.extended(b, False), hint=item.name)

    def equality(self, predicate: str, a: Value, b: Value, hint: str = "") -> Operand:
        """Whether two integers of one type are equal (``eq``) or not (``ne``), whatever stands above their width."""
        if a.type == "i64":
            return self.wide.compare(predicate, self.wide.pair(a), self.wide.pair(b))
        signed = self._cheaper_extension(a)
        return self.body.emit(predicate, self.extended(a, signed), self.extended(b, signed), hint=hint)

    def _cheaper_extension(self, value: Value) -> bool:
        """Equality may extend either way; one of them may be free."""
        bits = width(value.type)
        low, high = self.body.range(self.value(value))
        # Signs of 8 and 16 bits take one op, those of other widths two; a mask always takes one.
        return low < 0 and (bits in (8, 16, 32) or (-(1 << (bits - 1)) <= low and high < 1 << (bits - 1)))

    def _select(self, item: Instruction) -> Operand:
        """A choice; an undefined alternative is never taken."""
        width(item.type)
        condition, yes, no = item.operands
        if isinstance(yes, Constant) and yes.undefined:
            return self.value(no)
        if isinstance(no, Constant) and no.undefined:
            return self.value(yes)
        if item.type == "i1":
            return self._logical(self.value(condition), self.value(yes), self.value(no))
        return self.body.select(self.value(condition), self.value(yes), self.value(no), item.name)

    def _logical(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        """C's && and || come as selects of truth values."""
        if no == FALSE:
            return self.body.emit("and", condition, yes)
        if yes == TRUE:
            return self.body.emit("or", condition, no)
        return self.body.select(condition, yes, no)

    def _freeze(self, item: Instruction) -> Operand:
        """LLVM's ``freeze`` turns an undefined value into some fixed one; values here are always defined."""
        width(item.type)
        return self.value(item.operands[0])

    # -- singles ----------------------------------------------------------------------------------------------------

    def _fcmp(self, item: Instruction) -> Operand:
        """A comparison of singles from the three that the array has; unordered predicates are inverted ones."""
        width(item.operands[0].type)
        a, b = map(self.value, item.operands)
        if item.predicate in ("true", "false"):
            return TRUE if item.predicate == "true" else FALSE
        if item.predicate in _ORDERED:
            op, swapped, inverted = _ORDERED[item.predicate]
            holds = self.body.emit(op, *((b, a) if swapped else (a, b)), hint=item.name)
            return self.body.inverse(holds) if inverted else holds
        if item.predicate in ("one", "ueq"):
            holds = self.body.emit("or", self.body.emit("flt", a, b), self.body.emit("flt", b, a))
        else:
            holds = self.body.emit("and", self.body.emit("feq", a, a), self.body.emit("feq", b, b))
        return self.body.inverse(holds) if item.predicate in ("ueq", "uno") else holds

    def _sitofp(self, item: Instruction) -> Operand:
        """A signed word as a single, rounded once."""
        width(item.type)
        return self.body.emit("int_to_float", self.extended(item.operands[0], True), hint=item.name)

    def _uitofp(self, item: Instruction) -> Operand:
        """An unsigned word as a single, by halves where its top bit may be set."""
        width(item.type)
        value = self.extended(item.operands[0], False)
        if self.body.range(value)[0] >= 0:
            return self.body.emit("int_to_float", value, hint=item.name)
        # Each half is exact, so that only the sum rounds.
        high = self.body.emit("int_to_float", self.body.emit("lshr", value, Const(16)))
        low = self.body.emit("int_to_float", self.body.emit("and", value, Const(0xFFFF)))
        return self.body.emit("fadd", self.body.emit("fmul", high, Const(0x47800000)), low, hint=item.name)

    def _fptosi(self, item: Instruction) -> Operand:
        """A single as a signed word. What does not fit is undefined in C and saturates here."""
        width(item.type), width(item.operands[0].type)
        return self.body.emit("float_to_int", self.value(item.operands[0]), hint=item.name)

    def _fptoui(self, item: Instruction) -> Operand:
        """A single as an unsigned word; what is above 2**31 is converted less 2**31."""
        if width(item.type) < 32:
            return self._fptosi(item)
        value = self.value(item.operands[0])
        limit = Const(0x4F000000)
        above = self.body.emit("float_to_int", self.body.emit("fsub", value, limit))
        below = self.body.emit("float_to_int", value)
        is_small = self.body.emit("flt", value, limit)
        return self.body.select(is_small, below, self.body.emit("xor", above, Const(wrap(1 << 31))), item.name)

    def _bitcast(self, item: Instruction) -> Operand:
        """The same pattern read as another type: singles travel as patterns, so that nothing is left to do."""
        width(item.type), width(item.operands[0].type)
        return self.value(item.operands[0])

    # -- calls ------------------------------------------------------------------------------------------------------

    def _call(self, item: Instruction) -> Operand:
        """An intrinsic or math function that is known; SourceError for any other call."""
        name = item.callee.removeprefix("llvm.")
        stem, _, suffix = name.rpartition(".") if item.callee.startswith("llvm.") else (name, "", "")
        if stem in _LIBRARY:
            called = f"{stem}f" if suffix == "f32" else stem
            raise SourceError(
                f"it calls {called}, which no unit of an array computes; read a table, compute a polynomial, or leave "
                "it to the host"
            )
        if stem not in INTRINSICS:
            raise SourceError(
                f"it calls {item.callee or 'through a pointer'!r}, which clang did not inline; "
                "give its definition as static inline"
            )
        bits = width("float" if suffix in ("f32", "") else suffix.split(".")[0])
        return INTRINSICS[stem](self, item, bits)
