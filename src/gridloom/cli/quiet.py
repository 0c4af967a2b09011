"""``--quiet``: whether the command that runs may write progress and notes on standard error."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import typer


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
