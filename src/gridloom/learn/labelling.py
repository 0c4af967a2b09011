"""Labels in a store: what is missing is made by independent jobs, and a run that is stopped continues where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any

from gridloom.run import ExecutorSpec, Job, Store, run_stored
from gridloom.run.work import WorkFolder


def label_missing(
    label: Callable[[dict[str, Any]], Any], jobs: Iterable[Job[Any]], total: int, unit: str, store: Store,
    work: WorkFolder,
) -> Any:  # fmt: skip
    """Run the jobs that a store has no answer of until the work is over; returns how many were run and how many failed.

    ``total`` and ``unit`` are for the line of progress. ``work.jobs`` workers label in parallel.
    """

    def report(progress: Any) -> None:
        work.progress(f"{progress.done} of {total} {unit}", progress.done / total)

    until_over = takewhile(lambda _: not work.over(), jobs)
    return run_stored(label, until_over, store, executor=ExecutorSpec.parse(jobs=work.jobs), progress=report)
