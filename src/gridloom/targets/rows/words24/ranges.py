"""The least and the greatest value that each node of an integer loop can have.

Interval arithmetic over the graph in the order of dependences. Inputs and live-ins have the range of their type, or
what the user assumes of them; what may leave the 32-bit word has the range of the whole word, so that a range is never
too small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gridloom.dfg.model import Dfg

Range = tuple[int, int]

#: A signed word of 32 bits.
WORD: Final[Range] = (-(1 << 31), (1 << 31) - 1)
#: What 24 bits hold, read with a sign and without one.
SIGNED: Final[Range] = (-(1 << 23), (1 << 23) - 1)
UNSIGNED: Final[Range] = (0, (1 << 24) - 1)
#: What the constant registers hold.
REGISTER: Final[Range] = (-(1 << 16), (1 << 16) - 1)

_FIXED: Final[Mapping[str, Range]] = {
    "sext8": (-128, 127), "sext16": (-32768, 32767), "zext8": (0, 255), "zext16": (0, 65535),
    "popcount": (0, 32), "clz": (0, 32),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "ult", "ule"), (0, 1)),
}  # fmt: skip


def inside(inner: Range, outer: Range) -> bool:
    """Return True when a range lies within another.

    >>> inside((0, 255), SIGNED), inside((0, 1 << 23), SIGNED), inside((0, 1 << 23), UNSIGNED)
    (True, False, True)
    """
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def fits(values: Range) -> bool:
    """Return True when 24 bits hold all values of a range, with a sign or without one."""
    return inside(values, SIGNED) or inside(values, UNSIGNED)


def ranges_of(dfg: Dfg, known: Mapping[str, Range]) -> dict[str, Range]:
    """Return the range of every node; ``known`` narrows those that types or the user say more of.

    The graph must have no carried edges. Linear in nodes and edges.
    """
    found: dict[str, Range] = {}
    for k in dfg.topological:
        node = dfg.nodes[k]
        operands = [found[dfg.edges[e].source] for e in dfg.operand_edges(node.id)]
        if node.op == "const":
            value = int(node.value or 0)
            computed = (value, value)
        else:
            computed = range_of(node.op, operands)
        found[node.id] = _met(computed, known.get(node.id, WORD))
    return found


def _met(a: Range, b: Range) -> Range:
    """The values that two ranges share; the second one where they share none, since the user says so."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else b


def range_of(op: str, ranges: Sequence[Range]) -> Range:
    """Return the range of an op's result from those of its operands; the whole word where nothing better is known.

    >>> range_of("add", [(0, 255), (-1, 1)]), range_of("abs", [(-5, 3)])
    ((-1, 256), (0, 5))
    """
    if op in _FIXED:
        met = [ranges[0]] if op in ("sext8", "sext16", "zext8", "zext16") and inside(ranges[0], _FIXED[op]) else []
        return met[0] if met else _FIXED[op]
    rule = _RULES.get(op)
    exact = None if rule is None else rule(*ranges)
    return exact if exact is not None and inside(exact, WORD) else WORD


def _hull(*ranges: Range) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _product(a: Range, b: Range) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _square(a: Range) -> Range:
    low, high = _abs(a)
    return low * low, high * high


def _abs(a: Range) -> Range:
    least = 0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))
    return least, max(abs(a[0]), abs(a[1]))


def _and(a: Range, b: Range) -> Range:
    """A mask without a sign bounds the result; two negative numbers stay within the bits of both."""
    if a[0] >= 0 or b[0] >= 0:
        return 0, min(high for low, high in (a, b) if low >= 0)
    return _bits(a, b)


def _or(a: Range, b: Range) -> Range:
    if a[0] >= 0 and b[0] >= 0:
        return max(a[0], b[0]), _bits(a, b)[1]
    return _bits(a, b)


def _xor(a: Range, b: Range) -> Range:
    return (0, _bits(a, b)[1]) if a[0] >= 0 and b[0] >= 0 else _bits(a, b)


def _bits(a: Range, b: Range) -> Range:
    """The numbers of as many bits as the wider of two ranges needs."""
    widest = max((~value if value < 0 else value).bit_length() for value in (*a, *b))
    return -(1 << widest), (1 << widest) - 1


def _amounts(b: Range) -> list[int] | None:
    """The least and the greatest amount of a shift; None where the low five bits of it may be anything."""
    return [b[0], b[1]] if b[0] >= 0 and b[1] <= 31 else None


def _shl(a: Range, b: Range) -> Range | None:
    amounts = _amounts(b)
    return None if amounts is None else _hull(*((a[0] << k, a[1] << k) for k in amounts))


def _shr(a: Range, b: Range) -> Range | None:
    amounts = _amounts(b) or [0, 31]
    return _hull(*((a[0] >> k, a[1] >> k) for k in amounts))


def _lshr(a: Range, b: Range) -> Range | None:
    if a[0] >= 0:
        return _shr(a, b)
    amounts = _amounts(b)
    return None if amounts is None or amounts[0] == 0 else (0, (1 << (32 - amounts[0])) - 1)


def _unsigned(rule: Callable[[Range, Range], Range]) -> Callable[[Range, Range], Range]:
    """The rule of a choice between numbers without a sign: either of them where one may be negative."""

    def checked(a: Range, b: Range) -> Range:
        return rule(a, b) if a[0] >= 0 and b[0] >= 0 else _hull(a, b)

    return checked


def _min(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _max(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


_RULES: Final[Mapping[str, Callable[..., Range | None]]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "square": _square,
    "neg": lambda a: (-a[1], -a[0]),
    "not": lambda a: (~a[1], ~a[0]),
    "abs": _abs,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "shl": _shl,
    "shr": _shr,
    "lshr": _lshr,
    "min": _min,
    "max": _max,
    "umin": _unsigned(_min),
    "umax": _unsigned(_max),
    "select": lambda _, yes, no: _hull(yes, no),
    "move": lambda a: a,
    "output": lambda a: a,
}
