"""Which launches of a compiled function a system makes."""

from __future__ import annotations

from pathlib import Path

import pytest

import gridloom as gl
from gridloom.flow.system.plan import launched_singly

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

SOURCE = """
void products(const int *restrict a, const int *restrict b, int *restrict c, int n) {
  for (int y = 0; y < n; y++) {
    int s = 0;
    for (int x = 0; x < n; x++) s += a[n * y + x] * b[x];
    c[y] = s;
  }
}
"""


@pytest.mark.parametrize("is_compared", [True, False])
def test_single_launches_keep_what_runs_are_compared_with(tmp_path: Path, is_compared: bool) -> None:
    path = tmp_path / "products.c"
    path.write_text(SOURCE)
    compiled = gl.compile(f"{path}:products", "torus:4x4", effort=500, seed=1)
    if not is_compared:
        compiled.native = None
    single = launched_singly(compiled)
    assert single is not compiled and single.native is compiled.native
    kinds = [(loop.plan.jam, loop.plan.interchange, loop.plan.controls) for loop in single.loops]
    assert kinds and set(kinds) == {(1, None, ())}
