"""Budgets: limits, order of results, Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from gridloom.errors import OptionError
from gridloom.search.budget import Budget, Progress


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("time_limit", 0.0, "time limit: expected more than 0 seconds, found 0.0"),
        ("effort", 0, "effort: expected at least 1 move, found 0"),
        ("workers", 0, "workers: expected at least 1, found 0"),
        ("seed", -1, "seed: expected 0 to 2**63 - 1, found -1"),
    ],
)
def test_a_senseless_budget_is_refused(field, value, message):
    with pytest.raises(OptionError) as error:
        Budget(**{field: value})
    assert str(error.value) == message


def test_results_come_in_the_order_of_the_jobs_whatever_finishes_first():
    clock = Budget(workers=4).start()

    def job(k):
        def work():
            time.sleep(0.02 * (4 - k))
            return k

        return work

    assert clock.run([job(k) for k in range(4)]) == [0, 1, 2, 3]


def test_time_that_is_up_sets_the_flag_that_kernels_read():
    clock = Budget(time_limit=0.05).start()

    def work():
        while not clock.stop[0]:
            time.sleep(0.005)
        return "stopped"

    assert clock.run([work]) == ["stopped"]
    assert clock.over()


def test_the_caller_can_end_a_run():
    wanted = threading.Event()
    clock = Budget(interrupted=wanted.is_set).start()
    assert not clock.over()
    wanted.set()
    assert clock.over()


def test_moves_beyond_the_effort_end_a_run():
    clock = Budget(effort=100).start()
    clock.moves = 99
    assert not clock.over()
    clock.moves = 100
    assert clock.over()


def test_ctrl_c_ends_the_run_with_what_there_is():
    clock = Budget(workers=1).start()

    def work():
        while not clock.stop[0]:
            time.sleep(0.005)
        return "best so far"

    timer = threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        assert clock.run([work]) == ["best so far"]
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_progress_is_told_with_the_moves_made():
    heard: list[Progress] = []
    clock = Budget(progress=heard.append).start()
    clock.moves = 7
    clock.report("starts", "FIFO 1")
    assert [(p.moves, p.phase, p.best) for p in heard] == [(7, "starts", "FIFO 1")]


def test_slice_that_is_over_leaves_the_run_going_and_adds_its_moves():
    clock = Budget(time_limit=60).start()
    with clock.slice(0.05) as part:

        def work():
            while not part.stop[0]:
                time.sleep(0.005)
            return "cut"

        assert part.run([work]) == ["cut"]
        part.moves = 5
    assert part.over()
    assert not clock.over()
    assert clock.moves == 5


def test_slice_ends_with_its_run():
    wanted = threading.Event()
    clock = Budget(time_limit=60, interrupted=wanted.is_set).start()
    part = clock.slice(30.0)
    assert not part.over()
    wanted.set()
    assert part.over()
    assert clock.over()


def test_slice_has_no_more_seconds_than_its_run():
    clock = Budget(time_limit=1.0).start()
    assert clock.slice(5.0).remaining <= 1.0


def test_a_little_preparation_does_not_count_and_more_of_it_does(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("gridloom.search.budget.time.monotonic", lambda: now[0])
    quick, long = Budget(time_limit=2).start(), Budget(time_limit=2).start()
    now[0] += 0.5
    assert quick.prepared().seconds == pytest.approx(0.0)
    now[0] += 2.5
    assert long.prepared().seconds == pytest.approx(2.5)
    assert long.over()


def test_preparation_is_given_back_once(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("gridloom.search.budget.time.monotonic", lambda: now[0])
    clock = Budget(time_limit=2).start()
    now[0] += 0.4
    clock.prepared()
    now[0] += 1.0
    assert clock.prepared().seconds == pytest.approx(1.0)


def test_run_is_late_only_some_time_after_its_limit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("gridloom.search.budget.time.monotonic", lambda: now[0])
    clock = Budget(time_limit=10).start()
    now[0] = 10.4
    assert (clock.over(), clock.late, int(clock.stop[0])) == (True, False, 1)
    now[0] = 10.6
    assert (clock.over(), clock.late, int(clock.stop[0])) == (True, True, 2)
    assert not Budget(effort=1).start().late


def test_jobs_that_have_not_begun_when_time_is_up_are_left_out_but_the_first():
    clock = Budget(time_limit=5).start()
    clock.end()
    assert clock.run_some([lambda: 1, lambda: 2, lambda: 3]) == [1]
    assert Budget(effort=1).start().run_some([lambda: 1, lambda: 2]) == [1, 2]


def test_flag_for_winding_up_is_set_when_the_run_is_late_and_not_before():
    clock = Budget(time_limit=0.2).start()
    with clock.winding_up() as flag:
        while not clock.late:
            assert flag[0] == 0 or clock.late
            time.sleep(0.005)
        deadline = time.monotonic() + 10
        while not flag[0] and time.monotonic() < deadline:
            time.sleep(0.005)
        assert flag[0] == 2


def test_watched_run_sets_its_flag_without_being_asked():
    clock = Budget(time_limit=0.05).start()
    with clock.watched():
        deadline = time.monotonic() + 10
        while not clock.stop[0] and time.monotonic() < deadline:
            time.sleep(0.005)
    assert clock.stop[0] != 0


def test_a_limit_of_cpu_time_counts_the_time_of_the_process_alone(monkeypatch):
    spent = iter([10.0, 11.0, 14.5])
    monkeypatch.setattr("gridloom.search.budget.time.process_time", lambda: next(spent, 14.5))
    monkeypatch.setattr("gridloom.search.compiling.seconds", lambda *, cpu=False: 2.0)
    clock = Budget(time_limit=4.0, cpu_time=True).start()
    assert (clock.seconds, clock.over()) == (1.0, True)
    assert clock.remaining == 0.0
