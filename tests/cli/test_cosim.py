"""``gridloom cosim``."""

from __future__ import annotations

import json
import shutil

import pytest
from tests import hand_mappings

from gridloom.mapping.json_format import dumps

icarus = pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus Verilog is not installed")


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mesh_fifo_2", "mesh_unbalanced", "torus_spill"):
        (tmp_path / f"{name}.json").write_text(dumps(getattr(hand_mappings, name)()))


@pytest.mark.tools
@icarus
def test_mappings_are_run_array_by_array_and_wrong_ones_refused(gridloom, saved):
    done = gridloom("cosim", "mesh_fifo_2.json", "mesh_unbalanced.json", "torus_spill.json", "--simulator", "icarus")
    assert done.status == 1
    refused, *agreeing, total = [line for line in done.out.splitlines() if not line.startswith("  ")]
    assert refused == "mesh_unbalanced.json on mesh:2x3: refused"
    assert [line.split(", ")[0] for line in agreeing] == [
        "mesh_fifo_2.json on mesh:2x3: agrees",
        "torus_spill.json on torus:2x2,regs=0: agrees",
    ]
    assert total == "2 of 3 agree"


@pytest.mark.tools
@icarus
def test_stalls_and_seeds_change_the_run_and_not_the_answer(gridloom, saved):
    record = json.loads(
        gridloom("cosim", "torus_spill.json", "--simulator", "icarus", "--stall", "5", "--seed", "2", "--json").out
    )
    assert record["wrong"] == 0
    (row,) = record["mappings"]
    assert (row["status"], row["findings"]) == ("agrees", [])


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.skipif(not shutil.which("verilator"), reason="Verilator is not installed")
def test_verilator_builds_once_and_agrees(gridloom, saved, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):
        done = gridloom("cosim", "torus_spill.json", "--stall", "1")
        assert done.out.splitlines()[-1] == "1 of 1 agree"
    assert len(list((tmp_path / ".cache/gridloom/verilated").iterdir())) == 1


def test_an_unknown_simulator_is_named(gridloom, saved):
    done = gridloom("cosim", "torus_spill.json", "--simulator", "vcs")
    assert (done.status, done.err) == (2, "error: --simulator: expected icarus or verilator, found 'vcs'\n")
