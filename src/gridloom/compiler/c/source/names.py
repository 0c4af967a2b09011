"""Values of the IR in the source's words: the variable that holds one, or the expression that it is.

clang notes which value each variable of the source has (its debug records); names that LLVM's passes made up are of no
use to a reader and are never shown.
"""

from __future__ import annotations

import re
from typing import Final

from gridloom.compiler.ir.ir import Constant, Global, GlobalAddress, Instruction, IrParameter, Value

_SIGNS: Final = {"add": "+", "sub": "-", "mul": "*", "sdiv": "/", "udiv": "/", "and": "&", "ashr": ">>", "lshr": ">>"}
_FUNCTIONS: Final = {"smax": "max", "umax": "max", "smin": "min", "umin": "min"}
_DEEPEST: Final = 4


def expression(value: Value | None, depth: int = 0) -> str:
    """A value as the source would say it: ``n``, ``n - 1``, ``max(n, 1)``; "" for one that takes too many words."""
    if isinstance(value, Constant):
        return str(value.value)
    if isinstance(value, IrParameter | Global):
        return value.name
    if not isinstance(value, Instruction) or depth > _DEEPEST:
        return ""
    if value.variable:
        return value.variable
    operands = [expression(operand, depth + 1) for operand in value.operands]
    if value.opcode in ("sext", "zext", "trunc", "freeze"):
        return operands[0]
    if value.opcode == "load":
        return _loaded(value, depth)
    if not all(operands):
        return ""
    if value.opcode == "shl" and isinstance(value.operands[1], Constant):
        return f"{_grouped(operands[0])} * {1 << (value.operands[1].value & 31)}"
    if value.opcode in _SIGNS and len(operands) == 2:
        return _joined(_SIGNS[value.opcode], *operands)
    name = value.callee.removeprefix("llvm.").partition(".")[0] if value.opcode == "call" else ""
    return f"{_FUNCTIONS[name]}({operands[0]}, {operands[1]})" if name in _FUNCTIONS else ""


def _joined(sign: str, a: str, b: str) -> str:
    """Two texts with a sign between; a sum with a negative number is a difference."""
    if sign == "+" and b.startswith("-") and b[1:].isdigit():
        sign, b = "-", b[1:]
    elif sign == "-" and b.startswith("-") and b[1:].isdigit():
        sign, b = "+", b[1:]
    if sign == "+":
        return f"{a} + {b}"
    return f"{a if sign == '-' else _grouped(a)} {sign} {_grouped(b)}"


def _grouped(text: str) -> str:
    """A text that can stand beside a sign."""
    return text if re.fullmatch(r"\w+(\[[^\]]*\]|\(.*\))?", text) else f"({text})"


def _loaded(item: Instruction, depth: int) -> str:
    """The variable or element that a load reads; "" where that is no plain one."""
    place = item.operands[0]
    if isinstance(place, GlobalAddress):
        return ""
    if isinstance(place, Global | IrParameter):
        return place.name if isinstance(place, Global) else f"*{place.name}"
    if isinstance(place, Instruction) and place.opcode == "getelementptr" and len(place.operands) == 2:
        base, index = (expression(operand, depth + 1) for operand in place.operands)
        return f"{base}[{index}]" if base and index and not place.source_type.startswith(("[", "%")) else ""
    return ""


def iterations(start: Value | None, bound: Value, step: int, extra: int, *, exact: bool) -> str:
    """The number of iterations from ``start`` to ``bound`` by ``step``, as a number or in the source's words.

    ``extra`` is added to the difference before it is divided: the step of a test that sees the counter before it moves.
    ``exact`` says that the counter meets its bound; otherwise the last step may go beyond it.
    """
    first, last = expression(start), expression(bound)
    if not first or not last:
        return ""
    rounding = 0 if exact else abs(step) - 1
    if isinstance(start, Constant) and isinstance(bound, Constant):
        distance = (bound.value - start.value) * (1 if step > 0 else -1) + extra + rounding
        return str(max(distance // abs(step), 0))
    low, high = (start, bound) if step > 0 else (bound, start)
    offset = extra + rounding
    terms = expression(high)
    if isinstance(low, Constant):
        offset -= low.value
    else:
        terms = _joined("-", terms, expression(low))
    terms, offset = _folded(terms, offset)
    total = _joined("+", terms, str(offset)) if offset else terms
    return total if abs(step) == 1 else f"{_grouped(total)} / {abs(step)}"


def _folded(text: str, offset: int) -> tuple[str, int]:
    """A text without the number at its end, and that number added to an offset: ``n + 1`` and -1 are ``n`` and 0."""
    larger = re.fullmatch(r"max\(([^,]*), (\d+)\)", text)
    if larger and offset:
        # max(n + 1, 2) - 1 is max(n, 1), as long as nothing wraps around.
        inner, moved = _folded(larger[1], offset)
        shifted = _joined("+", inner, str(moved)) if moved else inner
        return f"max({shifted}, {int(larger[2]) + offset})", 0
    match = re.fullmatch(r"(.*) ([+-]) (\d+)", text)
    if not match:
        return text, offset
    return match[1], offset + int(match[3]) * (1 if match[2] == "+" else -1)
