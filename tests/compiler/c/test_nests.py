"""Nests as one loop whose bounds are known only at run time: their counters need no recurrence, whatever the bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.compiler.c.native import native_library, run_both

from gridloom.compiler.c import COptions, load
from gridloom.dfg.recurrence import recurrence_mii

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

SOURCE = """
void scale(const int *restrict a, int *restrict b, int h, int w) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) b[y * w + x] = a[y * w + x] * 3 + y;
}
void sums(const int *restrict a, int *restrict b, int h, int w) {
  for (int y = 0; y < h; y++) {
    int s = y;
    for (int x = 1; x < w; x++) s += a[y + x];
    b[y] = s;
  }
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nests") / "nests.c"
    path.write_text(SOURCE.lstrip("\n"))
    return path


@pytest.mark.parametrize("name", ["scale", "sums"])
def test_counters_come_round_without_a_recurrence(source: Path, name: str) -> None:
    assert recurrence_mii(load(source, COptions(function=name, flatten=True)).dfg) <= 2
    assert recurrence_mii(load(source, COptions(function=name, flatten=True, reduced=False)).dfg) > 2


@pytest.mark.parametrize("name", ["scale", "sums"])
@pytest.mark.parametrize("w", [-3, 0, 1, 2, 3, 7])
def test_inner_loops_of_any_length_compute_what_native_code_computes(source: Path, name: str, w: int) -> None:
    rng = np.random.default_rng(7)
    given = {"a": rng.integers(-999, 999, 64).astype("i4"), "b": np.zeros(64, "i4"), "h": 6, "w": w}
    run_both(source, COptions(function=name, flatten=True), given, native_library(source))
