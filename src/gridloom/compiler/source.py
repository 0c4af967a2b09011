"""SOURCE as the command line takes it: a file of any format that is read, or ``kernel:NAME,key=value,...``.

One function, :func:`load_source`, stands before all front ends. It decides by prefix (``kernel:``, ``model:``), then
by whether the text names a function or loop of a source file, then by the ending of the file; readers and their endings
are looked up in the registry, and a reader is imported only when it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gridloom import registry
from gridloom.compiler.loops.source_name import KERNEL_PREFIX, NETWORK_PREFIX, SourceName, split
from gridloom.compiler.loops.spec import Memory, is_loop
from gridloom.compiler.parameters import parse_spec
from gridloom.dfg import Dfg
from gridloom.errors import OptionError, SourceError
from gridloom.text_file import exists, is_file, read_text, shown

_KINDS: Final = (
    "*.c, *.mlir, *.py, *.dot, *.gv, *.json, *.xml, *.txt (*_node.txt with *_edge.txt), *_nodes with *_edges"
)


def load_source(source: str | SourceName, *, memory: Memory | None = None) -> Dfg:
    """The graph that a SOURCE stands for.

    A path is read by its ending; a format of several files (CCF, SAT-MapIt) by any one of them. A kernel is built with
    the parameters given. ``memory`` says what the accesses of a C or Python loop become where the text does not:
    loads and stores (``arrays``, the default) or ``streams``. Raises a GridloomError that says what is read where the
    ending is not known, and an OptionError for Python that must not be executed.
    """
    asked = split(source)
    asked.check_consent()
    text = asked.text
    if text.startswith(KERNEL_PREFIX):
        name, parameters = parse_spec(text.removeprefix(KERNEL_PREFIX))
        # Networks may be called kernels, too, where no kernel has the name.
        known = registry.has("kernels", name) or not registry.has("networks", name)
        kernel = registry.load("kernels" if known else "networks", name)
        graph: Dfg = kernel.build(**parameters)
        return graph
    if text.startswith(NETWORK_PREFIX):
        name, parameters = parse_spec(text.removeprefix(NETWORK_PREFIX))
        network: Dfg = registry.load("networks", name).build(**parameters)
        return network
    if names_module(asked):
        module: Dfg = module_reader(asked.path).read_spec(asked)
        return module
    if is_loop(asked):
        return _read_loop(asked, memory)
    if not exists(Path(text)) and registry.has("kernels", text.partition(",")[0]):
        raise OptionError(f"{text}: there is no such file; did you mean kernel:{text}?")
    return read_graph(Path(text))


def _read_loop(source: SourceName, memory: Memory | None) -> Dfg:
    """The graph of a loop of a C, MLIR or Python file."""
    if not source.is_python:
        from gridloom.compiler.c import read_spec

        return read_spec(source, memory)
    from gridloom.compiler.python.kernel import read_spec as read_python

    return read_python(source, memory)


def with_training(text: str) -> str:
    """The SOURCE of a built-in network with its backward pass; OptionError for any other.

    >>> with_training("model:mlp,width=64")
    'model:mlp,width=64,training=true'
    """
    prefix, colon, name = text.partition(":")
    network = name.split(",")[0]
    if f"{prefix}{colon}" not in (NETWORK_PREFIX, KERNEL_PREFIX) or not registry.has("networks", network):
        raise OptionError(f"{shown(text)} is no built-in network (gridloom list networks)", where="--training")
    return f"{text},training=true"


def names_module(source: str | SourceName) -> bool:
    """True for ``FILE.py:FUNCTION...`` of a file that imports torch: its functions build modules, not loops."""
    name = split(source)
    return name.rest is not None and name.is_python and module_reader(name.path) is not None


def module_reader(path: Path) -> Any:
    """What reads the modules of a file that imports torch, and None for other files.

    The text is searched, since importing the file would execute it.
    """
    if not is_file(path) or not re.search(r"^\s*(?:import|from)\s+torch\b", read_text(path), re.M):
        return None
    return registry.hook("python_modules", "torch")


def read_graph(path: Path) -> Dfg:
    """The graph of a file, by its ending. SourceError for an ending that no reader has."""
    reader: Callable[[Path], Dfg] = registry.load("readers", _reader_name(path))
    return reader(path)


def _reader_name(path: Path) -> str:
    """The reader of a file by its name, and by the files beside it where an ending is used twice.

    A ``.dot`` file may be SAT-MapIt's or CCF's drawing of a loop whose data are in other files; it is read as a graph
    of its own where those are missing.
    """
    name = registry.reader_for(path.name)
    if name == "satmapit" and path.suffix == ".dot" and not _siblings(path, "_loop_graph.dot", "_nodes", "_edges"):
        return "dot"
    if name == "dot" and path.name.endswith("DFG.dot") and list(path.parent.glob("loop*_node.txt")):
        return "ccf"
    if name == "morpher":
        _refuse_other_xml(path)
    if name is None:
        read_text(path)
        kinds = ", ".join([_KINDS, *(f"*{ending}" for ending in registry.added_endings())])
        raise SourceError(f"is of no kind that is read; expected {kinds}, or kernel:NAME", where=str(path))
    return name


def _siblings(path: Path, ending: str, *others: str) -> bool:
    """True when the other files of a loop stand beside a file."""
    stem = path.name.removesuffix(ending)
    return all(is_file(path.with_name(stem + other)) for other in others)


def _refuse_other_xml(path: Path) -> None:
    """A SourceError for an XML file that describes an array."""
    head = read_text(path)[:65536]
    if "<PEArray" in head:
        raise SourceError("describes an array, not a graph; give it to --arch", where=str(path))
