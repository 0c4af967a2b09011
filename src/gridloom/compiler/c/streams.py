"""Loads and stores as streams, for arrays without memory units: inputs and outputs that move by a fixed step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridloom.compiler.analysis.dependence import motion
from gridloom.compiler.analysis.evolution import Form
from gridloom.compiler.c.arrays import Access, CArray
from gridloom.compiler.c.dependences import Step, advice, orders
from gridloom.compiler.c.region import LoopRegion
from gridloom.compiler.c.source.liveins import LiveIns
from gridloom.compiler.ir.ir import Instruction
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.operations import TRUE, LiveIn, Operand, OperationResult, Order
from gridloom.errors import SourceError

#: Iterations between two stores of a place from which on streams, each at its own time, keep their order.
FAR = 64


class Streams:
    """Makes the streams of a loop.

    ``step_of`` says what a symbol moves per iteration, ``stored`` gives the value of a store, ``runs`` and
    ``always_runs`` the condition of a block, ``where`` the place of an instruction for errors.
    """

    def __init__(
        self,
        body: Body,
        region: LoopRegion,
        liveins: LiveIns,
        step_of: Step,
        stored: Callable[[Access, CArray], Operand],
        runs: Callable[[str], Operand],
        always_runs: Callable[[str], bool],
        where: Callable[[Instruction], str],
    ) -> None:
        self.body, self.region, self.liveins, self.where = body, region, liveins, where
        self.step_of, self.stored, self.runs, self.always_runs = step_of, stored, runs, always_runs
        #: Stream node -> the access that it stands for.
        self.nodes: dict[str, Instruction] = {}
        #: Outputs that write back what they read where nothing is stored.
        self.rewritten: set[str] = set()

    def access(self, access: Access, array: CArray) -> Operand:
        """The stream of an access that moves by a fixed step; a load that never moves is a live-in.

        The stream's ``variable`` says which elements it brings: ``x`` for those from the first on, ``x[2i+1]`` for
        others. SourceError for a place that the data decide, and for a store that never moves.
        """
        item = access.item
        moves = motion(access.place, self.step_of, self.region.contains)
        step = moves.step.constant
        if moves.varying.terms or moves.step.terms or step % array.stride or (access.is_store and not step):
            what = "stays where it is" if moves.step == moves.varying == Form() else "goes where the data say"
            raise SourceError(
                f"an access of {array.name} {what}, so it is no stream; map the loop onto an array with memory units",
                where=self.where(item),
            )
        if not step:
            name = self.liveins.name_of(item)
            self.liveins.values[name] = item
            self.body.reserved.add(name)
            self.body.ranges[LiveIn(name)] = array.range
            return LiveIn(name)
        start = (moves.start.constant - array.offset) // array.stride
        variable = f"{array.name}[{step // array.stride}i{start:+d}]" if start else array.name
        if access.is_store:
            value = self.stored(access, array)
            conditional = not self.always_runs(item.block)
            if conditional:
                # A stream writes in every iteration: where nothing is stored, what it wrote over comes back.
                value = self.body.select(self.runs(item.block), value, self.input(variable, array, item))
            made = self.body.stream("output", variable, value, hint=f"{array.name}_out")
            self.body.ranges[made] = array.range
            self.nodes[made.id] = item
            self.rewritten |= {made.id} if conditional else set()
        else:
            made = self.input(variable, array, item)
        access.node = made.id
        return self.body.emit("and", made, TRUE) if item.type == "i1" else made

    def input(self, variable: str, array: CArray, item: Instruction) -> OperationResult:
        """The input stream that brings the elements of a load."""
        made = self.body.stream("input", variable, hint=f"{array.name}_in")
        self.body.ranges[made] = array.range
        self.nodes[made.id] = item
        return made

    def refuse_feedback(self, accesses: Sequence[Access], kept: Sequence[Order]) -> None:
        """Streams are read ahead and written behind, each at its own time, so none may meet what another one wrote.

        Two stores that meet many iterations apart stay in order, which is kept as an edge that the checks look at.
        """
        written = {access.node for access in accesses if access.is_store}
        for order in (order for order in kept if order.source in written):
            far = order.distance >= FAR and not {order.source, order.target} & self.rewritten
            if order.target in written and far:
                self.body.orders.append(order)
                continue
            item = next(access.item for access in accesses if access.node == order.target)
            loads = "a load may read what an earlier iteration stored"
            what = "two stores may write the same element" if order.target in written else loads
            raise SourceError(
                f"{what}, so it is no stream; map the loop onto an array with memory units"
                + (f", or: {advice}" if (advice := self._advice(accesses)) else ""),
                where=self.where(item),
            )

    def _advice(self, accesses: Sequence[Access]) -> str:
        """What the source could say so that fewer accesses may meet."""
        _, overlaps = orders(accesses, self.step_of, self.region.contains)
        return "; ".join(advice(overlap) for overlap in overlaps)
