"""What is told of compilation, what a clock counts of it, and how it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from numba import njit

from gridloom.mappers.budget import Budget, Progress
from gridloom.mappers.core import compiling
from gridloom.mappers.core.compiling import HEADING, CompilationInterrupted, reported


def fresh_kernel(module: str = "gridloom.mappers.example"):
    """A kernel that has never been compiled."""

    def add_one(x):
        return x + 1

    add_one.__module__ = module
    return njit(add_one)


def test_a_reporter_hears_of_each_kernel_that_is_compiled():
    told: list[Progress] = []
    kernel = fresh_kernel()
    with reported(told.append):
        assert kernel(1) == 2
        assert kernel(2) == 3
    assert [report.compiling for report in told] == [True]
    assert told[0].phase.startswith(f"{HEADING}: ")
    assert told[0].phase.endswith(", mappers.example.add_one")


def test_nothing_is_told_after_the_block_nor_of_functions_of_others():
    told: list[Progress] = []
    with reported(told.append):
        fresh_kernel("elsewhere")(1)
    fresh_kernel()(1)
    assert told == []


def test_seconds_of_compilation_are_not_those_of_a_search():
    with reported(None):
        clock = Budget().start()
        before, began = compiling.seconds(), time.monotonic()
        fresh_kernel()(1)
        passed = time.monotonic() - began
        compiled = compiling.seconds() - before
        assert 0 < compiled <= passed
        assert clock.seconds <= time.monotonic() - began - compiled + 0.05


def test_an_interrupt_ends_what_is_compiled_at_the_next_step_of_the_compiler():
    kernel = fresh_kernel()
    with reported(None):
        compiling.interrupt()
        try:
            with pytest.raises(CompilationInterrupted, match=r"^interrupted while compiling kernels; those that are"):
                kernel(1)
        finally:
            compiling.resume()
        assert not compiling.active()
        assert kernel(1) == 2


@pytest.mark.slow
def test_ctrl_c_ends_a_first_command_within_seconds_and_says_in_the_middle_of_what(tmp_path):
    command = [sys.executable, "-m", "gridloom", "map", "kernel:distance", "--arch", "mesh:5x5"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == f"{HEADING} ...\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    output, errors = process.communicate(timeout=30)
    # The bar is 3 s on an idle machine.
    assert time.monotonic() - asked < 10
    assert process.returncode == 130
    assert output == ""
    assert errors.startswith("interrupted while compiling kernels")
