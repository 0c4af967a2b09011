"""``gridloom program`` from the outside."""

from __future__ import annotations

from pathlib import Path

from gridloom.mapping.program import loads

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "programs" / "scaled_filter.yaml"
ARCH = ("--arch", "streaming-engine:32,spokes=8", "--effort", "4000")


def test_program_prints_its_flows_and_runs(gridloom, tmp_path):
    done = gridloom("program", EXAMPLE, *ARCH, "--json", "-o", tmp_path / "p.json")
    assert done.status == 0, done.err
    record = done.record
    assert record["verified"] == {"legal": True, "simulated": True}
    assert [flow["name"] for flow in record["flows"]] == ["power", "scale", "smooth", "average"]
    assert {run["message_cycles"] for run in record["runs"]} == {1, 7, 60}
    saved = loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert [flow.ii for flow in saved.flows] == [flow["ii"] for flow in record["flows"]]


def test_text_names_channels_and_base_tiles(gridloom):
    done = gridloom("program", EXAMPLE, *ARCH)
    assert done.status == 0, done.err
    assert "  transfer scale.z -> smooth.x" in done.out
    assert "  power: base t_0, " in done.out


def test_program_that_does_not_fit_is_a_failure(gridloom):
    done = gridloom("program", EXAMPLE, "--arch", "streaming-engine:3,spokes=8")
    assert done.status == 1
    assert done.out == "scaled_filter: tiles of the flows together: needs 4 tiles, has 3\n"


def test_missing_file_is_bad_input(gridloom):
    done = gridloom("program", "nowhere.yaml", *ARCH)
    assert done.status == 2 and "nowhere.yaml" in done.err
