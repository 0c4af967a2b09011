"""Whether iterations of a loop around an innermost one may run in step: what unroll-and-jam does to memory.

Copies 0, 1, ... of the outer iteration run as: all that stands before the inner loop, then the inner loop with the
copies one after the other in each of its iterations, then all that stands behind it. So what a later copy does moves
before what an earlier one does, unless both stand before, or both behind; and inside, an access of a later copy moves
before one of an earlier copy whose inner iteration comes later.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridloom.compiler.analysis.dependence import DistanceSolver, may_cross, motion
from gridloom.compiler.analysis.evolution import Evolution, Form
from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.arrays import Access, find_accesses
from gridloom.compiler.c.dependences import accesses_overlap, axis_of
from gridloom.compiler.c.region import flatten_nest, single, trip_parts
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
    for item in (item for part in parts for item in part):
        if item.opcode == "call" and not item.callee.startswith(("llvm.s", "llvm.u", "llvm.abs", "llvm.fsh")):
            raise SourceError(f"it calls {item.callee!r}, which may touch memory")
    nest = _Nest(module, loop)
    before, inside, behind = (find_accesses(part, nest.pointers, lambda item: f"line {item.line}") for part in parts)
    for some, others in ((before, inside), (inside, behind)):
        if any(_meet(a, b) for a in some for b in others):
            raise SourceError("what stands around the inner loop touches the memory that it works on")
    if any(_meet(a, b) and nest.is_behind(a, b) for a in before for b in behind):
        raise SourceError("what stands before the inner loop touches the memory of what stands behind it")
    if any(_meet(a, b) and nest.crosses(a, b) for k, a in enumerate(inside) for b in inside[k:]):
        raise SourceError("iterations of the outer loop may touch each other's memory in the opposite order")


def _meet(a: Access, b: Access) -> bool:
    """True unless two accesses never touch the same byte, or both only read."""
    return (a.is_store or b.is_store) and accesses_overlap(a, b)


class _Nest:
    """What the loops of a nest add to places."""

    def __init__(self, module: IrModule, loop: NaturalLoop) -> None:
        region, layout = flatten_nest(loop, ""), DataLayout(module.structs)
        self.pointers = Pointers(
            layout, region.contains, region.initial, region.following,
            lambda phi: region.owner(phi) is not None, lambda item: f"line {item.line}",
        )  # fmt: skip
        self.outer, self.inner = Evolution(loop, layout), Evolution(loop.children[0], layout)
        self.trips = trip_parts(region), trip_parts(single(loop.children[0], ""))

    def is_behind(self, a: Access, b: Access) -> bool:
        """True where the first, of an iteration of the outer loop, may touch what the second left in an earlier one."""
        if a.address.base is not b.address.base or a.size != b.size:
            return True
        first, second = (motion(x.place, self.outer.word_step, self.outer.loop.contains) for x in (a, b))
        found = DistanceSolver().meetings(first, second)
        step = first.step
        # Places that are no multiples of one size apart may share bytes at any distance.
        uneven = bool(step.terms or step.constant % a.size or second.start.minus(first.start).constant % a.size)
        return uneven or any(not meeting.forward for meeting in found)

    def crosses(self, a: Access, b: Access) -> bool:
        """True where two accesses inside may meet in an order that the copies turn round."""
        steps = self._steps(a.place)
        if a.address.base is not b.address.base or steps is None:
            return True
        outer, inner = (axis_of(step, trip) for step, trip in zip(steps, self.trips))
        return may_cross(b.place.minus(a.place), max(a.size, b.size) - 1, outer, inner)

    def _steps(self, place: Form) -> tuple[Form, Form] | None:
        """What an iteration of either loop adds to a place; None where that is not fixed."""
        outer, inner = Form(), Form()
        for symbol, coefficient in place.terms.items():
            child = self.inner.loop
            # A counter of the inner loop starts again from what the outer loop may have moved.
            start = child.initial(symbol) if symbol in child.phis else symbol
            steps = None if start is None else self.outer.word_step(start), self.inner.word_step(symbol)
            if steps[0] is None or steps[1] is None:
                return None
            outer, inner = outer + steps[0].times(coefficient), inner + steps[1].times(coefficient)
        return outer, inner
