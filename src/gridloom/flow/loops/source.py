"""The text of a loop that was mapped, line by line with the nodes that it became, for the report."""

from __future__ import annotations

from pathlib import Path

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.emit.report.source_listing import SourceListing
from gridloom.flow.files import memory_of
from gridloom.frontend.loops.spec import is_loop, parse
from gridloom.text_file import read_text

_MOST_LINES = 400


def listing_of(source: Dfg | str | Path, arch: Arch, dfg: Dfg) -> SourceListing | None:
    """The lines of a C or Python source and the node of ``dfg`` that each made; None for other sources.

    Reads the source once more (a run of clang, or an import), since a graph does not carry its text.
    """
    text = str(source)
    if isinstance(source, Dfg) or not is_loop(text):
        return None
    spec = parse(text)
    first, last, lines = _c_lines(text, arch) if spec.path.suffix == ".c" else _python_lines(text, arch)
    rows = read_text(spec.path).splitlines()[first - 1 : min(last, first + _MOST_LINES - 1)]
    # The copies of an unrolled loop are called node@0, node@1, ...
    nodes = {node.id: lines[stem] for node in dfg.nodes if (stem := node.id.rpartition("@")[0] or node.id) in lines}
    return SourceListing(file=str(spec.path), first=first, lines=rows, nodes=nodes, remarks=dfg.notes.splitlines()[1:])


def _c_lines(text: str, arch: Arch) -> tuple[int, int, dict[str, int]]:
    from gridloom.frontend.c import load
    from gridloom.frontend.c.frontend import parse_spec

    path, options = parse_spec(text, memory_of(arch))
    loop = load(path, options)
    span = loop.region.loop.span
    lines = dict(loop.lines)
    start = loop.region.loop.function.line or span.start
    return start, max([span.end, *(line for line in lines.values())]), lines


def _python_lines(text: str, arch: Arch) -> tuple[int, int, dict[str, int]]:
    from gridloom.frontend.python.kernel import chosen

    kernel = chosen(parse(text))
    lines = kernel.lines(memory=parse(text).memory or memory_of(arch))
    return kernel.line, kernel.last_line, lines
