"""What is told of compilation, what a clock counts of it, and how it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from numba import njit
from numba.core.event import trigger_event

from gridloom.jit import DISK_EVENT
from gridloom.search import compiling
from gridloom.search.budget import Budget, Progress
from gridloom.search.compiling import HEADING, CompilationInterrupted, report_compilation


def fresh_kernel(module: str = "gridloom.mappers.example"):
    """A kernel that has never been compiled."""

    def add_one(x):
        return x + 1

    add_one.__module__ = module
    return njit(add_one)


def test_a_reporter_hears_of_each_kernel_that_is_compiled():
    told: list[Progress] = []
    kernel = fresh_kernel()
    with report_compilation(told.append):
        assert kernel(1) == 2
        assert kernel(2) == 3
    assert [report.compiling for report in told] == [True]
    assert told[0].phase.startswith(f"{HEADING}: ")
    assert told[0].phase.endswith(", mappers.example.add_one")


def test_nothing_is_told_after_the_block_nor_of_functions_of_others():
    told: list[Progress] = []
    with report_compilation(told.append):
        fresh_kernel("elsewhere")(1)
    fresh_kernel()(1)
    assert told == []


def test_seconds_of_compilation_are_not_those_of_a_search(monkeypatch: pytest.MonkeyPatch):
    now = [1000.0]
    monkeypatch.setattr("gridloom.search.budget.time.monotonic", lambda: now[0])

    def pass_time(_: Progress) -> None:
        now[0] += 100

    with report_compilation(pass_time):
        clock, before = Budget(time_limit=3).start(), compiling.seconds()
        now[0] += 1
        fresh_kernel()(1)
        assert compiling.seconds() - before == 100
        assert (clock.seconds, clock.remaining) == (1, 2)


def test_an_interrupt_ends_what_is_compiled_at_the_next_step_of_the_compiler():
    kernel = fresh_kernel()
    with report_compilation(None):
        compiling.interrupt()
        try:
            with pytest.raises(CompilationInterrupted, match=r"^interrupted while compiling kernels; those that are"):
                kernel(1)
        finally:
            compiling.resume()
        assert not compiling.active()
        assert kernel(1) == 2


@pytest.mark.slow
def test_ctrl_c_ends_a_first_command_and_says_in_the_middle_of_what(tmp_path):
    command = [sys.executable, "-m", "gridloom", "map", "kernel:distance", "--arch", "mesh:5x5"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == f"{HEADING} ...\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output == ""
    assert errors.startswith("interrupted while compiling kernels")


def test_seconds_of_reading_and_writing_kernels_are_not_those_of_a_search(monkeypatch: pytest.MonkeyPatch):
    now = [1000.0]
    monkeypatch.setattr("gridloom.search.budget.time.monotonic", lambda: now[0])
    clock = Budget(time_limit=3).start()
    with trigger_event(DISK_EVENT):
        now[0] += 100
    assert (clock.seconds, clock.remaining) == (0, 3)
