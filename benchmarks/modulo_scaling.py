"""How the time of ``modulo`` grows with the graph: 100 to 4,000 nodes on arrays that grow along, at half occupancy.

    python benchmarks/modulo_scaling.py [--sides 10 14 20 28 40 64] [--seeds 1] [--without-cells] [--svg FILE]

The graph is a chain of 14 operations with two loads and a store, copied side by side until there are as many nodes as
tiles; the array is ``torus:NxN,regs=4,bus=none`` and the II is 2. Each row is one seed: CPU seconds of one thread from
the graph to the mapping, without compilation. Copies are what unit cells are for; ``--without-cells`` gives the whole
graph to the ordinary search, as a graph without repeated parts would be. The exponent is that of the least-squares line
through the logarithms.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gridloom.archs.model import Arch
from gridloom.archs.spec import build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.emit.plots.chart import ChartSeries, line_chart, picture
from gridloom.mapping.mii import mii
from gridloom.mapping.model import Failure, Mapping
from gridloom.search import compiling
from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.mapping import to_mapping
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.search import ModuloSearch
from gridloom.targets.modulo.mappers.walk import Walk
from gridloom.verify import legal

II = 2
LIMIT = 3600.0

Mapper = Callable[[Dfg, Arch, ModuloConfig, Budget], Mapping | Failure]


def chains(copies: int) -> Dfg:
    """The loop: each copy counts, loads two values, blends them and stores the result."""
    b = DfgBuilder(f"chains{copies}")
    for name in "abo":
        b.array(name, 64)
    for k in range(copies):
        i = b.add("add", b.const(1), id=f"i{k}")
        b.carry(i, i, operand=1, initial=[0])
        p, q = b.load("a", i), b.load("b", i)
        blend = b.add("add", q, b.add("shr", b.add("mul", b.add("sub", p, q), b.const(77)), b.const(8)))
        low = b.add("max", blend, b.const(0))
        high = b.add("min", low, b.const(255))
        mixed = b.add("xor", b.add("xor", high, b.add("and", p, b.const(85))), b.add("or", q, b.const(15)))
        b.store("o", i, mixed)
    return b.build()


def search(dfg: Dfg, arch: Arch, config: ModuloConfig, budget: Budget) -> Mapping | Failure:
    """The mapping of the ordinary search alone."""
    clock = budget.start()
    starts = ModuloSearch(ModuloProblem(dfg, arch))
    starts.warm_up()
    walk = Walk(starts, config, clock, mii(dfg, arch))
    best = walk.best()
    return walk.failure() if best is None else to_mapping(best, {})


def measure(side: int, seed: int, mapper: Mapper) -> tuple[int, float, str]:
    """Return (nodes, CPU seconds, the result in words) of one graph."""
    dfg, arch = chains(side * side // 14), build(f"torus:{side}x{side},regs=4,bus=none")
    began, compiled = time.process_time(), compiling.seconds()
    found = mapper(dfg, arch, ModuloConfig(ii=II), Budget(seed=seed, time_limit=LIMIT))
    seconds = time.process_time() - began - (compiling.seconds() - compiled)
    if isinstance(found, Failure):
        return 0, seconds, str(found)
    if legal(found):
        raise RuntimeError(f"{arch.name}: the checker refuses what the mapper returned")
    return len(found.instances), seconds, f"{arch.name}, II {found.ii}"


def draw(points: list[tuple[int, float]], slope: float) -> str:
    """Return the picture: seconds over nodes, both as powers of ten."""
    logs = sorted((float(np.log10(nodes)), float(np.log10(seconds))) for nodes, seconds in points)
    first, last = logs[0][0], logs[-1][0]
    middle = (sum(x for x, _ in logs) / len(logs), sum(y for _, y in logs) / len(logs))
    fit = tuple((x, middle[1] + slope * (x - middle[0])) for x in (first, last))
    series = [
        ChartSeries("measured", tuple(logs)),
        ChartSeries(f"nodes^{slope:.2f}", fit, colour=1, dashed=True, mark=False),
    ]
    title = "Time of modulo, half of all slots taken"
    panel = line_chart(title, series, x_title="nodes (log10)", y_title="CPU seconds (log10)")
    return picture([panel], title)


def main() -> None:
    """Print one line per graph, then the exponent; draw it where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", type=int, nargs="+", default=[10, 14, 20, 28, 40, 64])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--without-cells", action="store_true")
    parser.add_argument("--svg", type=Path)
    asked = parser.parse_args()
    mapper = search if asked.without_cells else modulo
    # Loads or compiles the kernels, those of annealing among them.
    measure(20, 0, mapper)
    points = []
    for side in asked.sides:
        for seed in range(asked.seeds):
            nodes, seconds, outcome = measure(side, seed, mapper)
            megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            sys.stdout.write(f"{nodes} nodes, {seconds:.1f} s, at most {megabytes:.0f} MB, {outcome}\n")
            sys.stdout.flush()
            points.append((nodes, seconds))
    points = [point for point in points if point[0]]
    logs = np.log(np.array(points, dtype=np.float64))
    slope = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    sys.stdout.write(f"time grows with nodes^{slope:.2f}\n")
    if asked.svg is not None:
        asked.svg.write_text(draw(points, slope), encoding="utf-8")


if __name__ == "__main__":
    main()
