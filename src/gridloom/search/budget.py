"""How long a mapper may work, and how it is stopped.

A :class:`Budget` says what a run may cost; :meth:`Budget.start` turns it into a :class:`SearchClock` that the run asks.
The clock owns one flag in an array, which compiled kernels read while they hold no lock: time that is up and Ctrl-C
both set it, and the mapper returns the best it has.

Work is handed out in batches whose size does not depend on the number of workers, and results are taken in the order
of the batch. A run that ends by effort is therefore the same for the same seed, whatever the worker count.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridloom.errors import OptionError
from gridloom.search import compiling

T = TypeVar("T")

# How often a waiting run looks at its time limit.
_TICK = 0.02

# Seconds of preparation that a time limit does not count: a short limit is for the search, not for loading kernels.
_PREPARATION = 0.5

# A run that is past its limit by this share of it and so many seconds drops what it would otherwise finish.
_LATE_SHARE, _LATE_SECONDS = 0.02, 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """Where a search stands: what its closest try costs, where its nodes are, and what signals compete for."""

    #: What the search makes smaller, in the mapper's own unit, and whether the try is legal.
    cost: float
    legal: bool
    #: Node -> tile, for the nodes that sit on one.
    placed: Mapping[str, str]
    #: Resources that signals compete for, worst first.
    congested: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One report of a run while it works.

    A :class:`SearchClock` makes it for the reporter of its budget, about once per batch of starts; the watcher of
    compilation makes one for each kernel that is compiled. ``seconds`` is search time, so it stands still while kernels
    are compiled. ``best`` is a text for a progress line and is not meant to be parsed. A report is a snapshot: nothing
    updates it.
    """

    seconds: float
    #: Moves made so far.
    moves: int
    #: What is being done: ``starts``, ``II 4``, ...
    phase: str
    #: The best result so far in words; empty: none yet.
    best: str = ""
    #: True when the run waits for kernels to be compiled, which its seconds do not count.
    compiling: bool = False
    #: Looks at where the search stands, for those who draw it; None: the mapper does not say. It costs time linear in
    #: the graph and must be called before the reporter returns, while the search waits.
    look: Callable[[], SearchView] | None = None


class Reporter(Protocol):
    """A callback that hears of progress; called from the thread that called the mapper.

    Reports of compilation come from the thread that compiles.
    """

    def __call__(self, progress: Progress, /) -> None:
        """Take one report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may cost. Without a limit a mapper stops where its configuration says.

    The user gives it (command line, suite or program), and it is checked when it is made: OptionError for a limit or a
    number of workers out of range. A budget holds no state, so one budget may start any number of runs.

    >>> Budget(effort=1000).unlimited
    False
    >>> Budget(workers=2).unlimited
    True
    """

    #: Seconds of search and of building its tables, compilation of kernels excluded; None: no limit.
    time_limit: float | None = None
    #: Whether these seconds are CPU time of the process, so that other jobs of the machine do not shorten the search.
    cpu_time: bool = False
    #: Moves over all starts; None: no limit. Batches are not cut short: a run may make a batch more.
    effort: int | None = None
    seed: int = 0
    #: Threads (or processes) that work at the same time.
    workers: int = 1
    progress: Reporter | None = None
    #: True once the caller wants the run to end; asked about 50 times a second.
    interrupted: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit > 0:
            raise OptionError(f"time limit: expected more than 0 seconds, found {self.time_limit}")
        if self.effort is not None and self.effort < 1:
            raise OptionError(f"effort: expected at least 1 move, found {self.effort}")
        if self.workers < 1:
            raise OptionError(f"workers: expected at least 1, found {self.workers}")
        if not 0 <= self.seed < 2**63:
            raise OptionError(f"seed: expected 0 to 2**63 - 1, found {self.seed}")

    @property
    def unlimited(self) -> bool:
        """True when neither time nor effort ends a run."""
        return self.time_limit is None and self.effort is None

    def start(self) -> SearchClock:
        """Begin a run: from here on its seconds count."""
        return SearchClock(self)


class SearchClock:
    """A run under a budget: the time and the moves it has used, and the flag that ends it.

    :meth:`Budget.start` makes it when the mapper is called, so that the tables of a large problem count. Once they are
    built and kernels are warm the mapper calls :meth:`prepared`, which gives a little of that time back. The mapper
    adds the moves that it makes to ``moves``. Once ``stop[0]`` is 1 it stays so: a clock is for one run.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.moves = 0
        #: Read by kernels: not 0 means stop, 2 means stop without finishing what there is to return.
        self.stop: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)
        # The import of numba is no search, either.
        compiling.listen()
        self._now = time.process_time if budget.cpu_time else time.monotonic
        self._began = self._now()
        self._compiled = compiling.seconds(cpu=budget.cpu_time)
        self._prepared = False

    @property
    def seconds(self) -> float:
        """Seconds since the start, without those in which kernels were compiled."""
        return self._now() - self._began - (compiling.seconds(cpu=self.budget.cpu_time) - self._compiled)

    def prepared(self) -> SearchClock:
        """Note that the search begins: the first part of a second of preparation is not counted. Returns the clock.

        Where a run searches in several ways, the first one to begin counts.
        """
        if not self._prepared:
            self._prepared = True
            self._began += min(_PREPARATION, max(0.0, self.seconds))
        return self

    @property
    def late(self) -> bool:
        """True when the caller asks for an end, or the time limit is past by more than a run needs to wind up.

        For steps that a run finishes even when it is out of time, so that there is something to return.
        """
        if self.budget.interrupted is not None and self.budget.interrupted():
            return True
        limit = self.budget.time_limit
        return limit is not None and self.seconds > (1 + _LATE_SHARE) * limit + _LATE_SECONDS

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Within the block the flag is set as soon as the run has to end, for a kernel on the calling thread."""
        with _repeated(self._look):
            yield

    @contextlib.contextmanager
    def winding_up(self) -> Iterator[NDArray[np.uint8]]:
        """A flag for kernels that is set once the run is :attr:`late`, and not before; watched within the block."""
        flag: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)

        def look() -> None:
            flag[0] = 2 if self.late else 0

        with _repeated(look):
            yield flag

    @property
    def remaining(self) -> float | None:
        """Seconds left; None: no limit."""
        limit = self.budget.time_limit
        return None if limit is None else max(0.0, limit - self.seconds)

    def over(self) -> bool:
        """True when the run has to end: stopped, out of time, or out of moves."""
        self._look()
        return bool(self.stop[0]) or self.spent

    @property
    def spent(self) -> bool:
        """True when the moves are used up."""
        return self.budget.effort is not None and self.moves >= self.budget.effort

    def _look(self) -> None:
        """Set the flag if the caller asks for an end or time is up; kernels read the flag by themselves."""
        asked = self.budget.interrupted is not None and self.budget.interrupted()
        if asked or self.remaining == 0.0:
            self.end()
        if self.stop[0] and self.late:
            self.stop[0] = 2

    def end(self) -> None:
        """Ask everything that runs under the clock to return what it has."""
        self.stop[0] = max(1, int(self.stop[0]))

    def report(self, phase: str, best: str = "", look: Callable[[], SearchView] | None = None) -> None:
        """Tell the budget's reporter; ``look`` is called only where somebody draws the search."""
        if self.budget.progress is not None:
            self.budget.progress(Progress(seconds=self.seconds, moves=self.moves, phase=phase, best=best, look=look))

    def run(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """The results of the jobs, in their order; each is expected to return soon once ``stop`` is set.

        Ctrl-C sets ``stop`` and is swallowed: the run ends with what it has. A second one is raised.
        """
        with ThreadPoolExecutor(max_workers=min(self.budget.workers, max(1, len(jobs)))) as pool:
            futures = [pool.submit(job) for job in jobs]
            try:
                self._wait(futures)
            except KeyboardInterrupt:
                self._interrupt()
                wait(futures)
            return [future.result() for future in futures]

    def run_some(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """As :meth:`run`, but jobs that have not begun when the run has to end are left out, except the first.

        So a run that is out of time does not go through what is left of a batch of long jobs.
        """

        def unless_over(job: Callable[[], T]) -> Callable[[], list[T]]:
            return lambda: [] if self.stop[0] else [job()]

        first, *others = jobs
        done = self.run([lambda: [first()], *map(unless_over, others)])
        return [result for results in done for result in results]

    def _interrupt(self) -> None:
        self.end()

    def slice(self, seconds: float) -> Slice:
        """A clock for a part of the run, from here on: it is over after the seconds given, or with the run."""
        return Slice(self, seconds)

    def _wait(self, futures: Sequence[Future[T]]) -> None:
        """Wait for all jobs, and look at the limits every ``_TICK`` seconds meanwhile."""
        waiting = set(futures)
        while waiting:
            self._look()
            _, waiting = wait(waiting, timeout=_TICK, return_when=FIRST_COMPLETED)


@contextlib.contextmanager
def _repeated(look: Callable[[], None]) -> Iterator[None]:
    """Call a function about 50 times per second on a thread of its own, within the block."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_TICK):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


class Slice(SearchClock):
    """A part of a run, with a flag and a deadline of its own; moves made under it count for the run at its end.

    A run that ends by effort must not be cut by time, so slices are for runs under a time limit.
    """

    def __init__(self, whole: SearchClock, seconds: float) -> None:
        super().__init__(whole.budget)
        self.whole = whole
        self.length = seconds

    @property
    def remaining(self) -> float:
        """Seconds left of the slice, or of the run where these are fewer."""
        own = max(0.0, self.length - self.seconds)
        whole = self.whole.remaining
        return own if whole is None else min(own, whole)

    def _look(self) -> None:
        if self.whole.over():
            self.end()
        super()._look()

    def _interrupt(self) -> None:
        self.whole.end()
        self.end()

    def __enter__(self) -> Slice:
        return self

    def __exit__(self, *_: object) -> None:
        self.whole.moves += self.moves
