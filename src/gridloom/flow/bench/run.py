"""Running a suite: every cell is one flow, run as an independent job; it gives one record per cell and a summary.

A job's key is a hash of everything that its result depends on (the graph itself, the array's fingerprint, mapper,
settings, seed, budget, version), so that a stored row answers for exactly the same question and no other. A cell that
breaks down is a row with a failure: one bad file does not end a run of hours.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from functools import cache
from html import escape
from pathlib import Path
from statistics import median
from typing import Any, Final

from gridloom import plugins, registry
from gridloom._version import __version__
from gridloom.compiler.loops.spec import Memory, is_loop, parse
from gridloom.dfg import json_format
from gridloom.dfg.model import Dfg
from gridloom.errors import MissingExtra, OptionError, install_hint
from gridloom.flow.bench.comparison import MapperComparison, TableStyle, compare_mappers, table_cells, write_table
from gridloom.flow.bench.fitting import fill_in_size
from gridloom.flow.bench.loop_speed import loop_summary
from gridloom.flow.bench.peers import with_peers
from gridloom.flow.bench.processor import Processor, sequential_cycles
from gridloom.flow.bench.suite import Suite, SuiteCell
from gridloom.flow.files import examples_folder
from gridloom.flow.inputs import fit_graph, memory_of, read_arch, read_source
from gridloom.flow.request import Request
from gridloom.flow.result import Result, blank_record, failure_record
from gridloom.mapping import json_format as mapping_format
from gridloom.mapping.model import Failure
from gridloom.mapping.model import Mapping as MappingOfGraph
from gridloom.run import ExecutorSpec, Job, JobError, ProgressCallback, Store, ask, run_jobs, run_stored
from gridloom.search.choice import mapper_name
from gridloom.text_file import is_file

#: The name under which cells are stored. It is part of their keys, so it stays when this module moves.
QUESTION: Final = "gridloom.flow.bench.run_cell"


@dataclass(frozen=True, kw_only=True)
class Report:
    """The rows of a suite in its own order, and their summary.

    A row is the record of a Result with ``cell`` and ``elapsed`` beside it. After an interruption the cells that were
    not reached are missing.
    """

    suite: str
    rows: Sequence[Mapping[str, Any]]
    interrupted: bool = False

    def __repr__(self) -> str:
        mappers = ", ".join(dict.fromkeys(str(row["mapper"]) for row in self.rows))
        return f"<Report of {self.suite}: {self.mapped} of {len(self.rows)} cells mapped, by {mappers or 'nobody'}>"

    def _repr_html_(self) -> str:
        from gridloom.emit.picture.notebook import table

        heads, *rows = table_cells(self.compare())
        return f"<div><strong>{escape(repr(self)[1:-1])}</strong>{table(rows, heads)}</div>"

    @property
    def mapped(self) -> int:
        """How many cells have a confirmed mapping."""
        return sum(row["status"] == "mapped" for row in self.rows)

    @property
    def summary(self) -> dict[str, Any]:
        """Counts and sums over all rows, and the same for each array family."""
        return summary(self.rows)

    def compare(self, metric: str | None = None) -> list[MapperComparison]:
        """The mappers beside the first one, on each array: pairs, geometric means, intervals, wins and losses."""
        return compare_mappers(self.rows, metric)

    def table(self, style: TableStyle = "md", metric: str | None = None) -> str:
        """The comparison as Markdown, CSV or LaTeX."""
        return write_table(self.compare(metric), style)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame with a column for each field, ``cell.arch`` for instance."""
        try:
            import pandas
        except ModuleNotFoundError:
            raise MissingExtra(f"a DataFrame needs pandas; install it with: {install_hint('explore')}") from None
        return pandas.json_normalize([dict(row) for row in self.rows], max_level=1)

    def to_dict(self, metric: str | None = None) -> dict[str, Any]:
        """Return the report as plain JSON data; mappers are compared by the metric."""
        return {
            "suite": self.suite,
            "rows": [dict(row) for row in self.rows],
            "summary": self.summary,
            "mappers": [asdict(row) for row in self.compare(metric)],
        }


def bench(
    suite: Suite,
    *,
    folder: Path | None = None,
    executor: ExecutorSpec | Executor = ExecutorSpec(),
    store: Store | None = None,
    resume: bool = False,
    progress: ProgressCallback | None = None,
    processor: Processor | None = None,
) -> Report:
    """Run every cell of a suite and return its rows; those of loops say what an iteration takes on the processor.

    ``folder`` is where a suite of published files finds them. With a ``store``, rows go there as they arrive and, with
    ``resume``, cells that are there already are not run again. Ctrl-C ends the run; the rows that arrived are returned.
    """
    cells = list(suite.cells())
    asked = [cell_job(suite, cell, folder) for cell in cells]
    # Two cells may ask the same: "auto" may be a size that the suite also names.
    jobs = list({job.key: job for job in asked}.values())
    if store is None:
        run = run_jobs(plugins.carry(run_cell), jobs, executor=executor, progress=progress)
        found = {outcome.key: (outcome.value, outcome.error, outcome.seconds) for outcome in run.outcomes}
        interrupted = run.interrupted
    else:
        done = run_stored(plugins.carry(run_cell), jobs, store, executor=executor, resume=resume, progress=progress)
        stored = {job.key: store.get(job.key) for job in jobs}
        found = {key: (row.value, row.error, row.seconds) for key, row in stored.items() if row is not None}  # type: ignore[misc]
        interrupted = done.interrupted
    rows = [
        _row(cell, mapper_name(suite.mapper), *found[job.key]) | _sequential(job.argument, processor or Processor())
        for cell, job in zip(cells, asked, strict=True)
        if job.key in found
    ]
    if suite.files and folder is not None:
        rows = with_peers(rows, folder)
    return Report(suite=suite.name, rows=rows, interrupted=interrupted)


def bench_mappers(
    chosen: Sequence[tuple[str, Suite]], run_suite: Callable[[Suite, bool], Report], *, named: bool = False
) -> Report:
    """Run a suite with each of several mappers; returns the rows of one mapper after those of another as one report.

    ``chosen`` are names and suites (:class:`~gridloom.flow.bench.selection.SuiteChoice`); where there are several, or
    with ``named``, rows bear these names, also those of ``auto``. ``run_suite`` hears whether a store has rows of
    another mapper.
    """
    parts: list[Report] = []
    for name, suite in chosen:
        part = run_suite(suite, bool(parts))
        if named or len(chosen) > 1:
            part = replace(part, rows=[{**row, "mapper": name} for row in part.rows])
        parts.append(part)
        if part.interrupted:
            break
    rows = [row for part in parts for row in part.rows]
    return replace(parts[0], rows=rows, interrupted=parts[-1].interrupted)


def cell_job(suite: Suite, cell: SuiteCell, folder: Path | None = None) -> Job[Any]:
    """Return the job of a cell. Its key holds everything that the result depends on, graph and array included."""
    source = source_path(suite, cell.source, folder)
    arch, memory = sized_array(cell.arch, source)
    # An unknown name should fail here, once, and not in every job.
    if isinstance(suite.mapper, str) and suite.mapper != "auto":
        registry.entry("mappers", suite.mapper)
    parameters = {
        "source": source,
        "graph": graph_hash(source, memory),
        "arch": arch,
        "array": _fingerprint(arch),
        "mapper": mapper_name(suite.mapper),
        "settings": dict(suite.settings),
        "seed": cell.seed,
        "effort": suite.effort,
        "time_limit": suite.time_limit,
        # Stored rows of other budgets keep their keys.
        **({"cpu_time": True} if suite.cpu_time else {}),
        **(plugin_versions(suite.mapper) if isinstance(suite.mapper, str) else {}),
    }
    argument = None if isinstance(suite.mapper, str) else {**parameters, "mapper": suite.mapper}
    return ask(QUESTION, parameters, version=__version__, argument=argument)


def plugin_versions(mapper: str) -> dict[str, list[str]]:
    """Return what the key of a job says of the plug-ins behind a mapper; nothing where there are none."""
    # ``auto`` chooses among mappers, and one for every kind of array races others.
    calls_others = mapper == "auto" or any("*" in part.takes for part in registry.entry("mappers", mapper).parts)
    packages = plugins.packages_behind(mapper, calls_others=calls_others)
    return {"plugins": packages} if packages else {}


def run_cell(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Run one cell in this process and return its record; with ``keep``, its mapping is part of the record."""
    from gridloom.flow.hardware import computing_ops

    result, effort = _settled(
        Request(
            source=parameters["source"],
            arch=parameters["arch"],
            mapper=parameters["mapper"],
            settings=parameters["settings"],
            seed=parameters["seed"],
            effort=parameters["effort"],
            time_limit=parameters["time_limit"],
            cpu_time=parameters.get("cpu_time", False),
        ),
        parameters.get("most_effort"),
    )
    record = result.to_dict() | {"energy": _energy(result.mapping), "ops": computing_ops(result.dfg)}
    if parameters.get("most_effort") is not None:
        record["effort"] = effort
    if parameters.get("keep") and result.mapping is not None:
        record["mapping"] = mapping_format.dumps(result.mapping)
    if result.arch.style != "modulo":
        return record
    found = {} if result.mapping is None else result.mapping.provenance
    search = {key: found[key] for key in ("strategies", "graph")} if "graph" in found else None
    return {**record, **({"search": search} if search else {})}


def _settled(request: Request, most: int | None) -> tuple[Result, int | None]:
    """Run a request with its effort doubled up to ``most`` until the result stops changing; returns the last effort.

    A search that finds nothing goes on to ``most``, unless it is proved that there is nothing to be found.
    """
    from gridloom.flow.run import run

    result, effort = run(request), request.effort
    while most is not None and effort is not None and 2 * effort <= most:
        proved = result.failure is not None and result.failure.cause == "proved"
        least = result.mapping is not None and result.bound is not None and result.mapping.ii == result.bound.total > 1
        if proved or least:
            break
        effort *= 2
        again = run(replace(request, effort=effort))
        settled = again.mapping is not None and _outcome(again) == _outcome(result)
        result = again if again.mapping is not None or result.mapping is None else result
        if settled:
            break
    return result, effort


def _outcome(result: Result) -> tuple[str, Any, Any]:
    """What a search with more effort may change: whether there is a mapping, its II and its period."""
    record = result.to_dict()
    return result.status, record["ii"], record["period"]


def _sequential(parameters: Mapping[str, Any], processor: Processor) -> dict[str, float]:
    """Return the cycles of an iteration on the processor as ``sequential``; nothing for an array that takes no loops.

    They are no part of what is stored: they depend on the graph and on the processor, and on no mapper.
    """
    array = read_arch(parameters["arch"])
    if array.style != "modulo":
        return {}
    memory = _memory(parameters["arch"]) if is_loop(parameters["source"]) else "arrays"
    return {"sequential": sequential_cycles(fit_graph(graph_of(parameters["source"], memory), array), processor)}


def _energy(mapping: MappingOfGraph | None) -> float | None:
    """The energy of one iteration in pJ; None where there is no mapping, or one whose values say nothing."""
    from gridloom.flow.hardware import energy_of

    if mapping is None or not mapping.arch.is_timed or mapping.dfg.domain not in ("i32", "f32", "cma24"):
        return None
    return energy_of(mapping).total


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return counts and sums over rows, and the same for each array family; loops are summed up by mapper too."""
    families = list(dict.fromkeys(_family(row) for row in rows))
    loops = [row for row in rows if "sequential" in row]
    return {
        **_totals(rows),
        "archs": {name: _totals([row for row in rows if _family(row) == name]) for name in families},
        **({"loops": loop_summary(loops)} if loops else {}),
    }


def _family(row: Mapping[str, Any]) -> str:
    """Return the array family of a row."""
    return str(row["cell"]["arch"]).partition(":")[0]


def _totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return counts and sums over some rows."""
    mapped = [row for row in rows if row["status"] == "mapped"]
    return {
        "cells": len(rows),
        "mapped": len(mapped),
        "wirelength": _sum(mapped, lambda row: row["wirelength"]),
        "buffers": _sum(mapped, lambda row: (row["buffers"] or {}).get("total")),
        "seconds": round(_sum(rows, lambda row: row["seconds"]), 3),
        "median_elapsed": round(median(row["elapsed"] for row in mapped), 3) if mapped else None,
    }


def _sum(rows: Sequence[Mapping[str, Any]], pick: Callable[[Mapping[str, Any]], float | None]) -> float:
    """Return the sum of what ``pick`` takes from each row; None counts as 0."""
    return sum(pick(row) or 0 for row in rows)


def source_path(suite: Suite, source: str, folder: Path | None) -> str:
    """Return a SOURCE of a suite: as it is, or as a path below the folder that holds the suite's files."""
    if not (suite.files or suite.examples) or source.startswith("kernel:"):
        return source
    if suite.examples and (folder is None or not is_file(parse(str(folder / source)).path)):
        folder = examples_folder()
    if folder is None:
        raise OptionError(
            f"suite {suite.name!r} reads published files; name their folder with --folder or GRIDLOOM_BENCHMARKS"
        )
    return str(folder / source)


def sized_array(arch: str, source: str) -> tuple[str, Memory]:
    """Return the ARCH string of a cell, and how the array takes memory accesses, which does not depend on its size."""
    # The graph has to be read before the size is known, and the way of memory accesses before the graph.
    memory = _memory(re.sub(r":(auto|fit)\b", ":2x2", arch)) if is_loop(source) else "arrays"
    return fill_in_size(arch, graph_of(source, memory)), memory


@cache
def _memory(arch: str) -> Memory:
    """Return how an ARCH takes memory accesses; each array is built once."""
    return memory_of(read_arch(arch))


@cache
def graph_of(source: str, memory: Memory) -> Dfg:
    """Return the graph of a SOURCE for an array that takes memory accesses that way. Each source is read once."""
    return read_source(source, memory)


@cache
def _fingerprint(arch: str) -> str:
    """Return the fingerprint of an ARCH; each array is built once."""
    return read_arch(arch).fingerprint


@cache
def graph_hash(source: str, memory: Memory) -> str:
    """Return a hash of a source's graph for the key of a job, since the file behind a SOURCE may change."""
    return hashlib.blake2b(json_format.dumps(graph_of(source, memory)).encode(), digest_size=12).hexdigest()


def _row(
    cell: SuiteCell, mapper: str, value: Mapping[str, Any] | None, error: JobError | None, elapsed: float
) -> dict[str, Any]:
    """Return the row of a cell: what it is, how long it took, and its record or what broke."""
    named = {
        "cell": {"source": cell.source, "arch": cell.arch, "seed": cell.seed},
        # From reading the source to the last check; ``seconds`` is the search alone.
        "elapsed": round(elapsed, 3),
    }
    return {**named, **(value if value is not None else {**broken_record(error, cell.seed), "mapper": mapper})}


def broken_record(error: JobError | None, seed: int) -> dict[str, Any]:
    """Return the record of a job that gave none: every field is there, and the failure says what happened."""
    reason = "no reason was given" if error is None else f"{error.type}: {error.message}"
    failure = Failure(constraint="the run", demand="an answer", bound=f"an error ({reason})")
    return {**blank_record(), "seed": seed, "failure": failure_record(failure), "energy": None, "ops": None}
