"""The answer on one screen: shares, speed-ups, time, one sentence."""

from __future__ import annotations

from dataclasses import replace

from gridloom.flow.system.answer import answer_record, answer_text, verdict
from gridloom.flow.system.laps import LoopTime, loop_times
from gridloom.flow.system.run import SystemRun

RUN = SystemRun(
    function="f", arch="torus:4x4", cycles=1000, busy=300, stalled=0, configuring=90, loading=10, transfer=400,
    waiting=500, streams=False, alone={"clang -O2": 3000, "gcc -O2": 3500}, differences=(), launched=("f_3",),
    reasons=("f_9: the core is faster",), predicted=True, loops=[(LoopTime(1, 2400), LoopTime(1, 600))],
)  # fmt: skip


def test_a_function_that_gains_is_said_to_pay_off():
    assert (
        answer_text(RUN, 50.0)
        == """\
f on a RISC-V core with torus:4x4: 1 loop launched (predicted; gridloom system --run simulates it)
  f_9: the core is faster
the function leaves what native code leaves
  core alone, clang -O2       3000
  core and array              1000
    array                      300   30 %
    transfer                   400   40 %
    configuration              100   10 %
    host                       200   20 %
speed-up of the function 3.00, without transfers 5.00; of the launched loops 4.00
at 50 MHz, the estimated clock of the array: 0.020 ms, core alone 0.060 ms
pays off: the array saves 2000 of 3000 cycles"""
    )


def test_a_program_shows_what_it_printed_and_why_it_does_not_pay_off():
    run = replace(RUN, alone={"clang -O2": 1010}, program=True, output="a\nb\n", loops=(), differences=("x",))
    text = answer_text(run)
    assert text.endswith("and the core alone 1010\nprinted:\n  a\n  b")
    assert "DIFFERS from native code:\n  x" in text
    assert verdict(run) == "does not pay off: data that moves takes 40 % of 1000 cycles, and the core alone 1010"


def test_the_record_has_the_same_figures():
    record = answer_record(RUN, 50.0)
    assert record["speedup"] == 3.0 and record["loop_speedup"] == 4.0 and record["ms"] == 0.02 and record["pays_off"]
    assert record["loops"] == [{"name": "f_3", "entries": 1, "core_cycles": 2400, "cycles": 600}]


def test_marks_give_the_time_in_each_loop():
    laps = [(1, 10), (3, 20), (2, 50), (0, 100), (1, 200), (0, 210), (2, 300)]
    assert loop_times(laps, 2) == [LoopTime(2, 100), LoopTime(1, 30)]
