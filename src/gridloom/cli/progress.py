"""What a user sees while a command works.

On a terminal a line appears after two seconds, and at once when kernels are compiled. Elsewhere only compilation is
told, in one line: it happens once per machine, and nothing else explains why the first command takes so long.

``--quiet`` silences progress and notes.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from gridloom.run import RunProgress as RunProgress
    from gridloom.search.budget import Progress as SearchProgress


@dataclass
class _Manner:
    """How the process talks; there is one, since there is one standard error."""

    quiet: bool = False


_MANNER = _Manner()


def is_quiet() -> bool:
    """True while a command runs that was asked to be quiet."""
    return _MANNER.quiet


def shows_progress() -> bool:
    """True where someone can see progress on standard error and has not asked for silence."""
    return not _MANNER.quiet and sys.stderr.isatty()


def be_quiet(context: typer.Context, wanted: bool) -> None:
    """The callback of the option: no progress and no notes until the command has ended."""
    if wanted:
        _MANNER.quiet = True
        context.call_on_close(_talk_again)


def _talk_again() -> None:
    """End the silence, when the command has ended: tests run several commands in one process."""
    _MANNER.quiet = False


#: Shorter waits need no explanation.
PATIENCE = 2.0


def note(text: str) -> None:
    """Tell the user something that is not the result, unless ``--quiet`` was given."""
    if not is_quiet():
        print(text, file=sys.stderr)


@dataclass
class Display:
    """A progress bar on standard error that appears late, on terminals only, and leaves nothing behind.

    ``total`` is what ``done`` counts up to: seconds, jobs or a share of 1; None shows a bar without an end. The bar
    is rich's, imported when it is first shown.
    """

    total: float | None = None
    enabled: bool = field(default_factory=shows_progress)
    _began: float = field(default_factory=time.monotonic)
    _bar: Any = None
    _task: Any = None
    _told: bool = False

    def update(self, text: str, done: float, *, at_once: bool = False) -> None:
        """Show where the work is, if it has taken long enough for anyone to ask, or ``at_once``."""
        if not self.enabled or (not at_once and time.monotonic() - self._began < PATIENCE):
            return
        if self._bar is None:
            self._start()
        self._bar.update(self._task, completed=done, description=text)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def search(self, progress: SearchProgress) -> None:
        """Take a mapper's report."""
        if progress.compiling:
            self._compiling(progress.phase)
            return
        best = f", best {progress.best}" if progress.best else ""
        self.update(f"{progress.phase}: {progress.moves:,} moves{best}", progress.seconds)

    def _compiling(self, text: str) -> None:
        """Show that kernels are being compiled: on the bar, or in one line where there is no terminal."""
        self.update(text, 0.0, at_once=True)
        if not self.enabled and not self._told:
            from gridloom.search.compiling import HEADING

            self._told = True
            note(f"{HEADING} ...")

    def run(self, progress: RunProgress) -> None:
        """Take the report of a run of many jobs."""
        failed = f", {progress.failed} broke down" if progress.failed else ""
        self.update(f"{progress.done} of {progress.total} cells{failed}", progress.done)

    def _start(self) -> None:
        """Put the bar on the screen."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=self.total)
        self._bar.start()


@contextlib.contextmanager
def display(total: float | None = None) -> Iterator[Display]:
    """A display for the length of a block."""
    shown = Display(total)
    try:
        yield shown
    finally:
        shown.close()


@contextlib.contextmanager
def first_interrupt_asks() -> Iterator[threading.Event]:
    """Within the block the first Ctrl-C sets the event, so that a search can return its best; the second one kills.

    While kernels are compiled there is nothing to return yet, and after the first Ctrl-C no further step of the
    compiler is begun: what needs one ends with CompilationInterrupted. Outside of the main thread, which alone receives
    signals, the event is never set. The handler that was there before is put back at the end.
    """
    from gridloom.search import compiling

    asked = threading.Event()

    def ask(_signal: int, _frame: object) -> None:
        asked.set()
        # The compiler raises at its next step. Raised from here, the error might get lost in a callback of LLVM.
        compiling.interrupt()
        signal.signal(signal.SIGINT, previous)
        if not compiling.active():
            note("stopping; Ctrl-C again to give up at once")

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    previous = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    except compiling.CompilationInterrupted as interrupted:
        note(str(interrupted))
        raise
    finally:
        signal.signal(signal.SIGINT, previous)
        compiling.resume()
