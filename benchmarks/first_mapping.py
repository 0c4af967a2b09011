"""When a mapper has its first mapping: seconds from its call on, for the cells of suites under several time limits.

    python benchmarks/first_mapping.py [--suites large panorama c-loops] [--limits 4 20 60] [--seeds 1] [--folder DIR]

A run is ended as soon as it has a mapping, since only the time to the first one is asked for. Seconds are counted from
the call of the mapper to its report of the mapping, tables included, without the compilation of kernels. A row says
``late`` where the first mapping took more than a quarter of the limit, or where there was none in twice that time. The
mapper is the one that ``auto`` stands for.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.flow.bench.run import source_path
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.inputs import prepare
from gridloom.mapping.model import Mapping
from gridloom.search import compiling
from gridloom.search.budget import Budget, Progress
from gridloom.search.choice import config_type, default_mapper, function_for

#: The part of a limit in which the first mapping is expected.
PART = 1 / 4


class FirstMapping:
    """Hears of progress, notes the seconds of the first mapping, and asks for an end then or when it is late."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.seconds: float | None = None
        self.best = ""
        self.compiled = compiling.seconds()
        self.began = time.monotonic()

    def since(self) -> float:
        """Seconds since the call without those of compilation."""
        return time.monotonic() - self.began - (compiling.seconds() - self.compiled)

    def hear(self, progress: Progress) -> None:
        """Take a report."""
        if progress.best:
            self.note(progress.best)

    def note(self, best: str) -> None:
        """Note the first mapping."""
        if self.seconds is None:
            self.seconds, self.best = self.since(), best

    def over(self) -> bool:
        """True once there is a mapping, or none by twice the time in which there should be one."""
        return self.seconds is not None or self.since() > 2 * PART * self.limit


def first_mapping(dfg: Dfg, arch: Arch, limit: float, seed: int, workers: int) -> FirstMapping:
    """When the default mapper of an array has its first mapping of a graph; the run is ended there."""
    function = function_for(default_mapper(arch), arch)
    first = FirstMapping(limit)
    budget = Budget(time_limit=limit, seed=seed, workers=workers, progress=first.hear, interrupted=first.over)
    found = function(dfg, arch, config_type(function)(), budget)
    if isinstance(found, Mapping):
        first.note(f"II {found.ii}")
    return first


def cells(names: list[str], folder: Path | None) -> Iterator[tuple[str, Dfg, Arch]]:
    """The cells of the suites, once for all of their seeds."""
    for name in names:
        suite = load_suite(name)
        for source, arch in dict.fromkeys((cell.source, cell.arch) for cell in suite.cells()):
            ready = prepare(source_path(suite, source, folder), arch)
            yield source, ready.dfg, ready.arch


def main() -> None:
    """Print a row for each cell, limit and seed, then how many were late."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", default=["large", "panorama", "c-loops"])
    parser.add_argument("--limits", type=float, nargs="+", default=[4.0, 20.0, 60.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    late = count = 0
    for source, dfg, arch in cells(asked.suites, asked.folder):
        for limit in asked.limits:
            for seed in asked.seeds:
                first = first_mapping(dfg, arch, limit, seed, asked.jobs)
                missed = first.seconds is None or first.seconds > PART * limit
                late, count = late + missed, count + 1
                took = "none" if first.seconds is None else f"{first.seconds:.2f} s"
                words = f"{source} on {arch.name}, {len(dfg.nodes)} nodes, limit {limit:g} s, seed {seed}"
                sys.stdout.write(f"{words}: {took}, {first.best}{', late' * missed}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{late} of {count} late\n")


if __name__ == "__main__":
    main()
