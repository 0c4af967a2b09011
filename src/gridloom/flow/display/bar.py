"""Progress bars for scripts and notebooks, by rich: it draws in terminals and in Jupyter alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridloom.run import ProgressCallback, RunProgress
    from gridloom.search.budget import Progress, Reporter


@contextmanager
def search_bar(limit: float | None) -> Iterator[Reporter]:
    """Yield a reporter of a search that draws a bar; with a limit in seconds, the bar says how much of it is over."""
    with _bar() as bar:
        task = bar.add_task("search", total=limit)

        def report(progress: Progress) -> None:
            best = f", best {progress.best}" if progress.best else ""
            bar.update(
                task, completed=progress.seconds, description=f"{progress.phase}: {progress.moves:,} moves{best}"
            )

        yield report


@contextmanager
def cells_bar() -> Iterator[ProgressCallback]:
    """Yield a callback for runs of many jobs that draws a bar."""
    with _bar() as bar:
        task = bar.add_task("cells", total=None)

        def report(progress: RunProgress) -> None:
            bar.update(
                task,
                completed=progress.done,
                total=progress.total,
                description=f"{progress.done} of {progress.total} cells",
            )

        yield report


def _bar() -> Any:
    """A bar with a text, and the time that has passed; nothing is left of it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), transient=True)
