"""Functions that the tests of `gridloom.run` give to workers, and a client that can be killed.

python sample_jobs.py STORE COUNT SECONDS [BACKEND]
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from gridloom.run import ExecutorSpec, Store, ask, run_stored


def square(n):
    return n * n


def measure(parameters):
    """A deterministic row after `seconds` of sleep; every seventh fails."""
    time.sleep(parameters.get("seconds", 0.0))
    n = parameters["n"]
    if n % 7 == 3:
        raise ValueError(f"seven does not like {n}")
    return {"square": n * n, "half": n / 2, "factors": [d for d in range(1, 10) if n % d == 0]}


def measure_jobs(count, seconds=0.0):
    return [ask(measure, {"n": n, "seconds": seconds}) for n in range(count)]


def undisturbed_rows(count, seconds=0.0):
    """What the rows of `measure_jobs` are, computed without executor or store."""
    rows = []
    for job in measure_jobs(count):
        n = job.argument["n"]
        key = ask(measure, {"n": n, "seconds": seconds}).key
        try:
            rows.append((key, "done", measure({"n": n}), None))
        except ValueError as error:
            rows.append((key, "error", None, (type(error).__name__, str(error))))
    return sorted(rows, key=lambda row: row[0])


def plain_rows(store):
    """The rows of a store without what differs from run to run: time, worker, place."""
    return [
        (row.key, row.status, row.value, (row.error.type, row.error.message) if row.error else None)
        for row in store.rows()
    ]


def fail_on_three(n):
    if n == 3:
        raise KeyError("three")
    return n


def exit_on_three(n):
    if n == 3:
        sys.exit(5)
    return n


def kill_worker_on_three(n):
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def kill_worker_once(argument):
    """Kill the worker at the first call for each n; a file remembers it."""
    folder, n = argument
    mark = Path(folder) / str(n)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def nap(seconds):
    time.sleep(seconds)
    return os.getpid()


def overlap(argument):
    """Note begin and end in a file, so that a test sees which jobs ran together; `killer` kills its worker."""
    log, name = argument
    with open(log, "a") as file:
        file.write(f"begin {name}\n")
    time.sleep(0.05)
    if name == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    with open(log, "a") as file:
        file.write(f"end {name}\n")
    return name


def large(size):
    return b"x" * size


def unpicklable(n):
    return lambda: n


def thread_limits(_):
    import numba
    import numpy  # noqa: F401

    return {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")} | {
        "numba": numba.get_num_threads(),
        "interrupt_ignored": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
    }


def main():
    path, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    backend = sys.argv[4] if len(sys.argv) > 4 else "processes"
    with Store(path) as store:
        run = run_stored(
            measure, measure_jobs(count, seconds), store, executor=ExecutorSpec(backend=backend, workers=2), lease=600
        )
    print(run.computed, run.skipped, run.failed, run.interrupted)


if __name__ == "__main__":
    main()
