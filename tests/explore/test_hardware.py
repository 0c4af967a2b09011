"""The fitted hardware model: shipped with its errors, and of the right order everywhere."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.explore.hardware import LEVEL_FEATURES, OPS, cost, load_hardware_model
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.synthesis.area import FEATURES, Synthesis, unit_levels
from gridloom.hardware.synthesis.yosys import available


def test_the_model_says_how_it_was_made_and_how_good_it_is() -> None:
    model = load_hardware_model()
    assert model["made_by"].startswith("python -m benchmarks run speed/area-model")
    assert model["area"]["features"] == list(FEATURES)
    assert model["levels"]["features"] == list(LEVEL_FEATURES)
    assert 0 < model["area"]["error"] < 0.05
    assert 0 < model["levels"]["error"] < 0.10


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("mesh:4x4,fifo=0", "mesh:4x4,fifo=2"),
        ("mesh:4x4,fifo=0", "chess:4x4,fifo=0"),
        ("chess:4x4,fifo=0", "onehop:4x4,fifo=0"),
        ("mesh:4x4,fifo=0,mul=checkerboard", "mesh:4x4,fifo=0"),
        ("torus:4x4,regs=2,contexts=8", "torus:4x4,regs=4,contexts=8"),
        ("torus:4x4,regs=4,contexts=8", "torus:4x4,regs=4,contexts=16"),
    ],
)
def test_more_hardware_is_larger(small: str, large: str) -> None:
    a, b = cost(build(small)), cost(build(large))
    assert a is not None
    assert b is not None
    assert a.area < b.area


def test_area_grows_with_the_tiles() -> None:
    nine, eighteen = cost(build("mesh:9x9,fifo=1")), cost(build("mesh:18x18,fifo=1"))
    assert nine is not None
    assert eighteen is not None
    assert 3.7 < eighteen.area / nine.area < 4.3
    assert nine.levels == eighteen.levels


@pytest.mark.tools
@pytest.mark.skipif(not available(), reason="yosys is not installed")
def test_the_model_is_near_a_synthesis() -> None:
    arch = build("mesh:3x3,operands=2,fifo=1,mul=none")
    hardware = Hardware(arch, HardwareParameters(width=8, values=2, stages=15, ops=OPS))
    price = cost(arch, width=8)
    assert price is not None
    measured = Synthesis("gates").array_area(hardware).total("gates")
    assert abs(price.area / measured - 1) < 0.15
    levels = max(unit_levels(hardware, shape) for shape in hardware.places)
    assert abs(price.levels / levels - 1) < 0.3
