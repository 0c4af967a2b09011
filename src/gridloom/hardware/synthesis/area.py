"""Area of an array by Yosys: each unit variant is synthesised once, the array's area is the sum over its units.

There are three targets: ``gates`` (generic gates, in NAND2 equivalents with the cell areas of the open 45 nm Nangate
library), ``xilinx`` (LUTs and flip-flops of the 7-series) and ``intel`` (ALM halves and flip-flops). FPGAs multiply in
blocks of their own, which are counted apart, or in LUTs where that is asked for. The result of a synthesis is kept
under a hash of the Verilog, the script and the version of Yosys. A sum leaves out what a flat synthesis could share
across units; :meth:`Synthesis.flat_area` measures that on one array. A linear model of a unit's area is fitted to the
results.

The critical path of a unit is counted in logic levels, gates on the longest path from register to register. That is no
delay in nanoseconds, for which a cell library and wires would be needed; it ranks arrays made of the same units.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from gridloom.errors import SimulationError
from gridloom.hardware.rtl.generate import primitive, rtl_files
from gridloom.hardware.rtl.layout import context_layout
from gridloom.hardware.rtl.shapes import Shape
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.synthesis import yosys
from gridloom.text_file import read_text

Target = Literal["gates", "xilinx", "intel"]

#: Area of a cell relative to that of a NAND2 (0.798 square micrometres): X1 cells of the open Nangate 45 nm library.
GATES: Final[Mapping[str, float]] = {
    "NOT": 0.67, "BUF": 1.0, "NAND": 1.0, "NOR": 1.0, "AND": 1.33, "OR": 1.33, "ANDNOT": 1.33, "ORNOT": 1.33,
    "XOR": 2.0, "XNOR": 2.0, "MUX": 2.33, "NMUX": 2.0, "AOI3": 1.33, "OAI3": 1.33, "AOI4": 1.67, "OAI4": 1.67,
}  # fmt: skip
FLIP_FLOP: Final = 5.67
#: A flip-flop with enable has a multiplexer before it, one with synchronous reset has an AND gate.
ENABLE: Final = 2.33
RESET: Final = 1.33

_SCRIPTS: Final[Mapping[str, str]] = {
    "gates": "synth -flatten -top {top}; opt_clean",
    "xilinx": "synth_xilinx -flatten -noiopad {blocks}-nobram -nolutram -nosrl -top {top}",
    "intel": "synth_intel_alm -nolutram -nobram {blocks}-noiopad -top {top}",
}
_MULTIPLIER_BLOCKS: Final = ("DSP48E1", "MISTRAL_MUL")
#: How many LUTs, or ALM halves, one cell takes. Two small LUTs of a slice make a larger one.
_LUT_WEIGHT: Final = {"LUT1": 1, "LUT2": 1, "LUT3": 1, "LUT4": 1, "LUT5": 1, "LUT6": 1, "MISTRAL_NOT": 0,
                      "MISTRAL_ALUT2": 1, "MISTRAL_ALUT3": 1, "MISTRAL_ALUT4": 1, "MISTRAL_ALUT5": 1,
                      "MISTRAL_ALUT6": 2, "MISTRAL_ALUT_ARITH": 1}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Area:
    """The area of a circuit, by what takes it.

    Areas of different targets do not mix: the unit of ``logic`` is that of the target it was measured for.

    >>> Area(10.0, 4.0, 2) + Area(1.0, 1.0, 1).times(3)
    Area(logic=13.0, registers=7.0, flip_flops=5, blocks=0)
    """

    #: Gate equivalents, LUTs or ALM halves.
    logic: float
    #: Gate equivalents or flip-flops.
    registers: float
    flip_flops: int
    #: Multiplier blocks of an FPGA, which are not part of ``logic``.
    blocks: int = 0

    def __add__(self, other: Area) -> Area:
        return Area(*(mine + its for mine, its in zip(astuple(self), astuple(other))))

    def times(self, count: int) -> Area:
        """Return the area of ``count`` such circuits."""
        return Area(*(part * count for part in astuple(self)))

    def total(self, target: Target) -> float:
        """Return one number: gates and registers together, or the LUTs alone (their flip-flops come with them)."""
        return self.logic + self.registers if target == "gates" else self.logic

    @property
    def register_share(self) -> float:
        """The share of the area that registers take. It means something for gates only."""
        whole = self.logic + self.registers
        return self.registers / whole if whole else 0.0


class Synthesis:
    """Runs Yosys and keeps its results, in a folder where one is given.

    ``blocks``: an FPGA multiplies in its multiplier blocks; False: it multiplies in LUTs. MissingExtra where Yosys is
    not installed.

    An instance is bound to one target. ``runs`` counts the syntheses that were really made, so that a caller can tell a
    cached result from a new one. Files of the cache are never removed; their names depend on the version of Yosys too.
    """

    def __init__(self, target: Target = "gates", cache: Path | None = None, *, blocks: bool = True) -> None:
        yosys.require()
        self.target: Target = target
        self.cache = cache
        self.blocks = blocks
        self.runs = 0
        self._known: dict[str, dict[str, int]] = {}
        self._version = yosys.version()

    def shape_area(self, hardware: Hardware, shape: Shape) -> Area:
        """Return the area of one unit. Costs a synthesis where no equal unit was synthesised before."""
        return self.area(yosys.unit_files(hardware, shape), yosys.UNIT)

    def array_area(self, hardware: Hardware) -> Area:
        """Return the sum over the units of an array and its sequencer. Costs a synthesis for each unit variant."""
        # The sequencer is there once, whatever the array; buses are not counted.
        texts = {f"{p}.v": primitive(p) for p in ("gl_sequencer", "gl_config_port")}
        area = self.area(texts, "gl_sequencer")
        for shape, units in hardware.places.items():
            area += self.shape_area(hardware, shape).times(len(units))
        return area

    def flat_area(self, hardware: Hardware) -> Area:
        """Return the area of the whole array synthesised flat: slow, it shows how far the sum is off."""
        return self.area(rtl_files(hardware), TOP)

    def area(self, texts: Mapping[str, str], top: str) -> Area:
        """Return the area of a module with everything below it."""
        return measure_cells(self.cells(texts, top), self.target)

    def cells(self, texts: Mapping[str, str], top: str) -> dict[str, int]:
        """Return cell type -> number of such cells, by Yosys or from an earlier run."""
        script = _SCRIPTS[self.target].format(top=top, blocks="" if self.blocks else "-nodsp ")
        key = hashlib.blake2b(
            json.dumps([sorted(texts.items()), script, self._version]).encode(), digest_size=16
        ).hexdigest()
        if key in self._known:
            return dict(self._known[key])
        kept = self.cache / f"{key}.json" if self.cache else None
        if kept is not None and kept.exists():
            cells = json.loads(read_text(kept))
        else:
            cells = self._run(texts, script)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(cells, sort_keys=True), encoding="utf-8")
        self._known[key] = cells
        return dict(cells)

    def _run(self, texts: Mapping[str, str], script: str) -> dict[str, int]:
        self.runs += 1
        statistics = json.loads(yosys.report(texts, script, "stat -json"))
        return dict(statistics["design"]["num_cells_by_type"])


def measure_cells(cells: Mapping[str, int], target: Target) -> Area:
    """Return the area of a list of cells.

    SimulationError for a cell whose size is not known, since no area is better than a wrong one.

    >>> measure_cells({"$_NAND_": 10, "$_XOR_": 2, "$_DFF_P_": 1}, "gates")
    Area(logic=14.0, registers=5.67, flip_flops=1, blocks=0)
    >>> measure_cells({"LUT6": 5, "FDRE": 2, "DSP48E1": 1}, "xilinx")
    Area(logic=5.0, registers=2.0, flip_flops=2, blocks=1)
    """
    logic = registers = 0.0
    flip_flops = blocks = 0
    for cell, count in cells.items():
        if target == "gates":
            gate, is_register = _gate(cell)
            logic += 0 if is_register else gate * count
            registers += gate * count if is_register else 0
            flip_flops += count if is_register else 0
        elif cell.startswith(("FD", "MISTRAL_FF")):
            flip_flops += count
            registers += count
        elif cell in _LUT_WEIGHT:
            logic += _LUT_WEIGHT[cell] * count
        elif cell.startswith(_MULTIPLIER_BLOCKS):
            blocks += count
        elif not cell.startswith(("CARRY", "MUXF", "INV", "BUFG", "MISTRAL_CLKBUF")):
            raise SimulationError(f"yosys uses cell {cell!r}, whose area is not known")
    return Area(logic, registers, flip_flops, blocks)


def _gate(cell: str) -> tuple[float, bool]:
    """The area of a generic cell, and whether it is a register. SimulationError for an unknown cell."""
    name = cell.strip("$_").removeprefix("_")
    kind = name.split("_")[0]
    if kind in GATES:
        return GATES[kind], False
    if kind in ("DFF", "DFFE", "SDFF", "SDFFE", "SDFFCE"):
        return FLIP_FLOP + (ENABLE if kind.endswith("E") else 0) + (RESET if kind.startswith("S") else 0), True
    raise SimulationError(f"yosys uses cell {cell!r}, whose area is not known")


# -- a fitted model --------------------------------------------------------------------------------------------------

FEATURES: Final = (
    "unit",
    "multiplexer bits",
    "multiplier",
    "delay bits",
    "context bits",
    "value bits",
    "register bits",
)


def features(hardware: Hardware, shape: Shape) -> list[float]:
    """Return what the area of a unit depends on (``FEATURES``), as far as a linear model can express it.

    Multiplexer bits count inputs beyond the first, since an N-to-1 multiplexer is about N - 1 of two inputs. A
    multiplier grows with the square of the width and everything else linearly. FIFOs count as delay bits.
    """
    width = hardware.width
    inputs = sum(max(0, len(mux.sources) + mux.idle - 1) for mux in shape.muxes)
    inputs += sum(map(len, shape.register_wires))
    taps = {source for mux in shape.muxes for source in mux.sources if source.delay or source.gate >= 0}
    delays = sum(source.delay + (source.gate >= 0) for source in taps) + len(shape.gated_outputs)
    context = context_layout(shape, hardware.parameters).bits
    return [
        1.0,
        inputs * width,
        width * width if hardware.multiplies(shape) else 0,
        (delays + sum(shape.depth(k) for k in range(shape.operands)) * shape.lanes) * width,
        context * shape.contexts,
        shape.words(hardware.parameters) * width if shape.kind == "pe" else 0,
        shape.registers * width,
    ]


@dataclass(frozen=True, kw_only=True)
class AreaModel:
    """A linear model of a unit's area, and how many units it was fitted to.

    ``weights`` belong to ``FEATURES`` in order, in the target's unit of area. It is good for units like those it was
    fitted to: of the same width or within the range of widths, and with about the same ops.
    """

    target: Target
    weights: tuple[float, ...]
    #: Mean relative error on units that were left out of the fit.
    error: float
    units: int

    def predict(self, hardware: Hardware) -> float:
        """Return the area of an array, without synthesis. Linear in its unit variants."""
        return modelled_area(self.weights, hardware)


def modelled_area(weights: Sequence[float], hardware: Hardware) -> float:
    """Return the sum over an array's units of the areas that a linear model with these weights gives."""
    return float(
        sum(len(units) * np.dot(weights, features(hardware, shape)) for shape, units in hardware.places.items())
    )


def fit(samples: Sequence[tuple[Sequence[float], float]], target: Target) -> AreaModel:
    """Return the model fitted to (features, area) pairs by least squares; its error is that of leaving one out in turn.

    Costs one small least-squares problem per pair.

    ``samples`` need areas above 0, and more rows than ``FEATURES`` for a fit that says something; with fewer, least
    squares picks the weights of least norm.
    """
    table = np.array([row for row, _ in samples], dtype=float)
    areas = np.array([area for _, area in samples], dtype=float)
    # Relative errors count, so each row is scaled by its area.
    scaled = table / areas[:, None]

    def weights(keep: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.asarray(np.linalg.lstsq(scaled[keep], np.ones(int(keep.sum())), rcond=None)[0], dtype=np.float64)

    everyone = np.ones(len(areas), dtype=bool)
    errors = []
    for k in range(len(areas)):
        others = everyone.copy()
        others[k] = False
        if others.any():
            errors.append(abs(float(scaled[k] @ weights(others)) - 1))
    return AreaModel(
        target=target,
        weights=tuple(weights(everyone).tolist()),
        error=float(np.mean(errors)) if errors else 0.0,
        units=len(areas),
    )


_LENGTH = re.compile(r"Longest topological path in \S+ \(length=(\d+)\)")


def unit_levels(hardware: Hardware, shape: Shape) -> int:
    """Return the logic levels of one unit's longest path.

    Costs a synthesis; MissingExtra where Yosys is not installed.

    The result is not cached. SimulationError where Yosys fails or reports no path.
    """
    yosys.require()
    script = f"synth -flatten -top {yosys.UNIT}; opt_clean"
    text = yosys.report(yosys.unit_files(hardware, shape), script, "ltp -noff")
    length = _LENGTH.search(text)
    if length is None:
        raise SimulationError("yosys: ltp reports no longest path")
    return int(length.group(1))
