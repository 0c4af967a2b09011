"""Area by synthesis and the model fitted to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.archs import build
from gridloom.errors import MissingExtra, SimulationError
from gridloom.flow.bench.area import bench_area, hardware_of
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.synthesis import yosys
from gridloom.hardware.synthesis.area import FEATURES, Area, Synthesis, features, fit, measure_cells

needs_yosys = pytest.mark.skipif(not yosys.available(), reason="Yosys is not installed")


def test_cells_have_the_areas_of_the_library() -> None:
    found = measure_cells({"$_NAND_": 10, "$_XOR_": 2, "$_DFF_P_": 3, "$_SDFFE_PP0P_": 1}, "gates")
    assert found.logic == pytest.approx(14)
    assert found.registers == pytest.approx(3 * 5.67 + 5.67 + 2.33 + 1.33)
    assert found.flip_flops == 4
    assert 0 < found.register_share < 1


def test_a_cell_of_unknown_size_is_an_error() -> None:
    with pytest.raises(SimulationError, match=r"yosys uses cell '\$_DLATCH_P_', whose area is not known"):
        measure_cells({"$_DLATCH_P_": 1}, "gates")
    with pytest.raises(SimulationError, match="yosys uses cell 'RAMB36E1', whose area is not known"):
        measure_cells({"RAMB36E1": 1}, "xilinx")


def test_multiplier_blocks_of_an_fpga_are_counted_apart() -> None:
    assert measure_cells({"LUT6": 5, "FDRE": 2, "CARRY4": 3, "DSP48E1": 2}, "xilinx") == Area(5, 2, 2, 2)
    assert measure_cells({"MISTRAL_ALUT6": 5, "MISTRAL_FF": 2, "MISTRAL_MUL27X27": 1}, "intel") == Area(10, 2, 2, 1)
    assert Area(1, 1, 1, 2).times(3) + Area(0, 0, 0, 1) == Area(3, 3, 3, 7)


def test_areas_add_up() -> None:
    assert Area(1, 2, 3).times(2) + Area(1, 1, 1) == Area(3, 5, 7)


def test_the_model_finds_the_weights_of_linear_areas_and_reports_its_error() -> None:
    samples = [((1.0, k, k * k % 7), 3 + 2 * k + 5 * (k * k % 7)) for k in range(12)]
    model = fit(samples, "gates")
    assert model.weights == pytest.approx((3, 2, 5))
    assert model.error < 1e-9
    noisy = [(row, value * (1.2 if k % 2 else 1)) for k, (row, value) in enumerate(samples)]
    assert 0.05 < fit(noisy, "gates").error < 0.5


def test_missing_yosys_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match="yosys is not installed; install the package 'yosys'"):
        Synthesis()


@pytest.mark.tools
@needs_yosys
def test_units_are_synthesised_once_and_kept_by_content(tmp_path: Path) -> None:
    first = Synthesis("gates", tmp_path)
    small = first.array_area(hardware_of("torus:2x2,operands=2,regs=1,contexts=1", width=2))
    # The sequencer, and a tile for all four.
    assert first.runs == 2
    again = Synthesis("gates", tmp_path)
    assert again.array_area(hardware_of("torus:2x2,operands=2,regs=1,contexts=1", width=2)) == small
    assert again.runs == 0


@pytest.mark.tools
@pytest.mark.slow
@needs_yosys
def test_an_fpga_multiplies_in_its_blocks_unless_asked_not_to(tmp_path: Path) -> None:
    hardware = hardware_of("mesh:2x2,operands=2,fifo=0", width=16, bypass=False)
    hard, soft = (Synthesis("intel", tmp_path, blocks=blocks).array_area(hardware) for blocks in (True, False))
    assert (hard.blocks, soft.blocks) == (4, 0)
    assert hard.logic < soft.logic


@pytest.mark.tools
@pytest.mark.slow
@needs_yosys
def test_fifos_links_and_multipliers_cost_area(tmp_path: Path) -> None:
    synthesis = Synthesis("gates", tmp_path)

    def total(text: str, bypass: bool = True) -> float:
        return synthesis.array_area(hardware_of(text, width=4, bypass=bypass)).total("gates")

    mesh = total("mesh:3x3,operands=2,fifo=0")
    assert total("mesh:3x3,operands=2,fifo=0", bypass=False) < mesh < total("mesh:3x3,operands=2,fifo=1")
    assert mesh < total("onehop:3x3,operands=2,fifo=0")
    assert total("mesh:3x3,operands=2,fifo=0,mul=none") < mesh


@pytest.mark.tools
@pytest.mark.slow
@needs_yosys
def test_the_sum_over_units_is_close_to_a_flat_array(tmp_path: Path) -> None:
    report = bench_area("gates", cache=tmp_path, sides=(9, 18))
    assert report.flat_ratio is not None
    assert 0.95 < report.flat_ratio < 1.05
    assert 3.8 < report.growth < 4.2
    assert report.model.error < 0.05
    assert all(abs(row.model_error) < 0.1 for row in report.rows)


@pytest.mark.parametrize(
    ("array", "ops", "multiplies"),
    [
        ("mesh:2x2", ("add", "mul"), True),
        ("mesh:2x2", ("add", "sub"), False),
        ("vpcma", ("add", "mult"), True),
        ("vpcma", ("add", "sub"), False),
        ("vpcma", None, True),
    ],
)
def test_a_multiplier_is_told_by_the_op_of_the_domain(
    array: str, ops: tuple[str, ...] | None, multiplies: bool
) -> None:
    hardware = Hardware(build(array), HardwareParameters(ops=ops))
    column = FEATURES.index("multiplier")
    assert any(features(hardware, shape)[column] for shape in hardware.places) == multiplies


def test_a_caller_may_change_the_cells_it_got(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yosys, "require", lambda: None)
    monkeypatch.setattr(yosys, "version", lambda: "none")
    synthesis = Synthesis()
    monkeypatch.setattr(synthesis, "_run", lambda _texts, _script: {"$_NAND_": 3})
    for _ in range(3):
        cells = synthesis.cells({}, "top")
        assert cells == {"$_NAND_": 3}
        cells.clear()
