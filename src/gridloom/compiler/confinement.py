"""What confines a process that runs a user's code: a filter of system calls, namespaces, limits.

The kernel's filter (seccomp) leaves a process a short list of system calls. Bubblewrap (``bwrap``) starts a program
without the files, the network and the processes of this machine. Either is enough to run native code of a file;
without both, gridloom runs none and interprets the code instead. Limits on time, memory, files and processes hold in
every case.

``stop`` ends a process that a front end started: a compiler, a trial of a Python file.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import shutil
import signal
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from errno import EFAULT, EPERM
from functools import cache
from pathlib import Path
from typing import ClassVar, Final

#: Bytes of address space of a native program, and its seconds of processor time.
MEMORY: Final = 2 * 1024 * 1024 * 1024 - 4096
CPU_SECONDS: Final = 30

_I386: Final = 0x40000003
_X86_64: Final = 0xC000003E
_KILL: Final = 0x80000000
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000 | EPERM
_SET_SECCOMP: Final = 22
_FILTER: Final = 2
_NO_NEW_PRIVILEGES: Final = 38

#: System calls of 32-bit x86 that a function may make once its data are read: read, write and exit.
FUNCTION_CALLS: Final = (3, 4, 1)
#: Those of a whole program with a C library: also exit_group, writev, readv, brk, mmap2, munmap, mprotect, madvise.
PROGRAM_CALLS: Final = (*FUNCTION_CALLS, 252, 146, 145, 45, 192, 91, 125, 219)
#: Calls that a C library makes in passing and that fail without harm: ioctl, close, _llseek, sched_getaffinity.
IDLE_CALLS: Final = (54, 6, 140, 242)
#: Calls of 64-bit x86 that Python needs to compute and to write what it has open: read, write, close, fstat, lseek,
#: mmap, mprotect, munmap, brk, signals, writev, sched_yield, mremap, madvise, getpid, exit, futex, clocks, exit_group,
#: tgkill, getrandom, rseq.
PYTHON_CALLS: Final = (0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 20, 24, 25, 28, 39, 60, 131, 186, 202, 228, 230, 231,
                       234, 318, 334)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What confines a native run on this machine. ``bubblewrap`` is the path of ``bwrap``, "" without it."""

    seccomp: bool
    bubblewrap: str

    @property
    def confines(self) -> bool:
        """True where native code may run."""
        return self.seccomp or bool(self.bubblewrap)

    def around(self, program: Path) -> list[str]:
        """The words that start a static program: in a file system with nothing but itself, where bubblewrap is."""
        if not self.bubblewrap:
            return [str(program)]
        return [
            self.bubblewrap, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--clearenv",
            "--ro-bind", str(program), "/program", "--chdir", "/", "--remount-ro", "/", "--", "/program",
        ]  # fmt: skip

    @property
    def text(self) -> str:
        """One line for the user."""
        parts = [*(["seccomp"] if self.seccomp else []), *(["bubblewrap"] if self.bubblewrap else [])]
        if not parts:
            return "none: C is compared by interpreting its IR, and no native code runs"
        return f"{' and '.join(parts)}, with limits on time, memory, files and processes"


@cache
def find_sandbox() -> Sandbox:
    """What this machine offers. Starts bubblewrap once to see whether the system lets it work."""
    return Sandbox(seccomp=_has_seccomp(), bubblewrap=_working_bubblewrap())


def _has_seccomp() -> bool:
    """Whether the kernel filters system calls: with the filter left out it complains of the address, else of the mode.

    See seccomp(2). Nothing is installed.
    """
    if platform.system() != "Linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    return library.prctl(_SET_SECCOMP, _FILTER, None, 0, 0) == -1 and ctypes.get_errno() == EFAULT


def _working_bubblewrap() -> str:
    """The path of ``bwrap`` where it can make its namespaces; "" otherwise."""
    found = shutil.which("bwrap") if platform.system() == "Linux" else None
    if found is None:
        return ""
    words = [found, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--", "/bin/sh", "-c", "exit 0"]
    try:
        done = subprocess.run(words, capture_output=True, timeout=10.0, check=False, env={"PATH": os.defpath})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found if done.returncode == 0 else ""


def filter_rows(
    allowed: Sequence[int], idle: Sequence[int] = (), *, machine: int = _I386, others: int = _KILL
) -> list[tuple[int, int, int, int]]:
    """The kernel's filter program: (code, jump if true, jump if false, operand) for each row.

    A call of another architecture ends the process; an ``idle`` one fails; for any call that is not listed the kernel
    does what ``others`` says. By default it is for 32-bit x86 and ends the process.
    """
    load, equal, answer = 0x20, 0x15, 0x06
    rows = [(load, 0, 0, 4), (equal, 1, 0, machine), (answer, 0, 0, _KILL), (load, 0, 0, 0)]
    for number in idle:
        rows += [(equal, 0, 1, number), (answer, 0, 0, _REFUSE)]
    for number in allowed:
        rows += [(equal, 0, 1, number), (answer, 0, 0, _ALLOW)]
    return [*rows, (answer, 0, 0, others)]


class _Program(ctypes.Structure):
    """The kernel's ``sock_fprog``: the number of rows and their address."""

    _fields_: ClassVar = [("count", ctypes.c_ushort), ("rows", ctypes.c_void_p)]


def confine_here() -> bool:
    """Leave this process memory, open files and its end, for good; True where the kernel does it.

    Opening a file, starting a process and reaching a network fail from here on. It is for 64-bit x86.
    """
    if platform.machine() not in ("x86_64", "AMD64") or not _has_seccomp():
        return False
    rows = filter_rows(PYTHON_CALLS, machine=_X86_64, others=_REFUSE)
    buffer = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = _Program(len(rows), ctypes.addressof(buffer))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    return bool(library.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


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
