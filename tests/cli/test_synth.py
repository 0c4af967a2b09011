"""``gridloom synth``: refusals, and standard cells by real programs. Placement on an FPGA is in ``tests/hardware``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gridloom.hardware.synthesis.standard_cells import LIBRARIES


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["mesh:2x2", "--target", "asic"], "--target: no such target: 'asic'; known: ecp5, osu018, osu035, osu050"),
        (
            ["mesh:2x2", "--target", "osu018", "--board", "ulx3s-85f", "-o", "x"],
            "--board: standard cells have no board; leave out --board, or use --target ecp5",
        ),
        (["mesh:2x2", "--target", "osu018", "--activity", "0"], "--activity: expected a number above 0, at most 2"),
        (["core:vexriscv"], "--target: core:vexriscv is for standard cells; add --target osu018 or --liberty FILE"),
    ],
)
def test_options_that_do_not_fit_are_refused(gridloom, words, text) -> None:
    done = gridloom("synth", *words)
    assert done.status == 2 and text in done.err and not done.out


def test_a_file_without_cells_is_no_liberty_file(gridloom, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("gridloom.hardware.synthesis.yosys.require", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name, **_: name)
    (tmp_path / "mine.lib").write_text("library (empty) { }")
    done = gridloom("synth", "mesh:2x2", "--liberty", "mine.lib")
    assert done.status == 2 and "mine.lib: has no cell with an area; expected a liberty file" in done.err


@pytest.mark.tools
@pytest.mark.slow
def test_cells_are_printed_in_words_and_as_one_object(gridloom) -> None:
    if not (shutil.which("yosys") and shutil.which("sta") and Path(LIBRARIES["osu018"]).is_file()):
        pytest.skip("yosys, opensta or qflow-tech-osu018 is not installed")
    words = ["synth", "mesh:1x2", "--target", "osu018", "--set", "width=8", "--set", "ops=add+sub"]
    record = gridloom(*words, "--json").record
    assert record["status"] == "synthesised" and record["target"] == "osu018_stdcells"
    assert record["mm2"] > 0 and record["gops"] > 0 and record["pj_per_op"] > 0
    text = gridloom(*words).out
    assert f"area: {record['mm2']:.3f} mm2, {record['cells']} cells" in text and "critical path:" in text
