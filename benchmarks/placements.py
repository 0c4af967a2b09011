"""Digests of mappings: what a search finds for a seed and an effort, cell by cell, to compare two states of the code.

    python benchmarks/placements.py write FILE.csv [SUITE...]     # store digests
    python benchmarks/placements.py compare FILE.csv [SUITE...]   # map again and print each cell that differs

A digest covers II, placements, cycles, routes and FIFO depths; provenance is left out. Each search ends by effort, so
that the digest does not depend on the machine. Suites of published files are skipped where those are missing.

``results/placements.csv`` holds the digests of commit 0e963670. A change that is not meant to change what searches find
leaves all of them as they are.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from gridloom._version import __version__
from gridloom.flow.bench.run import cell_job, source_path
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.request import Request
from gridloom.flow.run import run
from gridloom.mapping import json_format

#: Suite, mapper, effort, and whether the cells with skewed inputs are left out.
SUITES = {
    "satmapit": ("modulo", 20_000),
    "loops": ("modulo", 20_000),
    "panorama": ("modulo", 20_000),
    "se-strict": ("ppo", 20_000),
    "neosa": ("auto", 50_000),
}
#: Cells of targets that the suites above do not reach.
OTHERS = (
    *(("se-anneal", f"kernel:{k}", "streaming-engine:16,spokes=16,level=strict,instructions=4", "anneal", 20_000)
      for k in ("ifft", "fft_radix4", "aes_column", "sha1_step,steps=3")),
    *(("rows", f"kernel:{k}", "vpcma", mapper, 2_000_000)
      for k in ("cma_aes", "cma_dct8", "cma_md5", "cma_rgb_to_ycc") for mapper in ("width",)),
    *(("tensor", f"model:{k}", "rdu:16x8", "dataflow", 2_000)
      for k in ("gemm,inner=256,columns=256", "mlp,width=256", "ffn,width=256")),
    *(("ramp", f"kernel:{k}", "ramp-7", mapper, 100_000)
      for k in ("fir", "iir", "gsm_ltp", "bicg") for mapper in ("ramp", "regimap", "memmap")),
    *(("hycube", f"kernel:{k}", "hycube:4x4", "modulo", 10_000) for k in ("fir", "iir", "gsm_ltp", "bicg")),
    *(("static", f"kernel:{k}", "mesh:8x8", mapper, 2_000_000)
      for k in ("fir", "dct8", "kmeans") for mapper in ("neosa", "divide", "genetic-grid")),
)  # fmt: skip
Cell = tuple[str, str, str, str, int]


def cells(wanted: list[str], folder: Path) -> Iterator[Cell]:
    """All cells of the wanted suites, each as suite, source, array, mapper and effort."""
    for name, (mapper, effort) in SUITES.items():
        if wanted and name not in wanted:
            continue
        suite = load_suite(name)
        if suite.files and not folder.is_dir():
            continue
        for cell in suite.cells():
            if cell.seed != suite.cells().__next__().seed or "inputs=skewed" in cell.arch:
                continue
            job = cell_job(suite, cell, folder)
            yield name, source_path(suite, cell.source, folder), job.argument["arch"], mapper, effort
    yield from (cell for cell in OTHERS if not wanted or cell[0] in wanted)


def digest(cell: Cell) -> tuple[str, str]:
    """The digest of what is found for a cell with seed 1, and its II and latency in words."""
    _, source, arch, mapper, effort = cell
    try:
        result = run(Request(source=source, arch=arch, mapper=mapper, seed=1, effort=effort))
    except Exception as error:
        return f"error {type(error).__name__}", str(error)[:80]
    if result.mapping is None:
        return "failed", ""
    data = json.loads(json_format.dumps(result.mapping))
    kept = {
        key: value for key, value in data.items() if key not in ("provenance", "gridloom", "version", "dfg", "arch")
    }
    text = json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16], f"II {result.mapping.ii}"


def main(arguments: list[str]) -> int:
    """Write or compare; 1 where a cell differs."""
    command, file, *wanted = arguments
    folder = Path(__file__).resolve().parents[2] / "shared" / "benchmarks"
    todo = list(cells(wanted, folder))
    with ProcessPoolExecutor(2) as pool:
        found = []
        for cell, (text, words) in zip(todo, pool.map(digest, todo), strict=True):
            source = cell[1].replace(str(folder), "")
            found.append({"suite": cell[0], "source": source, "arch": cell[2], "mapper": cell[3],
                          "effort": str(cell[4]), "digest": text, "words": words})  # fmt: skip
            print(*found[-1].values(), flush=True)
    if command == "write":
        with Path(file).open("w", newline="") as stream:
            writer = csv.DictWriter(stream, found[0])
            writer.writeheader()
            writer.writerows(found)
        return 0
    with Path(file).open(newline="") as stream:
        known = {tuple(list(row.values())[:5]): row["digest"] for row in csv.DictReader(stream)}
    different = [row for row in found if known.get(tuple(list(row.values())[:5])) != row["digest"]]
    for row in different:
        print("different:", *row.values())
    print(f"{len(found) - len(different)} of {len(found)} cells are the same ({__version__})")
    return int(bool(different))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
