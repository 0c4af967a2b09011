"""Commands that are interrupted, killed, or run out of disk space, and what they may leave behind.

A command runs in a folder of its own, with a folder for temporary files inside it. :func:`disturbed` sends a signal
after a while, or limits the size of files; :func:`left_behind` lists what should not be there afterwards.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

#: Outputs of a mapping: each is there whole, or not at all.
OUTPUTS = ("mapping.json", "report.html", "picture.svg")

MAP = (
    *("map", "kernel:kmeans,k=4,n=4", "--arch", "mesh:8x8", "--set", "objective=wirelength"),
    *("--time-limit", "4", "--jobs", "2", "--output", OUTPUTS[0], "--html", OUTPUTS[1], "--svg", OUTPUTS[2]),
)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit status (negative: the signal), and what it said."""

    status: int
    said: str


def disturbed(
    command: tuple[str, ...],
    folder: Path,
    *,
    after: float | None = None,
    with_signal: signal.Signals = signal.SIGINT,
    file_size: int | None = None,
) -> Ended:
    """Run gridloom in a folder; send a signal after some seconds, or let no file grow beyond ``file_size`` bytes."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)

    def limit() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    process = subprocess.Popen(
        [sys.executable, "-m", "gridloom", *command],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=limit,
        text=True,
    )
    if after is not None:
        time.sleep(after)
        os.killpg(process.pid, with_signal)
    said = process.communicate(timeout=120)[0]
    return Ended(process.returncode, said)


def left_behind(folder: Path, expected: tuple[str, ...]) -> list[str]:
    """Files that are neither expected nor of the user, and processes of the command that still run."""
    files = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [name for name in files if name not in expected] + [f"process {line}" for line in _running_in(folder)]


def _running_in(folder: Path) -> list[str]:
    """The processes whose working folder this is."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").resolve() == folder.resolve():
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found
