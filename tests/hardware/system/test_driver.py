"""The Python driver over the system in Verilator: launches, images, patterns, interrupts and counters."""

from __future__ import annotations

import pytest
from tests.hardware.system.jobs import Job, job_of, small_system

from gridloom.hardware.system.bench import BASE, SystemBench
from gridloom.hardware.system.driver import Driver, Pattern, SystemFault
from gridloom.hardware.system.image import with_sums
from gridloom.hardware.system.registers import VERSION

pytestmark = pytest.mark.tools
IMAGE, DATA, RESULT = BASE + 0x8000, BASE + 0x1000, BASE + 0x4000


def driver_of(bench: SystemBench) -> Driver:
    driver = Driver(bench)
    driver.open()
    return driver


def load(driver: Driver, bench: SystemBench, words: list[int], bank: int = 0) -> None:
    bench.store_words(IMAGE, words)
    driver.load(IMAGE, len(words), bank)
    driver.wait_load()


def launch(driver: Driver, bench: SystemBench, job: Job, bank: int = 0) -> list[int]:
    """Bring the job's data, launch it and return the words that it leaves."""
    bench.store_words(DATA, job.memory)
    driver.start_read(0, Pattern(DATA, len(job.memory)), job.place)
    for number, word in job.liveins:
        driver.write("LIVEIN", word, number)
    driver.launch(bank, job.iterations)
    driver.wait_launch()
    driver.start_write(0, Pattern(RESULT, len(job.memory)), job.place)
    driver.wait_channels()
    raw = bench.fetch(RESULT, 4 * len(job.memory))
    return [int.from_bytes(raw[k : k + 4], "little", signed=True) for k in range(0, len(raw), 4)]


@pytest.mark.parametrize("noise", [0, 5])
def test_launches_leave_what_the_simulator_says(bench: SystemBench, noise: int):
    bench.wait_at_random(noise)
    driver = driver_of(bench)
    for bank, factor in ((0, 3), (1, 11)):
        job = job_of(factor, small_system())
        load(driver, bench, job.image.words(), bank)
    for turn in range(6):
        job = job_of((3, 11)[turn % 2], small_system(), iterations=(40, 1, 7)[turn % 3], seed=turn)
        assert launch(driver, bench, job, turn % 2) == job.expected
        assert [driver.liveout(number) for number, _ in job.liveouts] == [word for _, word in job.liveouts]


def test_an_image_stays_for_the_next_launch(bench: SystemBench):
    driver = driver_of(bench)
    job = job_of(3, small_system())
    load(driver, bench, job.image.words())
    launch(driver, bench, job)
    first = driver.counters()["configuring"]
    assert launch(driver, bench, job) == job.expected
    again = driver.counters()["configuring"] - first
    assert again < first - len(job.image.packets) + 3


def test_counters_count_the_cycles_of_a_run(bench: SystemBench):
    driver = driver_of(bench)
    job = job_of(3, small_system())
    load(driver, bench, job.image.words())
    launch(driver, bench, job)
    counted = driver.counters()
    assert counted["busy"] == (job.iterations - 1) * job.image.ii + job.image.length
    assert counted["stalled"] == 0
    assert counted["loading"] >= len(job.image.words())
    assert counted["moving"] >= 2 * len(job.memory)


def test_a_launch_waits_for_the_one_before(bench: SystemBench):
    """Two launches one behind the other, with the registers of the second written while the first one runs."""
    driver = driver_of(bench)
    jobs = [job_of(factor, small_system(), seed=factor, place=place) for factor, place in ((3, 32), (11, 140))]
    for bank, job in enumerate(jobs):
        load(driver, bench, job.image.words(), bank)
        bench.store_words(DATA + 0x400 * bank, job.memory)
        driver.start_read(0, Pattern(DATA + 0x400 * bank, len(job.memory)), job.place)
        driver.wait_channels()
    for bank, job in enumerate(jobs):
        driver.wait_ready()
        for number, word in job.liveins:
            driver.write("LIVEIN", word, number)
        driver.launch(bank, job.iterations)
    assert driver.read("STATUS") & 0b1000010 == 0b1000010
    driver.wait_idle()
    for job in jobs:
        driver.start_write(0, Pattern(RESULT, len(job.memory)), job.place)
        driver.wait_channels()
        raw = bench.fetch(RESULT, 4 * len(job.memory))
        assert [int.from_bytes(raw[k : k + 4], "little", signed=True) for k in range(0, len(raw), 4)] == job.expected
    counted = driver.counters()
    assert counted["busy"] == sum((job.iterations - 1) * job.image.ii + job.image.length for job in jobs)
    assert 0 < counted["waiting"] < counted["cycles"]


def test_what_belongs_to_a_waiting_launch_must_not_change(bench: SystemBench):
    driver = driver_of(bench)
    job = job_of(3, small_system())
    load(driver, bench, job.image.words())
    for name, word in (("LIVEIN", 7), ("ITERATIONS", 1), ("BANK", 1), ("STREAMS", 1), ("LAUNCH", 1), ("READ", 4)):
        driver.launch(0, 40)
        driver.wait_ready()
        driver.launch(0, 40)
        before = None if name == "LAUNCH" else driver.read(name)
        driver.write(name, word)
        with pytest.raises(SystemFault, match="LAUNCH: the launch or the load was refused"):
            driver.wait_idle()
        driver.wait_idle()
        assert name == "LAUNCH" or driver.read(name) == before


def test_a_stop_ends_a_launch_that_waits(bench: SystemBench):
    driver = driver_of(bench)
    job = job_of(3, small_system())
    load(driver, bench, job.image.words())
    driver.launch(0, 4000)
    driver.wait_ready()
    driver.launch(0, 40)
    driver.stop()
    bench.tick(5)
    assert driver.read("STATUS") == 1
    assert launch(driver, bench, job) == job.expected


def test_an_interrupt_tells_of_the_end_and_is_cleared(bench: SystemBench):
    driver = driver_of(bench)
    job = job_of(3, small_system())
    load(driver, bench, job.image.words())
    driver.write("IRQ", 15)
    driver.write("IRQ_ENABLE", 1)
    assert not bench.interrupt
    launch(driver, bench, job)
    assert bench.interrupt and driver.read("IRQ") & 1
    driver.write("IRQ", 15)
    assert not bench.interrupt


def test_a_register_that_is_not_there_is_refused(bench: SystemBench):
    assert bench.read(0x7FC) is None
    assert not bench.write(0x000, 1)


def test_two_dimensional_patterns_are_gathered_and_scattered(bench: SystemBench):
    driver = driver_of(bench)
    memory = bytes(k * 7 & 255 for k in range(4096))
    bench.store(DATA, memory)
    bench.store(RESULT, bytes(1024))
    driver.start_read(0, Pattern(DATA + 6, 5, size=2, stride=4, rows=3, row_stride=100, signed=True), 10)
    driver.wait_channels()
    driver.start_write(0, Pattern(RESULT, 15), 10)
    driver.wait_channels()
    places = [6 + 100 * row + 4 * k for row in range(3) for k in range(5)]
    raw = bench.fetch(RESULT, 60)
    found = [int.from_bytes(raw[k : k + 4], "little", signed=True) for k in range(0, 60, 4)]
    assert found == [int.from_bytes(memory[p : p + 2], "little", signed=True) for p in places]


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        (lambda w: [w[0] + 1, *w[1:]], 4, "IMAGE_MAGIC: the image is no configuration image"),
        (
            lambda w: with_sums([w[0], VERSION + 1, *w[2:-2]]),
            5,
            "IMAGE_VERSION: the image has another version than the hardware",
        ),
        (lambda w: with_sums([*w[:2], w[2] ^ 1, *w[3:-2]]), 6, "IMAGE_ARRAY: the image is for another array"),
        (lambda w: w[:-7], 7, "IMAGE_LENGTH: the image is truncated, or longer than it says"),
        (lambda w: [*w[:20], w[20] ^ 64, *w[21:]], 8, "IMAGE_CHECKSUM: the checksum of the image is wrong"),
        (lambda w: [*w[:12], w[13], w[12], *w[14:]], 8, "IMAGE_CHECKSUM: the checksum of the image is wrong"),
    ],
)
def test_a_wrong_image_is_refused_by_hardware_and_driver(bench: SystemBench, change, code: int, text: str):
    driver = driver_of(bench)
    words = change(job_of(3, small_system()).image.words())
    with pytest.raises(SystemFault) as refused:
        load(driver, bench, words)
    assert (refused.value.code, str(refused.value)) == (code, text)
    assert driver.read("VALID") & 1 == 0
    with pytest.raises(SystemFault) as checked:
        driver.check_image(words)
    assert checked.value.code == code
    driver.write("ITERATIONS", 4)
    driver.write("LAUNCH", 1)
    with pytest.raises(SystemFault, match="LAUNCH: the launch or the load was refused"):
        driver.wait_launch()


def test_a_right_image_passes_the_driver(bench: SystemBench):
    driver_of(bench).check_image(job_of(3, small_system()).image.words())
