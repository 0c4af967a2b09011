"""Comparisons as flags: a value whose sign, or whether it is 0, answers the question exactly.

The machine compares by subtracting, which is wrong where the difference leaves the word. Where neither constants nor
ranges exclude that, a select takes the difference only where the signs agree, and else the operand whose sign answers:

    x < y, signed     signs differ: x is negative       unsigned: y is negative as a signed number
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gridloom.dfg.model import Dfg
from gridloom.targets.modulo.export.openedge.drafts import LoweredDraft, Ref
from gridloom.transform.assumed import WORD

#: Op -> (the order that decides it, whether operands are exchanged, whether the answer is the opposite).
_ORDERS: Final = {
    "lt": ("lt", False, False), "gt": ("lt", True, False), "ge": ("lt", False, True), "le": ("lt", True, True),
    "ult": ("ult", False, False), "ule": ("ult", True, True),
    "eq": ("eq", False, False), "ne": ("eq", False, True),
}  # fmt: skip
COMPARISONS: Final = frozenset(_ORDERS)


@dataclass(frozen=True, slots=True)
class Flag:
    """What a select asks: whether a value is negative (``sign``) or 0 (``zero``), or the opposite of that."""

    kind: str
    ref: Ref
    opposite: bool = False


def compare(draft: LoweredDraft, op: str, x: Ref, y: Ref) -> Flag:
    """Return the flag that answers a comparison, and add the nodes that it needs."""
    order, exchanged, opposite = _ORDERS[op]
    known = draft.value_of(y)
    # x > c and x <= c are questions about c + 1, where there is such a number.
    if exchanged and known is not None and known != (-1 if order == "ult" else WORD[1]):
        exchanged, opposite, y = False, not opposite, draft.const(known + 1)
    if exchanged:
        x, y = y, x
    if order == "eq":
        if draft.value_of(x) == 0:
            x, y = y, x
        return Flag("zero", x if draft.value_of(y) == 0 else draft.add("xor", x, y), opposite)
    return Flag("sign", _difference(draft, x, y, signed=order == "lt"), opposite)


def _difference(draft: LoweredDraft, x: Ref, y: Ref, *, signed: bool) -> Ref:
    """A value that is negative exactly where x is less than y."""
    if signed and draft.value_of(y) == 0:
        return x
    difference = draft.add("sub", x, y)
    if _fits(draft.dfg, draft, x, y, signed=signed):
        return difference
    # Negative where the signs differ and x is less.
    answer = x if signed else y
    left, right = draft.value_of(x), draft.value_of(y)
    known = right if right is not None else left
    if known is None:
        return choose(draft, Flag("sign", draft.add("xor", x, y)), answer, difference)
    other = x if right is not None else y
    # Signs differ where the other operand has not the sign of the known one.
    return choose(draft, Flag("sign", other, opposite=known < 0), answer, difference)


def choose(draft: LoweredDraft, flag: Flag, then: Ref, otherwise: Ref, id: str | None = None) -> Ref:
    """Return ``then`` where a flag is set, else ``otherwise``. What a register keeps has no flag: it is moved."""
    first, second = (otherwise, then) if flag.opposite else (then, otherwise)
    source = draft.nodes.get(flag.ref.source)
    timeless = source is not None and source.op in ("const", "livein")
    ref = draft.add("move", flag.ref) if timeless else flag.ref
    return draft.add(f"select_{flag.kind}", first, second, ref, id=id)


def as_value(draft: LoweredDraft, flag: Flag, id: str) -> Ref:
    """Return 1 where a flag is set, else 0."""
    if flag.kind == "sign" and not flag.opposite:
        return draft.add("lshr", flag.ref, draft.const(31), id=id)
    return choose(draft, flag, draft.const(1), draft.const(0), id=id)


def _fits(dfg: Dfg, draft: LoweredDraft, x: Ref, y: Ref, *, signed: bool) -> bool:
    """Whether the difference of two values stays in the word, by what is known of them."""
    (low, high), (least, most) = (_bounds(dfg, draft, ref, 8) for ref in (x, y))
    if not signed and (low < 0 or least < 0):
        return False
    return WORD[0] <= low - most and high - least <= WORD[1]


def _bounds(dfg: Dfg, draft: LoweredDraft, ref: Ref, depth: int) -> tuple[int, int]:
    """The least and the greatest number that a value can be; ``depth`` bounds the nodes looked at."""
    known = draft.value_of(ref)
    if known is not None:
        return known, known
    if ref.source not in dfg.index or depth == 0:
        return WORD
    if ref.distance:
        early = ref.initial + (0,) * (ref.distance - len(ref.initial))
        numbers = [value for value in early if isinstance(value, int)]
        low, high = _bounds(dfg, draft, Ref(ref.source), depth - 1)
        return (min(low, *numbers), max(high, *numbers)) if len(numbers) == ref.distance else WORD
    node = dfg.node(ref.source)
    rows = [dfg.edges[e] for e in dfg.operand_edges(node.id)]
    parts = [_bounds(dfg, draft, Ref(row.source, row.distance, row.initial), depth - 1) for row in rows]
    constants = [int(dfg.node(row.source).value or 0) if dfg.node(row.source).op == "const" else None for row in rows]
    last = constants[-1] if constants else None
    found = {"zext8": (0, 255), "zext16": (0, 65535), "sext8": (-128, 127), "sext16": (-32768, 32767)}.get(node.op)
    if found is None and node.op in COMPARISONS:
        found = (0, 1)
    elif node.op == "const":
        found = (int(node.value or 0),) * 2
    elif node.op == "and" and last is not None and last >= 0:
        found = (0, last)
    elif node.op == "lshr" and last is not None and last & 31:
        found = (0, (1 << (32 - (last & 31))) - 1)
    elif node.op == "shr" and last is not None:
        found = (parts[0][0] >> (last & 31), parts[0][1] >> (last & 31))
    elif node.op in ("add", "sub"):
        (a, b), (c, d) = parts
        found = (a + c, b + d) if node.op == "add" else (a - d, b - c)
    elif node.op in ("min", "max"):
        pick = min if node.op == "min" else max
        found = (pick(a for a, _ in parts), pick(b for _, b in parts))
    elif node.op == "select":
        found = (min(a for a, _ in parts[1:]), max(b for _, b in parts[1:]))
    if found is None or found[0] < WORD[0] or found[1] > WORD[1]:
        found = dfg.ranges.get(node.id, WORD)
    return found
