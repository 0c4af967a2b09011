"""Tensor programs through the flow: one section or several, all of them mapped, times that add up."""

from __future__ import annotations

import pytest

from gridloom import registry
from gridloom.flow import Request, run
from gridloom.flow.bench.suite import load_suite

SETTINGS = {"cost": "heuristic", "judge": "none", "chains": 4}


def test_program_that_fits_is_one_mapping_with_the_period_of_a_sample():
    result = run(Request(source="model:gemm,rows=8,inner=64,columns=64", arch="rdu:8x8", effort=8, settings=SETTINGS))
    assert result.status == "mapped"
    assert result.verified.legal
    assert result.verified.simulated
    (section,) = result.sections
    assert section.section.blocks == 8
    assert result.metrics["period"] == 8 * section.result.metrics["period"] / section.section.copies
    assert result.metrics["throughput"] == pytest.approx(1 / result.metrics["period"])
    # A product of 64 x 64 on 4 units: 16 firings of 4 cycles each. A channel over which results are written rests from
    # cycle 7800 - 350 - 5 * (7800 / 6) = 950 on, so that iterations 13 to 18 of 64 end late; from 16 on they are
    # measured, and catch up faster than any unit works. That must not count as a shorter period.
    assert section.section.bound == 16 * 4
    assert section.result.metrics["period"] >= section.section.bound


def test_program_that_is_too_large_is_cut_and_every_section_mapped():
    source = "model:mlp,rows=4,width=128,layers=4"
    result = run(Request(source=source, arch="rdu:4x4,memory_bytes=16384", effort=64, settings=SETTINGS))
    record = result.to_dict()
    assert record["status"] == "mapped"
    sections = record["sections"]
    assert sum(section["count"] for section in sections) > 1
    assert all(section["status"] == "mapped" for section in sections)
    assert record["period"] == sum(
        section["count"] * section["blocks"] * section["period"] / section["copies"] for section in sections
    )
    assert all(0 < section["efficiency"] <= 1 for section in sections)


def test_auto_takes_the_dataflow_mapper_for_elastic_arrays():
    from gridloom.archs import build
    from gridloom.flow.options import choose

    assert choose("auto", build("rdu:2x2")) == "dataflow"


@pytest.mark.parametrize("name", registry.names("costs"))
def test_every_cost_model_guides_a_search(name: str):
    settings = {"cost": name, "judge": "none", "chains": 2}
    result = run(Request(source="model:gemm,rows=4,inner=64,columns=64", arch="rdu:16x8", effort=4, settings=settings))
    assert result.status == "mapped"


def test_suite_of_networks_is_read():
    suite = load_suite("tensor")
    assert len(suite.groups[0].sources) == 7
