"""Graphs and arrays of the user for learned models, and labels from ordinary use.

Models are found in the registry and know no sources; here graphs are read and prepared as every flow does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, OptionError
from gridloom.flow.bench.run import QUESTION as CELL
from gridloom.flow.bench.run import source_path
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.inputs import prepare, read_arch
from gridloom.run import canonical_json
from gridloom.text_file import exists, is_dir

if TYPE_CHECKING:
    from gridloom.run import Store

#: The most files of a folder that are read.
_MOST_FILES = 10_000


def arch_text(arch: str) -> str:
    """Return an ARCH as labels keep it: as it is, or as its description where it is a file."""
    array = read_arch(arch)
    return canonical_json(dict(array.spec)) if exists(Path(arch)) else arch


def user_graphs(named: Sequence[str], arch: str, folder: Path | None = None) -> tuple[tuple[str, Dfg], ...]:
    """Return the graphs of files, folders and suites by name, prepared for an array.

    Files of a folder that are no graphs for the array are left out. OptionError where nothing is left, and a
    GridloomError for a file that is named itself and cannot be read.
    """
    graphs: dict[str, Dfg] = {}
    for text in named:
        for source, strict in _sources(text, folder):
            try:
                prepared = prepare(source, arch)
            except GridloomError:
                if strict:
                    raise
                continue
            for k, alternatives in enumerate(prepared.sections):
                graphs[source if k == 0 else f"{source} part {k}"] = alternatives[0].dfg
    if named and not graphs:
        raise OptionError(f"found no graph that {arch} takes in {', '.join(named)}", where="--graphs")
    return tuple(graphs.items())


def _sources(text: str, folder: Path | None) -> Iterator[tuple[str, bool]]:
    """The sources that a word names, and whether one that cannot be read is an error."""
    if text in registry.names("suites"):
        suite = load_suite(text)
        for source in dict.fromkeys(source for group in suite.groups for source in group.sources):
            yield source_path(suite, source, folder), False
    elif is_dir(Path(text)):
        files = sorted(path for path in Path(text).rglob("*") if path.is_file() and path.suffix != ".py")
        yield from ((str(path), False) for path in files[:_MOST_FILES])
    else:
        yield text, True


def take_in(store: Store, model: Any) -> int:
    """Turn what suites and explorations left in a store into labels of a model; returns how many rows were used.

    A pair has one label: the best that any run found. Rows whose source cannot be read here are left out.
    """
    best: dict[str, tuple[Dfg, Arch, int]] = {}
    for row in list(store.rows()):
        parameters: Any = row.asked.get("parameters")
        if row.status != "done" or row.asked.get("function") != CELL or not isinstance(row.value, dict):
            continue
        try:
            prepared = prepare(parameters["source"], parameters["arch"])
        except GridloomError:
            continue
        capacity = model.capacity_of(row.value, prepared.arch)
        if capacity is not None:
            key = f"{parameters['source']} {prepared.arch.fingerprint}"
            if key not in best or capacity < best[key][2]:
                best[key] = (prepared.dfg, prepared.arch, capacity)
    for dfg, arch, capacity in best.values():
        model.observe(store, dfg, arch, capacity)
    return len(best)


def observe(store: Store, arch: Arch, found: Sequence[tuple[Dfg, Mapping[str, Any] | None]]) -> None:
    """Add what ordinary runs found to a store, as labels of each model that knows the array.

    A record has the metrics of a mapping (``ii``, ``width``); None: the search found no mapping.
    """
    for name in registry.names("models"):
        model = registry.load("models", name)
        if hasattr(model, "observe"):
            for dfg, record in found:
                capacity = None if record is None else model.capacity_of(record, arch)
                if record is None or capacity is not None:
                    model.observe(store, dfg, arch, capacity)
