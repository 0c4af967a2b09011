"""64-bit integers of a loop: joined by conditions, carried to the next iteration, restarted with an inner loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridloom.compiler.c.nest.values import Nest
from gridloom.compiler.c.predicates import Predicates
from gridloom.compiler.c.region import LoopRegion
from gridloom.compiler.c.source.liveins import LiveIns
from gridloom.compiler.c.wide_integers.pairs import Wide, WordPair
from gridloom.compiler.ir.ir import Constant, Instruction, IrParameter
from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.folding import wrap
from gridloom.compiler.loops.operations import CarriedValue, Const, LiveIn, Operand
from gridloom.compiler.loops.prologue import Prologue
from gridloom.errors import SourceError


class WideValues:
    """The phis of 64-bit integers, each as two words.

    ``liveins`` are those of the loop, ``runs`` gives the condition of a block, ``poison`` an operation that nothing may
    need for a value that cannot be computed.
    """

    def __init__(
        self,
        body: Body,
        region: LoopRegion,
        wide: Wide,
        predicates: Predicates,
        nest: Nest,
        liveins: LiveIns,
        runs: Callable[[str], Operand],
        poison: Callable[[Instruction, SourceError], Operand],
    ) -> None:
        self.body, self.region, self.wide, self.predicates, self.nest = body, region, wide, predicates, nest
        self.liveins, self.runs, self.poison = liveins, runs, poison
        self.carried: dict[Instruction, tuple[CarriedValue, CarriedValue]] = {}

    def join(self, phi: Instruction) -> WordPair:
        """The phi of a join of 64-bit integers: a chain of selects for each word."""
        pairs = [
            None if isinstance(value, Constant) and value.undefined else self.wide.pair(value) for value in phi.operands
        ]
        low = [(source, pair.low if pair else None) for source, pair in zip(phi.incoming, pairs)]
        high = [(source, pair.high if pair else None) for source, pair in zip(phi.incoming, pairs)]
        merge = self.predicates.merge
        return WordPair(merge(phi.block, low, phi.name), merge(phi.block, high, phi.name))

    def start(self, phi: Instruction) -> WordPair:
        """A carried 64-bit integer: two carried words, from a constant, a widened word, or two live-ins."""
        first = self.region.initial(phi)
        starts: Sequence[int | LiveIn] = []
        if isinstance(first, Constant):
            starts = [wrap(first.value), wrap(first.value >> 32)]
        elif isinstance(first, Instruction) and first.opcode in ("sext", "zext") and first.operands[0].type == "i32":
            starts = self._widened(first, phi)
        if not starts:
            whole = isinstance(first, IrParameter | Instruction)
            starts = self.liveins.pair_of(first) if whole else self.liveins.start_pair(phi)  # type: ignore[arg-type]
        low, high = (self.body.recur(phi.name, start) for start in starts)
        self.carried[phi] = (low, high)
        return WordPair(low, high)

    def _widened(self, first: Instruction, phi: Instruction) -> Sequence[int | LiveIn]:
        """The words of a word that is widened before the loop: itself and its sign, or 0."""
        value = first.operands[0]
        if not isinstance(value, IrParameter | Instruction):
            return []
        word = self.liveins.of(value)
        if first.opcode == "zext":
            return [word, 0]
        sign = Prologue(self.body).emit("shr", word, Const(31), hint=f"{phi.name}_sign")
        return [word, sign] if isinstance(sign, LiveIn) else []

    def restart(self, phi: Instruction) -> WordPair:
        """A 64-bit integer of the inner header: its start when the inner loop begins again, else what is carried."""
        low, high = self.body.recur(phi.name, 0), self.body.recur(phi.name, 0)
        self.carried[phi] = (low, high)
        first = self.region.initial(phi)
        start = self.wide.pair(first) if first is not None else WordPair(*self.liveins.start_pair(phi))
        return self.wide.choose(self.nest.fresh, start, WordPair(low, high))

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
                after = WordPair(poison, poison)
            self.body.carried[low.name].next, self.body.carried[high.name].next = after.low, after.high
