"""What running a job costs: overhead per job on each backend, with and without a store, and memory over many jobs.

    python benchmarks/jobs.py [--jobs 10000] [--workers 2] [--seconds 0]

Overhead is the time of the run beyond what the jobs themselves need on so many workers, divided by their number.
Start-up (workers, cluster) has a column of its own, since it is paid once.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridloom.run import ExecutorSpec, Job, Store, ask, complete_jobs, run_stored

WARM_UP = 200


def nothing(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a small result after doing nothing for a while."""
    if parameters["seconds"]:
        time.sleep(parameters["seconds"])
    return {"n": parameters["n"]}


def jobs(count: int, seconds: float) -> Iterator[Job[Any]]:
    """Yield the questions one by one."""
    return (ask(nothing, {"n": n, "seconds": seconds}) for n in range(count))


def resident() -> int:
    """Return this process's memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Times jobs after the first few, which wait for workers to start, and records memory meanwhile."""

    def __init__(self, seconds: float) -> None:
        self.needed = seconds
        self.begin = time.perf_counter()
        self.seen = 0
        self.warm = self.begin
        self.memory = 0

    def tick(self, _: object = None) -> None:
        """Count one result."""
        self.seen += 1
        if self.seen == WARM_UP:
            self.warm = time.perf_counter()
            self.memory = resident()

    def line(self, name: str) -> str:
        """Return the row of the table."""
        each = (time.perf_counter() - self.warm) / (self.seen - WARM_UP) - self.needed
        growth = (resident() - self.memory) / 1e6
        return f"| {name} | {self.seen} | {each * 1e3:.3f} | {self.warm - self.begin:.2f} | {growth:+.1f} |"


def without_store(name: str, spec: ExecutorSpec, count: int, seconds: float) -> str:
    """Measure `complete_jobs` alone."""
    watch = Watch(seconds / (spec.workers or 1))
    for outcome in complete_jobs(nothing, jobs(count, seconds), executor=spec):
        watch.tick(outcome)
    return watch.line(name)


def with_store(name: str, spec: ExecutorSpec, count: int, seconds: float) -> str:
    """Measure `run_stored`: claim, run, put."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
        watch = Watch(seconds / (spec.workers or 1))
        run_stored(nothing, jobs(count, seconds), store, executor=spec, on_result=watch.tick)
        return watch.line(f"{name} + store")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.0)
    options = parser.parse_args()
    specs = {
        "inline": ExecutorSpec(backend="inline"),
        "threads": ExecutorSpec(backend="threads", workers=options.workers),
        "processes": ExecutorSpec(backend="processes", workers=options.workers),
    }
    if importlib.util.find_spec("distributed"):
        specs["dask local"] = ExecutorSpec(backend="dask", workers=options.workers)
    write = sys.stdout.write
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    write(f"{machine}, {options.workers} workers, jobs of {options.seconds} s\n\n")
    write("| backend | jobs | overhead, ms a job | first results, s | memory, MB |\n| --- | --- | --- | --- | --- |\n")
    for name, spec in specs.items():
        write(without_store(name, spec, options.jobs, options.seconds) + "\n")
        write(with_store(name, spec, options.jobs, options.seconds) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
