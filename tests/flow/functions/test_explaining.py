"""The pass log of a compiled function: what each pass made of each loop, and which form the array runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.flow.functions.compile import compile_function
from gridloom.flow.functions.explaining import explain_text

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

SOURCE = """int f(const int *restrict a, int *restrict b, int n, int t) {
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int k = 0; k < n; k++) s += a[i * n + k];
    b[i] = s;
  }
  for (int i = 0; i < n; i++)
    if (b[i] > t) return i;
  return -1;
}
"""


def test_each_pass_says_what_it_made_of_each_loop(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(SOURCE, encoding="utf-8")
    compiled = compile_function(f"{path}:f", "torus:4x4", effort=5000)
    lines = [line.replace(str(path), "f.c") for line in explain_text(compiled).splitlines()]
    assert lines[0] == "passes"
    assert "  f.c:4: translate: 3 operations, RecMII 1" in lines
    assert "  f.c:4: f_4: II 1 on the array, bound 1" in lines
    counted = "early exits (break, return, && in the condition) are not taken"
    assert any(line.startswith("  f.c:7: translate: not done: has 2 ways out") and counted in line for line in lines)
    assert any(line.startswith("  f.c:7: split exits: ") and "RecMII" in line for line in lines)
    assert "  f.c:2: interchange: 7 operations, RecMII 1" in lines
    # Every loop of the program has at least one line of a pass.
    assert {plan.line for plan in compiled.program.loops} == {int(line.split(":")[1]) for line in lines[1:]}
