"""What each op computes: numba kernels over 64-bit carriers, the one place where semantics stand.

A value travels as ``int64``: sign-extended 32 bits (``i32``), the bit pattern of a single (``f32``), 24 data bits with
the carry in bit 24 (``cma24``), or 64 mixed bits (``opaque``, ``tensor``). Loads, stores, inputs and outputs are the
business of whoever runs the graph; here they are the identity on the operand that flows through.

Singles: each of add, subtract, multiply, divide and square root rounds once, to nearest even; fused ops round twice,
after the product and after the sum. A result that is not a number is always the pattern
0x7FC00000: which NaN a processor would hand on depends on how a compiler orders the operands.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from gridloom.dfg.ops import FUSED, OP_TABLE
from gridloom.jit import internal, kernel

DOMAIN_CODE = {"i32": 0, "f32": 0, "cma24": 1, "opaque": 2, "tensor": 2}

_I = {name: op.code for name, op in OP_TABLE["i32"].items()}
_C = {name: op.code for name, op in OP_TABLE["cma24"].items()}

(I_ADD, I_SUB, I_MUL, I_DIV, I_REM, I_UDIV, I_UREM, I_MULH, I_MUL_ADD, I_MUL_SUB, I_SHL_ADD) = (
    _I[n] for n in ("add", "sub", "mul", "div", "rem", "udiv", "urem", "mulh", "mul_add", "mul_sub", "shl_add")
)
(I_SHL, I_SHR, I_LSHR, I_ROTL, I_AND, I_OR, I_XOR, I_NOT, I_NEG, I_ABS) = (
    _I[n] for n in ("shl", "shr", "lshr", "rotl", "and", "or", "xor", "not", "neg", "abs")
)
(I_MIN, I_MAX, I_UMIN, I_UMAX, I_EQ, I_NE, I_LT, I_LE, I_GT, I_GE, I_ULT, I_ULE, I_SELECT) = (
    _I[n] for n in ("min", "max", "umin", "umax", "eq", "ne", "lt", "le", "gt", "ge", "ult", "ule", "select")
)
(I_SEXT8, I_SEXT16, I_ZEXT8, I_ZEXT16, I_POPCOUNT, I_CLZ) = (
    _I[n] for n in ("sext8", "sext16", "zext8", "zext16", "popcount", "clz")
)
(I_SQUARE, I_MIN_TAG, I_SELECT_TAG, I_SELECT_SIGN, I_SELECT_ZERO) = (
    _I[n] for n in ("square", "min_tag", "select_tag", "select_sign", "select_zero")
)
(F_ADD, F_SUB, F_MUL, F_DIV, F_NEG, F_ABS, F_MIN, F_MAX, F_EQ, F_LT, F_LE, F_SQRT, F_MUL_ADD, F_FROM_INT, F_TO_INT) = (
    _I[n]
    for n in (
        "fadd", "fsub", "fmul", "fdiv", "fneg", "fabs", "fmin", "fmax", "feq", "flt", "fle", "fsqrt", "fmul_add",
        "int_to_float", "float_to_int",
    )
)  # fmt: skip
(F_NE, F_GT, F_GE, F_SQUARE, F_MUL_SUB) = (_I[n] for n in ("fne", "fgt", "fge", "fsquare", "fmul_sub"))
F_MUL_RSUB = _I["fmul_rsub"]
(C_ADD, C_SUB, C_MULT, C_SL, C_SR, C_SRA, C_SEL, C_NOT, C_AND, C_OR, C_XOR, C_EQL, C_GT, C_LT) = (
    _C[n] for n in ("add", "sub", "mult", "sl", "sr", "sra", "sel", "not", "and", "or", "xor", "eql", "gt", "lt")
)

# The fused integer ops behind the floats, by their codes: the two ops, and at which operand the second reads the first.
_FIRST_FUSED, _LAST_FUSED = _I["mul_rsub"], _I["lshr_xor"]
_ROWS = [FUSED[name] for name, code in _I.items() if _FIRST_FUSED <= code <= _LAST_FUSED]
_FUSED_FIRST = tuple(_I[first] for first, _, _ in _ROWS)
_FUSED_SECOND = tuple(_I[second] for _, second, _ in _ROWS)
_FUSED_AT = tuple(at for _, _, at in _ROWS)

#: The pattern of every computed NaN.
QUIET_NAN = 0x7FC00000


@internal
def wrap32(value: int) -> int:
    """Sign-extend the low 32 bits."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@internal
def bits_to_single(bits: int) -> np.float32:
    """The single whose pattern is the low 32 bits."""
    single: np.float32 = np.uint32(bits & 0xFFFFFFFF).view(np.float32)
    return single


@internal
def single_to_bits(value: np.float32) -> int:
    """The sign-extended pattern of a single."""
    return np.int64(np.float32(value).view(np.int32))  # type: ignore[return-value]


@internal
def _result_bits(value: np.float32) -> int:
    """The pattern of a computed single, with every NaN brought to ``QUIET_NAN``."""
    return QUIET_NAN if math.isnan(value) else single_to_bits(value)


@internal
def _i32_divide(op: int, a: int, b: int) -> int:
    """Quotient or remainder of two words, signed or not, rounded towards zero as in C.

    ``-2**31 / -1`` wraps to ``-2**31``, where C leaves the result undefined.
    """
    # Division by zero yields 0 and the remainder the dividend, so that hardware and interpreter agree on every input.
    if b == 0:
        return 0 if op in (I_DIV, I_UDIV) else a
    if op == I_UDIV:
        return wrap32((a & 0xFFFFFFFF) // (b & 0xFFFFFFFF))
    if op == I_UREM:
        return wrap32((a & 0xFFFFFFFF) % (b & 0xFFFFFFFF))
    quotient = abs(a) // abs(b)
    if (a < 0) != (b < 0):
        quotient = -quotient
    return wrap32(quotient) if op == I_DIV else wrap32(a - quotient * b)


@internal
def _i32_bits(op: int, a: int) -> int:
    """Extensions of the low 8 or 16 bits, the number of set bits, and (for any other code) the leading zeros."""
    if op == I_SEXT8:
        return ((a + 0x80) & 0xFF) - 0x80
    if op == I_SEXT16:
        return ((a + 0x8000) & 0xFFFF) - 0x8000
    if op == I_ZEXT8:
        return a & 0xFF
    if op == I_ZEXT16:
        return a & 0xFFFF
    count = 0
    bits = a & 0xFFFFFFFF
    if op == I_POPCOUNT:
        while bits:
            count += bits & 1
            bits >>= 1
        return count
    while count < 32 and not (bits >> (31 - count)) & 1:
        count += 1
    return count


@internal
def _i32_compare(op: int, a: int, b: int) -> int:
    """Minimum, maximum and comparisons; a comparison yields 0 or 1, and any other code means ``ule``."""
    ua = a & 0xFFFFFFFF
    ub = b & 0xFFFFFFFF
    if op == I_MIN:
        return min(a, b)
    if op == I_MAX:
        return max(a, b)
    if op == I_UMIN:
        return a if ua < ub else b
    if op == I_UMAX:
        return a if ua > ub else b
    if op == I_EQ:
        return 1 if a == b else 0
    if op == I_NE:
        return 1 if a != b else 0
    if op == I_LT:
        return 1 if a < b else 0
    if op == I_LE:
        return 1 if a <= b else 0
    if op == I_GT:
        return 1 if a > b else 0
    if op == I_GE:
        return 1 if a >= b else 0
    if op == I_ULT:
        return 1 if ua < ub else 0
    return 1 if ua <= ub else 0


@internal
def _i32_shift(op: int, a: int, b: int) -> int:
    """A shift, or for any other code a rotation to the left. Only the low five bits of the amount count (RISC-V)."""
    amount = b & 31
    if op == I_SHL:
        return wrap32((a & 0xFFFFFFFF) << amount)
    if op == I_SHR:
        return a >> amount
    if op == I_LSHR:
        return wrap32((a & 0xFFFFFFFF) >> amount)
    unsigned = a & 0xFFFFFFFF
    return wrap32((unsigned << amount) | (unsigned >> ((32 - amount) & 31)) if amount else unsigned)


@internal
def _f32_compare(op: int, x: np.float32, y: np.float32) -> int:
    """An ordered comparison of singles, 0 or 1: with a NaN only ``fne`` holds."""
    if op == F_EQ:
        return 1 if x == y else 0
    if op == F_NE:
        return 1 if x != y else 0
    if op == F_LT:
        return 1 if x < y else 0
    if op == F_LE:
        return 1 if x <= y else 0
    if op == F_GT:
        return 1 if x > y else 0
    return 1 if x >= y else 0


@internal
def _f32(op: int, a: int, b: int, c: int) -> int:
    """A float op on patterns: ``a``, ``b`` and ``c`` are carriers, and so is the result.

    ``fneg`` and ``fabs`` change the sign bit only and so keep a NaN as it is. ``fmin`` and ``fmax`` return their
    second operand when a NaN is involved, which is what one comparator and one multiplexer give.
    """
    if op == F_FROM_INT:
        return single_to_bits(np.float32(a))
    x = bits_to_single(a)
    if op == F_TO_INT:
        # Saturating, NaN to 0: C leaves these open, hardware has to choose.
        if math.isnan(x):
            return 0
        return int(min(max(np.float64(x), -2147483648.0), 2147483647.0))
    if op == F_NEG:
        return wrap32(a ^ 0x80000000)
    if op == F_ABS:
        return wrap32(a & 0x7FFFFFFF)
    if op == F_SQRT:
        return single_to_bits(np.float32(math.sqrt(np.float64(x)))) if x >= 0 else QUIET_NAN
    if op == F_SQUARE:
        return _result_bits(np.float32(x * x))
    y = bits_to_single(b)
    if op in (F_EQ, F_NE, F_LT, F_LE, F_GT, F_GE):
        return _f32_compare(op, x, y)
    if op == F_MIN:
        return a if x < y else b
    if op == F_MAX:
        return a if x > y else b
    if op == F_ADD:
        return _result_bits(np.float32(x + y))
    if op == F_SUB:
        return _result_bits(np.float32(x - y))
    if op == F_MUL:
        return _result_bits(np.float32(x * y))
    if op == F_DIV:
        return _f32_divide(x, y)
    if op == F_MUL_SUB:
        return _result_bits(np.float32(bits_to_single(c) - np.float32(x * y)))
    if op == F_MUL_RSUB:
        return _result_bits(np.float32(np.float32(x * y) - bits_to_single(c)))
    return _result_bits(np.float32(np.float32(x * y) + bits_to_single(c)))


@internal
def _f32_divide(x: np.float32, y: np.float32) -> int:
    """The pattern of a quotient; division by zero yields an infinity of the right sign, or NaN for 0/0.

    The quotient is computed in double precision, which has more than twice the bits of a single: rounding it again
    gives the correctly rounded single.
    """
    if y != 0:
        return _result_bits(np.float32(np.float64(x) / np.float64(y)))
    if x == 0 or math.isnan(x) or math.isnan(y):
        return QUIET_NAN
    negative = (math.copysign(1.0, np.float64(x)) < 0) != (math.copysign(1.0, np.float64(y)) < 0)
    return -0x800000 if negative else 0x7F800000


@internal
def _i32_fused(op: int, a: int, b: int, c: int) -> int:
    """A product or shift of a and b, then a sum, a difference or logic with c."""
    row = op - _FIRST_FUSED
    value = wrap32(a * b) if _FUSED_FIRST[row] == I_MUL else _i32_shift(_FUSED_FIRST[row], a, b)
    second = _FUSED_SECOND[row]
    if second == I_ADD:
        return wrap32(value + c)
    if second == I_SUB:
        return wrap32(c - value if _FUSED_AT[row] else value - c)
    if second == I_AND:
        return value & c
    return value | c if second == I_OR else value ^ c


@internal
def _i32(op: int, a: int, b: int, c: int) -> int:
    """An integer op on sign-extended 32-bit words; codes of float and fused ops are passed on.

    A code that is not listed is the identity on the first operand: inputs, outputs and moves come here, too. The
    range tests rely on codes of the op table that follow each other.
    """
    if op == I_ADD:
        return wrap32(a + b)
    if op == I_SUB:
        return wrap32(a - b)
    if op == I_MUL:
        return wrap32(a * b)
    if op == I_MULH:
        return (a * b) >> 32
    if op == I_MUL_ADD:
        return wrap32(wrap32(a * b) + c)
    if op == I_MUL_SUB:
        return wrap32(c - wrap32(a * b))
    if op == I_SHL_ADD:
        return wrap32(wrap32(a << (b & 31)) + c)
    if op == I_AND:
        return a & b
    if op == I_OR:
        return a | b
    if op == I_XOR:
        return a ^ b
    if op == I_NOT:
        return ~a
    if op == I_NEG:
        return wrap32(-a)
    if op == I_ABS:
        return wrap32(abs(a))
    if op == I_SELECT:
        return b if a != 0 else c
    if op == I_SELECT_SIGN:
        return a if c < 0 else b
    if op == I_SELECT_ZERO:
        return a if c == 0 else b
    if I_DIV <= op <= I_UREM:
        return _i32_divide(op, a, b)
    if I_SHL <= op <= I_ROTL:
        return _i32_shift(op, a, b)
    if I_MIN <= op <= I_ULE:
        return _i32_compare(op, a, b)
    if I_SEXT8 <= op <= I_CLZ:
        return _i32_bits(op, a)
    if op == I_SQUARE:
        return wrap32(a * a)
    if op == I_MIN_TAG:
        # Bit 0 is the tag of an earlier comparison, so it takes no part in this one; the left operand wins a tie.
        return b | 1 if (b | 1) < (a | 1) else a & ~1
    if op == I_SELECT_TAG:
        return b if a & 1 else c
    if _FIRST_FUSED <= op <= _LAST_FUSED:
        return _i32_fused(op, a, b, c)
    if F_ADD <= op <= F_MUL_SUB or op == F_MUL_RSUB:
        return _f32(op, a, b, c)
    return a


@internal
def _cma24(op: int, a: int, b: int) -> int:
    """An op of the CMA arrays' ALU: 24 data bits, and a carry in bit 24 that ``sel`` reads.

    ``add`` leaves its carry there. Comparisons set it when they hold and pass their first operand on; ``eql`` yields
    0 where it does not hold, and ``lt`` holds for equal operands, too. Shift amounts above 24 shift everything out.
    """
    mask = 0xFFFFFF
    carry = 0x1000000
    da = a & mask
    db = b & mask
    if op == C_ADD:
        return (da + db) & 0x1FFFFFF
    if op == C_SUB:
        return (da - db) & mask
    if op == C_MULT:
        return (da * db) & mask
    if op == C_SL:
        return (da << min(db, 24)) & mask
    if op == C_SR:
        return da >> min(db, 24)
    if op == C_SRA:
        signed = ((da + 0x800000) & mask) - 0x800000
        return (signed >> min(db, 24)) & mask
    if op == C_SEL:
        return b if a & carry else a
    if op == C_NOT:
        return ~da & mask
    if op == C_AND:
        return da & db
    if op == C_OR:
        return da | db
    if op == C_XOR:
        return da ^ db
    if op == C_EQL:
        return carry | da if da == db else 0
    if op == C_GT:
        return carry | da if da > db else da
    if op == C_LT:
        return carry | da if da <= db else da
    return a


@internal
def mix(state: int, value: int) -> int:
    """One round of a 64-bit mix (a splitmix-style finaliser over the running state)."""
    z = np.uint64(state) ^ (np.uint64(value) + np.uint64(0x9E3779B97F4A7C15))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.int64(z ^ (z >> np.uint64(31))))


@kernel
def evaluate(domain: int, op: int, salt: int, operands: np.ndarray, count: int) -> int:
    """The result of an op on ``operands[:count]``, in O(count).

    ``domain`` is a value of ``DOMAIN_CODE`` and ``op`` a code of that domain's op table. In domain 2 the result is a
    hash of ``salt`` (which tells nodes apart) and of all operands with their positions, so that a wrong value, a
    swapped operand or a value of the wrong iteration changes everything computed from it. ``operands`` is a buffer of
    the caller's and may be longer than ``count``; nothing is checked.
    """
    if domain == 2:
        state = salt
        for k in range(count):
            state = mix(state, operands[k] + k)
        return state
    a = operands[0] if count > 0 else 0
    b = operands[1] if count > 1 else 0
    c = operands[2] if count > 2 else 0
    if domain == 1:
        return _cma24(op, a, b)
    return _i32(op, a, b, c)


def encode(domain: str, value: int | float) -> int:
    """A Python number as it travels: singles become patterns, integers wrap to the domain's width.

    >>> encode("i32", 2**31), encode("cma24", -1), hex(encode("f32", 1.0))
    (-2147483648, 16777215, '0x3f800000')
    """
    if domain == "f32":
        return int(struct.unpack("<i", struct.pack("<f", float(value)))[0])
    number = int(value)
    if domain == "cma24":
        return number & 0xFFFFFF
    if domain == "i32":
        return ((number + 0x80000000) & 0xFFFFFFFF) - 0x80000000
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def decode(domain: str, carrier: int) -> int | float:
    """The Python number that a carrier stands for, the inverse of :func:`encode` on what the domain can hold.

    A carrier of ``cma24`` keeps its carry in bit 24 of the result.

    >>> decode("f32", encode("f32", 0.5)), decode("i32", -7)
    (0.5, -7)
    """
    if domain == "f32":
        return float(struct.unpack("<f", struct.pack("<i", wrap_python(carrier)))[0])
    return int(carrier)


def wrap_python(value: int) -> int:
    """``wrap32`` for plain integers of any size."""
    return ((int(value) + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def salt(node_id: str) -> int:
    """A stable 64-bit number of a node, for the opaque mix.

    It depends on the id alone, so that the same node gives the same values in every process and on every machine.
    """
    import hashlib

    return int.from_bytes(hashlib.blake2b(node_id.encode(), digest_size=8).digest(), "little", signed=True)
