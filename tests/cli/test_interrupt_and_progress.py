"""Ctrl-C gives the best so far; progress is for terminals and for those who have waited."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace

import pytest
from numba import njit

from gridloom import registry
from gridloom.cli import progress
from gridloom.flow import Request, run
from gridloom.search.budget import Budget, Progress
from gridloom.search.compiling import CompilationInterrupted, report_compilation
from gridloom.targets.grid.mappers import anneal


def press_ctrl_c_once_the_search_runs():
    """From a thread: waits until the command has put up its own handler, then sends the signal."""
    before = signal.getsignal(signal.SIGINT)

    def press():
        deadline = time.monotonic() + 60
        while signal.getsignal(signal.SIGINT) is before and time.monotonic() < deadline:
            time.sleep(0.01)
        if signal.getsignal(signal.SIGINT) is not before:
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def waiting_mapper(monkeypatch):
    """The mapper, but it only begins once it was asked to end."""

    def wait(dfg, arch, config: anneal.AnnealConfig, budget: Budget):
        deadline = time.monotonic() + 60
        while not budget.interrupted() and time.monotonic() < deadline:
            time.sleep(0.01)
        return original(dfg, arch, config, replace(budget, interrupted=None, time_limit=None, effort=5000))

    # What the best so far is confirmed with is compiled beforehand: after Ctrl-C nothing is.
    run(Request(source="kernel:axpy", arch="mesh:6x6", effort=5000))
    original = anneal.anneal
    monkeypatch.setattr(anneal, "anneal", wait)


def test_ctrl_c_returns_the_best_so_far(gridloom, waiting_mapper):
    before = signal.getsignal(signal.SIGINT)
    thread = press_ctrl_c_once_the_search_runs()
    done = gridloom("map", "kernel:axpy", "--arch", "mesh:6x6", "--time-limit", "500")
    thread.join()
    assert done.status == 0
    assert done.out.splitlines()[0].endswith("(interrupted: the best so far)")
    assert done.err == "stopping; Ctrl-C again to give up at once\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_nothing_is_shown_where_standard_error_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.display(10.0) as shown:
        shown.search(Progress(seconds=1.0, moves=5, phase="starts"))
    assert capsys.readouterr() == ("", "")


def test_bar_appears_after_two_seconds_on_a_terminal(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    shown = progress.Display(10.0, enabled=True, _began=100.0)
    shown.search(Progress(seconds=1.0, moves=5, phase="starts"))
    assert shown._bar is None
    clock[0] += progress.PATIENCE
    shown.search(Progress(seconds=2.0, moves=1500, phase="starts", best="FIFO 2"))
    assert shown._bar.tasks[0].description == "starts: 1,500 moves, best FIFO 2"
    assert shown._bar.console.stderr
    shown.close()
    assert shown._bar is None


@pytest.mark.parametrize(("interrupt", "words"), [(KeyboardInterrupt, "interrupted\n"), (CompilationInterrupted, "")])
def test_ctrl_c_in_the_middle_of_a_command_is_said_once(gridloom, monkeypatch, interrupt, words):
    def stopped(*_):
        raise interrupt

    monkeypatch.setattr(registry, "names", stopped)
    done = gridloom("list", "kernels")
    assert (done.status, done.out, done.err) == (130, "", words)


def test_after_ctrl_c_no_kernel_is_compiled_any_more(capsys):
    def add_one(x):
        return x + 1

    kernel = njit(add_one)
    with pytest.raises(CompilationInterrupted), report_compilation(None), progress.first_interrupt_asks() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked.is_set()
        kernel(1)
    assert "interrupted while compiling kernels" in capsys.readouterr().err
    assert kernel(1) == 2
