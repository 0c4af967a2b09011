"""Processes that a front end starts and may have to stop: a compiler, a trial of a Python file."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and what it started; it must have been started with ``start_new_session``.

    zig, for one, runs clang as a process of its own, which would go on without it.
    """
    if process.poll() is not None:
        return
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
