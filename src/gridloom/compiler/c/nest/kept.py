"""Values that an inner loop carries from one iteration to the next and leaves in memory, such as sums.

When the loops of a nest are exchanged, each iteration of the inner loop is in a launch of its own, and such a value has
to be read from where the iteration before it left it. That is possible where it is stored as it is, in every iteration
of the outer loop, to a place that the inner loop does not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.region import LoopRegion
from gridloom.compiler.ir.ir import Constant, Instruction, IrParameter, Value
from gridloom.errors import SourceError

#: What addresses are computed with: it may be computed again elsewhere.
_PURE = frozenset({"getelementptr", "add", "sub", "mul", "shl", "or", "sext", "zext", "trunc", "and"})


@dataclass(frozen=True, eq=False)
class Kept:
    """A value that the inner loop carries in ``phi``, from ``first`` on, and that ``store`` leaves in memory."""

    phi: Instruction
    first: Value
    store: Instruction
    #: The load that ``first`` is, of the same place and for nothing else; None where it is something else.
    before: Instruction | None


def kept_values(whole: LoopRegion, phis: Sequence[Instruction]) -> list[Kept]:
    """The phis of a nest's inner loop with the stores that leave them. SourceError for one that is not stored."""
    return [_kept(whole, phi) for phi in phis]


def _kept(whole: LoopRegion, phi: Instruction) -> Kept:
    """The store that leaves a phi."""
    inner = whole.inner
    assert inner is not None
    first, following = whole.initial(phi), whole.following(phi)
    items = whole.instructions
    # The value after the inner loop goes through phis with one operand.
    same: set[Value] = {following}
    for item in items:
        if item.opcode == "phi" and item.block not in inner.blocks and all(o in same for o in item.operands):
            same.add(item)
    for store in items:
        if store.opcode != "store" or store.operands[0] not in same or store.operands[0].type != phi.type:
            continue
        if first is not None and _always(whole, store.block) and _is_fixed(whole, store.operands[1]):
            return Kept(phi, first, store, _load_of(whole, first, store.operands[1]))
    raise SourceError(
        "interchange takes an inner loop whose sums are stored as they are, and that carries nothing else"
    )


def _always(whole: LoopRegion, name: str) -> bool:
    """True for a block that runs whenever the inner loop does."""
    inner = whole.inner
    assert inner is not None
    return whole.is_covered({name}, inner.header if name in inner.blocks else inner.latches[0])


def _is_fixed(whole: LoopRegion, value: Value) -> bool:
    """True for an address that the inner loop does not move, and that may be computed again before it."""
    if not isinstance(value, Instruction) or not whole.contains(value):
        return True
    if whole.owner(value) is not None:
        return whole.owner(value) is whole.loop
    return value.opcode in _PURE and all(_is_fixed(whole, operand) for operand in value.operands)


def _load_of(whole: LoopRegion, first: Value, place: Value) -> Instruction | None:
    """The value as a load of a place that nothing else reads."""
    if not (isinstance(first, Instruction) and first.opcode == "load" and whole.contains(first)):
        return None
    users = [item for item in whole.instructions for operand in item.operands if operand is first]
    return first if first.operands[0] is place and len(users) == 1 else None


def read_again(kept: Kept, turn: IrParameter, loop: NaturalLoop) -> list[Instruction]:
    """Instructions for what a value is when an iteration of the inner loop begins; the last is the value.

    In the inner loop's first iteration that is what it starts from, in all others what is in memory.
    """
    phi = kept.phi
    if kept.before is not None:
        return [_made(kept, "load", phi.type, [kept.before.operands[0]])]
    items: list[Instruction] = []
    place = _again(kept.store.operands[1], phi.block, loop, items)
    items.append(_made(kept, "load", phi.type, [place]))
    items.append(_made(kept, "icmp", "i1", [turn, Constant("i32", 0)]))
    items[-1].predicate = "eq"
    items.append(_made(kept, "select", phi.type, [items[-1], kept.first, items[-2]]))
    return items


def _made(kept: Kept, opcode: str, kind: str, operands: list[Value]) -> Instruction:
    """A new instruction at the head of the inner loop."""
    phi = kept.phi
    ending = {"load": "before", "icmp": "first"}.get(opcode, "kept")
    made = Instruction(f"{phi.name}.{ending}", kind, opcode, "", phi.block, phi.line, list(operands))
    if opcode == "load":
        made.access_type = kept.store.access_type
    return made


def _again(value: Value, block: str, loop: NaturalLoop, items: list[Instruction]) -> Value:
    """An address computed again in another block, since it may come after it; new instructions go to ``items``."""
    if not isinstance(value, Instruction) or not loop.contains(value) or value.opcode == "phi":
        return value
    copy = replace(value, name=f"{value.name}.again", block=block)
    copy.operands = [_again(operand, block, loop, items) for operand in value.operands]
    items.append(copy)
    return copy
