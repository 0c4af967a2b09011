"""``gridloom program`` from the outside."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.plain_arrays import STATIC_GRID

from gridloom.targets.streaming.program.model import loads

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "programs" / "scaled_filter.yaml"
ARCH = ("--arch", "streaming-engine:32,spokes=8", "--effort", "4000")


def test_program_prints_its_flows_and_runs(gridloom, tmp_path):
    done = gridloom("program", EXAMPLE, *ARCH, "--json", "-o", tmp_path / "p.json")
    assert done.status == 0, done.err
    record = done.record
    assert record["verified"] == {"legal": True, "simulated": True, "compared_with": "graph"}
    assert [flow["name"] for flow in record["flows"]] == ["power", "scale", "smooth", "average"]
    assert {run["message_cycles"] for run in record["runs"]} == {1, 7, 60}
    saved = loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert [flow.ii for flow in saved.flows] == [flow["ii"] for flow in record["flows"]]


def test_spoke_ram_has_as_many_entries_a_tile_as_the_ii_of_its_flow(gridloom, tmp_path):
    done = gridloom("program", EXAMPLE, *ARCH, "--spoke-ram", tmp_path / "s.json")
    assert done.status == 0, done.err
    for part in json.loads((tmp_path / "s.json").read_text(encoding="utf-8")).values():
        counts = Counter(entry["tile"] for entry in part["entries"])
        assert set(counts.values()) == {part["ii"]} and part["base"] in counts
        assert any(entry["master"] == "base" for entry in part["entries"])


def test_spoke_ram_of_a_mapping_is_written_for_tiles_with_spokes_only(gridloom, tmp_path):
    words = ("map", "kernel:distance", "--effort", "2000", "--spoke-ram", tmp_path / "s.json")
    assert gridloom(*words, "--arch", "streaming-engine:8,spokes=4").status == 0
    entries = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert sum(entry["instruction"] is not None for entry in entries) == 6
    other = tmp_path / "other.yaml"
    other.write_text(STATIC_GRID, encoding="utf-8")
    refused = gridloom(*words, "--arch", other)
    assert refused.status == 2 and refused.err.endswith("has no spokes; only a streaming-engine has\n")


def test_text_names_channels_and_base_tiles(gridloom):
    done = gridloom("program", EXAMPLE, *ARCH)
    assert done.status == 0, done.err
    assert "  transfer scale.z -> smooth.x" in done.out
    assert "  power: base t_0, " in done.out
    assert done.out.startswith("mapped: scaled_filter onto streaming-engine:32,spokes=8\n  legal, and simulated")
    assert "  messages of one cycle: 3" in done.out and "  messages of 1 to 60 cycles: " in done.out


def test_program_that_does_not_fit_is_a_failure(gridloom):
    done = gridloom("program", EXAMPLE, "--arch", "streaming-engine:3,spokes=8")
    assert done.status == 1
    assert done.out == "scaled_filter: tiles of the flows together: needs 4 tiles, has 3\n"


def test_missing_file_is_bad_input(gridloom):
    done = gridloom("program", "nowhere.yaml", *ARCH)
    assert done.status == 2 and "nowhere.yaml" in done.err
