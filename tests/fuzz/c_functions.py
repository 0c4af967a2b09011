"""Generated C functions against native code, as many as wanted: a run that is stopped goes on where it ended.

    python -m tests.fuzz.c_functions --count 5000 --store found.jsonl
    python -m tests.fuzz.c_functions --count 2000 --store narrow.jsonl --forms narrow

The narrow forms are those of :mod:`tests.flow.functions.narrow_functions`; their loops are mapped one by one, too. Each
line of the store is a file of generated functions: how many are equal, which differ, which are refused and why.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.flow.functions import generated_functions, narrow_functions
from tests.flow.functions.differential import check

#: Functions in one file, for which clang and the linker run once.
PART = 50
#: Kinds of functions -> what writes a file of them.
FORMS = {"words": generated_functions.file_of, "narrow": narrow_functions.file_of}


def stored(path: Path, key: str = "first") -> dict[int, dict[str, Any]]:
    """The rows of a store by their first seed. A line that was cut off when the run was stopped is left out."""
    found: dict[int, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        found[row[key]] = row
    return found


def run(first: int, count: int, store: Path, arch: str, effort: int, forms: str = "words") -> list[dict[str, Any]]:
    """The parts of so many functions, those that the store lacks run now."""
    rows = stored(store)
    starts = range(first, first + count, PART)
    for start in starts:
        if start in rows:
            continue
        narrow = forms == "narrow"
        tally = check(start, PART, arch=arch, effort=effort, writes=FORMS[forms], maps=narrow)
        rows[start] = {"first": start, **vars(tally), "on_host": dict(tally.on_host)}
        with store.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[start]) + "\n")
        print(_line(rows[start]), flush=True)
    return [rows[start] for start in starts]


def _line(row: dict[str, Any]) -> str:
    counts = f"{row['equal']} equal, {len(row['different'])} different, {len(row['refused'])} refused"
    if row.get("by_map"):
        counts += f", {row['by_map']} loops by map ({row['with_source']} compared with the source)"
    return f"from {row['first']}: {counts}, {row['mapped']} loops on the array, {row['simulated']} launches simulated"


def main() -> int:
    """Print a line for each part and a summary; the status is 1 where a value differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=5000, help="how many functions")
    parser.add_argument("--store", type=Path, required=True, help="file of results, one line for each part")
    parser.add_argument("--arch", default="torus:4x4")
    parser.add_argument("--effort", type=int, default=2000, help="effort of the search for each loop")
    parser.add_argument("--forms", choices=FORMS, default="words", help="what kinds of loops")
    options = parser.parse_args()
    rows = run(options.first, options.count, options.store, options.arch, options.effort, options.forms)
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row["on_host"])
    for reason, times in reasons.most_common():
        if reason and times:
            print(f"{times:6} loops on the host: {reason}")
    for row in rows:
        for kind in ("different", "refused"):
            for seed, text in row[kind].items():
                print(f"{kind} {seed}: {text}")
    keys = ("equal", "mapped", "nests", "jams", "exchanged", "simulated", "by_map", "with_source")
    totals = {key: sum(row.get(key, 0) for row in rows) for key in keys}
    for kind in ("different", "refused"):
        totals[kind] = sum(len(row[kind]) for row in rows)
    print(", ".join(f"{key} {value}" for key, value in totals.items()))
    return 1 if totals["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
