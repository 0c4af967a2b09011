"""What the user is told while kernels are compiled, and how compilation is ended.

numba compiles a kernel when it is first called, and keeps the code on the disk: a command waits for it once per
machine. Nothing here compiles anything. A listener hears of every function that numba compiles, on any thread, and

* tells the reporter of the run that waits (:func:`report_compilation`),
* keeps the garbage collector off, which takes a tenth of the compiler's time and finds little,
* adds up the seconds, which a clock of a search does not count (:func:`seconds`),
* raises :class:`CompilationInterrupted` at the next step of the compiler once :func:`interrupt` was called. A step of
  LLVM cannot be ended: the longest takes about a second.

Code that comes from the disk is not compiled and not reported; the seconds of reading and writing it count, too.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridloom.search.budget import Reporter

#: What is shown while kernels are compiled, before their names.
HEADING = "compiling kernels (once per machine)"


class CompilationInterrupted(KeyboardInterrupt):
    """Ctrl-C came while kernels were compiled; what was compiled before it stays on the disk."""

    def __init__(self) -> None:
        super().__init__("interrupted while compiling kernels; those that are done will not be compiled again")


def _now() -> tuple[float, float]:
    """The time, and the CPU time of the process."""
    return time.monotonic(), time.process_time()


class _Watcher:
    """Hears of what numba compiles. Only kernels of this package are named; others are part of them.

    There is one for the process. Several threads may compile at the same time: ``_open`` has the functions of each, and
    seconds count from the first that begins to the last that ends. The lock guards the list of hearers, ``_open`` and
    the seconds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hear: list[Callable[[str], None]] = []
        #: Functions that a thread is in the middle of compiling.
        self._open: dict[int, list[Any]] = {}
        self._began = (0.0, 0.0)
        self._seconds = (0.0, 0.0)
        self._collecting = True
        self.count = 0
        self.ending = False

    def notify(self, event: Any) -> None:
        """Take an event of numba's: a function or a step of the compiler begins or ends."""
        if event.is_start and self.ending:
            raise CompilationInterrupted
        if event.kind == "numba:run_pass":
            return
        if event.is_start:
            self._begin(None if event.data is None else event.data["dispatcher"].py_func)
        else:
            self._end()

    def _begin(self, function: Any) -> None:
        """Note that a thread compiles a function, or (None) reads or writes a kernel's file.

        The first one starts the seconds and stops garbage collection.
        """
        with self._lock:
            if not self._open:
                self._began = _now()
                self._collecting = gc.isenabled()
                gc.disable()
            self._open.setdefault(threading.get_ident(), []).append(function)
            told = list(self._hear)
        if function is not None and function.__module__.startswith("gridloom."):
            self.count += 1
            kernel = function.__module__.removeprefix("gridloom.")
            for hear in told:
                hear(f"{HEADING}: {self.count}, {kernel}.{function.__name__}")

    def _end(self) -> None:
        """Note that a thread is done with its innermost function; the last one undoes what the first one did."""
        with self._lock:
            names = self._open.get(threading.get_ident(), [])
            # A compilation that began before the listener was there ends here, too.
            if not names:
                return
            names.pop()
            if not names:
                del self._open[threading.get_ident()]
            if not self._open:
                self._seconds = self._total()
                if self._collecting:
                    gc.enable()

    @property
    def active(self) -> bool:
        """True while any thread compiles."""
        return bool(self._open)

    def seconds(self, *, cpu: bool = False) -> float:
        """Seconds in which any thread compiled, or those of CPU time that the process used meanwhile."""
        with self._lock:
            return (self._total() if self._open else self._seconds)[cpu]

    def _total(self) -> tuple[float, float]:
        """The seconds up to now, while a thread compiles."""
        (wall, cpu), (began, cpu_began), (now, cpu_now) = self._seconds, self._began, _now()
        return wall + now - began, cpu + cpu_now - cpu_began

    @contextlib.contextmanager
    def told(self, hear: Callable[[str], None]) -> Iterator[None]:
        """Call ``hear`` with each kernel that is compiled within the block."""
        with self._lock:
            self._hear.append(hear)
        try:
            yield
        finally:
            with self._lock:
                self._hear.remove(hear)


_watcher = _Watcher()
_registered = threading.Lock()


def _watch() -> None:
    """Register the listener, once; imports numba."""
    from importlib import import_module

    events = import_module("numba.core.event")
    if _registered.acquire(blocking=False):
        events.Listener.register(_Watcher)
        for kind in ("numba:compile", "numba:run_pass", import_module("gridloom.jit").DISK_EVENT):
            events.register(kind, _watcher)


@contextlib.contextmanager
def report_compilation(progress: Reporter | None) -> Iterator[None]:
    """Within the block a reporter hears of each kernel that is compiled; imports numba.

    The report comes from the thread that compiles.
    """
    from gridloom.search.budget import Progress

    def hear(phase: str) -> None:
        if progress is not None:
            progress(Progress(seconds=0.0, moves=0, phase=phase, compiling=True))

    _watch()
    with _watcher.told(hear):
        yield


def active() -> bool:
    """True while kernels are compiled."""
    return _watcher.active


def listen() -> None:
    """Count the seconds of compilation from now on; imports numba."""
    _watch()


def seconds(*, cpu: bool = False) -> float:
    """Seconds, or seconds of CPU time, in which this process compiled kernels, as far as anyone listened.

    Listens from now on.
    """
    if "numba" in sys.modules:
        _watch()
    return _watcher.seconds(cpu=cpu)


def interrupt() -> None:
    """End what is being compiled on any thread: it raises CompilationInterrupted there as soon as LLVM lets it."""
    _watcher.ending = True


def resume() -> None:
    """Compile again after an interrupt."""
    _watcher.ending = False
