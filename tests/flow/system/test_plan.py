"""Which launches of a compiled function a system makes."""

from __future__ import annotations

from pathlib import Path

import pytest

import gridloom as gl
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.reader import read_module
from gridloom.flow.system.plan import core_cycles, launched_singly

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


pytest.importorskip("llvmlite")


def cycles(tmp_path: Path, body: str) -> int:
    """The cycles of the longest block of a loop over k."""
    path = tmp_path / "loop.c"
    path.write_text(
        f"void f(const int *restrict x, int *restrict y, int n) {{ for (int k = 0; k < n; k++) {{ {body} }} }}"
    )
    function = read_module(compile_to_ir(path), str(path)).functions["f"]
    return max(map(core_cycles, function.blocks.values()))


def test_branches_and_divisions_decide(tmp_path: Path):
    # A load, a sum, a store, the counter, its test and the branch.
    plain = cycles(tmp_path, "y[k] = x[k] + 5;")
    assert plain == round(1 + 0.6 + 1.5 + 0.6 + 2 + 5)
    assert cycles(tmp_path, "y[k] = (x[k] + 5) * 7;") - plain in (1, 2)
    assert cycles(tmp_path, "y[k] = x[k] > 5 ? x[k] : 5;") - plain in (3, 4)
    assert cycles(tmp_path, "y[k] = x[k] % n;") - plain in (33, 34)
