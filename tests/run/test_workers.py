import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest
import sample_jobs

from gridloom.run import Job, WorkerLost, WorkerPool, complete_jobs, workers

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")


def alive(pid):
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)


def resident(pid="self"):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Killer(threading.Thread):
    """Kills a worker of the pool at random moments, `times` times."""

    def __init__(self, pool, times, seed, longest=0.3):
        super().__init__(daemon=True)
        self.pool, self.times, self.longest = pool, times, longest
        self.random = random.Random(seed)
        self.killed = 0
        self.stop = threading.Event()

    def run(self):
        while self.killed < self.times and not self.stop.wait(self.random.uniform(0, self.longest)):
            pids = self.pool.pids()
            if pids:
                try:
                    os.kill(self.random.choice(pids), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass


def test_submit_returns_the_result():
    with WorkerPool(2) as pool:
        futures = [pool.submit(sample_jobs.square, n) for n in range(20)]
        assert [future.result(30) for future in futures] == [n * n for n in range(20)]


def test_workers_start_only_when_there_is_work():
    with WorkerPool(4) as pool:
        assert pool.pids() == []
        assert pool.submit(sample_jobs.square, 3).result(30) == 9
        assert len(pool.pids()) == 1


def test_exceptions_of_the_function_are_raised_by_the_future():
    with WorkerPool(1) as pool:
        with pytest.raises(KeyError, match="three"):
            pool.submit(sample_jobs.fail_on_three, 3).result(30)
        assert pool.submit(sample_jobs.fail_on_three, 4).result(30) == 4


def test_result_that_cannot_be_pickled_is_an_error_and_the_worker_lives():
    with WorkerPool(1) as pool:
        with pytest.raises(Exception, match=r"(?i)pickle|local object"):
            pool.submit(sample_jobs.unpicklable, 3).result(30)
        assert pool.submit(sample_jobs.square, 4).result(30) == 16


def test_job_that_kills_its_worker_each_time_is_given_up_and_others_are_not():
    with WorkerPool(2, retries=2) as pool:
        futures = [pool.submit(sample_jobs.kill_worker_on_three, n) for n in range(8)]
        for n, future in enumerate(futures):
            if n == 3:
                with pytest.raises(
                    WorkerLost, match=r"died 3 times out of 3, the last time by SIGKILL \(out of memory"
                ):
                    future.result(30)
            else:
                assert future.result(30) == n


def test_job_whose_worker_was_killed_runs_again(tmp_path):
    with WorkerPool(2) as pool:
        futures = [pool.submit(sample_jobs.kill_worker_once, (str(tmp_path), n)) for n in range(5)]
        assert [future.result(60) for future in futures] == list(range(5))


def test_the_last_attempt_runs_alone(tmp_path):
    log = tmp_path / "log"
    log.touch()
    with WorkerPool(2, retries=1) as pool:
        lost = pool.submit(sample_jobs.overlap, (str(log), "killer"))
        others = [pool.submit(sample_jobs.overlap, (str(log), str(n))) for n in range(12)]
        assert isinstance(lost.exception(30), WorkerLost)
        assert [future.result(30) for future in others] == [str(n) for n in range(12)]
    lines = log.read_text().splitlines()
    second = [i for i, line in enumerate(lines) if line == "begin killer"][1]
    before = lines[:second]
    running = {line.split()[1] for line in before if line.startswith("begin")}
    running -= {line.split()[1] for line in before if line.startswith("end")}
    assert running == {"killer"}  # its own first attempt, which never ended


def test_worker_killed_while_it_writes_a_large_result_does_not_hang_the_pool():
    size = 100_000_000
    with WorkerPool(1) as pool:
        pool.submit(sample_jobs.square, 1).result(30)
        start = time.monotonic()
        pool.submit(sample_jobs.large, size).result(60)
        whole = time.monotonic() - start
        for part in (0.2, 0.4, 0.6, 0.8):
            future = pool.submit(sample_jobs.large, size)
            time.sleep(whole * part)
            for pid in pool.pids():
                os.kill(pid, signal.SIGKILL)
            assert len(future.result(60)) == size


def test_kill_ends_running_jobs_at_once():
    pool = WorkerPool(2)
    futures = [pool.submit(sample_jobs.nap, 60) for _ in range(4)]
    wait_until(lambda: sum(future.running() for future in futures) == 2)
    pids = pool.pids()
    pool.kill()
    assert all(future.done() for future in futures)
    assert not any(alive(pid) for pid in pids)


def test_shutdown_lets_queued_jobs_finish_and_takes_no_more():
    pool = WorkerPool(1)
    futures = [pool.submit(sample_jobs.square, n) for n in range(5)]
    pool.shutdown()
    assert [future.result(0) for future in futures] == [0, 1, 4, 9, 16]
    with pytest.raises(RuntimeError, match="has been shut down"):
        pool.submit(sample_jobs.square, 1)


def test_workers_use_one_thread_each_and_leave_ctrl_c_to_the_parent():
    with WorkerPool(1) as pool:
        found = pool.submit(sample_jobs.thread_limits, None).result(60)
    assert found == {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "numba": 1, "interrupt_ignored": True}


def test_the_environment_of_this_process_is_left_as_it_was(monkeypatch):
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with WorkerPool(1) as pool:
        pool.submit(sample_jobs.square, 1).result(30)
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def run_script(tmp_path, text):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100)


def test_script_without_main_guard_starts_jobs_of_other_modules(tmp_path):
    done = run_script(
        tmp_path,
        """
        from gridloom.run import WorkerPool
        print(__file__.endswith("script.py"))
        with WorkerPool(2) as pool:
            print([pool.submit(len, "abc").result(60) for _ in range(2)])
        print(__file__.endswith("script.py"))
        """,
    )
    assert (done.stdout, done.stderr) == ("True\n[3, 3]\nTrue\n", "")


def test_functions_of_a_guarded_script_are_jobs(tmp_path):
    done = run_script(
        tmp_path,
        """
        from gridloom.run import WorkerPool
        def double(x):
            return 2 * x
        if __name__ == "__main__":
            with WorkerPool(1) as pool:
                print(pool.submit(double, 4).result(60))
        """,
    )
    assert (done.stdout, done.stderr) == ("8\n", "")


def test_functions_of_a_script_without_main_guard_get_one_clear_error(tmp_path):
    done = run_script(
        tmp_path,
        """
        from gridloom.run import WorkerPool
        def double(x):
            return 2 * x
        with WorkerPool(1) as pool:
            print(pool.submit(double, 4).result(60))
        """,
    )
    assert done.stderr.splitlines()[-1] == (
        'RuntimeError: a script whose functions are jobs has to start them under if __name__ == "__main__":'
    )


def test_workers_that_are_killed_whenever_they_start_end_the_run_after_a_while(monkeypatch):
    monkeypatch.setattr(workers, "_KILLED_START_SECONDS", 0.5)
    monkeypatch.setattr(workers, "_work", sample_jobs.die)
    with WorkerPool(1) as pool, pytest.raises(BrokenExecutor, match=r"by SIGKILL .*see who kills them"):
        pool.submit(sample_jobs.square, 1).result(60)


def test_broken_pool_refuses_more_jobs(monkeypatch):
    pool = WorkerPool(1)
    monkeypatch.setattr(pool, "_start_workers", lambda: (_ for _ in ()).throw(OSError("no more processes")))
    with pytest.raises(BrokenExecutor, match="no more processes"):
        pool.submit(sample_jobs.square, 1).result(30)
    with pytest.raises(BrokenExecutor, match="no more processes"):
        pool.submit(sample_jobs.square, 1)


def test_workers_end_when_the_client_is_killed(tmp_path):
    script = tmp_path / "client.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            from gridloom.run import WorkerPool
            if __name__ == "__main__":
                pool = WorkerPool(2)
                for _ in range(2):
                    pool.submit(time.sleep, 300)
                while len(pool.pids()) < 2 or not all(worker.task for worker in pool._workers):
                    time.sleep(0.01)
                print(*pool.pids(), flush=True)
                time.sleep(300)
            """
        )
    )
    client = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in client.stdout.readline().split()]
    assert len(pids) == 2
    assert all(alive(pid) for pid in pids)
    client.kill()
    client.wait()
    wait_until(lambda: not any(alive(pid) for pid in pids))


def test_ten_thousand_jobs_in_flat_memory_with_twenty_workers_killed():
    count, kills, taken, outstanding, peaks = 10_000, 20, 0, 0, 0
    counts = dict.fromkeys(map(str, range(count)), 0)
    argument = b"." * 10_000  # 100 MB in all: kept arguments or results would show

    def jobs():
        nonlocal taken, outstanding
        for n in range(count):
            taken += 1
            outstanding += 1
            yield Job(str(n), argument + bytes([n % 7]))

    with WorkerPool(2, retries=kills) as pool:
        killer = Killer(pool, kills, seed=1)
        baseline = 0
        for done, outcome in enumerate(complete_jobs(bytes.swapcase, jobs(), executor=pool)):
            counts[outcome.key] += 1
            outstanding -= 1
            peaks = max(peaks, outstanding)
            assert outcome.value == argument + bytes([int(outcome.key) % 7])
            if done == 1_000:
                baseline = resident()
                killer.start()
            if done >= count - 100:
                # The last jobs wait until all kills have happened, one after the other: workers that were killed while
                # they had nothing to do are only started again for the next job.
                killer.join(0.6)
        growth = resident() - baseline
    assert killer.killed == kills
    assert set(counts.values()) == {1}
    assert peaks <= 4
    assert growth < 20_000_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_workers_killed_faster_than_they_start(seed):
    with WorkerPool(2, retries=1_000) as pool:
        killer = Killer(pool, 100, seed, longest=0.1)
        killer.start()
        jobs = (Job(str(n), 0.005) for n in range(1_500))
        outcomes = list(complete_jobs(sample_jobs.nap, jobs, executor=pool))
        killer.stop.set()
        killer.join()
    assert killer.killed > 20
    assert sorted(int(outcome.key) for outcome in outcomes) == list(range(1_500))
    assert {outcome.status for outcome in outcomes} == {"done"}


def test_pool_needs_a_worker():
    with pytest.raises(ValueError, match="at least one worker, found 0"):
        WorkerPool(0)
