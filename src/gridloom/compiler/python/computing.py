"""What the ops of a Python kernel compute on known numbers: when it is run, or where a trace knows all operands.

It shares nothing with the semantics of the graph, so that running a kernel as Python and running its graph are two
independent computations.

Only the ops that Python's operators and the functions of this front end can make are here. Division by zero raises
ZeroDivisionError, as in Python; the graph's division yields 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gridloom.compiler.loops.folding import wrap

_NAN: Final = np.uint32(0x7FC00000).view(np.float32)


def bits_of(number: Any) -> int:
    """The pattern of a single, as a signed word; every NaN is the same one."""
    single = np.float32(number)
    return 0x7FC00000 if np.isnan(single) else int(single.view(np.int32))


def _truncated(a: int, b: int) -> int:
    """The quotient, rounded towards 0; 0 for a divisor of 0, as the op table has it."""
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _rounded(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], np.float32]:
    """An op on floats, rounded to a single; every NaN becomes the same one."""

    def compute(a: np.float32, b: np.float32) -> np.float32:
        with np.errstate(all="ignore"):
            result = np.float32(function(a, b))
        # Which NaN a processor hands on is its own affair; the array always makes the same one.
        return _NAN if np.isnan(result) else result

    return compute


def _whole(a: np.float32) -> int:
    """A single as a word, cut towards 0 and clamped; 0 for NaN."""
    return 0 if np.isnan(a) else int(min(max(float(a), -(2.0**31)), 2.0**31 - 1))


#: Op -> the function that computes it from numbers.
COMPUTE: Final[dict[str, Callable[..., Any]]] = {
    "add": lambda a, b: wrap(a + b),
    "sub": lambda a, b: wrap(a - b),
    "mul": lambda a, b: wrap(a * b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: wrap(a << (b & 31)),
    "shr": lambda a, b: a >> (b & 31),
    "eq": lambda a, b: int(a == b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
    "min": min,
    "max": max,
    "abs": lambda a: wrap(abs(a)),
    "div": lambda a, b: wrap(_truncated(a, b)),
    "rem": lambda a, b: wrap(a - _truncated(a, b) * b),
    "fadd": _rounded(lambda a, b: a + b),
    "fsub": _rounded(lambda a, b: a - b),
    "fmul": _rounded(lambda a, b: a * b),
    "fdiv": _rounded(lambda a, b: a / b),
    "fneg": lambda a: -a,
    "fabs": lambda a: np.float32(abs(a)),
    "fmin": lambda a, b: a if a < b else b,
    "fmax": lambda a, b: a if a > b else b,
    "feq": lambda a, b: int(a == b),
    "flt": lambda a, b: int(a < b),
    "fle": lambda a, b: int(a <= b),
    "int_to_float": lambda a: np.float32(a),
    "float_to_int": _whole,
}
#: Ops whose result is a float.
FLOAT_RESULTS: Final = frozenset({"fadd", "fsub", "fmul", "fdiv", "fneg", "fabs", "fmin", "fmax", "int_to_float"})
