"""Large loops until they reach a given II: when ``modulo`` has it, for several seeds.

    python benchmarks/until_bar.py [--only WORD ...] [--seeds 0 1 2] [--jobs 2] [--folder DIR]

Each case has a time limit and the II at which the run is ended; a run that does not get there uses its whole limit. The
seconds are those of the search. Every mapping is checked; the medians over the seeds follow at the end.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

from gridloom.flow.files import examples_folder
from gridloom.flow.inputs import prepare
from gridloom.mapping.mii import mii
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget, Progress
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.verify import legal

_SMALL, _LARGE = (f"torus:{side},regs=4,bus=none,operands=4" for side in ("9x9", "16x16"))
_CHAINS = "large/chains.c:unroll={},reduced=false"
_DCT = "morpher/dfg/dct_jpeg_fdct_islow_INNERMOST_LN2_PartPred_DFG.xml"


class Case(NamedTuple):
    """A loop on an array, a time limit, and the II at which a run is ended."""

    source: str
    arch: str
    limit: float
    enough: int


CASES = (
    *(
        Case(f"panorama/dfg/{name}.xml", arch, limit, enough)
        for arch, limit, iis in ((_SMALL, 60, (6, 4, 4, 4, 5, 8, 5)), (_LARGE, 120, (3, 4, 2, 4, 4, 4, 5)))
        for name, enough in zip(
            ("conv2D", "cordic", "edn", "idctrows", "jpegfdct", "kmeans", "matrix_multiply"), iis, strict=True
        )
    ),
    Case(_CHAINS.format(8), "torus:8x8", 30, 4),
    Case(_CHAINS.format(24), "torus:8x8", 60, 10),
    Case(_CHAINS.format(64), "torus:16x16", 120, 13),
    Case("ccf/rijndael_loop7/loop108_node.txt", "torus:4x4,regs=4", 120, 7),
    Case(_DCT, "torus:4x4,regs=4,bus=none,operands=4", 120, 7),
    Case("ccf/gsm_loop6/loop501_node.txt", "torus:4x4,regs=4,bus=none", 120, 22),
)


class Watch:
    """Hears of the best II, and asks for an end once it is low enough."""

    def __init__(self, enough: int) -> None:
        self.enough = enough
        self.found: list[tuple[float, int]] = []

    def hear(self, progress: Progress) -> None:
        """Note a better II with the seconds of search."""
        if progress.best.startswith("II "):
            ii = int(progress.best.split()[1])
            if not self.found or ii < self.found[-1][1]:
                self.found.append((progress.seconds, ii))

    def over(self) -> bool:
        """Whether the II is low enough."""
        return bool(self.found) and self.found[-1][1] <= self.enough


def run(case: Case, folder: Path, seed: int, workers: int) -> tuple[int, float, int]:
    """(II, 0 for none; the seconds after which it was found; the MII) of one run."""
    base = examples_folder() if case.source.startswith("large/") else folder
    ready = prepare(str(base / case.source), case.arch)
    watch = Watch(case.enough)
    budget = Budget(time_limit=case.limit, seed=seed, workers=workers, progress=watch.hear, interrupted=watch.over)
    mapping = modulo(ready.dfg, ready.arch, ModuloConfig(), budget)
    bound = mii(ready.dfg, ready.arch).total
    if not isinstance(mapping, Mapping):
        return 0, case.limit, bound
    if legal(mapping):
        raise RuntimeError(f"{case.source}: the checker refuses what the mapper returned")
    return mapping.ii, watch.found[-1][0] if watch.found else 0.0, bound


def main() -> None:
    """Print a line for each run and one with the medians for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path())
    asked = parser.parse_args()
    for case in CASES:
        words = f"{Path(case.source.partition(':')[0]).stem} on {case.arch}"
        if asked.only and not any(word in f"{case.source} on {case.arch}" for word in asked.only):
            continue
        rows = []
        for seed in asked.seeds:
            ii, seconds, bound = run(case, asked.folder, seed, asked.jobs)
            rows.append((ii or 1 << 20, seconds))
            sys.stdout.write(f"  {words}, seed {seed}: II {ii} after {seconds:.1f} s\n")
            sys.stdout.flush()
        iis, times = zip(*rows, strict=True)
        median = f"median II {statistics.median(iis):g}, {statistics.median(times):.1f} s"
        sys.stdout.write(f"{words}: MII {bound}, ended at {case.enough}, {median} of {case.limit:g} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
