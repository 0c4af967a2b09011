"""Solves under a clock: an answer in time, or none."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from gridloom.search import solver
from gridloom.search.budget import Budget

cp = pytest.importorskip("ortools.sat.python.cp_model")


def model() -> object:
    found = cp.CpModel()
    a, b = found.new_bool_var("a"), found.new_bool_var("b")
    found.add_bool_or([a, b])
    found.minimize(a + b)
    return found


def test_small_model_is_solved():
    found = solver.solve(model(), Budget(time_limit=30).start(), workers=1)
    assert (found.answer, found.bound) == ("optimal", 1)


def test_solve_that_does_not_hear_is_left_behind(monkeypatch: pytest.MonkeyPatch):
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    class Deaf(cp.CpSolver):
        def solve(self, *_: object) -> int:
            begun.set()
            release.wait(60)
            ended.set()
            return int(cp.UNKNOWN)

    monkeypatch.setattr(cp, "CpSolver", Deaf)
    clock = Budget(time_limit=0.2).start()
    found = solver.solve(model(), clock, workers=1)
    assert begun.is_set()
    assert not ended.is_set()
    release.set()
    assert (found.answer, found.solver) == ("unknown", None)
    assert clock.moves == 1


def test_model_that_would_take_too_long_to_build_is_not_begun():
    with pytest.raises(solver.OutOfTimeError):
        solver.check_time(10**7, Budget(time_limit=1).start())
    solver.check_time(10**7, Budget(effort=1).start())


def test_process_ends_with_its_status_while_a_solve_that_was_left_behind_still_runs() -> None:
    program = (
        "import sys, time\n"
        "from gridloom import cli\n"
        "from gridloom.search.budget import Budget\n"
        "from gridloom.search import solver\n"
        "cp = solver.cp_model()\n"
        "cp.CpSolver.solve = lambda self, model: time.sleep(60)\n"
        "def main():\n"
        "    print(solver.solve(cp.CpModel(), Budget(time_limit=0.1).start(), workers=1).answer)\n"
        "    return 1\n"
        "cli.main = main\n"
        "sys.exit(cli.run())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "unknown\n", "")
