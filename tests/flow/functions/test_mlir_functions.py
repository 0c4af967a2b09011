"""Whole functions of MLIR files: arguments, comparison with MLIR's own compiler, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridloom as gl
from gridloom.errors import OptionError
from gridloom.flow.functions.files import dumps, load
from gridloom.flow.functions.mlir import MlirFunction

pytest.importorskip("torch_mlir.ir")
pytestmark = pytest.mark.tools
EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "mlir"
#: Files -> the function, and what stands behind its name.
FUNCTIONS = {path.stem: "" for path in sorted(EXAMPLES.glob("*.mlir"))} | {"polygeist_gemm": ",f64=f32"}


def function_of(stem: str) -> str:
    from gridloom.compiler.mlir.source_text import functions_of, modernise_text

    rows = functions_of(modernise_text((EXAMPLES / f"{stem}.mlir").read_text()))
    return f"{EXAMPLES / stem}.mlir:{next(row.name for row in rows if row.has_body)}{FUNCTIONS[stem]}"


def test_a_function_is_compared_with_the_jit_and_its_result_is_an_array():
    compiled = gl.compile(function_of("linalg_relu"), "torus:4x4", seed=1, effort=2000)
    x, shift = np.arange(-24, 24, dtype=np.int32), np.full(48, 3, np.int32)
    run = compiled.run(x=x, shift=shift)
    assert run.native.agrees and run.native.label == "MLIR's JIT"
    np.testing.assert_array_equal(run.arrays["result"], np.maximum(x + shift, 0))


def test_sizes_are_those_of_the_arrays():
    judge = MlirFunction(function_of("scf_fir"))
    given = {"x": np.zeros(15, np.int32), "h": np.zeros(4, np.int32), "y": np.zeros(12, np.int32)}
    assert judge.complete(given, None)["y_dim0"] == 12


def test_a_size_that_no_array_gives_is_asked_for():
    judge = MlirFunction(function_of("scf_fir"))
    with pytest.raises(OptionError) as caught:
        judge.complete({}, None)
    assert str(caught.value) == (
        "'fir' takes the sizes of 'y' from its array, which has 0 dimensions; give y_dim0=NUMBER, or an array with 1 "
        "or more"
    )


def test_a_function_without_a_name_is_asked_for():
    with pytest.raises(OptionError) as caught:
        gl.compile(EXAMPLES / "scf_fir.mlir", "torus:4x4")
    assert (
        str(caught.value)
        == f"{EXAMPLES / 'scf_fir.mlir'} names no function; write {EXAMPLES / 'scf_fir.mlir'}:FUNCTION"
    )


@pytest.mark.slow
def test_a_saved_function_is_loaded_with_its_judge(tmp_path: Path):
    compiled = gl.compile(function_of("polygeist_gemm"), "torus:4x4", seed=1, effort=2000)
    path = tmp_path / "gemm.json"
    path.write_text(dumps(compiled))
    again = load(path, Path(compiled.program.file))
    assert [loop.ii for loop in again.loops] == [loop.ii for loop in compiled.loops]
    assert again.run(seed=3).native.agrees


@pytest.mark.slow
@pytest.mark.parametrize("stem", FUNCTIONS)
def test_every_example_equals_the_jit(stem: str):
    from tests.compiler.mlir.data import arguments

    source = function_of(stem)
    compiled = gl.compile(source, "torus:4x4", seed=1, effort=20000)
    path, _, rest = source.rpartition(":")
    function, _, options = rest.partition(",")
    for seed in range(3):
        run = compiled.run(**arguments(Path(path), function, seed, singles=bool(options)))
        assert run.native.agrees, run.native.differences
