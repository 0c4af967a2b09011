"""The examples compute with every loop as a graph what MLIR's own compiler computes, and their twins in C give the
same graphs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.compiler.c.ir_machine import Machine, Memory, pattern, wrap
from tests.compiler.mlir.data import EXAMPLES, arguments, sizes

from gridloom.compiler.c import LoopReport, describe
from gridloom.compiler.c.frontend import COptions, pick
from gridloom.compiler.ir.reader import module_of, read_module
from gridloom.compiler.mlir import compile_to_ir
from gridloom.compiler.mlir.jit import execute
from gridloom.compiler.mlir.source_text import functions_of, modernise_text

FILES = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))
#: Read with f64=f32.
DOUBLES = {"polygeist_gemm"}
TWINS = Path(__file__).parent / "twins"
QUICK = ["affine_trisolv", "linalg_relu"]


@cache
def loops(path: Path) -> tuple[LoopReport, ...]:
    return tuple(row for row in describe(path) if row.innermost)


def check(stem: str, seed: int) -> int:
    """Run a function with each of its loops as a graph in turn; the number of loops that there were."""
    path = EXAMPLES / f"{stem}.mlir"
    function = next(row.name for row in functions_of(modernise_text(path.read_text())) if row.has_body)
    singles = stem in DOUBLES
    given = arguments(path, function, seed, singles=singles)
    (expected,) = execute(path, function, [given], singles=singles)
    numbers = {**given, **sizes(path, function, given, singles=singles)}
    count = 0
    for row in (row for row in _rows(path, function, singles) if row.limit is None):
        lengths = {name: value.size for name, value in given.items() if isinstance(value, np.ndarray)}
        options = COptions(function=function, loop=row.number)
        # A graph is read from records that finding the loops has changed, so that they are read anew each time.
        text = compile_to_ir(path, function=function, singles=singles)
        known = {array.name for array in pick(read_module(text, stem), path, options).arrays}
        module = read_module(text, stem)
        loop = pick(module, path, options, sizes={name: lengths[name] for name in lengths if name in known})
        objects = {name: bytearray(v.tobytes()) for name, v in given.items() if isinstance(v, np.ndarray)}
        machine = Machine(module, loop.region.loop.function, Memory(objects), loop)
        result = machine.run({name: _word(name, value) for name, value in numbers.items()})
        for name, array in expected.arrays.items():
            found = np.frombuffer(bytes(objects[name]), given[name].dtype).reshape(array.shape)
            np.testing.assert_array_equal(found, array.astype(given[name].dtype), err_msg=f"{name}, loop {row.number}")
        assert result == (None if expected.result is None else _word("", expected.result))
        count += 1
    return count


def _rows(path: Path, function: str, singles: bool) -> list[LoopReport]:
    if not singles:
        return list(loops(path))
    from gridloom.compiler.analysis.loops import find_loops

    found = enumerate(find_loops(module := module_of(path, function, singles=True), module.functions[function]))
    return [
        LoopReport(function=function, number=k, line=0, depth=0, innermost=True)
        for k, loop in found if not loop.children
    ]  # fmt: skip


def _word(name: str, value: object) -> object:
    if isinstance(value, np.ndarray):
        return (name, 0)
    return pattern(value) if isinstance(value, float) else wrap(int(value), 32)


def test_there_are_at_least_twenty_examples_in_three_styles():
    styles = {stem.partition("_")[0] for stem in FILES}
    assert styles == {"affine", "scf", "linalg", "polygeist"}
    assert len(FILES) >= 20


@pytest.mark.parametrize("stem", QUICK)
def test_a_graph_computes_what_the_jit_computes(stem: str):
    assert check(stem, 1) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stem", FILES)
def test_every_loop_of_every_example_computes_what_the_jit_computes(stem: str, seed: int):
    # The ends of these loops depend on data; they are run by the functions' own tests.
    least = 0 if stem in ("scf_gcd", "scf_search", "linalg_max_pool") else 1
    assert check(stem, seed) >= least


@pytest.mark.parametrize("stem", [pytest.param(stem, marks=[] if stem in QUICK else pytest.mark.slow)
                                  for stem in sorted(path.stem for path in TWINS.glob("*.c"))])  # fmt: skip
def test_c_and_mlir_give_graphs_with_the_same_recurrences(stem: str):
    first, second = loops(TWINS / f"{stem}.c"), loops(EXAMPLES / f"{stem}.mlir")
    assert [row.rec_mii for row in first] == [row.rec_mii for row in second]


@pytest.mark.slow
@pytest.mark.parametrize("stem", sorted(path.stem for path in TWINS.glob("*.c")))
def test_c_and_mlir_give_mappings_with_the_same_ii(stem: str):
    import gridloom as gl

    reached = []
    for path in (TWINS / f"{stem}.c", EXAMPLES / f"{stem}.mlir"):
        rows = (row for row in loops(path) if row.limit is None)
        sources = [f"{path}:{row.function},loop={row.number}" for row in rows]
        reached.append([gl.map(source, "torus:4x4", seed=1, effort=20000).mapping.ii for source in sources])
    assert reached[0] == reached[1]
