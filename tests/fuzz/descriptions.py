"""Random descriptions of arrays, each taken all the way to hardware: a run that is stopped goes on where it ended.

    python -m tests.fuzz.descriptions --count 300 --store found.jsonl

Each line of the store is a description: whether its graph was mapped, and what went wrong. A description is built,
written and read again, checked, mapped to, simulated, drawn, saved and loaded; its hardware is linted by Verilator and
co-simulated by Icarus Verilog.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from tests.flow.test_random_descriptions import run as all_the_way
from tests.fuzz.c_functions import stored


def taken(seed: int) -> dict[str, Any]:
    """What became of one description."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return {"seed": seed, "mapped": all_the_way(seed, Path(folder), hardware=True), "wrong": ""}
        except AssertionError as error:
            return {"seed": seed, "mapped": False, "wrong": str(error)[:2000]}
        except Exception:
            return {"seed": seed, "mapped": False, "wrong": traceback.format_exc()[-2000:]}


def main() -> int:
    """Print what went wrong and a summary; the status is 1 where anything did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=300, help="how many descriptions")
    parser.add_argument("--store", type=Path, required=True, help="file of results, one line for each description")
    options = parser.parse_args()
    rows = stored(options.store, "seed")
    seeds = range(options.first, options.first + options.count)
    for seed in seeds:
        if seed not in rows:
            rows[seed] = taken(seed)
            with options.store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[seed]) + "\n")
    chosen = [rows[seed] for seed in seeds]
    wrong = [row for row in chosen if row["wrong"]]
    for row in wrong:
        print(f"description {row['seed']}: {row['wrong']}")
    print(f"{len(chosen)} descriptions, {sum(row['mapped'] for row in chosen)} mapped, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
