"""Two loops of a nest exchanged: the outer one runs inside, once for each iteration of the inner one.

The nest is rewritten as records of the IR, so that what follows is the translation of one loop. Its blocks are copied
without the inner loop's branch back, and a counter of the inner loop becomes what it starts from plus its step times
``turn``, a parameter that says which iteration of the inner loop is meant. A launch then runs all iterations of the
outer loop for one ``turn``; launches for 0, 1, ... up to the inner loop's number of iterations are the nest.

A value that the inner loop carries otherwise, such as a sum, has to be stored as it is: it is then read from where the
iteration before left it (:mod:`gridloom.compiler.c.nest.kept`).

That is legal where the nest holds nothing else but what depends on the outer loop alone, where the inner loop runs
equally often each time, and where no two accesses would meet in the opposite order
(:func:`gridloom.compiler.analysis.dependence.may_cross`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gridloom.compiler.analysis.dependence import may_cross
from gridloom.compiler.analysis.evolution import Evolution
from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.arrays import Access, find_accesses
from gridloom.compiler.c.dependences import accesses_overlap, axis_of
from gridloom.compiler.c.nest.kept import Kept, kept_values, read_again
from gridloom.compiler.c.region import LoopRegion, Trip, at, flatten_nest, single, trip_parts
from gridloom.compiler.c.wide_integers.elements import word_accesses
from gridloom.compiler.ir.ir import BasicBlock, Constant, Function, Instruction, IrModule, IrParameter, Value
from gridloom.compiler.ir.layout import DataLayout
from gridloom.errors import SourceError

#: The live-in that says which iteration of the inner loop a launch is for.
TURN: Final = "turn"


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A nest whose outer loop runs inside: its region, and what decides the iterations of both loops."""

    region: LoopRegion
    #: The parameter that stands for :data:`TURN`.
    turn: IrParameter
    #: Of the loop that runs inside now, which was the outer one; None where that is not known simply.
    inside: Trip | None
    #: Of the loop that runs outside now.
    around: Trip

    @property
    def lengths(self) -> tuple[int | None, int | None]:
        """Iterations of the loop that runs inside now, and of the one around it; None where they are no numbers."""
        return _number(self.inside), _number(self.around)


def interchange_nest(module: IrModule, loop: NaturalLoop, file: str) -> Exchanged:
    """The nest of a loop and the one loop inside it, exchanged. SourceError with the reason where that is not legal.

    Costs a copy of the nest's blocks, and a comparison of every store with every other access.
    """
    whole = flatten_nest(loop, file)
    try:
        return _exchanged(module, whole, file)
    except SourceError as error:
        raise error if error.where else error.at(at(loop, file)) from None


def _exchanged(module: IrModule, whole: LoopRegion, file: str) -> Exchanged:
    """:func:`interchange_nest` for the region of the nest; errors have no place."""
    loop, inner = whole.loop, whole.inner
    assert inner is not None
    alone = single(inner, file)
    around = trip_parts(alone)
    if around is None or loop.contains(around.start) or loop.contains(around.bound):
        raise SourceError("interchange takes an inner loop that runs equally often in every iteration of the outer one")
    if alone.exiting != inner.latches[0] or not (whole.is_covered({inner.header}) or _is_fixed(whole)):
        raise SourceError("interchange takes an inner loop that the outer one always enters")
    counters = {phi: step for phi in inner.phis if (step := _step(module, alone, phi)) is not None}
    kept = kept_values(whole, [phi for phi in inner.phis if phi not in counters])
    _refuse_rest(loop, inner, kept)
    turn = IrParameter(TURN, "i32")
    copy = _Copy(loop, alone, turn, counters, kept)
    region = single(copy.loop, file)
    found = Exchanged(region, turn, trip_parts(region), around)
    _refuse_crossings(module, found, copy, file)
    return found


def _number(trip: Trip | None) -> int | None:
    """How often a loop runs, where its ends are numbers."""
    return None if trip is None else trip.constant


def _is_fixed(whole: LoopRegion) -> bool:
    """True where nothing that the nest computes decides whether an iteration enters the inner loop."""
    assert whole.inner is not None
    own = [block for name, block in whole.blocks.items() if name not in whole.inner.blocks and name != whole.exiting]
    asked = [value for block in own for value in block.terminator.operands]
    asked = [part for value in asked for part in (value.operands if isinstance(value, Instruction) else [value])]
    return not any(whole.contains(value) for value in asked)


def _step(module: IrModule, alone: LoopRegion, phi: Instruction) -> int | None:
    """What an iteration of the inner loop adds to a phi, a pointer in bytes; None where it is no counter."""
    if alone.initial(phi) is None:
        return None
    evolution = Evolution(alone.loop, DataLayout(module.structs))
    return evolution.step_of(phi) if phi.type in ("i32", "ptr") else None


def _pointers(module: IrModule, region: LoopRegion, file: str) -> Pointers:
    """The pointers of a region."""
    return Pointers(
        DataLayout(module.structs), region.contains, region.initial, region.following,
        lambda phi: region.owner(phi) is not None, lambda item: f"{file}:{item.line}",
    )  # fmt: skip


def _refuse_rest(loop: NaturalLoop, inner: NaturalLoop, kept: Iterable[Kept]) -> None:
    """SourceError where the nest does more than run its inner loop, or leaves values behind."""
    blocks = loop.function.blocks
    stores = {item.store for item in kept}
    own = [item for name in loop.blocks if name not in inner.blocks for item in blocks[name].instructions]
    if any(item.opcode == "store" and item not in stores for item in own):
        raise SourceError("interchange takes a loop that stores nothing besides what its inner loop leaves")
    if calls := [i for i in own if i.opcode == "call" and not i.callee.startswith("llvm.")]:
        raise SourceError(f"the outer loop calls {calls[0].callee!r}, which may do more than compute")
    left = {item for item in own if item.opcode == "phi" and item.block != loop.header}
    if any(inner.contains(o) for item in own if item not in stores | left for o in item.operands):
        raise SourceError("interchange takes an inner loop that leaves nothing but what is stored")
    if any(o in left for item in own if item not in stores for o in item.operands):
        raise SourceError("interchange takes an inner loop that leaves nothing but what is stored")
    after = [item for name, block in blocks.items() if name not in loop.blocks for item in block.instructions]
    if any(loop.contains(operand) for item in after for operand in item.operands):
        raise SourceError("a value of the nest is used after it; interchange takes one that only stores")


class _Copy:
    """The outer loop with one iteration of its inner loop in it, the one that ``turn`` says.

    ``loop`` is the copy, ``own`` are the accesses that stand for values which the inner loop carried.
    """

    def __init__(
        self,
        loop: NaturalLoop,
        alone: LoopRegion,
        turn: IrParameter,
        counters: dict[Instruction, int],
        kept: Iterable[Kept],
    ) -> None:
        inner = alone.loop
        self.inside = set(inner.blocks)
        copies: dict[Value, Value] = {item: replace(item) for item in loop.instructions}
        made: list[Instruction] = []
        for phi, step in counters.items():
            items = _counted(alone, phi, step, turn)
            made += items
            copies[phi] = items[-1]
        self.own: set[Instruction] = set()
        for item in kept:
            items = read_again(item, turn, loop)
            made += items
            copies[item.phi] = items[-1]
            loaded = [i for i in items if i.opcode == "load"]
            originals = (item.store, *([item.before] if item.before is not None else []))
            self.own |= {*loaded, *(c for o in originals if isinstance(c := copies[o], Instruction))}
        blocks = dict(loop.function.blocks)
        for name in loop.blocks:
            listed = [copies[i] for i in blocks[name].instructions if not (name == inner.header and i in inner.phis)]
            kept_items = [i for i in listed if isinstance(i, Instruction)]
            blocks[name] = BasicBlock(name, [*(made if name == inner.header else ()), *kept_items])
        for name in loop.blocks:
            for copied in blocks[name].instructions:
                copied.operands = [copies.get(operand, operand) for operand in copied.operands]
        _straighten(blocks[inner.latches[0]], inner)
        function = Function(loop.function.name, loop.function.line, loop.function.arguments, blocks)
        self.loop = NaturalLoop(function, loop.header, list(loop.blocks), list(loop.latches), loop.span)


def _counted(alone: LoopRegion, phi: Instruction, step: int, turn: IrParameter) -> list[Instruction]:
    """Instructions for what a counter of the inner loop holds in the iteration that ``turn`` says; the last is it."""
    first = alone.initial(phi)
    assert first is not None
    moved = Instruction(f"{phi.name}.moved", "i32", "mul", phi.text, phi.block, phi.line)
    moved.operands = [turn, Constant("i32", step)]
    opcode = "getelementptr" if phi.type == "ptr" else "add"
    value = Instruction(phi.name, phi.type, opcode, phi.text, phi.block, phi.line, variable=phi.variable)
    value.operands = [first, turn if step == 1 else moved]
    value.source_type = "i8" if phi.type == "ptr" else ""
    return [value] if step == 1 else [moved, value]


def _straighten(latch: BasicBlock, inner: NaturalLoop) -> None:
    """Let the inner loop's last block go on instead of back."""
    branch = latch.terminator
    onward = next(target for target in branch.targets if target != inner.header)
    branch.opcode, branch.operands, branch.targets = "br", [], [onward]


def _refuse_crossings(module: IrModule, found: Exchanged, copy: _Copy, file: str) -> None:
    """SourceError for two accesses that would meet in the opposite order."""
    pointers = _pointers(module, found.region, file)
    halves = word_accesses(found.region.instructions)
    items = [half for item in found.region.instructions for half in halves.get(item, (item,))]
    accesses = find_accesses(items, pointers, lambda item: f"{file}:{item.line}")
    own = {half for item in copy.own for half in halves.get(item, (item,))}
    loop, layout = found.region.loop, pointers.layout
    levels = [(Evolution(loop, layout), found.inside), (Evolution(loop, layout, found.turn), found.around)]
    for k, first in enumerate(accesses):
        for second in accesses[k:]:
            if not (first.is_store or second.is_store):
                continue
            pair = (first.item, second.item)
            # What stands around the inner loop happens once for each of its iterations now, and what stands for a value
            # that the inner loop carried has to be the only one there: neither may meet the other in any order.
            strict = any(item.block not in copy.inside and item not in own for item in pair)
            strict |= (first.item in own) != (second.item in own)
            if accesses_overlap(first, second) and (strict or may_exchange_places(first, second, levels)):
                raise SourceError(_conflict(first, second))


def may_exchange_places(first: Access, second: Access, levels: Sequence[tuple[Evolution, Trip | None]]) -> bool:
    """Whether two accesses may meet in an order that an exchange of the loops, outer and inner, turns round."""
    if first.address.base is not second.address.base:
        return True
    steps = [evolution.moves(first.place) for evolution, _ in levels]
    if None in steps:
        return True
    outer, inner = (axis_of(step, trip) for step, (_, trip) in zip(steps, levels) if step is not None)
    return may_cross(second.place.minus(first.place), max(first.size, second.size) - 1, outer, inner)


def _conflict(first: Access, second: Access) -> str:
    """What keeps two accesses from being exchanged."""
    if first.address.base is not second.address.base:
        return (
            f"{first.address.base.name} and {second.address.base.name} may overlap; 'restrict' on one of them says not"
        )
    lines = " and ".join(dict.fromkeys(str(access.item.line) for access in (first, second)))
    return f"the accesses in line {lines} may meet in the opposite order when the loops are exchanged"
