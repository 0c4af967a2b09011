"""A pool of worker processes that survives the death of any of them.

Why not `concurrent.futures.ProcessPoolExecutor`: a killed worker breaks the whole pool without telling whose job it
was, and a worker killed while it writes a large result hangs the pool for good, because the parent holds the pipe's
writing end open itself and so never reads its end (seen at once with a 200 MB result and CPython 3.11.7).

Why not a library? With loky 3.7 one killed worker fails the jobs of all workers, and the executor takes no more. Pebble
5.2 fails the right job alone and has time limits per job, but its workers share one pipe: a worker that is killed while
it hands over a large result leaves the pool without any further result, in each of four trials, and a script without
``if __name__ == "__main__"`` breaks it. Neither is cheaper: a first job takes pebble 1.3 times and loky 1.9 times the
processor time of ours, further jobs about the same.

Here every worker has a pipe of its own and one job at a time. Its death is the end of that pipe: a half-written
result is dropped, the job that was running is known exactly, goes to a fresh worker, and after ``retries`` more
deaths its future raises `WorkerLost`. The last attempt is made with no other job running, so that the victim of a
memory shortage is not blamed for its neighbours. Workers are spawned, not forked: a fork of a process with threads
(numba's, BLAS's) can deadlock.

Cost: about 0.3 ms per job (``python -m benchmarks run speed/jobs``); a worker starts in about 0.1 s plus the imports of
the job's module.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from dataclasses import dataclass, field
from multiprocessing import spawn
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, ParamSpec, TypeVar

from gridloom.run.threads import limit_threads, limited_environment

P = ParamSpec("P")
T = TypeVar("T")

# A worker that exits by itself before it is ready will do so again; one that was killed may have been unlucky.
_START_ATTEMPTS = 3
_KILLED_START_SECONDS = 60.0


class WorkerLost(BrokenExecutor):
    """A job's worker died with it more often than allowed."""


def usable_cores() -> int:
    """Return the number of cores this process may use, which a container or ``taskset`` may have limited.

    Where the system cannot tell (macOS, Windows) it is the number of cores of the machine.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _exit_with_parent() -> None:
    """End this worker when the process that started it ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        # At once, whatever the job is doing: nobody is left to take its result.
        os.kill(os.getpid(), signal.SIGTERM)


@contextlib.contextmanager
def _hidden_main() -> Iterator[dict[str, Any]]:
    """Keep a worker that starts from running the script of this process; yields what finds the script later.

    A script without ``if __name__ == "__main__"`` would start its jobs again in every worker. Only calls whose
    pickle names ``__main__`` need the script, and few do.
    """
    main: Any = sys.modules["__main__"]
    found = {key: value for key, value in spawn.get_preparation_data("").items() if key.startswith("init_main")}
    path, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    main.__file__ = main.__spec__ = None
    try:
        yield found
    finally:
        main.__file__, main.__spec__ = path, spec
        if path is None:
            del main.__file__


#: What a worker imports as ``__main__`` at the first call that names it; empty once it has.
_main: dict[str, Any] = {}
#: Set while a worker runs the script: a pool that the script opens then would be a pool within a pool.
_running_main = False


def _import_main() -> None:
    """Run the script that a call names; a script that starts jobs while it runs gets a RuntimeError."""
    global _running_main
    found = dict(_main)
    _main.clear()
    _running_main = True
    try:
        spawn.prepare(found)
    finally:
        _running_main = False


def _work(pipe: Connection, main: dict[str, Any]) -> None:
    """The main loop of a worker: receive a call, make it, send the reply.

    ``main`` finds the script that started the pool. The first message says that the worker is ready, that is, that its
    imports have succeeded. The loop ends when the pool closes its end of the pipe.
    """
    # Ctrl-C reaches the whole process group; the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    limit_threads()
    _main.update(main)
    pipe.send_bytes(b"ready")
    while True:
        try:
            request = pipe.recv_bytes()
        except EOFError:
            return
        reply = _reply(request)
        try:
            pipe.send_bytes(reply)
        except OSError:
            return


def _reply(request: bytes) -> bytes:
    """A result or an exception as bytes; what cannot be pickled becomes an error that says so."""
    try:
        if _main and b"__main__" in request:
            _import_main()
        function, args, kwargs = pickle.loads(request)
        return pickle.dumps((True, function(*args, **kwargs)), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:
        return _pickled_error(error)


def _pickled_error(error: BaseException) -> bytes:
    """An exception as bytes, or a RuntimeError of the same text where it cannot be rebuilt."""
    try:
        reply = pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
        pickle.loads(reply)
    except Exception:
        # Many exception classes cannot be rebuilt from their arguments; the text is what matters.
        reply = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")), pickle.HIGHEST_PROTOCOL)
    return reply


@dataclass(eq=False, slots=True)
class _Task:
    """A call that waits or runs, and how many workers have died with it."""

    future: Future[Any]
    request: bytes
    deaths: int = 0


@dataclass(eq=False, slots=True)
class _Worker:
    """A process, its pipe, and the call that it runs now."""

    process: BaseProcess
    pipe: Connection
    ready: bool = False
    task: _Task | None = field(default=None)


class WorkerPool(Executor):
    """An executor of ``workers`` processes in which a killed worker costs one re-run of its job and nothing else.

    ``retries`` is how many more times a job is tried after its worker died. Workers start when there is work for
    them, limit their libraries to one thread, ignore Ctrl-C and end when this process ends, however it ends.
    Functions and arguments are pickled: functions have to be importable by name.
    """

    def __init__(self, workers: int | None = None, *, retries: int = 3) -> None:
        self.size = usable_cores() if workers is None else workers
        if self.size < 1:
            raise ValueError(f"a pool needs at least one worker, found {self.size}")
        if _running_main:
            raise RuntimeError('a script whose functions are jobs has to start them under if __name__ == "__main__":')
        self._retries = retries
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._queue: deque[_Task] = deque()
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._failing_since = 0.0
        self._closing = False
        self._killed = False
        self._broken: str | None = None
        self._wake_reader, self._wake_writer = self._context.Pipe(duplex=False)
        self._thread: threading.Thread | None = None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call and return its future. Raises what pickling raises, and `BrokenExecutor` if no worker starts."""
        request = pickle.dumps((fn, args, kwargs), pickle.HIGHEST_PROTOCOL)
        future: Future[T] = Future()
        with self._lock:
            if self._broken:
                raise BrokenExecutor(self._broken)
            if self._closing:
                raise RuntimeError("this pool has been shut down")
            self._queue.append(_Task(future, request))
            if self._thread is None:
                self._thread = threading.Thread(target=self._manage, name="gridloom-workers", daemon=True)
                self._thread.start()
        self._wake()
        return future

    def pids(self) -> list[int]:
        """Return the process ids of the workers that run now."""
        return [worker.process.pid for worker in list(self._workers) if worker.process.pid is not None]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs and let the workers end when the queue is empty; ``cancel_futures`` empties it.

        With ``wait``, return when the last worker has ended. Calling it a second time does nothing more.
        """
        with self._lock:
            self._closing = True
            if cancel_futures:
                self._queue = deque(task for task in self._queue if not task.future.cancel())
        self._wake()
        if wait and self._thread is not None:
            self._thread.join()

    def kill(self) -> None:
        """End the workers now; jobs that were running raise `WorkerLost`, queued ones are cancelled."""
        self._killed = True
        self.shutdown(wait=True, cancel_futures=True)

    def _wake(self) -> None:
        """Interrupt the wait of the pool's thread: there is something new to do."""
        with contextlib.suppress(OSError, ValueError):
            self._wake_writer.send_bytes(b"")

    # What follows runs in the pool's own thread, the only one that touches workers and pipes.

    def _manage(self) -> None:
        """The pool's thread: hand out calls and take replies until there is nothing left to do."""
        try:
            while not self._finished():
                self._assign()
                self._listen()
        except Exception as error:
            self._break(f"the worker pool failed: {type(error).__name__}: {error}", error)
        finally:
            self._end_workers()

    def _finished(self) -> bool:
        """Whether the thread may end: killed, broken, or closing with nothing left."""
        with self._lock:
            idle = not self._queue and not any(worker.task for worker in self._workers)
            return self._killed or self._broken is not None or (self._closing and idle)

    def _assign(self) -> None:
        """Send waiting calls to idle workers, as long as there are both."""
        while True:
            with self._lock:
                task = self._next_task()
            if task is None:
                return
            worker = next(worker for worker in self._workers if worker.ready and worker.task is None)
            worker.task = task
            try:
                worker.pipe.send_bytes(task.request)
            except OSError:
                self._remove_dead(worker)

    def _next_task(self) -> _Task | None:
        """The call to run next; None where it has to wait for a worker, or for others to end. Needs the lock.

        A call on its last attempt runs alone: it waits for the others to end, and nothing starts until it has ended.
        """
        busy = [worker for worker in self._workers if worker.task]
        if not self._queue or any(self._alone(worker.task) for worker in busy if worker.task):
            return None
        if busy and self._alone(self._queue[0]):
            return None
        if not any(worker.ready and worker.task is None for worker in self._workers):
            self._start_workers()
            return None
        task = self._queue.popleft()
        # Once running, a future cannot be cancelled; a task that comes back after a death is running already.
        if task.deaths or task.future.set_running_or_notify_cancel():
            return task
        return self._next_task()

    def _alone(self, task: _Task) -> bool:
        """True for the last attempt at a call, which runs while no other does."""
        return 0 < task.deaths == self._retries

    def _start_workers(self) -> None:
        """Start as many workers as there is work for, up to the pool's size."""
        starting = sum(not worker.ready for worker in self._workers)
        for _ in range(min(self.size - len(self._workers), len(self._queue) - starting)):
            ours, theirs = self._context.Pipe()
            with limited_environment(), _hidden_main() as main:
                process = self._context.Process(target=_work, args=(theirs, main), daemon=True)
                process.start()
            # The worker must hold the only other end, or its death would not end the pipe.
            theirs.close()
            self._workers.append(_Worker(process, ours))

    def _listen(self) -> None:
        """Wait for replies, deaths and news, and act on all that have come.

        There is no time limit: a pipe that can be read, the end of a process and a call of `_wake` each end the wait.
        """
        pipes = {worker.pipe: worker for worker in self._workers}
        readable = set(wait([self._wake_reader, *pipes, *(worker.process.sentinel for worker in self._workers)]))
        if self._wake_reader in readable:
            while self._wake_reader.poll():
                self._wake_reader.recv_bytes()
        for pipe, worker in pipes.items():
            if pipe in readable:
                self._receive(worker)
            elif worker.process.sentinel in readable and not pipe.poll():
                # A process that the job left behind may hold the dead worker's end of the pipe.
                self._remove_dead(worker)

    def _receive(self, worker: _Worker) -> None:
        """Take one message of a worker: that it is ready, or the reply to its call."""
        try:
            reply = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            self._remove_dead(worker)
            return
        if not worker.ready:
            worker.ready = True
            self._failed_starts = 0
            return
        task, worker.task = worker.task, None
        if task is not None:
            _settle(task.future, reply)

    def _remove_dead(self, worker: _Worker) -> None:
        """Take a worker that has died out of the pool; its call is tried again or fails."""
        with self._lock:
            self._workers.remove(worker)
        # The pipe may end a moment before the process does.
        worker.process.join(timeout=1.0)
        if worker.process.exitcode is None:
            worker.process.kill()
            worker.process.join()
        worker.pipe.close()
        task = worker.task
        if not worker.ready:
            self._count_failed_start(worker.process)
        if task is not None:
            self._retry_or_fail(task, worker.process)

    def _count_failed_start(self, process: BaseProcess) -> None:
        """Break the pool where workers keep ending before they are ready.

        Workers that exit by themselves will do so for ever and break the pool at the third one. Workers that are killed
        get a minute, in which memory may become free.
        """
        self._failed_starts += 1
        if self._failed_starts == 1:
            self._failing_since = time.monotonic()
        if self._failed_starts < _START_ATTEMPTS:
            return
        count = self._failed_starts
        ended = f"{count} worker processes in a row ended before they were ready, the last one {_how(process)}"
        if (process.exitcode or 0) >= 0:
            self._break(f"{ended}; their messages are above")
        elif time.monotonic() - self._failing_since > _KILLED_START_SECONDS:
            self._break(f"{ended}; see who kills them, and whether there is memory for so many workers")

    def _retry_or_fail(self, task: _Task, process: BaseProcess) -> None:
        """Queue a call again whose worker died, or give it up after too many deaths.

        It goes to the front of the queue, so that a call that kills its workers is found out early.
        """
        task.deaths += 1
        if self._killed:
            task.future.set_exception(WorkerLost("the run was stopped"))
        elif task.deaths > self._retries:
            task.future.set_exception(
                WorkerLost(f"its worker died {task.deaths} times out of {task.deaths}, the last time {_how(process)}")
            )
        else:
            with self._lock:
                self._queue.appendleft(task)

    def _break(self, why: str, cause: Exception | None = None) -> None:
        """Fail every call, now and later, with the reason."""
        broken = BrokenExecutor(why)
        broken.__cause__ = cause
        with self._lock:
            self._broken = why
            tasks = [*self._queue, *(worker.task for worker in self._workers if worker.task)]
            self._queue.clear()
        for task in tasks:
            with contextlib.suppress(InvalidStateError):
                task.future.set_exception(broken)

    def _end_workers(self) -> None:
        """Close all pipes, wait for the workers (or kill them), and settle what is left."""
        with self._lock:
            self._closing = True
        for worker in list(self._workers):
            if self._killed:
                worker.process.kill()
            worker.pipe.close()
        for worker in list(self._workers):
            worker.process.join(timeout=5.0)
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()
            if worker.task is not None and not worker.task.future.done():
                worker.task.future.set_exception(WorkerLost("the run was stopped"))
        self._workers.clear()
        for task in self._queue:
            if not task.future.cancel():
                task.future.set_exception(WorkerLost("the run was stopped"))
        self._queue.clear()


def _settle(future: Future[Any], reply: bytes) -> None:
    """Give a future the result or the exception that a worker sent."""
    try:
        good, value = pickle.loads(reply)
    except Exception as error:
        future.set_exception(RuntimeError(f"its result cannot be unpickled: {type(error).__name__}: {error}"))
        return
    if good:
        future.set_result(value)
    else:
        future.set_exception(value)


def _how(process: BaseProcess) -> str:
    """How a process ended, for messages."""
    code = process.exitcode
    if code is None or code >= 0:
        return f"with exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
