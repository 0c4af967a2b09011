"""What a flattened nest needs beside the values of one loop: how far its inner loop is, and sums that restart with it.

With a counter that comes round (:mod:`gridloom.compiler.c.nest.turns`) everything that the inner loop moves by a fixed
step follows from it, and a sum that restarts is what a sum over the whole nest has grown by. Neither is part of a
recurrence that is longer than its distance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gridloom.compiler.analysis.dependence import DistanceSolver, Meeting, motion
from gridloom.compiler.analysis.evolution import Form
from gridloom.compiler.c.address import Pointers
from gridloom.compiler.c.arrays import Access
from gridloom.compiler.c.dependences import Step
from gridloom.compiler.c.indexing import scale_term
from gridloom.compiler.c.nest.turns import Turn, outside, rows_of, turn_of
from gridloom.compiler.c.region import LoopRegion
from gridloom.compiler.ir.ir import Constant, Instruction, IrParameter, Value
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.operations import TRUE, CarriedValue, LiveIn, Operand
from gridloom.compiler.loops.prologue import Prologue
from gridloom.compiler.loops.rows import run_along


class Nest:
    """The nest of a region; of a single loop it only says that every iteration is a fresh one.

    ``value`` gives the operand of an IR value, ``livein`` the live-in of one from before the nest. The inner loop is
    known to run at least ``turns`` times whenever it is entered; 0 where nothing is known.
    """

    def __init__(
        self,
        body: Body,
        region: LoopRegion,
        pointers: Pointers,
        value: Callable[[Value], Operand],
        livein: Callable[[IrParameter | Instruction], LiveIn],
        turns: int = 0,
    ) -> None:
        self.body, self.region, self.pointers = body, region, pointers
        self.value, self.livein, self.turns = value, livein, turns
        #: Counters of the outer loop: carried value -> what an iteration of that adds.
        self.counters: dict[str, int] = {}
        #: 1 where the inner loop begins in this iteration.
        self.fresh: Operand = TRUE
        #: How far the inner loop is, where that needs no carried flag.
        self.turn: Turn | None = None
        #: Sums of the inner loop that are taken over the whole nest: the addition -> (running sum, sum before, start).
        self.sums: dict[Instruction, tuple[CarriedValue, Operand, Operand]] = {}

    def begin(self, file: str, *, reduced: bool, entered: Operand | None) -> None:
        """Make the flag that the inner loop begins again: from a counter that comes round, or a carried one.

        ``entered`` says whether the outer loop enters the inner one, in each of its iterations or in none; None where
        it may be in some.
        """
        if reduced and entered is not None:
            values: dict[Value, LiveIn] = {value: self.livein(value) for value in outside(self.region)}
            prologue = Prologue(self.body)
            self.turn = turn_of(self.region, self.body, prologue, values, file, entered, turns=self.turns)
        if self.turn is not None and entered is not None:
            # Where the inner loop is never entered, every iteration is a fresh one.
            self.fresh = self.body.emit("or", self.turn.fresh, self.body.inverse(entered))
            return
        self.fresh = self.body.recur("fresh", 1)
        self.body.ranges[self.fresh] = (0, 1)

    @property
    def is_even(self) -> bool:
        """True for a nest that enters its inner loop in every outer iteration, where that is counted."""
        entered = self.fresh != TRUE and self.turn is not None and self.fresh == self.turn.fresh
        return self.turns > 0 and entered

    def begun(self, first: Operand, later: Operand, hint: str = "") -> Operand:
        """One value where the inner loop begins, another in all its later iterations."""
        if self.is_even and self.turn is not None:
            return self.body.emit("select", self.turn.count, later, first, hint=hint)
        return self.body.select(self.fresh, first, later, hint)

    def run_along(self, pointers: Mapping[str, int]) -> None:
        """Let values that move evenly along rows be running sums; ``pointers`` are more counters of the outer loop."""
        if self.is_even and self.turn is not None:
            rows = rows_of(self.turn, self.counters | dict(pointers))
            if rows is not None:
                run_along(self.body, rows)

    def passed_through(self, phi: Instruction) -> Instruction | None:
        """The phi of the outer loop that a phi of the inner one goes on with, from row to row; None where it does not.

        Nothing else reads it in the nest, so that both are one carried value.
        """
        outer, region = self.region.initial(phi), self.region
        if not self.is_even or not isinstance(outer, Instruction) or region.owner(outer) is not region.loop:
            return None
        left, following = region.following(outer), region.following(phi)
        while isinstance(left, Instruction) and left.opcode == "phi" and len(set(left.operands)) == 1:
            left = left.operands[0]
        readers = [item for item in region.instructions if any(operand is outer for operand in item.operands)]
        return outer if left is following and readers == [phi] else None

    def count(self) -> Operand | None:
        """How far the inner loop is; None where that is not counted."""
        return self.turn.count if self.turn is not None else None

    def turned(self, phi: Instruction) -> Operand | None:
        """A counter of the inner loop by how far that is, or a sum as a difference of two; None for any other phi.

        A sum that restarts with the inner loop would be a select and an addition long. As words wrap around, it is also
        what the sum over the whole nest has grown by since the inner loop began.
        """
        first = self.region.initial(phi)
        if self.turn is None or phi.type != "i32" or first is None:
            return None
        step = self.turn.step(phi)
        if step is not None:
            return self.body.emit("add", scale_term(self.body, self.turn.count, step), self.value(first), hint=phi.name)
        following = self.region.following(phi)
        if not (isinstance(following, Instruction) and _adds_to(following, phi)):
            return None
        total = self.body.recur(f"{phi.name}_total", 0)
        before = self.body.recur(f"{phi.name}_before", 0)
        base = self.begun(total, before, f"{phi.name}_before")
        self.body.carried[before.name].next = base
        start = self.value(first)
        self.sums[following] = (total, base, start)
        return self.body.emit("add", self.body.emit("sub", total, base), start, hint=phi.name)

    def running_sum(self, step: Instruction) -> Operand:
        """The step of a sum that is taken over the whole nest, as the sum of the inner loop."""
        total, base, start = self.sums[step]
        phi = next(
            o
            for o in step.operands
            if isinstance(o, Instruction)
            and self.region.owner(o) is self.region.inner
            and self.region.following(o) is step
        )
        other = step.operands[1] if step.operands[0] is phi else step.operands[0]
        grown = self.body.emit(step.opcode, total, self.value(other), hint=step.name)
        self.body.carried[total.name].next = grown
        return self.body.emit("add", self.body.emit("sub", grown, base), start, hint=step.name)

    def outer_steps(self, access: Access) -> Step | None:
        """What symbols move per iteration of the outer loop, for an access that stands around the inner one."""
        region = self.region
        if region.inner is None or access.item.block in region.inner.blocks:
            return None

        def step(symbol: Value) -> Form | None:
            is_carried = isinstance(symbol, Instruction) and region.owner(symbol) is region.loop
            return self.pointers.evolution(region.loop).word_step(symbol) if is_carried else None

        return step

    def meetings(self, first: Access, second: Access) -> tuple[Meeting, ...] | None:
        """When two accesses of one array meet, as for one loop; None where that is not known for rows.

        Both move along the row alone and alike, so that they meet within a row at one distance and from row to row at
        least the row's length apart; or one stays where the other one never comes.
        """
        region, inner = self.region, self.region.inner
        if not self.is_even or inner is None or first.array is not second.array:
            return None
        a, b = (motion(access.place, self._step_along, region.contains) for access in (first, second))
        if a.varying.terms or b.varying.terms:
            return None
        if any(self._passes_by(x, y) for x, y in ((first, second), (second, first))):
            return ()
        inside = all(access.item.block in inner.blocks for access in (first, second))
        within = DistanceSolver().meetings(a, b)
        if not inside or len(within) > 1:
            return None
        if not within:
            return ()
        distance = -within[0].distance if within[0].forward else within[0].distance
        if self.turns <= abs(distance):
            return None
        return (within[0], Meeting(False, self.turns + distance), Meeting(True, self.turns - distance))

    def _step_along(self, symbol: Value) -> Form | None:
        """What an iteration of the inner loop adds to a symbol that starts alike in every row; None for any other."""
        region = self.region
        if self.turn is None or not isinstance(symbol, Instruction) or region.owner(symbol) is not region.inner:
            return None
        first = region.initial(symbol)
        if symbol.type != "i32" or first is None or region.contains(first):
            return None
        step = self.turn.step(symbol)
        return None if step is None else Form(step)

    def _passes_by(self, fixed: Access, moving: Access) -> bool:
        """True where one access stays behind where the other one begins, which only moves away from it."""
        more = moving.place.minus(fixed.place)
        if len(more.terms) != 1:
            return False
        ((symbol, coefficient),) = more.terms.items()
        along = self._step_along(symbol)
        if along is None or not isinstance(symbol, Instruction) or fixed.address.base is not moving.address.base:
            return False
        first, following = self.region.initial(symbol), self.region.following(symbol)
        if not isinstance(first, Constant) or not isinstance(following, Instruction) or " nsw " not in following.text:
            return False
        start = more.constant + coefficient * first.value
        return start >= fixed.size if along.constant * coefficient > 0 else -start >= moving.size


def _adds_to(step: Instruction, phi: Instruction) -> bool:
    """True for a sum (or difference) of words: a phi and something else."""
    if step.type != "i32":
        return False
    if step.opcode == "add":
        return (step.operands[0] is phi) != (step.operands[1] is phi)
    return step.opcode == "sub" and step.operands[0] is phi and step.operands[1] is not phi
