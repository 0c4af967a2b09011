"""A function as a program of a host and an array: which of its loops can become graphs, and why others cannot.

Every innermost loop of the function, and of the functions that it calls and clang did not inline, is translated. All
other code stays on the host: the loops around, what stands between loops, early returns and calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gridloom.errors import GridloomError, SourceError
from gridloom.frontend.c.c_loop import CLoop
from gridloom.frontend.c.function.exits import ExitLoop, exit_loop
from gridloom.frontend.c.function.host_code import Mark
from gridloom.frontend.c.llvm.driver import compile_to_ir
from gridloom.frontend.c.llvm.ir import Argument, Constant, Function, Instruction, Module, Value
from gridloom.frontend.c.llvm.reader import read_module
from gridloom.frontend.c.loops import Loop, find_loops
from gridloom.frontend.c.region import single
from gridloom.frontend.c.translate import translate


@dataclass(frozen=True, kw_only=True, eq=False)
class LoopPlan:
    """A loop of the program. ``graph`` is None where it stays on the host, for the reason given."""

    number: int
    name: str
    line: int
    depth: int
    loop: Loop = field(repr=False)
    graph: CLoop | None = field(default=None, repr=False)
    #: Set for a loop with early exits, which runs in pieces.
    pieces: ExitLoop | None = field(default=None, repr=False)
    reason: str = ""

    @property
    def given(self) -> list[Value]:
        """The values that are read when the loop begins: live-ins, the starts of arrays, what later pieces need."""
        if self.graph is None:
            return []
        bases = [self.graph.bases[array.name] for array in self.graph.arrays]
        return [*map(self._known, self.graph.liveins.values()), *bases, *self.needed]

    @property
    def needed(self) -> list[Value]:
        """Values from outside that a later piece starts from, and the pointers that left ones are counted from."""
        if self.pieces is None:
            return []
        later = [item.following for item in self.pieces.carried if item.livein and not item.liveout]
        return [*later, *(item.root for item in self.pieces.left if item.root is not None)]

    def _known(self, value: Value) -> Value:
        """A value as the function has it: how far a pointer has moved is 0 when the loop begins."""
        if isinstance(value, Argument) and value not in self.loop.function.arguments:
            return Constant(value.type, 0)
        return value

    @property
    def left(self) -> list[Instruction]:
        """The values that the array gives back."""
        if self.pieces is not None:
            return [item.item for item in self.pieces.left]
        return [] if self.graph is None else list(self.graph.liveouts.values())

    @property
    def mark(self) -> Mark:
        """The loop as generated code tells about it."""
        return Mark(self.number, self.loop, self.given, self.left)


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionProgram:
    """A function, the functions that it reaches, and their loops in the order of the source."""

    name: str
    file: str
    module: Module = field(repr=False)
    function: Function = field(repr=False)
    functions: tuple[Function, ...] = field(repr=False)
    loops: tuple[LoopPlan, ...]


def read_program(path: Path, function: str) -> FunctionProgram:
    """The program of a function of a C file. SourceError where the file does not compile or has no such function.

    Runs clang once, 0.1 to 0.4 s; the rest is linear in the instructions, but for the order of memory accesses.
    """
    return program_of(read_module(compile_to_ir(path), str(path)), function, str(path))


def program_of(module: Module, function: str, file: str) -> FunctionProgram:
    """The program of a function of a module, wherever its IR comes from. ``file`` is for messages."""
    if function not in module.functions:
        known = ", ".join(module.functions) or "none"
        raise SourceError(f"has no function {function!r}; it has: {known}", where=file)
    reached = _reached(module, function)
    loops: list[LoopPlan] = []
    for item in reached:
        for loop in find_loops(module, item):
            loops.append(_plan(module, loop, len(loops), file))
    return FunctionProgram(
        name=function, file=file, module=module, function=module.functions[function], functions=tuple(reached),
        loops=tuple(loops),
    )  # fmt: skip


def _reached(module: Module, name: str) -> list[Function]:
    """The function and all functions of the module that it may call, each once."""
    found: dict[str, Function] = {}
    work = [name]
    while work:
        item = work.pop()
        if item not in found:
            found[item] = module.functions[item]
            calls = (i.callee for b in found[item].blocks.values() for i in b.instructions if i.opcode == "call")
            work += [callee for callee in calls if callee in module.functions]
    return list(found.values())


def _plan(module: Module, loop: Loop, number: int, file: str) -> LoopPlan:
    """What becomes of one loop."""
    depth, around = 0, loop.parent
    while around:
        depth, around = depth + 1, around.parent
    name = f"{loop.function.name}_{loop.span.start}" if loop.span.start else f"{loop.function.name}_loop{number}"
    plan = LoopPlan(number=number, name=name, line=loop.span.start, depth=depth, loop=loop)
    if loop.children:
        return replace(plan, reason="the host runs it around its inner loops")
    return _translated(module, plan, file)


def _translated(module: Module, plan: LoopPlan, file: str) -> LoopPlan:
    """The plan with a graph: of a counted loop, else of a loop in pieces; or with the reason why it has none."""
    region, loop = None, plan.loop
    sizes: Mapping[str, int] = {}
    try:
        region = single(loop, file)
        return replace(plan, graph=translate(module, region, file, plan.name, sizes))
    except GridloomError as error:
        reason = error
    try:
        pieces = exit_loop(module, loop, plan.name, file)
        return replace(plan, graph=pieces.graph, pieces=pieces)
    except GridloomError as error:
        # What keeps a counted loop off the array is said of it, and not of what it was rewritten into.
        reason = reason if region is not None else error
    return replace(plan, reason=getattr(reason, "message", str(reason)))
