"""The suites of large loops: what they hold, and that they are as good as their golden results."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.flow.bench.golden import compare, parse_tolerances, read_golden
from gridloom.flow.bench.run import bench
from gridloom.flow.bench.suite import load_suite

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


@pytest.mark.parametrize("suite", ["large", "panorama"])
def test_the_golden_results_cover_every_cell_of_the_suite(suite: str) -> None:
    known = set(read_golden(GOLDEN / f"{suite}.csv"))
    assert known == {(cell.source, cell.arch, cell.seed) for cell in load_suite(suite).cells()}


def test_the_suite_panorama_names_files_that_are_there(benchmarks: Path) -> None:
    assert all((benchmarks / cell.source).is_file() for cell in load_suite("panorama").cells())


@pytest.mark.slow
def test_the_suite_large_is_as_good_as_its_golden_results() -> None:
    # How far the search gets below the II of the cells depends on the machine; routes follow the II.
    rows = bench(load_suite("large")).rows
    found = compare(rows, read_golden(GOLDEN / "large.csv"), parse_tolerances(["1", "ii=0.4"]))
    assert [str(change) for change in found.worse] == []
    assert all(row["verified"] == {"legal": True, "simulated": True, "compared_with": "graph"} for row in rows)
