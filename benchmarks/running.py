"""Running a claim: its questions are jobs of ``gridloom.run``, so that an ended run goes on, or runs on a cluster."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.catalogue import find_claim
from benchmarks.claim import Claim, Row
from gridloom.run import ExecutorSpec, Store, ask, run_stored


class ClaimError(Exception):
    """A row of a claim could not be measured."""


def measure_row(question: Row) -> dict[str, Any]:
    """Measure one row in a worker; its CPU time is that of this process and of those that it starts."""
    claim = find_claim(question["claim"])
    began = cpu_seconds()
    found = claim.measure(question["asked"])
    rows = found if isinstance(found, list) else [found]
    return {"rows": [{**question["asked"], **row} for row in rows], "cpu": cpu_seconds() - began}


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run_claim(
    claim: Claim,
    *,
    quick: bool,
    store: Path | None = None,
    executor: ExecutorSpec = ExecutorSpec(backend="inline"),
    progress: Callable[[Any], None] | None = None,
) -> records.Run:
    """Measure the rows of a claim and return the run. With a ``store``, rows that are in it are not measured again."""
    sources = records.hash_sources(claim.depends)
    asked = list(claim.ask(quick))
    jobs = [ask(measure_row, {"claim": claim.name, "asked": one}, version=sources) for one in asked]
    with ExitStack() as stack:
        file = store or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gridloom-claim-"))) / "rows.sqlite"
        rows = stack.enter_context(Store(file))
        run_stored(measure_row, jobs, rows, executor=executor, retry_failed=True, progress=progress)
        answers = [rows.get(job.key) for job in jobs]
    for job, answer in zip(jobs, answers):
        if answer is None or answer.error is not None:
            why = "interrupted" if answer is None else answer.error.traceback or answer.error.message
            raise ClaimError(f"{claim.name}, {job.argument['asked']}: {why}")
    values = [answer.value for answer in answers if answer is not None]
    # The store sorts the columns; those of the question come first again, in its order.
    order = list(asked[0])
    found = [{**{name: row[name] for name in order}, **row} for value in values for row in value["rows"]]
    return records.new_run(claim, found, quick=quick, cpu_seconds=sum(value["cpu"] for value in values))
