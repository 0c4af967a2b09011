"""How the time of ``anneal`` grows with the graph: k-means of 100 to 1,000 nodes on the smallest square onehop arrays.

    python benchmarks/spatial_scaling.py [--inputs skewed] [--seeds 3]

Each row is one seed: a batch of four starts on one thread, in CPU seconds without compilation. The exponent is that of
the least-squares line through the logarithms; memory is the peak of the whole process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

from gridloom.archs.spec import build
from gridloom.flow.bench.fitting import square_side
from gridloom.frontend.source import load_source
from gridloom.mapping.model import Failure
from gridloom.search.budget import Budget
from gridloom.targets.grid.mappers.anneal import AnnealConfig, anneal
from gridloom.verify import legal

SIZES = ((4, 6), (6, 9), (8, 12), (11, 15), (14, 19))


def measure(k: int, n: int, inputs: str, seed: int) -> tuple[int, float, str]:
    """Return (nodes, CPU seconds, the result in words) of one graph."""
    dfg = load_source(f"kernel:kmeans,k={k},n={n}")
    side = square_side(dfg)
    arch = build(f"onehop:{side}x{side},inputs={inputs}")
    began = time.process_time()
    found = anneal(dfg, arch, AnnealConfig(starts=4), Budget(seed=seed))
    seconds = time.process_time() - began
    if isinstance(found, Failure):
        return 0, seconds, str(found)
    if legal(found):
        raise RuntimeError(f"{arch.name}: the checker refuses what the mapper returned")
    deepest = max(route.fifo for route in found.routes)
    return len(found.instances), seconds, f"{arch.name}, deepest FIFO {deepest}"


def main() -> None:
    """Print one line per graph, then the exponent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", default="skewed", choices=("aligned", "skewed"))
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    measure(4, 4, asked.inputs, 0)
    points = []
    for k, n in SIZES:
        for seed in range(asked.seeds):
            nodes, seconds, outcome = measure(k, n, asked.inputs, seed)
            sys.stdout.write(f"k={k} n={n}: {nodes} nodes, {seconds:.2f} s, {outcome}\n")
            sys.stdout.flush()
            points.append((nodes, seconds))
    logs = np.log(np.array([point for point in points if point[0]], dtype=np.float64))
    slope = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"time grows with nodes^{slope:.2f}; at most {megabytes:.0f} MB\n")


if __name__ == "__main__":
    main()
