"""Search loops in the IR of a function: how far one may run before its data end it is found by counted loops.

A loop that ends early where the data say (``if (x[i] > t) return i;``) is not counted, so that an array with streams
cannot have it. But a loop that stores nothing may be looked ahead of, up to its bound: the first iteration that would
leave is the least number of those whose test says so, which a counted loop finds. The old loop then goes on there, for
one iteration.

    gl.scan.pre     long enough?  no: the old loop
    gl.scan.try     the first iterations on the core, since most searches end soon; gl.scan.more is its latch
    gl.scan.chunk   the next iterations, some times as many as before
    gl.scan.inner   the counted loop over them
    gl.scan.next    found, or none left?  no: the next chunk
    gl.scan.out     the old loop, from the iteration that was found

It is done for loops of two blocks, whose values are all counters and which call nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gridloom.compiler.analysis.evolution import Evolution
from gridloom.compiler.analysis.loops import NaturalLoop, find_loops
from gridloom.compiler.ir.driver import optimise_ir
from gridloom.compiler.ir.ir import Constant, Instruction, Value
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.ir.writer import (
    Builder,
    add_way,
    gather_entry,
    phis_of,
    readers_behind,
    way_from,
    write_module,
)
from gridloom.compiler.passes.jam_nest import counts_to
from gridloom.errors import GridloomError, SourceError

#: How the blocks begin that are counted loops of a search, and those that the core runs.
SCAN: Final = "gl.scan.inner."
TRY: Final = "gl.scan.try."
#: Iterations that the core tries first, and the least number that is looked through at all. A chunk has eight times as
#: many as went before: what is looked through in vain stays in proportion, and long searches take few launches.
TRIED: Final = 64
LEAST: Final = 256
_GROWTH: Final = 8

_UMIN: Final = "declare i32 @llvm.umin.i32(i32, i32)"


@dataclass(frozen=True)
class Scanned:
    """A module with searches, and the headers of the old loops."""

    ir: str
    old: frozenset[str]


def insert_scans(ir: str, path: Path, function: str) -> Scanned | None:
    """The module with every search loop of a function looked ahead of; None where there is none.

    ``path`` is the file that messages name. Costs an optimisation by clang, 0.1 to 0.3 s.
    """
    module = read_module(ir, str(path))
    old: list[str] = []
    for loop in find_loops(module, module.functions[function]):
        try:
            _Scan(loop, len(old)).insert()
        except GridloomError:
            continue
        old.append(loop.header)
    if not old:
        return None
    declared = [] if any("@llvm.umin.i32(" in line for line in module.before) else [_UMIN]
    return Scanned(optimise_ir(write_module(module, {}, declared=declared), path), frozenset(old))


class _Scan:
    """Puts a search before one loop; nothing is changed where it cannot be."""

    def __init__(self, loop: NaturalLoop, number: int) -> None:
        self.loop, self.header, self.latch = loop, loop.header, loop.latches[0]
        self.function, self.blocks = loop.function, loop.function.blocks
        if loop.children or sorted(loop.blocks) != sorted({self.header, self.latch}) or self.header == self.latch:
            raise SourceError("the loop has not two blocks")
        parts = ("pre", "try", "more", "chunk", "inner", "next", "out")
        self.names = {part: f"gl.scan.{part}.{number}" for part in parts}
        row = self.blocks[self.header].instructions
        self.body, self.end = [item for item in row[:-1] if item.opcode != "phi"], row[-1]
        self.exit = self._data_exit()
        self.steps = self._counters()
        last = self.blocks[self.latch].terminator
        if last.targets[1:] != [self.header]:
            raise SourceError("the loop has no bound")
        self.counter, self.bound = counts_to(loop, last.operands[0])

    def _data_exit(self) -> str:
        """Where the data end the loop."""
        targets = self.end.targets
        if self.end.opcode != "br" or len(targets) != 2 or self.latch not in targets:
            raise SourceError("the loop does not end at a test")
        target = targets[1] if targets[0] == self.latch else targets[0]
        if target in self.loop.blocks:
            raise SourceError("the loop does not end where the data say")
        return target

    def _counters(self) -> dict[Instruction, int]:
        """The phis, each with what an iteration adds to it."""
        for item in self.loop.instructions:
            if item.opcode == "store" or (item.opcode == "call" and not item.callee.startswith(("llvm.s", "llvm.u"))):
                raise SourceError("the loop does more than look")
        steps = {}
        for phi in self.loop.phis:
            step = Evolution(self.loop).step_of(phi) if phi.type == "i32" else None
            if not step:
                raise SourceError("the loop carries more than counters")
            steps[phi] = step
        return steps

    # -- the new blocks -----------------------------------------------------------------------------------------------

    def insert(self) -> None:
        """Put the search before the loop. SourceError where values of the loop are read in other ways than by phis."""
        if readers_behind(self.function, set(self.loop.blocks)):
            raise SourceError("values of the loop are read behind it")
        names = self.names
        pre, tried, more, chunk, inner, after, out = (Builder(self.function, n, f"{n}.v") for n in names.values())
        self.starts = gather_entry(self.function, set(self.loop.blocks), self.header, pre)
        total = pre.add("sub", "i32", self.bound, self.starts[self.counter])
        pre.go(names["try"], self.header, on=pre.add("icmp uge", "i1", total, _word(LEAST)))
        copies = self._try(tried, more)
        done, size = self._chunk(chunk, total)
        first = self._inner(inner, self._moved(chunk, done), size)
        chunk.go(names["inner"])
        step = _least(after, first, size)
        reached = after.add("add", "i32", done, step)
        add_way(done, reached, names["next"])
        found, whole = after.add("icmp ne", "i1", first, _word(-1)), after.add("icmp eq", "i1", reached, total)
        after.go(names["out"], names["chunk"], on=after.add("or", "i1", found, whole))
        ends = self._moved(out, _least(out, reached, out.add("add", "i32", total, _word(-1))))
        out.go(self.header)
        for phi in self.steps:
            add_way(phi, self.starts[phi], names["pre"])
            add_way(phi, ends[phi], names["out"])
        for phi in phis_of(self.blocks[self.exit]):
            value = way_from(phi, self.header)
            add_way(phi, copies.get(value, value), names["try"])

    def _copied(self, made: Builder, phis: dict[Instruction, Instruction]) -> dict[Value, Value]:
        """A copy of what the loop looks at; value -> its copy."""
        copies: dict[Value, Value] = dict(phis.items())
        for item in self.body:
            copies[item] = made.copy(item, lambda value: copies.get(value, value))
        return copies

    def _moved(self, made: Builder, skipped: Value) -> dict[Instruction, Instruction]:
        """The counters after some iterations."""
        return {phi: made.add("add", "i32", self.starts[phi], made.add("mul", "i32", skipped, _word(step)))
                for phi, step in self.steps.items()}  # fmt: skip

    def _onward(self, made: Builder, phis: dict[Instruction, Instruction]) -> None:
        """Let counters take a step each; the block goes back to their loop."""
        for phi, step in self.steps.items():
            add_way(phis[phi], made.add("add", "i32", phis[phi], _word(step)), made.block.name)

    def _try(self, made: Builder, more: Builder) -> dict[Value, Value]:
        """The first iterations on the core; value of the loop -> its copy there."""
        names = self.names
        phis = {phi: made.phi("i32", (start, names["pre"])) for phi, start in self.starts.items()}
        count = made.phi("i32", (_word(0), names["pre"]))
        copies = self._copied(made, phis)
        ways = [names["more"] if target == self.latch else target for target in self.end.targets]
        made.go(*ways, on=copies.get(self.end.operands[0], self.end.operands[0]))
        self._onward(more, phis)
        counted = more.add("add", "i32", count, _word(1))
        add_way(count, counted, names["more"])
        more.go(names["chunk"], names["try"], on=more.add("icmp eq", "i1", counted, _word(TRIED)))
        return copies

    def _chunk(self, made: Builder, total: Value) -> tuple[Instruction, Instruction]:
        """What was looked through before a chunk, and its size."""
        done = made.phi("i32", (_word(TRIED), self.names["more"]))
        left = made.add("sub", "i32", total, done)
        return done, _least(made, left, made.add("mul", "i32", done, _word(_GROWTH)))

    def _inner(self, made: Builder, firsts: dict[Instruction, Instruction], size: Value) -> Instruction:
        """The counted loop: the least number of an iteration that would leave."""
        name, before = made.block.name, self.names["chunk"]
        phis = {phi: made.phi("i32", (firsts[phi], before)) for phi in self.steps}
        at, first = made.phi("i32", (_word(0), before)), made.phi("i32", (_word(-1), before))
        copies = self._copied(made, phis)
        self._onward(made, phis)
        ways = [_word(-1) if target == self.latch else at for target in self.end.targets]
        here = made.add("select", "i32", copies.get(self.end.operands[0], self.end.operands[0]), *ways)
        least, following = _least(made, first, here), made.add("add", "i32", at, _word(1))
        add_way(at, following, name)
        add_way(first, least, name)
        made.go(self.names["next"], name, on=made.add("icmp eq", "i1", following, size))
        return least


def _word(number: int) -> Constant:
    return Constant("i32", number)


def _least(made: Builder, a: Value, b: Value) -> Instruction:
    """The lesser of two words without sign."""
    return made.add("call", "i32", a, b, callee="llvm.umin.i32")
