"""Faults: each ends in a named error within a bounded number of cycles, and memory outside the buffers stays."""

from __future__ import annotations

import pytest
from tests.hardware.system.jobs import job_of, small_system
from tests.hardware.system.test_driver import DATA, IMAGE, RESULT, driver_of, launch, load

from gridloom.hardware.system.bench import BASE, SystemBench
from gridloom.hardware.system.driver import Driver, Pattern, SystemFault

pytestmark = pytest.mark.tools
#: Cycles of the limit on waiting that the tests set, and the most that a fault may take to be reported.
TIMEOUT, BOUND = 300, 1500
SIZE = 1 << 16


def filled(bench: SystemBench) -> bytes:
    """Fill memory with a pattern and return it."""
    memory = bytes((k * 37 + (k >> 8)) & 255 for k in range(SIZE))
    bench.store(BASE, memory)
    return memory


def fault(driver: Driver, bench: SystemBench) -> str:
    """Wait until the channels are idle or fail; the name of the error, within the bound."""
    before = bench.cycles
    with pytest.raises(SystemFault) as found:
        driver.wait_channels()
    assert bench.cycles - before < BOUND
    return found.value.name


def works_again(driver: Driver, bench: SystemBench) -> None:
    """After a fault was cleared the system loads and launches as before."""
    bench.tick(50)
    driver.open()
    job = job_of(3, small_system())
    load(driver, bench, job.image.words())
    assert launch(driver, bench, job) == job.expected


def test_a_bus_error_of_a_read(bench: SystemBench):
    memory, driver = filled(bench), driver_of(bench)
    bench.answer_errors(DATA + 200, DATA + 203)
    driver.start_read(0, Pattern(DATA, 100), 0)
    assert fault(driver, bench) == "BUS_READ"
    assert bench.fetch(BASE, SIZE) == memory
    bench.answer_errors(1, 0)
    works_again(driver, bench)


def test_a_bus_error_of_a_write(bench: SystemBench):
    memory, driver = filled(bench), driver_of(bench)
    bench.answer_errors(RESULT + 200, RESULT + 203)
    driver.start_write(0, Pattern(RESULT, 100), 0)
    assert fault(driver, bench) == "BUS_WRITE"
    bench.tick(200)
    left = bench.fetch(BASE, SIZE)
    at = RESULT - BASE
    assert left[:at] == memory[:at] and left[at + 400 :] == memory[at + 400 :]
    bench.answer_errors(1, 0)
    works_again(driver, bench)


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("after", [0, 20])
def test_a_bus_that_does_not_answer(bench: SystemBench, write: bool, after: int):
    memory, driver = filled(bench), driver_of(bench)
    driver.write("TIMEOUT", TIMEOUT)
    if write:
        driver.start_write(0, Pattern(RESULT, 100), 0)
    else:
        driver.start_read(0, Pattern(DATA, 100), 0)
    bench.tick(after)
    bench.hang(True)
    assert fault(driver, bench) == "TIMEOUT"
    bench.hang(False)
    bench.tick(200)
    left = bench.fetch(BASE, SIZE)
    at = RESULT - BASE
    assert left[:at] == memory[:at] and left[at + 400 :] == memory[at + 400 :]
    works_again(driver, bench)


def test_an_image_that_the_bus_does_not_deliver(bench: SystemBench):
    driver = driver_of(bench)
    driver.write("TIMEOUT", TIMEOUT)
    words = job_of(3, small_system()).image.words()
    bench.store_words(IMAGE, words)
    bench.hang(True)
    driver.load(IMAGE, len(words), 0)
    before = bench.cycles
    with pytest.raises(SystemFault, match="TIMEOUT: the bus, or a stream of the array, did not answer in time"):
        driver.wait_load()
    assert bench.cycles - before < BOUND
    bench.hang(False)
    works_again(driver, bench)


def test_a_truncated_image_in_memory(bench: SystemBench):
    """The driver says how long the image should be, and what stands behind its end is not the rest of it."""
    memory, driver = filled(bench), driver_of(bench)
    words = job_of(3, small_system()).image.words()
    bench.store_words(IMAGE, words[: len(words) // 2])
    before = bench.cycles
    driver.load(IMAGE, len(words), 0)
    with pytest.raises(SystemFault, match="IMAGE_CHECKSUM"):
        driver.wait_load()
    assert bench.cycles - before < BOUND
    assert driver.read("VALID") == 0
    assert bench.fetch(BASE, IMAGE - BASE) == memory[: IMAGE - BASE]
    works_again(driver, bench)


@pytest.mark.parametrize("during", ["read", "write", "launch", "load"])
def test_a_reset_in_the_middle(bench: SystemBench, during: str):
    memory, driver = filled(bench), driver_of(bench)
    job = job_of(3, small_system())
    if during == "launch":
        load(driver, bench, job.image.words())
        memory = bench.fetch(BASE, SIZE)
        driver.launch(0, 40)
    elif during == "load":
        bench.store_words(IMAGE, job.image.words())
        memory = bench.fetch(BASE, SIZE)
        driver.load(IMAGE, len(job.image.words()), 0)
    elif during == "read":
        driver.start_read(0, Pattern(DATA, 100), 0)
    else:
        driver.start_write(0, Pattern(RESULT, 100), 0)
    bench.tick(10)
    bench.reset()
    before = bench.cycles
    wait = {"launch": driver.wait_launch, "load": driver.wait_load}.get(during, driver.wait_channels)
    with pytest.raises(SystemFault, match="RESET: the system was reset"):
        wait()
    assert bench.cycles - before < BOUND
    left = bench.fetch(BASE, SIZE)
    at = RESULT - BASE
    assert left[:at] == memory[:at] and left[at + 400 :] == memory[at + 400 :]
    works_again(driver, bench)


def test_a_stop_leaves_memory_alone(bench: SystemBench):
    memory, driver = filled(bench), driver_of(bench)
    bench.wait_at_random(3)
    driver.start_write(0, Pattern(RESULT, 100), 0)
    bench.tick(20)
    driver.stop()
    bench.tick(200)
    left = bench.fetch(BASE, SIZE)
    at = RESULT - BASE
    assert left[:at] == memory[:at] and left[at + 400 :] == memory[at + 400 :]
    bench.wait_at_random(0)
    works_again(driver, bench)


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("size", [1, 4])
def test_a_stop_while_the_bus_holds_a_burst(bench: SystemBench, write: bool, size: int):
    """The stop comes 0 to 47 cycles after the start, while the bus holds what it was given."""
    memory, driver = filled(bench), driver_of(bench)
    at = RESULT - BASE
    for after in range(48):
        if write:
            driver.start_write(0, Pattern(RESULT, 100, size=size), 0)
        else:
            driver.start_read(0, Pattern(DATA, 100, size=size), 0)
        bench.tick(after)
        bench.hang(True)
        bench.tick(after % 5)
        driver.stop()
        bench.hang(False)
        bench.tick(100)
        left = bench.fetch(BASE, SIZE)
        assert left[:at] == memory[:at] and left[at + 100 * size :] == memory[at + 100 * size :]
        assert driver.read("CHANNELS") == 0
        # What is moved next comes and goes whole.
        driver.start_read(0, Pattern(DATA, 100), 0)
        driver.wait_channels()
        driver.start_write(0, Pattern(RESULT, 100), 0)
        driver.wait_channels()
        assert bench.fetch(RESULT, 400) == bench.fetch(DATA, 400)
        bench.store(BASE, memory)
    works_again(driver, bench)


def test_elements_that_are_not_aligned_are_refused(bench: SystemBench):
    driver = driver_of(bench)
    driver.start_read(0, Pattern(DATA + 2, 4), 0)
    assert fault(driver, bench) == "DESCRIPTOR"


def test_a_transfer_beyond_the_data_memory_is_refused(bench: SystemBench):
    memory, driver = filled(bench), driver_of(bench)
    driver.start_read(0, Pattern(DATA, 100), small_system().memory_words - 50)
    assert fault(driver, bench) == "MEMORY"
    assert bench.fetch(BASE, SIZE) == memory
