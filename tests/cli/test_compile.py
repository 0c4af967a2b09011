"""``gridloom compile`` from the outside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.flow.system.test_answer import RUN

from gridloom.cli.commands import compile_command

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "functions" / "threshold.c"
WORDS = ("compile", f"{EXAMPLE}:first_above", "--arch", "torus:4x4", "--effort", "4000")


@pytest.fixture
def data(tmp_path):
    np.savez(tmp_path / "in.npz", x=np.arange(32, dtype=np.int16), y=np.zeros(32, np.int32))
    return tmp_path / "in.npz"


def test_a_function_is_mapped_without_data_and_not_run(gridloom):
    done = gridloom(*WORDS)
    assert done.status == 0, done.err
    assert done.out.startswith("compiled: first_above onto torus:4x4: 2 of 2 innermost loops on the array\n")
    assert "cycles" not in done.out


@pytest.mark.parametrize(("differences", "status"), [((), 0), (("it printed 6, native code 7",), 1)])
def test_a_program_that_differs_from_native_code_has_a_status_of_its_own(
    gridloom, tmp_path, monkeypatch, differences, status
):
    (tmp_path / "sum.c").write_text("""#include <stdio.h>
int x[8];
int main(void) {
  int s = 0;
  for (int i = 0; i < 8; i++) s += x[i];
  printf("%d\\n", s);
  return 0;
}
""")
    monkeypatch.setattr(compile_command, "_predicted", lambda *_: replace(RUN, program=True, differences=differences))
    done = gridloom("compile", tmp_path / "sum.c", "--arch", "torus:2x2", "--effort", "500")
    assert done.status == status
    assert all(f"  {text}" in done.out for text in differences)


def test_data_give_values_cycles_files_and_a_comparison(gridloom, data, tmp_path):
    files = ("-o", tmp_path / "f.json", "--trace", tmp_path / "t.json", "--out", tmp_path)
    done = gridloom(*WORDS, "--args", "n=32,threshold=20", "--data", data, *files, "--json")
    assert done.status == 0, done.err
    run = done.record["run"]
    assert run["value"] == 21 and run["native"]["equal"] and run["cycles"] == run["breakdown"]["total"]
    assert np.load(tmp_path / "y.npy").tolist() == run["arrays"]["y"] == list(range(32))
    events = [row for row in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if row["ph"] == "X"]
    assert sum(row["dur"] for row in events) == run["cycles"]
    checked = gridloom("check", tmp_path / "f.json")
    assert checked.status == 0 and checked.out.count("legal: loop first_above_") == 2
    named = ("--source", EXAMPLE, "--args", "n=32,threshold=20", "--data", data)
    again = gridloom("compile", tmp_path / "f.json", *named, "--json")
    assert again.record["run"]["breakdown"] == run["breakdown"]


def test_a_timeline_as_value_changes(gridloom, data, tmp_path):
    words = ("--args", "n=32", "--args", "threshold=20", "--data", data, "--trace", tmp_path / "t.vcd")
    assert gridloom(*WORDS, *words).status == 0
    text = (tmp_path / "t.vcd").read_text()
    assert text.startswith("$version gridloom $end") and "$var wire 32" in text and "$enddefinitions $end\n#0\n" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--args", "n"), "--args: expected NAME=NUMBER, found 'n'"),
        (("--args", "n=many"), "--args: 'n': expected a number, found 'many'"),
        (("--data", "x=in.csv"), "--data: expected a file that ends in .npy or .npz, found in.csv"),
        (("--data", "x=none.npy"), "--data: none.npy cannot be read: "),
        (("--args", "n=4"), "'first_above' needs an array for 'x' (int16_t *): give x=ARRAY, --data x=FILE.npy"),
        (("--trace", "t.txt", "--random", "1"), "--trace: expected a file that ends in .json (Perfetto) or .vcd"),
        (("--out", "nowhere", "--random", "1"), "--out: there is no folder nowhere; create it first"),
        (("--simulate", "some", "--random", "1"), "--simulate: expected all, first or a number of launches"),
    ],
)
def test_bad_input_is_refused_in_words(gridloom, words, message):
    done = gridloom(*WORDS, *words)
    assert done.status == 2
    assert message in done.err


def test_an_array_is_asked_for(gridloom):
    done = gridloom("compile", f"{EXAMPLE}:first_above")
    assert done.status == 2 and "name the array to compile for: --arch torus:4x4" in done.err


def test_a_damaged_file_is_refused(gridloom, tmp_path):
    saved = tmp_path / "f.json"
    saved.write_text('{"format": "gridloom-function", "version": 1, "source": 5}')
    done = gridloom("check", saved)
    assert done.status == 2 and "is damaged: expected source, function and loops" in done.err
