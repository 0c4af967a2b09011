"""Standard cells: what is read of netlists and reports, refusals, and real runs of Yosys and OpenSTA."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from gridloom.archs.spec import build
from gridloom.errors import MissingExtra, OptionError, SimulationError
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.synthesis import standard_cells
from gridloom.hardware.synthesis.standard_cells import (
    FANOUT,
    CellDesign,
    array_design,
    buffer_nets,
    core_design,
    find_liberty,
    read_cells,
    synthesise,
)

OSU018 = Path(standard_cells.LIBRARIES["osu018"])
LIBERTY = """library (tiny) {
  cell (NAND2X1) {
    /* two inputs */
    area : 24;
    pin(A) { direction : input; }
    pin(B) { direction : input; }
    pin(Y) { direction : output; function : "(!(A B))"; }
  }
  cell ("DFFPOSX1") {
    ff (IQ, IQN) { clocked_on : "CLK"; }
    area : 96.0;
    pin(Q) { direction : output; function : "IQ"; }
  }
  cell (INVX1) { area : 16; pin(A) { direction : input; } pin(Y) { direction : output; function : "(!A)"; } }
  cell (BUFX2) { area : 24; pin(A) { direction : input; } pin(Y) { direction : output; function : "A"; timing() { } } }
  cell (BUFX4) { area : 32; pin(A) { direction : input; } pin(Y) { direction : output; function : "(A)"; } }
}
"""
NETLIST = {"modules": {TOP: {"cells": {
    r"$flatten\pe_0_0.\units.$abc$1$auto$2": {"type": "NAND2X1"},
    r"$flatten\pe_0_1.\units.$abc$1$auto$2": {"type": "NAND2X1"},
    r"$flatten\pe_0_0.$auto$3": {"type": "DFFPOSX1"},
    "$abc$9$auto$4": {"type": "NAND2X1"},
    "$auto$5": {"type": "gl_memory_macro"},
}}}}  # fmt: skip
MEMORIES = {"modules": {"top": {"cells": {
    "large": {"type": "$mem_v2", "parameters": {"SIZE": f"{256:b}", "WIDTH": f"{32:b}"}},
    "small": {"type": "$mem_v2", "parameters": {"SIZE": f"{4:b}", "WIDTH": f"{8:b}"}},
}}}}  # fmt: skip
TIMING = r"""
   0.5000    0.5000 ^ $flatten\\pe_0_0.\\contexts.$auto$ff$1/Q (DFFPOSX1)
   1.0000    1.5000 v $flatten\\pe_0_0.\\units.$abc$1$auto$2/Y (NAND2X1)
   0.2500    1.7500 ^ $flatten\\pe_0_0.\\units.$abc$1$auto$3/Y (NAND2X1)
             8.0000   slack (MET)

Total                  2.0e-03   1.0e-03   5.0e-06   3.005e-03 100.0%
"""


def read(timing: str = TIMING, hardware: Hardware | None = None) -> standard_cells.CellResult:
    design = CellDesign(name="mesh:2x2", texts={}, top=TOP, hardware=hardware)
    return standard_cells._result(
        design, Path("tiny.lib"), read_cells(LIBERTY), NETLIST, MEMORIES, timing, 0.1, (1.0, 0.5), ()
    )


def test_cells_and_buffers_are_read_from_a_liberty_file() -> None:
    cells = read_cells(LIBERTY)
    assert {name: cell.area for name, cell in cells.items()} == {
        "NAND2X1": 24.0, "DFFPOSX1": 96.0, "INVX1": 16.0, "BUFX2": 24.0, "BUFX4": 32.0
    }  # fmt: skip
    assert {name: cell.buffer for name, cell in cells.items() if cell.buffer} == {
        "BUFX2": ("A", "Y"), "BUFX4": ("A", "Y")
    }  # fmt: skip


@pytest.mark.parametrize("count", [16, 17, 256, 257, 1000])
def test_no_net_drives_more_inputs_than_it_may(count: int) -> None:
    def cell(kind: str, **wires: int) -> dict[str, object]:
        directions = {port: "output" if port in "YQ" else "input" for port in wires}
        return {"type": kind, "port_directions": directions, "connections": {p: [b] for p, b in wires.items()}}

    cells = {r"$flatten\pe_0_0.$auto$1": cell("DFFPOSX1", CLK=1, D=3, Q=2)}
    cells |= {f"$abc${k}": cell("NAND2X1", A=2, B=3, Y=10 + k) for k in range(count)}
    module = {"ports": {"clk": {"bits": [1]}, "in": {"bits": [3]}}, "cells": dict(cells)}
    buffer_nets(module, read_cells(LIBERTY))
    fanout: dict[int, int] = {}
    for placed in module["cells"].values():
        for port, (bit,) in placed["connections"].items():
            fanout[bit] = fanout.get(bit, 0) + (placed["port_directions"][port] == "input")
    added = [name for name in module["cells"] if name not in cells]
    assert max(f for bit, f in fanout.items() if bit not in (1, 3)) <= FANOUT
    assert bool(added) == (count > FANOUT) and all(name.startswith(r"$flatten\pe_0_0.$buffer$") for name in added)

    def source(bit: int) -> int:
        """The net at the root of a tree of buffers."""
        by = [c for c in module["cells"].values() if c["type"] == "BUFX4" and c["connections"]["Y"] == [bit]]
        return source(by[0]["connections"]["A"][0]) if by else bit

    assert {source(module["cells"][f"$abc${k}"]["connections"]["A"][0]) for k in range(count)} == {2}


def test_area_is_the_sum_over_cells_and_belongs_to_parts_of_the_array() -> None:
    found = read(hardware=Hardware(build("mesh:2x2")))
    assert (found.area, found.cells, round(found.register_share, 3)) == (168.0, 4, round(96 / 168, 3))
    shares = {part: round(share * 168) for part, share in found.parts.items()}
    assert shares == {"links and control": 96, "function unit": 48, "around the tiles": 24}


def test_macros_are_counted_in_bits_and_small_memories_are_none() -> None:
    assert read().macro_bits == 256 * 32


def test_clock_and_power_are_those_of_the_clock_that_is_reached() -> None:
    found = read(hardware=Hardware(build("mesh:2x2")))
    assert found.period == 2.0 and found.fmax_mhz == 500.0
    # Power of gates grows with the clock, from one of 10 ns to one of 2 ns; leakage does not.
    assert found.power_mw == pytest.approx(5 * 3.0 + 0.005)
    assert [str(step) for step in found.critical_path] == [
        "pe_0_0: context (0.50 + 0.00 ns)",
        "pe_0_0: function unit (1.25 + 0.00 ns)",
    ]


def test_a_report_without_a_path_is_an_error() -> None:
    with pytest.raises(SimulationError, match="OpenSTA reports no path from register to register"):
        read("No paths found.\n")


def test_an_unknown_library_and_a_missing_one_say_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="no such library: 'tsmc'; known: osu018, osu035, osu050"):
        find_liberty("tsmc")
    monkeypatch.setattr(standard_cells, "LIBRARIES", {"osu018": "/nowhere.lib"})
    with pytest.raises(MissingExtra, match=r"install the package 'qflow-tech-osu018'.*or name a liberty file"):
        find_liberty("osu018")
    assert find_liberty("osu018", Path("mine.lib")) == Path("mine.lib")


def test_missing_programs_name_their_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(standard_cells.yosys, "require", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingExtra, match="OpenSTA is not installed; install the package 'opensta'"):
        synthesise(array_design(Hardware(build("mesh:2x2"))), tmp_path / "x.lib")


@pytest.fixture
def library() -> Path:
    for program in ("yosys", "sta"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if not OSU018.is_file():
        pytest.skip("qflow-tech-osu018 is not installed")
    return OSU018


@pytest.mark.tools
@pytest.mark.slow
def test_an_array_has_the_area_that_yosys_adds_up(library: Path, tmp_path: Path) -> None:
    hardware = Hardware(build("mesh:2x2"), HardwareParameters(width=8, ops=("add", "sub", "and")))
    found = synthesise(array_design(hardware), library, folder=tmp_path)
    total = re.search(r"Chip area for module .*: ([\d.]+)", (tmp_path / "area.txt").read_text())
    assert total and found.area == pytest.approx(float(total[1]), rel=1e-6)
    assert found.critical_path[0].place.startswith("pe_") or found.critical_path[0].place == "sequencer"
    assert 0 < found.period < 20 and found.power_mw > 0 and sum(found.parts.values()) == pytest.approx(1)
    assert {path.name for path in found.files} == {"netlist.json", "netlist.v"}


@pytest.mark.tools
@pytest.mark.slow
def test_a_multiplier_and_wider_words_take_more_and_are_slower(library: Path) -> None:
    def measure(width: int, *ops: str) -> standard_cells.CellResult:
        parameters = HardwareParameters(width=width, ops=ops)
        return synthesise(array_design(Hardware(build("mesh:1x2"), parameters)), library)

    narrow, wide, multiplies = measure(8, "add"), measure(16, "add"), measure(16, "add", "mul")
    assert narrow.area < wide.area < multiplies.area
    assert wide.period < multiplies.period


@pytest.mark.tools
@pytest.mark.slow
def test_the_core_keeps_its_caches_apart(library: Path) -> None:
    pytest.importorskip("pythondata_cpu_vexriscv")
    found = synthesise(core_design(), library)
    assert found.macro_bits >= 2 * 4096 * 8, "two caches of 4 KB"
    assert found.fmax_mhz > 50
