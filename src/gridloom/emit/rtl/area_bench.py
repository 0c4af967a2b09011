"""The area benchmark: what topologies, FIFOs and size cost, next to the published figures of a 16-bit array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gridloom.arch.spec import build
from gridloom.emit.rtl.area import AreaModel, Synthesis, Target, features, fit
from gridloom.emit.rtl.parameters import HardwareParameters
from gridloom.emit.rtl.structure import Hardware

OPS: Final = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr")
SIDES: Final = (9, 18, 27, 36)
#: Published overheads of wires and multiplexers against the mesh without FIFOs and routing.
PUBLISHED: Final = {
    "gates": {"chess": "1.05", "onehop": "1.08", "growth 9x9 to 18x18": "3.8"},
    "intel": {"chess": "1.2-1.3", "onehop": "1.4-1.5"},
    "xilinx": {"chess": "1.2-1.3", "onehop": "1.4-1.5"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaRow:
    """One array of the benchmark."""

    array: str
    tiles: int
    width: int
    fifo: int
    area: float
    #: Against the mesh of the same size without FIFOs and routing.
    ratio: float
    register_share: float
    flip_flops: int
    #: Relative error of the fitted model.
    model_error: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True)
class AreaReport:
    """What the benchmark found."""

    target: Target
    rows: tuple[AreaRow, ...]
    #: Area of a flat 4 x 4 mesh over the sum of its units.
    flat_ratio: float | None
    growth: float
    model: AreaModel
    published: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Case:
    array: str
    bypass: bool = True
    width: int = 16


def hardware_of(array: str, *, width: int = 16, bypass: bool = True) -> Hardware:
    """The array as the benchmark builds it: eight ops, one immediate, numbers for up to 3,500 units."""
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
    """Run the benchmark. A minute or two of Yosys the first time, seconds with a filled cache."""
    synthesis = Synthesis(target, cache)
    samples: dict[tuple[float, ...], float] = {}
    measured: list[tuple[_Case, Hardware, Any]] = []
    for case in _cases(sides, target):
        if progress is not None:
            progress(case.array)
        hardware = hardware_of(case.array, width=case.width, bypass=case.bypass)
        measured.append((case, hardware, synthesis.array_area(hardware)))
        for shape in hardware.places:
            samples[tuple(features(hardware, shape))] = synthesis.shape_area(hardware, shape).total(target)
    model = fit(list(samples.items()), target)
    base = {
        (h.arch.rows, h.arch.spec.get("mul")): area.total(target)
        for case, h, area in measured
        if not case.bypass and h.arch.spec["family"] == "mesh"
    }
    rows = [_row(case, hardware, area, target, base, model) for case, hardware, area in measured]
    return AreaReport(
        target=target,
        rows=tuple(rows),
        flat_ratio=_flat_ratio(synthesis, target) if flat else None,
        growth=base[sides[1], None] / base[sides[0], None] if len(sides) > 1 else 1.0,
        model=model,
        published=dict(PUBLISHED[target]),
    )


def _cases(sides: Sequence[int], target: Target) -> list[_Case]:
    cases = []
    # An FPGA multiplies in blocks of its own, which a count of LUTs leaves out.
    hard = target != "gates"
    for side in sides:
        size = f"{side}x{side},operands=2"
        for rest in ("", ",mul=none") if hard else ("",):
            cases += [_Case(f"{family}:{size},fifo=0{rest}", bypass=False) for family in ("mesh", "chess", "onehop")]
        cases += [_Case(f"{family}:{size},fifo=0") for family in ("mesh", "chess", "onehop", "hex")]
        cases += [_Case(f"mesh:{size},fifo={depth}") for depth in (1, 2, 3, 4)]
    # The published 4-bit array: 3,036 elements, half of which multiply.
    return [*cases, *(_Case(f"mesh:46x66,operands=2,fifo=0,mul={mul}", width=4) for mul in ("checkerboard", "all"))]


def _row(
    case: _Case, hardware: Hardware, area: Any, target: Target, base: dict[Any, float], model: AreaModel
) -> AreaRow:
    total = area.total(target)
    arch = hardware.arch
    key = arch.rows, arch.spec.get("mul")
    return AreaRow(
        array=arch.name + ("" if case.bypass else " without routing"),
        tiles=len(arch.tiles),
        width=case.width,
        fifo=arch.tiles[0].fifo or 0,
        area=round(total, 1),
        ratio=round(total / base[key], 4) if key in base else 0.0,
        register_share=round(area.register_share, 4),
        flip_flops=area.flip_flops,
        model_error=round(model.predict(hardware) / total - 1, 4),
    )


def _flat_ratio(synthesis: Synthesis, target: Target) -> float:
    hardware = hardware_of("mesh:4x4,operands=2,fifo=0")
    return synthesis.flat_area(hardware).total(target) / synthesis.array_area(hardware).total(target)
