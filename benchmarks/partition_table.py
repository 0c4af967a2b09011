"""The table of the partitioning flow: throughput and CPU seconds of each estimator on seven graphs.

    python benchmarks/partition_table.py FOLDER --seeds 5
    python benchmarks/partition_table.py FOLDER --seeds 5 --published 500

FOLDER holds GenMap's ``aes.dot`` and ``radix4_fft.dot``; the other graphs are the kernels ``cma_*``. A line per run is
printed as it ends: the throughput, the CPU seconds, and those of searches that found nothing (``in vain``). The summary
has the sums over all runs, each estimator's share of the time of ``bound``, the geometric mean of that share over the
graphs, and what ``bound`` would take without the searches in vain: the least that any estimator could reach with the
same searches, were it right every time and free.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from gridloom.flow.partition.flow import PUBLISHED, PartitionRequest, partition

FILES = ("aes.dot", "radix4_fft.dot")
KERNELS = ("cma_radix4_fft", "cma_dct8", "cma_aes", "cma_rgb_to_ycc", "cma_md5")
Runs = dict[str, dict[str, list[dict[str, Any]]]]


def main() -> None:
    """Run the flow as often as asked and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder with aes.dot and radix4_fft.dot")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--estimators", nargs="+", default=["bound", "learned", "mapper"])
    parser.add_argument("--published", type=int, metavar="EVALUATIONS", help="the published system instead")
    asked = parser.parse_args()
    sources = {name: str(asked.folder / name) for name in FILES} | {name: f"kernel:{name}" for name in KERNELS}
    names = ["published"] if asked.published else asked.estimators
    runs: Runs = defaultdict(lambda: defaultdict(list))
    for seed in range(asked.first, asked.first + asked.seeds):
        for graph, source in sources.items():
            for name in names:
                options = {**PUBLISHED, "evaluations": asked.published} if asked.published else {"estimator": name}
                result = partition(PartitionRequest(source=source, arch="vpcma", seed=seed, **options)).to_dict()
                runs[name][graph].append(result)
                spent = result["cpu_seconds"]
                told = f"{spent['total']:.2f} CPU s, {spent['map_in_vain']:.2f} in vain"
                sys.stdout.write(f"{graph} {name} seed {seed}: {result['throughput_real']}, k {result['k']}, {told}\n")
                sys.stdout.flush()
    sys.stdout.write(summary(runs) + "\n")


def summary(runs: Runs) -> str:
    """Return the table as Markdown, and the sums below it."""
    graphs = list(next(iter(runs.values())))
    lines = [f"| graph | {' | '.join(runs)} |", f"| --- | {' | '.join('---' for _ in runs)} |"]
    for graph in graphs:
        cells = [f"{throughputs(rows[graph])}; {seconds(rows[graph]):.2f} s" for rows in runs.values()]
        lines.append(f"| `{graph}` | {' | '.join(cells)} |")
    lines.append("")
    for name, rows in runs.items():
        every = [row for graph in graphs for row in rows[graph]]
        vain = seconds(every, "map_in_vain")
        lines.append(f"{name}: {seconds(every):.2f} s, {vain:.2f} s in vain, {stages(every)}")
        if "bound" in runs and name != "bound":
            lines.append("  " + against(rows, runs["bound"], graphs))
    return "\n".join(lines)


def against(rows: dict[str, list[dict[str, Any]]], bound: dict[str, list[dict[str, Any]]], graphs: list[str]) -> str:
    """Return how the runs of an estimator compare with those of counting alone."""
    shares = [seconds(rows[graph]) / seconds(bound[graph]) for graph in graphs]
    total = sum(seconds(rows[graph]) for graph in graphs) / sum(seconds(bound[graph]) for graph in graphs)
    mean = math.exp(sum(map(math.log, shares)) / len(shares))
    pairs = [pair for graph in graphs for pair in zip(rows[graph], bound[graph], strict=True)]
    below, above = (
        sum(sign * ((a["throughput_real"] or 0) - (b["throughput_real"] or 0)) > 0 for a, b in pairs)
        for sign in (-1, 1)
    )
    said = f"{total:.2f} of bound's time in all, geometric mean {mean:.2f} of {', '.join(f'{s:.2f}' for s in shares)}"
    return f"{said}; throughput below bound's in {below} of {len(pairs)} runs, above in {above}"


def throughputs(rows: list[dict[str, Any]]) -> str:
    """Return the throughputs of the seeds, one number where they agree."""
    told = [f"{row['throughput_real'] or 0:.3g}" for row in rows]
    return told[0] if len(set(told)) == 1 else ", ".join(told)


def seconds(rows: list[dict[str, Any]], stage: str = "total") -> float:
    """Return the CPU seconds of runs together."""
    return sum(float(row["cpu_seconds"][stage]) for row in rows)


def stages(rows: list[dict[str, Any]]) -> str:
    """Return the CPU seconds by stage."""
    return ", ".join(f"{stage} {seconds(rows, stage):.2f}" for stage in ("cut", "estimate", "map", "confirm"))


if __name__ == "__main__":
    main()
