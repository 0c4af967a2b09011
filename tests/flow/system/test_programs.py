"""Whole programs on core and array in Verilator: what they print, and what the driver says of faults."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gridloom.errors import SimulationError
from gridloom.flow.system.command import prepared, run_prepared
from gridloom.hardware.system.soc import Faults

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


@pytest.fixture(autouse=True)
def _tools() -> None:
    for name in ("verilator", "riscv64-unknown-elf-gcc"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("system") / "scale.c"
    path.write_text(FUNCTION)
    return prepared(f"{path}:scale", "torus:2x2", seed=1, effort=2000)


def run(compiled, faults: Faults | None = None):
    return run_prepared(compiled, {"n": 900, "k": 5}, seed=1, always=True, run=True, files=False, faults=faults)[0]


def test_a_program_with_its_own_main_prints_what_native_code_prints():
    result, _ = run_prepared(prepared(str(EXAMPLE), "torus:2x2", seed=1, effort=5000), {}, seed=None, always=False,
                             run=True, files=False)  # fmt: skip
    assert result is not None and result.differences == ()
    assert result.output.startswith("sum ") and result.busy > 0


def test_a_function_leaves_what_native_code_leaves(compiled):
    result = run(compiled)
    assert result.differences == () and result.launched == ("scale_4",)
    assert result.busy > 900 and result.transfer > 900


@pytest.mark.parametrize(
    ("faults", "text"),
    [
        (Faults(errors=(0x40000000, 0x4FFFFFFF)), "BUS_READ: the bus answered a read with an error"),
        (Faults(hang=0), "TIMEOUT: the bus, or a stream of the array, did not answer in time"),
    ],
)
def test_the_driver_names_the_fault(compiled, faults: Faults, text: str):
    with pytest.raises(SimulationError) as found:
        run(compiled, faults)
    assert found.value.message == text


def test_a_reset_in_the_middle_is_named(compiled):
    """Wherever the reset falls between the launch's beginning and its end, the driver says so and the program ends."""
    names = set()
    for cycle in range(3000, 9000, 1500):
        try:
            run(compiled, Faults(reset=cycle))
        except SimulationError as error:
            names.add(error.message)
    assert names == {"RESET: the system was reset"}


def test_streams_of_an_array_without_memory(tmp_path: Path):
    path = tmp_path / "streams.c"
    path.write_text(FUNCTION)
    compiled = prepared(f"{path}:scale", "mesh:3x3", seed=1, effort=5000)
    result = run(compiled)
    assert result.differences == () and result.streams and result.busy >= 900
