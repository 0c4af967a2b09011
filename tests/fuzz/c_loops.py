"""Generated C loops against native code, as many as wanted: a run that is stopped goes on where it ended.

    python -m tests.fuzz.c_loops --count 4000 --store found.jsonl

Each line of the store is a file of generated loops: how many had a loop left and were equal. Kinds of files take turns:
loops, programs with wider kinds of loops, flattened nests, programs unrolled, and loops with 64-bit integers.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.frontend.c import test_generated_loops, test_generated_programs, test_wide_integers
from tests.fuzz.c_functions import stored

#: Loops in one file, for which clang and the linker run once.
PART = 50


def _loops(folder: Path, seeds: range) -> int:
    return test_generated_loops.compare(test_generated_loops.write(folder, seeds), seeds)


def _nests(folder: Path, seeds: range) -> int:
    return test_generated_programs.compare(folder, seeds, nest=True, flatten=True)


def _unrolled(folder: Path, seeds: range) -> int:
    return test_generated_programs.compare(folder, seeds, unroll=2 + seeds.start // PART % 3)


def _wide(folder: Path, seeds: range) -> int:
    return test_wide_integers.compare(folder, seeds)


KINDS: tuple[Callable[[Path, range], int], ...] = (_loops, test_generated_programs.compare, _nests, _unrolled, _wide)


def run(first: int, count: int, store: Path) -> int:
    """Loops that were equal, those of the store included; what differs is an AssertionError with its seed."""
    rows = stored(store)
    starts = range(first, first + count, PART)
    for start in starts:
        if start in rows:
            continue
        with tempfile.TemporaryDirectory() as folder:
            compare = KINDS[start // PART % len(KINDS)]
            rows[start] = {"first": start, "equal": compare(Path(folder), range(start, start + PART))}
        with store.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[start]) + "\n")
        print(f"from {start}: {rows[start]['equal']} of {PART} compared, all equal", flush=True)
    return sum(rows[start]["equal"] for start in starts)


def main() -> int:
    """Print a line for each part and how many loops were equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=100_000, help="the first seed")
    parser.add_argument("--count", type=int, default=4000, help="how many loops")
    parser.add_argument("--store", type=Path, required=True, help="file of results, one line for each part")
    options = parser.parse_args()
    print(f"{run(options.first, options.count, options.store)} of {options.count} loops compared, all equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
