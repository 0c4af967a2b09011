"""How many iterations a counted loop will run, as a function of IR that a launch calls first.

The function is the loop itself without its work: the instructions that its branches depend on, and a counter. LLVM
replaces such a loop by a formula where there is one. A branch that depends on memory and does not leave the loop goes
either way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gridloom.errors import SourceError
from gridloom.flow.system.ir_text import BlockText, IrFunctionText
from gridloom.frontend.c.function.program import LoopPlan, entrance
from gridloom.frontend.c.region import leaves_early

_TOKEN: Final = re.compile(r"%([-\w.$]+)")
#: Instructions that a count must not depend on.
_WORK: Final = (" = load ", " = call ", " = tail call ", " = alloca ", " = fcmp ", " = extractvalue ")


@dataclass(frozen=True)
class TripCount:
    """The function's text, and the values that it is called with."""

    text: str
    arguments: tuple[str, ...]


def trip_count(plan: LoopPlan, function: IrFunctionText, name: str, types: dict[str, str]) -> TripCount:
    """The function that counts the iterations of a loop. SourceError where the count depends on memory.

    ``types`` are the types of the function's values.
    """
    return _Counter(plan, function, name, types).result()


class _Counter:
    """Cuts the control of one loop out of its function."""

    def __init__(self, plan: LoopPlan, function: IrFunctionText, name: str, types: dict[str, str]) -> None:
        self.plan, self.function, self.name, self.types = plan, function, name, types
        self.inside = {b: function.blocks[b] for b in plan.loop.blocks if b in function.blocks}
        self.lines = {m[1]: line for b in self.inside.values() for line in b.lines
                      if (m := re.match(r"^\s+%([-\w.$]+) = ", line))}  # fmt: skip
        self.kept: set[str] = set()
        self.used: dict[str, None] = {}

    def result(self) -> TripCount:
        """The function's text."""
        graph = self.plan.graph
        assert graph is not None
        ends = {name: self._terminator(block) for name, block in self.inside.items()}
        body = [line for name, block in self.inside.items() for line in self._block(block, ends[name])]
        parameters = ", ".join(f"{self.types[v]} %{v}" for v in self.used)
        lines = [
            f"define internal i32 @{self.name}({parameters}{', ' if self.used else ''}i1 %gl.any) {{", "gl.entry:",
            "  %gl.count = alloca i32", "  store i32 0, ptr %gl.count", f"  br label %{self.plan.loop.header}", *body,
            "gl.exit:", "  %gl.total = load i32, ptr %gl.count",
            f"  %gl.result = add i32 %gl.total, {-1 if leaves_early(graph.region) else 0}", "  ret i32 %gl.result", "}",
        ]  # fmt: skip
        return TripCount("\n".join(lines), tuple(self.used))

    def _terminator(self, block: BlockText) -> str:
        """The branch of a block; every way out goes to the end, and what memory decides goes either way."""
        line = block.lines[-1]
        leaves = False
        for target in block.successors():
            if target not in self.inside:
                leaves = True
                line = re.sub(rf"label %{re.escape(target)}(?![-\w.$])", "label %gl.exit", line)
        needed = self._slice(_TOKEN.findall(line.split("label")[0]))
        if needed is None:
            if leaves or not line.lstrip().startswith("br i1"):
                raise SourceError("its number of iterations depends on memory")
            return re.sub(r"br i1 %[-\w.$]+", "br i1 %gl.any", line)
        self.kept |= needed
        return line

    def _slice(self, roots: list[str]) -> set[str] | None:
        """The instructions that some values are made of; None where one of them reads memory."""
        found: set[str] = set()
        work = list(roots)
        while work:
            value = work.pop()
            if value in found or value not in self.lines:
                continue
            line = self.lines[value]
            if any(mark in line for mark in _WORK):
                return None
            found.add(value)
            blocks = set(self.inside)
            work += [v for v in _TOKEN.findall(line.split(" = ", 1)[1]) if v not in blocks]
        return found

    def _block(self, block: BlockText, end: str) -> list[str]:
        """The lines of a block that are kept, with what it adds to the counter."""
        lines = [f"{block.name}:"]
        phis: list[str] = []
        rest: list[str] = []
        for line in block.lines[:-1]:
            defined = re.match(r"^\s+%([-\w.$]+) = ", line)
            if defined and defined[1] in self.kept:
                (phis if " = phi " in line else rest).append(self._phi(line) if " = phi " in line else line)
        for line in (*rest, end.split("label")[0]):
            self._note(line.split(" = ", 1)[-1])
        add = self._added(block.name)
        counted = [f"  %gl.c.{block.name} = load i32, ptr %gl.count",
                   f"  %gl.d.{block.name} = add i32 %gl.c.{block.name}, {add}",
                   f"  store i32 %gl.d.{block.name}, ptr %gl.count"] if add else []  # fmt: skip
        return [*lines, *phis, *counted, *rest, end]

    def _note(self, text: str) -> None:
        """Values from outside become parameters."""
        for value in _TOKEN.findall(text):
            if value not in self.lines and value in self.types:
                self.used.setdefault(value)

    def _phi(self, line: str) -> str:
        """A phi whose way in from outside is the function's entry."""
        head, pairs = line.split(" = phi ", 1)[0], re.findall(r"\[ (\S+), %([-\w.$]+) \]", line)
        kind = line.split(" = phi ", 1)[1].split(" [", 1)[0]
        kept, entered = [], False
        for value, source in pairs:
            if source in self.inside:
                kept.append(f"[ {value}, %{source} ]")
            elif not entered:
                entered = True
                kept.append(f"[ {value}, %gl.entry ]")
            elif f"[ {value}, %gl.entry ]" not in kept:
                raise SourceError("it is entered from several places")
            self._note(value)
        return f"{head} = phi {kind} {', '.join(kept)}"

    def _added(self, name: str) -> int:
        """What a visit of a block adds to the iterations."""
        graph = self.plan.graph
        assert graph is not None
        inner = graph.region.inner
        added = int(name == self.plan.loop.header)
        if inner is not None:
            added += int(name == inner.header) - int(name == entrance(inner))
        return added
