"""Loops of a nest exchanged: taken where no meeting of accesses is turned round, refused with the reason elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridloom as gl
from gridloom.compiler.analysis.dependence import _solvable
from gridloom.compiler.c import COptions, load
from gridloom.compiler.c.function.program import read_program
from gridloom.compiler.c.function.signature import read_signature
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import GridloomError, OptionError, SourceError
from gridloom.flow.functions import files
from gridloom.flow.functions.compile import Compiled, compile_program

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

SOURCE = """
void columns(const float a[restrict 12][12], float s[restrict 12]) {
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < 12; i++) s[j] = s[j] * 0.5f + a[i][j];
}
void polynomial(const int *restrict c, const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int s = 1;
    for (int k = 0; k < 5; k++) s = s * x[i] + c[k];
    y[i] = s;
  }
}
void down(int n, int *a) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i * n + j] ^= i * 3 + j;
}
void above(int a[12][12]) {
  for (int i = 1; i < 12; i++)
    for (int j = 0; j < 12; j++) a[i][j] += a[i - 1][j];
}
void walk(const int *restrict p, int *restrict q) {
  for (int i = 0; i < 10; i++) {
    const int *from = p + 10 * i;
    for (int k = 0; k < 10; k++) q[10 * k + i] = *from++ + k;
  }
}
void guarded(int n, int m, const int *restrict a, int *restrict b) {
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++) b[j] = b[j] * 5 + a[i];
}
void backwards(const short *restrict a, short *restrict b) {
  for (int i = 9; i >= 0; i--)
    for (int j = 8; j >= 0; j -= 2) b[10 * i + j] = a[10 * j + i] - b[10 * i + j];
}
void wide(const int64_t *restrict a, int64_t *restrict b) {
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 7; j++) b[j] = b[j] * 3 + a[7 * i + j];
}
void skew(int a[12][12]) {
  for (int i = 1; i < 12; i++)
    for (int j = 0; j < 11; j++) a[i][j] += a[i - 1][j + 1];
}
void triangle(int n, int *a) {
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) a[i * n + j] += 3;
}
void overlapping(const int *a, int *b) {
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 9; j++) b[9 * j + i] = a[9 * i + j];
}
void one_place(int *restrict a, const int *restrict b) {
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 9; j++) a[0] = a[0] * 3 + b[9 * i + j];
}
int counted(const int *restrict a) {
  int n = 0;
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 9; j++) n += a[9 * j + i] > 4;
  return n;
}
void rounded(const short *restrict x, const short *restrict h, short *restrict y) {
  for (int i = 0; i < 20; i++) {
    int s = 0;
    for (int k = 0; k < 4; k++) s += x[i + k] * h[k];
    y[i] = s >> 15;
  }
}
void read_back(int *restrict c, const int *restrict a) {
  for (int i = 0; i < 9; i++) {
    int s = 0;
    for (int k = 0; k < 9; k++) s += c[k] * a[i];
    c[i] = s;
  }
}
void lone(int *a) { for (int i = 0; i < 9; i++) a[i] *= 3; }
"""

TAKEN = {
    "columns": {"a": ("f4", 144), "s": ("f4", 12)},
    "polynomial": {"c": ("i4", 5), "x": ("i4", 30), "y": ("i4", 30), "n": 30},
    "down": {"n": 9, "a": ("i4", 81)},
    "above": {"a": ("i4", 144)},
    "walk": {"p": ("i4", 100), "q": ("i4", 100)},
    "guarded": {"n": 6, "m": 9, "a": ("i4", 6), "b": ("i4", 9)},
    "backwards": {"a": ("i2", 100), "b": ("i2", 100)},
    "wide": {"a": ("i8", 42), "b": ("i8", 7)},
}

REFUSED = {
    "skew": "the accesses in line 41 may meet in the opposite order when the loops are exchanged",
    "triangle": "interchange takes an inner loop that runs equally often in every iteration of the outer one",
    "overlapping": "a and b may overlap; 'restrict' on one of them says not",
    "one_place": "interchange takes an inner loop whose sums are stored as they are, and that carries nothing else",
    "counted": "interchange takes an inner loop whose sums are stored as they are, and that carries nothing else",
    "rounded": "interchange takes an inner loop whose sums are stored as they are, and that carries nothing else",
    "read_back": "the accesses in line 71 and 72 may meet in the opposite order when the loops are exchanged",
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interchange") / "nests.c"
    path.write_text("#include <stdint.h>\n" + SOURCE.lstrip("\n"))
    return path


def data(parameters: dict[str, object]) -> dict[str, object]:
    """Random arguments of a function."""
    rng = np.random.default_rng(3)
    found = {}
    for name, kind in parameters.items():
        found[name] = kind if isinstance(kind, int) else rng.integers(-90, 90, kind[1]).astype(kind[0])
    return found


def compiled_as_written(source: Path, name: str, *, every: bool = False) -> Compiled:
    """The function with its short loops, which would be unrolled."""
    program, signature = read_program(source, name), read_signature(source, name)
    return compile_program(program, signature, "torus:4x4", effort=5000, every=every)


@pytest.mark.parametrize("name", TAKEN)
def test_exchanged_loops_compute_what_the_nest_computes(source: Path, name: str) -> None:
    compiled = compiled_as_written(source, name, every=True)
    given = data(TAKEN[name])
    given = {key: value.reshape(12, 12) if name in ("columns", "above") and key == "a" else value
             for key, value in given.items()}  # fmt: skip
    run = compiled.run(simulate="all", **given)
    assert run.native.agrees, run.native
    exchanged = [loop for loop in compiled.loops if loop.plan.interchange is not None]
    assert len(exchanged) == 1
    assert run.loops[exchanged[0].plan.name].simulated == 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_exchanged_is_refused_with_the_reason(source: Path, name: str) -> None:
    with pytest.raises(SourceError) as error:
        load(source, COptions(function=name, interchange=True))
    assert error.value.message == REFUSED[name]


def test_a_loop_alone_cannot_be_exchanged(source: Path) -> None:
    with pytest.raises(SourceError, match="has no loop around it that could be exchanged with it"):
        load(source, COptions(function="lone", interchange=True))


@pytest.mark.parametrize("other", [{"flatten": True}, {"jam": 2}])
def test_interchange_goes_with_no_other_form_of_a_nest(source: Path, other: dict[str, int]) -> None:
    with pytest.raises(OptionError, match="interchange goes with neither flatten nor jam"):
        load(source, COptions(function="columns", interchange=True, **other))


def test_a_recurrence_through_the_inner_loop_is_gone(source: Path) -> None:
    plain, other = (load(source, COptions(function="polynomial", interchange=on)).dfg for on in (False, True))
    assert (recurrence_mii(plain), recurrence_mii(other)) == (2, 1)


def test_unroll_auto_tries_the_exchanged_nest(source: Path) -> None:
    result = gl.map(f"{source}:columns,unroll=auto", "torus:4x4", effort=3000)
    assert any("exchanged with the loop around" in remark for remark in result.remarks)


def test_the_exchanged_nest_is_taken_only_where_it_is_faster(source: Path) -> None:
    faster = compiled_as_written(source, "polynomial")
    assert [loop.plan.interchange is not None for loop in faster.loops] == [True, False, False]
    assert faster.loops[0].text == "line 7, exchanged with line 9: II 1, 10 nodes"
    run = faster.run(**data(TAKEN["polynomial"]))
    row = run.loops["polynomial_7_exchanged"]
    assert (row.launches, row.iterations, run.native.agrees) == (5, 150, True)
    same = compiled_as_written(source, "down")
    assert [loop.plan.interchange for loop in same.loops if loop.plan.interchange] == []


def test_a_saved_function_keeps_its_exchanged_loops(source: Path, tmp_path: Path) -> None:
    compiled = compiled_as_written(source, "polynomial")
    path = tmp_path / "saved.json"
    path.write_text(files.dumps(compiled))
    again = files.load(path, source)
    given = data(TAKEN["polynomial"])
    assert again.run(**given).cycles == compiled.run(**given).cycles


def test_meetings_that_would_be_turned_round_are_found_as_by_trial() -> None:
    rng = np.random.default_rng(5)
    for _ in range(400):
        a, b, gap = (int(x) for x in rng.integers(-7, 8, 3))
        outer, inner = (int(x) for x in rng.integers(0, 6, 2))
        pairs = [(d, e) for d in range(1, outer + 1) for e in range(1, inner + 1)]
        assert _solvable(a, b, gap, outer, inner) == any(a * d - b * e == gap for d, e in pairs), (a, b, gap)


def test_errors_of_an_exchanged_nest_name_its_line(source: Path) -> None:
    with pytest.raises(GridloomError) as error:
        load(source, COptions(function="skew", interchange=True))
    assert str(error.value).startswith(f"{source}:40: loop in 'skew': ")
