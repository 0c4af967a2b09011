"""Claims about limits of time, first mappings, bars that are reached, and runs that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import gridloom as gl
from benchmarks.cells import PUBLISHED, first_of, largest, mapped_of, questions, source_of, suite_sources, table_by
from benchmarks.claim import MAPPING, Claim, Row, Rows
from gridloom.statistics import geometric_mean

CHAINS = "examples/kernels/large/chains.c:unroll={},reduced=false"
_NINE, _SIXTEEN = (f"torus:{side},regs=4,bus=none,operands=4" for side in ("9x9", "16x16"))
_PANORAMA = ("conv2D", "cordic", "edn", "idctrows", "jpegfdct", "kmeans", "matrix_multiply")
#: Source, array, seconds, and the II at which a run is ended.
BARS = (
    *((f"{PUBLISHED}panorama/dfg/{name}.xml", arch, limit, bar)
      for arch, limit, bars in ((_NINE, 60, (6, 4, 4, 4, 5, 8, 5)), (_SIXTEEN, 120, (3, 4, 2, 4, 4, 4, 5)))
      for name, bar in zip(_PANORAMA, bars)),
    (CHAINS.format(8), "torus:8x8", 30, 4), (CHAINS.format(24), "torus:8x8", 60, 10),
    (CHAINS.format(64), "torus:16x16", 120, 13),
    (f"{PUBLISHED}ccf/rijndael_loop7/loop108_node.txt", "torus:4x4,regs=4", 120, 7),
    (f"{PUBLISHED}ccf/gsm_loop6/loop501_node.txt", "torus:4x4,regs=4,bus=none", 120, 22),
)  # fmt: skip
#: Kind of array -> mappers that are held to a time limit, and a source and an array for so many nodes.
LIMITED = {
    "grid": ("anneal", "neosa", "divide", "genetic-grid", "portfolio"),
    "registers": ("modulo", "ramp", "regimap", "memmap", "portfolio"),
    "spokes": ("ppo", "anneal", "portfolio"),
    "rows": ("width", "portfolio"),
}
_TIMES = {"seconds": float("inf"), "over": float("inf"), "ii": 0.5, "bound": 0.0}
KILLED = """
explore: kills
kernels: ["kernel:vector_add", "kernel:mul_add", "kernel:distance", "kernel:gray"]
array: "{topology}:{side}x{side},fifo={fifo},mul={mul}"
parameters:
  topology: [mesh, chess, onehop, hex]
  fifo: {from: 0, to: 4}
  mul: [all, checkerboard, columns, borders, none]
  side: {from: 3, to: SIDES}
budget: {effort: 300}
"""


class Watch:
    """Hears of the best mapping, and asks for an end once its II is low enough."""

    def __init__(self, bar: int | None) -> None:
        self.bar = bar
        self.ii: int | None = None
        self.seconds: float | None = None

    def hear(self, progress: Any) -> None:
        """Note a better II with the seconds of search."""
        if progress.best.startswith("II ") and (self.ii is None or int(progress.best.split()[1]) < self.ii):
            self.ii, self.seconds = int(progress.best.split()[1]), progress.seconds

    def over(self) -> bool:
        """Whether the II is low enough; without a bar any mapping is."""
        return self.ii is not None and (self.bar is None or self.ii <= self.bar)


def reach_bar(asked: Row) -> Row:
    """Return the II and the seconds after which it was found; a run ends at the bar, or at its first mapping."""
    watch = Watch(asked["bar"])
    result = gl.map(source_of(asked["source"]), asked["arch"], time_limit=asked["limit"], seed=asked["seed"], jobs=2,
                    progress=watch.hear, interrupted=watch.over)  # fmt: skip
    found = result.to_dict()
    return {"status": found["status"], "ii": found["ii"], "mii": found["mii"], "nodes": found["dfg"]["nodes"],
            "seconds": round(result.seconds if watch.seconds is None else watch.seconds, 2)}  # fmt: skip


def keep_limit(asked: Row) -> Row:
    """Return the seconds of a search with a time limit, and what it took beyond 110 % of it and a second."""
    nodes, kind = asked["nodes"], asked["kind"]
    width = max(2, ceil(sqrt(nodes)) - 1)
    source = f"kernel:random_layered,layers={max(1, nodes // width - 1)},width={width}"
    side = ceil(sqrt(1.4 * nodes))
    arch = {"grid": f"mesh:{side}x{side}", "registers": f"torus:{max(3, ceil(sqrt(nodes / 6)))}x"
            f"{max(3, ceil(sqrt(nodes / 6)))},regs=8", "spokes": f"streaming-engine:{max(8, nodes // 4)}",
            "rows": f"vpcma:{ceil(1.4 * side)}x{ceil(1.4 * side)}"}[kind]  # fmt: skip
    if kind == "rows":
        source = f"kernel:{('cma_rgb_to_ycc', 'cma_dct8', 'cma_md5')[min(2, nodes // 60)]}"
    try:
        result = gl.map(source, arch, mapper=asked["mapper"], time_limit=asked["limit"], seed=1, jobs=2)
    except gl.GridloomError as error:
        return {"status": type(error).__name__, "seconds": None, "over": None}
    over = max(0.0, result.seconds - 1.1 * asked["limit"] - 1)
    return {"status": result.status, "seconds": round(result.seconds, 2), "over": round(over, 2)}


def survive_kills(asked: Row) -> Row:
    """Kill an exploration at random times, resume it, and compare its rows with those of an undisturbed one."""
    with tempfile.TemporaryDirectory(prefix="gridloom-kills-") as place:
        space = Path(place) / "space.yaml"
        space.write_text(KILLED.replace("SIDES", str(2 + asked["sides"])), encoding="utf-8")
        calm, killed = Path(place) / "calm.sqlite", Path(place) / "killed.sqlite"
        began = time.monotonic()
        subprocess.run(explore_command(space, calm), check=True, stdout=subprocess.DEVNULL)
        kill_often(space, killed, asked["kills"], time.monotonic() - began, random.Random(asked["seed"]))
        subprocess.run(explore_command(space, killed), check=True, stdout=subprocess.DEVNULL)
        expected, found = stored_rows(calm), stored_rows(killed)
        twice = len(found) - len({key for key, _ in found})
        return {"mappings": len(expected), "twice": twice, "same": dict(expected) == dict(found)}


def explore_command(space: Path, store: Path) -> list[str]:
    """Return the command line of the exploration."""
    return [sys.executable, "-m", "gridloom", "explore", str(space), "--store", str(store), "--resume", "--jobs", "2"]


def kill_often(space: Path, store: Path, kills: int, calm: float, choose: random.Random) -> None:
    """Start the exploration and kill a worker, the client or the whole group, so many times."""
    for _ in range(kills):
        client = subprocess.Popen(explore_command(space, store), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  start_new_session=True)  # fmt: skip
        # Each start gets about its share of the work done before it is hit.
        time.sleep(choose.uniform(0.5, 2.5) + calm / kills * choose.uniform(0.2, 1.0))
        victim = choose.choice(("worker", "client", "group"))
        if victim == "worker":
            listed = subprocess.run(
                ["ps", "-o", "pid=,args=", "--ppid", str(client.pid)], capture_output=True, text=True
            )
            workers = [int(line.split()[0]) for line in listed.stdout.splitlines() if "spawn_main" in line]
            if workers:
                os.kill(choose.choice(workers), signal.SIGKILL)
            time.sleep(calm / kills)
        if client.poll() is None:
            os.killpg(client.pid, signal.SIGKILL)
        client.wait()


def stored_rows(store: Path) -> list[tuple[str, object]]:
    """Return key and result of every row, without seconds."""
    connection = sqlite3.connect(store)
    try:
        found = connection.execute("SELECT key, status, value FROM results ORDER BY key").fetchall()
    finally:
        connection.close()
    return [
        (key, (status, {name: item for name, item in json.loads(value).items() if "seconds" not in name}))
        for key, status, value in found
    ]


def map_function(asked: Row) -> Row:
    """Compile a whole C function, run it on random data, and return its cycles and what they are spent on."""
    from gridloom.flow.bench.functions import run as functions
    from gridloom.flow.bench.suite import load_suite

    suite: Any = load_suite("functions")
    cell = next(cell for cell in suite.cells() if (cell.source, cell.arch) == (asked["source"], asked["arch"]))
    job = functions._job(suite, cell, None)
    row = functions.run_cell({**job.argument, "data_sets": asked["data_sets"]})
    iis = ",".join(str(loop["ii"]) for loop in row["loops"])
    kept = {name: row[name] for name in ("status", "cycles", "ideal", "single_issue")}
    return {**kept, "iis": iis, **row["breakdown"]}


def function_figures(rows: Rows) -> Row:
    """Return how many functions are equal, and the means of cycles over those of a processor and of full loops."""
    done = [row for row in rows if row["status"] == "equal"]
    return {"equal": f"{len(done)} of {len(rows)}",
            "speedup": geometric_mean(row["single_issue"] / row["cycles"] for row in done),
            "over_ideal": geometric_mean(row["cycles"] / row["ideal"] for row in done if row["ideal"])}  # fmt: skip


CLAIMS = (
    Claim(
        name="speed/until-bar", measures="seconds until a loop is mapped at an II", measure=reach_bar,
        ask=lambda quick: [
            {"source": source, "arch": arch, "limit": limit, "bar": bar, "seed": seed}
            for source, arch, limit, bar in BARS for seed in (0, 1, 2)
        ],
        depends=(*MAPPING, "targets.modulo"), minutes=60, needs=("published graphs", "llvmlite"), tolerance=_TIMES,
        table=table_by("source", "arch", mapped=mapped_of, II=largest("ii"), MII=largest("mii"),
                       seconds=largest("seconds")),
    ),
    Claim(
        name="speed/first-mapping", measures="seconds until there is any mapping, under time limits", measure=reach_bar,
        ask=lambda quick: [
            {"source": source, "arch": arch, "limit": limit, "bar": None, "seed": 1}
            for source, arch, *_ in BARS for limit in (4, 20, 60)
        ],
        depends=(*MAPPING, "targets.modulo"), minutes=30, needs=("published graphs", "llvmlite"), tolerance=_TIMES,
        table=table_by("source", "arch", "limit", mapped=mapped_of, II=largest("ii"), seconds=largest("seconds")),
    ),
    Claim(
        name="speed/time-limits", measures="whether mappers keep to a time limit", measure=keep_limit,
        ask=lambda quick: [
            {"mapper": mapper, "kind": kind, "nodes": nodes, "limit": limit}
            for kind, mappers in LIMITED.items() for mapper in mappers
            for nodes in ((20,) if quick else (20, 100, 500, 2000)) for limit in ((1,) if quick else (2, 10, 30))
        ],
        depends=(*MAPPING, "targets"), minutes=90, tolerance=_TIMES,
    ),
    Claim(
        name="speed/functions", measures="cycles of whole C functions, and what they are spent on",
        ask=lambda quick: questions(source=first_of(suite_sources("functions"), 8, quick),
                                    arch=["torus:4x4"] if quick else ["torus:4x4", "torus:8x8"],
                                    data_sets=2 if quick else 20),
        measure=map_function, depends=(*MAPPING, "targets.modulo", "compiler", "flow.functions"), minutes=10,
        quick_minutes=2, needs=("llvmlite", "ziglang"), figures=function_figures,
    ),
    Claim(
        name="speed/kills", measures="rows of an exploration that is killed and resumed beside an undisturbed one",
        ask=lambda quick: [{"sides": 1 if quick else 5, "kills": 3 if quick else 20, "seed": 0}], measure=survive_kills,
        depends=("run", "explore"), minutes=15,
    ),
)  # fmt: skip
