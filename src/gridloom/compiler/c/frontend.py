"""From a C file to the graph of one of its loops: which loop, by which options, and what the others are.

The steps, each in a module of its own: clang compiles the file (``llvm.driver``), its IR becomes records
(``llvm.reader``), loops are found (``loops``), one of them or a nest of two becomes an acyclic region (``region``),
and the region becomes a graph (``translate``), which may be unrolled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from gridloom.compiler.analysis.loops import NaturalLoop, find_loops
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.c.function.exits import exit_loop
from gridloom.compiler.c.nest.interchange import interchange_nest
from gridloom.compiler.c.region import LoopRegion, flatten_nest, single
from gridloom.compiler.c.source.loop_text import GONE, find_vanished_loops
from gridloom.compiler.c.source.pragmas import find_pragmas, with_assertions
from gridloom.compiler.c.translate import translate
from gridloom.compiler.ir.c_source import PLAIN, CSource, CUnit, SourceOptions, is_c
from gridloom.compiler.ir.ir import IrModule
from gridloom.compiler.ir.reader import module_of
from gridloom.compiler.loops.source_name import SourceName
from gridloom.compiler.loops.spec import AUTO, MAX_UNROLL, Memory, parse
from gridloom.compiler.loops.unroll import unroll_graph
from gridloom.dfg.model import Dfg
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import OptionError, SourceError
from gridloom.text_file import read_text

_LOOP_WORD: Final = re.compile(r"\b(for|while|do|goto)\b|#[ \t]*include")
_UNROLL: Final = re.compile(r"#[ \t]*pragma[ \t].*unroll")


@dataclass(frozen=True, slots=True, kw_only=True)
class COptions:
    """How a loop is picked and turned into a graph.

    Without ``loop`` it is the one below ``#pragma gridloom``, or the only innermost one.
    """

    #: The function that holds the loop.
    function: str | None = None
    #: Which loop of the function (or of the file), counted from 0 in the order of the source.
    loop: int | None = None
    #: Run the loop around the innermost one and the innermost one as one loop.
    flatten: bool = False
    #: Copies of the body in one iteration of the graph.
    unroll: int = 1
    #: Words of arrays whose length the source does not give, by name.
    sizes: Mapping[str, int] = field(default_factory=dict)
    #: ``arrays``: loads and stores with address arithmetic; ``streams``: inputs and outputs, for arrays without memory.
    memory: Memory = "arrays"
    #: Whether loads are used again, indices become counters and fixed values leave the loop; else it is as written.
    reduced: bool = True
    #: Iterations of the loop around that run side by side.
    jam: int = 1
    #: Exchange the loop with the one around it: the graph is an iteration of that one.
    interchange: bool = False
    #: Read every f64 of an MLIR file as f32.
    singles: bool = False
    #: Arrays of different parameters do not overlap.
    distinct: bool = False
    #: How the file is compiled.
    compiling: SourceOptions = PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopReport:
    """A loop as ``gridloom show file.c`` lists it.

    A loop that cannot be mapped is listed, too, with the reason in ``limit``.
    """

    function: str
    #: What ``--loop`` takes together with ``--function``; None for a function that is refused as a whole, -1 for a loop
    #: of the source that clang left none of.
    number: int | None
    line: int
    depth: int
    innermost: bool
    #: Nodes of the graph by op; empty where the loop cannot be translated.
    ops: Mapping[str, int] = field(default_factory=dict)
    rec_mii: int | None = None
    trip: str = ""
    #: Why the loop cannot be mapped; None where it can.
    limit: str | None = None
    #: What would make it better: ``restrict`` on a parameter.
    advice: tuple[str, ...] = ()


def load(path: Path, options: COptions | None = None, **changes: Any) -> CLoop:
    """The loop of a C file that the options (or the file's ``#pragma gridloom``) name. Costs a run of clang, 0.1-0.4 s.

    Without either, the file must have one innermost loop.
    """
    asked = replace(options or COptions(), **changes)
    return pick(compile_file(path, asked), path, asked)


def compile_file(path: Path, options: COptions | None = None) -> IrModule:
    """The compiled file, from which any number of loops may be picked. Costs a run of clang, 0.1-0.4 s.

    Of an MLIR file only the function that the options name is lowered. SourceError where no function of it is taken.
    """
    asked = options or COptions()
    source = CSource(units=(CUnit(path=path, options=asked.compiling),))
    module = module_of(source, asked.function, singles=asked.singles, distinct=asked.distinct)
    if not module.functions and module.refused:
        line, reason = next(iter(module.refused.values()))
        raise SourceError(reason, where=f"{path}:{line}")
    return with_assertions(module, path)


def pick(module: IrModule, path: Path, options: COptions | None = None, **changes: Any) -> CLoop:
    """A loop of a file that is compiled already.

    Options and changes are those of :func:`load`. SourceError names the loop that cannot be taken and why. Linear in
    the function's instructions, apart from the order of its accesses.
    """
    asked = replace(options or COptions(), **changes)
    if asked.unroll == AUTO:
        asked = replace(asked, unroll=1)
    if not 1 <= asked.unroll <= MAX_UNROLL:
        raise OptionError(f"unroll = {asked.unroll}; expected 1 to {MAX_UNROLL}")
    loops = {name: find_loops(module, function) for name, function in module.functions.items()}
    chosen = _choose(path, loops, asked)
    # A file that is named after its only function would say the same word twice.
    name = f"{path.stem}.{chosen.function.name}" if path.stem != chosen.function.name else path.stem
    try:
        region = _region(module, chosen, path, asked)
        translated = translate(
            module, region, str(path), name, asked.sizes, streams=asked.memory == "streams", reduced=asked.reduced,
            jammed=asked.jam,
        )  # fmt: skip
    except SourceError as error:
        plain = asked.memory == "arrays" and asked.jam == 1 and not (asked.flatten or asked.interchange)
        raise (_referring_to_compile(error, module, chosen, str(path)) if plain else error) from None
    # A stream brings one element per iteration; the copies of a body would need one stream each.
    if asked.unroll > 1 and asked.memory == "streams":
        raise OptionError(
            f"unroll = {asked.unroll}: the loop's accesses are streams, since the array has no memory units (or "
            "memory=streams asks for them), and a stream brings one element in each iteration; leave out unroll, or "
            "map the loop onto an array with memory units (torus)"
        )
    return replace(translated, dfg=unroll_graph(translated.dfg, asked.unroll)) if asked.unroll > 1 else translated


def read(path: Path) -> Dfg:
    """The graph of a C file's loop, by its pragma or because there is only one.

    Errors and cost are those of :func:`load`.
    """
    return load(path).dfg


def read_spec(text: str | SourceName, memory: Memory | None = None) -> Dfg:
    """The graph of ``FILE.c:FUNCTION,key=value,...``; ``memory`` is for a text that does not say it.

    ``fir.c:fir,unroll=2``, ``nest.c:flatten=true``, ``a.c:f,loop=1,memory=streams,size.x=64``.
    """
    path, options = parse_spec(text, memory)
    return load(path, options).dfg


def parse_spec(text: str | SourceName, memory: Memory | None = None) -> tuple[Path, COptions]:
    """The file and the options that a text names; OptionError for an unknown key or a bad value.

    >>> path, options = parse_spec("fir.c:fir,unroll=2,size.x=64")
    >>> str(path), options.function, options.unroll, dict(options.sizes)
    ('fir.c', 'fir', 2, {'x': 64})
    """
    spec = parse(text)
    return spec.path, COptions(
        function=spec.function,
        loop=spec.loop,
        flatten=spec.flatten,
        unroll=spec.unroll,
        sizes=spec.sizes,
        memory=spec.memory or memory or "arrays",
        reduced=spec.reduced is not False,
        jam=spec.jam,
        interchange=spec.interchange,
        singles=spec.singles,
        distinct=spec.distinct,
        compiling=spec.options,
    )


def describe(path: Path, options: SourceOptions = PLAIN) -> list[LoopReport]:
    """Every loop of a C file: where it is, what its graph has, and why one cannot be mapped. Runs clang once."""
    module = with_assertions(module_of(CSource(units=(CUnit(path=path, options=options),))), path)
    seen = set()
    reports = [
        LoopReport(function=name, number=None, line=line, depth=0, innermost=False, limit=f"{path}:{line}: {reason}")
        for name, (line, reason) in module.refused.items()
    ]
    for function in module.functions.values():
        for number, loop in enumerate(find_loops(module, function)):
            seen |= {loop.span.start}
            reports.append(_report(module, loop, number, str(path)))
    for name, line in find_vanished_loops(read_text(path), module, seen) if is_c(path) else ():
        place = f"{path}:{line}: loop in {name!r}"
        reports.append(
            LoopReport(function=name, number=-1, line=line, depth=0, innermost=True, limit=f"{place}: {GONE}")
        )
    return sorted(reports, key=lambda report: report.line)


def _report(module: IrModule, loop: NaturalLoop, number: int, file: str) -> LoopReport:
    """What a listing says of one loop; a loop that cannot be translated has the reason instead of a graph."""
    depth, around = 0, loop.parent
    while around:
        depth, around = depth + 1, around.parent
    report = LoopReport(
        function=loop.function.name, number=number, line=loop.span.start, depth=depth, innermost=not loop.children
    )
    try:
        made = translate(module, single(loop, file), file, loop.function.name, {})
    except SourceError as error:
        return replace(report, limit=str(_referring_to_compile(error, module, loop, file)))
    ops: dict[str, int] = {}
    for node, op in zip(made.dfg.nodes, made.dfg.ops):
        if not op.timeless:
            ops[node.op] = ops.get(node.op, 0) + 1
    return replace(report, ops=ops, rec_mii=recurrence_mii(made.dfg), trip=made.trip, advice=tuple(made.advice()))


def _referring_to_compile(error: SourceError, module: IrModule, loop: NaturalLoop, file: str) -> SourceError:
    """The error, with what to do where a function that has the loop can be compiled: such loops run in pieces."""
    if loop.children or not loop.exits:
        return error
    try:
        exit_loop(module, loop, loop.function.name, file)
    except SourceError:
        return error
    return SourceError(f"{error.message}; gridloom compile {file}:{loop.function.name} runs it in pieces",
                       where=error.where)  # fmt: skip


def _region(module: IrModule, chosen: NaturalLoop, path: Path, asked: COptions) -> LoopRegion:
    """What is translated: the loop that was chosen, or that one and the loop around it."""
    if asked.interchange and (asked.flatten or asked.jam > 1):
        raise OptionError("interchange goes with neither flatten nor jam; leave out one of them")
    if asked.interchange:
        return interchange_nest(
            module, _outer(chosen, path, "be exchanged with it; leave out interchange"), str(path)
        ).region
    if asked.flatten:
        return flatten_nest(_outer(chosen, path, "be flattened into it; leave out --flatten"), str(path))
    return single(chosen, str(path))


def _outer(loop: NaturalLoop, path: Path, aim: str) -> NaturalLoop:
    """The outer loop of a pair: the loop named, or the one around an innermost one. ``aim`` is for the message."""
    if loop.children:
        return loop
    if loop.parent is None:
        raise SourceError(
            f"has no loop around it that could {aim}",
            where=f"{path}:{loop.span.start}: loop in {loop.function.name!r}",
        )
    return loop.parent


def _choose(path: Path, loops: Mapping[str, list[NaturalLoop]], asked: COptions) -> NaturalLoop:
    """The loop that is asked for: by number, by the pragma, or the only innermost one.

    Loops are those that clang left after optimisation, in the order of the source; the messages say so where the
    number of loops is not what the source suggests.
    """
    if asked.function is not None and asked.function not in loops:
        known = ", ".join(name for name, found in loops.items() if found) or "none"
        raise SourceError(f"has no function {asked.function!r}; functions with loops: {known}", where=str(path))
    everything = [loop for name, found in loops.items() if asked.function in (None, name) for loop in found]
    everything.sort(key=lambda loop: loop.span.start)
    place = f"function {asked.function!r}" if asked.function else "the file"
    if not everything:
        if not _LOOP_WORD.search(read_text(path)):
            raise SourceError("has no loop", where=str(path))
        raise SourceError(
            f"{place} has no loop left after optimisation: clang unrolled it, found its result, or removed it (as it "
            "does with a static function that nothing calls)",
            where=str(path),
        )
    if asked.loop is not None:
        if not 0 <= asked.loop < len(everything):
            raise SourceError(
                f"has no loop {asked.loop}; {place} has {len(everything)}, counted from 0", where=str(path)
            )
        return everything[asked.loop]
    marked = _marked(path, everything)
    if marked:
        return marked
    innermost = [loop for loop in everything if not loop.children]
    if len(innermost) > 1:
        listed = ", ".join(f"{loop.function.name}:{loop.span.start}" for loop in innermost[:8])
        if _UNROLL.search(read_text(path)) and all(_is_copy(loop, innermost[0]) for loop in innermost):
            raise SourceError(
                f"clang made {len(innermost)} loops of the one in line {innermost[0].span.start}, as #pragma unroll "
                "asks for; leave that out and use --unroll",
                where=str(path),
            )
        raise SourceError(
            f"{place} has {len(innermost)} innermost loops ({listed}); write #pragma gridloom before one, or name it "
            "with --function and --loop",
            where=str(path),
        )
    return innermost[0]


def _is_copy(loop: NaturalLoop, first: NaturalLoop) -> bool:
    """True for a loop that stands in the lines of another one without being inside it."""
    same = loop.function is first.function and loop.parent is first.parent
    return same and first.span.start <= loop.span.start <= max(first.span.end, first.span.start)


def _marked(path: Path, loops: list[NaturalLoop]) -> NaturalLoop | None:
    """The loop below ``#pragma gridloom``, or None where the file has no such line.

    clang drops pragmas that it does not know, so the line is looked for in the text: the loop meant is the next one
    that starts after it.
    """
    lines = [pragma.line for pragma in find_pragmas(path) if not pragma.word]
    if not lines:
        return None
    below = [[loop for loop in loops if loop.span.start > line] for line in lines]
    chosen = [min(rows, key=lambda loop: loop.span.start) for rows in below if rows]
    if len({id(loop) for loop in chosen}) > 1:
        raise SourceError(
            f"has #pragma gridloom before {len(chosen)} loops; name one with --function and --loop",
            where=f"{path}:{lines[0]}",
        )
    if not chosen:
        raise SourceError("no loop follows #pragma gridloom, or clang has none left there", where=f"{path}:{lines[0]}")
    return chosen[0]
