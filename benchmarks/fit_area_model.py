"""Fit the hardware model of exploration: area and logic levels of a unit, from syntheses of many kinds of arrays.

    python benchmarks/fit_area_model.py -o src/gridloom/explore/hardware_model.json

It needs Yosys and takes ten minutes the first time. Areas are cached; levels are counted on a part of the units.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.spec import build
from gridloom.explore.hardware import LEVEL_FEATURES, OPS, level_features
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.synthesis.area import FEATURES, Synthesis, features, fit, unit_levels


def arrays() -> Iterator[tuple[str, int, bool]]:
    """Yield ARCH, bits of a word, and whether levels are counted too."""
    for family in ("mesh", "chess", "onehop", "hex"):
        for fifo in (0, 1, 2, 4):
            yield f"{family}:4x4,operands=2,fifo={fifo},mul=checkerboard", 16, fifo == 0
    for width in (8, 32):
        for family in ("mesh", "onehop"):
            yield f"{family}:4x4,operands=2,fifo=1,mul=checkerboard", width, family == "mesh"
    yield "mesh:4x4,operands=3,fifo=2,mul=checkerboard", 16, False
    for regs in (0, 2, 4, 8):
        yield f"torus:4x4,regs={regs},contexts=8,mul=checkerboard", 16, regs == 4
    yield "torus:4x4,regs=4,contexts=16,mul=checkerboard", 16, False
    yield "torus:4x4,regs=4,contexts=8,mul=checkerboard", 32, True


def main() -> None:
    """Synthesise the units, fit both models and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "gridloom" / "area")
    options = parser.parse_args()
    synthesis = Synthesis("gates", options.cache)
    areas: dict[tuple[float, ...], float] = {}
    levels: dict[tuple[float, ...], float] = {}
    for array, width, counted in arrays():
        hardware = Hardware(build(array), HardwareParameters(width=width, values=2, stages=15, ops=OPS))
        for shape in hardware.places:
            areas[tuple(features(hardware, shape))] = synthesis.shape_area(hardware, shape).total("gates")
            row = tuple(level_features(hardware, shape))
            if counted and row not in levels:
                levels[row] = unit_levels(hardware, shape)
        sys.stdout.write(f"{array} {width} bits: {len(areas)} units, {len(levels)} with levels\n")
    model = fit(list(areas.items()), "gates")
    weights, error = fit_levels(levels)
    area = [round(weight, 5) for weight in model.weights]
    level = [round(weight, 5) for weight in weights]
    record = {
        "made_by": "python benchmarks/fit_area_model.py -o src/gridloom/explore/hardware_model.json",
        "yosys": subprocess.run(["yosys", "-V"], capture_output=True, text=True, check=True).stdout.split(" (")[0],
        "area": {"unit": "NAND2 equivalents", "features": list(FEATURES), "weights": area,
                 "error": round(model.error, 4), "units": model.units},
        "levels": {"unit": "logic levels", "features": list(LEVEL_FEATURES), "weights": level,
                   "error": round(error, 4), "units": len(levels)},
    }  # fmt: skip
    options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(record, indent=1) + "\n")


def fit_levels(samples: dict[tuple[float, ...], float]) -> tuple[list[float], float]:
    """Return weights by least squares on relative errors, and the error of leaving out one unit at a time."""
    table = np.array(list(samples), dtype=float) / np.array(list(samples.values()))[:, None]

    def weights(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]

    errors = [abs(float(table[k] @ weights(np.delete(table, k, axis=0))) - 1) for k in range(len(table))]
    return [float(w) for w in weights(table)], float(np.mean(errors))


if __name__ == "__main__":
    main()
