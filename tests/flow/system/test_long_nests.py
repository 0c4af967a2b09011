"""Nests whose inner loop is long and always entered: one launch leaves what the source leaves, with less work."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.flow.system.generated_nests import ROOM, generated_nest

from gridloom.compiler.c.function.program import program_of, read_program
from gridloom.compiler.c.function.signature import read_signature
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.passes.jam_nest import OUTER, TURNS, jam_nests
from gridloom.errors import GridloomError
from gridloom.flow.functions.compile import CompiledLoop, finish_function
from gridloom.flow.functions.naming import name_function
from gridloom.flow.inputs import read_arch
from gridloom.flow.system.compile import SystemForms

pytest.importorskip("llvmlite")

HEAD = "int f(const int *restrict x, const short *restrict h, int *restrict y, unsigned char *restrict z,"
HEAD += " int n, int m, int w) {\n"
PICTURE = f"""{HEAD}
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++) y[i * m + k] = x[i * m + k] * 3;
  return 0;
}}
"""
BORDER = f"""{HEAD}
  for (int i = 1; i < n; i++)
    for (int k = 1; k < m; k++) y[i * w + k] = x[i * w + k + 1] + x[(i - 1) * w + k];
  return 0;
}}
"""
HANDED = f"""{HEAD}
  int hash = w;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++) hash = (hash ^ x[i * m + k]) * 33;
  return hash;
}}
"""
DISTANCE = f"""{HEAD}
  for (int i = 0; i < n; i++) {{
    y[0] = i;
    for (int k = 0; k < m; k++) y[k + 1] = y[k + 1] * 3 + x[k];
  }}
  return 0;
}}
"""
#: Rows, and iterations of the inner loop: long ones, the shortest that is launched, one fewer, one, none.
SIZES = (
    (5, 23, 29), (9, 40, 50), (4, TURNS, 11), (6, TURNS + 2, 9), (4, TURNS - 1, 12), (3, 1, 5), (3, 0, 7), (0, 20, 30),
)  # fmt: skip


def launched_nest(path: Path, effort: int = 3000):
    """The function with its nest, and nothing else, on an array; None where there is no nest on it."""
    found = jam_nests(compile_to_ir(path), path, "f", 1)
    if found is None:
        return None
    named = name_function([f"{path}:f"])
    options = {"effort": effort, "seed": 1}
    forms = SystemForms(named, read_signature(path, "f"), read_arch("torus:4x4"), options)
    made = forms.variant(read_program(path, "f"), found.ir, (), found.left_over, found.turns)
    loops = [loop if loop.plan.loop.header.startswith(OUTER) else CompiledLoop(plan=loop.plan) for loop in made.loops]
    if not any(loop.mapping is not None for loop in loops):
        return None
    return finish_function(made.program, made.signature, made.arch, loops)


def launches_of(compiled, seed: int) -> int:
    """Launches of the nest that were simulated over all sizes; every run leaves what native code leaves."""
    random, launches = np.random.default_rng(seed), 0
    for n, m, w in SIZES:
        x, h, y, z = (random.integers(-99, 99, ROOM) for _ in range(4))
        run = compiled.run(simulate="all", n=n, m=m, w=w, x=x.astype(np.int32), h=h.astype(np.int16),
                           y=y.astype(np.int32), z=z.astype(np.uint8))  # fmt: skip
        assert run.native.agrees, (n, m, w, run.native)
        launches += sum(loop.simulated for loop in run.loops.values())
    return launches


def nest_graph(tmp_path: Path, source: str, turns: bool = True):
    """The graph of the one nest that is told apart; without ``turns`` as if nothing were known of its inner loop."""
    path = tmp_path / "nest.c"
    path.write_text(source)
    found = jam_nests(compile_to_ir(path), path, "f", 1)
    assert found is not None
    program = program_of(read_module(found.ir, str(path)), "f", str(path), turns=found.turns if turns else {})
    return next(plan.graph.dfg for plan in program.loops if plan.loop.header.startswith(OUTER) and plan.is_nest)


def ops_of(dfg) -> Counter[str]:
    return Counter(node.op for node in dfg.nodes if node.op not in ("const", "livein"))


def test_a_picture_without_gaps_is_one_row(tmp_path: Path):
    dfg = nest_graph(tmp_path, PICTURE)
    assert ops_of(dfg) == Counter(add=1, load=1, mul=1, store=1)
    # The product with both counters, the row's end, its selects.
    assert len(ops_of(nest_graph(tmp_path, PICTURE, turns=False))) > 4


def test_a_border_is_jumped_over_with_one_select(tmp_path: Path):
    ops = ops_of(nest_graph(tmp_path, BORDER))
    assert ops["select"] == 1 and ops["mul"] == 0 and ops["umin"] == 1 and ops["eq"] == 0


def test_a_value_that_rows_hand_on_is_carried_once(tmp_path: Path):
    assert ops_of(nest_graph(tmp_path, HANDED)) == Counter(add=1, load=1, xor=1, mul=1)


def test_rows_keep_memory_in_order_by_their_length(tmp_path: Path):
    dfg = nest_graph(tmp_path, DISTANCE)
    kept = sorted((e.distance, dfg.node(e.source).op, dfg.node(e.target).op) for e in dfg.edges if e.kind == "order")
    # Within a row the store follows the load of its element; the next row comes TURNS iterations later at least. What
    # is stored before a row lies below all that the row touches.
    assert kept == [(0, "load", "store"), (TURNS, "load", "store"), (TURNS, "store", "load")]


def test_rows_that_may_be_short_keep_program_order(tmp_path: Path):
    dfg = nest_graph(tmp_path, DISTANCE, turns=False)
    assert {e.distance for e in dfg.edges if e.kind == "order"} == {0, 1}


@pytest.mark.parametrize("source", [PICTURE, BORDER, HANDED, DISTANCE])
def test_a_known_nest_leaves_what_native_code_leaves(tmp_path: Path, source: str):
    path = tmp_path / "nest.c"
    path.write_text(source)
    compiled = launched_nest(path)
    assert compiled is not None and launches_of(compiled, 7) > 2


def checked(tmp_path: Path, seed: int) -> int:
    path = tmp_path / f"nest{seed}.c"
    path.write_text(generated_nest(seed))
    try:
        compiled = launched_nest(path)
    except GridloomError:
        return 0
    return 0 if compiled is None else launches_of(compiled, seed)


def test_generated_nests_leave_what_native_code_leaves(tmp_path: Path):
    assert sum(checked(tmp_path, seed) > 0 for seed in range(6)) >= 2


@pytest.mark.slow
def test_many_generated_nests_leave_what_native_code_leaves(tmp_path: Path):
    assert sum(checked(tmp_path, seed) > 0 for seed in range(100, 220)) >= 40
