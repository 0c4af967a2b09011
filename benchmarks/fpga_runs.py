"""Place small arrays on an ECP5 and write what they take and how fast they are: the data of explore's clock model.

    python benchmarks/fpga_runs.py -o src/gridloom/explore/fpga_runs.csv

Each array has the ops and sizes that ``gridloom explore`` prices (``gridloom.explore.hardware.OPS``). Rows that the
file holds already are not made again, so that a run that was ended goes on where it stopped. A row takes 10 to 60 s of
processor time.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from gridloom.explore.clock import COLUMNS, run_array
from gridloom.explore.hardware import hardware_of
from gridloom.hardware.synthesis.ecp5 import place

#: (array, cycles of every op, bits of a word), of each family some. Arrays of 2 x 2 tiles are meshes or tori only: a
#: chess grid of that size is a mesh, and no array may be in two families when a family is left out of the fit.
ARRAYS = (
    ("mesh:2x2,fifo=2", 1, 16), ("torus:2x2,regs=2", 1, 8), ("chess:2x3", 1, 8), ("onehop:2x3", 1, 8),
    ("hex:2x3", 1, 8), ("torus:2x2,regs=4", 2, 16), ("mesh:2x2,fifo=1", 2, 8), ("mesh:2x2", 1, 32),
    ("onehop:2x3,fifo=2", 2, 8), ("hex:2x3,fifo=2", 2, 8), ("torus:2x2,regs=4", 1, 16), ("mesh:2x3,fifo=1", 1, 8),
    ("chess:2x3,fifo=1", 2, 8), ("torus:2x3,regs=2", 1, 8), ("mesh:2x2,fifo=8", 1, 16), ("chess:3x3", 1, 8),
    ("onehop:2x3,fifo=1", 1, 16), ("torus:2x2,regs=8", 1, 16), ("hex:2x3,fifo=4", 1, 16), ("mesh:2x2,fifo=2", 2, 24),
    ("chess:2x3,fifo=2", 1, 16), ("torus:2x2,regs=2", 1, 32), ("hex:3x3", 1, 8), ("mesh:3x3,fifo=1", 1, 8),
    ("onehop:3x3", 1, 8), ("torus:2x2,regs=4", 2, 32), ("chess:2x3", 2, 24), ("hex:2x3", 1, 24),
    ("torus:3x3,regs=4", 1, 8), ("mesh:3x3,fifo=2", 1, 16),
)  # fmt: skip


def main() -> None:
    """Place the arrays that the file does not have yet, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows: list[dict[str, str]] = []
    if options.output.exists():
        with options.output.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    done = {(row["array"], int(row["cycles"]), int(row["width"])) for row in rows}
    for array, cycles, width in ARRAYS:
        if (array, cycles, width) in done:
            continue
        placed = place(hardware_of(run_array(array, cycles), width), seed=options.seed, seconds=7200.0)
        figures = (placed.luts, placed.ffs, placed.dsps, round(placed.fmax_mhz, 2), options.seed)
        rows.append(dict(zip(COLUMNS, map(str, (array, cycles, width, *figures)))))
        with options.output.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        sys.stdout.write(f"{rows[-1]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
