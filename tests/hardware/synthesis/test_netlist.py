"""The netlist that synthesis makes computes, cycle by cycle, what the Verilog computes that it was made from."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import hand_mappings

from gridloom.dfg import DfgBuilder
from gridloom.flow import Request, run
from gridloom.flow.hardware import hardware_for
from gridloom.hardware import cosimulation
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.generate import primitive, rtl_files
from gridloom.hardware.rtl.testbench import TESTBENCH
from gridloom.hardware.rtl.testbench import testbench as bench_of
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.synthesis import yosys
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure
from gridloom.sim import stimulus_for

pytestmark = [pytest.mark.tools, pytest.mark.slow]


def cells() -> Path | None:
    """Yosys's own models of the cells of an ECP5."""
    found = [Path(p) for p in ("/usr/share/yosys/ecp5/cells_sim.v", "/usr/local/share/yosys/ecp5/cells_sim.v")]
    return next((path for path in found if path.exists()), None)


def trace(folder: Path, names: list[str], hardware: object, configuration: object, stimulus: object) -> list[str]:
    """The words that leave the array, with their cycles."""
    subprocess.run(["iverilog", "-g2012", "-o", "a.vvp", "-s", TESTBENCH, *names], cwd=folder, check=True)
    options = cosimulation._write_inputs(folder, hardware, configuration, [stimulus])  # type: ignore[arg-type]
    subprocess.run(["vvp", "-n", "a.vvp", *(f"+{k}={v}" for k, v in options.items())], cwd=folder, check=True)
    return [line for line in (folder / "trace.txt").read_text().splitlines() if line.startswith("E")]


def rows() -> Mapping:
    """A product that is shifted to the right, and one to the left, on rows with a register between them."""
    b = DfgBuilder("scaled", "cma24")
    product = b.add("mult", b.input("x"), b.input("w"))
    b.output(b.add("sr", product, b.const(3)), "y")
    b.output(b.add("sl", product, b.const(5)), "z")
    request = Request(source=b.build(), arch="vpcma:2x3", settings={"pipeline": "all"}, effort=200_000, seed=1)
    mapping = run(request).mapping
    assert mapping is not None
    return mapping


@pytest.mark.parametrize("made", [hand_mappings.mesh_fifo_2, rows])
def test_the_netlist_of_an_array_emits_what_its_verilog_emits(
    made: Callable[[], Mapping], tmp_path: Path, icarus: None
) -> None:
    models = cells()
    if not yosys.available() or models is None:
        pytest.skip("Yosys is not installed")
    mapping = made()
    hardware = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping, trim=[mapping])
    configuration, stimulus = configure(mapping), stimulus_for(mapping.dfg, 12)
    # A netlist has no tiles inside: what leaves through ports is all that can be seen.
    bench = re.sub(r"\n[^\n]*\.fired\)[^\n]*", "", bench_of(hardware))
    texts = rtl_files(hardware) | {"gl_clock_gate.v": primitive("gl_clock_gate"), f"{TESTBENCH}.v": bench}
    source, synthesised = tmp_path / "source", tmp_path / "netlist"
    for folder in (source, synthesised):
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(text)
    modules = " ".join(sorted(rtl_files(hardware)))
    # As in the flow: with the cells of the device that the Verilog names.
    read = f"read_verilog -lib +/ecp5/cells_sim.v; read_verilog -sv -defer -DGRIDLOOM_ECP5 {modules}"
    script = f"{read}; synth_ecp5 -abc9 -nowidelut -nodsp -top {TOP}; write_verilog netlist.v"
    subprocess.run(["yosys", "-q", "-p", script], cwd=synthesised, check=True)
    expected = trace(source, sorted(texts), hardware, configuration, stimulus)
    names = ["netlist.v", "gl_clock_gate.v", f"{TESTBENCH}.v", str(models)]
    assert expected
    assert trace(synthesised, names, hardware, configuration, stimulus) == expected
