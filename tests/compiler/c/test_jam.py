"""Several iterations of an outer loop side by side: the graph computes what they compute one after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.compiler.c.native import graph_of, native_library, run_both

from gridloom.compiler.c import COptions, load
from gridloom.dfg.interpreter import Interpreter, Stimulus
from gridloom.errors import SourceError

pytestmark = pytest.mark.tools

SOURCE = """
void matmul(const int *restrict a, const int *restrict b, int *restrict c, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      int sum = 0;
      for (int k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
void window(const short *restrict a, const short *restrict b, int *restrict c, int n) {
  for (int i = 0; i < n; i += 3) {
    int best = -100000, s = i;
    for (int k = 0; k < 9; k++) {
      int v = a[i + k] * b[k] + (i << 2);
      best = v > best ? v : best;
      s -= v >> 1;
    }
    c[i] = best + s;
  }
}
void powers(const int *restrict a, const int *restrict b, int *restrict c, int n) {
  for (int i = 0; i < n; i++) {
    unsigned hash = 7;
    for (int k = 0; k < n; k++)
      hash = hash * 31 + (a[k] ^ b[i + 2 * k]) + i;
    c[i] = hash;
  }
}
"""

KINDS = {"matmul": ("i4", 400), "window": ("i2", 80), "powers": ("i4", 80)}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("reduced", [True, False])
def test_the_copies_compute_what_the_iterations_compute(tmp_path: Path, name: str, factor: int, reduced: bool):
    path = tmp_path / "jam.c"
    path.write_text(SOURCE)
    kind, length = KINDS[name]
    rng = np.random.default_rng(factor)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    given = {
        "a": rng.integers(low, high, length).astype(kind),
        "b": rng.integers(low, high, length).astype(kind),
        "c": np.zeros(length, "i4"),
        "n": 12,
    }
    launches: list[tuple[Stimulus, dict[str, int]]] = []
    options = COptions(function=name, reduced=False)
    run_both(path, options, given, native_library(path), lambda _, fed, seen: launches.append((fed, seen.liveouts)))
    jammed = graph_of(path, COptions(function=name, reduced=reduced, jam=factor), given)
    for k in range(0, len(launches) // factor * factor, factor):
        fed = launches[k][0]
        # Of a nest of three, only iterations of one run of the middle loop stand side by side.
        if name == "matmul" and k % 12 + factor > 12:
            continue
        start = jammed.start({n: fed.liveins[n] for n in jammed.liveins}, fed.memory)
        seen = Interpreter(jammed.dfg).run(Stimulus(iterations=fed.iterations, liveins=start, memory=fed.memory))
        for j in range(factor):
            for out, value in launches[k + j][1].items():
                assert seen.liveouts[out if j == 0 else f"{out}_{j}"] == value, (k, j, out)


def test_what_the_copies_share_is_loaded_once(tmp_path: Path):
    path = tmp_path / "jam.c"
    path.write_text(SOURCE)
    loop = load(path, function="matmul", jam=3)
    assert [node.op for node in loop.dfg.nodes].count("load") == 4


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("void f(int *x, int n) { for (int i = 0; i < n; i++) x[i] ^= 3; }", "with one loop around it"),
        (
            "int f(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) for (int k = 0; k < i; k++) "
            "s += x[k + i] ^ k; return s; }",
            "runs equally often in every iteration of the loop around it",
        ),
        (
            "void f(int *x, int n) { for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) x[i * n + k] ^= 3; }",
            "stores nothing itself",
        ),
        (
            "void f(const int *x, int *y, int n) { for (int i = 0; i < n; i++) { int s = 0; "
            "for (int k = 0; k < n; k++) s += x[i + k] ^ k; y[i] = s; } }",
            "stores to an array that it reads, or may: 'restrict' says not",
        ),
        (
            "int f(const int *x, int n) { int s = 0; for (int i = 0; i < n; i++) { for (int k = 0; k < n; k++) "
            "s += x[k + i] ^ s; } return s; }",
            "moves by a fixed amount; s is none",
        ),
    ],
)
def test_loops_that_cannot_run_side_by_side_are_refused(tmp_path: Path, source: str, message: str):
    path = tmp_path / "f.c"
    path.write_text(source)
    with pytest.raises(SourceError) as caught:
        load(path, jam=2)
    assert message in str(caught.value)
