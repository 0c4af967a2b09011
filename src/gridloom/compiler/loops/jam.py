"""Unroll and jam: the same loop for several iterations of the loop around it, side by side in one body.

What does not depend on the outer loop is shared by the copies: the row of a matrix that several columns are multiplied
with is loaded once. Copy j reads the live-ins of outer iteration j, which are known before the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gridloom.compiler.loops.operations import (
    CarriedValue,
    Const,
    LiveIn,
    LoopOperation,
    Operand,
    OperationResult,
    Recurrence,
)
from gridloom.compiler.loops.prologue import Prologue

if TYPE_CHECKING:
    from gridloom.compiler.loops.body import Body


#: What an iteration moves a live-in by: a number, and live-ins with their factors.
Step = tuple[int, Mapping[LiveIn, int]]


def jam(body: Body, factor: int, moves: Mapping[str, Step]) -> None:
    """Put ``factor`` outer iterations into a body without stores, in place.

    ``moves`` says by how much an outer iteration moves each live-in that it moves. Live-out ``name`` of copy j is
    ``name_j``; that of the first one keeps its name. Linear in the operations times the factor.
    """
    prologue = Prologue(body)
    depends = _depending(body, moves)
    operations, carried, liveouts = dict(body.operations), dict(body.carried), dict(body.liveouts)
    for j in range(1, factor):
        changed: dict[Operand, Operand] = {}
        for name, step in moves.items():
            changed[LiveIn(name)] = _moved(prologue, LiveIn(name), step, j)
        for name, recurrence in carried.items():
            if CarriedValue(name) in depends:
                changed[CarriedValue(name)] = _copied(body, name, recurrence, changed)
        for id_ in operations:
            if OperationResult(id_) in depends:
                changed[OperationResult(id_)] = OperationResult(body.fresh(f"{id_}_{j}"))
                body.operations[changed[OperationResult(id_)].id] = operations[id_]  # type: ignore[union-attr]
        for id_, made in operations.items():
            copy = changed.get(OperationResult(id_))
            if isinstance(copy, OperationResult):
                read = tuple(changed.get(operand, operand) for operand in made.operands)
                body.operations[copy.id] = LoopOperation(made.op, read, made.array, made.variable, made.line)
                if OperationResult(id_) in body.ranges:
                    body.ranges[copy] = body.ranges[OperationResult(id_)]
        for name, recurrence in carried.items():
            copied = changed.get(CarriedValue(name))
            if isinstance(copied, CarriedValue) and recurrence.next is not None:
                body.carried[copied.name].next = changed.get(recurrence.next, recurrence.next)
        for name, operand in liveouts.items():
            body.liveouts[f"{name}_{j}"] = changed.get(operand, operand)


def _moved(prologue: Prologue, value: LiveIn, step: Step, times: int) -> Operand:
    """A live-in so many outer iterations later, computed before the loop."""
    found: Operand = value
    number, factors = step
    for fixed, factor in factors.items():
        product = prologue.emit("mul", fixed, Const(factor * times), hint=f"{value.name}_step")
        found = prologue.emit("add", found, product, hint=f"{value.name}_{times}")
    return prologue.emit("add", found, Const(number * times), hint=f"{value.name}_{times}") if number else found


def _copied(body: Body, name: str, recurrence: Recurrence, changed: Mapping[Operand, Operand]) -> CarriedValue:
    """A carried value of a copy, from its own start."""
    first = recurrence.initial
    if isinstance(first, int):
        return body.recur(name, first)
    start = changed.get(LiveIn(first), LiveIn(first))
    assert isinstance(start, LiveIn | Const)
    return body.recur(name, start if isinstance(start, LiveIn) else start.value)


def _depending(body: Body, moves: Mapping[str, Step]) -> set[Operand]:
    """Everything that differs between outer iterations."""
    depends: set[Operand] = {LiveIn(name) for name in moves}
    depends |= {
        CarriedValue(name) for name, r in body.carried.items() if isinstance(r.initial, str) and r.initial in moves
    }
    grown = True
    while grown:
        before = len(depends)
        depends |= {OperationResult(id_) for id_, made in body.operations.items() if depends & set(made.operands)}
        depends |= {CarriedValue(name) for name, r in body.carried.items() if r.next in depends}
        grown = len(depends) > before
    return depends
