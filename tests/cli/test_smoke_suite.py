"""The smoke suite against its golden results: what the mappers could do, they still can.

After a change that is meant to change results: ``gridloom bench smoke --csv tests/golden/smoke.csv``.
"""

from __future__ import annotations

from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "smoke.csv"

#: The search minimises FIFO depths first; wires may get longer for a shallower FIFO.
TOLERANCES = ("0.1", "wirelength=0.5", "longest_wire=0.5", "latency=0.3")


def test_smoke_suite_is_as_good_as_its_golden_results(gridloom):
    options = [word for share in TOLERANCES for word in ("--tolerance", share)]
    done = gridloom("bench", "smoke", "--jobs", "2", "--compare", GOLDEN, *options, "--json")
    record = done.record
    assert record["comparison"]["worse"] == []
    assert record["comparison"]["compared"] == 40
    assert record["summary"]["mapped"] == 40
    assert all(
        row["verified"] == {"legal": True, "simulated": True, "compared_with": "graph"} for row in record["rows"]
    )
    # Single cells may move within their tolerances, all of them together hardly.
    assert record["comparison"]["ratios"]["buffers_total"] <= 1.3
    assert record["comparison"]["ratios"]["wirelength"] <= 1.2
    assert done.status == 0
