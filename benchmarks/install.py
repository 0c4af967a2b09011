"""The claim on what an installation costs: megabytes on the disk, and CPU seconds of a first and a second command."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.cells import largest, questions
from benchmarks.claim import REPOSITORY, Claim, Row

_MAP = ("map", "examples/kernels/fir.c", "--arch", "torus:4x4", "--seed", "1", "--effort", "20000")
_HIDDEN = ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")


def measure_install(asked: Row) -> Row:
    """Install the checkout with an extra into an empty environment; map the README's loop twice where it can."""
    with tempfile.TemporaryDirectory() as name:
        venv = Path(name) / "venv"
        _cpu_of(sys.executable, "-m", "venv", venv, folder=venv.parent)
        before = _megabytes(venv)
        what = f"{REPOSITORY}[{asked['extra']}]" if asked["extra"] else REPOSITORY
        constraints = REPOSITORY / "constraints.txt"
        _cpu_of(venv / "bin/pip", "install", "--quiet", what, "--constraint", constraints, folder=venv.parent)
        row: Row = {"MB": round(_megabytes(venv) - before)}
        if asked["extra"]:
            seconds = [_cpu_of(venv / "bin/gridloom", *_MAP, folder=REPOSITORY, cache=name) for _ in range(2)]
            row |= {"first command": round(seconds[0], 1), "second command": round(seconds[1], 1)}
        return row


def _cpu_of(*command: object, folder: Path, cache: str | None = None) -> float:
    """CPU seconds of a program and of what it starts."""
    environment = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    environment |= {"NUMBA_CACHE_DIR": cache} if cache else {}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


CLAIMS = (
    Claim(
        name="speed/install", measures="MB of an installation, CPU seconds of a first and a second command",
        ask=lambda quick: questions(extra=["", "c"]), measure=measure_install, depends=(), minutes=3, quick_minutes=3,
        tolerance={"MB": 0.2, "first command": 9.0, "second command": 9.0},
        figures=lambda rows: {"MB": largest("MB")(rows)},
    ),
)  # fmt: skip
