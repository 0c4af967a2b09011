"""What the core takes for blocks of IR, as launches are weighed against it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.flow.system.core_cycles import core_cycles
from gridloom.frontend.c.llvm.driver import compile_to_ir
from gridloom.frontend.c.llvm.reader import read_module

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
