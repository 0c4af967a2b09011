"""Runs a suite of whole functions: compiles each onto each array, runs it on its data, and compares every value.

A row says whether the values of all data sets equal those of compiled code, how many cycles the function takes (the
mean over its data sets), and what they are spent on. Two figures stand beside the total: ``single_issue`` is what a
static single-issue processor takes for the same run, ``ideal`` is the sum of II times iterations over the loops on the
array, which an array without prologues, transfers and host code would take. ``breakdown`` explains the difference.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from gridloom import plugins
from gridloom._version import __version__
from gridloom.errors import GridloomError
from gridloom.flow.bench.functions.suite import DrawnArgument, FunctionSuite, data_set
from gridloom.flow.bench.suite import SuiteCell
from gridloom.flow.files import examples_folder
from gridloom.run import ExecutorSpec, Job, ask, run_jobs
from gridloom.run.progress import ProgressCallback
from gridloom.statistics import geometric_mean

QUESTION = "gridloom.flow.bench.functions"


@dataclass(frozen=True, kw_only=True)
class FunctionReport:
    """The rows of a suite of functions in its own order."""

    suite: str
    rows: Sequence[Mapping[str, Any]]
    interrupted: bool = False

    @property
    def equal(self) -> int:
        """How many cells compute on all data sets what compiled code computes."""
        return sum(row["status"] == "equal" for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON data."""
        return {"suite": self.suite, "rows": [dict(row) for row in self.rows], "summary": summary(self.rows)}


def bench_functions(
    suite: FunctionSuite,
    *,
    folder: Path | None = None,
    executor: ExecutorSpec = ExecutorSpec(),
    progress: ProgressCallback | None = None,
) -> FunctionReport:
    """Run every cell of a suite of functions on worker processes. Ctrl-C returns the rows that arrived."""
    cells = list(suite.cells())
    jobs = [_job(suite, cell, folder) for cell in cells]
    run = run_jobs(plugins.carry(run_cell), jobs, executor=executor, progress=progress)
    found = {outcome.key: outcome for outcome in run.outcomes}
    rows = []
    for cell, job in zip(cells, jobs, strict=True):
        outcome = found.get(job.key)
        if outcome is None:
            continue
        named = {"cell": {"source": cell.source, "arch": cell.arch, "seed": cell.seed}}
        rows.append({**named, **(outcome.value or _failed(f"{outcome.error}"))})
    return FunctionReport(suite=suite.name, rows=rows, interrupted=run.interrupted)


def _job(suite: FunctionSuite, cell: SuiteCell, folder: Path | None) -> Job[Any]:
    """Return the job of a cell."""
    root = folder
    if suite.examples and (root is None or not (root / cell.source.partition(":")[0]).is_file()):
        root = examples_folder().parent / "functions"
    arguments = {name: row.to_list() for name, row in suite.functions[cell.source].items()}
    parameters = {
        "source": str(root / cell.source) if root is not None else cell.source,
        "arch": cell.arch, "mapper": suite.mapper, "seed": cell.seed, "effort": suite.effort,
        "time_limit": suite.time_limit, "arguments": arguments, "data_sets": suite.data_sets,
    }  # fmt: skip
    return ask(QUESTION, parameters, version=__version__)


def run_cell(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Run one cell in this process and return its row."""
    from gridloom.flow.functions.compile import compile_function

    started = time.perf_counter()
    described = {name: DrawnArgument(*row) for name, row in parameters["arguments"].items()}
    try:
        compiled = compile_function(
            parameters["source"], parameters["arch"], mapper=parameters["mapper"], seed=parameters["seed"],
            effort=parameters["effort"], time_limit=parameters["time_limit"],
        )  # fmt: skip
        runs = []
        verified = 0.0
        for k in range(parameters["data_sets"]):
            runs.append(compiled.run(**data_set(compiled.signature, described, k)))
            # What a user waits for is one run: from the source to values that are compared.
            verified = verified or time.perf_counter() - started
    except GridloomError as error:
        return _failed(str(error))
    return _row(compiled, runs, verified, time.perf_counter() - started)


def _row(compiled: Any, runs: Sequence[Any], verified: float, elapsed: float) -> dict[str, Any]:
    """Return the row of a function that ran on all its data."""
    different = [run for run in runs if not run.native.agrees]
    spent: Counter[str] = Counter()
    for run in runs:
        spent.update(run.breakdown)
    mean = {name: round(cycles / len(runs)) for name, cycles in spent.items()}
    first = different[0].native if different else None
    done = any(run.native.executed for run in runs)
    return {
        "status": "different" if different else "equal" if done else "nothing executed",
        "data_sets": len(runs),
        "equal": len(runs) - len(different),
        "difference": None if first is None else (first.missing or first.differences[0]),
        "cycles": mean.pop("total"),
        "ideal": _mean(run.ideal for run in runs),
        "single_issue": _mean(run.single_issue for run in runs),
        "breakdown": mean,
        "loops": [_loop(loop) for loop in compiled.loops],
        "verified": round(verified, 3),
        "elapsed": round(elapsed, 3),
    }


def _loop(loop: Any) -> dict[str, Any]:
    """Return what became of one loop."""
    return {"name": loop.plan.name, "line": loop.plan.line, "ii": loop.ii, "bound": loop.bound, "reason": loop.reason}


def _mean(values: Iterable[int]) -> int:
    found = list(values)
    return round(sum(found) / len(found))


def _failed(reason: str) -> dict[str, Any]:
    """Return the row of a function that could not be compiled or run."""
    return {
        "status": "failed", "data_sets": 0, "equal": 0, "difference": reason, "cycles": None, "ideal": None,
        "single_issue": None, "breakdown": {}, "loops": [], "verified": None, "elapsed": None,
    }  # fmt: skip


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return counts and means over the rows of each array, and the median time from source to verified values."""
    archs = list(dict.fromkeys(row["cell"]["arch"] for row in rows))
    return {
        **_figures(rows),
        "archs": {arch: _figures([row for row in rows if row["cell"]["arch"] == arch]) for arch in archs},
    }


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of some rows; means are geometric, since they are of ratios."""
    done = [row for row in rows if row["status"] != "failed"]
    pipelined = [row for row in done if row["ideal"]]
    return {
        "cells": len(rows),
        "equal": sum(row["status"] == "equal" for row in rows),
        "data_sets": sum(row["data_sets"] for row in rows),
        "speedup": geometric_mean(row["single_issue"] / row["cycles"] for row in done),
        "over_ideal": geometric_mean(row["cycles"] / row["ideal"] for row in pipelined),
        "median_verified": round(median(row["verified"] for row in done), 3) if done else None,
    }
