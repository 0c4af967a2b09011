"""Placement on an FPGA: reports in the array's names, boards, and the figures of a small array."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import hand_mappings

from gridloom.archs.spec import build, build_spec
from gridloom.errors import MissingExtra, OptionError, SimulationError
from gridloom.flow.hardware import cosimulate_mapping, hardware_for, operations
from gridloom.hardware.cosimulation import Bench, available
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.board import PINS, board_module, scan_inputs, scan_outputs
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.synthesis import ecp5
from gridloom.hardware.synthesis.boards import BOARDS, load_board
from gridloom.hardware.synthesis.critical import place_of

SEVEN = ("add", "sub", "mul", "and", "or", "xor", "shl")
STEP = {"cell": "pe_0_0.output_register.out_TRELLIS_FF_Q_3", "loc": [1, 1], "port": "Q"}
REPORT = {
    "utilization": {"TRELLIS_COMB": {"used": 7}, "TRELLIS_FF": {"used": 5}, "MULT18X18D": {"used": 1}},
    "fmax": {"clk": {"achieved": 125.0, "constraint": 150}},
    "critical_paths": [
        {"from": "posedge clk", "to": "<async>", "path": []},
        {
            "from": "posedge clk",
            "to": "posedge clk",
            "path": [
                {"type": "clk-to-q", "delay": 0.5, "from": STEP, "to": STEP},
                {"type": "routing", "delay": 1.0, "from": STEP, "to": STEP},
                {"type": "logic", "delay": 4.0, "from": {"cell": "pe_0_1.units.product_MULT18X18D_P0"}, "to": STEP},
            ],
        },
    ],
}


def test_a_report_is_read_in_the_names_of_the_array() -> None:
    found = ecp5.read_report(REPORT, Hardware(build("mesh:2x2")))
    assert (found.luts, found.ffs, found.dsps, found.brams, found.fmax_mhz) == (7, 5, 1, 0, 125.0)
    assert [str(step) for step in found.critical_path] == [
        "pe_0_0: output register (0.50 + 1.00 ns)",
        "pe_0_1: multiplier (4.00 + 0.00 ns)",
    ]


def test_a_report_without_a_clock_is_an_error() -> None:
    with pytest.raises(SimulationError, match="nextpnr reports no clock: the array has no register"):
        ecp5.read_report({"utilization": {}, "fmax": {}, "critical_paths": []}, Hardware(build("mesh:2x2")))


@pytest.mark.parametrize(
    ("cell", "place"),
    [
        ("pe_0_0.in1_fifo.word_LUT4_Z", "pe_0_0.in1"),
        ("pe_0_0.pe.operand[1].pick.ready_TRELLIS_FF_Q", "pe_0_0: operand 1"),
        ("array.pe_0_1.contexts.part[0].single.store_TRELLIS_FF_Q", "pe_0_1: context"),
        ("pe_0_1_to_pe_0_0_LUT4_Z", "pe_0_1>pe_0_0"),
        ("sequencer.left_CCU2C_S0", "sequencer"),
    ],
)
def test_cells_have_places_in_the_array(cell: str, place: str) -> None:
    assert place_of(cell, Hardware(build("mesh:2x2,fifo=2"))) == place


@pytest.mark.parametrize(
    ("cell", "place"),
    [
        ("pe_1_1.n_mux.eight.column[3].low_Z", "pe_1_1.n"),
        ("pe_1_1.w_LUT4_Z_19", "pe_1_1.w"),
        ("pe_1_1.n_gate_0_stage.stages_TRELLIS_FF_Q", "pe_1_1.n"),
        ("pe_1_1.in1_mux.eight.column[3].both_Z", "pe_1_1.in1"),
        ("pe_1_1.units.cma.unit.multiplier.whole_MULT18X18D_P0", "pe_1_1: multiplier"),
        ("pe_1_1.units.cma.unit.adder.pair[3].bits", "pe_1_1: function unit"),
        ("pe_1_1.out_gate_0_stage.stages_TRELLIS_FF_Q", "pe_1_1.out"),
        ("store_0.window.fire_TRELLIS_FF_Q", "store_0: firing window"),
        ("pe_0_1_e_LUT4_Z", "pe_0_1.e"),
    ],
)
def test_cells_of_rows_have_the_names_of_their_switches(cell: str, place: str) -> None:
    assert place_of(cell, Hardware(build("vpcma:3x3"))) == place


def test_placement_goes_by_timing_unless_tiles_without_registers_form_chains() -> None:
    mapping = hand_mappings.vpcma_three_rows()
    assert ecp5.has_open_chains(Hardware(mapping.arch))
    assert not ecp5.has_open_chains(hardware_for(mapping.arch, HardwareParameters(), trim=[mapping]))
    assert not any(ecp5.has_open_chains(Hardware(build(array))) for array in ("mesh:2x2", "hycube:2x2", "torus:2x2"))


@pytest.mark.parametrize("name", BOARDS)
def test_a_shipped_board_has_a_pin_for_every_port(name: str) -> None:
    text = load_board(name).constraints(PINS)
    assert all(f'LOCATE COMP "{port}" SITE' in text for port in PINS)
    sites = [line.split('"')[3] for line in text.splitlines() if line.startswith("LOCATE")]
    assert len(set(sites)) == len(PINS)


def test_an_unknown_board_is_refused() -> None:
    with pytest.raises(OptionError, match="no such board: 'nonesuch'; known: ulx3s-85f, or a JSON file"):
        load_board("nonesuch")


def test_a_board_file_without_a_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "board.json"
    path.write_text(json.dumps({"name": "mine"}))
    with pytest.raises(OptionError, match="expected an object with the keys name, device, options, clock_mhz"):
        load_board(str(path))


def test_missing_programs_name_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ecp5.sys, "executable", str(tmp_path / "python"))
    assert not ecp5.available()
    with pytest.raises(MissingExtra, match=r"yosys is not installed; install the extra 'fpga' \(pip install"):
        ecp5.place(Hardware(build("mesh:2x2")))


def test_the_scan_chain_reaches_every_port() -> None:
    hardware = Hardware(build("torus:2x2"), HardwareParameters(width=8))
    names = {name for name, _ in [*scan_inputs(hardware), *scan_outputs(hardware)]}
    assert {"cfg_packet", "run", "iterations", "finished", "host_address", "host_loaded"} <= names
    assert "gl_block_memory" in board_module(hardware)


def test_throughput_counts_the_ops_of_a_mapping_and_the_tiles_of_an_array() -> None:
    mapping = hand_mappings.mesh_fifo_2()
    hardware = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping)
    computing = sum(op.op_class in ("alu", "mul", "div", "mem") for op in mapping.dfg.ops)
    assert operations(hardware, mapping) == (computing, mapping.ii)
    assert operations(Hardware(build("mesh:2x2"))) == (4, 1)


def test_trimmed_hardware_has_the_ops_of_its_mapping_only() -> None:
    mapping = hand_mappings.mesh_fifo_2()
    whole = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping)
    kept = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping, trim=[mapping])
    inputs = [sum(len(mux.sources) for unit in h.units for mux in unit.shape.muxes) for h in (whole, kept)]
    assert inputs[1] < inputs[0]
    assert sum(unit.shape.ops.bit_count() for unit in kept.units) < sum(u.shape.ops.bit_count() for u in whole.units)
    assert HardwareParameters.from_json(json.loads(json.dumps(kept.parameters.to_json()))) == kept.parameters


@pytest.mark.tools
@pytest.mark.parametrize("name", ["mesh_fifo_2", "torus_spill", "vpcma_three_rows"])
def test_trimmed_hardware_runs_its_mapping(name: str) -> None:
    if not available("icarus"):
        pytest.skip("Icarus Verilog is not installed")
    mapping = hand_mappings.LEGAL[name]()
    hardware = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping, trim=[mapping])
    assert cosimulate_mapping(mapping, bench=Bench(hardware)).findings == ()


@pytest.mark.slow
@pytest.mark.tools
def test_a_small_mesh_fits_two_thousand_luts() -> None:
    if not ecp5.available():
        pytest.skip("Yosys or nextpnr is not installed")
    arch = build_spec({"family": "mesh", "rows": 2, "cols": 2, "fifo": 2, "latency": {"*": 2}}, "mesh")
    placed = ecp5.place(Hardware(arch, HardwareParameters(width=16, ops=SEVEN)))
    assert placed.luts <= 2000
    assert placed.dsps == 4
    assert placed.fmax_mhz > 100
    assert placed.critical_path
