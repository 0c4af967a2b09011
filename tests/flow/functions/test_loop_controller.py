"""Loop controllers: which nests an array starts by itself, what that costs, and that descriptions keep it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gridloom as gl
from gridloom.archs import build
from gridloom.archs.described.text import yaml_text
from gridloom.archs.described.writing import describe
from gridloom.errors import ArchError, SimulationError
from gridloom.flow.functions import files
from gridloom.flow.functions.launching.launcher import ControlledLaunches

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

SOURCE = """
void scale(int h, int w, const int *restrict a, const int *restrict b, int *restrict c) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) c[y * w + x] = a[y * w + x] * b[x];
}
void cube(const int *restrict a, int *restrict b) {
#pragma nounroll
  for (int i = 0; i < 4; i++)
#pragma nounroll
    for (int j = 0; j < 5; j++)
#pragma nounroll
      for (int k = 0; k < 6; k++) b[30 * i + 6 * j + k] = a[30 * i + 6 * j + k] ^ (i + 2 * j);
}
void sums(const int *restrict a, int *restrict b) {
  for (int i = 0; i < 8; i++) {
    int s = 0;
    for (int k = 0; k < 8; k++) s += a[8 * i + k];
    b[i] = s;
  }
}
void triangle(const int *restrict a, int *restrict b) {
  for (int i = 0; i < 9; i++)
    for (int k = 0; k < i; k++) b[9 * i + k] = a[9 * k + i];
}
void jump(const int *restrict to, int *restrict b) {
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 4; k++) b[(to[i] & 7) * 4 + k] = k;
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("controller") / "nests.c"
    path.write_text(SOURCE.lstrip("\n"))
    return path


def arguments(name: str) -> dict[str, object]:
    """Random data for a function of the source."""
    rng = np.random.default_rng(1)
    arrays = {n: rng.integers(-99, 99, 144).astype("i4") for n in ("a", "b", "c", "to")}
    if name == "scale":
        return {"h": 12, "w": 11, **{n: arrays[n] for n in "abc"}}
    return {n: arrays[n] for n in (("to", "b") if name == "jump" else "ab")}


@pytest.mark.parametrize(
    ("name", "levels", "around"),
    [
        ("scale", 1, 1),
        ("scale", 3, 1),
        ("cube", 1, 1),
        ("cube", 2, 2),
        ("sums", 2, 0),
        ("triangle", 2, 0),
        ("jump", 2, 0),
    ],
)
def test_the_controller_takes_loops_that_only_move_what_is_given(
    source: Path, name: str, levels: int, around: int
) -> None:
    compiled = gl.compile(f"{source}:{name}", f"torus:4x4,loop_levels={levels}", effort=2000)
    controlled = [loop for loop in compiled.loops if loop.plan.controls]
    assert [len(loop.plan.controls) - 1 for loop in controlled] == ([around] if around else [])
    run = compiled.run(simulate="all", **arguments(name))
    assert run.native.agrees, run.native


def test_a_controlled_nest_costs_no_host_and_one_cycle_for_each_start(source: Path) -> None:
    with_it, without = (
        gl.compile(f"{source}:scale", f"torus:4x4{option}", effort=2000) for option in (",loop_levels=1", "")
    )
    run = with_it.run(**arguments("scale"))
    plain = without.run(always=True, **arguments("scale"))
    row, inner = run.loops["scale_3_controlled"], plain.loops["scale_3"]
    assert with_it.loops[0].text == "line 3: the loop controller starts it for each iteration of line 2"
    assert (row.launches, row.iterations, row.steady, row.fill) == (12, 132, inner.steady, inner.fill)
    # The first launch is given all words; then one level: its iterations and the live-in that it moves; 11 more starts.
    assert row.transfer == with_it.loops[0].given_words + 2 + 11
    assert run.cycles < plain.cycles and run.host < plain.host


def test_launches_that_the_controller_would_give_other_words_are_an_error() -> None:
    launches = ControlledLaunches(0, [])
    for k, given in enumerate([(0, 5), (4, 5), (8, 5)]):
        launches.begin([k], given, "loop f")
    with pytest.raises(SimulationError, match="the loops around move by another amount"):
        launches.begin([3], (13, 5), "loop f")


def test_a_level_further_out_has_an_amount_of_its_own() -> None:
    launches = ControlledLaunches(0, [])
    for headers, given in [([1, 1], 0), ([2, 1], 4), ([3, 2], 100), ([4, 2], 104)]:
        launches.begin(headers, [given], "loop f")
        launches.end(10, 3, False, "")
    assert launches.steps == {0: (4,), 1: (96,)}
    assert launches.transfer(7) == 7 + 2 + 2 + 3


@pytest.mark.parametrize("arch", ["torus:4x4,loop_levels=2", "hycube:4x4,loop_levels=1", "ramp-1,loop_levels=3"])
def test_descriptions_keep_the_controller(tmp_path: Path, arch: str) -> None:
    array = build(arch)
    path = tmp_path / "array.yaml"
    path.write_text(yaml_text(describe(array)))
    again = build(path)
    assert again.loop_levels == array.loop_levels > 0
    assert array.has("loop_controller") and again.has("loop_controller")
    assert again.fingerprint == array.fingerprint == build(arch.partition(",")[0]).fingerprint


def test_levels_out_of_range_are_refused() -> None:
    with pytest.raises(ArchError, match="loop_levels: expected 0 to 8, found 9"):
        build("torus:4x4,loop_levels=9")
    with pytest.raises(ArchError, match="loop_levels: expected a whole number from 0 to 8, found -1"):
        build({"family": "array", "rows": 2, "cols": 2, "loop_levels": -1})


def test_a_saved_function_has_its_controller_again(source: Path, tmp_path: Path) -> None:
    compiled = gl.compile(f"{source}:scale", "torus:4x4,loop_levels=1", effort=2000)
    path = tmp_path / "saved.json"
    path.write_text(files.dumps(compiled))
    again = files.load(path, Path(compiled.program.file))
    assert [loop.text for loop in again.loops] == [loop.text for loop in compiled.loops]
    assert again.run(**arguments("scale")).cycles == compiled.run(**arguments("scale")).cycles
