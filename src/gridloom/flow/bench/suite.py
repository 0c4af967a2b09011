"""Suites: what a benchmark runs, as data. A YAML file gives sources, ARCH strings, seeds, a budget and expectations.

    suite: smoke
    summary: small kernels on the four static grids
    mapper: auto
    budget: {effort: 20000, time_limit: 60}
    seeds: [1]
    sources: [kernel:vector_add, kernel:fir]
    archs: [mesh:auto, chess:auto]
    expected: {cells: 4, mapped: 4}

Every source meets every array under every seed. ``auto`` instead of a size is the smallest square that holds the graph:
side ceil(sqrt(nodes that need a tile)); ``fit`` is the smallest square on which op classes are enough too. ``settings``
are the mapper's (as ``--set``), ``groups`` are further blocks of sources and archs where not everything meets
everything. With ``files: examples`` sources are paths below our ``examples/kernels``, with ``files: true`` they are
paths below a folder of published graphs that the user names; ``sources_of: NAME`` takes the sources of another suite of
ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from gridloom import registry
from gridloom.compiler.loops.source_name import check_saved_sources
from gridloom.errors import OptionError
from gridloom.search.choice import MapperFunction
from gridloom.yaml_text import parse_yaml, read_yaml_file

_KEYS = (
    "suite", "summary", "mapper", "budget", "settings", "seeds", "sources", "sources_of", "archs", "groups", "files",
    "expected", "functions", "data_sets",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCell:
    """One run of a suite: a source on an array with a seed. ``arch`` may still say ``auto`` or ``fit``."""

    source: str
    arch: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteGroup:
    """Sources and arrays: each source is mapped to each array."""

    sources: tuple[str, ...]
    archs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCells:
    """How many cells a suite has, and how many of them are known to map."""

    cells: int | None = None
    mapped: int | None = None


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A benchmark as data. ``load_suite`` reads one, and ``bench.run`` runs it.

    The cells are all combinations of source, array and seed within each group. ``expected`` is checked: the number of
    cells when the suite is read, and the number that maps by whoever runs it.
    """

    name: str
    summary: str = ""
    #: A name, or a function of the user's.
    mapper: str | MapperFunction = "auto"
    effort: int | None = None
    time_limit: float | None = None
    #: Whether the limit is in seconds of CPU time.
    cpu_time: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    groups: tuple[SuiteGroup, ...] = ()
    #: Sources are paths below a folder of published graphs.
    files: bool = False
    #: Sources are paths below our own ``examples/kernels``, where the user names no other folder.
    examples: bool = False
    expected: ExpectedCells = ExpectedCells()

    def cells(self) -> Iterator[SuiteCell]:
        """Yield every cell, in the order of the file: by source, then array, then seed."""
        for group in self.groups:
            for source in group.sources:
                for arch in group.archs:
                    for seed in self.seeds:
                        yield SuiteCell(source=source, arch=arch, seed=seed)


def load_suite(name: str, named: Sequence[str] = ()) -> Suite:
    """Return the suite of that name, or of that YAML file. OptionError for an unknown name or key.

    Python files that the YAML file names must be among those that the user has ``named``.
    """
    if name.endswith((".yaml", ".yml")):
        suite = read_suite(read_yaml_file(Path(name)), name)
        check_saved_sources((source for group in suite.groups for source in group.sources), named, name)
        return suite
    return declared_suite(name)


def declared_suite(name: str) -> Suite:
    """Return a suite that a target declares. OptionError for an unknown name."""
    package, _, path = registry.entry("suites", name).target.partition(":")
    return read_suite(resources.files(package).joinpath(path).read_text(encoding="utf-8"), f"suite {name}")


def read_suite(text: str, where: str) -> Suite:
    """Return the suite in a YAML text; OptionError names the key, what was found and what was expected."""
    return _suite(parse_yaml(text, where), where)


def _suite(data: dict[str, Any], where: str) -> Suite:
    """Return the suite of a file's keys and values."""
    if "sources_of" in data:
        data = {**data, "sources": _borrowed(data, where)}
    for key in data:
        if key not in _KEYS:
            raise OptionError(f"{key}: not a known key; known: {', '.join(_KEYS)}", where=where)
    budget = _mapping(data, "budget", ("effort", "time_limit", "cpu_limit"), where)
    limit, cpu_limit = (_seconds(budget, name, where) for name in ("time_limit", "cpu_limit"))
    if limit is not None and cpu_limit is not None:
        raise OptionError("budget: time_limit and cpu_limit exclude each other", where=where)
    expected = _mapping(data, "expected", ("cells", "mapped"), where)
    suite = Suite(
        name=str(data.get("suite", where)),
        summary=str(data.get("summary", "")),
        mapper=str(data.get("mapper", "auto")),
        effort=_count(budget, "effort", where),
        time_limit=limit if cpu_limit is None else cpu_limit,
        cpu_time=cpu_limit is not None,
        settings=_mapping(data, "settings", None, where),
        seeds=tuple(_integers(data.get("seeds", [0]), where)),
        groups=tuple(_groups(data, where)),
        files=data.get("files", False) is True,
        examples=data.get("files", False) == "examples",
        expected=ExpectedCells(cells=_count(expected, "cells", where), mapped=_count(expected, "mapped", where)),
    )
    if "functions" in data:
        suite = _of_functions(suite, data, where)
    found = sum(1 for _ in suite.cells())
    if suite.expected.cells not in (None, found):
        raise OptionError(f"expected.cells: the suite has {found} cells, not {suite.expected.cells}", where=where)
    return suite


def _of_functions(suite: Suite, data: dict[str, Any], where: str) -> Suite:
    """Return the suite as one of whole functions, which have data of their own."""
    from dataclasses import fields

    from gridloom.flow.bench.functions.suite import FunctionSuite, read_functions

    functions = read_functions(data, where)
    known = {item.name: getattr(suite, item.name) for item in fields(suite)}
    return FunctionSuite(**known, functions=functions, data_sets=_count(data, "data_sets", where) or 1)


def _borrowed(data: dict[str, Any], where: str) -> list[str]:
    """Return the sources of another built-in suite."""
    name = data["sources_of"]
    if "sources" in data or not isinstance(name, str):
        raise OptionError(f"sources_of: expected a suite's name and no sources beside it, found {name!r}", where=where)
    return list(dict.fromkeys(source for group in declared_suite(name).groups for source in group.sources))


def _groups(data: dict[str, Any], where: str) -> Iterator[SuiteGroup]:
    """Yield the blocks of sources and arrays; the keys at the top are a block, too."""
    if "functions" in data and isinstance(data["functions"], dict):
        data = {**data, "sources": [str(source) for source in data["functions"]]}
    blocks = data.get("groups", [])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise OptionError("groups: expected a list of blocks with sources and archs", where=where)
    if "sources" in data or not blocks:
        blocks = [{key: data.get(key) for key in ("sources", "archs")}, *blocks]
    for k, block in enumerate(blocks):
        # A block without arrays of its own meets those of the whole suite.
        archs = block.get("archs", data.get("archs"))
        yield SuiteGroup(
            sources=tuple(_words(block.get("sources"), f"groups.{k}.sources" if k else "sources", where)),
            archs=tuple(_words(archs, f"groups.{k}.archs" if k else "archs", where)),
        )


def _words(value: Any, key: str, where: str) -> list[str]:
    """Return a list of texts; OptionError for anything else, the empty list included."""
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise OptionError(f"{key}: expected a list of words, found {value!r}", where=where)
    return list(value)


def _integers(value: Any, where: str) -> list[int]:
    """Return the seeds; OptionError for anything but a list of whole numbers."""
    if not isinstance(value, list) or not value or not all(type(item) is int for item in value):
        raise OptionError(f"seeds: expected a list of whole numbers, found {value!r}", where=where)
    return list(value)


def _mapping(data: dict[str, Any], key: str, known: tuple[str, ...] | None, where: str) -> dict[str, Any]:
    """Return the keys and values under a key; OptionError for keys that are not known."""
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise OptionError(f"{key}: expected keys and values, found {value!r}", where=where)
    for name in value:
        if known is not None and name not in known:
            raise OptionError(f"{key}.{name}: not a known key; known: {', '.join(known)}", where=where)
    return {str(name): item for name, item in value.items()}


def _count(data: dict[str, Any], key: str, where: str) -> int | None:
    """Return a whole number of at least 0, or None where the key is missing."""
    value = data.get(key)
    if value is not None and (type(value) is not int or value < 0):
        raise OptionError(f"{key}: expected a whole number, found {value!r}", where=where)
    return value


def _seconds(data: dict[str, Any], key: str, where: str) -> float | None:
    """Return a limit in seconds, or None."""
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise OptionError(f"{key}: expected seconds, found {value!r}", where=where)
    return float(value)
