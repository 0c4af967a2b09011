"""Place the arrays of the table in docs/hardware.md on an ECP5 and print its rows.

    python benchmarks/fpga_table.py --store fpga.jsonl

Each row is one run of ``gridloom synth``, whose command is printed with it. Rows that the store holds already are not
made again, so that a run that was stopped goes on where it ended. Seconds are those of the processor, for Yosys and
nextpnr together, which a busy machine changes less than those of the clock on the wall. All rows take some 25 minutes
of a core.
"""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

SEVEN = "add+sub+mul+and+or+xor+shl"
EIGHT = f"{SEVEN}+lshr"
#: Name of a row -> what follows ``gridloom synth``.
ROWS = {
    "two-cycle": f"examples/arrays/two-cycle-mesh.yaml --set width=16 --set ops={SEVEN}",
    "small": f"mesh:2x2,fifo=2 --set width=16 --set ops={SEVEN}",
    "mesh": f"mesh:4x4 --set width=16 --set ops={EIGHT}",
    "chess": f"chess:4x4 --set width=16 --set ops={EIGHT}",
    "engine": f"streaming-engine:8,level=strict --set ops={EIGHT}",
    "torus": f"torus:4x4 --set ops={EIGHT}+load+store",
    "vpcma": "vpcma:4x6 --set ops=add+sub+mult+and+or+xor+sl+sr",
}


def placed(name: str, seed: int, limit: float) -> dict[str, Any]:
    """Run the command of a row; what it printed, or why it failed, with the seconds of the processor."""
    command = [sys.executable, "-m", "gridloom", "synth", *shlex.split(ROWS[name]), "--target", "ecp5", "--json",
               "--seed", str(seed), "--time-limit", str(limit)]  # fmt: skip
    before = _processor_seconds()
    done = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip().splitlines()[-1]}
    return {"row": f"{name} {seed}", "processor": round(_processor_seconds() - before, 1), **found}


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    if "error" in row:
        return f"| {row['row']} | {row['error']} after {row['processor']} s |"
    path = ", ".join(step.rsplit(" (", 1)[0] for step in row["critical_path"])
    figures = (row["luts"], row["ffs"], row["dsps"], row["fmax_mhz"], row["gops"], row["processor"])
    return f"| `{row['array']}` | {row['width']} | " + " | ".join(map(str, figures)) + f" | {path} |"


def main() -> int:
    """Run the rows that the store lacks and print all of them; the status is 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="file of results, one line for each row")
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=list(ROWS), help="which rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds for each row")
    options = parser.parse_args()
    lines = options.store.read_text(encoding="utf-8").splitlines() if options.store.exists() else []
    rows = {row["row"]: row for row in map(json.loads, lines) if "error" not in row}
    chosen = []
    for name in options.rows:
        key = f"{name} {options.seed}"
        if key not in rows:
            rows[key] = placed(name, options.seed, options.time_limit)
            with options.store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[key]) + "\n")
        chosen.append(rows[key])
        sys.stdout.write(f"gridloom synth {ROWS[name]}\n{line(rows[key])}\n")
        sys.stdout.flush()
    return 1 if any("error" in row for row in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
