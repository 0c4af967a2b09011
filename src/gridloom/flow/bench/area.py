"""The area benchmark: what topologies, FIFOs and size cost, next to the published figures of a 16-bit array.

``gridloom area`` runs it. All arrays are grids of tiles with eight ops; each is synthesised unit by unit.

An array is synthesised unit by unit: tiles of one shape are synthesised once and counted, which is what makes arrays of
a thousand tiles possible. The sum leaves out what a flat synthesis could share between units; ``flat_ratio`` measures
how much that is on a small array. The units also give the samples to which the linear area model is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from gridloom.archs.spec import build
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.synthesis.area import Area, AreaModel, Synthesis, Target, features, fit

OPS: Final = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr")
SIDES: Final = (9, 18, 27, 36)
TOPOLOGIES: Final = ("mesh", "chess", "onehop")
#: Which tiles of the 4-bit array multiply: every other tile, all of them, none.
MULTIPLIERS: Final = ("checkerboard", "all", "none")
#: Published overheads of wires and multiplexers against the mesh without FIFOs and routing.
PUBLISHED: Final = {
    "gates": {"chess": "1.05", "onehop": "1.08", "growth 9x9 to 18x18": "3.8"},
    "intel": {"chess": "1.2-1.3", "onehop": "1.4-1.5"},
    "xilinx": {"chess": "1.2-1.3", "onehop": "1.4-1.5"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaRow:
    """One array of the benchmark, with what it is and what was measured."""

    array: str
    family: str
    rows: int
    tiles: int
    width: int
    fifo: int
    #: Which tiles multiply: all, checkerboard or none.
    mul: str
    #: True when values may pass through tiles on their way.
    routing: bool
    #: True when an FPGA multiplies in LUTs instead of multiplier blocks.
    soft: bool
    area: float
    #: Area over that of the mesh of the same size without FIFOs and routing; 0: there is no such mesh.
    ratio: float
    register_share: float
    flip_flops: int
    #: Multiplier blocks of an FPGA.
    blocks: int
    #: Relative error of the fitted model on this array.
    model_error: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True)
class AreaReport:
    """The result of the benchmark: its rows, the fitted model and the published figures beside them."""

    target: Target
    rows: tuple[AreaRow, ...]
    #: Area of a flat 4 x 4 mesh over the sum of its units; None: not measured.
    flat_ratio: float | None
    #: Area of the second size over that of the first.
    growth: float
    model: AreaModel
    published: dict[str, str]

    def select(self, **wanted: object) -> list[AreaRow]:
        """Return the rows whose fields have these values, the smallest array first."""
        rows = [row for row in self.rows if all(getattr(row, name) == value for name, value in wanted.items())]
        return sorted(rows, key=lambda row: (row.tiles, row.fifo))


class _Case(NamedTuple):
    """An array to synthesise, and how."""

    array: str
    bypass: bool = True
    width: int = 16
    soft: bool = False


class _Measured(NamedTuple):
    """An array with its hardware and the area that was measured."""

    case: _Case
    hardware: Hardware
    area: Area


def hardware_of(array: str, *, width: int = 16, bypass: bool = True) -> Hardware:
    """Return an array's hardware as the benchmark has it: eight ops, one immediate, numbers for up to 3,500 units."""
    parameters = HardwareParameters(width=width, values=1, stages=15, units=3500, ops=OPS, bypass=bypass)
    return Hardware(build(array), parameters)


def bench_area(
    target: Target = "gates",
    *,
    cache: Path | None = None,
    sides: Sequence[int] = SIDES,
    flat: bool = True,
    progress: Callable[[str], None] | None = None,
) -> AreaReport:
    """Run the benchmark over grids of the given side lengths and return its report.

    It takes minutes of Yosys the first time (most for xilinx), seconds with a filled ``cache``. ``flat`` adds one flat
    synthesis to compare with; ``progress`` is called with the name of each array. MissingExtra without Yosys.
    """
    synthesis = {soft: Synthesis(target, cache, blocks=not soft) for soft in (False, True)}
    samples: dict[tuple[float, ...], float] = {}
    measured: list[_Measured] = []
    for case in _cases(sides, target):
        if progress is not None:
            progress(case.array)
        hardware = hardware_of(case.array, width=case.width, bypass=case.bypass)
        measured.append(_Measured(case, hardware, synthesis[case.soft].array_area(hardware)))
        # Multipliers in LUTs would be other samples for the same features.
        for shape in hardware.places if not case.soft else ():
            samples[tuple(features(hardware, shape))] = synthesis[False].shape_area(hardware, shape).total(target)
    model = fit(list(samples.items()), target)
    base = {
        (m.hardware.arch.rows, m.case.soft): m.area.total(target)
        for m in measured
        if not m.case.bypass and m.case.array.startswith("mesh:")
    }
    return AreaReport(
        target=target,
        rows=tuple(_row(m, target, base, model) for m in measured),
        flat_ratio=_flat_ratio(synthesis[False], target) if flat else None,
        growth=base[sides[1], False] / base[sides[0], False] if len(sides) > 1 else 1.0,
        model=model,
        published=dict(PUBLISHED[target]),
    )


def _cases(sides: Sequence[int], target: Target) -> list[_Case]:
    """Return the arrays of the benchmark: topologies with and without routing, FIFO depths, and the 4-bit array."""
    cases = []
    for side in sides:
        size = f"{side}x{side},operands=2"
        # What an FPGA would take without its multiplier blocks is shown beside what it takes with them.
        for soft in (False,) if target == "gates" else (False, True):
            cases += [_Case(f"{family}:{size},fifo=0", bypass=False, soft=soft) for family in TOPOLOGIES]
        cases += [_Case(f"{family}:{size},fifo=0") for family in (*TOPOLOGIES, "hex")]
        cases += [_Case(f"mesh:{size},fifo={depth}") for depth in (1, 2, 3, 4)]
    # The published 4-bit array: 3,036 elements, half of which multiply.
    return [*cases, *(_Case(f"mesh:46x66,operands=2,fifo=0,mul={mul}", width=4) for mul in MULTIPLIERS)]


def _row(measured: _Measured, target: Target, base: dict[tuple[int, bool], float], model: AreaModel) -> AreaRow:
    """Return the row of a measured array, with its ratio to the plain mesh of the same size."""
    case, hardware, area = measured.case, measured.hardware, measured.area
    total, arch = area.total(target), hardware.arch
    key = arch.rows, case.soft
    predicted = 0.0 if case.soft else model.predict(hardware) / total - 1
    return AreaRow(
        array=arch.name + ("" if case.bypass else " without routing") + (", multipliers in LUTs" if case.soft else ""),
        family=arch.family,
        rows=arch.rows,
        tiles=len(arch.tiles),
        width=case.width,
        fifo=arch.tiles[0].fifo or 0,
        mul=str(arch.spec.get("mul", "all") or "none"),
        routing=case.bypass,
        soft=case.soft,
        area=round(total, 1),
        ratio=round(total / base[key], 4) if key in base else 0.0,
        register_share=round(area.register_share, 4),
        flip_flops=area.flip_flops,
        blocks=area.blocks,
        model_error=round(predicted, 4),
    )


def _flat_ratio(synthesis: Synthesis, target: Target) -> float:
    """Return the area of a 4 x 4 mesh that is synthesised as a whole, over the sum of its units."""
    hardware = hardware_of("mesh:4x4,operands=2,fifo=0")
    return synthesis.flat_area(hardware).total(target) / synthesis.array_area(hardware).total(target)
