"""Kill an exploration many times and check that it leaves exactly the rows of an undisturbed one.

    python benchmarks/explore_kills.py            # 2,000 mappings, 20 kills

Each kill sends signal 9 to a worker, to the client, or to the whole process group, at a random time. After the last
kill the exploration is resumed, and its rows are compared with those of an undisturbed run. The seconds that a search
took are left out: they are measurements, not results.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SPACE = """
explore: kills
kernels: ["kernel:vector_add", "kernel:mul_add", "kernel:distance", "kernel:gray"]
array: "{topology}:{side}x{side},fifo={fifo},mul={mul}"
parameters:
  topology: [mesh, chess, onehop, hex]
  fifo: {from: 0, to: 4}
  mul: [all, checkerboard, columns, borders, none]
  side: {from: 3, to: %d}
budget: {effort: 300}
"""


def main() -> int:
    """Run, kill, resume, compare; exit status 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", type=int, default=5, help="how many sizes of array there are; each has 400 mappings")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gridloom-kills-") as place:
        folder = Path(place)
        space = folder / "space.yaml"
        space.write_text(SPACE % (2 + options.sides), encoding="utf-8")
        began = time.monotonic()
        finish(space, folder / "calm.sqlite")
        calm = time.monotonic() - began
        counts = disturbed(space, folder / "killed.sqlite", options.kills, calm, random.Random(options.seed))
        finish(space, folder / "killed.sqlite")
        expected, found = rows(folder / "calm.sqlite"), rows(folder / "killed.sqlite")
        twice = len(found) - len({key for key, _ in found})
        same = dict(expected) == dict(found)
        sys.stdout.write(
            json.dumps(
                {"mappings": len(expected), "kills": counts, "undisturbed_seconds": round(calm, 1), "rows": len(found),
                 "twice": twice, "same": same}
            ) + "\n"
        )  # fmt: skip
    return 0 if same and not twice else 1


def command(space: Path, store: Path) -> list[str]:
    """The command line of the exploration."""
    return [sys.executable, "-m", "gridloom", "explore", str(space), "--store", str(store), "--resume", "--jobs", "2"]


def finish(space: Path, store: Path) -> None:
    """Run to the end."""
    subprocess.run(command(space, store), check=True, stdout=subprocess.DEVNULL)


def disturbed(space: Path, store: Path, kills: int, calm: float, choose: random.Random) -> dict[str, int]:
    """Start and kill until so many kills have hit a run at work."""
    counts = {"worker": 0, "client": 0, "everything": 0}
    while sum(counts.values()) < kills:
        client = subprocess.Popen(
            command(space, store), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        # Spread over the whole run: each start gets about its share of the work done before it is hit.
        time.sleep(choose.uniform(0.5, 2.5) + calm / kills * choose.uniform(0.2, 1.0))
        victim = choose.choice(list(counts))
        if client.poll() is not None:
            return counts
        if victim == "worker":
            for _ in range(2):
                workers = children(client.pid)
                if workers:
                    os.kill(choose.choice(workers), signal.SIGKILL)
                time.sleep(0.5)
            counts[victim] += 1
            time.sleep(calm / kills)
            victim = "client"
        if victim == "client":
            client.kill()
        else:
            os.killpg(client.pid, signal.SIGKILL)
        counts[victim] += 1
        client.wait()
    return counts


def children(process: int) -> list[int]:
    """The workers of a client: its child processes that run Python's spawned main."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(process)], capture_output=True, text=True, check=False
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "spawn_main" in line]


def rows(store: Path) -> list[tuple[str, Any]]:
    """Key and result of every row, without what is measured."""
    connection = sqlite3.connect(store)
    try:
        found = connection.execute("SELECT key, status, value FROM results ORDER BY key").fetchall()
    finally:
        connection.close()
    return [(key, (status, without_seconds(json.loads(value)))) for key, status, value in found]


def without_seconds(value: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the time that its search and its checks took."""
    return {name: item for name, item in value.items() if "seconds" not in name}


if __name__ == "__main__":
    sys.exit(main())
