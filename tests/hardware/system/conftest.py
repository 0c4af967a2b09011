"""One simulated system for all tests of drivers and faults."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from tests.hardware.system.jobs import small_system

from gridloom.hardware.system.bench import SystemBench


@pytest.fixture(scope="session")
def running() -> Iterator[SystemBench]:
    if shutil.which("verilator") is None:
        pytest.skip("Verilator is not installed")
    with SystemBench(small_system(), memory_bytes=1 << 16) as bench:
        yield bench


@pytest.fixture
def bench(running: SystemBench) -> SystemBench:
    """The system after a reset, with a memory that answers at once and holds a pattern."""
    running.answer_errors(1, 0)
    running.hang(False)
    running.wait_at_random(0)
    running.reset()
    return running
