"""Calls that the host knows without a body: LLVM's intrinsics, blocks of memory, strings and C's math functions.

Math functions that only need exact arithmetic are computed by NumPy; the others are those of the machine's own C
library, so that the host rounds as the compiled function does.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from gridloom.compiler.c.function.memory import Memory
from gridloom.compiler.ir.layout import integer_bits

#: Calls that say something to the compiler and do nothing.
IGNORED: Final = ("llvm.assume", "llvm.lifetime", "llvm.experimental", "llvm.dbg", "llvm.donothing", "llvm.prefetch")


def _maximum(a: Any, b: Any) -> Any:
    """IEEE 754's maximum: a NaN wins, and the zero without a sign is the larger one."""
    if a == b:
        return b if np.signbit(a) else a
    return np.maximum(a, b)


def _minimum(a: Any, b: Any) -> Any:
    """IEEE 754's minimum: a NaN wins, and the zero with a sign is the smaller one."""
    if a == b:
        return a if np.signbit(a) else b
    return np.minimum(a, b)


_EXACT: Final[dict[str, Callable[..., Any]]] = {
    "sqrt": np.sqrt, "fabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "nearbyint": np.rint, "roundeven": np.rint, "copysign": np.copysign, "fmin": np.fmin, "fmax": np.fmax,
    "minnum": np.fmin, "maxnum": np.fmax, "fmod": np.fmod, "minimumnum": np.fmin, "maximumnum": np.fmax,
    "minimum": _minimum, "maximum": _maximum,
}  # fmt: skip
_LIBRARY: Final = frozenset({
    "exp", "exp2", "log", "log2", "log10", "pow", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "cbrt", "hypot", "expm1", "log1p", "round", "fma", "erf",
})  # fmt: skip
_MEMORY: Final = frozenset({"memcpy", "memmove", "memset", "memcmp", "strlen", "bcmp", "strcmp"})


def known(callee: str) -> bool:
    """True for a function that :func:`call` computes."""
    return callee.startswith(IGNORED) or _rule(callee) is not None


def call(memory: Memory, callee: str, kinds: tuple[str, ...], line: int) -> Callable[..., Any]:
    """What computes a call: a function of its operands. ``kinds`` are their types, the result's first."""
    if callee.startswith(IGNORED):
        return lambda *operands: None
    rule = _rule(callee)
    assert rule is not None
    stem, bits = rule
    if stem in _MEMORY:
        return _block(memory, stem, line)
    if kinds[0] in ("float", "double"):
        return _real(stem, kinds[0])
    return _integer(stem, bits)


@cache
def _rule(callee: str) -> tuple[str, int] | None:
    """(stem, width) of a function that is known; None for any other."""
    name, bits = callee, 32
    if callee.startswith("llvm."):
        name = callee.removeprefix("llvm.")
        parts = name.split(".")
        kinds: list[str] = []
        while parts and (parts[-1] in ("p0", "f32", "f64") or integer_bits(parts[-1])):
            kinds.append(parts.pop())
        if not kinds:
            return None
        name = ".".join(parts)
        bits = next((integer_bits(kind) for kind in kinds if integer_bits(kind)), 32)
        if name in _INTEGERS or name in _MEMORY:
            return name, bits
        return (name, bits) if name in _EXACT or name in _LIBRARY else None
    if name in _MEMORY:
        return name, bits
    if name in ("abs", "labs", "llabs"):
        return "abs", 64 if name == "llabs" else 32
    stem = name if name in _EXACT or name in _LIBRARY else name.removesuffix("f")
    return (stem, bits) if stem in _EXACT or stem in _LIBRARY else None


def _real(stem: str, kind: str) -> Callable[..., Any]:
    """A math function of singles or doubles."""
    number = np.float32 if kind == "float" else np.float64
    if stem in _EXACT:
        exact = _EXACT[stem]
        return lambda *operands: number(exact(*operands))
    found = getattr(_math(), stem + ("f" if kind == "float" else ""))
    found.restype = ctypes.c_float if kind == "float" else ctypes.c_double
    wide = found.restype
    return lambda *operands: number(found(*(wide(float(o)) for o in operands)))


@cache
def _math() -> ctypes.CDLL:
    """The machine's math library."""
    return ctypes.CDLL(ctypes.util.find_library("m"))


def _block(memory: Memory, stem: str, line: int) -> Callable[..., Any]:
    """A function on blocks of bytes."""

    def copy(target: int, source: int, size: int, *rest: Any) -> int:
        size &= 0xFFFFFFFF
        taken = bytes(memory.bytes[memory.span(source, size, line, "reads")])
        memory.bytes[memory.span(target, size, line, "writes")] = taken
        return target

    def fill(target: int, value: int, size: int, *rest: Any) -> int:
        size &= 0xFFFFFFFF
        memory.bytes[memory.span(target, size, line, "writes")] = bytes([value & 255]) * size
        return target

    def length(source: int) -> int:
        end = source
        while memory.load(end, "i8", line):
            end += 1
        return end - source

    def compare(a: int, b: int, size: int) -> int:
        size &= 0xFFFFFFFF
        first = bytes(memory.bytes[memory.span(a, size, line, "reads")])
        second = bytes(memory.bytes[memory.span(b, size, line, "reads")])
        return int(first > second) - int(first < second)

    def compare_strings(a: int, b: int) -> int:
        while True:
            x, y = memory.load(a, "i8", line) & 255, memory.load(b, "i8", line) & 255
            if x != y or not x:
                return int(x > y) - int(x < y)
            a, b = a + 1, b + 1

    rules: dict[str, Callable[..., Any]] = {
        "memcpy": copy, "memmove": copy, "memset": fill, "strlen": length, "memcmp": compare, "bcmp": compare,
        "strcmp": compare_strings,
    }  # fmt: skip
    return rules[stem]


def _wrap(value: int, bits: int) -> int:
    """The low bits of a number, signed."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half if bits > 1 else value & 1


def _integer(stem: str, bits: int) -> Callable[..., Any]:
    """An intrinsic on integers of a width."""
    rule = _INTEGERS[stem]
    if ".with.overflow" in stem:
        return lambda *operands: rule(bits, *operands)
    return lambda *operands: _wrap(rule(bits, *operands), bits)


def _overflowing(signed: bool, compute: Callable[[int, int], int]) -> Callable[[int, int, int], Any]:
    """The result of an operation and whether it left its type."""

    def rule(bits: int, a: int, b: int) -> tuple[int, int]:
        if not signed:
            a, b = a & ((1 << bits) - 1), b & ((1 << bits) - 1)
        exact = compute(a, b)
        kept = _wrap(exact, bits)
        return kept, int(exact != (kept if signed else kept & ((1 << bits) - 1)))

    return rule


def _clamped(signed: bool, sign: int) -> Callable[[int, int, int], int]:
    """A sum or difference that stops at the ends of its type."""

    def rule(bits: int, a: int, b: int) -> int:
        mask = (1 << bits) - 1
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, mask)
        a, b = (a, b) if signed else (a & mask, b & mask)
        return min(max(a + sign * b, low), high)

    return rule


def _mask(bits: int) -> int:
    return (1 << bits) - 1


_INTEGERS: Final[dict[str, Callable[..., Any]]] = {
    "abs": lambda n, a, *_: abs(a),
    "smin": lambda n, a, b: min(a, b),
    "smax": lambda n, a, b: max(a, b),
    "umin": lambda n, a, b: min(a & _mask(n), b & _mask(n)),
    "umax": lambda n, a, b: max(a & _mask(n), b & _mask(n)),
    "ctpop": lambda n, a: (a & _mask(n)).bit_count(),
    "ctlz": lambda n, a, *_: n - (a & _mask(n)).bit_length(),
    "cttz": lambda n, a, *_: n if a == 0 else ((a & -a) & _mask(n)).bit_length() - 1,
    "bswap": lambda n, a: int.from_bytes((a & _mask(n)).to_bytes(n // 8, "little"), "big"),
    "bitreverse": lambda n, a: int(f"{a & _mask(n):0{n}b}"[::-1], 2),
    "fshl": lambda n, a, b, s: (((a & _mask(n)) << n | (b & _mask(n))) << ((s & _mask(n)) % n)) >> n,
    "fshr": lambda n, a, b, s: ((a & _mask(n)) << n | (b & _mask(n))) >> ((s & _mask(n)) % n),
    "sadd.sat": _clamped(True, 1),
    "ssub.sat": _clamped(True, -1),
    "uadd.sat": _clamped(False, 1),
    "usub.sat": _clamped(False, -1),
    "sadd.with.overflow": _overflowing(True, lambda a, b: a + b),
    "ssub.with.overflow": _overflowing(True, lambda a, b: a - b),
    "smul.with.overflow": _overflowing(True, lambda a, b: a * b),
    "uadd.with.overflow": _overflowing(False, lambda a, b: a + b),
    "usub.with.overflow": _overflowing(False, lambda a, b: a - b),
    "umul.with.overflow": _overflowing(False, lambda a, b: a * b),
    "expect": lambda n, a, *_: a,
    "scmp": lambda n, a, b: (a > b) - (a < b),
    "ucmp": lambda n, a, b: ((a & _mask(n)) > (b & _mask(n))) - ((a & _mask(n)) < (b & _mask(n))),
}
