"""II and CPU seconds of ``modulo`` for the cells of suites under a limit of effort, to be compared between versions.

    python benchmarks/suite_effort.py [--suites satmapit loops] [--effort 20000] [--seed 1] [--folder DIR] -o NEW.csv
    PYTHONPATH=OTHER/src python benchmarks/suite_effort.py ... -o OLD.csv
    python benchmarks/suite_effort.py --compare OLD.csv NEW.csv

An effort counts moves, so that two versions do the same work on any machine, and CPU seconds of one thread say what a
move costs. Kernels are loaded before. Graphs of one suite are on modulo-scheduled arrays; other cells are left out.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path

from gridloom.flow.bench.run import source_path
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.inputs import prepare
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo

# CPU seconds from which on a cell is compared on its own.
_LONG = 1.0


def measure(suites: list[str], effort: int, seed: int, folder: Path | None) -> list[tuple[str, str, int, float]]:
    """(source, array, II or 0, CPU seconds) of each cell."""
    rows = []
    for name in suites:
        suite = load_suite(name)
        cells = dict.fromkeys((cell.source, cell.arch) for cell in suite.cells())
        for k, (source, spec) in enumerate(cells):
            ready = prepare(source_path(suite, source, folder), spec)
            if ready.arch.style != "modulo":
                continue
            budget = Budget(effort=effort, seed=seed)
            if k == 0:
                modulo(ready.dfg, ready.arch, ModuloConfig(), budget)
            began = time.process_time()
            found = modulo(ready.dfg, ready.arch, ModuloConfig(), budget)
            seconds = time.process_time() - began
            rows.append((source, spec, found.ii if isinstance(found, Mapping) else 0, seconds))
    return rows


def compare(old: Path, new: Path) -> None:
    """Print the cells that differ in the II, those over a second that are a fifth slower, and the sums."""
    tables = [{tuple(row[:2]): (int(row[2]), float(row[3])) for row in csv.reader(path.open())} for path in (old, new)]
    before, after = tables
    both = [cell for cell in before if cell in after]
    for cell in both:
        (ii, seconds), (found, took) = before[cell], after[cell]
        slow = seconds > _LONG and took > 1.2 * seconds
        if ii != found or slow:
            sys.stdout.write(f"{' on '.join(cell)}: II {ii} -> {found}, {seconds:.2f} -> {took:.2f} s\n")
    sums = [sum(table[cell][1] for cell in both) for table in tables]
    same = [cell for cell in both if before[cell][0] == after[cell][0]]
    alike = [sum(table[cell][1] for cell in same) for table in tables]
    sys.stdout.write(f"{len(both)} cells: {sums[0]:.1f} -> {sums[1]:.1f} CPU s ({sums[1] / sums[0] - 1:+.0%})\n")
    sys.stdout.write(f"{len(same)} at the same II: {alike[0]:.1f} -> {alike[1]:.1f} CPU s\n")
    for word, better in (("lower", -1), ("higher", 1)):
        count = sum((after[cell][0] - before[cell][0]) * better > 0 for cell in both if after[cell][0])
        sys.stdout.write(f"{count} at a {word} II\n")


def main() -> None:
    """Write the rows of one checkout, or compare those of two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", default=["satmapit", "loops"])
    parser.add_argument("--effort", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=os.environ.get("GRIDLOOM_BENCHMARKS"))
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    asked = parser.parse_args()
    if asked.compare:
        compare(*asked.compare)
        return
    rows = measure(asked.suites, asked.effort, asked.seed, asked.folder)
    with asked.output.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main()
