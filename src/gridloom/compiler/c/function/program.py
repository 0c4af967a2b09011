"""A function as a program of a host and an array: which of its loops can become graphs, and why others cannot.

Every innermost loop of the function, and of the functions that it calls and clang did not inline, is translated. All
other code stays on the host: the loops around, what stands between loops, early returns and calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from gridloom.compiler.analysis.loops import NaturalLoop, find_loops
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.function.exits import ExitLoop, exit_loop
from gridloom.compiler.c.function.host_code import LoopVariant, Mark
from gridloom.compiler.c.nest.interchange import Exchanged, interchange_nest
from gridloom.compiler.c.nest.restarts import controlled_loops
from gridloom.compiler.c.region import LoopRegion, flatten_nest, single
from gridloom.compiler.c.source.pragmas import with_assertions
from gridloom.compiler.c.translate import translate
from gridloom.compiler.ir.c_source import CSource, source_of
from gridloom.compiler.ir.distinct import declare_distinct, mark_distinct
from gridloom.compiler.ir.driver import compile_program
from gridloom.compiler.ir.ir import Constant, Function, Instruction, IrModule, IrParameter, Value
from gridloom.compiler.ir.linking import keep_reachable
from gridloom.compiler.ir.reader import read_module
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import GridloomError, SourceError

#: How many iterations of the loop around may run side by side.
JAM_FACTORS: Final = (2, 4)


class PassNote(NamedTuple):
    """What a pass did with a loop: the line of the loop, the pass, and what came of it or why not."""

    line: int
    name: str
    outcome: str


@dataclass(frozen=True, kw_only=True, eq=False)
class LoopPlan:
    """A loop of the program. ``graph`` is None where it stays on the host, for the reason given."""

    variant: LoopVariant
    name: str
    line: int
    depth: int
    loop: NaturalLoop = field(repr=False)
    graph: CLoop | None = field(default=None, repr=False)
    #: Set for a loop with early exits, which runs in pieces.
    pieces: ExitLoop | None = field(default=None, repr=False)
    reason: str = ""
    #: False where the graph is the loop as written, which is mapped where the reduced one cannot be.
    reduced: bool = True
    #: The same loop with several iterations of the loop around side by side, where that changes no value.
    jams: tuple[LoopPlan, ...] = field(default=(), repr=False)
    #: The nest with its loops exchanged, of which the graph is the outer one; one launch for each inner iteration.
    interchange: Exchanged | None = field(default=None, repr=False)
    #: The same nest exchanged, where that changes no value.
    exchanged: LoopPlan | None = field(default=None, repr=False)
    #: The loop inside, and the loops around it from the inside out, where a loop controller starts it for each of their
    #: iterations; ``loop`` is the last of them.
    controls: tuple[NaturalLoop, ...] = field(default=(), repr=False)
    #: What each pass made of the loop, in the order in which they ran.
    log: tuple[PassNote, ...] = field(default=(), repr=False)

    @property
    def jam(self) -> int:
        """Iterations of the loop around that the graph does side by side."""
        return self.variant.factor

    @property
    def is_nest(self) -> bool:
        """True for a loop that runs as one with the loop inside it, or exchanged with it."""
        parts = self.graph is not None and self.graph.region.inner is not None
        return parts or self.interchange is not None or bool(self.controls)

    @property
    def variants(self) -> tuple[LoopPlan, ...]:
        """The loop, and what else may be mapped in its place."""
        return (self, *self.jams, *([self.exchanged] if self.exchanged is not None else []))

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
        if isinstance(value, IrParameter) and value not in self.loop.function.arguments:
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
        if self.controls:
            return Mark(self.variant, self.loop, (), ())
        return Mark(self.variant, self.loop, self.given, self.left)

    @property
    def marks(self) -> list[Mark]:
        """The loop as generated code tells about it; where launches run side by side, the loop around, too."""
        if self.jam == 1 or self.loop.parent is None:
            return [self.mark]
        return [Mark(self.outer_variant, self.loop.parent, (), ()), self.mark]

    @property
    def outer_variant(self) -> LoopVariant:
        """The loop around launches side by side."""
        return self.variant._replace(kind="jam_outer")


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionProgram:
    """A function, the functions that it reaches, and their loops in the order of the source."""

    name: str
    file: str
    module: IrModule = field(repr=False)
    function: Function = field(repr=False)
    functions: tuple[Function, ...] = field(repr=False)
    loops: tuple[LoopPlan, ...]
    #: Whether clang has unrolled short loops of a constant number of iterations.
    unrolled: bool = False
    #: Whether arrays of different parameters are said not to overlap.
    distinct: bool = False
    #: The files that it was read from; None where its IR comes from elsewhere.
    source: CSource | None = None
    #: What clang took for granted in an old text.
    warnings: tuple[str, ...] = ()
    #: The IR that the loops were read from, where it is not what clang makes of the file.
    ir: str = field(default="", repr=False)


def read_program(
    source: Path | CSource, function: str, *, unrolled: bool = False, distinct: bool = False
) -> FunctionProgram:
    """The program of a function of C files. SourceError where one does not compile or none has such a function.

    With ``unrolled``, short loops of a constant number of iterations are unrolled, so that the loops around them become
    innermost ones. Only what the function reaches is read. With ``distinct``, arrays of different parameters of the
    function do not overlap. Runs clang once for each file, 0.1 to 0.4 s; the rest is linear in the instructions, but
    for the order of memory accesses.
    """
    found = source_of(source)
    made = compile_program(found, unrolled=unrolled)
    file = str(found.path)
    text = keep_reachable(made.ir, {function}, file)
    if distinct:
        text = declare_distinct(text, function, found.path)
    module = mark_distinct(read_module(text, file), function if distinct else "")
    for unit in found.units:
        with_assertions(module, unit.path)
    return replace(
        program_of(module, function, file), unrolled=unrolled, source=found, warnings=made.warnings,
        distinct=distinct, ir=text if distinct else "",
    )  # fmt: skip


def program_of(
    module: IrModule, function: str, file: str, *, turns: Mapping[str, int] = MappingProxyType({})
) -> FunctionProgram:
    """The program of a function of a module, wherever its IR comes from. ``file`` is for messages.

    ``turns`` says of outer loops, by their headers, how often the loop inside runs at least whenever it is entered.
    """
    if function not in module.functions:
        known = ", ".join(module.functions) or "none"
        raise SourceError(f"has no function {function!r}; it has: {known}", where=file)
    reached = reached_functions(module, function)
    loops: list[LoopPlan] = []
    for item in reached:
        for loop in find_loops(module, item):
            plan = _plan(module, loop, len(loops), file, turns.get(loop.header, 0))
            same = sum(
                other.line == plan.line and other.loop.function is item for other in loops if not other.loop.children
            )
            # Loops of one line, as macros make them, are told apart by a number.
            loops.append(replace(plan, name=f"{plan.name}_{same + 1}") if same and not loop.children else plan)
    return FunctionProgram(
        name=function, file=file, module=module, function=module.functions[function], functions=tuple(reached),
        loops=tuple(loops),
    )  # fmt: skip


def reached_functions(module: IrModule, name: str) -> list[Function]:
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


def _plan(module: IrModule, loop: NaturalLoop, number: int, file: str, turns: int) -> LoopPlan:
    """What becomes of one loop."""
    depth, around = 0, loop.parent
    while around:
        depth, around = depth + 1, around.parent
    name = f"{loop.function.name}_{loop.span.start}" if loop.span.start else f"{loop.function.name}_loop{number}"
    plan = LoopPlan(variant=LoopVariant(number), name=name, line=loop.span.start, depth=depth, loop=loop)
    if loop.children:
        found = _flattened(module, plan, file, turns)
        other, note = _exchanged(module, plan, file)
        return replace(found, exchanged=other, log=(*found.log, note))
    return _translated(module, plan, file)


def entrance(inner: NaturalLoop) -> str:
    """The block that leads into an inner loop and nowhere else; "" where there is none."""
    blocks = inner.function.blocks
    before = [name for name, block in blocks.items() if inner.header in block.successors and name not in inner.blocks]
    return before[0] if len(before) == 1 and blocks[before[0]].successors == [inner.header] else ""


def _flattened(module: IrModule, plan: LoopPlan, file: str, turns: int) -> LoopPlan:
    """The plan of a loop around one innermost loop, with the graph of both as one loop where there is one."""
    around = replace(plan, reason="the host runs it around its inner loops")
    inner = plan.loop.children[0]
    try:
        region = flatten_nest(plan.loop, file)
        if not entrance(inner):
            raise SourceError("the inner loop is entered from several places")
        graph = translate(module, region, file, f"{plan.name}_nest", {}, turns=turns)
    except GridloomError as error:
        return replace(around, log=(_note(plan, "flatten", error),))
    return replace(plan, graph=graph, name=f"{plan.name}_nest", log=(_note(plan, "flatten", graph),))


def _note(plan: LoopPlan, name: str, outcome: CLoop | GridloomError) -> PassNote:
    """What a pass made of a loop: a graph, or an error that says why not."""
    if isinstance(outcome, CLoop):
        operations = sum(not op.timeless for op in outcome.dfg.ops)
        return PassNote(plan.line, name, f"{operations} operations, RecMII {recurrence_mii(outcome.dfg)}")
    return PassNote(plan.line, name, f"not done: {getattr(outcome, 'message', outcome)}")


def _exchanged(module: IrModule, plan: LoopPlan, file: str) -> tuple[LoopPlan | None, PassNote]:
    """The plan of a loop around one innermost loop with both exchanged, None where that is not legal; and a note."""
    name = f"{plan.name}_exchanged"
    try:
        found = interchange_nest(module, plan.loop, file)
        graph = translate(module, found.region, file, name, {})
    except GridloomError as error:
        return None, _note(plan, "interchange", error)
    variant = plan.variant._replace(kind="interchange")
    made = replace(plan, variant=variant, name=name, graph=graph, interchange=found)
    return made, _note(plan, "interchange", graph)


def _translated(module: IrModule, plan: LoopPlan, file: str) -> LoopPlan:
    """The plan with a graph: of a counted loop, else of a loop in pieces; or with the reason why it has none."""
    region, loop = None, plan.loop
    sizes: Mapping[str, int] = {}
    try:
        region = single(loop, file)
        graph = translate(module, region, file, plan.name, sizes)
        found = replace(plan, graph=graph)
        jams = [*_jams(module, found, region, file)]
        notes = (_note(plan, "translate", graph), *(note for _, note in jams))
        return replace(found, jams=tuple(jam for jam, _ in jams if jam is not None), log=notes)
    except GridloomError as error:
        reason = error
    notes = (_note(plan, "translate", reason),)
    try:
        pieces = exit_loop(module, loop, plan.name, file)
        return replace(plan, graph=pieces.graph, pieces=pieces, log=(*notes, _note(plan, "split exits", pieces.graph)))
    except GridloomError as error:
        notes = (*notes, _note(plan, "split exits", error))
        # What keeps a counted loop off the array is said of it, and not of what it was rewritten into.
        reason = reason if region is not None else error
    return replace(plan, reason=getattr(reason, "message", str(reason)), log=notes)


def plan_as_written(plan: LoopPlan, file: str) -> LoopPlan | None:
    """The plan with the graph as the source has it, where nothing is reduced; None where that is no other graph.

    Its graph may be mapped where the reduced one cannot be: it has more operations, and fewer values to hold.
    """
    graph = plan.graph
    if graph is None or plan.pieces is not None or plan.is_nest or plan.jam > 1:
        return None
    try:
        made = translate(graph.module, graph.region, file, plan.name, {}, streams=bool(graph.streams), reduced=False)
    except GridloomError:
        return None
    return None if made.dfg == graph.dfg else replace(plan, graph=made, reduced=False)


def plan_controller(module: IrModule, plan: LoopPlan, levels: int) -> LoopPlan | None:
    """The plan of the loops around a counted loop that a controller of so many levels takes over; None: of none."""
    if plan.graph is None or plan.pieces is not None or plan.is_nest or plan.jam > 1:
        return None
    around = controlled_loops(module, plan.graph, levels)
    if not around:
        return None
    variant, name = plan.variant._replace(kind="controller"), f"{plan.name}_controlled"
    return replace(plan, variant=variant, name=name, line=around[-1].span.start, depth=plan.depth - len(around),
                   loop=around[-1], jams=(), controls=(plan.loop, *around))  # fmt: skip


def _jams(
    module: IrModule, plan: LoopPlan, region: LoopRegion, file: str
) -> Iterator[tuple[LoopPlan | None, PassNote]]:  # fmt: skip
    """The loop with several iterations of the loop around it side by side, None where that is not legal; and notes."""
    outer = plan.loop.parent
    if outer is None:
        return
    for factor in JAM_FACTORS:
        name = f"{plan.name}_jam{factor}"
        try:
            graph = translate(module, region, file, name, {}, jammed=factor)
        except GridloomError as error:
            yield None, _note(plan, f"jam by {factor}", error)
            return
        # Without a value that is read afterwards the loop computes nothing.
        if graph.liveouts:
            variant = LoopVariant(plan.variant.loop, "jam", factor)
            yield replace(plan, variant=variant, name=name, graph=graph), _note(plan, f"jam by {factor}", graph)
