"""The forms of a function and of a loop that compete: unrolled or as written, reduced or as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.flow.functions import compile as compiling
from gridloom.flow.functions import files
from gridloom.flow.functions.compile import compile_function

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")

FILTER = """
void f(const int *restrict x, const int *restrict h, int *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    int sum = 0;
PRAGMA
    for (int k = 0; k < 8; k++) sum += x[i + k] * h[k];
    y[i] = sum;
  }
}
"""
COLUMNS = """
void f(const int *restrict x, int *restrict y, int n) {
  for (int i = 0; i < n; i++) y[3 * i + 1] = x[3 * i] + x[3 * i + 3];
}
"""


def filtered(tmp_path: Path, pragma: str, arch: str = "torus:4x4"):
    path = tmp_path / "filter.c"
    path.write_text(FILTER.replace("PRAGMA", pragma))
    compiled = compile_function(f"{path}:f", arch, seed=1, effort=4000)
    run = compiled.run(n=256, x=list(range(264)), h=[3, -1, 4, 1, -5, 9, 2, 6], y=[0] * 256)
    assert run.native.agrees
    return compiled, run


def test_a_short_inner_loop_costs_what_the_unrolled_source_costs(tmp_path: Path):
    _, plain = filtered(tmp_path, "")
    _, asked = filtered(tmp_path, "#pragma unroll")
    _, kept = filtered(tmp_path, "#pragma nounroll")
    assert plain.cycles <= 1.1 * asked.cycles < kept.cycles


def test_a_saved_function_is_read_again_in_its_form(tmp_path: Path):
    compiled, _ = filtered(tmp_path, "")
    saved = tmp_path / "saved.json"
    saved.write_text(files.dumps(compiled))
    again = files.load(saved, tmp_path / "filter.c")
    assert compiled.program.unrolled and again.program.unrolled
    assert [loop.ii for loop in again.loops] == [loop.ii for loop in compiled.loops]


def test_a_function_stays_as_written_where_the_array_cannot_take_the_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    search = compiling._searched

    def small(plan, arch, request):
        fits = len(plan.graph.dfg.nodes) < 12
        return search(plan, arch, request) if fits else compiling.CompiledLoop(plan=plan, reason="too large")

    monkeypatch.setattr(compiling, "_searched", small)
    compiled, _ = filtered(tmp_path, "")
    assert any(loop.mapping is not None for loop in compiled.loops)
    assert not compiled.program.unrolled


def test_a_reduced_loop_without_a_mapping_is_mapped_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "columns.c"
    path.write_text(COLUMNS)
    sizes: list[int] = []
    search = compiling._searched

    def failing(plan, arch, request):
        sizes.append(len(plan.graph.dfg.nodes))
        return search(plan, arch, request) if len(sizes) > 1 else compiling.CompiledLoop(plan=plan, reason="none")

    monkeypatch.setattr(compiling, "_searched", failing)
    compiled = compile_function(f"{path}:f", "torus:4x4", seed=1, effort=2000)
    (loop,) = compiled.loops
    saved = tmp_path / "saved.json"
    saved.write_text(files.dumps(compiled))
    assert not files.load(saved, path).loops[0].plan.reduced
    assert loop.mapping is not None and len(sizes) == 2 and sizes[0] != sizes[1]
