"""The least and the greatest value of every number that a user gives, and the seconds that unlimited parts may take.

The command line, the Python interface and the studio check against this table before any work begins, so that no
number alone makes a run take all memory or all processes.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from gridloom.errors import GridloomError, OptionError

_WORD: Final = 2**63 - 1
#: Option -> least and greatest value; None where the option itself says what is too small.
LIMITS: Final[Mapping[str, tuple[float | None, float]]] = {
    "ii": (1, 500),
    "seed": (0, _WORD),
    "random": (0, _WORD),
    "time_limit": (None, 10_000_000),
    "effort": (None, 10**15),
    "jobs": (1, 256),
    "iterations": (1, 1_000_000),
    "loop": (0, 1_000_000),
    "port": (0, 65_535),
    "runs": (0, 1_000),
    "step": (1, 1_000_000),
    "evaluations": (None, 10**9),
    "seeds": (None, 10_000),
    "patience": (None, 10**9),
    "tries": (None, 10**9),
    "reconfiguration": (None, 10**12),
    "stall": (0, 2**31 - 1),
    "activity": (0, 2.0),
}
#: Seconds that reading a source may take, whatever the limit of a search; and at least, however short that is.
READING_SECONDS: Final = 30.0
LEAST_READING_SECONDS: Final = 4.0
#: Seconds that a function may run on the interpreted host.
RUN_SECONDS: Final = 60.0
#: Slots of a modulo-scheduled array: II times tiles.
MOST_SLOTS: Final = 32_768
#: No setting of a mapper, no parameter of an array or of a kernel is larger than this.
GREATEST: Final = 2**62


def check_number(name: str, value: Any) -> None:
    """Raise OptionError for a number outside of its option's range; None, and what is no number, pass."""
    if isinstance(value, bool) or not isinstance(value, int | float) or name not in LIMITS:
        return
    least, most = LIMITS[name]
    where = f"--{name.replace('_', '-')}"
    if math.isnan(value):
        raise OptionError("expected a number, found nan", where=where)
    if least is not None and value < least:
        raise OptionError(f"expected at least {least:g}, found {value}", where=where)
    if value > most:
        raise OptionError(f"expected at most {most}, found {value}", where=where)


def check_numbers(options: Mapping[str, Any]) -> None:
    """:func:`check_number` for all options of a command."""
    for name, value in options.items():
        check_number(name, value)


class TimeUp(GridloomError):
    """Something took longer than it may."""


class _Ring(BaseException):
    """The alarm; no handler of errors on the way may take it for one of its own."""


@contextmanager
def deadline(seconds: float, what: str) -> Iterator[None]:
    """End the block after so many seconds with TimeUp, which says ``what`` took too long.

    Python code and waiting for processes end at once, compiled code when it returns. It holds in the main thread of a
    POSIX system; elsewhere the block is not ended. A deadline inside another one keeps the earlier of the two.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise _Ring

    left, _ = signal.getitimer(signal.ITIMER_REAL)
    if 0 < left <= seconds:
        yield
        return
    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _Ring:
        raise TimeUp(f"{what} took more than {seconds:g} s and was ended") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001))


def reading_seconds(time_limit: float | None) -> float:
    """Seconds that reading a source may take under a limit of time: four fifths of it, so that an answer is in time."""
    if time_limit is None:
        return READING_SECONDS
    return min(max(0.8 * time_limit, LEAST_READING_SECONDS), READING_SECONDS)
