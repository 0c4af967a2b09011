"""Verilog of arrays with SIMD lanes: one control and several data paths."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.hardware.rtl.test_generate import lint

from gridloom.archs import build
from gridloom.archs.described.graph_form import describe_graph
from gridloom.errors import ArchError, OptionError
from gridloom.explore.hardware import cost
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.board import board_module, scan_inputs
from gridloom.hardware.rtl.generate import rtl_files, used_primitives
from gridloom.hardware.rtl.layout import context_layout
from gridloom.hardware.rtl.package import readme
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.system.parameters import System


def hardware(simd: int | None, **parameters: object) -> Hardware:
    text = "streaming-engine:3" + (f",simd={simd}" if simd else "")
    return Hardware(build(text), HardwareParameters(**parameters))  # type: ignore[arg-type]


def test_lanes_follow_from_the_words_of_the_hardware() -> None:
    assert [hardware(128, width=width).simd_lanes for width in (8, 16, 32, 64)] == [16, 8, 4, 2]
    assert {hardware(128, width=width).vector_width for width in (8, 16, 32, 64)} == {128}


def test_words_that_do_not_share_the_data_path_are_refused() -> None:
    with pytest.raises(ArchError) as error:
        hardware(128, width=24)
    assert str(error.value) == "simd: 128 bits hold no whole number of words of 24 bits"


def test_a_tile_has_one_context_memory_and_a_data_path_for_each_lane() -> None:
    modules = rtl_files(hardware(128))
    for name in (name for name in modules if name.startswith("tile_")):
        text = modules[name]
        assert [text.count(part) for part in ("gl_context_memory #(", "gl_simd_units #(", "gl_simd_pe #(")] == [1, 1, 1]
        assert len(re.findall(r"\.LANES\(4\)", text)) == 2
    assert "module gridloom_array" in modules["gridloom_array.v"]
    assert modules["gridloom_array.v"].count("gl_sequencer #(") == 1


def test_one_lane_is_the_hardware_without_a_simd_width() -> None:
    wide, plain = rtl_files(hardware(32)), rtl_files(hardware(None))
    assert not {"gl_simd_units", "gl_simd_pe"} & set(used_primitives(hardware(32)))
    named = {name: text.replace("streaming-engine:3,simd=32", "streaming-engine:3") for name, text in wide.items()}
    assert named == plain


def test_the_width_changes_no_bit_of_a_context() -> None:
    layouts = [
        [context_layout(shape, built.parameters) for shape in built.variants]
        for built in map(hardware, (None, 64, 512))
    ]
    assert layouts[0] == layouts[1] == layouts[2]


@pytest.mark.tools
@pytest.mark.parametrize("parameters", [{}, {"memory": True}, {"width": 8}])
def test_lint_finds_nothing(parameters: dict[str, object], tmp_path: Path) -> None:
    if not shutil.which("verilator"):
        pytest.skip("Verilator is not installed")
    assert lint(tmp_path, rtl_files(hardware(64, **parameters))) == ""


def test_the_readme_says_how_lanes_lie_in_words() -> None:
    text = readme(hardware(128))
    assert "words of 32 bits in 4 SIMD lanes" in text
    assert "that of lane 0 in its lowest bits" in text
    assert "SIMD" not in readme(hardware(None))


def test_the_scan_chain_of_a_board_has_the_words_of_all_lanes() -> None:
    widths = {name: width for name, width in scan_inputs(hardware(128)) if name.endswith("_word")}
    assert set(widths.values()) == {128}
    assert "t_0_stream_0_word" in board_module(hardware(128))


def test_lanes_with_memories_have_no_board() -> None:
    with pytest.raises(ArchError) as error:
        board_module(hardware(128, memory=True))
    assert str(error.value) == (
        "array 'streaming-engine:3,simd=128': 4 SIMD lanes have a memory each, a board has one; leave memory=true out, "
        "or take one lane"
    )


def test_lanes_have_no_system() -> None:
    with pytest.raises(OptionError) as error:
        System(hardware(128))
    assert str(error.value) == "simd: a system moves one word at a time, found 4 SIMD lanes"


def test_the_area_model_does_not_guess_at_lanes() -> None:
    assert cost(build("streaming-engine:3,simd=128")) is None
    assert cost(build("streaming-engine:3,simd=32")) == cost(build("streaming-engine:3"))


def test_lanes_beside_registers_are_refused() -> None:
    described = describe_graph(build("torus:2x2,file=central"))
    described["graph"]["simd"] = 64
    with pytest.raises(ArchError) as error:
        Hardware(build(described))
    assert str(error.value) == (
        "array 'array:2x2' has SIMD lanes beside registers or banks; no hardware is generated for it"
    )
