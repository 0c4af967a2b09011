"""CPU time of `map` and of `unroll` in this checkout and in another one, on the same graphs with the same effort.

    git worktree add /tmp/older COMMIT
    python benchmarks/map_speed.py --against /tmp/older

Each case runs in processes of its own, in turns between the checkouts, after a first run that compiles kernels and is
not counted. The least CPU time of the repeats is compared; IIs and wirelengths are printed, since a search that goes
another way takes another time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

#: (graph, array, mapper, effort)
CASES = (
    ("kernel:distance", "mesh:8x8", "anneal", 200_000),
    ("kernel:dct8", "onehop:9x9", "anneal", 200_000),
    ("examples/kernels/rgb_to_ycc.c", "torus:4x4", "modulo", 20_000),
    ("examples/kernels/aes_column.c", "torus:4x4", "modulo", 20_000),
    ("examples/kernels/sobel.c", "torus:4x4", "modulo", 20_000),
    ("examples/kernels/dct8.c", "torus:8x8", "modulo", 20_000),
    ("kernel:ifft", "ramp-7", "modulo", 20_000),
    ("kernel:sobel", "ramp-10", "modulo", 20_000),
)
UNROLLED = (("torus:4x4", 8), ("mesh:8x8", 1), ("torus:16x16", 4))

_RUN = """
import json, sys, time
import gridloom as gl
graph, arch, mapper, effort, dfg = json.loads(sys.argv[1])
from gridloom.dfg import json_format
from pathlib import Path
loaded = json_format.loads(Path(dfg).read_text())
array = gl.arch(arch)
rows = []
for k in range(3):
    began = time.process_time()
    result = gl.map(loaded, array, mapper=mapper, effort=effort, seed=1)
    rows.append(time.process_time() - began)
mapping = result.mapping
print(json.dumps([min(rows[1:]), None if mapping is None else mapping.ii]))
"""
_UNROLL = """
import json, sys, time
import gridloom as gl
from gridloom.archs.unroll import unroll
arch, ii = json.loads(sys.argv[1])
array = gl.arch(arch)
unroll(array, ii, {})
rows = []
for k in range(7):
    began = time.process_time()
    unroll(array, ii, {})
    rows.append(time.process_time() - began)
print(json.dumps([min(rows), ii]))
"""


def measured(checkout: Path, program: str, case: object) -> tuple[float, int | None]:
    """CPU seconds of a case in one checkout, and the II."""
    found = subprocess.run(
        [sys.executable, "-c", program, json.dumps(case)], cwd=checkout, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(checkout / "src")},
    )  # fmt: skip
    seconds, ii = json.loads(found.stdout.splitlines()[-1])
    return seconds, ii


def graph_file(here: Path, source: str, folder: Path) -> Path:
    """The graph of a source as this checkout reads it, as a file for both."""
    import gridloom as gl
    from gridloom.dfg import json_format

    path = folder / f"{source.replace('/', '_').replace(':', '_')}.json"
    if not path.is_file():
        os.chdir(here)
        path.write_text(json_format.dumps(gl.load(source)))
    return path


def compared(label: str, program: str, case: object, checkouts: list[Path], repeats: int) -> float:
    """Print one case and return the ratio of this checkout's time to the other's."""
    rows: list[list[tuple[float, int | None]]] = [[], []]
    for k in range(repeats):
        order = (0, 1) if k % 2 == 0 else (1, 0)
        for which in order:
            rows[which].append(measured(checkouts[which], program, case))
    here, there = (min(seconds for seconds, _ in row) for row in rows)
    iis = ", ".join(str(row[0][1]) for row in rows)
    sys.stdout.write(f"{label:<60} {here:9.4f} s {there:9.4f} s {here / there:6.3f}   II {iis}\n")
    sys.stdout.flush()
    return here / there


def main() -> None:
    """Print a line for each case, and the geometric mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, help="the other checkout")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    checkouts = [here, options.against.resolve()]
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / "gridloom-map-speed"
    folder.mkdir(exist_ok=True)
    ratios = []
    for arch, ii in UNROLLED:
        compared(f"unroll {arch} II {ii}", _UNROLL, (arch, ii), checkouts, options.repeats)
    for source, arch, mapper, effort in CASES:
        dfg = str(graph_file(here, source, folder))
        case = (source, arch, mapper, effort, dfg)
        ratios.append(compared(f"{source} {arch} {mapper} {effort}", _RUN, case, checkouts, options.repeats))
    product = 1.0
    for ratio in ratios:
        product *= ratio
    sys.stdout.write(f"geometric mean of map: {product ** (1 / len(ratios)):.3f}\n")


if __name__ == "__main__":
    main()
