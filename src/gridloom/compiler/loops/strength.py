"""Strength reduction: an index that moves by a fixed amount is a counter of its own.

``base + 4 * i + row * width`` costs an addition or more for each term in every iteration. As a counter it costs one
addition of a constant; everything else is known before the loop and becomes the counter's start, which needs no
register either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridloom.compiler.loops.affine import AffineLine, LinearForm, Lines
from gridloom.compiler.loops.operations import CarriedValue, Const, LiveIn, Operand, OperationResult
from gridloom.compiler.loops.prologue import Prologue
from gridloom.compiler.loops.reuse import line_of, substitute

if TYPE_CHECKING:
    from gridloom.compiler.loops.body import Body


def reduce_strength(body: Body, prologue: Prologue) -> None:
    """Make every value that moves by a fixed amount a counter, one for each start and step. Linear in operations.

    A counter at ``a`` also gives ``a + step``, what it leaves for the next iteration.
    """
    lines = Lines(body)
    counters = {
        line: CarriedValue(name) for name in reversed(body.carried) if (line := line_of(lines, CarriedValue(name)))
    }
    wanted = _read(body, lines)
    changed: dict[Operand, Operand] = {}
    classes: dict[tuple[LinearForm, tuple[tuple[Operand, int], ...]], set[int]] = {}
    for line in wanted.values():
        classes.setdefault((line.step, line.start.terms), set()).add(line.start.constant)
    made: dict[AffineLine, Operand] = {}
    for (step, terms), starts in classes.items():
        # From the lowest start on (of a falling counter, the highest), so that a counter serves the next one, too.
        for constant in sorted(starts, reverse=(step.number or 0) < 0):
            line = AffineLine(LinearForm(constant, terms), step)
            if line not in made:
                carried = counters.get(line) or _counter(body, prologue, line, _hint(body, wanted, line))
                made[line] = carried
                following = body.carried[carried.name].next
                assert following is not None
                made[AffineLine(line.start.plus(step), step)] = following
    for operand, line in wanted.items():
        changed[operand] = made[line]
    own = {recurrence.next for recurrence in body.carried.values()}
    _substitute_readers(body, lines, {a: b for a, b in changed.items() if a != b}, own)


def _read(body: Body, lines: Lines) -> dict[Operand, AffineLine]:
    """The operands with lines that something without a line reads: accesses, comparisons, products, live-outs."""
    alive = body.needed()
    wanted: dict[Operand, AffineLine] = {}
    readers = [
        made.operands for id_, made in body.operations.items() if id_ in alive and not lines.of(OperationResult(id_))
    ]
    readers.append(tuple(body.liveouts.values()))
    readers += [
        (r.next,) for name, r in body.carried.items() if r.next is not None and not lines.of(CarriedValue(name))
    ]
    for operands in readers:
        for operand in operands:
            line = line_of(lines, operand)
            if line is not None:
                wanted[operand] = line
    return wanted


def _substitute_readers(body: Body, lines: Lines, changed: dict[Operand, Operand], own: set[Operand | None]) -> None:
    """Substitute everywhere but in counters, which go on counting by themselves."""
    counting = {operand.id for operand in own if isinstance(operand, OperationResult) and lines.of(operand)}
    kept = {id_: made.operands for id_, made in body.operations.items() if id_ in counting}
    following = {name: r.next for name, r in body.carried.items() if lines.of(CarriedValue(name))}
    substitute(body, changed)
    for id_, operands in kept.items():
        body.operations[id_].operands = operands
    for name, operand in following.items():
        body.carried[name].next = operand


def _hint(body: Body, wanted: dict[Operand, AffineLine], line: AffineLine) -> str:
    """The name of a value with that line: that of the variable, or of the array whose index it is."""
    operands = [operand for operand, own in wanted.items() if own == line]
    for made in body.operations.values():
        if made.array is not None and made.operands and made.operands[0] in operands:
            return f"{made.array}_index"
    named = operands[0] if operands else None
    return (
        named.id
        if isinstance(named, OperationResult)
        else named.name
        if isinstance(named, CarriedValue | LiveIn)
        else "count"
    )


def _counter(body: Body, prologue: Prologue, line: AffineLine, hint: str) -> CarriedValue:
    """A new counter with a start and a step that are known before the loop."""
    start = prologue.linear(line.start, f"{hint}_start")
    step = prologue.linear(line.step, f"{hint}_step")
    carried = body.recur(hint, start.value if isinstance(start, Const) else start)  # type: ignore[arg-type]
    body.carried[carried.name].next = body.emit("add", carried, step, hint=hint)
    return carried
