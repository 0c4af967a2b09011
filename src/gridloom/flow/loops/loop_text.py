"""A loop of a C or Python file: its graph, and its text line by line, read together in one run of the front end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gridloom.compiler.loops.source_name import SourceName
from gridloom.compiler.loops.spec import AUTO, LoopSpec, Memory, parse
from gridloom.dfg.model import Dfg
from gridloom.errors import SourceError
from gridloom.flow.loops.alternatives import Alternative
from gridloom.text_file import read_text
from gridloom.transform.assumed import assume_ranges

if TYPE_CHECKING:
    from gridloom.compiler.c import CLoop, COptions
    from gridloom.compiler.ir.ir import IrModule
    from gridloom.compiler.python.kernel import PythonKernel
    from gridloom.emit.report.source_listing import SourceListing
    from gridloom.flow.source.c_loops import CReference

_MOST_LINES = 400
#: Copies of a body that are tried where their number is to be chosen, and the largest graph that is tried.
_FACTORS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_MOST_NODES = 2000
#: Iterations of an outer loop that are tried side by side.
_JAMS = (2, 3, 4, 6, 8, 12, 16)
_LABELS = {True: "reduced", False: "as written"}


@dataclass(frozen=True, kw_only=True)
class LoopText:
    """The lines of a file that a loop was read from, and which node comes from which line."""

    file: str
    #: Number of the first line.
    first: int
    lines: tuple[str, ...]
    #: Node of the graph before unrolling -> the number of its line.
    node_lines: Mapping[str, int]
    #: What the compiler took for granted in an old text.
    warnings: tuple[str, ...] = ()

    def listing(self, dfg: Dfg, remarks: Sequence[str] = ()) -> SourceListing:
        """Return the lines with the nodes of a graph that was made of the loop, as the report shows them.

        ``remarks`` come below the lines, after what the front end has to say of the loop.
        """
        from gridloom.emit.report.source_listing import SourceListing

        # The copies of an unrolled loop are called node@0, node@1, ...
        stems = {node.id: node.id.rpartition("@")[0] or node.id for node in dfg.nodes}
        nodes = {node: self.node_lines[stem] for node, stem in stems.items() if stem in self.node_lines}
        told = [*dfg.notes.splitlines()[1:], *remarks]
        return SourceListing(file=self.file, first=self.first, lines=self.lines, nodes=nodes, remarks=told)


def read_loop(text: str | SourceName, memory: Memory, module: IrModule | None = None) -> list[Alternative]:
    """Return the graphs of the loop that ``FILE.c:FUNCTION,...`` or ``FILE.py:FUNCTION,...`` names, with its text.

    The first one is reduced, the second as written, unless the text names one of them; with ``unroll=auto`` there are
    more. ``memory`` is for a text that does not say what accesses become. ``module`` is the file where it is compiled
    already. Costs one run of clang, or one import and a few traces of a Python function.
    """
    spec = parse(text)
    rows = _read_python(spec, memory) if spec.path.suffix == ".py" else _read_c(text, memory, module)
    return [replace(row, dfg=assume_ranges(row.dfg, spec.ranges)) for row in rows] if spec.ranges else rows


def trace_kernel(kernel: PythonKernel, memory: Memory) -> list[Alternative]:
    """Return the graphs of a decorated function, with its text; None for a function that was typed into a prompt."""
    from gridloom.flow.source.python_kernels import KernelReference

    path = Path(kernel.file)
    rows = []
    for reduced in (True, False):
        dfg, lines = kernel.graph_and_lines(memory=memory, reduced=reduced)
        text = _text(path, kernel.line, kernel.last_line, lines) if path.is_file() else None
        given = KernelReference(kernel=kernel, memory=memory)
        rows.append(Alternative(label=_LABELS[reduced], dfg=dfg, text=text, reference=given))
    return _distinct(rows)


def _read_c(text: str | SourceName, memory: Memory, given: IrModule | None) -> list[Alternative]:
    """Return the graphs and the text of a C loop, from the head of its function on."""
    from gridloom.compiler.c import compile_file, parse_spec, pick

    path, options = parse_spec(text, memory)
    spec = parse(text)
    module = given or compile_file(path, options)
    rows = []
    for reduced in (True, False) if spec.reduced is None else (spec.reduced,):
        factor = 1 if spec.unroll == AUTO else spec.unroll
        loop = pick(module, path, replace(options, reduced=reduced, unroll=factor))
        span = loop.region.loop.span
        first = loop.region.loop.function.line or span.start
        lines = _text(path, first, max([span.end, *loop.lines.values()]), loop.lines)
        lines = replace(lines, warnings=module.warnings)
        source = _reference(loop, module, path, options, factor)
        rows.append(
            Alternative(
                label=_LABELS[reduced],
                dfg=loop.dfg,
                text=lines,
                copies=factor * spec.jam,
                reference=source,
            )
        )
    rows = _distinct(rows)
    if spec.unroll != AUTO or spec.jam > 1 or spec.interchange or spec.flatten:
        return _unrolled(rows, spec, options.memory)
    return [*_unrolled(rows, spec, options.memory), *_jammed(rows, module, path, options),
            *_unrolled(_exchanged(rows, module, path, options), spec, options.memory)]  # fmt: skip


def _exchanged(rows: list[Alternative], module: IrModule, path: Path, options: COptions) -> list[Alternative]:
    """Return the alternative with the loop around running inside; none where the two cannot be exchanged."""
    from gridloom.compiler.c import pick

    try:
        loop = pick(module, path, replace(options, reduced=True, unroll=1, interchange=True))
    except SourceError:
        return []
    given = _reference(loop, module, path, replace(options, interchange=True))
    label = "reduced, exchanged with the loop around"
    return [replace(rows[0], dfg=loop.dfg, copies=1, label=label, reference=given)]


def _jammed(rows: list[Alternative], module: IrModule, path: Path, options: COptions) -> list[Alternative]:
    """Return the alternatives with several iterations of the loop around side by side; none where that is not taken."""
    from gridloom.compiler.c import pick

    found: list[Alternative] = []
    for factor in _JAMS:
        if factor * len(rows[0].dfg.nodes) > _MOST_NODES:
            break
        try:
            loop = pick(module, path, replace(options, reduced=True, unroll=1, jam=factor))
        except SourceError:
            break
        label = f"reduced, {factor} iterations of the loop around side by side"
        given = _reference(loop, module, path, replace(options, jam=factor))
        found.append(replace(rows[0], dfg=loop.dfg, copies=factor, label=label, reference=given))
    return found


def _reference(loop: CLoop, module: IrModule, path: Path, options: COptions, unroll: int = 1) -> CReference:
    """Return what runs the source of a loop beside its graph."""
    from gridloom.flow.source.c_loops import exchanged_reference, reference_of

    if options.interchange:
        return exchanged_reference(module, str(path), loop, unroll)
    return reference_of(module, str(path), loop, options.jam, unroll)


def _read_python(spec: LoopSpec, memory: Memory) -> list[Alternative]:
    """Return the graphs and the text of a Python kernel, or the graph that an object with ``build`` builds."""
    from gridloom.compiler.python.kernel import find_source
    from gridloom.flow.source.python_kernels import KernelReference

    kernel = find_source(spec)
    if isinstance(kernel, Dfg):
        return [Alternative(label="", dfg=kernel)]
    rows = []
    for reduced in (True, False) if spec.reduced is None else (spec.reduced,):
        factor = 1 if spec.unroll == AUTO else spec.unroll
        dfg, lines = kernel.graph_and_lines(
            memory=spec.memory or memory, sizes=spec.sizes, unroll=factor, reduced=reduced
        )
        text = _text(spec.path, kernel.line, kernel.last_line, lines)
        given = KernelReference(kernel=kernel, memory=spec.memory or memory, sizes=spec.sizes, copies=factor)
        rows.append(Alternative(label=_LABELS[reduced], dfg=dfg, text=text, copies=factor, reference=given))
    return _unrolled(_distinct(rows), spec, spec.memory or memory)


def _distinct(rows: list[Alternative]) -> list[Alternative]:
    """Return the alternatives without one that is the same graph as the first."""
    return rows[:1] + [row for row in rows[1:] if row.dfg != rows[0].dfg]


def _unrolled(rows: list[Alternative], spec: LoopSpec, memory: Memory) -> list[Alternative]:
    """Return the alternatives with several iterations in one, where the number is to be chosen."""
    if spec.unroll != AUTO or memory == "streams":
        return rows
    from gridloom.compiler.loops.unroll import unroll_graph

    return [
        replace(
            row,
            dfg=unroll_graph(row.dfg, factor),
            copies=factor,
            label=f"{row.label}, {factor} iterations in one",
            reference=None if row.reference is None else row.reference.unrolled(factor),
        )
        if factor > 1
        else row
        for factor in _FACTORS
        for row in rows
        if factor * len(row.dfg.nodes) <= _MOST_NODES
    ]


def _text(path: Path, first: int, last: int, node_lines: Mapping[str, int]) -> LoopText:
    """Return some lines of a file, with the lines of nodes."""
    rows = read_text(path).splitlines()[first - 1 : min(last, first + _MOST_LINES - 1)]
    return LoopText(file=str(path), first=first, lines=tuple(rows), node_lines=dict(node_lines))
