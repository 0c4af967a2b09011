"""Generated C loops of wider kinds: graph and native code agree on random data, and no access is out of order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.compiler.c.generated_programs import ProgramWriter, StreamWriter, arguments, source
from tests.compiler.c.ir_machine import Remainder
from tests.compiler.c.native import native_library, run_both
from tests.compiler.c.test_generated_loops import assert_ordered

import gridloom as gl
from gridloom.compiler.c import COptions, load
from gridloom.errors import SourceError

pytestmark = pytest.mark.tools

#: What a random loop may be refused for: clang leaves no loop, splits it, ends it at two places, or makes 64 bits or
#: one pointer of several arrays of it. That is said; what is taken has to be right.
_REFUSED = re.compile(
    r"has no loop left|no loop around it|has \d+ loops inside|it computes with 64-bit integers"
    r"|it reads a 64-bit integer from|one of several arrays"
    r"|ends when a value that it computes says so|was split into two loops by clang"
    r"|so it is no stream|has 2 ways out|computes nothing|an address that the loop computes"
)


def compare(
    folder: Path, seeds: range, *, nest: bool = False, writer: type[ProgramWriter] = ProgramWriter, **options: object
) -> int:
    """Run every function of a generated file; returns how many could be compared."""
    path = folder / f"programs_{seeds.start}.c"
    path.write_text(source(seeds, nest=nest, writer=writer))
    library = native_library(path)
    compared = 0
    for seed in seeds:
        try:
            machine = run_both(path, COptions(function=f"f{seed}", **options), arguments(seed), library)
        except Remainder:
            continue
        except SourceError as error:
            assert _REFUSED.search(str(error)), f"seed {seed}: {error}"
            continue
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        if not options:
            assert_ordered(machine, f"seed {seed}")
        compared += 1
    return compared


def test_25_generated_programs(tmp_path: Path):
    assert compare(tmp_path, range(25)) >= 18


def test_10_generated_nests_flattened_and_innermost(tmp_path: Path):
    assert compare(tmp_path, range(1000, 1010), nest=True, flatten=True) >= 3
    assert compare(tmp_path, range(1000, 1010), nest=True) >= 6


@pytest.mark.parametrize("factor", [2, 3])
def test_15_generated_programs_unrolled(tmp_path: Path, factor: int):
    """Counts that are no multiple of the factor are left out; 0 iterations are one."""
    assert compare(tmp_path, range(2000, 2015), unroll=factor) >= 4


def test_generated_programs_on_the_array_compute_what_their_graphs_do(tmp_path: Path):
    path = tmp_path / "programs.c"
    path.write_text(source(range(6)))
    mapped = 0
    for seed in range(6):
        try:
            dfg = load(path, function=f"f{seed}").dfg
        except SourceError:
            continue
        if len(dfg.nodes) <= 60:
            result = gl.map(dfg, "torus:4x4", seed=1, time_limit=2)
            # That a search finds nothing within its time is no mistake; that its mapping is refused would be one.
            assert result.refused is None, f"seed {seed}"
            mapped += result.status == "mapped"
    assert mapped >= 1


def test_20_generated_programs_as_streams(tmp_path: Path):
    assert compare(tmp_path, range(7000, 7020), writer=StreamWriter, memory="streams") >= 6


@pytest.mark.slow
@pytest.mark.parametrize("start", range(8000, 8200, 50))
def test_200_generated_programs_as_streams(tmp_path: Path, start: int):
    assert compare(tmp_path, range(start, start + 50), writer=StreamWriter, memory="streams") >= 15


@pytest.mark.slow
@pytest.mark.parametrize("start", range(4000, 4400, 50))
def test_400_generated_programs(tmp_path: Path, start: int):
    assert compare(tmp_path, range(start, start + 50)) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("start", range(5000, 5100, 50))
def test_100_generated_nests(tmp_path: Path, start: int):
    assert compare(tmp_path, range(start, start + 50), nest=True, flatten=True) >= 15
    assert compare(tmp_path, range(start, start + 50), nest=True) >= 25


@pytest.mark.slow
@pytest.mark.parametrize("factor", [2, 4, 5])
def test_100_generated_programs_unrolled(tmp_path: Path, factor: int):
    assert compare(tmp_path, range(6000, 6100), unroll=factor) >= 20
