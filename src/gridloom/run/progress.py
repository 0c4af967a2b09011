"""How far a run is: counted here, shown by whoever passes a callback.

The meter prints nothing itself, so that the same run serves a terminal, a notebook and a test. It is called from the
thread that takes the outcomes, never from workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A moment of a run. ``done`` includes ``skipped`` (stored already) and ``failed``."""

    done: int
    total: int | None
    failed: int
    skipped: int
    elapsed: float
    rate: float
    """Jobs per second computed in this run, without those skipped."""
    eta: float | None
    """Seconds left at this rate, None while the total or the rate is unknown."""


ProgressCallback: TypeAlias = Callable[[RunProgress], None]


class ProgressMeter:
    """Counts outcomes and tells ``callback`` at most every ``interval`` seconds, and once more at the end."""

    def __init__(self, callback: ProgressCallback | None, total: int | None, *, interval: float = 0.1) -> None:
        self.total = total
        self.computed = 0
        self.failed = 0
        self.skipped = 0
        self._callback = callback
        self._interval = interval
        self._start = time.monotonic()
        # Nothing is told at once: most runs are over before the first interval.
        self._told = self._start

    def count(self, *, failed: bool = False, skipped: bool = False) -> None:
        """Count one more job, computed or skipped."""
        self.computed += not skipped
        self.skipped += skipped
        self.failed += failed
        if self._callback is not None and time.monotonic() - self._told >= self._interval:
            self.tell()

    def now(self) -> RunProgress:
        """Return where the run is at this moment.

        The rate is a mean over the whole run, in which jobs that were stored already do not count: a resumed run
        would otherwise promise too much.
        """
        elapsed = time.monotonic() - self._start
        done = self.computed + self.skipped
        rate = self.computed / elapsed if elapsed > 0 else 0.0
        left = None if self.total is None else max(self.total - done, 0)
        eta = left / rate if left is not None and rate > 0 else (0.0 if left == 0 else None)
        return RunProgress(done, self.total, self.failed, self.skipped, elapsed, rate, eta)

    def tell(self) -> None:
        """Call the callback now, whatever the interval."""
        self._told = time.monotonic()
        if self._callback is not None:
            self._callback(self.now())
