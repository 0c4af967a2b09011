"""Whole functions and programs on the model of core, bus and array: values, cycles, a wrong array."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import gridloom as gl
from gridloom.errors import MappingError
from gridloom.flow.functions.naming import name_function
from gridloom.flow.functions.native import native_output
from gridloom.flow.system import machines
from gridloom.flow.system.command import run_function, task_of
from gridloom.flow.system.compile import compile_for_system
from gridloom.flow.system.machines import Modelled
from gridloom.flow.system.program_data import ProgramData
from gridloom.hardware.system.core_array import ArrayLaunch, ArrayOutcome

pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

FIR = """
void fir(const int *restrict x, const int *restrict h, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int s = 0;
%s
    for (int k = 0; k < 8; k++) s += x[i + k] * h[k];
    y[i] = s;
  }
}
"""
PROGRAM = """
#include <stdio.h>
static unsigned char text[600];
static int sums[600];
int tally(const unsigned char *restrict t, int *restrict s, int n) {
  int all = 0;
  for (int i = 0; i < n; i++) { s[i] = t[i] * 3 + 1; all ^= s[i]; }
  return all;
}
int main(int argc, char **argv) {
  FILE *in = fopen(argv[1], "r"), *out = fopen("out.txt", "w");
  int n = fread(text, 1, sizeof text, in);
  fprintf(out, "%d %d\\n", n, tally(text, sums, n));
  fprintf(stderr, "not shown\\n");
  printf("%d %d\\n", argc, getchar());
  return 0;
}
"""


@pytest.fixture(autouse=True)
def _gcc() -> None:
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "fir.c"
    path.write_text(FIR % "")
    return path


@pytest.mark.parametrize("arch", ["torus:2x2", "mesh:4x4"])
def test_a_prediction_leaves_what_native_code_leaves(source: Path, arch: str):
    compiled = compile_for_system(f"{source}:fir", arch, seed=1, effort=4000, unroll="none")
    run = run_function(compiled, {"n": 300}, seed=1, always=True, run=True, files=False, machine=Modelled())[0]
    assert run is not None and run.predicted and run.differences == ()
    assert run.busy + run.transfer + run.configuration + run.host == run.cycles
    assert run.loops[0][0].entries == run.loops[0][1].entries > 0


def test_both_forms_of_a_filter_take_the_same(tmp_path: Path):
    cycles = []
    for pragma in ("", "#pragma unroll"):
        path = tmp_path / "fir.c"
        path.write_text(FIR % pragma)
        cycles.append(gl.compile(f"{path}:fir", "torus:4x4", effort=5000).predict(seed=1, n=500).cycles)
    assert abs(cycles[0] / cycles[1] - 1) < 0.1


def test_an_array_that_computes_something_else_is_found(source: Path, monkeypatch: pytest.MonkeyPatch):
    launch = machines._ModelledArray.launch

    def wrong(self: machines._ModelledArray, asked: ArrayLaunch) -> ArrayOutcome:
        outcome = launch(self, asked)
        np.add(asked.memory, 1, out=asked.memory)
        return outcome

    monkeypatch.setattr(machines._ModelledArray, "launch", wrong)
    compiled = compile_for_system(f"{source}:fir", "torus:2x2", seed=1, effort=4000, unroll="none")
    run = run_function(compiled, {"n": 300}, seed=1, always=True, run=True, files=False, machine=Modelled())[0]
    assert run is not None and run.differences[0].startswith("core and array: y: bytes ")


def test_a_program_reads_its_words_its_files_and_its_input(tmp_path: Path):
    path = tmp_path / "app.c"
    path.write_text(PROGRAM)
    data = ProgramData(words=("in.txt", "-v"), files={"in.txt": bytes(range(250)) * 2, "-": b"!"})
    compiled = compile_for_system(name_function([path]), "torus:2x2", seed=1, effort=4000)
    run = run_function(compiled, {}, seed=None, always=True, run=True, files=False, machine=Modelled(), data=data)[0]
    assert run is not None and run.program and run.differences == () and run.launched == ("main_7",)
    assert run.output.splitlines()[1:] == ["3 33"]
    expected = native_output(path, data.c_files, b"!")
    assert expected.splitlines() == run.output.splitlines()


def test_the_folder_of_a_system_builds_by_itself(source: Path):
    compiled = compile_for_system(f"{source}:fir", "torus:2x2", seed=1, effort=4000, unroll="none")
    texts = run_function(compiled, {"n": 300}, seed=1, always=True, run=False, files=True)[1]
    assert {"Makefile", "README.md", "function.ll", "loops.c", "main.c", "soc.v", "soc.cpp", "start.S"} <= texts.keys()
    objects = next(line for line in texts["Makefile"].splitlines() if line.startswith("OBJECTS"))
    assert objects == "OBJECTS = function.o gridloom.o loops.o main.o start.o support.o"
    assert "a launch before each of these loops: `fir_6`" in texts["README.md"]


def test_a_loop_that_never_runs_is_not_launched(source: Path):
    compiled = compile_for_system(f"{source}:fir", "torus:2x2", seed=1, effort=4000, unroll="none")
    with pytest.raises(MappingError, match=r"no loop of 'fir' is launched on torus:2x2: fir_6: the core is faster"):
        task_of(compiled, {"n": 0}, seed=1, always=False)
