"""Where FIFOs are used: k-means on meshes with FIFOs everywhere, and with FIFOs in a strand of five rows only.

    python benchmarks/buffer_maps.py [--time-limit 10] [--jobs 2] [--out DIR]
    python benchmarks/buffer_maps.py --objective wirelength --seeds 1 2 3 4 5 --processor-time --jobs 1

For each k-means graph of the NeoSA evaluation on the smallest square mesh: how many tiles have an operand that waits,
how many cycles wait in all, and the same where only the five middle rows have FIFOs; with several seeds means over
those that map. With ``--out`` a picture of each grid is written: the darker a tile, the deeper its deepest FIFO, on
average over the seeds. With the objective ``buffers`` values take longer wires instead of waiting in FIFOs, so that
almost none are used; ``wirelength`` shows where values would wait otherwise. With ``--processor-time`` limits are
seconds of this process's own time, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Mapping as Table
from pathlib import Path
from typing import Any

from spatial_rivals import count_processor_time

from gridloom.archs.spec import build
from gridloom.flow.bench.fitting import square_side
from gridloom.flow.request import Request
from gridloom.flow.run import run
from gridloom.frontend.source import load_source
from gridloom.mapping.model import Mapping

GRAPHS = ("K4N4", "K4N5", "K4N6", "K4N7", "K4N8", "K5N4", "K6N4", "K7N4", "K8N4")
STRAND = 5
CELL = 24
#: Colours of a FIFO of 0, 1, 2, 3, and 4 or more.
SHADES = ("#eef2f6", "#7fa8d1", "#4a7fb5", "#2a5d94", "#163f6b")


def depths(mapping: Mapping) -> dict[tuple[int, int], int]:
    """Return (row, col) -> the deepest FIFO of the tile's operands, for tiles that have one in use."""
    arch, dfg = mapping.arch, mapping.dfg
    place = {instance.node: arch.tiles[arch.tile_index[instance.place]] for instance in mapping.instances}
    found: dict[tuple[int, int], int] = {}
    for route in mapping.routes:
        if route.fifo:
            tile = place[dfg.edges[route.edge].target]
            found[tile.row, tile.col] = max(found.get((tile.row, tile.col), 0), route.fifo)
    return found


def mean_depths(maps: list[dict[tuple[int, int], int]]) -> dict[tuple[int, int], float]:
    """Return (row, col) -> the mean over the maps of the deepest FIFO, for tiles that have one in use in some map."""
    tiles = sorted({tile for used in maps for tile in used})
    return {tile: statistics.fmean(used.get(tile, 0) for used in maps) for tile in tiles}


def picture(side: int, used: Table[tuple[int, int], float], rows: range) -> str:
    """Return the grid as SVG: deeper FIFOs are darker, tiles without one in use are pale.

    Tiles outside ``rows`` are only outlines.
    """
    size = side * CELL
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {size} {size}">'
    parts = [head, f'<rect width="{size}" height="{size}" fill="white"/>']
    for row in range(side):
        for col in range(side):
            x, y, depth = col * CELL, row * CELL, used.get((row, col), 0)
            fill = SHADES[min(math.ceil(depth), len(SHADES) - 1)] if row in rows else "none"
            edge = ' stroke="#d8dde3" stroke-dasharray="2 2"' if row not in rows else ""
            box = f'x="{x + 1.5:g}" y="{y + 1.5:g}" width="{CELL - 3}" height="{CELL - 3}" rx="3"'
            parts.append(f'<rect {box} fill="{fill}"{edge}/>')
            if depth:
                size = 12 if depth == round(depth) else 10
                words = (
                    f'x="{x + CELL / 2:g}" y="{y + CELL * 0.68:g}" font-size="{size}" text-anchor="middle" fill="white"'
                )
                parts.append(f'<text {words} font-family="sans-serif">{depth:.2g}</text>')
    return "\n".join([*parts, "</svg>\n"])


def strand(side: int) -> range:
    """Return the middle rows, which have FIFOs."""
    first = (side - STRAND) // 2
    return range(first, first + STRAND)


def mapped(graph: str, spec: dict[str, Any], seed: int, asked: argparse.Namespace) -> Mapping | None:
    """Return a confirmed mapping, or None."""
    request = Request(
        source=f"kernel:neosa-{graph}",
        arch=build(spec),
        mapper=asked.mapper,
        settings={"objective": asked.objective},
        time_limit=asked.time_limit,
        jobs=asked.jobs,
        seed=seed,
    )
    return run(request).mapping


def measure(graph: str, asked: argparse.Namespace) -> str:
    """Return a line of the table, and write its pictures."""
    side = square_side(load_source(f"kernel:neosa-{graph}"))
    common = {"family": "mesh", "rows": side, "cols": side, "inputs": "skewed"}
    band = strand(side)
    limited = [{"value": 0}, {"where": {"region": {"rows": [band[0], band[-1]]}}, "value": 16}]
    words = [graph, f"{side * side}"]
    for name, spec, rows in (
        ("everywhere", common, range(side)),
        ("strand", {**common, "fifo": limited}, band),
    ):
        runs = [mapped(graph, spec, seed, asked) for seed in asked.seeds]
        good = [found for found in runs if found is not None]
        maps = [depths(found) for found in good]
        if len(runs) > 1:
            words.append(f"{len(good)} of {len(runs)}")
        if not good:
            words += ["-", "-", "-"]
            continue
        waiting = statistics.fmean(sum(route.fifo for route in found.routes) for found in good)
        words += [f"{statistics.fmean(map(len, maps)):.3g}", str(max(max(used.values(), default=0) for used in maps))]
        words.append(f"{waiting:.3g}")
        if asked.out is not None:
            asked.out.mkdir(parents=True, exist_ok=True)
            (asked.out / f"{graph}-{name}.svg").write_text(picture(side, mean_depths(maps), rows), encoding="utf-8")
    return f"| {' | '.join(words)} |"


def main() -> None:
    """Print the table, and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--mapper", default="anneal", choices=("anneal", "neosa"))
    parser.add_argument("--objective", default="buffers", choices=("buffers", "wirelength", "latency"))
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--processor-time", action="store_true", help="limits are CPU seconds of this process")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.processor_time:
        count_processor_time()
    mapped_column = ["mapped"] if len(asked.seeds) > 1 else []
    head = ["graph", "tiles", *mapped_column, "with FIFO in use", "deepest", "cycles in all"]
    head += [*mapped_column, "strand: in use", "deepest", "cycles in all"]
    sys.stdout.write(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}\n")
    for graph in asked.graphs:
        sys.stdout.write(measure(graph, asked) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
