"""The inner loop of a flattened nest as a counter that comes round, without a recurrence longer than its distance.

``k = fresh ? 0 : k + 1; fresh = k == n`` takes three operations to come round in every iteration, so that the II is 3
whatever the array. An inner loop whose number of iterations ``n`` no iteration of the nest changes turns like a clock:
``k`` is what it was two iterations ago plus 2, less ``n`` where that is too much. Sum, difference and comparison read
that value side by side and a select joins them: two operations over a distance of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gridloom.compiler.analysis.evolution import Evolution
from gridloom.compiler.c.region import LoopRegion, single, trip_parts
from gridloom.compiler.ir.ir import Constant, Instruction, IrParameter, Value
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.operations import FALSE, TRUE, Const, LiveIn, Operand, OperationResult
from gridloom.compiler.loops.prologue import Prologue
from gridloom.compiler.loops.rows import NestRows
from gridloom.errors import SourceError


@dataclass(frozen=True, slots=True)
class Turn:
    """How far the inner loop is: 0 in its first iteration, ``length`` - 1 in its last."""

    count: Operand
    fresh: Operand
    #: The inner loop's region of its own, for what moves by a fixed step in it.
    inner: LoopRegion
    #: Its iterations: a constant, or a live-in that is computed before the nest.
    length: Operand = TRUE

    def step(self, phi: Instruction) -> int | None:
        """What an iteration of the inner loop adds to a phi of its header; None where that is not fixed."""
        return Evolution(self.inner.loop).step_of(phi)


def turn_of(
    region: LoopRegion, body: Body, prologue: Prologue, livein: dict[Value, LiveIn], file: str, entered: Operand,
    *, turns: int = 0,
) -> Turn | None:  # fmt: skip
    """The counter of a nest's inner loop; None where its number of iterations changes or is not known when it starts.

    ``entered`` says whether the inner loop is entered, in every iteration of the outer one or in none. ``livein`` holds
    the live-ins of values from before the nest. The inner loop is known to run at least ``turns`` times, and fewer than
    2**31 times; 0 where nothing is known.
    """
    assert region.inner is not None
    try:
        inner = single(region.inner, file)
    except SourceError:
        return None
    if inner.exiting != region.inner.latches[0]:
        return None
    length = _length(inner, prologue, livein, entered)
    if length is None:
        return None
    if length == TRUE:
        return Turn(FALSE, TRUE, inner)
    long = turns > 1 and entered == TRUE
    count = _long_counter(body, prologue, length, turns) if long else _counter(body, prologue, length)
    return Turn(count, body.emit("eq", count, FALSE, hint="fresh"), inner, length)


def rows_of(turn: Turn, counters: Mapping[str, int]) -> NestRows | None:
    """The rows of a nest whose inner loop is counted; ``counters`` of the outer loop with what it adds to them."""
    if not isinstance(turn.count, OperationResult) or not isinstance(turn.length, Const | LiveIn):
        return None
    return NestRows(turn.count, turn.length, counters)


def _length(inner: LoopRegion, prologue: Prologue, livein: dict[Value, LiveIn], entered: Operand) -> Operand | None:
    """The inner loop's number of iterations: a constant, or a live-in that is computed before the nest."""
    parts = trip_parts(inner)
    if parts is None:
        return None
    if parts.constant is not None:
        return Const(parts.constant) if parts.constant < 1 << 31 else None
    if not parts.exact or abs(parts.step) != 1 or not parts.is_word:
        return None
    ends: list[Operand] = []
    for value in (parts.start, parts.bound):
        if isinstance(value, Constant):
            ends.append(Const(value.value))
        elif value in livein:
            ends.append(livein[value])
        else:
            return None
    low, high = ends if parts.step > 0 else reversed(ends)
    distance = prologue.emit("sub", high, low, hint="turn")
    length = prologue.emit("add", distance, Const(parts.extra), hint="turn")
    # A loop that is not entered has no length; its counter is not read then, but has to be one.
    return length if entered == TRUE else prologue.emit("max", length, TRUE, hint="turn")


def outside(region: LoopRegion) -> list[IrParameter | Instruction]:
    """The values from before a nest that its inner loop's bounds may be."""
    assert region.inner is not None
    items = [item for name in region.inner.blocks for item in region.blocks[name].instructions]
    used = [operand for item in items for operand in item.operands]
    return [v for v in used if isinstance(v, IrParameter | Instruction) and v.type == "i32" and not region.contains(v)]


def _counter(body: Body, prologue: Prologue, length: Operand) -> Operand:
    """The counter: what it was two iterations ago plus 2, modulo its length."""
    if isinstance(length, Const):
        ahead: Operand = Const(2 % length.value)
        before: Operand = Const(-2 % length.value)
        last: Operand = Const(length.value - 1)
    else:
        ahead = prologue.emit("urem", Const(2), length, hint="turn_by")
        before = prologue.emit("max", prologue.emit("sub", length, Const(2)), FALSE, hint="turn_before")
        last = prologue.emit("sub", length, TRUE, hint="turn_last")
    one = body.recur("turn", _start(last))
    two = body.recur("turn_before", _start(before))
    body.carried[two.name].next = one
    onward = body.emit("add", two, ahead, hint="turn")
    around = body.emit("add", two, prologue.emit("sub", ahead, length, hint="turn_back"), hint="turn")
    wraps = body.emit("ge", two, prologue.emit("sub", length, ahead, hint="turn_limit"), hint="wraps")
    count = body.select(wraps, around, onward, "turn")
    body.carried[one.name].next = count
    return count


def _long_counter(body: Body, prologue: Prologue, length: Operand, turns: int) -> Operand:
    """The counter of an inner loop that is known to run at least ``turns`` times, at least twice.

    It needs one live-in and no comparison: less than 0 is more than any length where words have no sign.
    """
    one = body.recur("turn", -1)
    two = body.recur("turn_before", -2)
    body.carried[two.name].next = one
    back = prologue.emit("sub", Const(2), length, hint="turn_back")
    body.ranges.setdefault(back, (-(1 << 31), 2 - turns))
    around, onward = body.emit("add", two, back, hint="turn"), body.emit("add", two, Const(2), hint="turn")
    count = body.emit("umin", around, onward, hint="turn")
    body.ranges[count] = (0, length.value - 1 if isinstance(length, Const) else (1 << 31) - 1)
    body.carried[one.name].next = count
    return count


def _start(operand: Operand) -> int | LiveIn:
    """What a carried value starts from."""
    assert isinstance(operand, Const | LiveIn)
    return operand.value if isinstance(operand, Const) else operand
