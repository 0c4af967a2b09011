"""Cycles against tiles in use, and against the II: what ``ppo`` finds for one graph under different goals.

    python benchmarks/streaming_goals.py --graph kernel:ifft --arch streaming-engine:32,spokes=8 --ii 4

The first curve changes the weight of a tile in use at a fixed II, the second the weight of the II with tiles for free.
For each point the sum that its goal asks for is computed for all other points as well: ``dominated`` lists points that
another one betters in both figures. Runs are ended by effort, so that they do not depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gridloom.archs import build
from gridloom.frontend.source import load_source
from gridloom.learn.placement.mapper import PpoMapperConfig, ppo
from gridloom.mappers.budget import Budget
from gridloom.mapping.model import Mapping
from gridloom.transform.fuse import fuse

TILES_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
II_WEIGHTS = (0.0, 1.0, 2.0, 4.0, 8.0, 32.0)


def figures(found: Mapping) -> dict[str, int]:
    """Return II, cycles and tiles in use of a mapping."""
    last = max(i.cycle + found.arch.tiles[found.arch.tile_index[i.place]].latency_of("alu") for i in found.instances)
    return {"ii": found.ii, "cycles": last, "tiles": len({i.place for i in found.instances})}


def main() -> None:
    """Print both curves as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", default="kernel:ifft")
    parser.add_argument("--arch", default="streaming-engine:32,spokes=8")
    parser.add_argument("--ii", type=int, default=4)
    parser.add_argument("--effort", type=int, default=60_000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    dfg, arch = fuse(load_source(given.graph)), build(given.arch)

    def best(price: tuple[float, float], **settings: float | int | None) -> dict[str, int] | None:
        """The best of some seeds by the goal itself."""
        rows = []
        for seed in range(given.seeds):
            found = ppo(dfg, arch, PpoMapperConfig(**settings), Budget(effort=given.effort, seed=seed))  # type: ignore[arg-type]
            if isinstance(found, Mapping):
                row = figures(found)
                rows.append((row["cycles"] + price[0] * row["tiles"] + price[1] * row["ii"], row))
        return min(rows, key=lambda pair: pair[0])[1] if rows else None

    tiles = [{"weight": w, **(best((w, 0), ii=given.ii, tiles_weight=w) or {})} for w in TILES_WEIGHTS]
    iis = [{"weight": w, **(best((0, w), ii_weight=w) or {})} for w in II_WEIGHTS]
    report: dict[str, Any] = {"graph": given.graph, "arch": given.arch, "tiles": tiles, "ii": iis, "dominated": {}}
    for name, rows in (("tiles", tiles), ("ii", iis)):
        report["dominated"][name] = [
            row["weight"]
            for row in rows
            if any(o["cycles"] < row["cycles"] and o[name] < row[name] for o in rows if "cycles" in o)
        ]
    sys.stdout.write(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
