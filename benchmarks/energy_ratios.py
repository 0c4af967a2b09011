"""Compare the energy of RAMP's loops between mappers, by what switches and by cycles, with the paper's ratios.

    python benchmarks/energy_ratios.py --store energy.jsonl

RAMP's paper multiplies the power of a synthesised array by cycles and clock period, so that on one array the ratio of
two energies is that of the cycles. Here each mapping is also simulated, and what switches is multiplied by what it
costs (``energy_of``). Loops are those of suite ``loops`` on ``ramp-7``; a ratio is over the loops that both mappers
map, as the ratio of sums (the paper does not say how it took its mean) and as the geometric mean. A run that was
stopped goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from gridloom.flow import Request, run
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.hardware import energy_of

MAPPERS = ("ramp", "regimap", "memmap")
ARRAY = "ramp-7"
#: What the paper says (section 6.3): the energy that RAMP saves on this array.
PUBLISHED = {"regimap": 0.34, "memmap": 0.48}


def measured(loop: str, mapper: str, seconds: float) -> dict[str, Any]:
    """Map a loop and return its II and the parts of its energy per iteration; None where it has no mapping."""
    result = run(Request(source=loop, arch=ARRAY, mapper=mapper, time_limit=seconds, seed=1))
    if result.mapping is None:
        return {"loop": loop, "mapper": mapper, "ii": None}
    return {"loop": loop, "mapper": mapper, "ii": result.mapping.ii, **energy_of(result.mapping).to_dict()}


def ratios(rows: dict[tuple[str, str], dict[str, Any]], other: str, part: str) -> tuple[int, float, float]:
    """Loops that both map, and RAMP's share of the other's energy: of sums, and as a geometric mean."""
    both = [loop for loop, mapper in rows if mapper == other and rows[loop, mapper]["ii"] and rows[loop, "ramp"]["ii"]]
    own, its = ([rows[loop, mapper][part] for loop in both] for mapper in ("ramp", other))
    # A loop without memory accesses has no ratio in that part.
    shares = [a / b for a, b in zip(own, its) if a and b]
    return len(both), sum(own) / max(sum(its), 1e-9), math.exp(sum(map(math.log, shares)) / max(1, len(shares)))


def main() -> None:
    """Run what the store lacks and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="file of results, one line for each mapping")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each mapping")
    options = parser.parse_args()
    lines = options.store.read_text(encoding="utf-8").splitlines() if options.store.exists() else []
    rows = {(row["loop"], row["mapper"]): row for row in map(json.loads, lines)}
    loops = sorted({cell.source for cell in load_suite("loops").cells()})
    for loop in loops:
        for mapper in MAPPERS:
            if (loop, mapper) not in rows:
                rows[loop, mapper] = measured(loop, mapper, options.time_limit)
                with options.store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[loop, mapper]) + "\n")
    sys.stdout.write("| against | loops | part | saved, of sums | saved, geometric mean | published |\n")
    for other in MAPPERS[1:]:
        for part in ("ii", "total", "ops", "links", "registers", "memory", "clock"):
            count, total, mean = ratios(rows, other, part)
            published = f"{PUBLISHED[other]:.0%}" if part == "ii" else ""
            sys.stdout.write(f"| {other} | {count} | {part} | {1 - total:.0%} | {1 - mean:.0%} | {published} |\n")


if __name__ == "__main__":
    main()
