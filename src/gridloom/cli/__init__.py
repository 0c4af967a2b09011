"""The command line. ``main`` is what the ``gridloom`` command runs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: the process's own) and return its exit status.

    0 done, 1 no mapping found or a check that failed, 2 bad input, 70 an error in gridloom, 130 interrupted.
    """
    from gridloom.cli.entry import run_command

    return run_command(arguments)
