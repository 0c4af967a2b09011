"""How long an exploration would take on more workers, extrapolated from measured job time and overhead.

    python benchmarks/explore_scaling.py

The table names the bottleneck. Three things limit a run: the work itself, spread over the workers; the client, which
makes jobs, takes results and writes rows, one after the other; and what a job costs on its way to a worker and back.
The client's part is measured with jobs that do no work.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gridloom.explore import explore, parse_space
from gridloom.run import ExecutorSpec, Store, ask, run_stored

SPACE = """
explore: scaling
kernels: ["kernel:kmeans,k=2,n=3", "kernel:fir", "kernel:dct4", "kernel:sepia"]
array: "{topology}:{side}x{side},fifo={fifo}"
parameters: {topology: [mesh, chess], side: [7, 8], fifo: {from: 0, to: 4}}
budget: {effort: 20000}
"""


def echo(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Do no work and return a row as large as that of a mapping."""
    return {"n": parameters["n"], "row": "x" * 900}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--echoes", type=int, default=5000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gridloom-scaling-") as place:
        work = job_seconds(Path(place))
        client = client_seconds(Path(place), options.echoes)
    sys.stdout.write(json.dumps({"job_ms": round(1e3 * work, 2), "client_ms": round(1e3 * client, 3)}) + "\n")
    jobs = 1_000_000
    sys.stdout.write(
        "| workers | jobs a second | a million jobs | workers busy | limit |\n| --- | --- | --- | --- | --- |\n"
    )
    for workers in (1, 2, 10, 100, 1000):
        rate = min(workers / work, 1 / client)
        limit = "the client" if 1 / client < workers / work else "the workers"
        busy = rate * work / workers
        sys.stdout.write(f"| {workers} | {rate:,.0f} | {jobs / rate / 3600:.1f} h | {busy:.0%} | {limit} |\n")


def job_seconds(folder: Path) -> float:
    """Return the seconds of a mapping job in a worker, without the first of each kernel, which compiles."""
    space = parse_space(SPACE, "scaling")
    with Store(folder / "jobs.sqlite") as store:
        explore(space, executor=ExecutorSpec(workers=2), store=store)
        seconds = sorted(row.seconds for row in store.rows() if row.seconds is not None)
    kept = seconds[: -len(seconds) // 10]
    return sum(kept) / len(kept)


def client_seconds(folder: Path, count: int) -> float:
    """Return the seconds that the client spends on one job: it makes, sends, receives and stores it."""
    jobs = [ask(echo, {"n": n}) for n in range(count)]
    with Store(folder / "echoes.sqlite") as store:
        run_stored(echo, jobs[:200], store, executor=ExecutorSpec(backend="inline"))
        began = time.process_time()
        run_stored(echo, jobs[200:], store, executor=ExecutorSpec(workers=2))
        return (time.process_time() - began) / (count - 200)


if __name__ == "__main__":
    main()
