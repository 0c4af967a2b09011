"""The generated Verilog: names, shared modules, lint, speed."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gridloom.archs import build
from gridloom.errors import ArchError
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.generate import rtl_files
from gridloom.hardware.rtl.names import unique_names, verilog_name
from gridloom.hardware.rtl.package import hardware_files
from gridloom.hardware.rtl.structure import Hardware

SMALL = (
    "mesh:2x2", "mesh:1x1", "chess:3x3,io=border", "hex:3x2,mul=checkerboard,fifo=2", "onehop:3x3,fifo=0",
    "torus:2x2", "torus:1x2,operands=2,regs=1", "torus:2x2,file=central,regs=3", "torus:2x2,regs=0,bus=none",
    "torus:2x3,memory=none", "streaming-engine:4", "streaming-engine:3,simd=64", "vpcma:2x2", "vpcma:3x4",
    "hycube:2x2", "hycube:2x3,regs=2", "hycube:1x2,regs=0,hops=1", "hycube:2x2,moves=false,memory=none",
)  # fmt: skip
LARGE = ("mesh:8x8", "onehop:8x8", "chess:8x8", "hex:8x8", "torus:4x4", "streaming-engine:16", "vpcma")


def lint(folder: Path, files: dict[str, str]) -> str:
    """What verilator has to say; nothing is waived."""
    for name, text in files.items():
        (folder / name).write_text(text)
    sources = [name for name in files if name.endswith(".v")]
    command = ["verilator", "--lint-only", "-Wall", "--top-module", "gridloom_array", *sources]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr


@pytest.fixture
def verilator() -> None:
    if not shutil.which("verilator"):
        pytest.skip("Verilator is not installed")


@pytest.mark.tools
@pytest.mark.usefixtures("verilator")
@pytest.mark.parametrize("text", SMALL)
def test_small_arrays_are_clean(text: str, tmp_path: Path) -> None:
    assert lint(tmp_path, rtl_files(Hardware(build(text)))) == ""


@pytest.mark.tools
@pytest.mark.parametrize("text", (*SMALL, *LARGE))
def test_a_second_linter_finds_nothing_either(text: str) -> None:
    pyslang = pytest.importorskip("pyslang")
    compilation = (pyslang.ast if hasattr(pyslang, "ast") else pyslang).Compilation()
    trees = pyslang.syntax if hasattr(pyslang, "syntax") else pyslang
    for name, body in rtl_files(Hardware(build(text))).items():
        compilation.addSyntaxTree(trees.SyntaxTree.fromText(body, name))
    assert [str(found.code) for found in compilation.getAllDiagnostics()] == []


@pytest.mark.tools
@pytest.mark.usefixtures("verilator")
@pytest.mark.parametrize(
    "parameters",
    [
        HardwareParameters(width=16, values=1, ops=("add", "sub", "mul", "and", "or", "xor", "shl", "lshr")),
        HardwareParameters(width=4, values=2, fifo=0, ops=("add", "mul")),
        HardwareParameters(width=8, values=9, fifo=7, stages=2, bypass=False, ops=("add",)),
        HardwareParameters(width=17, memory=True, memory_words=2, values=64),
    ],
)
def test_other_parameters_are_clean(parameters: HardwareParameters, tmp_path: Path) -> None:
    assert lint(tmp_path, rtl_files(Hardware(build("mesh:2x2"), parameters))) == ""


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.usefixtures("verilator")
@pytest.mark.parametrize("text", LARGE)
def test_large_arrays_are_clean(text: str, tmp_path: Path) -> None:
    assert lint(tmp_path, rtl_files(Hardware(build(text)))) == ""


@pytest.mark.parametrize("text", LARGE)
def test_files_of_large_arrays_hold_the_modules_they_are_named_after(text: str) -> None:
    files = hardware_files(Hardware(build(text)))
    assert all(any(f"module {Path(name).stem} " in line for line in body.splitlines()[:12])
               for name, body in files.items() if name.startswith(("tile", "gridloom")))  # fmt: skip


def test_names_are_those_of_the_array() -> None:
    text = rtl_files(Hardware(build("mesh:2x2")))["gridloom_array.v"]
    assert "tile_0 pe_1_0 (\n        .clk(clk), .rst(rst), .number(3'd3)," in text
    assert "wire [31:0] pe_0_0_to_pe_0_1;" in text
    assert verilog_name("pe_0_0>pe_0_1#2") == "pe_0_0_to_pe_0_1_lane_2"
    assert unique_names(["a.b", "a>b", "a_b"]) == {"a.b": "a_b", "a>b": "a_to_b", "a_b": "a_b_2"}


def test_tiles_that_look_alike_share_a_module() -> None:
    assert list(Hardware(build("mesh:8x8")).variants.values()) == ["tile_0", "tile_1", "tile_2"]
    assert len(Hardware(build("torus:4x4")).variants) == 1
    assert len(Hardware(build("mesh:4x4,mul=checkerboard")).variants) == 6


def test_the_file_list_names_every_module() -> None:
    files = hardware_files(Hardware(build("torus:2x2")))
    listed = files["testbench.f"].split()
    assert sorted(listed) == sorted(name for name in files if name.endswith(".v"))


def test_the_readme_has_every_field() -> None:
    text = hardware_files(Hardware(build("torus:2x2,regs=2")))["README.md"]
    for field in ("valid", "opcode", "in2.base", "r1.write", "access"):
        assert f"| `{field}` |" in text


def test_elastic_arrays_and_links_without_limit_have_no_hardware() -> None:
    with pytest.raises(ArchError, match="is elastic: hardware is generated for arrays that run by cycles"):
        Hardware(build("rdu:2x2"))
    with pytest.raises(ArchError, match="carries any number of values; hardware has wires"):
        Hardware(build("streaming-engine:4,level=paper"))


@pytest.mark.tools
@pytest.mark.usefixtures("verilator")
def test_buses_whose_names_verilog_does_not_take_get_others(tmp_path: Path) -> None:
    arch = build("torus:2x2")
    names = ("row 0", "pe_0_0")
    pools = tuple(replace(pool, name=name) for pool, name in zip(arch.pools, names, strict=True))
    hardware = Hardware(replace(arch, pools=pools))
    assert [bus.name for bus in hardware.buses] == ["row_0", "pe_0_0_2"]
    assert lint(tmp_path, rtl_files(hardware)) == ""
