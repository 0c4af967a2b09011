"""How many iterations a counted loop will run, as a function of IR that a launch calls first.

The function is the loop itself without its work: the instructions that its branches depend on, and a counter. LLVM
replaces such a loop by a formula where there is one. A branch that depends on memory and does not leave the loop goes
either way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gridloom.compiler.c.function.program import LoopPlan, entrance
from gridloom.compiler.c.region import leaves_early
from gridloom.compiler.ir.ir import BasicBlock, Constant, Function, Instruction, IrParameter, Value
from gridloom.compiler.ir.writer import Builder, operand_text, write_function
from gridloom.errors import SourceError

#: Instructions that a count must not depend on.
_WORK: Final = ("load", "call", "alloca", "fcmp", "extractvalue")
_ENTRY: Final = "gl.entry"
_EXIT: Final = "gl.exit"


@dataclass(frozen=True)
class TripCount:
    """The function's text, and the values that it is called with."""

    text: str
    arguments: tuple[Value, ...]


def trip_count(plan: LoopPlan, name: str) -> TripCount:
    """The function that counts the iterations of a loop. SourceError where the count depends on memory."""
    return _Counter(plan).result(name)


class _Counter:
    """Cuts the control of one loop out of its function."""

    def __init__(self, plan: LoopPlan) -> None:
        self.plan, self.loop = plan, plan.loop
        self.inside = {name: plan.loop.function.blocks[name] for name in plan.loop.blocks}
        self.function = Function("", 0, [], {})
        self.any = IrParameter("gl.any", "i1")
        self.kept: set[Value] = set()
        self.used: dict[Value, None] = {}

    def result(self, name: str) -> TripCount:
        """The function's text."""
        graph = self.plan.graph
        assert graph is not None
        made = Builder(self.function, _ENTRY, "gl.count")
        self.count = made.add("alloca", "ptr", source_type="i32")
        made.add("store", "void", Constant("i32", 0), self.count)
        made.go(self.loop.header)
        ends = {block.name: self._end(block) for block in self.inside.values()}
        for block in self.inside.values():
            self._copy(block, ends[block.name])
        out = Builder(self.function, _EXIT, "gl.total")
        early = Constant("i32", -1 if leaves_early(graph.region) else 0)
        out.add("ret", "void", out.add("add", "i32", out.add("load", "i32", self.count), early))
        given = ", ".join(f"{value.type} {operand_text(value)}" for value in (*self.used, self.any))
        self.function.head = f"define internal i32 @{name}({given}) {{"
        return TripCount(write_function(self.function), tuple(self.used))

    def _end(self, block: BasicBlock) -> Instruction:
        """The branch of a block; every way out goes to the end, and what memory decides goes either way."""
        end = replace(block.terminator, metadata="")
        end.targets = [target if target in self.inside else _EXIT for target in end.targets]
        needed = self._slice(end.operands)
        if needed is None:
            if _EXIT in end.targets or end.opcode != "br":
                raise SourceError("its number of iterations depends on memory")
            end.operands = [self.any]
        else:
            self.kept |= needed
        return end

    def _slice(self, roots: list[Value]) -> set[Value] | None:
        """The instructions that some values are made of; None where one of them reads memory."""
        found: set[Value] = set()
        work = list(roots)
        while work:
            value = work.pop()
            if value in found or not isinstance(value, Instruction) or not self.loop.contains(value):
                continue
            if value.opcode in _WORK:
                return None
            found.add(value)
            work += value.operands
        return found

    def _copy(self, block: BasicBlock, end: Instruction) -> None:
        """What is kept of a block, with what it adds to the counter."""
        made = Builder(self.function, block.name, f"gl.at.{block.name}")
        kept = [replace(item, metadata="") for item in block.instructions if item in self.kept]
        phis = [self._phi(item) for item in kept if item.opcode == "phi"]
        rest = [item for item in kept if item.opcode != "phi"]
        made.block.instructions += phis
        added = self._added(block.name)
        if added:
            before = made.add("load", "i32", self.count)
            made.add("store", "void", made.add("add", "i32", before, Constant("i32", added)), self.count)
        made.block.instructions += [*rest, end]
        for value in (operand for item in (*phis, *rest, end) for operand in item.operands):
            # Values from outside become parameters.
            if isinstance(value, IrParameter | Instruction) and value is not self.any and not self.loop.contains(value):
                self.used.setdefault(value)

    def _phi(self, phi: Instruction) -> Instruction:
        """A phi whose way in from outside is the function's entry."""
        pairs = list(zip(phi.operands, phi.incoming))
        outside = [value for value, source in pairs if source not in self.inside]
        if any(value is not outside[0] for value in outside):
            raise SourceError("it is entered from several places")
        kept = [(value, source) for value, source in pairs if source in self.inside]
        kept += [(value, _ENTRY) for value in outside[:1]]
        phi.operands, phi.incoming = [value for value, _ in kept], [source for _, source in kept]
        return phi

    def _added(self, name: str) -> int:
        """What a visit of a block adds to the iterations."""
        graph = self.plan.graph
        assert graph is not None
        inner = graph.region.inner
        added = int(name == self.loop.header)
        if inner is not None:
            added += int(name == inner.header) - int(name == entrance(inner))
        return added
