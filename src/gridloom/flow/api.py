"""The functions of ``import gridloom as gl``: each is one command of the command line, with values instead of files."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.flow.bench.run import Report
from gridloom.flow.bench.run import bench as run_suite
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.files import load_mapping
from gridloom.flow.inputs import read_arch, read_source
from gridloom.flow.request import Request
from gridloom.flow.result import Result
from gridloom.flow.run import run as run_flow
from gridloom.mapping import json_format
from gridloom.mapping.model import Mapping
from gridloom.run import ExecutorSpec, Store

if TYPE_CHECKING:
    from gridloom.sim import Verdict
    from gridloom.verify import Stats, Violation


def map(source: Dfg | str | Path, arch: Arch | MappingABC[str, Any] | str | Path, **options: Any) -> Result:
    """Map a graph onto an array, check the mapping and simulate it; returns a Result.

    ``source`` is a Dfg, a file or ``kernel:NAME,...``; ``arch`` an Arch, an ARCH string, a YAML file or a dictionary.
    ``options`` are the fields of `Request`: ``mapper``, ``ii``, ``seed``, ``time_limit``, ``effort``, ``jobs``,
    ``settings``, ``place``, ``init``, ``pin``, ``prove``, ``iterations``, ``progress``, ``interrupted``. Raises a
    GridloomError for bad input; that there is no mapping is a Result with ``status == "failed"`` and a ``failure``.
    Costs the search.
    """
    return run_flow(Request(source=source, arch=arch, **options))


def load(source: str | Path) -> Dfg:
    """The graph of a SOURCE: a file of any format that is read, or ``kernel:NAME,key=value,...``."""
    return read_source(source)


def kernel(name: str, **parameters: int | str) -> Dfg:
    """The graph of a built-in kernel with these parameters; OptionError says which it takes."""
    graph: Dfg = registry.load("kernels", name).build(**parameters)
    return graph


def arch(description: MappingABC[str, Any] | str | Path) -> Arch:
    """The array of an ARCH string (``chess:8x8``), a YAML file or a dictionary with ``family`` and its parameters."""
    return read_arch(description)


def check(mapping: Mapping | str | Path) -> list[Violation]:
    """Every rule that a mapping (or the one in a file) breaks; an empty list means that it is legal."""
    from gridloom.verify import legal

    return list(legal(_mapping(mapping)))


def measure(mapping: Mapping | str | Path) -> Stats:
    """The metrics of a mapping, recomputed from its instances and routes alone."""
    from gridloom.verify import stats

    return stats(_mapping(mapping))


def simulate(mapping: Mapping | str | Path, *, iterations: int = 64, seed: int = 0) -> Verdict:
    """Run a mapping cycle by cycle on random inputs and compare it with the graph; ``verdict.ok`` is the answer."""
    from gridloom.sim import simulate as run_simulation

    return run_simulation(_mapping(mapping), iterations=iterations, seed=seed)


def save(mapping: Mapping, path: str | Path) -> None:
    """Write a mapping to a JSON file, whole or not at all."""
    from gridloom.emit.files import write_atomically

    write_atomically(path, json_format.dumps(mapping))


def bench(
    suite: str, *, jobs: int | None = None, folder: str | Path | None = None, store: str | Path | None = None
) -> Report:
    """Run a suite (a name or a YAML file) and return its rows in order; with a ``store``, a killed run goes on."""
    executor = ExecutorSpec.parse(jobs=jobs)
    where = None if folder is None else Path(folder)
    if store is None:
        return run_suite(load_suite(suite), folder=where, executor=executor)
    with Store(store) as opened:
        return run_suite(load_suite(suite), folder=where, executor=executor, store=opened, resume=True)


def _mapping(mapping: Mapping | str | Path) -> Mapping:
    return mapping if isinstance(mapping, Mapping) else load_mapping(mapping)
