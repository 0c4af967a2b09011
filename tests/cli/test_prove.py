"""``gridloom map --prove``: what was proved is printed, in the record and in the report."""

from __future__ import annotations

import pytest

from gridloom.flow import Request
from gridloom.flow.request import write_command

pytest.importorskip("ortools")

PROVED = ("--prove", "--set", "objective=wirelength", "--set", "workers=1")


@pytest.fixture
def triangle(tmp_path):
    """A graph that no mesh takes without a longer wire."""
    from gridloom.dfg import DfgBuilder
    from gridloom.dfg.json_format import dumps

    b = DfgBuilder("triangle")
    x = b.input("a")
    b.add("add", x, b.add("neg", x, id="b"), id="c")
    path = tmp_path / "triangle.json"
    path.write_text(dumps(b.build()))
    return path


def test_record_has_the_bound_and_the_proof(gridloom, triangle):
    done = gridloom("map", triangle, "--arch", "mesh:3x3", *PROVED, "--json")
    record = done.record
    assert (done.status, record["mapper"], record["wirelength"]) == (0, "exact", 1)
    assert (record["optimal"], record["bound"]) == (True, 1)
    assert record["proof"][-1] == "wirelength 1: found"


def test_text_and_report_tell_the_proof(gridloom, triangle, tmp_path):
    done = gridloom("map", triangle, "--arch", "mesh:3x3", *PROVED, "--html", "r.html")
    lines = done.out.splitlines()
    assert lines[lines.index("  optimal:") + 1].startswith("    wirelength 1 or more by counting")
    assert "wirelength 1: found" in (tmp_path / "r.html").read_text()


def test_command_of_the_report_proves_again():
    request = Request(source="kernel:distance", arch="mesh:4x4", prove=True)
    assert write_command(vars(request)).endswith("--prove")


def test_setting_is_an_option_of_its_own(gridloom):
    done = gridloom("map", "kernel:distance", "--arch", "mesh:4x4", "--set", "prove=true")
    assert (done.status, done.out) == (2, "")
    assert "prove is not a setting; use --prove" in done.err


def test_portfolio_says_who_found_it(gridloom):
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:3x3", "--mapper", "portfolio", "--effort", "20000")
    assert done.status == 0
    assert any(line.strip() in ("found by anneal", "found by exact") for line in done.out.splitlines())
