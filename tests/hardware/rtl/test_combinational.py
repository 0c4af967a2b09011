"""Rows of combinational ALUs: tiles without words of their own, registers at the source, settings that are wired."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests import hand_mappings
from tests.hand_mappings import make

from gridloom.archs.spec import build
from gridloom.dfg import DfgBuilder
from gridloom.errors import MappingError
from gridloom.flow.hardware import cosimulate_mapping, hardware_for
from gridloom.hardware.bitstream.encode import encode, fit_parameters
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.combinational import gated_at_source, looping
from gridloom.hardware.rtl.generate import rtl_files, used_primitives
from gridloom.hardware.rtl.layout import context_layout
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure


def named(hardware: Hardware, resources: set[int]) -> set[str]:
    return {hardware.arch.resource_names[r] for r in resources}


def carried() -> Mapping:
    """y[i] = 5 + x[i - 1] in row 1, with a register behind row 0: a cycle late, and so an iteration."""
    b = DfgBuilder("carried", "cma24")
    x = b.input("x")
    b.add("add", b.const(5), id="p")
    b.carry(x, "p", operand=1, distance=1, initial=[7])
    b.output("p", "y")
    dfg = b.build()
    five = next(node.id for node in dfg.nodes if node.op == "const")
    down = ["pe_1_0.out", "pe_1_0.s", "pe_0_0.s", "store_0.in0"]
    return make(
        dfg,
        "vpcma:3x2",
        1,
        {"x": ("load_0", 0), five: ("const_1", 0), "p": ("pe_1_0", 0), "y": ("store_0", 0)},
        {
            ("x", "p", 1): ([("load_0.out", 0), ("pe_0_0.n", 0), ("pe_1_0.in1", 1)], 0),
            (five, "p", 0): ([("const_1.fu", 0), ("pe_1_0.in0", 0)], 0),
            ("p", "y", 0): ([(name, 0) for name in down], 0),
        },
        settings={"pipeline": [1, 0]},
    )


def test_rows_have_no_loop_of_wires_and_no_constant_for_idle_switches() -> None:
    hardware = Hardware(build("vpcma:3x4"))
    assert looping(hardware.arch, hardware._incoming) == set()
    assert not any(mux.idle for unit in hardware.units for mux in unit.shape.muxes)


def test_links_of_a_crossbar_lie_on_loops() -> None:
    hardware = Hardware(build("hycube:2x2"))
    rings = {unit.wires[k] for unit in hardware.units for k, mux in enumerate(unit.shape.muxes) if mux.ring}
    found = looping(hardware.arch, hardware._incoming)
    # A link at the border may lead nowhere but to operands.
    assert found and found <= rings


def test_registered_outputs_close_no_loop() -> None:
    hardware = Hardware(build("torus:2x2"))
    assert looping(hardware.arch, hardware._incoming) == set()


def test_pipeline_registers_stand_once_at_the_source() -> None:
    hardware = Hardware(build("vpcma:3x4"))
    gated = gated_at_source(hardware.arch, hardware._incoming, hardware._is_wire)
    rows = [f"pe_{y}_{x}.{pin}" for y in (0, 1) for x in range(4) for pin in ("out", "n")]
    assert named(hardware, set(gated)) == set(rows)
    registers = sum(len(unit.shape.gated_outputs) for unit in hardware.units)
    assert registers == len(rows)
    assert not any(source.gate >= 0 for u in hardware.units for mux in u.shape.muxes for source in mux.sources)


def test_tiles_of_rows_keep_no_words() -> None:
    hardware = Hardware(build("vpcma:2x2"))
    assert "gl_values" not in used_primitives(hardware)
    names = {field.name for field in context_layout(hardware.units[0].shape, hardware.parameters).fields}
    assert names.isdisjoint({"in0.source", "in0.count", "in0.base"})
    load = hardware.unit_of_tile[next(t for t, tile in enumerate(hardware.arch.tiles) if tile.kind == "load")]
    assert "in0.source" in context_layout(load.shape, hardware.parameters).by_name


def test_hardware_for_a_carried_value_keeps_its_initial_values() -> None:
    configuration = configure(carried())
    parameters = fit_parameters(configuration, HardwareParameters())
    assert parameters.carries
    assert "gl_values" in used_primitives(Hardware(configuration.arch, parameters))
    assert HardwareParameters.from_json(parameters.to_json()) == parameters
    with pytest.raises(MappingError) as caught:
        encode(configuration, Hardware(configuration.arch, replace(parameters, carries=False)))
    assert str(caught.value) == "tile 'pe_1_0' needs 1 immediates and initial values; the hardware has 0: set carries"


@pytest.mark.tools
@pytest.mark.usefixtures("icarus")
def test_a_carried_value_reads_its_initial_value_first() -> None:
    assert cosimulate_mapping(carried()).findings == ()


def test_trimmed_rows_have_registers_where_their_mappings_switch_them_on() -> None:
    mapping = hand_mappings.vpcma_three_rows()
    hardware = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping, trim=[mapping])
    # Two ALU results and the word that runs up beside them are registered, and no setting is left to ask.
    assert any(source.delay for unit in hardware.units for mux in unit.shape.muxes for source in mux.sources)
    assert not any(unit.gates or unit.shape.gated_outputs for unit in hardware.units)
    assert ".gate_" not in rtl_files(hardware)["gridloom_array.v"]
    other = replace(mapping, settings={"pipeline": [1, 0, 0, 0, 0, 0, 0]})
    with pytest.raises(MappingError) as caught:
        encode(configure(other), hardware)
    assert str(caught.value) == "setting 1 is 0; the hardware is trimmed to mappings with 1"


def test_hardware_of_mappings_that_differ_keeps_the_setting() -> None:
    mapping = hand_mappings.vpcma_three_rows()
    other = replace(mapping, settings={"pipeline": [1, 1, 1, 0, 0, 0, 0]})
    trim = hardware_for(mapping.arch, HardwareParameters(), trim=[mapping, other]).parameters.trim
    assert trim is not None
    assert trim.settings == (1, 1, -1, 0, 0, 0, 0)
