"""Independent jobs on one interface: in this process, on threads, on worker processes or on a Dask cluster.

`complete_jobs` yields outcomes as they arrive and takes jobs from its iterator only when there is room, so memory does
not grow with the number of jobs. What a job raises is its outcome. Everything runs on a `concurrent.futures.Executor`;
the few lines that differ between backends are in `open_executor`.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar

from gridloom.run.cluster import open_cluster
from gridloom.run.job import Job, JobError, JobOutcome, RunError, call, in_order
from gridloom.run.progress import ProgressCallback, ProgressMeter
from gridloom.run.workers import WorkerLost, WorkerPool, usable_cores

A = TypeVar("A")
R = TypeVar("R")
P = ParamSpec("P")
T = TypeVar("T")

Backend: TypeAlias = Literal["inline", "threads", "processes", "dask"]

# Seconds after which a run looks again for Ctrl-C and for jobs that were not ready.
_POLL = 0.1


@dataclass(frozen=True, kw_only=True)
class ExecutorSpec:
    """Where jobs run. See `ExecutorSpec.parse` for the command line's reading of it."""

    backend: Backend = "processes"
    workers: int | None = None
    """Processes or threads; None: one for each core this process may use. A named Dask scheduler has its own."""
    cluster: str = "local"
    """Dask only: the scheduler's address (``tcp://host:port``), or ``local`` for a cluster on this machine."""
    retries: int = 3
    """How many more times a job is tried after its worker died with it."""
    in_flight: int | None = None
    """How many jobs are taken from the iterator ahead of their results; None: as many as keep the workers busy."""

    def __post_init__(self) -> None:
        for name, least in (("workers", 1), ("retries", 0), ("in_flight", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise RunError(f"found {value}, expected at least {least}", where=name)

    @classmethod
    def parse(cls, *, jobs: int | None = None, cluster: str | None = None) -> ExecutorSpec:
        """Return what ``--jobs`` and ``--cluster`` ask for: one job at a time runs here, more on processes.

        With ``--cluster`` the jobs go there, and ``--jobs`` is the number of workers of a ``local`` one. RunError for
        what is no address.
        """
        if cluster is not None:
            if cluster != "local" and "://" not in cluster:
                raise RunError(
                    f"found {cluster!r}, expected 'local' or a Dask scheduler's address such as tcp://10.0.0.1:8786",
                    where="cluster",
                )
            return cls(backend="dask", workers=jobs, cluster=cluster)
        return cls(backend="inline" if jobs == 1 else "processes", workers=jobs)


class InlineExecutor(Executor):
    """Runs each job in the call to ``submit``: nothing to start, a debugger works, results come in job order.

    Its futures are finished when they are returned; ``shutdown`` has nothing to do.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call now and return a finished future; Ctrl-C passes through."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class _Site:
    """An open executor, how to call a job on it and how many jobs it can have in flight."""

    executor: Executor
    in_flight: Callable[[], int]
    call: Callable[..., JobOutcome[Any]] = call
    flush: Callable[[], None] = lambda: None


@contextlib.contextmanager
def open_executor(where: ExecutorSpec | Executor) -> Iterator[_Site]:
    """Open what ``where`` describes and close it again; left by an exception, running jobs are stopped where possible.

    An executor that was passed in stays open: it is its owner's.
    """
    if isinstance(where, Executor):
        size = where.size if isinstance(where, WorkerPool) else usable_cores()
        yield _Site(where, lambda: 2 * size)
        return
    opened = _open_dask(where) if where.backend == "dask" else _open_here(where)
    with opened as site:
        if where.in_flight is not None:
            fixed = where.in_flight
            site = replace(site, in_flight=lambda: fixed)
        yield site


@contextlib.contextmanager
def _open_here(spec: ExecutorSpec) -> Iterator[_Site]:
    """This process, a pool of its threads or one of worker processes.

    Processes are killed when the block ends by an exception, so that Ctrl-C does not wait for the jobs that run. A
    thread cannot be stopped from outside; its job ends by its own budget.
    """
    size = spec.workers or usable_cores()
    executor: Executor = InlineExecutor()
    # Inline one is in flight, or the first outcome would wait for the jobs after it.
    in_flight = 1 if spec.backend == "inline" else 2 * size
    if spec.backend == "threads":
        executor = ThreadPoolExecutor(size, thread_name_prefix="gridloom-job")
    elif spec.backend == "processes":
        executor = WorkerPool(size, retries=spec.retries)
    try:
        yield _Site(executor, lambda: in_flight)
    except BaseException:
        if isinstance(executor, WorkerPool):
            executor.kill()
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


@contextlib.contextmanager
def _open_dask(spec: ExecutorSpec) -> Iterator[_Site]:
    """A connection to a Dask cluster."""
    with open_cluster(spec.cluster, workers=spec.workers, retries=spec.retries) as cluster:
        yield _Site(cluster.executor, cluster.in_flight, cluster.call, cluster.executor.flush)


def complete_jobs(
    function: Callable[[A], R],
    jobs: Iterable[Job[A] | None],
    *,
    executor: ExecutorSpec | Executor = ExecutorSpec(),
) -> Generator[JobOutcome[R], None, None]:
    """Yield the outcome of ``function(job.argument)`` for every job, in the order of their completion.

    Every job gives exactly one outcome, whatever happens to workers. ``jobs`` is read lazily, never further ahead
    than the jobs in flight; a ``None`` in it means "nothing ready at the moment, ask again". For processes and Dask,
    ``function`` has to be importable by name, argument and result picklable. On Ctrl-C no more jobs are submitted,
    pending ones are cancelled, outcomes that have arrived are yielded and then `KeyboardInterrupt` is raised. Raises
    `RunError` when jobs cannot be run at all.
    """
    with open_executor(executor) as site:
        if isinstance(site.executor, WorkerPool):
            _require_importable(function)
        yield from _Drive(function, iter(jobs), site).outcomes()


def _require_importable(function: Callable[..., object]) -> None:
    """Raise RunError for a function that another process cannot import by its name."""
    try:
        pickle.dumps(function)
    except Exception as error:
        raise RunError(
            f"worker processes cannot import {function!r} ({error}); expected a function defined at the top level of a "
            "module (or use threads)"
        ) from error


class _Drive(Generic[A, R]):
    """Keeps a bounded number of jobs in flight on a site and hands out their outcomes.

    Every future that is submitted is in ``_pending`` until its outcome is handed out; done-callbacks put it into
    ``_arrived``, from whatever thread they run in. One instance serves one run.
    """

    def __init__(self, function: Callable[[A], R], jobs: Iterator[Job[A] | None], site: _Site) -> None:
        self._function = function
        self._jobs = jobs
        self._site = site
        self._exhausted = False
        self._pending: dict[Future[JobOutcome[R]], str] = {}
        self._arrived: queue.SimpleQueue[Future[JobOutcome[R]]] = queue.SimpleQueue()

    def outcomes(self) -> Iterator[JobOutcome[R]]:
        """Yield the outcomes in the order in which they arrive; Ctrl-C yields what has arrived and passes on."""
        try:
            while not self._exhausted or self._pending:
                self._fill()
                future = self._next_arrival()
                if future is not None:
                    yield self._outcome(future)
        except KeyboardInterrupt:
            yield from self._rest()
            raise
        finally:
            # Whoever stops reading outcomes does not want the rest.
            for future in self._pending:
                future.cancel()

    def _fill(self) -> None:
        """Submit jobs until there is no room, or none is ready."""
        room = self._site.in_flight() - len(self._pending)
        while room > 0 and not self._exhausted:
            try:
                job = next(self._jobs)
            except StopIteration:
                self._exhausted = True
                return
            if job is None:
                return
            self._submit(job)
            room -= 1

    def _submit(self, job: Job[A]) -> None:
        """Submit one job; one that cannot be pickled has its outcome at once."""
        try:
            future = self._site.executor.submit(self._site.call, self._function, job.key, job.argument)
        except BrokenExecutor as error:
            raise RunError(str(error)) from error
        except Exception as error:
            # The argument cannot be pickled: this job's fault, not the run's.
            future = Future()
            future.set_result(JobOutcome(job.key, "error", None, JobError.from_exception(error)))
        self._pending[future] = job.key
        future.add_done_callback(self._arrived.put)

    def _next_arrival(self) -> Future[JobOutcome[R]] | None:
        """The next future that is done; None after a short wait without one.

        Bundles that are not full are sent only when nothing has arrived, since arriving outcomes make room for more
        jobs that may fill them. The wait is short so that Ctrl-C is seen and deferred jobs are asked for again.
        """
        if not self._pending:
            if not self._exhausted:
                time.sleep(_POLL)
            return None
        if self._arrived.empty():
            self._site.flush()
        try:
            return self._arrived.get(timeout=_POLL)
        except queue.Empty:
            return None

    def _outcome(self, future: Future[JobOutcome[R]]) -> JobOutcome[R]:
        """The outcome of a job that is done. RunError where the executor itself has failed."""
        key = self._pending.pop(future)
        if future.cancelled():
            raise RunError(
                f"job {key} was cancelled from outside (was the executor shut down, or the connection to the cluster "
                "lost?); results that arrived are kept, run again to compute the rest"
            )
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, BrokenExecutor) and not isinstance(error, WorkerLost):
            raise RunError(str(error)) from error
        # What the function raises is a value by now: this came from the machinery around it.
        return JobOutcome(key, "lost", None, JobError(type(error).__name__, str(error)))

    def _rest(self) -> Iterator[JobOutcome[R]]:
        """After an interrupt: cancel what is pending, and yield what has arrived already."""
        for future in list(self._pending):
            future.cancel()
        while True:
            try:
                future = self._arrived.get_nowait()
            except queue.Empty:
                return
            if not future.cancelled() and future.exception() is None:
                self._pending.pop(future)
                yield future.result()


@dataclass(frozen=True, slots=True)
class JobRun(Generic[R]):
    """The outcomes of a run, in the order of the jobs, and whether Ctrl-C cut it short."""

    outcomes: list[JobOutcome[R]]
    interrupted: bool = False

    @property
    def failed(self) -> list[JobOutcome[R]]:
        """The outcomes without a value."""
        return [outcome for outcome in self.outcomes if outcome.failed]


def run_jobs(
    function: Callable[[A], R],
    jobs: Iterable[Job[A]],
    *,
    executor: ExecutorSpec | Executor = ExecutorSpec(),
    on_result: Callable[[JobOutcome[R]], None] | None = None,
    progress: ProgressCallback | None = None,
) -> JobRun[R]:
    """Run all jobs and return their outcomes in the order of the jobs, interrupted or not.

    ``on_result`` sees each outcome as it arrives. Memory grows with the results; use `complete_jobs` or `run_stored`
    for runs whose results should not all be held.
    """
    meter = ProgressMeter(progress, len(jobs) if isinstance(jobs, Sized) else None)
    keys: list[str] = []
    arrived: list[JobOutcome[R]] = []
    interrupted = False
    try:
        with contextlib.closing(complete_jobs(function, _noting(jobs, keys), executor=executor)) as outcomes:
            for outcome in outcomes:
                arrived.append(outcome)
                if on_result is not None:
                    on_result(outcome)
                meter.count(failed=outcome.failed)
    except KeyboardInterrupt:
        interrupted = True
    meter.tell()
    return JobRun(in_order(arrived, keys), interrupted)


def _noting(jobs: Iterable[Job[A]], keys: list[str]) -> Iterator[Job[A]]:
    """Pass jobs on and note their keys; RunError for a key that comes twice."""
    seen: set[str] = set()
    for job in jobs:
        if job.key in seen:
            raise RunError(f"two jobs have the key {job.key}; expected a key of its own for each job")
        seen.add(job.key)
        keys.append(job.key)
        yield job
