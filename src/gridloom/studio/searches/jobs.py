"""Searches that the page has started: queued on worker processes, watched, ended, and kept in a store.

The processes are those of :class:`gridloom.run.WorkerPool`. Each job has a pipe of its own to the server, over which
frames come and on which it hears that it shall end. A job that does not end by itself in time is killed with its
process; the pool starts another one.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any, Final, Literal

from gridloom import plugins
from gridloom._version import __version__
from gridloom.errors import OptionError
from gridloom.run import JobOutcome, Store, WorkerLost, WorkerPool, ask
from gridloom.studio.searches.worker import SearchTask, run_task, warm_up

#: Jobs that may wait or run at the same time, and seconds that a search may take.
MOST_JOBS: Final = 32
MOST_SECONDS: Final = 3600.0
#: Seconds of grace before a job that should have ended is killed.
_GRACE: Final = 90.0
_GRACE_AFTER_STOP: Final = 8.0
#: Frames of a search that are kept for those who look later.
_FRAMES: Final = 400

State = Literal["queued", "running", "done", "failed", "stopped", "error"]


@dataclass
class SearchJob:
    """One search from the page's request to its answer."""

    id: str
    name: str
    #: What was asked, as the page shows it and as the store keeps it.
    asked: Mapping[str, Any]
    time_limit: float
    state: State = "queued"
    asked_at: float = field(default_factory=time.time)
    started: float | None = None
    ended: float | None = None
    error: str = ""
    #: The id of what it has made, to be opened.
    result: str = ""
    frames: list[dict[str, Any]] = field(default_factory=list)
    pid: int = 0
    stop_asked: float | None = None
    future: Future[dict[str, Any]] | None = None
    pipe: Connection | None = None

    def to_dict(self) -> dict[str, Any]:
        """The job as the page lists it, with its last frame."""
        return {
            "id": self.id, "name": self.name, "state": self.state, "asked": dict(self.asked), "error": self.error,
            "result": self.result, "asked_at": self.asked_at, "started": self.started, "ended": self.ended,
            "frame": self.frames[-1] if self.frames else None,
        }  # fmt: skip


#: Takes the answer of a search and says under which id the page opens it.
Answered = Callable[[SearchJob, dict[str, Any]], str]


class JobQueue:
    """The jobs of a session. ``tell`` hears of every change, from threads of the queue."""

    def __init__(
        self, store: Path | None, *, workers: int, answered: Answered, tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self.store_path = store
        self.jobs: dict[str, SearchJob] = {}
        self._answered = answered
        self._tell = tell
        self._lock = threading.Lock()
        self._key = secrets.token_bytes(32)
        self._listener = Listener(authkey=self._key)
        self._pool = WorkerPool(workers, retries=0)
        self._pool.submit(warm_up)
        self._closed = threading.Event()
        for work in (self._accept, self._watch):
            threading.Thread(target=work, daemon=True).start()

    # -- what the page asks -------------------------------------------------------------------------------------------

    def submit(
        self, name: str, request: Mapping[str, Any], asked: Mapping[str, Any], *, mapping: str | None = None
    ) -> SearchJob:
        """Queue a search; OptionError where too many wait already."""
        limit = float(request.get("time_limit") or MOST_SECONDS)
        job = SearchJob(id=uuid.uuid4().hex[:12], name=name, asked=asked, time_limit=min(limit, MOST_SECONDS))
        with self._lock:
            if sum(other.state in ("queued", "running") for other in self.jobs.values()) >= MOST_JOBS:
                raise OptionError(f"{MOST_JOBS} searches wait or run already; stop some of them first")
            self.jobs[job.id] = job
            for old in list(self.jobs)[: max(0, len(self.jobs) - 200)]:
                if self.jobs[old].state not in ("queued", "running"):
                    del self.jobs[old]
        address = str(self._listener.address)
        task = SearchTask(id=job.id, request=dict(request), mapping=mapping, address=address, key=self._key)
        job.future = self._pool.submit(plugins.carry(run_task), task)
        job.future.add_done_callback(lambda future: self._finish(job, future))
        self._tell({"event": "job", "job": job.to_dict()})
        return job

    def stop(self, name: str) -> None:
        """End a search: it returns the best it has; one that has not begun is taken from the queue."""
        job = self.get(name)
        if job.future is not None and job.future.cancel():
            return
        job.stop_asked = time.monotonic()
        self._send_stop(job)

    def get(self, name: str) -> SearchJob:
        """The job of an id; OptionError where there is none."""
        job = self.jobs.get(name)
        if job is None:
            raise OptionError(f"there is no job {name[:32]!r}")
        return job

    def listed(self) -> list[dict[str, Any]]:
        """All jobs of the session, the newest first."""
        return [job.to_dict() for job in sorted(self.jobs.values(), key=lambda job: -job.asked_at)]

    def close(self) -> None:
        """End everything: running searches are killed, waiting ones dropped."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listener.close()
        self._pool.kill()

    # -- the processes ------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        """Take the calls of worker processes, one thread for each."""
        while not self._closed.is_set():
            try:
                pipe = self._listener.accept()
            except Exception:
                # A caller without the key, or the end of the session.
                if self._closed.is_set():
                    return
                time.sleep(0.05)
                continue
            threading.Thread(target=self._hear, args=(pipe,), daemon=True).start()

    def _hear(self, pipe: Connection) -> None:
        """Take the frames of one job until it hangs up."""
        try:
            hello = json.loads(pipe.recv_bytes())
            job = self.jobs[hello["job"]]
            with self._lock:
                job.pid, job.pipe = int(hello["pid"]), pipe
                # A short search may have ended before its call is taken.
                if job.state == "queued":
                    job.state = "running"
                job.started = job.started or time.time()
            self._tell({"event": "job", "job": job.to_dict()})
            if job.stop_asked is not None:
                self._send_stop(job)
            while True:
                frame = json.loads(pipe.recv_bytes())
                # A search that runs for an hour has more frames than anyone looks at: every second one goes.
                if len(job.frames) >= _FRAMES:
                    del job.frames[1::2]
                job.frames.append(frame)
                self._tell({"event": "frame", "job": job.id, "frame": frame})
        except (EOFError, OSError, ValueError, KeyError):
            return

    def _send_stop(self, job: SearchJob) -> None:
        if job.pipe is not None:
            with contextlib.suppress(OSError):
                job.pipe.send_bytes(b"stop")

    def _watch(self) -> None:
        """Kill what should have ended: after its time with some grace, or soon after it was told to stop."""
        while not self._closed.wait(0.5):
            now = time.monotonic()
            for job in list(self.jobs.values()):
                if job.state != "running" or not job.pid or job.started is None:
                    continue
                late = time.time() - job.started > 1.2 * job.time_limit + _GRACE
                ignored = job.stop_asked is not None and now - job.stop_asked > _GRACE_AFTER_STOP
                if (late or ignored) and job.pid in self._pool.pids():
                    with contextlib.suppress(OSError):
                        os.kill(job.pid, signal.SIGKILL)

    def _finish(self, job: SearchJob, future: Future[dict[str, Any]]) -> None:
        """Take the answer of a search, keep it in the store and tell the page."""
        job.ended = time.time()
        try:
            answer = future.result()
        except CancelledError:
            job.state = "stopped"
        except WorkerLost as error:
            stopped = job.stop_asked is not None
            job.state, job.error = ("stopped", "") if stopped else ("error", f"the search was ended: {error}")
        except Exception as error:
            job.state, job.error = "error", f"internal error: {type(error).__name__}: {error}; please report it"
        else:
            self._take(job, answer)
        self._tell({"event": "job", "job": job.to_dict()})

    def _take(self, job: SearchJob, answer: dict[str, Any]) -> None:
        """Open what a search has made, and keep it."""
        if answer["error"] is not None:
            job.state, job.error = "error", str(answer["error"])
            return
        try:
            result = self._answered(job, answer)
            state: State = "done" if answer["record"]["status"] == "mapped" else "failed"
        except Exception as error:
            job.state, job.error = "error", f"{type(error).__name__}: {error}"
            return
        # It is in the history before it is called done: who sees the one looks for the other.
        with contextlib.suppress(Exception):
            self._keep(job, answer)
        job.result, job.state = result, state

    def _keep(self, job: SearchJob, answer: dict[str, Any]) -> None:
        """Write a row of the history."""
        if self.store_path is None:
            return
        question = ask("gridloom.studio", {**job.asked, "asked_at": job.asked_at}, version=__version__)
        seconds = (job.ended or job.asked_at) - (job.started or job.asked_at)
        value = {**answer["record"], "name": job.name, "mapping": answer["mapping"], "listing": answer["listing"]}
        outcome: JobOutcome[Any] = JobOutcome(question.key, "done", value, None, seconds, f"studio:{job.pid}")
        with Store(self.store_path) as store:
            store.put(question, outcome)
