"""Cycles of whole functions on a RISC-V core with an array, as a table of Markdown: `docs/system.md` has its output.

    python benchmarks/system_table.py torus:4x4 --out torus.jsonl
    python benchmarks/system_table.py mesh:4x4 --out mesh.jsonl
    python benchmarks/system_table.py --table torus.jsonl mesh.jsonl

The functions are those of the suite `functions`, on data that is larger than the suite's, so that a launch is worth
its price; one rule gives the sizes, below. Cycles do not depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from gridloom.errors import GridloomError
from gridloom.flow.system.compile import compile_for_system
from gridloom.flow.system.run import record, run_function_on_system

FUNCTIONS = Path(__file__).resolve().parents[1] / "examples" / "functions"

#: Functions whose name is not that of their file.
NAMES = {"threshold": "first_above"}

#: Function -> numbers, and arrays as (elements, least, greatest). One rule gives all sizes, whatever comes out:
#:
#: - a function with one open size: its longest array has 4,096 elements;
#: - an image: 4,096 pixels in rows of 128;
#: - a function with two open sizes (filter, centres, two strings): 128 of each;
#: - sizes that the source declares stay as they are, and rows of matrices are filled.
#:
#: Ranges of elements are those of the suite `functions`.
DATA: dict[str, dict[str, Any]] = {
    "gradient": {"image": (4096, 0, 255), "dx": (4096, 0, 0), "dy": (4096, 0, 0), "width": 128, "height": 32},
    "conv_2d": {"in": (4096, 0, 255), "out": (4096, 0, 0), "weights": (9, -128, 127), "width": 128, "height": 32,
                "shift": 4},
    "median_filter": {"in": (4096, -32768, 32767), "out": (4096, 0, 0), "width": 128, "height": 32},
    "susan_edges": {"image": (4096, 0, 255), "edges": (4096, 0, 255), "width": 128, "height": 32, "threshold": 20},
    "blend": {"h": 32, "w": 128, "in": (4096, 0, 255), "weights": (128, 0, 255), "out": (4096, 0, 0)},
    "histogram_equalise": {"image": (4096, 0, 99), "n": 4096, "counts": (256, 0, 0)},
    "fir_q15": {"x": (256, -4096, 4095), "h": (128, -4096, 4095), "y": (128, 0, 0), "n": 128, "taps": 128},
    "autocorrelation": {"s": (4096, -32767, 32767), "n": 4096, "sums": (9, 0, 0)},
    "polynomial": {"c": (5, -9, 9), "x": (4096, -99, 99), "y": (4096, 0, 0), "n": 4096},
    "threshold": {"x": (4096, -999, 999), "y": (4096, 0, 0), "n": 4096, "threshold": 990},
    "adpcm_encode": {"in": (4096, -32768, 32767), "out": (4096, 0, 255), "n": 4096},
    "adpcm_decode": {"in": (4096, 0, 255), "out": (4096, 0, 99), "n": 4096, "steps": (89, 0, 0)},
    "viterbi": {"symbols": (1024, 0, 3), "bits": (1024, 0, 0), "came": (4096, 0, 0), "n": 1024},
    "isqrt": {"x": (4096, 0, 2**32 - 1), "roots": (4096, 0, 0), "n": 4096},
    "bitcount": {"words": (4096, 0, 2**32 - 1), "n": 4096},
    "crc32": {"data": (4096, 0, 255), "n": 4096, "table": (256, 0, 0)},
    "sieve": {"composite": (4096, 0, 255), "n": 4096},
    "kmeans": {"n": 128, "k": 128, "x": (128, -1000, 1000), "y": (128, -1000, 1000), "cx": (128, -1000, 1000),
               "cy": (128, -1000, 1000), "label": (128, 0, 127), "sums": (384, 0, 0)},
    "levenshtein": {"a": (128, 97, 101), "n": 128, "b": (128, 97, 101), "m": 128, "row": (129, 0, 0)},
    "fft": {"re": (4096, -999, 999), "im": (4096, -999, 999), "cosine": (2048, -256, 256), "sine": (2048, -256, 256),
            "n": 4096},
    "run_length": {"in": (4096, 0, 1), "n": 4096, "out": (4096, 0, 0), "space": 4096},
    "string_search": {"text": (256, 97, 99), "n": 256, "pattern": (128, 97, 99), "m": 128, "places": (128, 0, 0)},
    "insertion_sort": {"x": (4096, -999, 999), "n": 4096},
    "sha_transform": {"state": (5, 0, 2**32 - 1), "message": (4096, 0, 2**32 - 1), "blocks": 256, "w": (80, 0, 0)},
    "feistel": {"data": (4096, 0, 2**32 - 1), "blocks": 2048, "keys": (18, 0, 2**32 - 1),
                "tables": (128, 0, 2**32 - 1)},
    "gemm": {"n": 16, "alpha": 3, "beta": -2, "C": (256, -99, 99), "A": (256, -99, 99), "B": (256, -99, 99)},
    "syrk": {"n": 16, "m": 16, "alpha": 3, "beta": 2, "C": (256, -99, 99), "A": (256, -99, 99)},
    "floyd_warshall": {"n": 16, "path": (256, 1, 999)},
    "lu": {"n": 16, "A": (256, 0, 96), "p": 97},
    "dijkstra": {"n": 16, "weights": (256, -20, 40), "distance": (16, 0, 0), "done": (16, 0, 0), "start": 0},
    "atax": {"m": 20, "n": 20, "A": (400, -99, 99), "x": (20, -99, 99), "y": (20, -99, 99), "tmp": (20, -99, 99)},
    "bicg": {"m": 20, "n": 20, "A": (400, -99, 99), "s": (20, -99, 99), "q": (20, -99, 99), "p": (20, -99, 99),
             "r": (20, -99, 99)},
    "mvt": {"n": 20, "x1": (20, -99, 99), "x2": (20, -99, 99), "y1": (20, -99, 99), "y2": (20, -99, 99),
            "A": (400, -99, 99)},
    "dct_8x8": {"block": (64, -128, 127), "table": (64, -128, 127), "tmp": (64, 0, 0), "out": (64, 0, 0)},
}  # fmt: skip


def drawn(signature: Any, rows: dict[str, Any], seed: int) -> dict[str, Any]:
    """The arguments of a function, with random elements of the types that the source declares."""
    random = np.random.default_rng(seed)
    given: dict[str, Any] = {}
    for parameter in signature.parameters:
        value = rows[parameter.name]
        if isinstance(value, tuple):
            count, low, high = value
            given[parameter.name] = random.integers(low, high + 1, count).astype(parameter.type.dtype)
        else:
            given[parameter.name] = value
    return given


def measured(arch: str, name: str, effort: int, always: bool) -> dict[str, Any]:
    """The record of a function, or why there is none."""
    start = time.monotonic()
    try:
        compiled = compile_for_system(FUNCTIONS / f"{name}.c", NAMES.get(name, name), arch, effort=effort, seed=1)
        run = run_function_on_system(compiled, drawn(compiled.signature, DATA[name], 1), always=always)
    except GridloomError as error:
        return {"function": name, "arch": arch, "error": str(error)}
    return record(run) | {"seconds": round(time.monotonic() - start, 1)}


#: The core alone with the IR that launches are put into, which is rewritten and may be faster than the source.
REWRITTEN = "clang -O2, rewritten"


def over_source(row: dict[str, Any]) -> float:
    """The speed-up without transfers over the fastest core alone whose source nobody rewrote."""
    alone = row["core_alone"]
    source = min(cycles for name, cycles in alone.items() if name != REWRITTEN)
    return float(row["speedup_without_transfers"]) * source / min(alone.values())


def table(files: list[Path]) -> str:
    """The rows of some files as Markdown, the last of each function, with the medians."""
    read = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    rows = list({(row["arch"], row["function"]): row for row in read}.values())
    lines = ["| function | array | equal | array | transfer | configuration | host | core and array | core alone "
             "| speed-up | without transfers | over the source |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for row in rows:
        if "error" in row:
            continue
        alone = min(row["core_alone"].values())
        lines.append(
            f"| {row['function']} | {row['arch']} | {'yes' if row['equal'] else 'no'} | {row['array']:,} | "
            f"{row['transfer']:,} | {row['configuration']:,} | {row['host']:,} | {row['cycles']:,} | {alone:,} | "
            f"{row['speedup']:.2f} | {row['speedup_without_transfers']:.2f} | {over_source(row):.2f} |"
        )
    for arch in dict.fromkeys(row["arch"] for row in rows):
        own = [row for row in rows if row["arch"] == arch and "error" not in row]
        left = [row for row in rows if row["arch"] == arch and "the core is faster" in row.get("error", "")]
        figures = [(row["speedup"], row["speedup_without_transfers"], over_source(row)) for row in own]
        for name, values in (
            ("", figures),
            (" and those left to the core", [*figures, *[(1.0, 1.0, 1.0)] * len(left)]),
        ):
            if values:
                medians = " | ".join(f"{statistics.median(column):.2f}" for column in zip(*values, strict=True))
                lines.append(f"| median of {len(values)}{name} | {arch} | | | | | | | | {medians} |")
    return "\n".join(lines)


def main() -> None:
    """Measure functions, or print the table of files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arch", nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--effort", type=int, default=50_000)
    parser.add_argument("--always", action="store_true", help="launch every mapped loop, even where the core is faster")
    parser.add_argument("--table", type=Path, nargs="*")
    options = parser.parse_args()
    if options.table:
        sys.stdout.write(table(options.table) + "\n")
        return
    with options.out.open("a") as out:
        for name in options.only or DATA:
            out.write(json.dumps(measured(options.arch, name, options.effort, options.always)) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
