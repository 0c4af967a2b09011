"""Shorter recurrences: ``s + a + b + c`` becomes ``s + (a + b + c)``, so that a sum comes round in one op.

Words wrap around, so that sums, products, minima and bitwise ops of them may be taken in any order; singles round
each and stay as they are written. Only chains whose inner values nothing else reads are changed.

The length of a recurrence bounds the II from below (RecMII), which no mapper can undo: a sum of three terms per
iteration would need an II of 3. The tree beside the recurrence costs as many ops and can be pipelined.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from gridloom.compiler.loops.operations import CarriedValue, LoopOperation, Operand, OperationResult

if TYPE_CHECKING:
    from gridloom.compiler.loops.body import Body

_FREE: Final = frozenset({"add", "mul", "and", "or", "xor", "min", "max", "umin", "umax"})


def shorten(body: Body) -> None:
    """Rewrite every carried value that is a chain of one op over itself. Linear in operations times carried values."""
    for name, recurrence in body.carried.items():
        if not isinstance(recurrence.next, OperationResult):
            continue
        leads = _leads(body, CarriedValue(name))
        links = _links(body, recurrence.next.id, leads)
        # A single op is as short as a recurrence can be.
        if len(links) > 1:
            _rewrite(body, recurrence.next.id, links, leads)


def _uses(body: Body) -> Counter[Operand]:
    """How often each operand is read."""
    uses: Counter[Operand] = Counter()
    for made in body.operations.values():
        uses.update(made.operands)
    uses.update(recurrence.next for recurrence in body.carried.values() if recurrence.next is not None)
    uses.update(body.liveouts.values())
    return uses


def _family(op: str) -> str:
    """The op whose order may be changed; a difference counts as a sum."""
    return "add" if op == "sub" else op


def _leads(body: Body, carried: Operand) -> dict[str, int]:
    """Operation -> the operand that depends on the carried value, for sums and the like with one such operand.

    Operations come in order of definition, so inner ones are known before outer ones. An operation whose both operands
    depend on it (``s + s``) is no link of a chain; neither is ``a - s``, in which the sign changes.
    """
    leads: dict[str, int] = {}
    depends: set[Operand] = {carried}
    for id_, made in body.operations.items():
        sides = [k for k, operand in enumerate(made.operands) if operand in depends]
        if sides:
            depends.add(OperationResult(id_))
        if _family(made.op) in _FREE and (sides == [0] or (sides == [1] and made.op != "sub")):
            leads[id_] = sides[0]
    return leads


def _links(body: Body, id_: str, leads: dict[str, int]) -> list[str]:
    """The operations of a chain of one op, the last one first: the others have no reader but the next."""
    uses = _uses(body)
    links: list[str] = []
    family = _family(body.operations[id_].op)
    while (
        id_ in leads and _family(body.operations[id_].op) == family and (not links or uses[OperationResult(id_)] == 1)
    ):
        links.append(id_)
        inner = body.operations[id_].operands[leads[id_]]
        if not isinstance(inner, OperationResult):
            break
        id_ = inner.id
    return links


def _rewrite(body: Body, last: str, links: list[str], leads: dict[str, int]) -> None:
    """Replace the last operation of a chain by one op over what depends on the carried value and a tree of the rest."""
    first = body.operations[links[-1]]
    carried = first.operands[leads[links[-1]]]
    added: list[Operand] = []
    taken: list[Operand] = []
    for id_ in reversed(links):
        made = body.operations[id_]
        (taken if made.op == "sub" else added).append(made.operands[1 - leads[id_]])
    end = body.operations[last]
    op = _family(end.op)
    body.line = end.line
    if not added:
        body.operations[last] = LoopOperation("sub", (carried, _balanced(body, "add", taken)), line=end.line)
        return
    total = _balanced(body, op, added)
    if taken:
        total = body.emit("sub", total, _balanced(body, "add", taken))
    body.operations[last] = LoopOperation(op, (carried, total), line=end.line)


def _balanced(body: Body, op: str, operands: list[Operand]) -> Operand:
    """All operands under one op, as a tree of least depth."""
    while len(operands) > 1:
        pairs = [operands[k : k + 2] for k in range(0, len(operands), 2)]
        operands = [body.emit(op, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return operands[0]
