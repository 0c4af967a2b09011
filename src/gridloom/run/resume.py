"""Jobs with a store: what is stored is not computed again, so a run that was killed goes on where it was.

Two runs may share a store: each takes jobs that the other has not claimed, and waits at the end for those that the
other still computes, so that both end with all results.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

from gridloom.run.executor import ExecutorSpec, complete_jobs
from gridloom.run.job import Job, JobOutcome
from gridloom.run.progress import ProgressCallback, ProgressMeter
from gridloom.run.store import Store, StoreError

A = TypeVar("A")
R = TypeVar("R")

# Jobs another run has claimed are looked at again once there are this many: they hold memory.
_DEFERRED_LIMIT = 64


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a run added to its store, in jobs.

    ``computed`` includes ``failed``; ``skipped`` were stored already or are another run's.
    """

    computed: int
    skipped: int
    failed: int
    interrupted: bool
    seconds: float


def run_stored(
    function: Callable[[A], R],
    jobs: Iterable[Job[A]],
    store: Store,
    *,
    executor: ExecutorSpec | Executor = ExecutorSpec(),
    resume: bool = True,
    retry_failed: bool = False,
    lease: float = 60.0,
    on_result: Callable[[JobOutcome[R]], None] | None = None,
    progress: ProgressCallback | None = None,
) -> StoredRun:
    """Run the jobs that are not in ``store`` yet, put each outcome there as it arrives, and return the counts.

    Needs jobs made by `ask` (or with keys that are as stable) and results that JSON can hold. Without ``resume``, a
    store that has rows is refused. ``retry_failed`` runs failed jobs of earlier runs again. ``lease`` is how long
    after the death of another machine's run its claims are free. Ctrl-C ends the run early and keeps what is done.
    Memory does not grow with the number of jobs; the cost on processes is about 0.6 ms per job.
    """
    if not resume and len(store):
        raise StoreError(
            f"holds {len(store)} results already; resume (--resume), or name a new file", where=str(store.path)
        )
    # Only what failed before this run began is tried again, so that a job that fails anew ends the matter.
    queue = _Unstored(store, lease, time.time() if retry_failed else 0.0)
    meter = ProgressMeter(progress, len(jobs) if isinstance(jobs, Sized) else None)
    interrupted = False
    try:
        with (
            _heartbeat(store, lease),
            contextlib.closing(complete_jobs(function, queue.jobs(jobs, meter), executor=executor)) as outcomes,
        ):
            for outcome in outcomes:
                queue.finish(outcome)
                if on_result is not None:
                    on_result(outcome)
                meter.count(failed=outcome.failed)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        store.release()
    meter.tell()
    end = meter.now()
    return StoredRun(end.done - end.skipped, end.skipped, end.failed, interrupted, end.elapsed)


class _Unstored:
    """Hands out the jobs that are neither stored nor claimed by another run, and takes their outcomes.

    A job that was handed out is in ``_running`` until it is finished; one that another run has claimed waits in
    ``_deferred``. The deferred ones are kept few, since each holds its argument in memory.
    """

    def __init__(self, store: Store, lease: float, retry_failed_before: float) -> None:
        self._store = store
        self._lease = lease
        self._retry_failed_before = retry_failed_before
        self._running: dict[str, Job[Any]] = {}
        self._deferred: deque[Job[Any]] = deque()

    def jobs(self, jobs: Iterable[Job[A]], meter: ProgressMeter) -> Iterator[Job[A] | None]:
        """Yield each job that this run has to do; None while all that is left is with another run."""
        for job in jobs:
            if self._take(job, meter):
                yield job
            if len(self._deferred) > _DEFERRED_LIMIT:
                yield from self._retake(meter)
        while self._deferred:
            yield from self._retake(meter)
            if self._deferred:
                yield None

    def finish(self, outcome: JobOutcome[Any]) -> None:
        """Store the outcome of a job that was handed out."""
        job = self._running.pop(outcome.key)
        self._store.put(job, outcome, replace_failed_before=self._retry_failed_before)

    def _take(self, job: Job[A], meter: ProgressMeter) -> bool:
        """Claim a job; True when it is this run's to compute. One that another run has claimed is deferred."""
        answer = self._store.claim(job.key, lease=self._lease, retry_failed_before=self._retry_failed_before)
        if answer == "granted":
            self._running[job.key] = job
        elif answer == "stored":
            meter.count(skipped=True)
        else:
            self._deferred.append(job)
        return answer == "granted"

    def _retake(self, meter: ProgressMeter) -> Iterator[Job[Any]]:
        """Try all deferred jobs once more, and yield those that are free by now."""
        for _ in range(len(self._deferred)):
            job = self._deferred.popleft()
            if self._take(job, meter):
                yield job


@contextlib.contextmanager
def _heartbeat(store: Store, lease: float) -> Iterator[None]:
    """Renew this run's claims while the block runs."""
    # A thread, because a job in this process keeps the main thread busy for longer than a lease.
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(lease / 3):
            # A store that cannot be written is reported by the next result, in the thread that can act on it.
            with contextlib.suppress(StoreError):
                store.renew(lease=lease)

    thread = threading.Thread(target=beat, name="gridloom-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
