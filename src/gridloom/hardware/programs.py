"""Programs of others (simulators, synthesis) as child processes: in a folder, with a time limit, ended as a whole.

Such a program starts further ones (Yosys runs ABC, Verilator a C++ compiler), so that it gets a session of its own:
what is stopped takes with it what it has started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Final

from gridloom.errors import SimulationError

#: Seconds that one run of a program may take.
MAX_SECONDS: Final = 1800.0


def run_program(command: list[str], folder: Path, *, seconds: float = MAX_SECONDS) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder and return its status and what it printed; SimulationError when it takes too long.

    Ctrl-C and any other exception end the program, too.
    """
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        raise SimulationError(f"{command[0]} took more than {seconds:g} s and was ended; use a smaller array") from None
    except BaseException:
        _end(process)
        raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a program with all that it has started, and wait for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate()
