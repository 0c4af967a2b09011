"""Instances of NeoSA per second, on the processor with 1, 2, ... workers and on a GPU if there is one.

    python benchmarks/neosa_instances.py --graph neosa-K4N4 --arch mesh:8x8,inputs=skewed --instances 256

Placing alone is timed, without routing and balancing, with kernels compiled before. The placements of all lines are the
same, which is checked.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gridloom import registry
from gridloom.archs.spec import build
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.neosa import NeosaConfig, _Instances, on_gpu
from gridloom.targets.grid.mappers.problem import build_problem


def main() -> None:
    """Print one line for each number of workers, and one for the GPU."""
    arguments = _arguments()
    kernel = registry.load("kernels", arguments.graph)
    problem = build_problem(kernel.build(), build(arguments.arch))
    config = NeosaConfig(schedule=arguments.schedule, device="auto")
    run = _Instances(problem, config, Budget().start())
    seeds = list(range(arguments.instances))
    _say(f"{arguments.graph} on {arguments.arch}, {arguments.schedule} schedule, {len(seeds)} instances")
    first = None
    for workers in range(1, (os.cpu_count() or 1) + 1):
        began = time.perf_counter()
        placed = _on_processor(run, seeds, workers)
        _tell(f"processor, {workers} workers", len(seeds), time.perf_counter() - began)
        first = placed if first is None else first
        assert (placed == first).all()
    if not on_gpu("auto"):
        _say("no GPU was found")
        return
    run._placed_on_gpu(seeds[:1])
    began = time.perf_counter()
    placed = np.stack([position for position, _ in run._placed_on_gpu(seeds)])
    _tell("GPU", len(seeds), time.perf_counter() - began)
    assert (placed == first).all()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="neosa-K4N4")
    parser.add_argument("--arch", default="mesh:8x8,inputs=skewed")
    parser.add_argument("--schedule", default="released", choices=("printed", "released"))
    parser.add_argument("--instances", type=int, default=256)
    return parser.parse_args()


def _on_processor(run: _Instances, seeds: list[int], workers: int) -> Any:
    stop = np.zeros(1, dtype=np.uint8)
    with ThreadPoolExecutor(workers) as pool:
        made = pool.map(lambda seed: run.place(seed, cooling=run.config.cooling, stop=stop)[0], seeds)
        return np.stack(list(made))


def _tell(what: str, instances: int, seconds: float) -> None:
    _say(f"{what}: {instances / seconds:.1f} instances per second")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
