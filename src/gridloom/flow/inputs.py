"""What goes into a flow: a SOURCE and an ARCH become a graph as the array takes it, and the array.

``prepare`` is the only way in. ``map``, ``partition``, ``estimate``, ``program``, ``explore`` and ``bench`` all use it,
so that the same source on the same array is the same graph, whatever is asked about it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.archs.spec import build
from gridloom.compiler.loops.source_name import SourceName, split
from gridloom.compiler.loops.spec import Memory, is_loop
from gridloom.compiler.source import load_source, names_module
from gridloom.dfg.model import Dfg
from gridloom.errors import SourceError
from gridloom.flow.loops.alternatives import Alternative, Rewrite, rank_alternatives
from gridloom.flow.source.comparison import StandIn
from gridloom.limits import READING_SECONDS, deadline
from gridloom.transform.streams import needs_memory, streams_to_memory

if TYPE_CHECKING:
    from gridloom.compiler.python.kernel import PythonKernel
    from gridloom.flow.loops.loop_text import LoopText
    from gridloom.flow.result import Result

    #: A graph, a function decorated with ``@gridloom.kernel``, or a SOURCE: a file or ``kernel:NAME,key=value,...``.
    Source: TypeAlias = Dfg | PythonKernel | SourceName | str | Path

#: A file, perhaps with parameters after it.
_FILE = re.compile(r".*(\.[a-z]+)(?:,[^/]*)?", re.DOTALL)

#: An array, a dictionary with ``family`` and its parameters, or an ARCH: a family with parameters, a YAML, XML or JSON
#: file.
ArchLike = Arch | Mapping[str, Any] | str | Path


class SectionedProgram(Protocol):
    """Graphs that take turns on an array and their results, as the hook ``programs`` of a target returns them."""

    @property
    def graphs(self) -> tuple[Dfg, ...]:
        """What is mapped, graph by graph."""
        ...

    def join(self, results: Sequence[Result]) -> Result:
        """The result of the program, given those of its graphs up to the first that failed."""
        ...


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A graph that is fitted to its array. :func:`prepare` makes one, and mappers get nothing else."""

    #: Of a program, the graph of its first section.
    dfg: Dfg
    arch: Arch
    #: The text of the loop that the graph was read from, for the report; None for other sources.
    text: LoopText | None = None
    #: All graphs that the source stands for, the best by its bounds first: that is ``dfg``.
    alternatives: tuple[Alternative, ...] = ()
    #: Where ``dfg`` is a graph of other words than the loop's: the loop that it stands for.
    rewrite: Rewrite | None = None
    #: Where the source is larger than one graph: its sections.
    program: SectionedProgram | None = None
    #: What reading array and source took, without cutting a program into sections.
    seconds: float = 0.0

    @property
    def sections(self) -> tuple[tuple[Alternative, ...], ...]:
        """What is mapped one after the other: all alternatives of a graph, or each graph of a program."""
        if self.program is None:
            return (self.alternatives,)
        return tuple((Alternative(label="", dfg=graph),) for graph in self.program.graphs)

    def join(self, results: Sequence[Result]) -> Result:
        """The result of the whole source, given those of its sections up to the first that failed."""
        return results[0] if self.program is None else self.program.join(results)


def prepare(source: Source, arch: ArchLike, *, seconds: float = READING_SECONDS) -> Prepared:
    """Read an array and a source, and lower the source's graph to what the array takes.

    The accesses of a loop become loads and stores, or streams, as the array has it; on arrays that fuse instructions
    the graph is fused, and streams become memory accesses where there is no port. A loop of 32-bit integers becomes one
    of 24-bit words on arrays that have those. A program of tensors becomes the graphs of its sections. Raises a
    GridloomError for bad input, and after ``seconds`` of reading. Costs one run of the front end (of clang for C),
    passes that are linear in the graph, a short run of both graphs where words are narrowed, and for a program the
    lowering of its sections.
    """
    began = time.monotonic()
    with deadline(seconds, "reading array and source"):
        array = read_arch(arch)
        rows = [replace(row, dfg=fit_graph(row.dfg, array)) for row in _read(source, memory_of(array))]
        for rewrite in registry.hooks_for("rewrites", array):
            rows = _rewritten(rows, array, rewrite)
        alternatives = rank_alternatives(rows, array)
    first, spent = alternatives[0], time.monotonic() - began
    cut = registry.hook("programs", first.dfg.domain)
    program: SectionedProgram | None = cut and cut(first.dfg, array)
    return Prepared(
        dfg=first.dfg if program is None else program.graphs[0],
        arch=array,
        text=first.text,
        alternatives=alternatives,
        rewrite=first.rewrite,
        program=program,
        seconds=spent,
    )


def _rewritten(
    rows: list[Alternative], arch: Arch, rewrite: Callable[[Dfg, Arch], Rewrite | None]
) -> list[Alternative]:
    """Return the loops as graphs of the words that the array has; those that do not fit are left out.

    SourceError, with what is wrong with the first one, where none fits. Graphs that need no rewriting stay as they are.
    """
    found: list[Alternative] = []
    refused: SourceError | None = None
    for row in rows:
        try:
            made = rewrite(row.dfg, arch)
        except SourceError as error:
            refused = refused or error
            continue
        if made is None:
            found.append(row)
            continue
        kept = None if row.reference is None else StandIn(row.reference, made.source)
        found.append(replace(row, dfg=made.dfg, rewrite=made, reference=kept))
    if refused is not None and not found:
        raise refused
    return found


def read_arch(arch: ArchLike) -> Arch:
    """Return the array that a description stands for; an array stands for itself."""
    if isinstance(arch, Arch):
        return arch
    if isinstance(arch, str | Path) and (match := _FILE.fullmatch(str(arch))):
        reader = registry.hook("array_files", match[1])
        found: Arch | None = None if reader is None else reader(str(arch))
        if found is not None:
            return found
    return build(arch)


def read_source(source: Source, memory: Memory | None = None) -> Dfg:
    """Return the graph of a source before it is fitted to an array; a graph stands for itself.

    ``memory`` says what the accesses of a loop become where the source does not: loads and stores by default.
    """
    return _read(source, memory or "arrays")[0].dfg


def memory_of(arch: Arch) -> Memory:
    """Return what the accesses of a loop become on an array: loads and stores (``arrays``), or ``streams``."""
    return "arrays" if arch.has("memory_access") else "streams"


def fit_graph(dfg: Dfg, arch: Arch) -> Dfg:
    """Return the graph as the array takes it: with fused instructions, or with loads and stores instead of streams.

    Streams become memory accesses only on arrays that have memory units and no ports. Linear in the graph.
    """
    for graph_pass in registry.hooks_for("passes", arch):
        fitted_graph: Dfg = graph_pass(dfg, arch)
        return fitted_graph
    return streams_to_memory(dfg) if needs_memory(dfg, arch) else dfg


def _read(source: Source, memory: Memory) -> list[Alternative]:
    """Return the graph of a source, or the graphs that a loop stands for, with its text."""
    if isinstance(source, Dfg):
        return [Alternative(label="", dfg=source)]
    if not isinstance(source, str | Path | SourceName):
        from gridloom.flow.loops.loop_text import trace_kernel

        return trace_kernel(source, memory)
    name = split(source)
    name.check_consent()
    if is_loop(name) and not names_module(name):
        from gridloom.flow.loops.loop_text import read_loop

        return read_loop(name, memory)
    return [Alternative(label="", dfg=load_source(name, memory=memory))]
