"""64-bit integers of a loop: joined by conditions, carried to the next iteration, restarted with an inner loop."""

from __future__ import annotations

from collections.abc import Callable

from gridloom.errors import SourceError
from gridloom.frontend.c.llvm.ir import Constant, Instruction, Value
from gridloom.frontend.c.nest.values import Nest
from gridloom.frontend.c.predicates import Predicates
from gridloom.frontend.c.region import Region
from gridloom.frontend.c.wide_integers.pairs import Pair, Wide
from gridloom.frontend.loops.body import Body
from gridloom.frontend.loops.folding import wrap
from gridloom.frontend.loops.operations import Carried, Const, LiveIn, Operand
from gridloom.frontend.loops.prologue import Prologue


class WideValues:
    """The phis of 64-bit integers, each as two words.

    ``value`` gives the operand of a word, ``runs`` the condition of a block, ``poison`` an operation that nothing may
    need for a value that cannot be computed.
    """

    def __init__(
        self,
        body: Body,
        region: Region,
        wide: Wide,
        predicates: Predicates,
        nest: Nest,
        value: Callable[[Value], Operand],
        runs: Callable[[str], Operand],
        poison: Callable[[Instruction, SourceError], Operand],
    ) -> None:
        self.body, self.region, self.wide, self.predicates, self.nest = body, region, wide, predicates, nest
        self.value, self.runs, self.poison = value, runs, poison
        self.carried: dict[Instruction, tuple[Carried, Carried]] = {}

    def join(self, phi: Instruction) -> Pair:
        """The phi of a join of 64-bit integers: a chain of selects for each word."""
        pairs = [
            None if isinstance(value, Constant) and value.undefined else self.wide.pair(value) for value in phi.operands
        ]
        low = [(source, pair.low if pair else None) for source, pair in zip(phi.incoming, pairs)]
        high = [(source, pair.high if pair else None) for source, pair in zip(phi.incoming, pairs)]
        merge = self.predicates.merge
        return Pair(merge(phi.block, low, phi.name), merge(phi.block, high, phi.name))

    def start(self, phi: Instruction) -> Pair:
        """A carried 64-bit integer: two carried words, from a constant or a widened word."""
        first = self.region.initial(phi)
        starts: list[int | LiveIn] = []
        if isinstance(first, Constant):
            starts = [wrap(first.value), wrap(first.value >> 32)]
        elif isinstance(first, Instruction) and first.opcode in ("sext", "zext") and first.operands[0].type == "i32":
            word = self.value(first.operands[0])
            sign = Prologue(self.body).emit("shr", word, Const(31), hint=f"{phi.name}_sign")
            if isinstance(word, LiveIn) and isinstance(sign, LiveIn):
                starts = [word, sign if first.opcode == "sext" else 0]
        if not starts:
            self.wide.pair(first or phi)
        low, high = (self.body.recur(phi.name, start) for start in starts)
        self.carried[phi] = (low, high)
        return Pair(low, high)

    def restart(self, phi: Instruction) -> Pair:
        """A 64-bit integer of the inner header: its start when the inner loop begins again, else what is carried."""
        low, high = self.body.recur(phi.name, 0), self.body.recur(phi.name, 0)
        self.carried[phi] = (low, high)
        first = self.region.initial(phi)
        return self.wide.choose(self.nest.fresh, self.wide.pair(first or phi), Pair(low, high))

    def close(self) -> None:
        """Tie every carried 64-bit integer to what the iteration leaves."""
        region = self.region
        for phi, (low, high) in self.carried.items():
            try:
                after = self.wide.pair(region.following(phi))
                if region.inner and phi.block == region.loop.header:
                    after = self.wide.choose(self.runs(region.loop.latches[0]), after, self.wide.pair(phi))
            except SourceError as error:
                poison = self.poison(phi, error)
                after = Pair(poison, poison)
            self.body.carried[low.name].next, self.body.carried[high.name].next = after.low, after.high
