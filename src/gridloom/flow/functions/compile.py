"""From a function to a mapped program: each loop that can be a graph is mapped and confirmed; the host has the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from gridloom.archs.model import Arch
from gridloom.compiler.c.function.host import Host
from gridloom.compiler.c.function.host_code import host_code
from gridloom.compiler.c.function.program import (
    FunctionProgram,
    LoopPlan,
    plan_as_written,
    plan_controller,
    read_program,
)
from gridloom.compiler.c.function.signature import Signature, read_signature
from gridloom.errors import GridloomError, OptionError, SourceError
from gridloom.flow.bounds import lower_bound
from gridloom.flow.functions.mlir import MlirFunction, mlir_source
from gridloom.flow.functions.naming import NamedFunction, name_function
from gridloom.flow.inputs import ArchLike, fit_graph, memory_of, read_arch
from gridloom.flow.request import Request
from gridloom.flow.result import Result
from gridloom.flow.run import map_graph
from gridloom.limits import deadline, reading_seconds
from gridloom.mapping.model import Mapping

if TYPE_CHECKING:
    from gridloom.flow.functions.launching.configurations import Loads
    from gridloom.flow.functions.native import NativeFunction
    from gridloom.flow.functions.run import FunctionRun
    from gridloom.flow.system.program_data import ProgramData
    from gridloom.flow.system.run import SystemRun
    from gridloom.search.budget import Reporter
    from gridloom.sim.slot_code import SlotCode

#: Seconds and moves of search for each loop where the caller sets no limit: whichever ends first.
DEFAULT_TIME_LIMIT = 20.0
DEFAULT_EFFORT = 50_000
#: Why the host runs the last iterations of a jammed nest, and the ends of a search.
LEFT_OVER = "it runs what is left over of a nest that is launched by several"
SEARCHED = "it begins or ends a search that is launched"
#: Why the host runs the loops of functions that were not named.
NOT_ASKED = "its function is not named by --function"
LEFT_TO_HOST = (LEFT_OVER, SEARCHED, NOT_ASKED)


@dataclass(frozen=True, kw_only=True)
class CompiledLoop:
    """A loop of a compiled function. ``mapping`` is None where it stays on the host, for the reason given."""

    plan: LoopPlan = field(repr=False)
    mapping: Mapping | None = field(default=None, repr=False)
    #: The slots of the mapping, ready to be simulated.
    slots: SlotCode | None = field(default=None, repr=False)
    reason: str = ""
    #: The lower bound on the II; None on the host.
    bound: int | None = None

    @property
    def ii(self) -> int | None:
        """The II of the mapping."""
        return None if self.mapping is None else self.mapping.ii

    @property
    def prologue(self) -> int:
        """Cycles of the host for live-ins that are computed before a launch: a load takes 2, other operations 1."""
        graph = self.plan.graph
        return 0 if graph is None else sum(2 if made.op == "load" else 1 for made in graph.prologue.values())

    @property
    def given_words(self) -> int:
        """Cycles before a launch: the prologue, then one per live-in and start of an array."""
        graph = self.plan.graph
        return 0 if graph is None else self.prologue + len(graph.dfg.liveins) + len(graph.arrays)

    @property
    def left_words(self) -> int:
        """Cycles after a launch: one per live-out."""
        graph = self.plan.graph
        return 0 if graph is None else (len(graph.liveouts) + len(graph.high_words)) * self.plan.jam

    @property
    def text(self) -> str:
        """One line about the loop: its mapping, or why it stays on the host."""
        where = f"line {self.plan.line}" if self.plan.line else self.plan.name
        if self.mapping is None:
            return f"{where}: on the host: {self.reason}"
        if self.plan.controls:
            inner, *around = (loop.span.start for loop in self.plan.controls)
            return f"line {inner}: the loop controller starts it for each iteration of line {_listed(around)}"
        if self.plan.interchange is not None:
            where += f", exchanged with line {self.plan.loop.children[0].span.start}"
        elif self.plan.is_nest:
            inner = self.plan.loop.children[0].span.start
            where += f", as one loop with line {inner}" if inner else ", as one loop with the loop inside"
        if self.plan.jam > 1 and self.plan.loop.parent is not None:
            where += f", {self.plan.jam} iterations of line {self.plan.loop.parent.span.start} side by side"
        pieces = ", in pieces until it ends" if self.plan.pieces is not None else ""
        bound = f" (bound {self.bound})" if self.bound not in (None, self.ii) else ""
        return f"{where}: II {self.ii}{bound}, {len(self.mapping.dfg.nodes)} nodes{pieces}"


@dataclass(kw_only=True)
class Compiled:
    """A function with its loops on an array. :meth:`run` runs it on data."""

    program: FunctionProgram = field(repr=False)
    signature: Signature
    arch: Arch = field(repr=False)
    loops: tuple[CompiledLoop, ...]
    host: Host = field(repr=False)
    #: The same function compiled for this machine; None where there is no source.
    native: NativeFunction | MlirFunction | None = field(default=None, repr=False)
    #: What was asked for: the function, and how its loops are mapped.
    asked: tuple[NamedFunction, CompileOptions] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.program.name

    def __repr__(self) -> str:
        mapped = sum(loop.mapping is not None for loop in self.loops)
        return f"<Compiled {self.name} onto {self.arch.name}: {mapped} of {len(self.loops)} loops on the array>"

    def __str__(self) -> str:
        from gridloom.flow.functions.describing import compiled_text

        return compiled_text(self)

    def _repr_html_(self) -> str:
        from gridloom.flow.functions.describing import compiled_html

        return compiled_html(self)

    @cached_property
    def plain_host(self) -> Host:
        """The whole function as code of the host alone: no loop tells of itself."""
        program = self.program
        code = host_code(program.module, program.functions, [], program.file)
        return Host(program.module, code, program.file)

    @cached_property
    def loads(self) -> Loads:
        """Cycles to load the configuration of each mapped loop, by what the array holds before."""
        from gridloom.flow.functions.launching.configurations import loads_of
        from gridloom.mapping.configuration import configure

        return loads_of([configure(loop.mapping) for loop in self.loops if loop.mapping is not None])

    def predict(
        self, seed: int | None = None, always: bool = False, data: ProgramData | None = None, **arguments: Any
    ) -> SystemRun:
        """What ``gridloom system --run`` would measure: cycles of a RISC-V core with and without the array.

        A model of core, bus and array runs the program of a system. A whole program takes its ``data``. MappingError
        where no launch pays off; SourceError for what is no C. Costs the rewritten forms' searches and some seconds.
        """
        from gridloom.flow.system.command import task_of
        from gridloom.flow.system.compile import compile_for_system
        from gridloom.flow.system.machines import Modelled
        from gridloom.flow.system.run import NO_DATA, run_task

        if self.asked is None:
            raise SourceError("is no C function; a system runs C", where=self.program.file)
        named, options = self.asked
        compiled = compile_for_system(named, self.arch, **options)
        task = task_of(compiled, arguments, seed=seed, always=always, data=data or NO_DATA)
        return run_task(task, Modelled())

    def run(
        self,
        seed: int | None = None,
        simulate: int | str = 16,
        compare: bool = True,
        trace: bool = False,
        always: bool = False,
        native: bool = True,
        **arguments: Any,
    ) -> FunctionRun:
        """Call the function with numbers and NumPy arrays by name; returns value, arrays, cycles and the comparison.

        Arrays that are given are not changed; what the function left in them is in the result's ``arrays``. With a
        ``seed``, arguments that are not given are random. ``simulate`` says how many launches of each loop run cycle
        by cycle: a number, ``"first"`` or ``"all"``. With ``trace`` the result has ``events``. Launches that take
        fewer cycles on the host are the host's, unless all are ``always`` to be on the array. The result is compared
        with the function compiled for this machine; without ``native``, or where that cannot run, with the IR of the
        function, interpreted. OptionError for an
        argument that is missing or of a wrong type, SourceError where the function leaves its arrays or does not end.
        Costs about 0.1 s for a million instructions of the function, besides the simulation.
        """
        from gridloom.flow.functions.run import run_function

        return run_function(
            self, arguments, seed=seed, simulate=simulate, compare=compare, trace=trace, always=always, native=native
        )


def _listed(lines: Sequence[int]) -> str:
    """Lines of loops from the outside in."""
    return " and ".join(map(str, sorted(set(lines))))


class CompileOptions(TypedDict, total=False):
    """How the loops of a function are mapped. The same seed and effort give the same mappings."""

    #: The mapper's name; ``auto`` takes the one that suits the array.
    mapper: str
    seed: int
    #: Seconds of search for each loop.
    time_limit: float | None
    #: Moves of each search (or the mapper's own unit of work).
    effort: int | None
    #: Is called with a line about each loop.
    told: Callable[[str], None] | None
    progress: Reporter | None
    #: Also map what the bounds promise no gain of: iterations of the loop around side by side, loops exchanged.
    every: bool
    #: Arrays of different parameters do not overlap, as with ``restrict``; runs check it on their data.
    distinct: bool


def compile_function(source: str | Path | NamedFunction, arch: ArchLike, **options: Unpack[CompileOptions]) -> Compiled:
    """Map every loop of a function that the array can take; the rest of the function is code of a host.

    The source is ``FILE.c:FUNCTION`` or ``FILE.mlir:FUNCTION``, a whole program (``FILE.c`` with a ``main``), or what
    :func:`name_function` makes of several files.
    Each mapping is checked and simulated. A loop that cannot be a graph, or that has no mapping, stays on the host
    with the reason. Errors are GridloomErrors. Costs one search per loop, and three runs of clang for each file.
    """
    if not isinstance(source, NamedFunction) and mlir_source(source) is not None:
        judge = MlirFunction(str(source), distinct=options.get("distinct", False))
        compiled = compile_program(judge.program(), judge.signature(), arch, **options)
        compiled.native = judge
        return compiled
    named = source if isinstance(source, NamedFunction) else name_function([source])
    # Reading the program checks what the file includes, so that it comes first.
    with deadline(reading_seconds(options.get("time_limit")), "reading the source"):
        distinct = options.get("distinct", False)
        unrolled, plain = (
            read_program(named.source, named.function, unrolled=choice, distinct=distinct) for choice in (True, False)
        )
        signature = read_signature(named.source, named.function)

    def compile_form(program: FunctionProgram) -> Compiled:
        return compile_program(program, signature, arch, only=named.only, **options)

    compiled = choose_form(unrolled, plain, compile_form, compile_form)
    compiled.asked = named, options
    return compiled


def choose_form(
    unrolled: FunctionProgram, plain: FunctionProgram, compiled: Callable[[FunctionProgram], Compiled],
    otherwise: Callable[[FunctionProgram], Compiled],
) -> Compiled:  # fmt: skip
    """The function with short inner loops unrolled, or as written: what leaves fewer innermost loops to the host.

    In doubt it is unrolled: one launch does what each iteration of the outer loop was a launch for. ``otherwise``
    compiles the function as written.
    """
    if len(unrolled.loops) == len(plain.loops):
        return otherwise(plain)
    first = compiled(unrolled)
    if not loops_on_host(first):
        return first
    second = otherwise(plain)
    return second if loops_on_host(second) < loops_on_host(first) else first


def loops_on_host(compiled: Compiled) -> int:
    """Innermost loops that stay on the host, but for those that a rewriting leaves to it."""
    inner = (loop for loop in compiled.loops if not loop.plan.loop.children)
    return sum(loop.mapping is None and loop.plan.reason not in LEFT_TO_HOST for loop in inner)


def compile_program(
    program: FunctionProgram,
    signature: Signature,
    arch: ArchLike,
    *,
    only: Collection[str] = (),
    **options: Unpack[CompileOptions],
) -> Compiled:
    """:func:`compile_function` for a program whose IR may come from elsewhere.

    Runs are compared with the C files of the program; without any they are compared with nothing. Where ``only`` names
    functions, the loops of others stay on the host.
    """
    array = read_arch(arch)
    if array.style == "elastic":
        raise OptionError(f"array {array.name!r} is elastic; functions need a static or modulo-scheduled array")
    request = mapping_request(array, options)
    told, every = options.get("told"), options.get("every", False)
    loops = []
    for plan in restrict_loops(program, only):
        mapped = map_loop(plan, array, request, program.file)
        loops += [*_jammed(plan, mapped, array, request, every), mapped]
    # Whether to exchange two loops depends on what the inner one reaches without that.
    for k in reversed(range(len(loops))):
        loops[k:k] = _exchanged(loops[k].plan, loops, array, request, every)
    if told is not None:
        for loop in loops:
            told(loop.text)
    return finish_function(program, signature, array, loops)


def restrict_loops(program: FunctionProgram, only: Collection[str]) -> list[LoopPlan]:
    """The loops of a program, those of other functions than ``only`` without graphs. OptionError for unknown names."""
    reached = {function.name for function in program.functions}
    if unknown := sorted(set(only) - reached):
        listed = ", ".join(sorted(reached))
        raise OptionError(f"{program.name!r} does not reach {unknown[0]!r}; it reaches: {listed}", where="--function")
    return [
        plan if not only or plan.loop.function.name in only
        else replace(plan, graph=None, pieces=None, jams=(), exchanged=None, reason=NOT_ASKED)
        for plan in program.loops
    ]  # fmt: skip


def mapping_request(arch: Arch, options: CompileOptions) -> Request:
    """How each loop is mapped; where the caller sets no limit, both time and effort end a search."""
    limit, effort = options.get("time_limit"), options.get("effort")
    if limit is None and effort is None:
        limit, effort = DEFAULT_TIME_LIMIT, DEFAULT_EFFORT
    return Request(
        source="", arch=arch, mapper=options.get("mapper", "auto"), seed=options.get("seed", 0), time_limit=limit,
        effort=effort, progress=options.get("progress"),
    )  # fmt: skip


def finish_function(
    program: FunctionProgram, signature: Signature, arch: Arch, loops: Sequence[CompiledLoop]
) -> Compiled:
    """A function whose loops are mapped, with the host's code and what it is compared with."""
    from gridloom.flow.functions.native import NativeFunction

    loops = [*_controlled(program, arch, loops), *loops]
    marks = [mark for loop in loops if loop.mapping is not None for mark in loop.plan.marks]
    code = host_code(program.module, program.functions, marks, program.file)
    native = None
    if program.source is not None:
        native = NativeFunction(program.source, signature, _variables(program, signature))
    return Compiled(
        program=program, signature=signature, arch=arch, loops=tuple(loops),
        host=Host(program.module, code, program.file), native=native,
    )  # fmt: skip


def _controlled(program: FunctionProgram, arch: Arch, loops: Sequence[CompiledLoop]) -> Iterator[CompiledLoop]:
    """The mapped loops that the array's loop controller starts for each iteration of loops around them."""
    for loop in loops if arch.loop_levels else ():
        plan = plan_controller(program.module, loop.plan, arch.loop_levels)
        if loop.mapping is not None and plan is not None:
            yield replace(loop, plan=plan)


def map_loop(plan: LoopPlan, arch: Arch, request: Request, file: str) -> CompiledLoop:
    """A loop on the array, or the reason why it stays on the host.

    A graph that has no mapping does not hide one that has: the loop as written is tried where the reduced one fails.
    """
    if plan.graph is None:
        return CompiledLoop(plan=plan, reason=plan.reason)
    found = _searched(plan, arch, request)
    other = plan_as_written(plan, file) if found.mapping is None else None
    second = found if other is None else _searched(other, arch, request)
    return found if second.mapping is None else second


def _searched(plan: LoopPlan, arch: Arch, request: Request) -> CompiledLoop:
    """The graph of a plan on the array, or why it has no mapping."""
    assert plan.graph is not None
    if memory_of(arch) != "arrays" and not plan.graph.streams:
        return CompiledLoop(plan=plan, reason=f"array {arch.name} has no memory units")
    try:
        result = map_graph(request, fit_graph(plan.graph.dfg, arch), arch)
    except GridloomError as error:
        return CompiledLoop(plan=plan, reason=str(error))
    if result.mapping is None:
        return CompiledLoop(plan=plan, reason=_failure(result))
    return compiled_loop(plan, result.mapping, None if result.bound is None else result.bound.total)


def _jammed(plan: LoopPlan, mapped: CompiledLoop, arch: Arch, request: Request, every: bool) -> list[CompiledLoop]:
    """The loop with iterations of the loop around side by side, where bounds and a mapping say that this is faster."""
    if mapped.ii is None or not plan.jams:
        return []
    bounds = [(lower_bound(jam.graph.dfg, arch), jam) for jam in plan.jams if jam.graph is not None]
    rates = [(bound.total / jam.jam, jam.jam, jam) for bound, jam in bounds if bound is not None and not bound.missing]
    least, _, best = min(rates, key=lambda rate: rate[:2], default=(mapped.ii, 1, plan))
    if best is plan or (least >= mapped.ii and not every):
        return []
    found = _searched(best, arch, request)
    return [found] if found.ii is not None and (found.ii / best.jam < mapped.ii or every) else []


def _exchanged(
    plan: LoopPlan, loops: Sequence[CompiledLoop], arch: Arch, request: Request, every: bool
) -> list[CompiledLoop]:
    """The nest with its loops exchanged, where bounds and a mapping say that this is faster.

    It is where the II becomes lower, and where it stays the same and the outer loop is known to be the longer one:
    there are fewer launches then.
    """
    other = plan.exchanged
    if other is None or other.graph is None or other.interchange is None:
        return []
    inner = [loop for loop in loops if loop.plan.loop is plan.loop.children[0] and loop.ii is not None]
    rate = min((loop.ii / loop.plan.jam for loop in inner if loop.ii is not None), default=float("inf"))
    bound = lower_bound(other.graph.dfg, arch)
    longer, shorter = other.interchange.lengths
    is_longer = every or (longer is not None and shorter is not None and longer > shorter)
    if every:
        rate = float("inf")
    if bound is None or bound.missing or bound.total > rate or (bound.total == rate and not is_longer):
        return []
    found = _searched(other, arch, request)
    return [found] if found.ii is not None and (found.ii < rate or (is_longer and found.ii == rate)) else []


def compiled_loop(plan: LoopPlan, mapping: Mapping, bound: int | None) -> CompiledLoop:
    """A loop with its mapping, ready to be simulated."""
    from gridloom.mapping.configuration import configure
    from gridloom.sim.slot_code import compile_slots

    return CompiledLoop(plan=plan, mapping=mapping, slots=compile_slots(configure(mapping)), bound=bound)


def _failure(result: Result) -> str:
    """Why there is no mapping."""
    failure = result.failure
    if failure is None:
        return "no mapping was found"
    return f"no mapping: {failure.constraint}: needs {failure.demand}, has {failure.bound}"


def _variables(program: FunctionProgram, signature: Signature) -> Sequence[tuple[str, int]]:
    """The variables of the file that C can name and the function may change, with their bytes."""
    found = []
    for name, variable in program.module.globals.items():
        kind = signature.variables.get(name)
        if kind is not None and not variable.constant and kind.bytes:
            found.append((name, kind.bytes))
    return found
