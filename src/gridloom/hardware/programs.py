"""Programs of others (simulators, synthesis) as child processes: in a folder, with a time limit, ended as a whole.

Such a program starts further ones (Yosys runs ABC, Verilator a C++ compiler), so that it gets a session of its own:
what is stopped takes with it what it has started. A session of its own also means that a signal to the command does not
reach the program: while one runs, a request to end the command ends the program first.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from gridloom.errors import SimulationError

#: Seconds that one run of a program may take.
MAX_SECONDS: Final = 1800.0


def run_program(command: list[str], folder: Path, *, seconds: float = MAX_SECONDS) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder and return its status and what it printed; SimulationError when it takes too long.

    Ctrl-C and any other exception end the program, too, and so do SIGTERM and SIGHUP where nobody handles them: they
    raise KeyboardInterrupt, as Ctrl-C does.
    """
    with _signals_raise():
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            late = f"{command[0]} took more than {seconds:g} s and was ended; use a smaller array"
            raise SimulationError(late) from None
        except BaseException:
            _end(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """Let signals that would end this process at once interrupt it instead. Only a main thread can do so."""
    main = threading.current_thread() is threading.main_thread()
    names = ("SIGTERM", "SIGHUP") if main else ()
    found = [getattr(signal, name) for name in names if hasattr(signal, name)]
    plain = [number for number in found if signal.getsignal(number) is signal.SIG_DFL]
    for number in plain:
        signal.signal(number, _leave)
    try:
        yield
    finally:
        for number in plain:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a program with all that it has started, and wait for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate()
