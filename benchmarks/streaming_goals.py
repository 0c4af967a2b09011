"""Cycles against tiles in use, and against the II: what ``ppo`` finds for a graph under different goals.

    python benchmarks/streaming_goals.py tiles --graph kernel:kmeans --arch streaming-engine:32,spokes=16 --ii 8
    python benchmarks/streaming_goals.py ii --graph kernel:ifft --arch streaming-engine:32,spokes=8

``tiles``: a curve over the weight of a tile in use at a fixed II, the best of some seeds for each weight, beside runs
with a single goal: cycles alone, and tiles alone. Each single goal has as many seeds as the whole curve, so that it has
the same effort. ``dominated`` lists the points of the curve that a run with a single goal betters in one figure and
equals or betters in the other; ``front`` are the points of the curve that no other point of it dominates. ``ii``: a
curve over the weight of the II, with tiles for free. Runs are ended by effort, so that they do not depend on the
machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gridloom.archs import build
from gridloom.frontend.source import load_source
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.learned.mapper import PpoMapperConfig, ppo

Point = dict[str, Any]

TILES_WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)
II_WEIGHTS = (0.0, 1.0, 2.0, 4.0, 8.0, 32.0)
#: The weight of a tile in use where nothing else counts but to tell equals apart.
ALONE = 1000.0


def figures(found: Mapping) -> Point:
    """Return II, cycles and tiles in use of a mapping."""
    last = max(i.cycle + found.arch.tiles[found.arch.tile_index[i.place]].latency_of("alu") for i in found.instances)
    return {"ii": found.ii, "cycles": last, "tiles": len({i.place for i in found.instances})}


class Runs:
    """Runs of ``ppo`` on one graph and array."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.dfg, self.arch = fuse(load_source(given.graph)), build(given.arch)
        self.given = given

    def best(self, seeds: int, tiles: float = 0.0, ii: float | None = None) -> Point:
        """Return the best of some seeds by the goal itself; empty: none has a mapping."""
        rows = []
        for seed in range(seeds):
            asked = self.given.ii if ii is None else None
            config = PpoMapperConfig(ii=asked, tiles_weight=tiles, ii_weight=ii)
            found = ppo(self.dfg, self.arch, config, Budget(effort=self.given.effort, seed=seed))
            if isinstance(found, Mapping):
                row = figures(found)
                rows.append((row["cycles"] + tiles * row["tiles"] + (ii or 0.0) * row["ii"], row["tiles"], seed, row))
        return min(rows)[3] if rows else {}


def dominates(one: Point, other: Point, name: str) -> bool:
    """True when a point is no worse in cycles and in a second figure, and better in one of them."""
    if "cycles" not in one or "cycles" not in other:
        return False
    pair, than = (one["cycles"], one[name]), (other["cycles"], other[name])
    return pair != than and pair[0] <= than[0] and pair[1] <= than[1]


def tiles_curve(runs: Runs, seeds: int) -> dict[str, Any]:
    """Return the curve over the weight of a tile, the single goals, and what dominates what."""
    curve = [{"weight": w, **runs.best(seeds, tiles=w)} for w in TILES_WEIGHTS]
    many = seeds * len(TILES_WEIGHTS)
    single = {"cycles": runs.best(many), "tiles": runs.best(many, tiles=ALONE)}
    dominated = [p["weight"] for p in curve if any(dominates(s, p, "tiles") for s in single.values())]
    front = [p["weight"] for p in curve if not any(dominates(o, p, "tiles") for o in curve)]
    return {"curve": curve, "single": single, "dominated": dominated, "front": front}


def ii_curve(runs: Runs, seeds: int) -> dict[str, Any]:
    """Return the curve over the weight of the II, and the points of it that another one dominates."""
    curve = [{"weight": w, **runs.best(seeds, ii=w)} for w in II_WEIGHTS]
    return {"curve": curve, "dominated": [p["weight"] for p in curve if any(dominates(o, p, "ii") for o in curve)]}


def main() -> None:
    """Print a curve as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curve", choices=("tiles", "ii"))
    parser.add_argument("--graph", default="kernel:kmeans")
    parser.add_argument("--arch", default="streaming-engine:32,spokes=16")
    parser.add_argument("--ii", type=int, default=8)
    parser.add_argument("--effort", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    measure = tiles_curve if given.curve == "tiles" else ii_curve
    report = {"graph": given.graph, "arch": given.arch, "ii": given.ii, **measure(Runs(given), given.seeds)}
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
