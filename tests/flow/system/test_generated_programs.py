"""Generated whole programs print on core and array what they print natively, whichever loops are launched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.flow.system.generated_programs import generated_program

from gridloom.errors import MappingError
from gridloom.flow.system.command import run_function
from gridloom.flow.system.compile import compile_for_system
from gridloom.flow.system.machines import Modelled

pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools


def launched_loops(folder: Path, seed: int) -> int:
    """How many loops of a generated program are launched; every loop that can be is."""
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    path = folder / f"program_{seed}.c"
    path.write_text(generated_program(seed))
    compiled = compile_for_system(str(path), "torus:4x4", seed=1, effort=1000, unroll="none")
    try:
        run = run_function(compiled, {}, seed=None, always=True, run=True, files=False, machine=Modelled())[0]
    except MappingError:
        return 0
    assert run is not None and run.differences == () and not any("not compared" in text for text in run.reasons), seed
    return len(run.launched)


def test_a_generated_program_prints_what_native_code_prints(tmp_path: Path):
    assert launched_loops(tmp_path, 1) > 0


@pytest.mark.slow
def test_a_program_with_more_loops_than_banks_of_images_launches_the_right_ones(tmp_path: Path):
    assert launched_loops(tmp_path, 106) > 16


@pytest.mark.slow
def test_generated_programs_print_what_native_code_prints(tmp_path: Path):
    """``GENERATED_PROGRAMS=200`` checks as many as are claimed."""
    count = int(os.environ.get("GENERATED_PROGRAMS", "20"))
    assert sum(launched_loops(tmp_path, seed) for seed in range(100, 100 + count)) > count
