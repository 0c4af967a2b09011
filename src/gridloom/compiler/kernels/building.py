"""Building blocks of kernel graphs: carried operands, induction variables, loop nests, reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridloom.dfg.model import DfgBuilder


@dataclass(frozen=True, slots=True)
class Past:
    """An operand that is a node's value of ``distance`` iterations ago; the node may be added later."""

    source: str
    distance: int
    initial: tuple[int, ...] = ()


def previous(source: str, initial: int = 0) -> Past:
    """The value that a node had in the previous iteration; ``initial`` in the first one."""
    return Past(source, 1, (initial,))


def connect(b: DfgBuilder, op: str, *operands: str | int | Past, id: str | None = None, **attributes: Any) -> str:
    """Add a node; a number is a constant operand, a :class:`Past` a loop-carried one. Returns the node's id.

    It differs from ``b.add`` in that operands may be constants or values of earlier iterations. Equal constants share
    one node. A past operand may name a node that is added later.
    """
    ready = [b.const(operand) if isinstance(operand, int) else operand for operand in operands]
    name = b.add(op, id=id, **attributes)
    for k, operand in enumerate(ready):
        if isinstance(operand, Past):
            b.carry(operand.source, name, operand=k, distance=operand.distance, initial=operand.initial)
        else:
            # Same edge as any other, with no distance: DfgBuilder.add only numbers operands that are all plain.
            b.carry(operand, name, operand=k, distance=0)
    return name


def sink(b: DfgBuilder, op: str, *operands: str | int | Past, id: str) -> str:
    """Add a node that is a result itself: nothing reads it, and its last value is a live-out under its id."""
    return connect(b, op, *operands, id=id, liveout=id)


def arrays(b: DfgBuilder, **lengths: int) -> None:
    """Declare arrays, each with its number of words."""
    for name, length in lengths.items():
        b.array(name, length)


def counter(b: DfgBuilder, *, start: int = 0, step: int = 1, id: str = "i") -> str:
    """An induction variable: ``start`` in the first iteration, ``step`` more in each one after."""
    return connect(b, "add", previous(id, start - step), step, id=id)


def nest(b: DfgBuilder, extents: Mapping[str, int]) -> tuple[str, ...]:
    """The induction variables of a perfect loop nest, outermost first, flattened into one loop.

    Each variable wraps at its extent. The innermost one is an add, a compare and a select on a recurrence; each outer
    one adds the wrap of the next inner one.
    """
    indices: list[str] = []
    carry: str | int = 1
    for position, (name, extent) in enumerate(reversed(list(extents.items()))):
        following = connect(b, "add", previous(name, -1 if position == 0 else 0), carry, id=f"{name}_next")
        wraps = connect(b, "eq", following, extent, id=f"{name}_wraps")
        indices.append(connect(b, "select", wraps, 0, following, id=name))
        carry = wraps
    return tuple(reversed(indices))


def restarted_sum(b: DfgBuilder, first: str, start: str | int, term: str, id: str) -> str:
    """A running sum of ``term`` that begins anew from ``start`` in iterations where ``first`` holds."""
    return b.add("add", connect(b, "select", first, start, previous(id)), term, id=id)


def reduce_tree(b: DfgBuilder, op: str, values: Sequence[str], *, registers: bool = False, **last: Any) -> str:
    """Reduce values pairwise, level by level; ``last`` are attributes of the root. Returns the root.

    With ``registers`` the odd value of a level passes a move, so that all paths are equally long. Without, the odd one
    is the last of a level and the first of the next in turn, so that none waits for more than one level.
    """
    level, take_first = list(values), False
    while len(level) > 1:
        odd = len(level) % 2 == 1
        waiting = level.pop(0 if take_first else -1) if odd else None
        pairs = [(level[k], level[k + 1]) for k in range(0, len(level), 2)]
        final = len(pairs) == 1 and not odd
        level = [connect(b, op, x, y, **(last if final else {})) for x, y in pairs]
        if waiting is not None and registers:
            level.append(b.add("move", waiting))
        elif waiting is not None:
            level.insert(0 if take_first else len(level), waiting)
            take_first = not take_first
    return level[0]


def weighted_sum(b: DfgBuilder, values: Sequence[str], factors: Sequence[int]) -> str:
    """The sum of values times constant factors: one multiplier for each, then an adder tree."""
    products = [connect(b, "mul", value, factor) for value, factor in zip(values, factors, strict=True)]
    return reduce_tree(b, "add", products)
