"""Unroll and jam in IR: memory is left as the source leaves it, and nests that it would change stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gridloom.compiler.c.function.program import program_of
from gridloom.compiler.c.function.signature import read_signature
from gridloom.compiler.ir.c_source import source_of
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.passes.jam_nest import INNER, jam_nests
from gridloom.flow.functions.compile import LEFT_OVER, CompiledLoop, finish_function
from gridloom.flow.inputs import read_arch
from gridloom.flow.system.compile import compile_for_system, program_ir
from gridloom.flow.system.plan import left_over

pytest.importorskip("llvmlite")

FILTER = """
void f(const int *restrict x, const int *restrict h, int *restrict y, int n, int m) {
  for (int i = 0; i < n; i++) {
    int sum = 1;
    for (int k = 0; k < m; k++) sum += x[i + k] * h[k];
    y[i] = sum >> 2;
  }
}
"""
ROWS = """
void f(const int *restrict x, const int *restrict h, int *restrict y, int n, int m) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++) y[k] += x[i] * h[k] + (y[k] >> 1);
}
"""
CARRIED = """
int f(const int *restrict x, const int *restrict h, int *restrict y, int n, int m) {
  int most = 0, last = 5;
  for (int i = 0; i < n; i++) {
    int sum = i;
    for (int k = 0; k < m; k++) sum ^= x[k] + i * h[k];
    y[i] += sum;
    last = sum;
    most = most > sum ? most : sum;
  }
  return most - last;
}
"""
#: A value that the next outer iteration starts from; stores that another outer iteration reads; a branch around.
NEXT = """
void f(const int *restrict x, const int *restrict h, int *restrict y, int n, int m) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < m; k++) sum = sum * 3 + x[k];
    y[i] = sum;
  }
}
"""
SHIFTED = """
void f(const int *restrict x, const int *restrict h, int *restrict y, int n, int m) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++) y[k] = y[k + 1] + h[k];
}
"""
OWN = """
void f(const int *restrict x, const int *restrict h, int *restrict y, int n, int m) {
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int k = 0; k < m; k++) sum += y[k] * h[k];
    y[i] = sum;
  }
}
"""
BRANCH = """
void f(const int *restrict x, const int *restrict h, int *restrict y, int n, int m) {
  for (int i = 0; i < n; i++)
    if (x[i] > 3)
      for (int k = 0; k < m; k++) y[k] += x[k] * h[i];
}
"""
TRIANGLE = """
void f(const int *restrict x, const int *restrict h, int *restrict y, int n, int m) {
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int k = 0; k < i + 1; k++) sum += x[k] * h[k];
    y[i] = sum;
  }
}
"""


def jammed_file(tmp_path: Path, source: str, factor: int):
    path = tmp_path / "nest.c"
    path.write_text(source)
    return path, jam_nests(compile_to_ir(path), path, "f", factor)


@pytest.mark.parametrize("source", [FILTER, ROWS, CARRIED])
@pytest.mark.parametrize("factor", [2, 4])
def test_a_jammed_nest_leaves_what_the_source_leaves(tmp_path: Path, source: str, factor: int):
    path, found = jammed_file(tmp_path, source, factor)
    assert found is not None and INNER in found.ir
    program = replace(program_of(read_module(found.ir, str(path)), "f", str(path)), ir=found.ir, source=source_of(path))
    loops = [CompiledLoop(plan=plan) for plan in program.loops]
    compiled = finish_function(program, read_signature(path, "f"), read_arch("mesh:2x2"), loops)
    # Whole groups, some left over, fewer than a group, and none; inner loops that are not entered.
    for n, m in ((8, 5), (7, 4), (factor - 1, 6), (9, 0), (0, 3), (6, 1)):
        run = compiled.run(seed=n, n=n, m=m, x=list(range(40)), h=[3, -1, 2] * 13, y=[7] * 40)
        assert run.native.agrees, (n, m, run.native)


@pytest.mark.parametrize("source", [NEXT, SHIFTED, OWN, BRANCH, TRIANGLE])
def test_a_nest_that_would_change_stays(tmp_path: Path, source: str):
    assert jammed_file(tmp_path, source, 4)[1] is None


def test_what_several_launches_share_is_loaded_and_stored_once(tmp_path: Path):
    _, found = jammed_file(tmp_path, ROWS.replace(" + (y[k] >> 1)", ""), 4)
    assert found is not None
    block = found.ir.split(f"\n{INNER}0:")[1].split("\n\n")[0]
    assert block.count(" = load ") == 2 and block.count("store ") == 1 and block.count(" mul ") == 4


def test_the_largest_number_that_can_be_mapped_is_taken(tmp_path: Path):
    path = tmp_path / "nest.c"
    path.write_text(FILTER)
    compiled = compile_for_system(f"{path}:f", "mesh:4x4", effort=4000, seed=1)
    mapped = [loop for loop in compiled.loops if loop.mapping is not None]
    assert [loop.plan.loop.header for loop in mapped] == [f"{INNER}0"]
    assert sum(node.op == "mul" for node in mapped[0].mapping.dfg.nodes) == 4
    assert [plan.reason for plan in left_over(compiled)] == [LEFT_OVER]
    assert program_ir(compiled.program) == compiled.program.ir != ""
