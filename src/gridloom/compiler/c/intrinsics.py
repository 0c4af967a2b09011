"""What clang inlines as LLVM intrinsics and C's math functions: absolute values, minima, saturation, rotation, bits.

Each rule turns one call into operations of the op table. ``bits`` is the width of the call's type; a narrow value may
carry anything above its width, so that rules extend their operands first where the upper bits matter.

The table :data:`INTRINSICS` is keyed by the name without ``llvm.`` and without the type. A fused multiply-add is
refused: the op table's rounds twice, C's ``fmaf`` once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from gridloom.compiler.ir.ir import Instruction
from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.operations import Const, Operand
from gridloom.errors import SourceError

if TYPE_CHECKING:
    from gridloom.compiler.c.lower import InstructionLowering

Rule = Callable[["InstructionLowering", Instruction, int], Operand]


def _abs(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """The absolute value."""
    return to.body.emit("abs", to.extended(item.operands[0], True), hint=item.name)


def _extremum(op: str, signed: bool) -> Rule:
    """The rule of a minimum or maximum."""

    def rule(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
        return to.body.emit(op, *(to.extended(o, signed) for o in item.operands[:2]), hint=item.name)

    return rule


def _saturating(op: str, signed: bool) -> Rule:
    """The rule of a sum or difference that stops at the ends of its type.

    Fewer than 32 bits are computed in a word, where nothing overflows, and clamped.
    """

    def rule(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
        a, b = (to.extended(o, signed) for o in item.operands[:2])
        if bits < 32:
            low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
            wide = to.body.emit(op, a, b)
            return to.body.emit("min", to.body.emit("max", wide, Const(low)), Const(high), hint=item.name)
        return _saturating_word(to, op, signed, a, b)

    return rule


def _saturating_word(to: InstructionLowering, op: str, signed: bool, a: Operand, b: Operand) -> Operand:
    """A saturating sum or difference of 32 bits, where the wide result does not fit a word."""
    body = to.body
    total = body.emit(op, a, b)
    if not signed:
        if op == "add":
            return body.select(body.emit("ult", total, a), Const(-1), total)
        return body.select(body.emit("ult", a, b), Const(0), total)
    # The sum overflows when both operands differ from it in sign, the difference when a differs from both.
    other = body.emit("xor", b, total) if op == "add" else body.emit("xor", a, b)
    wrong = body.emit("lt", body.emit("and", body.emit("xor", a, total), other), Const(0))
    limit = body.emit("xor", body.emit("shr", a, Const(31)), Const(0x7FFFFFFF))
    return body.select(wrong, limit, total)


def _funnel(left: bool) -> Rule:
    """The rule of a funnel shift: the upper (``left``) or lower word of two words shifted together.

    Where both words are the same it is a rotation, which is how clang writes one.
    """

    def rule(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
        if bits != 32:
            return _narrow_funnel(to, item, bits, left)
        high, low, amount = map(to.value, item.operands)
        body = to.body
        if high == low:
            turn = amount if left else body.emit("sub", Const(32), amount)
            return body.emit("rotl", high, turn, hint=item.name)
        # Two shifts make up the other word's 32 - amount, which one shift cannot do where the amount is 0.
        amount = body.emit("and", amount, Const(31))
        rest = body.emit("xor", amount, Const(31))
        if left:
            below = body.emit("lshr", body.emit("lshr", low, Const(1)), rest)
            return body.emit("or", body.emit("shl", high, amount), below, hint=item.name)
        above = body.emit("shl", body.emit("shl", high, Const(1)), rest)
        return body.emit("or", above, body.emit("lshr", low, amount), hint=item.name)

    return rule


def _narrow_funnel(to: InstructionLowering, item: Instruction, bits: int, left: bool) -> Operand:
    """A funnel shift of 8 or 16 bits, in which both shifts stay within a word, so that an amount of 0 needs no care."""
    if bits not in (8, 16):
        raise SourceError(f"it rotates {bits} bits; 8, 16 and 32 are taken")
    body = to.body
    high, low = to.extended(item.operands[0], False), to.extended(item.operands[1], False)
    amount = body.emit("and", to.value(item.operands[2]), Const(bits - 1))
    rest = body.emit("sub", Const(bits), amount)
    if not left:
        amount, rest = rest, amount
    return body.emit("or", body.emit("shl", high, amount), body.emit("lshr", low, rest), hint=item.name)


def _popcount(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """The number of ones."""
    return to.body.emit("popcount", to.extended(item.operands[0], False), hint=item.name)


def _leading_zeros(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """The number of zeros above the highest one."""
    zeros = to.body.emit("clz", to.extended(item.operands[0], False), hint=item.name)
    return to.body.emit("sub", zeros, Const(32 - bits))


def _trailing_zeros(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """The number of zeros below the lowest one.

    There is no op for it: ``~x & (x - 1)`` has a one for each such zero, and they are counted.
    """
    value = to.extended(item.operands[0], False)
    below = to.body.emit("and", to.body.emit("xor", value, Const(-1)), to.body.emit("add", value, Const(-1)))
    # All ones below the lowest set bit; a zero of fewer than 32 bits counts its own width.
    return to.body.emit("min", to.body.emit("popcount", below), Const(bits), hint=item.name)


def _byte_swap(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """The bytes in reverse order: a rotation for each pair of bytes that change places."""
    body, value = to.body, to.extended(item.operands[0], False)
    if bits == 16:
        return body.emit("or", body.emit("shl", value, Const(8)), body.emit("lshr", value, Const(8)), hint=item.name)
    outer = body.emit("and", body.emit("rotl", value, Const(8)), Const(0x00FF00FF))
    inner = body.emit("and", body.emit("rotl", value, Const(24)), Const(-0x00FF0100))
    return body.emit("or", outer, inner, hint=item.name)


def _reverse_bits(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """Neighbouring bits, pairs, nibbles, bytes and halves change places; a narrow value comes down from the top."""
    body, value = to.body, to.value(item.operands[0])
    for step, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        down = body.emit("and", body.emit("lshr", value, Const(step)), Const(mask))
        up = body.emit("shl", body.emit("and", value, Const(mask)), Const(step))
        value = body.emit("or", down, up)
    return body.emit("lshr", body.emit("rotl", value, Const(16)), Const(32 - bits), hint=item.name)


def _single(op: str) -> Rule:
    """The rule of an op on singles that the array has."""

    def rule(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
        return to.body.emit(op, *map(to.value, item.operands), hint=item.name)

    return rule


def _single_extremum(op: str) -> Rule:
    """The rule of C's fminf and fmaxf."""

    def rule(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
        a, b = map(to.value, item.operands)
        # C hands on the number where one of the two is none; the array's op hands on its second operand.
        return to.body.select(to.body.emit("feq", b, b), to.body.emit(op, a, b), a, item.name)

    return rule


def _ordered_extremum(op: str, joined: str) -> Rule:
    """The rule of IEEE 754's minimum and maximum: a NaN wins, and a zero with a sign is the smaller one.

    Equal numbers have one pattern, but for the zeros, of which ``joined`` gives the right one.
    """

    def rule(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
        a, b = map(to.value, item.operands)
        if isinstance(a, Const):
            a, b = b, a
        result = to.body.emit(op, a, b)
        # The op hands on its second operand where the two are equal: a constant settles the zeros.
        if not (isinstance(b, Const) and b.value != (wrap(1 << 31) if op == "fmax" else 0)):
            result = to.body.select(to.body.emit("feq", a, b), to.body.emit(joined, a, b), result)
        return to.body.select(to.body.emit("feq", a, a), result, a, item.name)

    return rule


def _copy_sign(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """The size of one single with the sign of another."""
    size, sign = map(to.value, item.operands)
    body = to.body
    return body.emit("or", body.emit("and", size, Const(0x7FFFFFFF)), body.emit("and", sign, Const(-0x80000000)))


def _multiply_add(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """A product and a sum, each rounded, as C allows for a * b + c."""
    a, b, c = map(to.value, item.operands)
    return to.body.emit("fadd", to.body.emit("fmul", a, b), c, hint=item.name)


def _refuse_fused(to: InstructionLowering, item: Instruction, bits: int) -> Operand:
    """A SourceError: the array has no op that rounds once."""
    raise SourceError("it calls fmaf, which rounds once; the array's multiply and add round each: write a * b + c")


INTRINSICS: Final[dict[str, Rule]] = {
    "abs": _abs,
    "smin": _extremum("min", True),
    "smax": _extremum("max", True),
    "umin": _extremum("umin", False),
    "umax": _extremum("umax", False),
    "sadd.sat": _saturating("add", True),
    "ssub.sat": _saturating("sub", True),
    "uadd.sat": _saturating("add", False),
    "usub.sat": _saturating("sub", False),
    "fshl": _funnel(True),
    "fshr": _funnel(False),
    "ctpop": _popcount,
    "ctlz": _leading_zeros,
    "cttz": _trailing_zeros,
    "bswap": _byte_swap,
    "bitreverse": _reverse_bits,
    "fabs": _single("fabs"),
    "sqrt": _single("fsqrt"),
    "sqrtf": _single("fsqrt"),
    "minnum": _single_extremum("fmin"),
    "maxnum": _single_extremum("fmax"),
    "minimumnum": _single_extremum("fmin"),
    "maximumnum": _single_extremum("fmax"),
    "minimum": _ordered_extremum("fmin", "or"),
    "maximum": _ordered_extremum("fmax", "and"),
    "copysign": _copy_sign,
    "copysignf": _copy_sign,
    "fmuladd": _multiply_add,
    "fma": _refuse_fused,
    "fmaf": _refuse_fused,
}
