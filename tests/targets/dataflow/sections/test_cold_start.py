"""Cold starts of mapped sections: what `gridloom map` reports of them, and how long ones are extended."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gridloom.flow import Request, Result, run
from gridloom.flow.display.report import result_page
from gridloom.targets.dataflow.machine.measure import Meter
from gridloom.targets.dataflow.report.load import flow_links
from gridloom.targets.dataflow.sections import cold_start
from gridloom.targets.dataflow.sections.cold_start import section_start

SETTINGS = {"cost": "heuristic", "judge": "none", "chains": 2}
MHA = "model:mha,rows=64,width=64,heads=4"


@pytest.fixture(scope="module")
def result() -> Result:
    return run(Request(source=MHA, arch="rdu:16x8", effort=8, settings=SETTINGS))


def test_section_says_when_each_step_of_its_start_is_done(result: Result):
    (record,) = result.to_dict()["sections"]
    (section,) = result.sections
    assert section.start is not None
    found = section.start.figures
    steps = [record["configure_cycles"], record["load_cycles"], record["fill_cycles"]]
    assert steps == [b - a for a, b in pairwise([0, found.configured, found.loaded, found.first_output])]
    assert all(cycles > 0 for cycles in steps)
    assert record["latency"] == found.last_output == result.metrics["latency"]
    # Everything that is at work is at work for a sample, after the pass that fills what attention holds.
    assert record["latency"] > record["period"] * record["blocks"]
    assert record["fill_cycles"] > record["bound"] * record["blocks"]
    assert record["simulated_blocks"] == record["blocks"] == 64


def test_sections_run_one_after_the_other():
    source = "model:mlp,rows=4,width=128,layers=4"
    found = run(Request(source=source, arch="rdu:4x4,memory_bytes=16384", effort=64, settings=SETTINGS)).to_dict()
    assert sum(item["count"] for item in found["sections"]) > 1
    assert found["latency"] == sum(item["count"] * item["latency"] for item in found["sections"])


def test_long_starts_are_extended_from_shorter_ones(result: Result, monkeypatch: pytest.MonkeyPatch):
    (section,) = result.sections
    assert section.start is not None
    assert result.mapping is not None
    monkeypatch.setattr(cold_start, "MOST_CROSSINGS", 1)
    short = section_start(result.mapping, section.section)
    assert short is not None
    assert short.blocks == cold_start.LEAST_BLOCKS < 64
    assert (short.figures.configured, short.figures.loaded) == (
        section.start.figures.configured,
        section.start.figures.loaded,
    )
    # Of 64 blocks 16 were simulated, in the pass that fills held operands, too; refreshes fall elsewhere in the others.
    assert short.figures.first_output == pytest.approx(section.start.figures.first_output, rel=0.05)
    assert short.figures.last_output == pytest.approx(section.start.figures.last_output, rel=0.05)
    assert section_start(result.mapping, section.section, whole=True) == section.start


def test_held_operands_are_filled_whole_where_that_is_cheap(result: Result, monkeypatch: pytest.MonkeyPatch):
    (section,) = result.sections
    assert section.start is not None
    assert result.mapping is not None
    # Enough for 48 of the 64 blocks of results, and for all of the pass before them, in which half of the units run.
    meter = Meter(result.mapping.dfg, result.mapping.arch)
    crossings = meter.edge_crossings(flow_links(result.mapping, meter)[0]).sum()
    monkeypatch.setattr(cold_start, "MOST_CROSSINGS", int(48.5 * crossings))
    short = section_start(result.mapping, section.section)
    assert short is not None
    assert short.blocks == 48
    assert short.figures.first_output == section.start.figures.first_output
    assert short.figures.last_output == pytest.approx(section.start.figures.last_output, rel=0.02)


def test_report_says_how_a_sample_starts(result: Result):
    (section,) = result.sections
    assert section.start is not None
    page = result_page(result)
    assert f"configured after {section.start.figures.configured:,} cycles" in page
    assert f"last one after {section.start.figures.last_output:,}." in page
