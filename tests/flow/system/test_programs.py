"""Whole programs on core and array in Verilator: what they print, and what the driver says of faults."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gridloom.flow.functions.data import read_arguments
from gridloom.flow.system.build import Sources, array_sources, launchable, link_program, main_text
from gridloom.flow.system.command import run_function
from gridloom.flow.system.compile import compile_for_system
from gridloom.flow.system.plan import plan_launches
from gridloom.flow.system.run import _differences, ending
from gridloom.hardware.system.soc import Faults, run_soc, soc_program

pytest.importorskip("pythondata_cpu_vexriscv")
pytestmark = [pytest.mark.slow, pytest.mark.tools]
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "system" / "smooth.c"
FUNCTION = """
int scale(const short *restrict x, int *restrict y, int n, int k) {
  int sum = 0;
  for (int i = 0; i < n; i++) { y[i] = x[i] * k + 3; sum += y[i]; }
  return sum;
}
"""
#: The second loop needs an element of what the first one leaves, which the core has read in an earlier round.
ROUNDS = """
void rounds(const int *restrict x, int *restrict y, int *restrict z, int n) {
  for (int r = 0; r < 3; r++) {
    for (int i = 0; i < n; i++) y[i] = x[i] + r;
    for (int i = 0; i < n; i++) z[i] = x[i] > 3 ? x[i] * y[1] : 7;
  }
}
"""


@pytest.fixture(autouse=True)
def _tools() -> None:
    for name in ("verilator", "riscv64-unknown-elf-gcc"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("system") / "scale.c"
    path.write_text(FUNCTION)
    return compile_for_system(f"{path}:scale", "torus:2x2", seed=1, effort=2000)


def run(compiled):
    return run_function(compiled, {"n": 900, "k": 5}, seed=1, always=True, run=True, files=False)[0]


def test_a_program_with_its_own_main_prints_what_native_code_prints():
    result, _ = run_function(
        compile_for_system(str(EXAMPLE), "torus:2x2", seed=1, effort=5000),
        {},
        seed=None,
        always=False,
        run=True,
        files=False,
    )
    assert result is not None and result.differences == ()
    assert result.output.startswith("sum ") and result.busy > 0


def test_a_function_leaves_what_native_code_leaves(compiled):
    result = run(compiled)
    assert result.differences == () and result.launched == ("scale_4",)
    assert result.busy > 900 and result.transfer > 900


#: Cycles within which a program with a fault ends: those of a run without one, and the limit on waiting for the bus.
BOUND = 20_000 + 65_536


@pytest.fixture(scope="module")
def program(compiled) -> tuple[Path, Sources]:
    """The simulation and the program of the function."""
    arguments = read_arguments(compiled.signature, {"n": 900, "k": 5}, 1)
    plan = launchable(plan_launches(compiled, arguments, always=True))
    return soc_program(plan.system), array_sources(plan, main_text(compiled, arguments))


def ended(program: tuple[Path, Sources], faults: Faults) -> str:
    """How the program ends with a fault, within the bound: the driver's words, or "" where it ends well."""
    simulation, sources = program
    shown = run_soc(simulation, link_program(sources, Path("scale.c")), faults=faults, limit=BOUND)
    assert shown.status in (0, 3)
    return ending(shown) if shown.status else ""


@pytest.mark.parametrize(
    ("faults", "text"),
    [
        (Faults(errors=(0x40000000, 0x4FFFFFFF)), "BUS_READ: the bus answered a read with an error"),
        (Faults(hang=0), "TIMEOUT: the bus, or a stream of the array, did not answer in time"),
    ],
)
def test_the_driver_names_the_fault(program, faults: Faults, text: str):
    assert ended(program, faults) == text


def test_a_bus_that_hangs_in_the_middle_is_named(program):
    """A run without faults takes fewer than 20,000 cycles; the bus hangs in several places of it."""
    names = {ended(program, Faults(hang=cycle)) for cycle in range(4000, 12000, 1000)}
    assert names <= {"TIMEOUT: the bus, or a stream of the array, did not answer in time", ""}
    assert len(names - {""}) == 1


def test_a_truncated_image_is_named(program):
    simulation, sources = program
    loops = sources.c_files["loops.c"]
    words = re.search(r"= \{words_0, (\d+),", loops)
    assert words is not None
    cut = loops.replace(words[0], f"= {{words_0, {int(words[1]) - 8},")
    shorter = replace(sources, c_files={**sources.c_files, "loops.c": cut})
    text = "IMAGE_LENGTH: the image is truncated, or longer than it says"
    assert ended((simulation, shorter), Faults()) == text


def test_a_reset_in_the_middle_is_named(program):
    """Wherever the reset falls between the launch's beginning and its end, the driver says so and the program ends."""
    names = {ended(program, Faults(reset=cycle)) for cycle in range(4000, 12000, 1000)}
    assert names <= {"RESET: the system was reset", ""}
    assert len(names - {""}) == 1


def test_streams_of_an_array_without_memory(tmp_path: Path):
    path = tmp_path / "streams.c"
    path.write_text(FUNCTION)
    compiled = compile_for_system(f"{path}:scale", "mesh:3x3", seed=1, effort=5000)
    result = run(compiled)
    assert result.differences == () and result.streams and result.busy >= 900


def test_the_core_reads_no_stale_line_before_a_launch(tmp_path: Path):
    path = tmp_path / "rounds.c"
    path.write_text(ROUNDS)
    compiled = compile_for_system(f"{path}:rounds", "mesh:4x4", unroll="none", seed=1, effort=5000)
    arguments = read_arguments(compiled.signature, {"n": 400}, 3)
    plan = launchable(plan_launches(compiled, arguments, always=True))
    sources = array_sources(plan, main_text(compiled, arguments))
    simulation = soc_program(plan.system)
    left = run_soc(simulation, link_program(sources, path))
    assert _differences(compiled, arguments, left) == []
    # Without the call the core multiplies by what its cache has held since the round before.
    without = replace(sources, ir=sources.ir.replace("  call void @gl_sync()\n", ""))
    assert _differences(compiled, arguments, run_soc(simulation, link_program(without, path))) != []
