import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import sample_jobs

from gridloom.errors import MissingExtra
from gridloom.run import (
    ExecutorSpec,
    Job,
    ProgressMeter,
    RunError,
    RunProgress,
    WorkerLost,
    WorkerPool,
    complete_jobs,
    run_jobs,
)
from gridloom.run import executor as executor_module
from gridloom.run.bundle import BundlingExecutor

BACKENDS = ["inline", "threads", "processes"]


def numbers(count):
    return [Job(str(n), n) for n in range(count)]


@pytest.fixture(scope="module")
def scheduler():
    """A Dask cluster of two worker processes, by its address."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_gives_the_same_outcomes_in_job_order(backend):
    run = run_jobs(sample_jobs.square, numbers(30), executor=ExecutorSpec(backend=backend, workers=2))
    assert [(outcome.key, outcome.value) for outcome in run.outcomes] == [(str(n), n * n) for n in range(30)]
    assert not run.interrupted
    assert run.failed == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("function", "error"), [(sample_jobs.fail_on_three, "KeyError"), (sample_jobs.exit_on_three, "SystemExit")]
)
def test_what_a_job_raises_is_its_outcome_and_the_run_goes_on(backend, function, error):
    run = run_jobs(function, numbers(6), executor=ExecutorSpec(backend=backend, workers=2))
    assert [outcome.value for outcome in run.outcomes] == [0, 1, 2, None, 4, 5]
    assert [(outcome.key, outcome.status, outcome.error.type) for outcome in run.failed] == [("3", "error", error)]


def test_job_that_always_kills_its_worker_is_lost_and_the_run_goes_on():
    spec = ExecutorSpec(workers=2, retries=1)
    run = run_jobs(sample_jobs.kill_worker_on_three, numbers(6), executor=spec)
    assert [outcome.status for outcome in run.outcomes] == ["done", "done", "done", "lost", "done", "done"]
    assert run.failed[0].error.type == "WorkerLost"
    assert "died 2 times out of 2" in run.failed[0].error.message


@pytest.mark.parametrize("backend", BACKENDS)
def test_jobs_are_read_no_further_ahead_than_what_is_in_flight(backend):
    taken = 0

    def endless():
        nonlocal taken
        for n in itertools.count():
            taken += 1
            yield Job(str(n), n)

    outcomes = complete_jobs(
        sample_jobs.square, endless(), executor=ExecutorSpec(backend=backend, workers=2, in_flight=3)
    )
    for received, _ in enumerate(itertools.islice(outcomes, 50)):
        assert taken <= received + 3
    outcomes.close()


def test_an_executor_of_the_callers_own_is_used_and_left_open():
    with ThreadPoolExecutor(2) as pool:
        assert len(list(complete_jobs(sample_jobs.square, numbers(10), executor=pool))) == 10
        assert pool.submit(sample_jobs.square, 3).result() == 9


def test_executor_shut_down_by_its_owner_stops_the_run_with_an_error():
    with ThreadPoolExecutor(1) as pool:
        outcomes = complete_jobs(sample_jobs.nap, [Job(str(n), 0.05) for n in range(9)], executor=pool)
        next(outcomes)
        pool.shutdown(wait=False, cancel_futures=True)
        with pytest.raises(RunError, match="was cancelled from outside"):
            list(outcomes)


def test_none_in_the_jobs_means_ask_again():
    ready = threading.Event()
    threading.Timer(0.3, ready.set).start()

    def jobs():
        yield Job("a", 1)
        while not ready.is_set():
            yield None
        yield Job("b", 2)

    outcomes = list(complete_jobs(sample_jobs.square, jobs(), executor=ExecutorSpec(backend="inline")))
    assert [outcome.key for outcome in outcomes] == ["a", "b"]


def test_function_that_workers_cannot_import_is_refused_at_once():
    with pytest.raises(RunError, match=r"worker processes cannot import .*lambda.*top level of a module"):
        run_jobs(lambda n: n, numbers(3))


def test_argument_that_cannot_be_pickled_fails_that_job_only():
    jobs = [Job("a", 1), Job("b", threading.Lock()), Job("c", 3)]
    run = run_jobs(sample_jobs.square, jobs, executor=ExecutorSpec(workers=1))
    assert [outcome.status for outcome in run.outcomes] == ["done", "error", "done"]
    assert "pickle" in run.failed[0].error.message


def test_two_jobs_with_one_key_are_refused():
    with pytest.raises(RunError, match="two jobs have the key a"):
        run_jobs(sample_jobs.square, [Job("a", 1), Job("a", 2)], executor=ExecutorSpec(backend="inline"))


def test_interrupt_keeps_what_is_done():
    def interrupted_at_five(n):
        if n == 5:
            raise KeyboardInterrupt
        return n

    run = run_jobs(interrupted_at_five, numbers(10), executor=ExecutorSpec(backend="inline"))
    assert run.interrupted
    assert [outcome.value for outcome in run.outcomes] == [0, 1, 2, 3, 4]


def test_interrupt_yields_arrived_outcomes_then_raises():
    def jobs():
        yield Job("a", 1)
        yield Job("b", 2)
        time.sleep(0.2)
        raise KeyboardInterrupt

    outcomes = complete_jobs(
        sample_jobs.square, jobs(), executor=ExecutorSpec(backend="threads", workers=1, in_flight=5)
    )
    assert next(outcomes).key == "a"
    assert next(outcomes).key == "b"
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)


@pytest.mark.parametrize("backend", ["inline", "threads", "processes"])
def test_ctrl_c_in_a_terminal_ends_the_run_and_keeps_rows(tmp_path, backend):
    store = tmp_path / "results.sqlite"
    command = [sys.executable, sample_jobs.__file__, store, "500", "0.02", backend]
    client = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests that run in the background inherit that interrupts are ignored; a terminal's programs do not.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 30
    while rows_in(store) < 10 and time.monotonic() < deadline:
        time.sleep(0.05)
    # As a terminal does: the interrupt goes to the client and all its workers.
    os.killpg(client.pid, signal.SIGINT)
    output, errors = client.communicate(timeout=30)
    computed, skipped, _, interrupted = output.split()
    assert errors == ""
    assert interrupted == "True"
    assert 10 <= int(computed) < 500
    assert skipped == "0"
    assert rows_in(store) == int(computed)


def rows_in(path):
    from gridloom.run import Store

    if not Path(path).exists():
        return 0
    with Store(path) as store:
        return len(store)


def test_on_result_and_progress_are_told():
    seen, told = [], []
    run_jobs(
        sample_jobs.fail_on_three,
        numbers(5),
        executor=ExecutorSpec(backend="inline"),
        on_result=lambda outcome: seen.append(outcome.key),
        progress=told.append,
    )
    assert seen == list("01234")
    last = told[-1]
    assert (last.done, last.total, last.failed, last.skipped, last.eta) == (5, 5, 1, 0, 0.0)
    assert last.rate > 0


def test_time_left_follows_from_the_rate(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    told: list[RunProgress] = []
    meter = ProgressMeter(told.append, 12)
    meter.count(skipped=True)
    assert meter.now().eta is None
    for _ in range(4):
        clock[0] += 0.5
        meter.count()
    assert meter.now() == RunProgress(done=5, total=12, failed=0, skipped=1, elapsed=2.0, rate=2.0, eta=3.5)
    assert [progress.done for progress in told] == [2, 3, 4, 5]


def test_spec_from_command_line_options():
    assert ExecutorSpec.parse() == ExecutorSpec(backend="processes")
    assert ExecutorSpec.parse(jobs=1) == ExecutorSpec(backend="inline", workers=1)
    assert ExecutorSpec.parse(jobs=4) == ExecutorSpec(backend="processes", workers=4)
    assert ExecutorSpec.parse(jobs=2, cluster="local") == ExecutorSpec(backend="dask", workers=2)
    assert ExecutorSpec.parse(cluster="tcp://h:1").cluster == "tcp://h:1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "workers: found 0, expected at least 1"),
        (
            {"cluster": "here"},
            "cluster: found 'here', expected 'local' or a Dask scheduler's address such as tcp://10.0.0.1:8786",
        ),
    ],
)
def test_bad_options_are_explained(options, message):
    with pytest.raises(RunError) as caught:
        ExecutorSpec.parse(**options)
    assert str(caught.value) == message


def test_missing_dask_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"need Dask, which is not installed: pip install '.\[cluster\]'"):
        run_jobs(sample_jobs.square, numbers(1), executor=ExecutorSpec(backend="dask"))


def test_scheduler_that_does_not_answer_is_named(monkeypatch):
    pytest.importorskip("distributed")
    from gridloom.run import cluster

    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 0.5)
    with pytest.raises(RunError, match=r"cluster tcp://127\.0\.0\.1:9: no Dask scheduler answers .*'dask scheduler'"):
        run_jobs(sample_jobs.square, numbers(1), executor=ExecutorSpec(backend="dask", cluster="tcp://127.0.0.1:9"))


def test_dask_gives_the_same_outcomes(scheduler):
    spec = ExecutorSpec(backend="dask", cluster=scheduler)
    here = run_jobs(sample_jobs.fail_on_three, numbers(200), executor=ExecutorSpec(backend="inline"))
    there = run_jobs(sample_jobs.fail_on_three, numbers(200), executor=spec)
    assert [(o.key, o.status, o.value) for o in there.outcomes] == [(o.key, o.status, o.value) for o in here.outcomes]
    assert there.failed[0].error == here.failed[0].error
    assert {outcome.worker for outcome in there.outcomes}.isdisjoint(outcome.worker for outcome in here.outcomes)


def test_dask_workers_use_one_thread_each(scheduler):
    spec = ExecutorSpec(backend="dask", cluster=scheduler)
    found = run_jobs(sample_jobs.thread_limits, [Job("a", None)], executor=spec).outcomes[0].value
    assert (found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"], found["numba"]) == ("1", "1", 1)


def test_dask_runs_the_job_of_a_killed_worker_again(scheduler, tmp_path):
    jobs = [Job("1", (str(tmp_path), 1))]
    run = run_jobs(sample_jobs.kill_worker_once, jobs, executor=ExecutorSpec(backend="dask", cluster=scheduler))
    assert [outcome.value for outcome in run.outcomes] == [1]


@pytest.mark.slow
def test_dask_gives_up_on_a_job_that_always_kills_its_worker():
    pytest.importorskip("distributed")
    spec = ExecutorSpec(backend="dask", workers=2, retries=1)
    run = run_jobs(sample_jobs.kill_worker_on_three, numbers(6), executor=spec)
    assert run.outcomes[3].status == "lost"
    assert run.outcomes[3].error.type == "KilledWorker"


def test_workers_that_cannot_run_our_jobs_are_found_before_the_first_job(scheduler, monkeypatch):
    from gridloom.run import cluster

    def broken():
        raise ModuleNotFoundError("No module named 'gridloom'")

    monkeypatch.setattr(cluster, "limit_threads", broken)
    with pytest.raises(RunError, match=r"cannot run gridloom's jobs .*install the same version"):
        run_jobs(sample_jobs.square, numbers(1), executor=ExecutorSpec(backend="dask", cluster=scheduler))


def test_defaults_are_processes_on_all_usable_cores():
    with executor_module.open_executor(ExecutorSpec()) as site:
        assert site.executor.size == len(os.sched_getaffinity(0))


def test_short_jobs_travel_in_bundles_and_long_ones_alone():
    tasks = []

    class Counting(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            tasks.append(len(args[0]))
            return super().submit(fn, *args, **kwargs)

    with BundlingExecutor(Counting(1), lambda: 1) as short:
        assert short.submit(sample_jobs.square, 2).result(10) == 4
        assert short.size() == 100
        futures = [short.submit(sample_jobs.square, n) for n in range(250)]
        short.flush()
        assert [future.result(10) for future in futures] == [n * n for n in range(250)]
    assert tasks == [1, 100, 100, 50]
    with BundlingExecutor(Counting(1), lambda: 1) as long:
        long.submit(sample_jobs.nap, 0.15).result(10)
        assert long.size() == 1


def test_bundles_grow_with_the_number_of_workers_to_feed():
    executor = BundlingExecutor(ThreadPoolExecutor(1), lambda: 1_000)
    executor.submit(sample_jobs.nap, 0.1).result(10)
    assert 40 <= executor.size() <= 50
    executor.shutdown()


def test_bundle_that_dies_is_taken_apart_and_only_the_guilty_job_is_lost():
    with WorkerPool(1, retries=0) as pool, BundlingExecutor(pool, lambda: 1) as executor:
        assert executor.submit(sample_jobs.kill_worker_on_three, 0).result(30) == 0
        futures = [executor.submit(sample_jobs.kill_worker_on_three, n) for n in range(10)]
        executor.flush()
        for n, future in enumerate(futures):
            if n == 3:
                assert isinstance(future.exception(30), WorkerLost)
            else:
                assert future.result(30) == n


@pytest.mark.slow
def test_dask_loses_only_the_guilty_job_of_a_bundle():
    pytest.importorskip("distributed")
    jobs = [Job(str(n), 3 if n == 500 else 4) for n in range(1_000)]
    spec = ExecutorSpec(backend="dask", workers=2, retries=1)
    run = run_jobs(sample_jobs.kill_worker_on_three, jobs, executor=spec)
    assert [outcome.key for outcome in run.failed] == ["500"]
    assert len(run.outcomes) == 1_000
