"""Jobs on a Dask cluster: a scheduler that the user names, or one started here.

Dask re-runs the jobs of a worker that died and gives up on a job that takes several workers with it (`KilledWorker`),
so nothing is left to do but to connect, to check that the workers can import this package, to bundle short jobs, and
to close.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gridloom.errors import MissingExtra, install_hint
from gridloom.run.bundle import BundlingExecutor
from gridloom.run.job import JobOutcome, RunError, call
from gridloom.run.threads import limit_threads
from gridloom.run.workers import usable_cores

_CONNECT_SECONDS = 15.0
_RECOUNT_SECONDS = 2.0


@dataclass(frozen=True)
class Cluster:
    """A connection: its executor, how to call a job there, and how many threads its workers have at the moment."""

    executor: BundlingExecutor
    call: Callable[..., JobOutcome[Any]]
    threads: Callable[[], int]

    def in_flight(self) -> int:
        """Return how many jobs keep every worker busy while results travel."""
        return max(16, 4 * self.threads()) * self.executor.size()


class _Threads:
    """The number of worker threads, looked up every few seconds: workers come and go.

    A look-up is a message to the scheduler, too much for each job.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._count = 0
        self._counted = float("-inf")

    def __call__(self) -> int:
        if time.monotonic() - self._counted > _RECOUNT_SECONDS:
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
            self._count = sum(worker["nthreads"] for worker in workers)
            self._counted = time.monotonic()
        return self._count


def cluster_call(function: Callable[[Any], Any], key: str, argument: Any) -> JobOutcome[Any]:
    """Call a job in a Dask worker, with the worker's libraries limited to one thread."""
    limit_threads()
    return call(function, key, argument)


@contextlib.contextmanager
def open_cluster(address: str, *, workers: int | None = None, retries: int = 3) -> Iterator[Cluster]:
    """Connect to the scheduler at ``address``, or start a cluster on this machine for ``local``; close it at the end.

    Raises `MissingExtra` without Dask, `RunError` when nothing answers or the workers cannot import this package. A
    named scheduler keeps its own limit of deaths per job (``distributed.scheduler.allowed-failures``).
    """
    dask, distributed = _import_dask()
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": retries}))
        target = address
        if address == "local":
            target = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers or usable_cores(), threads_per_worker=1, processes=True, dashboard_address=":0"
                )
            )
        client = stack.enter_context(_connect(distributed, target, address))
        _check_workers(client, address)
        workers_now = _Threads(client)
        # Pure, Dask would take two equal calls for one; a job with a random result may be asked for twice.
        executor = BundlingExecutor(client.get_executor(pure=False), workers_now)
        try:
            yield Cluster(executor, cluster_call, workers_now)
        except BaseException:
            executor.shutdown(wait=False)
            raise
        executor.shutdown(wait=True)


def _import_dask() -> tuple[Any, Any]:
    """The modules of Dask; MissingExtra where it is not installed."""
    try:
        import dask
        import distributed
    except ImportError as error:
        raise MissingExtra(
            f"jobs on a cluster need Dask, which is not installed: {install_hint('cluster')}",
            where="cluster",
        ) from error
    return dask, distributed


def _connect(distributed: Any, target: Any, address: str) -> Any:
    """A client of the scheduler. RunError where nothing answers."""
    try:
        # A client that the user has open already stays the default one.
        return distributed.Client(target, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise RunError(
            f"no Dask scheduler answers ({type(error).__name__}: {error}); start one with 'dask scheduler' and pass "
            "the address it prints, or use 'local'",
            where=f"cluster {address}",
        ) from error


def _check_workers(client: Any, address: str) -> None:
    """Raise RunError unless the workers can import this package."""
    # Found out now, this is one message; later it would be a lost job for each job.
    try:
        client.run(limit_threads)
    except Exception as error:
        raise RunError(
            f"a worker cannot run gridloom's jobs ({type(error).__name__}: {error}); install the same version of "
            "gridloom on every worker",
            where=f"cluster {address}",
        ) from error
