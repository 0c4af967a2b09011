"""Loads that are needed once: what an earlier iteration or another branch has loaded is not loaded again.

``x[i]`` of this iteration is ``x[i + 3]`` of three iterations ago where nothing writes ``x``. The load that runs ahead
stays; the others read its value over a carried edge, whose first values are elements that are known before the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gridloom.compiler.loops.affine import AffineLine, LinearForm, Lines
from gridloom.compiler.loops.operations import CarriedValue, LiveIn, Operand, OperationResult
from gridloom.compiler.loops.prologue import Prologue

if TYPE_CHECKING:
    from gridloom.compiler.loops.body import Body

#: Iterations that a loaded value is kept at most; beyond that it costs more registers than the load it saves.
MAX_KEPT: Final = 16


def reuse_loads(body: Body, prologue: Prologue) -> None:
    """Replace loads by what another load of the body has brought. Linear in operations, for each array of few loads."""
    lines = Lines(body)
    groups: dict[tuple[str, int, int, tuple[tuple[Operand, int], ...]], list[tuple[int, str]]] = {}
    equal: dict[tuple[str, Operand], str] = {}
    same: dict[Operand, Operand] = {}
    alive = body.needed()
    for id_, made in body.operations.items():
        if id_ not in lines.undisturbed or id_ not in alive:
            continue
        first = equal.setdefault((made.array or "", made.operands[0]), id_)
        if first != id_:
            same[OperationResult(id_)] = OperationResult(first)
            continue
        line = lines.of(made.operands[0])
        if line is not None and line.step.number:
            start = line.start
            key = (made.array or "", line.step.constant, start.constant % line.step.constant, start.terms)
            groups.setdefault(key, []).append((start.constant, id_))
    substitute(body, same)
    for (_, step, _, _), rows in groups.items():
        if len(rows) > 1:
            _chain(body, prologue, lines, rows, step)


def _chain(body: Body, prologue: Prologue, lines: Lines, rows: list[tuple[int, str]], step: int) -> None:
    """Replace the loads of one array that follow another one, from the leader on.

    A load that is too far behind the leader leads those behind it.
    """
    ahead = sorted(rows, key=lambda row: row[0] if step < 0 else -row[0])
    leader: tuple[int, str] | None = None
    kept: list[Operand] = []
    changed: dict[Operand, Operand] = {}
    for constant, id_ in ahead:
        gap = abs(leader[0] - constant) if leader else 0
        distance = gap // abs(step)
        if leader is None or distance > MAX_KEPT:
            leader, kept = (constant, id_), [OperationResult(id_)]
        else:
            while len(kept) <= distance:
                kept.append(_delayed(body, prologue, lines, leader[1], kept))
            changed[OperationResult(id_)] = kept[distance]
    substitute(body, changed)


def _delayed(body: Body, prologue: Prologue, lines: Lines, leader: str, kept: list[Operand]) -> CarriedValue:
    """What the leader loaded one iteration before the last of ``kept``."""
    made = body.operations[leader]
    line = lines.of(made.operands[0])
    assert line is not None
    first = prologue.linear(line.start.plus(line.step, -len(kept)))
    element = prologue.element(made.array or "", first)
    assert isinstance(element, LiveIn)
    carried = body.recur(f"{made.array}_before", element)
    body.carried[carried.name].next = kept[-1]
    if kept[0] in body.ranges:
        body.ranges[carried] = body.ranges[kept[0]]
    return carried


def substitute(body: Body, changed: dict[Operand, Operand]) -> None:
    """Let every reader of some operands read others instead."""
    if not changed:
        return
    for made in body.operations.values():
        made.operands = tuple(changed.get(operand, operand) for operand in made.operands)
    for recurrence in body.carried.values():
        if recurrence.next is not None:
            recurrence.next = changed.get(recurrence.next, recurrence.next)
    for name, operand in body.liveouts.items():
        body.liveouts[name] = changed.get(operand, operand)


def line_of(lines: Lines, operand: Operand) -> AffineLine | None:
    """The line of an operand that moves; None for one that is fixed or of which nothing is known."""
    line = lines.of(operand)
    return line if line is not None and line.step != LinearForm() else None
