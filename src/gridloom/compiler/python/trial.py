"""A first import of a Python file in a process of its own, so that an exit or a hang there is an error in words.

This is no sandbox: the file is executed with the rights of the user, there and again here. It keeps a mistake in a
file from ending or holding up the program that reads it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

from gridloom.compiler.confinement import stop
from gridloom.errors import SourceError

#: Seconds that the import of a file may take; that of torch alone takes a few.
TIME_LIMIT: Final = 30.0

#: Bytes of data that the import of a file may take.
MAX_MEMORY: Final = 2 * 1024 * 1024 * 1024

#: Statuses that a program is unlikely to end with by itself: the file was executed to its end, or to an error that the
#: import here will show with its line; it called for an exit; it ran out of memory.
_DONE, _EXIT, _MEMORY = 113, 114, 115

#: The process ends when the one that started it is gone, however that was ended, and after its time on a processor.
_PROGRAM: Final = f"""
import json, os, runpy, sys, threading, time
path, name, memory, seconds, parent, folders = json.loads(sys.argv[1])
sys.path[:], sys.argv[:] = folders, [path]
def watch():
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit({_EXIT})
threading.Thread(target=watch, daemon=True).start()
try:
    import resource
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
except (ImportError, OSError, ValueError):
    pass
try:
    runpy.run_path(path, run_name=name)
    status = {_DONE}
except MemoryError:
    status = {_MEMORY}
except Exception:
    status = {_DONE}
except BaseException:
    status = {_EXIT}
os._exit(status)
"""


def try_import(path: Path, name: str) -> None:
    """Import a Python file under a name in a process of its own; SourceError where that exits, hangs or needs too much.

    Errors that the file raises are left to the import in this process. A file that has not changed is tried once.
    Costs the start of Python and what the file imports.
    """
    status = path.stat()
    _try(path, str(path.absolute()), name, status.st_mtime_ns, status.st_size)


@cache
def _try(path: Path, absolute: str, name: str, _modified: int, _size: int) -> None:
    """Try a file; the time and size of its last change are part of what is remembered."""
    if not sys.executable:
        return
    asked = json.dumps([absolute, name, MAX_MEMORY, 1 + int(TIME_LIMIT), os.getpid(), sys.path])
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, asked],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        status = process.wait(TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise SourceError(
            f"its import did not end within {TIME_LIMIT:g} s and was stopped; leave definitions only outside of "
            "functions",
            where=str(path),
        ) from None
    finally:
        stop(process)
    if status == _MEMORY:
        most = MAX_MEMORY // (1024 * 1024)
        raise SourceError(f"its import needs more than {most} MB; make the data in it smaller", where=str(path))
    if status != _DONE:
        found = "calls for an exit" if status == _EXIT else f"ends the program with status {status}"
        raise SourceError(
            f"its import {found}; put what is no definition under if __name__ == '__main__'", where=str(path)
        )
