"""The function unit for singles against the interpreter on random operands, a million rows for each op.

    python -m tests.fuzz.singles --store singles.jsonl

A run that is stopped goes on where it ended. Each line of the store is a block of rows of one op: all pairs of special
cases, then random ones (of any bits, of near exponents, about ties of rounding), through the unit without registers and
through the one with three. Verilator compiles the unit once.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.waiting import stored
from tests.hardware.rtl.float_bench import OPS, Words, compiled, differing, directed, drawn

#: Rows of one run of the compiled unit, and the stages of its two copies.
BLOCK = 250_000
STAGES = (0, 3)


def operands(op: str, block: int) -> Words:
    """The rows of a block; the first one begins with the special cases."""
    special = directed()[: BLOCK if block == 0 else 0]
    return np.concatenate([special, drawn(BLOCK - len(special), 1000 * OPS[op] + block)])


def run(blocks: int, store: Path) -> list[dict[str, Any]]:
    """The rows of the store for so many blocks of each op; those that it lacks run now."""
    rows = stored(store)
    names = {f"{op} {block}": (op, block) for op in OPS for block in range(blocks)}
    missing = [name for name in names if name not in rows]
    if missing:
        with tempfile.TemporaryDirectory(prefix="singles-") as place:
            folder = Path(place)
            program = compiled(folder, BLOCK, STAGES)
            if not differing(program, folder, "fadd", operands("fadd", 0), unit_op="fsub"):
                raise SystemExit("the testbench takes differences for sums: it finds nothing")
            for name in missing:
                found = differing(program, folder, names[name][0], operands(*names[name]))
                rows[name] = {"name": name, "op": names[name][0], "count": BLOCK, "wrong": found}
                with store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[name]) + "\n")
    return [rows[name] for name in names]


def main() -> int:
    """Print what differs and a line for each op; the status is 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000, help="rows of operands for each op")
    parser.add_argument("--store", type=Path, required=True, help="file of results, one line for each block of rows")
    options = parser.parse_args()
    rows = run(-(-options.count // BLOCK), options.store)
    for op in OPS:
        mine = [row for row in rows if row["op"] == op]
        print(
            f"{op}: {sum(row['count'] for row in mine)} rows, {sum(bool(row['wrong']) for row in mine)} blocks differ"
        )
        for row in mine:
            print(*row["wrong"], sep="\n", end="\n" if row["wrong"] else "")
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
