"""The command line. ``run`` is what the ``gridloom`` command runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main", "run"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: the process's own) and return its exit status.

    0 done, 1 no mapping found or a check that failed, 2 bad input, 70 an error in gridloom, 130 interrupted.
    """
    from gridloom.cli.entry import run_command

    return run_command(arguments)


def run() -> int:
    """Run the process's own command line; a process in which a solver still runs is ended here and now."""
    status = main()
    solver = sys.modules.get("gridloom.search.solver")
    if solver is not None and solver.is_left_behind():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status
