"""LUTs and clock of an array on an FPGA, without synthesis: models fitted to arrays that were placed and routed.

``fpga_runs.csv`` holds what Yosys and nextpnr made of small arrays (``python -m benchmarks run speed/clock-model``).
Both figures are linear models with few weights, fitted by least squares on relative errors when they are first asked
for. LUTs are a sum over the units of an array; those of multiplexers, FIFOs and LUT RAM are counted as the generated
Verilog builds them. The period of the clock, in nanoseconds, depends on the levels of the widest operand multiplexer,
on multipliers that take several blocks, and on the logarithm of the LUTs, since wires of larger arrays are longer; a
register before the function units takes the multiplexers out of the longest path.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.explore.hardware import hardware_of

if TYPE_CHECKING:
    from gridloom.archs.model import Arch
    from gridloom.hardware.rtl.shapes import Shape
    from gridloom.hardware.rtl.structure import Hardware

COLUMNS: Final = ("array", "cycles", "width", "luts", "ffs", "dsps", "fmax_mhz", "seed")
#: Bits that a multiplier block takes.
BLOCK_BITS: Final = 18
#: Cells that four bits of LUT RAM take, with those that write them.
RAM_CELLS: Final = 6
Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClockEstimate:
    """What the model says of an array: LUTs of four inputs, and MHz."""

    luts: float
    mhz: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Mean relative errors on arrays left out of the fit, of the models and of two simple rivals; and the greatest."""

    luts: float
    mhz: float
    worst_luts: float
    worst_mhz: float
    #: The mean of LUTs per bit of a tile, and the mean clock, of the arrays in the fit.
    rival_luts: float
    rival_mhz: float


def clock(hardware: Hardware) -> ClockEstimate | None:
    """Return LUTs and clock of an array by the fitted models. Linear in the array's unit variants.

    None for arrays unlike those of the runs: values that cross several links or ALUs in a cycle, shared register files,
    memory banks, registers at the ends of a grid's links, and ops of one class that take longer than those of another.
    """
    shapes = [shape for shape in hardware.places if shape.kind == "pe"]
    alike = len(shapes) == len(hardware.places) and all(shape.latency == 1 + shape.issue for shape in shapes)
    registered = hardware.arch.style == "static" and hardware.arch.link_cycles > 0
    if not alike or registered or hardware.has_rings or hardware.domain != "i32" or hardware.arch.banks:
        return None
    area, period = _weights()
    luts = float(np.dot(area, lut_features(hardware)))
    return ClockEstimate(luts, 1000.0 / float(np.dot(period, period_features(hardware, luts))))


def run_array(array: str, cycles: int) -> Arch:
    """Return the array of a run: an ARCH string, whose ops take so many cycles."""
    from gridloom.archs.spec import build, parse_string

    return build(array) if cycles == 1 else build({**parse_string(array), "latency": {"*": cycles}})


def multiplexer_luts(inputs: int) -> int:
    """Return the LUTs of one bit of a multiplexer, as ``gl_mux`` builds it on an ECP5.

    >>> [multiplexer_luts(n) for n in (1, 2, 3, 4, 5, 8, 9, 16)]
    [0, 1, 2, 2, 3, 4, 5, 9]
    """
    if inputs > 8:
        blocks = [min(8, inputs - first) for first in range(0, inputs, 8)]
        return sum(map(multiplexer_luts, blocks)) + multiplexer_luts(len(blocks))
    return (0, 0, 1, 2, 2, 3, 4, 4, 4)[max(inputs, 1)]


def lut_features(hardware: Hardware) -> list[float]:
    """Return what the LUTs of an array depend on: units, bits of words, what can be counted, registers, operands."""
    w = hardware.width
    rows = []
    for shape, units in hardware.places.items():
        counted = _counted(hardware, shape)
        rows.append([n * len(units) for n in (1.0, w, counted, shape.registers * w, shape.operands * w)])
    return [float(total) for total in np.sum(rows, axis=0)]


def _counted(hardware: Hardware, shape: Shape) -> float:
    """The LUTs of the multiplexers, FIFOs and LUT RAM of a unit."""
    from gridloom.hardware.rtl.layout import context_layout

    w, parameters = hardware.width, hardware.parameters
    bits = sum(multiplexer_luts(len(mux.sources) + mux.idle) for mux in shape.muxes)
    depths = [shape.depth(k) for k in range(shape.operands)]
    bits += sum(max(0, depth - 1) for depth in depths if depth <= 4)
    # Words of LUT RAM: long FIFOs, constants for each operand, contexts.
    words = sum(depth > 4 for depth in depths) + (shape.operands if shape.words(parameters) > 1 else 0)
    ram = words * w + (context_layout(shape, parameters).bits if shape.contexts > 1 else 0)
    return bits * w + RAM_CELLS * ram / 4


def period_features(hardware: Hardware, luts: float) -> list[float]:
    """Return what the period of the clock depends on."""
    widest = max(len(mux.sources) + mux.idle for shape in hardware.places for mux in shape.muxes)
    prompt = float(any(not shape.issue for shape in hardware.places))
    return [
        1.0,
        prompt,
        prompt * math.log2(max(widest, 1)),
        float(hardware.width > BLOCK_BITS),
        math.log2(max(luts, 1.0)),
    ]


@cache
def runs() -> tuple[dict[str, str], ...]:
    """Return the rows of the shipped file, one for each array that was placed."""
    text = (resources.files("gridloom") / "explore" / "fpga_runs.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@cache
def _table() -> tuple[list[Hardware], Table, Table]:
    """The hardware of each run, its LUTs and its periods in ns."""
    built = [hardware_of(run_array(row["array"], int(row["cycles"])), int(row["width"])) for row in runs()]
    luts = np.array([float(row["luts"]) for row in runs()])
    return built, luts, 1000.0 / np.array([float(row["fmax_mhz"]) for row in runs()])


@cache
def _weights() -> tuple[Table, Table]:
    """The weights of both models on all runs."""
    return _fit_both(range(len(runs())))


def _fit_both(chosen: Sequence[int]) -> tuple[Table, Table]:
    """The weights of both models on some of the runs."""
    built, luts, periods = _table()
    kept = list(chosen)
    area = _fit([lut_features(built[n]) for n in kept], luts[kept])
    return area, _fit([period_features(built[n], float(luts[n])) for n in kept], periods[kept])


def _fit(rows: Sequence[Sequence[float]], wanted: Table) -> Table:
    """The weights whose relative errors have the least squares."""
    scaled = np.array(rows, dtype=np.float64) / wanted[:, None]
    return np.asarray(np.linalg.lstsq(scaled, np.ones(len(wanted)), rcond=None)[0], dtype=np.float64)


@cache
def held_out() -> HeldOut:
    """Return the errors on families that the fit has not seen: each family is left out as a whole, one after the other.

    The period of an array that is left out is predicted from its predicted LUTs, as for an array nobody placed.
    """
    built, luts, periods = _table()
    families = [row["array"].partition(":")[0] for row in runs()]
    errors: list[tuple[float, ...]] = []
    for family in sorted(set(families)):
        kept = [n for n, name in enumerate(families) if name != family]
        area, period = _fit_both(kept)
        share = float(np.mean([luts[n] / (len(built[n].units) * built[n].width) for n in kept]))
        mean_mhz = float(np.mean(1 / periods[kept]))
        for k in [n for n, name in enumerate(families) if name == family]:
            size = float(np.dot(area, lut_features(built[k])))
            time = float(np.dot(period, period_features(built[k], size)))
            simple = share * len(built[k].units) * built[k].width
            errors.append((size / luts[k], periods[k] / time, simple / luts[k], mean_mhz * periods[k]))
    off = np.abs(np.array(errors) - 1)
    mean, worst = off.mean(axis=0), off.max(axis=0)
    return HeldOut(
        luts=float(mean[0]),
        mhz=float(mean[1]),
        worst_luts=float(worst[0]),
        worst_mhz=float(worst[1]),
        rival_luts=float(mean[2]),
        rival_mhz=float(mean[3]),
    )
