"""Suites of whole functions: their data, their rows, and what a bad description is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridloom.cli import main
from gridloom.compiler.c.function.signature import CType, FunctionParameter, Signature
from gridloom.errors import OptionError
from gridloom.flow.bench.functions.run import run_cell, summary
from gridloom.flow.bench.functions.suite import DrawnArgument, FunctionSuite, data_set
from gridloom.flow.bench.suite import load_suite, read_suite

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "functions"
SMALL = """\
suite: small
archs: ["torus:4x4"]
data_sets: 3
budget: {effort: 2000}
functions:
  scale.c:scale:
    n: 900
    x: {elements: 900, from: -5, to: 5}
    y: {elements: 900, from: 0, to: 0}
"""
SCALE = """\
void scale(int n, const short *restrict x, int *restrict y)
{
  for (int i = 0; i < n; i++)
    y[i] = 3 * x[i];
}
"""


def signature() -> Signature:
    pointer = CType(text="short *", scalar="int16", pointer=True)
    rows = (
        FunctionParameter(name="n", type=CType(text="int", scalar="int32")),
        FunctionParameter(name="x", type=pointer),
    )
    return Signature(name="scale", parameters=rows, result=None, variables={})


def test_the_functions_of_the_suite_are_in_the_examples():
    suite = load_suite("functions")
    assert isinstance(suite, FunctionSuite)
    assert {source.partition(":")[0] for source in suite.functions} <= {path.name for path in EXAMPLES.glob("*.c")}
    assert len(suite.functions) >= 25 and suite.data_sets == 20
    assert {cell.arch for cell in suite.cells()} == {"torus:4x4", "torus:8x8"}


def test_data_have_the_types_of_the_source_and_depend_on_the_seed():
    described = {"n": DrawnArgument(9, 9), "x": DrawnArgument(-5, 5, 12)}
    first, again, other = (data_set(signature(), described, seed) for seed in (1, 1, 2))
    assert first["n"] == 9 and first["x"].dtype == "int16" and first["x"].shape == (12,)
    assert abs(first["x"]).max() <= 5
    assert (first["x"] == again["x"]).all() and (first["x"] != other["x"]).any()


def test_a_parameter_without_data_is_named():
    with pytest.raises(OptionError) as caught:
        data_set(signature(), {"n": DrawnArgument(9, 9)}, 0)
    assert str(caught.value) == "the suite has no data for parameter 'x' of 'scale'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{from: 3, to: 1}", "found {'from': 3, 'to': 1}"),
        ("{elements: 0, from: 0, to: 1}", "found {'elements': 0, 'from': 0, 'to': 1}"),
        ("[1, 2]", "found [1, 2]"),
    ],
)
def test_a_bad_argument_is_refused_with_its_key(text: str, message: str):
    with pytest.raises(OptionError) as caught:
        read_suite(SMALL.replace("n: 900", f"n: {text}"), "small")
    assert str(caught.value) == (
        "small: functions.scale.c:scale.n: expected a number, {from, to} or {elements, from, to} with from <= to, "
        + message
    )


def test_a_summary_takes_means_of_ratios():
    row = {"cell": {"arch": "t"}, "status": "equal", "data_sets": 2, "verified": 1.0}
    rows = [
        {**row, "single_issue": 40, "cycles": 10, "ideal": 5},
        {**row, "single_issue": 10, "cycles": 10, "ideal": 0},
        {**row, "status": "failed", "data_sets": 0, "single_issue": None, "cycles": None, "ideal": None},
    ]
    found = summary(rows)
    assert (found["cells"], found["equal"], found["speedup"], found["over_ideal"]) == (3, 2, 2.0, 2.0)


@pytest.mark.tools
def test_a_suite_of_functions_runs_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("llvmlite")
    pytest.importorskip("ziglang")
    (tmp_path / "scale.c").write_text(SCALE)
    (tmp_path / "small.yaml").write_text(SMALL)
    status = main(
        ["bench", str(tmp_path / "small.yaml"), "--folder", str(tmp_path), "--json", "--jobs", "1", "--quiet"]
    )
    report = json.loads(capsys.readouterr().out)
    (row,) = report["rows"]
    assert status == 0
    assert (row["status"], row["equal"], row["ideal"]) == ("equal", 3, 900)
    assert sum(row["breakdown"].values()) == row["cycles"]
    assert [loop["ii"] for loop in row["loops"]] == [1]


@pytest.mark.tools
def test_a_function_that_fails_has_a_row_with_the_reason(tmp_path: Path):
    pytest.importorskip("llvmlite")
    pytest.importorskip("ziglang")
    (tmp_path / "scale.c").write_text(SCALE)
    row = run_cell({
        "source": f"{tmp_path / 'scale.c'}:other", "arch": "torus:4x4", "mapper": "auto", "seed": 1, "effort": 100,
        "time_limit": None, "arguments": {}, "data_sets": 1,
    })  # fmt: skip
    assert row["status"] == "failed"
    assert row["difference"] == f"{tmp_path / 'scale.c'}: has no function 'other'; it has: scale"


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.parametrize("arch", ["torus:4x4", "torus:8x8"])
@pytest.mark.parametrize("source", list(load_suite("functions").functions))  # type: ignore[attr-defined]
def test_every_function_of_the_suite_equals_compiled_c(source: str, arch: str):
    suite = load_suite("functions")
    assert isinstance(suite, FunctionSuite)
    row = run_cell({
        "source": str(EXAMPLES / source), "arch": arch, "mapper": "auto", "seed": 1, "effort": 20000, "time_limit": 20,
        "arguments": {name: argument.to_list() for name, argument in suite.functions[source].items()}, "data_sets": 20,
    })  # fmt: skip
    assert (row["status"], row["equal"]) == ("equal", 20), row["difference"]
