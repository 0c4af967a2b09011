"""A loop of a C or Python file: its graph, and its text line by line, read together in one run of the front end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridloom.dfg.model import Dfg
from gridloom.frontend.loops.spec import LoopSpec, Memory, parse
from gridloom.text_file import read_text

if TYPE_CHECKING:
    from gridloom.emit.report.source_listing import SourceListing
    from gridloom.frontend.python.kernel import PythonKernel

_MOST_LINES = 400


@dataclass(frozen=True, kw_only=True)
class LoopText:
    """The lines of a file that a loop was read from, and which node comes from which line."""

    file: str
    #: Number of the first line.
    first: int
    lines: tuple[str, ...]
    #: Node of the graph before unrolling -> the number of its line.
    node_lines: Mapping[str, int]

    def listing(self, dfg: Dfg) -> SourceListing:
        """Return the lines with the nodes of a graph that was made of the loop, as the report shows them."""
        from gridloom.emit.report.source_listing import SourceListing

        # The copies of an unrolled loop are called node@0, node@1, ...
        stems = {node.id: node.id.rpartition("@")[0] or node.id for node in dfg.nodes}
        nodes = {node: self.node_lines[stem] for node, stem in stems.items() if stem in self.node_lines}
        remarks = dfg.notes.splitlines()[1:]
        return SourceListing(file=self.file, first=self.first, lines=self.lines, nodes=nodes, remarks=remarks)


def read_loop(text: str, memory: Memory) -> tuple[Dfg, LoopText]:
    """Return the loop that ``FILE.c:FUNCTION,...`` or ``FILE.py:FUNCTION,...`` names, with its text.

    ``memory`` is for a text that does not say what accesses become. Costs one run of clang, or one import and one
    trace of a Python function.
    """
    spec = parse(text)
    return _read_python(spec, memory) if spec.path.suffix == ".py" else _read_c(text, memory)


def trace_kernel(kernel: PythonKernel, memory: Memory) -> tuple[Dfg, LoopText | None]:
    """Return the graph of a decorated function, and its text; None for a function that was typed into a prompt."""
    dfg, lines = kernel.graph_and_lines(memory=memory)
    path = Path(kernel.file)
    return dfg, _text(path, kernel.line, kernel.last_line, lines) if path.is_file() else None


def _read_c(text: str, memory: Memory) -> tuple[Dfg, LoopText]:
    """Return the graph and the text of a C loop, from the head of its function on."""
    from gridloom.frontend.c import load, parse_spec

    path, options = parse_spec(text, memory)
    loop = load(path, options)
    span = loop.region.loop.span
    first = loop.region.loop.function.line or span.start
    return loop.dfg, _text(path, first, max([span.end, *loop.lines.values()]), loop.lines)


def _read_python(spec: LoopSpec, memory: Memory) -> tuple[Dfg, LoopText]:
    """Return the graph and the text of a Python kernel."""
    from gridloom.frontend.python.kernel import chosen

    kernel = chosen(spec)
    dfg, lines = kernel.graph_and_lines(memory=spec.memory or memory, sizes=spec.sizes, unroll=spec.unroll)
    return dfg, _text(spec.path, kernel.line, kernel.last_line, lines)


def _text(path: Path, first: int, last: int, node_lines: Mapping[str, int]) -> LoopText:
    """Return some lines of a file, with the lines of nodes."""
    rows = read_text(path).splitlines()[first - 1 : min(last, first + _MOST_LINES - 1)]
    return LoopText(file=str(path), first=first, lines=tuple(rows), node_lines=dict(node_lines))
