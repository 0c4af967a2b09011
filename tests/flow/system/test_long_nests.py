"""Nests whose inner loop is long and always entered: one launch leaves what the source leaves, with less work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.flow.system.generated_nests import ROOM, generated_nest

from gridloom.errors import GridloomError
from gridloom.flow.functions.compile import CompiledLoop, finished
from gridloom.flow.inputs import read_arch
from gridloom.flow.system.compile import _variant
from gridloom.flow.system.jam_ir import OUTER, TURNS, jammed
from gridloom.frontend.c.llvm.driver import compile_to_ir

pytest.importorskip("llvmlite")

#: Rows, and iterations of the inner loop: long ones, the shortest that is launched, one fewer, one, none.
SIZES = (
    (5, 23, 29), (9, 40, 50), (4, TURNS, 11), (6, TURNS + 2, 9), (4, TURNS - 1, 12), (3, 1, 5), (3, 0, 7), (0, 20, 30),
)  # fmt: skip


def launched_nest(path: Path, effort: int = 3000):
    """The function with its nest, and nothing else, on an array; None where there is no nest on it."""
    found = jammed(compile_to_ir(path), path, "f", 1)
    if found is None:
        return None
    made = _variant(found.ir, (), found.left_over, "f", path, read_arch("torus:4x4"), {"effort": effort, "seed": 1},
                    found.turns)  # fmt: skip
    loops = [loop if loop.plan.loop.header.startswith(OUTER) else CompiledLoop(plan=loop.plan) for loop in made.loops]
    if not any(loop.mapping is not None for loop in loops):
        return None
    return finished(made.program, made.signature, made.arch, loops, path)


def launches_of(compiled, seed: int) -> int:
    """Launches of the nest that were simulated over all sizes; every run leaves what native code leaves."""
    random, launches = np.random.default_rng(seed), 0
    for n, m, w in SIZES:
        x, h, y, z = (random.integers(-99, 99, ROOM) for _ in range(4))
        run = compiled.run(simulate="all", n=n, m=m, w=w, x=x.astype(np.int32), h=h.astype(np.int16),
                           y=y.astype(np.int32), z=z.astype(np.uint8))  # fmt: skip
        assert run.native.equal, (n, m, w, run.native)
        launches += sum(loop.simulated for loop in run.loops.values())
    return launches


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
