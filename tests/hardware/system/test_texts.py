"""The one table of registers: Verilog, header and page say the same; and the Verilog is without a warning."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.hardware.system.jobs import configuration_of, job_of, small_system

from gridloom.archs.spec import build
from gridloom.errors import OptionError
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.system.header import header_text
from gridloom.hardware.system.image import image_of, with_sums
from gridloom.hardware.system.parameters import System, SystemParameters
from gridloom.hardware.system.registers import DESCRIPTOR, ERRORS, REGISTERS
from gridloom.hardware.system.top import SYSTEM, system_files, system_module

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "system.md").read_text(encoding="utf-8")


def test_the_page_lists_every_register_error_and_word_of_a_descriptor():
    for register in REGISTERS:
        assert f"| `0x{register.address:03x}` | `{register.name}` | {register.access} | {register.meaning} |" in PAGE
    for number, (name, meaning) in ERRORS.items():
        assert f"| {number} | `{name}` | {meaning} |" in PAGE
    for k, (name, meaning) in enumerate(DESCRIPTOR):
        assert f"| {4 * k} | `{name}` | {meaning} |" in PAGE


def test_header_and_verilog_have_the_addresses_of_the_table():
    header, verilog = header_text(small_system()), system_module(small_system())
    for register in REGISTERS:
        assert f"#define GL_{register.name} 0x{register.address:03x} " in header
        assert f".A_{register.name}(12'h{register.address:03x})" in verilog


def test_addresses_of_registers_do_not_overlap():
    addresses = [register.address for register in REGISTERS]
    assert addresses == sorted(set(addresses))


def files_of(name: str) -> dict[str, str]:
    hardware = Hardware(build(name), HardwareParameters(liveouts=True, contexts=4, memory_words=64))
    return system_files(System(hardware, SystemParameters(rows=64, liveouts=2)))


def slang_errors(files: dict[str, str]) -> list[str]:
    """The errors that slang finds, as codes; it also warns of numbers with and without a sign in one expression."""
    pyslang = pytest.importorskip("pyslang")
    compilation = (pyslang.ast if hasattr(pyslang, "ast") else pyslang).Compilation()
    trees = pyslang.syntax if hasattr(pyslang, "syntax") else pyslang
    for name, text in files.items():
        compilation.addSyntaxTree(trees.SyntaxTree.fromText(text, name))
    return [str(found.code) for found in compilation.getAllDiagnostics() if found.isError()]


@pytest.mark.tools
@pytest.mark.parametrize("name", ["torus:2x2", "mesh:2x2", "hycube:2x2", "chess:3x3"])
def test_a_second_linter_finds_no_error(name: str):
    assert slang_errors(files_of(name)) == []


@pytest.mark.tools
def test_a_wire_that_is_used_before_it_is_declared_is_found():
    files = files_of("torus:2x2")
    declared = "    reg draining_stop;\n"
    text = files["gl_control.v"]
    assert text.count(declared) == 1
    files["gl_control.v"] = text.replace(declared, "").replace("endmodule", declared + "endmodule")
    assert any("UsedBeforeDeclared" in code for code in slang_errors(files))


@pytest.mark.tools
@pytest.mark.parametrize("name", ["torus:2x2", "mesh:2x2", "hycube:2x2", "chess:3x3"])
def test_verilator_finds_nothing_to_say(name: str, tmp_path: Path):
    if shutil.which("verilator") is None:
        pytest.skip("Verilator is not installed")
    files = files_of(name)
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    command = ["verilator", "--lint-only", "-Wall", "--top-module", SYSTEM, *sorted(files)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_words_that_are_longer_than_those_of_the_bus_are_refused():
    hardware = Hardware(build("torus:2x2"), HardwareParameters(width=33))
    with pytest.raises(OptionError, match=r"^width: a system moves words of up to 32 bits, found 33$"):
        System(hardware)


def test_an_image_says_how_long_it_is_and_adds_up():
    words = job_of(3, small_system()).image.words()
    assert words[3] == len(words)
    assert with_sums(words[:-2]) == words
    image = image_of(configuration_of(3, "torus:2x2"), small_system())
    assert words[4] == len(image.packets) | len(image.entries) << 16
    assert len(words) == 10 + 2 * len(image.packets) + 4 * len(image.entries) + 2 * len(image.selectors)


def test_images_of_other_sizes_of_the_same_array_have_another_number():
    small = small_system()
    other = System(small.hardware, SystemParameters(banks=4, rows=256, liveouts=4))
    assert small.array_id != other.array_id


def test_every_module_is_instantiated():
    files = system_files(small_system())
    for name in files:
        module = name.removesuffix(".v")
        used = any(re.search(rf"\b{module}\b(?: #\(| \w+ \()", text) for other, text in files.items() if other != name)
        assert used or module == SYSTEM, module
