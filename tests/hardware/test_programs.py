"""Programs of others run under a time limit, and end with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gridloom.cli.entry import INTERRUPTED
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


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_to_synth_ends_the_program_that_it_runs(number: signal.Signals, tmp_path: Path) -> None:
    # A stand-in for Yosys that says who it is and then works for ever; its child stands for ABC.
    tool = tmp_path / "yosys"
    tool.write_text('#!/bin/sh\nsleep 600 &\necho $$ $! > "$STANDS_IN/started"\nwait\n')
    tool.chmod(0o755)
    nextpnr = tmp_path / "nextpnr-ecp5"
    nextpnr.write_text("#!/bin/sh\n")
    nextpnr.chmod(0o755)
    environment = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}", STANDS_IN=str(tmp_path))
    arguments = ["synth", "mesh:2x2", "--set", "width=4", "--set", "ops=add", "-o", str(tmp_path / "placed")]
    # Whoever started the tests may have them ignore the signal, as nohup does.
    command = subprocess.Popen(
        [sys.executable, "-m", "gridloom", *arguments],
        env=environment,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    try:
        started = _numbers(tmp_path / "started")
        assert all(map(_runs, started))
        command.send_signal(number)
        assert command.wait(timeout=60) == INTERRUPTED
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and any(map(_runs, started)):
            time.sleep(0.05)
        assert [process for process in started if _runs(process)] == []
    finally:
        command.kill()
        command.wait()


def test_signals_are_as_they_were_behind_a_program(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run_program([sys.executable, "-c", "pass"], tmp_path)
    assert signal.getsignal(signal.SIGTERM) is before


def _numbers(path: Path) -> list[int]:
    """The numbers of the processes that a stand-in writes when it runs."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and len(found := path.read_text().split()) == 2:
            return [int(number) for number in found]
        time.sleep(0.05)
    raise AssertionError("the stand-in was not started")


def _runs(process: int) -> bool:
    """True while a process is there and is no zombie that waits for its parent."""
    try:
        os.kill(process, 0)
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
