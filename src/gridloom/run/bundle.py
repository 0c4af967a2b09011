"""Several short jobs in one task, for executors on which a task costs more than a short job.

A Dask task costs 3 to 6 ms of its client and scheduler, so a scheduler hands out a few hundred tasks per second to all
its workers together. Jobs that are shorter than that travel in bundles which take about `_BUNDLE_SECONDS`, or longer
where there are many workers to feed; long jobs travel alone. The calls of a bundle that dies with its worker are
suspects: they run again one at a time, so that only the job that killed it is lost. Sent all at once, an innocent one
may wait at the very worker that the guilty one kills, more often than is forgiven.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

# What a bundle should take; tasks that a scheduler hands out per second; the most calls of a bundle.
_BUNDLE_SECONDS = 0.1
_TASKS_PER_SECOND = 200.0
_LARGEST = 100


def run_bundle(calls: Sequence[Call]) -> tuple[float, list[Any]]:
    """Make the calls one after the other, on a worker; return the seconds they took and their results."""
    start = time.perf_counter()
    results = [function(*args, **kwargs) for function, args, kwargs in calls]
    return time.perf_counter() - start, results


class BundlingExecutor(Executor):
    """Passes calls on to ``executor`` in bundles whose size follows from how long calls take.

    ``threads()`` is the number of calls that can run at the same time. Calls wait until a bundle is full or `flush` is
    called; they should not raise, since one that does makes its whole bundle run again, each call alone.
    """

    def __init__(self, executor: Executor, threads: Callable[[], int]) -> None:
        self._executor = executor
        self._threads = threads
        self._waiting: list[tuple[Future[Any], Call]] = []
        self._mean_seconds = math.inf
        self._lock = threading.Lock()
        #: Calls of bundles that died, and whether one of them is under way.
        self._suspects: deque[tuple[Future[Any], Call]] = deque()
        self._trying = False

    def size(self) -> int:
        """Return how many calls a bundle holds at the moment: one until the first has shown how long it takes."""
        seconds = max(_BUNDLE_SECONDS, self._threads() / _TASKS_PER_SECOND)
        return max(1, min(_LARGEST, int(seconds / max(self._mean_seconds, 1e-6))))

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Add a call to the bundle being filled and return its future."""
        future: Future[T] = Future()
        self._waiting.append((future, (fn, args, kwargs)))
        if len(self._waiting) >= self.size():
            self.flush()
        return future

    def flush(self) -> None:
        """Send what is waiting, full or not."""
        waiting, self._waiting = self._waiting, []
        bundle = [(future, call) for future, call in waiting if not future.cancelled()]
        if bundle:
            self._send(bundle)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Send what is waiting and shut the executor below down; without ``wait``, what has not run is cancelled."""
        if wait and not cancel_futures:
            self.flush()
        with self._lock:
            suspects = list(self._suspects)
            self._suspects.clear()
        for future, _ in (*self._waiting, *suspects):
            future.cancel()
        self._executor.shutdown(wait=wait)

    def _send(self, bundle: list[tuple[Future[Any], Call]]) -> None:
        """Submit a bundle as one task."""
        task = self._executor.submit(run_bundle, [call for _, call in bundle])
        task.add_done_callback(lambda done: self._settle(bundle, done))

    def _settle(self, bundle: list[tuple[Future[Any], Call]], task: Future[tuple[float, list[Any]]]) -> None:
        """Give each call of a bundle its result; the calls of one that died become suspects.

        Runs in whatever thread the executor below calls its callbacks in, hence the lock around the suspects.
        """
        if task.cancelled():
            for future, _ in bundle:
                future.cancel()
            return
        error = task.exception()
        if error is None:
            seconds, results = task.result()
            self._update_mean(seconds / len(bundle))
            for (future, _), result in zip(bundle, results, strict=True):
                if future.set_running_or_notify_cancel():
                    future.set_result(result)
        else:
            with self._lock:
                self._suspects.extend(bundle)
            self._try_next()

    def _try_next(self) -> None:
        """Send the next suspect, unless one is under way."""
        with self._lock:
            if self._trying or not self._suspects:
                return
            self._trying = True
            suspect = self._suspects.popleft()
        task = self._executor.submit(run_bundle, [suspect[1]])
        task.add_done_callback(lambda done: self._settle_suspect(suspect[0], done))

    def _settle_suspect(self, future: Future[Any], task: Future[tuple[float, list[Any]]]) -> None:
        """Give a call that ran alone its result, or the error that it caused, and go on with the next suspect."""
        with self._lock:
            self._trying = False
        if task.cancelled():
            future.cancel()
        elif future.set_running_or_notify_cancel():
            error = task.exception()
            if error is None:
                future.set_result(task.result()[1][0])
            else:
                future.set_exception(error)
        self._try_next()

    def _update_mean(self, seconds: float) -> None:
        """Update the mean duration of a call."""
        # Recent bundles count most: suites often go from small graphs to large ones.
        known = math.isfinite(self._mean_seconds)
        self._mean_seconds = 0.8 * self._mean_seconds + 0.2 * seconds if known else seconds
