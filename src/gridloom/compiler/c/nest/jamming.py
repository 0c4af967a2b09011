"""Whether several iterations of the loop around an innermost one may run side by side, and what they differ in.

They may where the innermost loop stores nothing, runs equally often in each of them, reads no array that the outer loop
stores to, and is given only values that every outer iteration moves by a fixed amount.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gridloom.compiler.analysis.evolution import Evolution, Fixed, Form
from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.arrays import Access, find_accesses
from gridloom.compiler.c.dependences import accesses_overlap
from gridloom.compiler.c.region import LoopRegion, trip_parts
from gridloom.compiler.c.wide_integers.elements import word_accesses
from gridloom.compiler.ir.ir import Value
from gridloom.errors import SourceError


def moves_of(
    region: LoopRegion, accesses: Iterable[Access], liveins: Mapping[str, Value], pointers: Pointers
) -> dict[str, Form]:
    """Live-in -> what an iteration of the loop around adds to it, for those that it moves: a form over fixed values.

    SourceError without a place where outer iterations cannot run side by side.
    """
    outer = region.loop.parent
    if outer is None or region.inner is not None or len(outer.children) != 1:
        raise SourceError("jam takes an innermost loop with one loop around it, which has no other loop inside")
    parts = trip_parts(region)
    if parts is None or outer.contains(parts.start) or outer.contains(parts.bound):
        raise SourceError("jam takes a loop that runs equally often in every iteration of the loop around it")
    _refuse_stores(region, outer, list(accesses), pointers)
    evolution = pointers.evolution(outer)
    moved = {name: _move(value, evolution, name) for name, value in liveins.items()}
    return {name: step for name, step in moved.items() if step.constant or step.terms}


def _refuse_stores(region: LoopRegion, outer: NaturalLoop, accesses: list[Access], pointers: Pointers) -> None:
    """SourceError for a store that another outer iteration may see."""
    if any(access.is_store for access in accesses):
        raise SourceError("jam takes a loop that stores nothing itself; sum up in a variable and store after the loop")
    around = [item for name in outer.blocks if name not in region.blocks
              for item in outer.function.blocks[name].instructions]  # fmt: skip
    stores = [item for item in around if item.opcode == "store"]
    calls = [item for item in around if item.opcode == "call" and not item.callee.startswith("llvm.")]
    if calls:
        raise SourceError(f"the loop around it calls {calls[0].callee!r}, which may write what it reads")
    wide = word_accesses(stores)
    stores = [part for item in stores for part in wide.get(item, (item,))]
    for store in find_accesses(stores, pointers, lambda item: f"line {item.line}"):
        for access in accesses:
            if accesses_overlap(store, access):
                raise SourceError("the loop around it stores to an array that it reads, or may: 'restrict' says not")


def _move(value: Value, outer: Evolution, name: str) -> Form:
    """What an outer iteration adds to a value from before the loop; 0 for one that it does not change."""
    # A narrower counter may wrap around, which adding to a live-in of its range would not.
    step = outer.moves(Form(0, {value: 1})) if value.type == "i32" or isinstance(outer.of(value), Fixed) else None
    if step is None:
        raise SourceError(f"jam takes values that the loop around moves by a fixed amount; {name} is none")
    return step
