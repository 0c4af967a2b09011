"""Every op against a definition that shares nothing with the kernels: Python integers and exact rationals."""

from __future__ import annotations

import ctypes
import itertools
import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dfg.graphs import plain_ops

from gridloom.dfg.ops import OP_TABLE, OPAQUE_CODE
from gridloom.dfg.semantics import DOMAIN_CODE, decode, encode, evaluate, salt

Reference = Callable[..., int]

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
NAN = 0x7FC00000
I32_CORNERS = [0, 1, -1, 2, 3, 7, 31, 32, 33, 64, 255, -128, 0x8000, INT_MIN, INT_MIN + 1, INT_MAX, 0x55555555, -7]
# Zeroes, ones, largest and least normal and subnormal singles, infinities, quiet and signalling NaN of both signs.
F32_PATTERNS = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x007FFFFF, 0x00000001,
    0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x3EAAAAAB, 0x4B800001, 0x34000000,
]  # fmt: skip
MASK24, CARRY = 0xFFFFFF, 1 << 24
CMA24_CORNERS = [0, 1, 2, 7, 23, 24, 25, 0x7FFFFF, 0x800000, MASK24, CARRY, CARRY | 1, CARRY | MASK24, 0x123456]


def run(domain: str, op: str, *operands: int) -> int:
    code = OP_TABLE[domain][op].code
    return evaluate(DOMAIN_CODE[domain], code, 0, np.array([*operands, 0], dtype=np.int64), len(operands))


def i32(value: int) -> int:
    return ctypes.c_int32(value).value


def u32(value: int) -> int:
    return ctypes.c_uint32(value).value


# -- 32-bit integers ---------------------------------------------------------------------------------------------------


def truncating_quotient(a: int, b: int) -> int:
    return 0 if b == 0 else math.trunc(Fraction(a, b))


I32: dict[str, Reference] = {
    "move": lambda a: a,
    "add": lambda a, b: i32(a + b),
    "sub": lambda a, b: i32(a - b),
    "mul": lambda a, b: i32(a * b),
    "div": lambda a, b: i32(truncating_quotient(a, b)),
    "rem": lambda a, b: i32(a - truncating_quotient(a, b) * b),
    "udiv": lambda a, b: i32(u32(a) // u32(b)) if b else 0,
    "urem": lambda a, b: i32(u32(a) % u32(b)) if b else a,
    "mulh": lambda a, b: i32((a * b) >> 32),
    "mul_add": lambda a, b, c: i32(a * b + c),
    "mul_sub": lambda a, b, c: i32(c - a * b),
    "shl_add": lambda a, b, c: i32((a << (b % 32)) + c),
    "shl": lambda a, b: i32(a << (b % 32)),
    "shr": lambda a, b: a >> (b % 32),
    "lshr": lambda a, b: i32(u32(a) >> (b % 32)),
    "rotl": lambda a, b: i32(int((f"{u32(a):032b}" * 2)[b % 32 :][:32], 2)),
    "and": lambda a, b: i32(u32(a) & u32(b)),
    "or": lambda a, b: i32(u32(a) | u32(b)),
    "xor": lambda a, b: i32(u32(a) ^ u32(b)),
    "not": lambda a: -a - 1,
    "neg": lambda a: i32(-a),
    "abs": lambda a: i32(abs(a)),
    "min": lambda a, b: sorted([a, b])[0],
    "max": lambda a, b: sorted([a, b])[1],
    "umin": lambda a, b: sorted([a, b], key=u32)[0],
    "umax": lambda a, b: sorted([a, b], key=u32)[1],
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
    "gt": lambda a, b: int(a > b),
    "ge": lambda a, b: int(a >= b),
    "ult": lambda a, b: int(u32(a) < u32(b)),
    "ule": lambda a, b: int(u32(a) <= u32(b)),
    "select": lambda a, b, c: c if a == 0 else b,
    "sext8": lambda a: ctypes.c_int8(a).value,
    "sext16": lambda a: ctypes.c_int16(a).value,
    "zext8": lambda a: ctypes.c_uint8(a).value,
    "zext16": lambda a: ctypes.c_uint16(a).value,
    "popcount": lambda a: f"{u32(a):b}".count("1"),
    "clz": lambda a: 32 - u32(a).bit_length(),
    "square": lambda a: i32(a * a),
    # The smaller of the two by their upper 31 bits; bit 0 of the result says whether the right one won.
    "min_tag": lambda a, b: (b >> 1 << 1) + 1 if b >> 1 < a >> 1 else a >> 1 << 1,
    "select_tag": lambda a, b, c: b if a % 2 else c,
    "select_sign": lambda a, b, c: (b, a)[c < 0],
    "select_zero": lambda a, b, c: (a, b)[bool(c)],
    "mul_rsub": lambda a, b, c: i32(a * b - c),
    "mul_and": lambda a, b, c: i32(u32(a * b) & u32(c)),
    "mul_or": lambda a, b, c: i32(u32(a * b) | u32(c)),
    "mul_xor": lambda a, b, c: i32(u32(a * b) ^ u32(c)),
    "shl_sub": lambda a, b, c: i32(c - (a << (b % 32))),
    "shl_rsub": lambda a, b, c: i32((a << (b % 32)) - c),
    "shl_and": lambda a, b, c: i32(u32(a << (b % 32)) & u32(c)),
    "shl_or": lambda a, b, c: i32(u32(a << (b % 32)) | u32(c)),
    "shl_xor": lambda a, b, c: i32(u32(a << (b % 32)) ^ u32(c)),
    "shr_add": lambda a, b, c: i32((a >> (b % 32)) + c),
    "shr_sub": lambda a, b, c: i32(c - (a >> (b % 32))),
    "shr_rsub": lambda a, b, c: i32((a >> (b % 32)) - c),
    "shr_and": lambda a, b, c: i32(u32(a >> (b % 32)) & u32(c)),
    "shr_or": lambda a, b, c: i32(u32(a >> (b % 32)) | u32(c)),
    "shr_xor": lambda a, b, c: i32(u32(a >> (b % 32)) ^ u32(c)),
    "lshr_add": lambda a, b, c: i32((u32(a) >> (b % 32)) + c),
    "lshr_sub": lambda a, b, c: i32(c - (u32(a) >> (b % 32))),
    "lshr_rsub": lambda a, b, c: i32((u32(a) >> (b % 32)) - c),
    "lshr_and": lambda a, b, c: i32((u32(a) >> (b % 32)) & u32(c)),
    "lshr_or": lambda a, b, c: i32((u32(a) >> (b % 32)) | u32(c)),
    "lshr_xor": lambda a, b, c: i32((u32(a) >> (b % 32)) ^ u32(c)),
}


# -- IEEE singles, by exact rational arithmetic ------------------------------------------------------------------------


def real(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


def pattern(value: float) -> int:
    """The signed pattern of a number that is a single."""
    return NAN if math.isnan(value) else struct.unpack("<i", struct.pack("<f", value))[0]


def rounded(value: Fraction) -> int:
    """The pattern of the single nearest to a rational other than zero, ties to even, overflow to infinity."""
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, -126) - 23)
    size = round(size / step) * step
    magnitude = math.inf if size >= 1 << 128 else float(size)
    return pattern(math.copysign(magnitude, value))


def f_add(a: int, b: int) -> int:
    x, y = real(a), real(b)
    if not (math.isfinite(x) and math.isfinite(y)):
        return pattern(x + y)
    total = Fraction(x) + Fraction(y)
    if total:
        return rounded(total)
    both_negative = math.copysign(1, x) < 0 and math.copysign(1, y) < 0
    return pattern(-0.0 if both_negative else 0.0)


def f_mul(a: int, b: int) -> int:
    x, y = real(a), real(b)
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return pattern(x * y)
    return rounded(Fraction(x) * Fraction(y))


def f_div(a: int, b: int) -> int:
    x, y = real(a), real(b)
    if y == 0:
        return NAN if x == 0 or math.isnan(x) else pattern(math.copysign(math.inf, x) * math.copysign(1, y))
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0:
        return pattern(x / y)
    return rounded(Fraction(x) / Fraction(y))


def f_sqrt(a: int) -> int:
    x = real(a)
    if x == 0 or x == math.inf:
        return pattern(x)
    if not x > 0:
        return NAN
    scaled = Fraction(x) * 4**200
    assert scaled.denominator == 1
    root = math.isqrt(scaled.numerator)
    # A half more where the root goes on: enough for rounding, which looks at far fewer digits.
    return rounded(Fraction(2 * root + (root * root != scaled), 2 * 2**200))


def f_to_int(a: int) -> int:
    x = real(a)
    if math.isnan(x):
        return 0
    return int(max(INT_MIN, min(INT_MAX, math.trunc(x) if math.isfinite(x) else math.copysign(2**40, x))))


F32: dict[str, Reference] = {
    "fadd": f_add,
    "fsub": lambda a, b: f_add(a, b ^ 0x80000000),
    "fmul": f_mul,
    "fdiv": f_div,
    "fneg": lambda a: i32(a ^ 0x80000000),
    "fabs": lambda a: a & 0x7FFFFFFF,
    # The second operand unless the first compares as smaller (larger): NaN compares as neither.
    "fmin": lambda a, b: a if real(a) < real(b) else b,
    "fmax": lambda a, b: a if real(a) > real(b) else b,
    "feq": lambda a, b: int(real(a) == real(b)),
    "flt": lambda a, b: int(real(a) < real(b)),
    "fle": lambda a, b: int(real(a) <= real(b)),
    "fne": lambda a, b: int(real(a) != real(b)),
    "fgt": lambda a, b: int(real(a) > real(b)),
    "fge": lambda a, b: int(real(a) >= real(b)),
    "fsqrt": f_sqrt,
    "fsquare": lambda a: f_mul(a, a),
    # Two roundings: a product and a sum.
    "fmul_add": lambda a, b, c: f_add(f_mul(a, b), c),
    "fmul_rsub": lambda a, b, c: f_add(f_mul(a, b), i32(c ^ 0x80000000)),
    "fmul_sub": lambda a, b, c: f_add(f_mul(a, b) ^ (0 if f_mul(a, b) == NAN else 0x80000000), c),
    "int_to_float": lambda a: rounded(Fraction(a)) if a else 0,
    "float_to_int": f_to_int,
}
F32_NAMES = {name.removeprefix("f"): name for name in F32 if name[0] == "f" and name != "float_to_int"}


# -- 24 bits and a carry -----------------------------------------------------------------------------------------------


def cma24_signed(a: int) -> int:
    return (a & MASK24) - (CARRY if a & 0x800000 else 0)


CMA24: dict[str, Reference] = {
    "move": lambda a: a,
    "nop": lambda a: a,
    "cat": lambda a: a,
    "add": lambda a, b: (a & MASK24) + (b & MASK24),
    "sub": lambda a, b: ((a & MASK24) - (b & MASK24)) % CARRY,
    "mult": lambda a, b: (a & MASK24) * (b & MASK24) % CARRY,
    "sl": lambda a, b: (a & MASK24) * 2 ** min(b & MASK24, 99) % CARRY,
    "sr": lambda a, b: (a & MASK24) // 2 ** min(b & MASK24, 99),
    "sra": lambda a, b: cma24_signed(a) // 2 ** min(b & MASK24, 99) % CARRY,
    "sel": lambda a, b: b if a >= CARRY else a,
    "not": lambda a: MASK24 - (a & MASK24),
    "and": lambda a, b: a & b & MASK24,
    "or": lambda a, b: (a | b) & MASK24,
    "xor": lambda a, b: (a ^ b) & MASK24,
    "eql": lambda a, b: CARRY + (a & MASK24) if (a - b) % CARRY == 0 else 0,
    "gt": lambda a, b: (a & MASK24) + (CARRY if a & MASK24 > b & MASK24 else 0),
    "lt": lambda a, b: (a & MASK24) + (CARRY if a & MASK24 <= b & MASK24 else 0),
}


# -- the comparison ----------------------------------------------------------------------------------------------------


def samples(corners: list[int], low: int, high: int, arity: int) -> list[tuple[int, ...]]:
    rng = random.Random(arity)
    rows = list(itertools.product(corners if arity < 3 else corners[::2], repeat=arity))
    rows += [tuple(rng.randint(low, high) for _ in range(arity)) for _ in range(200)]
    rows += [
        tuple(rng.choice((rng.randint(-40, 40), rng.randint(low, high))) for _ in range(arity)) for _ in range(200)
    ]
    return [tuple(min(max(value, low), high) for value in row) for row in rows]


def check(domain: str, name: str, reference: Reference, rows: list[tuple[int, ...]]) -> None:
    wrong = [
        (row, run(domain, name, *row), reference(*row)) for row in rows if run(domain, name, *row) != reference(*row)
    ]
    assert wrong[:3] == []


def f32_samples(arity: int) -> list[tuple[int, ...]]:
    corners = [i32(bits) for bits in F32_PATTERNS]
    rng = random.Random(arity)
    # Near numbers cancel and tie more often than patterns at random.
    near = [tuple(pattern(float(np.float32(rng.gauss(0, 3)))) for _ in range(arity)) for _ in range(300)]
    return samples(corners, INT_MIN, INT_MAX, arity) + near


@pytest.mark.parametrize("name", I32)
def test_integer_op_computes_its_definition(name: str) -> None:
    check("i32", name, I32[name], samples(I32_CORNERS, INT_MIN, INT_MAX, OP_TABLE["i32"][name].arity))


@pytest.mark.parametrize("name", F32)
def test_float_op_computes_the_correctly_rounded_result(name: str) -> None:
    arity = OP_TABLE["i32"][name].arity
    check(
        "i32",
        name,
        F32[name],
        samples(I32_CORNERS, INT_MIN, INT_MAX, 1) if name == "int_to_float" else f32_samples(arity),
    )


@pytest.mark.parametrize("name", F32_NAMES)
def test_plain_name_means_the_float_op_in_domain_f32(name: str) -> None:
    check("f32", name, F32[F32_NAMES[name]], f32_samples(OP_TABLE["f32"][name].arity))
    assert OP_TABLE["f32"][name].op_class == "fp"


@pytest.mark.parametrize("name", CMA24)
def test_24_bit_op_computes_its_definition(name: str) -> None:
    check("cma24", name, CMA24[name], samples(CMA24_CORNERS, 0, 2 * CARRY - 1, OP_TABLE["cma24"][name].arity))


def test_no_op_is_left_without_a_definition() -> None:
    assert set(plain_ops("i32")) == set(I32) | set(F32)
    assert set(plain_ops("f32")) == set(I32) | set(F32) | set(F32_NAMES)
    assert set(plain_ops("cma24")) == set(CMA24)


@pytest.mark.parametrize(
    ("op", "operands", "result"),
    [
        ("add", (INT_MAX, 1), INT_MIN),
        ("mul", (INT_MIN, -1), INT_MIN),
        ("div", (INT_MIN, -1), INT_MIN),
        ("rem", (INT_MIN, -1), 0),
        ("div", (-7, 2), -3),
        ("rem", (-7, 2), -1),
        ("div", (5, 0), 0),
        ("rem", (5, 0), 5),
        ("udiv", (-1, 0), 0),
        ("urem", (-1, 0), -1),
        ("shl", (1, 32), 1),
        ("shr", (-8, 33), -4),
        ("lshr", (-1, -1), 1),
        ("mulh", (INT_MIN, INT_MIN), 1 << 30),
        ("abs", (INT_MIN,), INT_MIN),
        ("min_tag", (10, 8), 9),
        ("min_tag", (8, 9), 8),
        ("min_tag", (9, 8), 8),
        ("select_tag", (9, 70, 80), 70),
        ("select_tag", (8, 70, 80), 80),
    ],
)
def test_corners_of_integer_ops_as_documented(op: str, operands: tuple[int, ...], result: int) -> None:
    assert run("i32", op, *operands) == result


def test_mul_add_of_singles_rounds_after_the_product_too() -> None:
    # (1 + e)^2 - 1 - 2 e = e^2, which the rounded product has lost.
    e = 2.0**-23
    x, c = pattern(1 + e), pattern(-1 - 2 * e)
    assert run("f32", "mul_add", x, x, c) == 0
    assert Fraction(1 + e) ** 2 + Fraction(-1 - 2 * e) == Fraction(e) ** 2 != 0


def test_carry_travels_with_the_operand_that_select_hands_on() -> None:
    greater = run("cma24", "gt", 9, 4)
    assert greater == CARRY | 9
    assert run("cma24", "sel", greater, CARRY | 5) == CARRY | 5
    assert run("cma24", "sel", 9, 5) == 9
    assert run("cma24", "lt", 4, 4) == CARRY | 4
    assert run("cma24", "eql", 4, 4) == CARRY | 4
    assert run("cma24", "eql", 4, 5) == 0
    assert run("cma24", "sub", CARRY | 3, 5) == MASK24 - 1
    assert run("cma24", "add", MASK24, 2) == CARRY | 1


CARRIERS = {"i32": (INT_MIN, INT_MAX), "f32": (INT_MIN, INT_MAX), "cma24": (0, 2 * CARRY - 1)}


@given(data=st.data())
def test_result_is_a_carrier_of_its_domain(data: st.DataObject) -> None:
    domain = data.draw(st.sampled_from(list(CARRIERS)))
    low, high = CARRIERS[domain]
    name = data.draw(st.sampled_from(plain_ops(domain)))
    operands = data.draw(st.lists(st.integers(low, high), min_size=3, max_size=3))[: OP_TABLE[domain][name].arity]
    assert low <= run(domain, name, *operands) <= high


WORDS = st.integers(-(1 << 63), (1 << 63) - 1)


def mixed(node: str, operands: list[int]) -> int:
    return evaluate(
        DOMAIN_CODE["opaque"], OPAQUE_CODE, salt(node), np.array([*operands, 0], dtype=np.int64), len(operands)
    )


@given(st.lists(WORDS, min_size=2, max_size=4, unique=True), st.data())
def test_opaque_result_shows_swapped_changed_missing_operands_and_another_node(
    operands: list[int], data: st.DataObject
) -> None:
    result = mixed("n", operands)
    a, b = data.draw(st.permutations(range(len(operands))))[:2]
    swapped = list(operands)
    swapped[a], swapped[b] = operands[b], operands[a]
    changed = list(operands)
    changed[a] = data.draw(WORDS.filter(lambda value: value != operands[a]))
    assert -(1 << 63) <= result < 1 << 63
    assert result not in (mixed("n", swapped), mixed("n", changed), mixed("n", operands[:-1]), mixed("m", operands))
    assert mixed("n", operands) == result


@given(st.integers(-(1 << 80), 1 << 80))
def test_integers_wrap_to_the_width_of_the_domain(value: int) -> None:
    assert encode("i32", value) == i32(value)
    assert encode("cma24", value) == value % CARRY
    assert encode("opaque", value) == ctypes.c_int64(value).value


@given(st.floats(width=32, allow_nan=False))
def test_singles_travel_as_their_pattern(value: float) -> None:
    assert encode("f32", value) == pattern(value)
    assert decode("f32", encode("f32", value)) == value
    assert math.copysign(1, decode("f32", encode("f32", value))) == math.copysign(1, value)
