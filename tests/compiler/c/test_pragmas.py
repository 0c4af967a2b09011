"""What a source promises of a loop: which orders it spares, where it is recorded, and that data are checked for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gridloom.compiler.c import load
from gridloom.dfg import json_format
from gridloom.dfg.interpreter import Interpreter, random_stimulus
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import SourceError
from gridloom.flow.functions import files
from gridloom.flow.functions.compile import compile_function
from gridloom.flow.functions.launching.interpreting import BrokenAssertion
from gridloom.sim.stimulus import _kept_for, fitting_stimulus

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

HISTOGRAM = """
void count(int *h, const int *x, int n) {
%s
  for (int i = 0; i < n; i++) h[x[i]] += 1;
}
"""
TRANSFORM = """
void stage(int *restrict f, int l, int m, int n) {
  int step = 2 * l;
  for (int i = m; i < n; i += step) {
    int t = f[i + l] * 3;
    f[i + l] = f[i] - t;
    f[i] = f[i] + t;
  }
}
void halves(int *restrict f, int l) {
  for (int i = 0; i < l; i++) {
    int t = f[i + l] * 3;
    f[i + l] = f[i] - t;
    f[i] = f[i] + t;
  }
}
void walk(int *restrict f, int l, int n) {
  for (int i = 0, k = 0; i < n; i++, k += 2 * l) f[k] = f[k + l] + i;
}
"""


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "loop.c"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("line", "mii"), [("", 4), ("#pragma gridloom ivdep", 1), ("#pragma gridloom independent // each once", 1)]
)
def test_a_pragma_spares_orders_between_iterations(written, line: str, mii: int) -> None:
    loop = load(written(HISTOGRAM % line))
    assert recurrence_mii(loop.dfg) == mii
    word = line.partition("gridloom ")[2].partition(" ")[0]
    assert loop.dfg.assumed == ((f"line 4 is said to be {word}",) if word else ())
    assert json_format.loads(json_format.dumps(loop.dfg)) == loop.dfg


@pytest.mark.parametrize(("function", "assumed"), [
    ("stage", ("the loop ends",)), ("halves", ("the loop runs as often as its bounds say",)),
])  # fmt: skip
def test_butterflies_need_no_pragma(written, function: str, assumed: tuple[str, ...]) -> None:
    loop = load(written(TRANSFORM), function=function)
    assert recurrence_mii(loop.dfg) <= 2
    assert loop.dfg.assumed == assumed


def test_a_step_that_decides_no_end_may_be_0(written) -> None:
    loop = load(written(TRANSFORM), function="walk")
    assert recurrence_mii(loop.dfg) > 1 and loop.dfg.assumed == ()


def test_a_proved_distance_contradicts_independence(written) -> None:
    path = written(
        "void f(int *h, int n) {\n#pragma gridloom independent\n  for (int i = 2; i < n; i++) h[i] += h[i - 2];\n}\n"
    )
    with pytest.raises(SourceError) as error:
        load(path)
    assert str(error.value) == (
        f"{path}:3: loop in 'f': is said to be independent, but iterations that are 2 apart touch the same element of "
        "h (line 3); leave out the pragma"
    )


def test_a_proved_distance_is_kept_under_ivdep(written) -> None:
    text = "void f(int *h, int n) {\n%s\n  for (int i = 2; i < n; i++) h[i] += h[i - 2];\n}\n"
    plain, said = load(written(text % "")), load(written(text % "#pragma gridloom ivdep"))
    assert recurrence_mii(said.dfg) == recurrence_mii(plain.dfg)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("#pragma gridloom ivdep\n  h[0] = 1;", "no loop follows #pragma gridloom ivdep; write it in the line before "
         "for, while or do"),
        ("#pragma gridloom fast", "found 'fast' after #pragma gridloom, which takes ivdep, independent or nothing; use "
         "--unroll, --flatten, --size"),
    ],
)  # fmt: skip
def test_a_pragma_without_a_loop_or_a_meaning_is_refused(written, line: str, message: str) -> None:
    path = written(HISTOGRAM % line)
    with pytest.raises(SourceError) as error:
        load(path)
    assert str(error.value) == f"{path}:3: {message}"


def test_data_are_checked_for_what_the_source_promises(written) -> None:
    compiled = compile_function(
        f"{written(HISTOGRAM % '#pragma gridloom independent')}:count", "torus:4x4", effort=5000
    )
    assert [loop.ii for loop in compiled.loops] == [1]
    apart = np.arange(8, dtype=np.int32)[::-1].copy()
    run = compiled.run(h=np.zeros(8, np.int32), x=apart, n=8, always=True)
    assert run.native.equal
    meeting = np.array([5, 2, 2, 7], dtype=np.int32)
    with pytest.raises(BrokenAssertion) as error:
        compiled.run(h=np.zeros(8, np.int32), x=meeting, n=4, always=True)
    assert str(error.value) == (
        "loop count_4, 4 iterations: store_h in iteration 1 and load_h in iteration 2 touch the same element of h, but "
        "line 4 is said to be independent"
    )


def test_random_data_keep_what_the_graph_takes_for_granted(written) -> None:
    dfg = load(written(HISTOGRAM % "#pragma gridloom independent")).dfg
    stimulus, _ = fitting_stimulus(Interpreter(dfg), 64, 0)
    indices = stimulus.memory["x"][: stimulus.iterations]
    assert 1 < stimulus.iterations <= 64 and len(set(indices.tolist())) == stimulus.iterations
    # Two elements for 64 iterations: the third at the latest meets an earlier one.
    wild = random_stimulus(dfg, 64, 0)
    wild.memory["x"] %= 2
    assert 1 <= _kept_for(dfg, wild) <= 2


SPARSE = """
void spmv(int n, const int *row, const int *col, const int *val, const int *x, int *y) {
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int k = row[i]; k < row[i + 1]; k++) y[i] += val[k] * x[col[k]];
  }
}
static void inner(int *a, int *b, int n) { for (int i = 0; i < n; i++) a[i] = b[i] + 1; }
void shifted(int *a, int n) { inner(a + 1, a, n); }
"""


def test_distinct_arrays_are_as_restrict_on_each(written) -> None:
    path = written(SPARSE)
    said = load(path, function="spmv", distinct=True)
    assert recurrence_mii(said.dfg) == 1 and said.dfg.assumed == ("the arrays of spmv are said to be distinct",)
    by_hand = path.parent / "restrict.c"
    by_hand.write_text(SPARSE.replace("int *", "int *restrict "), encoding="utf-8")
    assert said.dfg.nodes == load(by_hand, function="spmv").dfg.nodes
    with pytest.raises(SourceError, match="ends when a value that it computes says so"):
        load(path, function="spmv")


def test_only_the_function_that_is_named_has_distinct_arrays(written) -> None:
    loop = load(written(SPARSE), function="shifted", distinct=True)
    assert loop.dfg.assumed == ()


def test_a_compiled_function_is_saved_with_what_was_said_of_it(written) -> None:
    path = written(SPARSE)
    compiled = compile_function(f"{path}:spmv", "torus:4x4", effort=5000, distinct=True)
    data = {"row": [0, 2, 4], "col": [1, 0, 1, 1], "val": [2, 3, 4, 5], "x": [7, 9], "y": [0, 0]}
    given = {"n": 2, **{name: np.array(row, np.int32) for name, row in data.items()}}
    run = compiled.run(**given, always=True)
    assert run.native.equal and run.arrays["y"].tolist() == [39, 81]
    saved = path.parent / "spmv.json"
    saved.write_text(files.dumps(compiled), encoding="utf-8")
    again = files.load(saved, path)
    assert [loop.ii for loop in again.loops] == [loop.ii for loop in compiled.loops]
    assert again.run(**given, always=True).cycles == run.cycles
