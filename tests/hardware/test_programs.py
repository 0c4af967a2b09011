"""Programs of others run under a time limit, and end with all that they have started."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from gridloom.errors import SimulationError
from gridloom.hardware.programs import run_program


def test_status_and_output_come_back(tmp_path: Path) -> None:
    done = run_program([sys.executable, "-c", "print('hello'); raise SystemExit(3)"], tmp_path)
    assert (done.returncode, done.stdout) == (3, "hello\n")


def test_program_that_takes_too_long_ends_with_its_children(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "pathlib.Path('child').write_text(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    with pytest.raises(SimulationError) as caught:
        run_program([sys.executable, "-c", script], tmp_path, seconds=8)
    assert str(caught.value) == f"{sys.executable} took more than 8 s and was ended; use a smaller array"
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _runs(child):
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: int) -> bool:
    """True while a process is there and is no zombie that waits for its parent."""
    try:
        os.kill(process, 0)
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
