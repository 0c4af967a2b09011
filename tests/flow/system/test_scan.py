"""Searches in IR: the same place is found, wherever it is, and loops that do more than look stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gridloom.compiler.c.function.program import program_of
from gridloom.compiler.c.function.signature import read_signature
from gridloom.compiler.ir.c_source import source_of
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.passes.scan import LEAST, SCAN, TRIED, insert_scans
from gridloom.flow.functions.compile import SEARCHED, CompiledLoop, finish_function
from gridloom.flow.inputs import read_arch
from gridloom.flow.system.compile import compile_for_system

pytest.importorskip("llvmlite")

ABOVE = """
int f(const int *restrict x, int n, int t) {
  for (int i = 0; i < n; i++)
    if (x[i] > t) return i;
  return -1;
}
"""
UNEQUAL = """
int f(const int *restrict x, int n, int t) {
  int k = 0;
  while (k < n && x[k] == t) k++;
  return 3 * k;
}
"""
SUMS = """
int f(const int *restrict x, int n, int t) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (x[i] > t) break;
    sum += x[i];
  }
  return sum;
}
"""
STORES = """
int f(int *restrict x, int n, int t) {
  for (int i = 0; i < n; i++) {
    if (x[i] > t) return i;
    x[i] = t;
  }
  return -1;
}
"""


def scanned_file(tmp_path: Path, source: str):
    path = tmp_path / "search.c"
    path.write_text(source)
    return path, insert_scans(compile_to_ir(path), path, "f")


@pytest.mark.parametrize("source", [ABOVE, UNEQUAL])
def test_a_search_finds_what_the_source_finds(tmp_path: Path, source: str):
    path, found = scanned_file(tmp_path, source)
    assert found is not None and SCAN in found.ir
    program = replace(program_of(read_module(found.ir, str(path)), "f", str(path)), ir=found.ir, source=source_of(path))
    loops = [CompiledLoop(plan=plan) for plan in program.loops]
    compiled = finish_function(program, read_signature(path, "f"), read_arch("mesh:2x2"), loops)
    size = 5 * LEAST
    places = (0, TRIED - 1, TRIED, TRIED + 1, 9 * TRIED - 1, 9 * TRIED, size - 1, None)
    for n in (0, 1, LEAST - 1, LEAST, size):
        for place in places:
            x = [4] * size
            if place is not None:
                x[place] = 9
            run = compiled.run(n=n, t=4, x=x)
            assert run.native.agrees, (n, place, run.native)


@pytest.mark.parametrize("source", [SUMS, STORES])
def test_a_loop_that_does_more_stays(tmp_path: Path, source: str):
    assert scanned_file(tmp_path, source)[1] is None


def test_an_array_with_streams_has_the_search(tmp_path: Path):
    path = tmp_path / "search.c"
    path.write_text(ABOVE)
    compiled = compile_for_system(f"{path}:f", "mesh:4x4", effort=4000, seed=1)
    (loop,) = [loop for loop in compiled.loops if loop.mapping is not None]
    assert loop.plan.loop.header == f"{SCAN}0" and loop.ii == 1
    assert {other.plan.reason for other in compiled.loops if other is not loop} == {SEARCHED}
