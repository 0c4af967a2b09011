"""Generated C loops against native code, as many as wanted: a run that is stopped goes on where it ended.

    python -m tests.fuzz.c_loops --count 4000 --store found.jsonl

Each line of the store is a file of generated loops: how many had a loop left and were equal. Kinds of files take turns:
loops, programs with wider kinds of loops, flattened nests, programs unrolled, loops with 64-bit integers, and every
form of a graph beside its source as ``gridloom map`` compares them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.compiler.c import test_generated_loops, test_generated_programs, test_wide_integers
from tests.compiler.c.generated_programs import StreamWriter
from tests.flow.functions import narrow_functions
from tests.fuzz.c_functions import stored

from gridloom.compiler.analysis.loops import find_loops
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.ir import IrModule
from gridloom.compiler.ir.reader import read_module
from gridloom.errors import GridloomError
from gridloom.flow.loops.loop_text import read_loop

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


def _by_source(folder: Path, seeds: range) -> int:
    """Every form of the graphs of generated programs, nests and functions with narrow values, beside its source."""
    writes = (
        lambda: test_generated_programs.source(seeds), lambda: test_generated_programs.source(seeds, nest=True),
        lambda: test_generated_programs.source(seeds, writer=StreamWriter),
        lambda: narrow_functions.file_of(seeds.start, len(seeds)),
    )  # fmt: skip
    path = folder / "sources.c"
    path.write_text(writes[seeds.start // PART // len(KINDS) % len(writes)]())
    module = read_module(compile_to_ir(path), str(path))
    found = 0
    for function in module.functions.values():
        for number, _ in enumerate(find_loops(module, function)):
            spec = f"{path}:{function.name},loop={number}"
            found += sum(_compare_forms(f"{spec}{form}", module) for form in FORMS) > 0
    return found


def _compare_forms(spec: str, module: IrModule) -> int:
    """The graphs that a text stands for which were compared; what differs is an AssertionError."""
    compared = 0
    for memory in ("arrays", "streams"):
        try:
            rows = read_loop(spec, memory, module)
        except GridloomError:
            continue
        for row in rows:
            assert row.reference is not None
            found = row.reference.compare(row.dfg, 0)
            assert not found.findings, f"{spec}, {memory}, {row.label}: {found.findings}"
            compared += found.runs > 0
    return compared


#: What may be done to a loop, as a text says it.
FORMS = ("", ",unroll=2", ",unroll=3", ",flatten=true", ",interchange=true", ",jam=2")
KINDS: tuple[Callable[[Path, range], int], ...] = (
    _loops, test_generated_programs.compare, _nests, _unrolled, _wide, _by_source,
)  # fmt: skip


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
