"""What is known of an operation without running it: its value on constants, a simpler form, the range of its result.

Folding while the graph is built keeps it small: a loop body from C is full of extensions, masks and constants that only
matter to the compiler. Nothing here changes what a loop computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

WORD: Final = (-(1 << 31), (1 << 31) - 1)

_PURE: Final = frozenset({
    "add", "sub", "mul", "and", "or", "xor", "shl", "shr", "lshr", "eq", "ne", "lt", "le", "gt", "ge", "ult", "ule",
})  # fmt: skip
_COMPARES: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "ult", "ule", "feq", "flt", "fle"})


def wrap(value: int) -> int:
    """The low 32 bits, signed."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def fold_constants(op: str, values: Sequence[int | None]) -> int | None:
    """The value of an operation on constants, or None when it is not known.

    Only ops without a fault or rounding are folded; a quotient is left to the array.
    """
    if op == "select" and values[0] is not None:
        return values[1] if values[0] else values[2]
    if op not in _PURE or any(value is None for value in values):
        return None
    a, b = (value or 0 for value in values)
    unsigned_a, unsigned_b, amount = a & 0xFFFFFFFF, b & 0xFFFFFFFF, b & 31
    results = {
        "add": a + b, "sub": a - b, "mul": a * b, "and": a & b, "or": a | b, "xor": a ^ b,
        "shl": a << amount, "shr": a >> amount, "lshr": unsigned_a >> amount,
        "eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
        "ult": unsigned_a < unsigned_b, "ule": unsigned_a <= unsigned_b,
    }  # fmt: skip
    return wrap(int(results[op]))


def simplify_operation(op: str, values: Sequence[int | None], operands: Sequence[Any]) -> int | None:
    """The position of the operand that an operation equals; -1 - c when it is the constant c; None when neither.

    ``values`` are the constants among the operands, None for all others.
    """
    if op == "select":
        if values[0] is not None:
            return 1 if values[0] else 2
        return 1 if operands[1] == operands[2] else None
    if len(operands) != 2:
        return None
    second = values[1]
    if second == 0 and op in ("add", "sub", "or", "xor", "shl", "shr", "lshr"):
        return 0
    if (second == 1 and op == "mul") or (second == -1 and op == "and"):
        return 0
    if second == 0 and op in ("mul", "and"):
        return -1
    if operands[0] == operands[1] and op in ("and", "or", "min", "max", "umin", "umax"):
        return 0
    return None


def range_of(op: str, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The range of an operation's result from those of its operands; all 32 bits when nothing better is known.

    It is never too small: what may leave the 32-bit word has the range of the whole word.
    """
    fixed = {"sext8": (-128, 127), "sext16": (-32768, 32767), "zext8": (0, 255), "zext16": (0, 65535),
             "popcount": (0, 32), "clz": (0, 32)}  # fmt: skip
    if op in _COMPARES:
        return 0, 1
    if op in fixed:
        return fixed[op]
    if op in ("select", "move"):
        return _hull(ranges[-2:] if op == "select" else ranges)
    if len(ranges) != 2:
        return WORD
    return _binary_range(op, ranges[0], ranges[1])


def _binary_range(op: str, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """The range of an op on two ranges; all 32 bits where the exact one leaves the word."""
    if op in ("min", "max"):
        choose = min if op == "min" else max
        return choose(a[0], b[0]), choose(a[1], b[1])
    if op in ("umin", "umax") and a[0] >= 0 and b[0] >= 0:
        return _binary_range(op[1:], a, b)
    if op == "and" and (a[0] >= 0 or b[0] >= 0):
        return 0, min(high for low, high in (a, b) if low >= 0)
    if op in ("or", "xor") and a[0] >= 0 and b[0] >= 0:
        return 0, (1 << max(a[1], b[1]).bit_length()) - 1
    exact: tuple[int, int] | None = None
    if op == "add":
        exact = a[0] + b[0], a[1] + b[1]
    elif op == "sub":
        exact = a[0] - b[1], a[1] - b[0]
    elif op == "mul":
        corners = [x * y for x in a for y in b]
        exact = min(corners), max(corners)
    elif b[0] == b[1] and 0 <= b[0] < 32:
        exact = _shift_range(op, a, b[0])
    return exact if exact and WORD[0] <= exact[0] and exact[1] <= WORD[1] else WORD


def _shift_range(op: str, a: tuple[int, int], amount: int) -> tuple[int, int] | None:
    """The range of a shift by a constant; None where it is not known."""
    if op == "shl":
        return a[0] << amount, a[1] << amount
    if op == "shr" or (op == "lshr" and a[0] >= 0):
        return a[0] >> amount, a[1] >> amount
    return (0, (1 << (32 - amount)) - 1) if op == "lshr" and amount else None


def _hull(ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The least range that contains all."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)
