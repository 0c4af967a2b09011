"""Whether iterations of a loop around an innermost one may run in step: what unroll-and-jam does to memory.

Copies 0, 1, ... of the outer iteration run as: all that stands before the inner loop, then the inner loop with the
copies one after the other in each of its iterations, then all that stands behind it. So what a later copy does moves
before what an earlier one does, unless both stand before, or both behind; and inside, an access of a later copy moves
before one of an earlier copy whose inner iteration comes later.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridloom.compiler.analysis.evolution import Evolution
from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.arrays import Access, find_accesses, may_overlap
from gridloom.compiler.c.region import LoopRegion, flatten_nest
from gridloom.compiler.ir.ir import Instruction, IrModule
from gridloom.compiler.ir.layout import DataLayout
from gridloom.errors import SourceError


def refuse_crossings(
    module: IrModule,
    loop: NaturalLoop,
    parts: tuple[Sequence[Instruction], Sequence[Instruction], Sequence[Instruction]],
) -> None:
    """SourceError unless the copies of an outer iteration leave the same memory in step as one after the other.

    ``parts`` are the instructions before the inner loop, of it and behind it. Compares every store with every access.
    """
    region = flatten_nest(loop, "")
    pointers = Pointers(
        DataLayout(module.structs), region.contains, region.initial, region.following,
        lambda phi: region.owner(phi) is not None, lambda item: f"line {item.line}",
    )  # fmt: skip
    for item in (item for part in parts for item in part):
        if item.opcode == "call" and not item.callee.startswith(("llvm.s", "llvm.u", "llvm.abs", "llvm.fsh")):
            raise SourceError(f"it calls {item.callee!r}, which may touch memory")
    before, inside, behind = (find_accesses(part, pointers, lambda item: f"line {item.line}") for part in parts)
    for some, others in ((before, inside), (inside, behind)):
        if any(_meet(a, b) for a in some for b in others):
            raise SourceError("what stands around the inner loop touches the memory that it works on")
    if any(_meet(a, b) and not _is_own(a, b, region, loop) for a in before for b in behind):
        raise SourceError("what stands before the inner loop touches the memory of what stands behind it")
    inner = loop.children[0]
    for a in inside:
        for b in inside:
            if (a.is_store or b.is_store) and not _in_order(a, b, region, inner):
                raise SourceError("iterations of the outer loop may touch each other's memory in the opposite order")


def _meet(a: Access, b: Access) -> bool:
    """True unless two accesses never touch the same byte, or both only read."""
    return (a.is_store or b.is_store) and (a.address.base is b.address.base or may_overlap(a, b))


def _in_order(a: Access, b: Access, region: LoopRegion, inner: NaturalLoop) -> bool:
    """True where two accesses of different copies meet in one iteration of the inner loop only, or never.

    They do where both are at the same place, which the outer loop does not move and each inner iteration does.
    """
    if a.address.base is not b.address.base:
        return not may_overlap(a, b)
    return _is_own(a, b, region, inner)


def _is_own(a: Access, b: Access, region: LoopRegion, loop: NaturalLoop) -> bool:
    """True where two accesses are at one place of an array, which in the nest moves with a counter of the loop alone.

    Each iteration moves it by at least its size.
    """
    gap = a.place.minus(b.place)
    moved = [symbol for symbol in a.place.terms if region.contains(symbol)]
    if gap.terms or gap.constant or a.size != b.size or len(moved) != 1 or not isinstance(moved[0], Instruction):
        return False
    counter = moved[0]
    if a.address.base is not b.address.base or counter not in loop.phis or counter.type != "i32":
        return False
    step = Evolution(loop).step_of(counter)
    return step is not None and abs(step * a.place.terms[counter]) >= a.size
