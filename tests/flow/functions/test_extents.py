"""Random arrays are as long as the function needs them, and a run without an iteration shows nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridloom as gl
from gridloom.flow.functions.describing import run_text
from gridloom.flow.functions.extents import fit_arguments

pytest.importorskip("llvmlite")

SOURCE = """
void add(int A[10][12], short B[10][12]) {
  for (int i = 0; i < 10; i++) for (int j = 0; j < 12; j++) A[i][j] += B[i][j];
}
int first(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
void far(int *a, int n) { for (int i = 0; i < n; i++) a[i * 40] = i; }
void both(int *a, const int *b, int n) { for (int i = 0; i < n; i++) a[i] = b[3] + i; }
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("extents") / "f.c"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("name", "given", "lengths"),
    [
        ("add", {}, {"A": 120, "B": 120}),
        ("first", {"n": 300}, {"a": 300}),
        ("far", {"n": 100}, {"a": 99 * 40 + 1}),
        ("both", {"n": 7}, {"a": 7, "b": 4}),
        ("both", {"n": 7, "b": np.arange(9, dtype=np.int32)}, {"a": 7, "b": 9}),
    ],
)
def test_an_array_is_as_long_as_the_function_reaches(source: Path, name: str, given, lengths: dict[str, int]):
    compiled = gl.compile(f"{source}:{name}", "torus:2x2", effort=300)
    arguments = fit_arguments(compiled, given, 1)
    assert {key: shape[0] for key, (_, shape) in arguments.shapes.items()} == lengths


def test_elements_do_not_depend_on_their_number(source: Path):
    compiled = gl.compile(f"{source}:first", "torus:2x2", effort=300)
    short, long = (compiled.run(seed=3, n=n).arrays["a"] for n in (20, 200))
    assert (long[:20] == short).all()


def test_random_data_costs_what_data_of_the_same_size_costs(source: Path):
    compiled = gl.compile(f"{source}:add", "torus:2x2", effort=300)
    exact = {"A": np.ones((10, 12), np.int32), "B": np.ones((10, 12), np.int16)}
    assert compiled.run(seed=1).cycles == compiled.run(**exact).cycles


def test_a_run_without_an_iteration_is_not_called_equal(source: Path):
    compiled = gl.compile(f"{source}:first", "torus:2x2", effort=300)
    run = compiled.run(seed=1, n=0)
    text = "nothing was executed: no loop ran an iteration; give other arguments"
    assert not run.native.equal and run.native.agrees and text in run_text(run)
    assert compiled.run(seed=1, n=1).native.equal
