"""The loop with less work in each iteration: loads used again, indices as counters, fixed values from before the loop.

What is taken out of the loop is the body's prologue, which whoever starts the loop computes
(:func:`gridloom.compiler.loops.prologue.prologue_values`). Nothing changes what the loop computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridloom.compiler.loops.affine import Lines
from gridloom.compiler.loops.operations import Operand, OperationResult
from gridloom.compiler.loops.prologue import Prologue
from gridloom.compiler.loops.reassociate import shorten
from gridloom.compiler.loops.reuse import reuse_loads, substitute
from gridloom.compiler.loops.strength import reduce_strength

if TYPE_CHECKING:
    from gridloom.compiler.loops.body import Body


def reduce(body: Body) -> None:
    """Change a body in place, before its graph is built. Costs a few walks over its operations."""
    shorten(body)
    prologue = Prologue(body)
    reuse_loads(body, prologue)
    reduce_strength(body, prologue)
    hoist(body, prologue)


def hoist(body: Body, prologue: Prologue) -> None:
    """Take out of the loop what every iteration would compute alike."""
    lines = Lines(body)
    alive = body.needed()
    changed: dict[Operand, Operand] = {}
    readers = [
        made.operands
        for id_, made in body.operations.items()
        if id_ in alive and not lines.is_fixed(OperationResult(id_))
    ]
    readers.append(tuple(body.liveouts.values()))
    readers += [(recurrence.next,) for recurrence in body.carried.values() if recurrence.next is not None]
    for operands in readers:
        for operand in operands:
            if isinstance(operand, OperationResult) and operand not in changed and lines.is_fixed(operand):
                changed[operand] = prologue.hoisted(operand)
    substitute(body, changed)
