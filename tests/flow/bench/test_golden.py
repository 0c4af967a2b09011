"""Golden results: a round trip, tolerances that bite, and files that are refused."""

from __future__ import annotations

import pytest

from gridloom.errors import OptionError
from gridloom.flow.bench.golden import compare, parse_tolerances, read_golden, table


def row(wirelength=20, status="mapped", source="kernel:fir", buffers=4):
    return {
        "cell": {"source": source, "arch": "mesh:auto", "seed": 1},
        "status": status,
        "ii": 1,
        "latency": 9,
        "wirelength": wirelength,
        "longest_wire": 2,
        "buffers": {"max": 2, "total": buffers},
        "tiles_used": 12,
        "seconds": 0.5,
    }


@pytest.fixture
def golden(tmp_path):
    path = tmp_path / "golden.csv"
    path.write_text(table([row(), row(source="kernel:gray")]))
    return read_golden(path)


def judged(rows, golden, *tolerance):
    return compare(rows, golden, parse_tolerances(tolerance))


def test_same_rows_are_neither_worse_nor_better(golden):
    found = judged([row(), row(source="kernel:gray")], golden, "0")
    assert (found.compared, found.worse, found.better) == (2, (), ())
    assert found.ratios["wirelength"] == 1.0


def test_worse_within_the_tolerance_is_taken_and_beyond_it_is_not(golden):
    rest = row(source="kernel:gray")
    assert not judged([row(22), rest], golden, "0.1").worse
    found = judged([row(23), rest], golden, "0.1")
    assert [str(change) for change in found.worse] == ["kernel:fir on mesh:auto, seed 1: wirelength 23, golden 20"]


def test_small_counts_may_be_worse_by_one_unless_the_tolerance_is_zero(golden):
    rest = row(source="kernel:gray")
    assert not judged([row(buffers=5), rest], golden, "0.1").worse
    assert judged([row(buffers=5), rest], golden, "0").worse


def test_tolerance_of_one_metric_leaves_the_others(golden):
    found = judged([row(30, buffers=8), row(source="kernel:gray")], golden, "0.1", "wirelength=0.5")
    assert [change.metric for change in found.worse] == ["buffers_total"]


def test_better_is_told_and_is_no_regression(golden):
    found = judged([row(10), row(source="kernel:gray")], golden)
    assert ([change.metric for change in found.better], found.worse) == (["wirelength"], ())


def test_lost_mapping_and_missing_cell_are_regressions(golden):
    found = judged([row(status="failed")], golden)
    assert [(change.metric, change.found) for change in found.worse] == [("status", "failed"), ("cell", "missing")]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["x"], "--tolerance: expected a share such as 0.1, found 'x'"),
        (["-1"], "--tolerance: expected a share such as 0.1, found '-1'"),
        (["nan"], "--tolerance: expected a share such as 0.1, found 'nan'"),
        (["speed=1"], "--tolerance: no metric is called 'speed'; known: ii, latency, wirelength, "),
    ],
)
def test_bad_tolerance(items, message):
    with pytest.raises(OptionError) as caught:
        parse_tolerances(items)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", ":1: expected the columns source, arch, seed, status, "),
        ("source,arch,seed,status\na,b,x,mapped\n", ":2: seed: expected a whole number, found 'x'"),
        ("source,arch,seed,status,ii\na,b,1,mapped,one\n", ":2: ii: expected a whole number, found 'one'"),
        ("source,arch,seed,status\na,b,1,mapped\na,b,1,mapped\n", ":3: a on b, seed 1 is given twice"),
    ],
)
def test_bad_golden_file_names_the_line(tmp_path, text, message):
    path = tmp_path / "g.csv"
    path.write_text(text)
    with pytest.raises(OptionError) as caught:
        read_golden(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_missing_golden_file(tmp_path):
    with pytest.raises(OptionError, match="there is no such file"):
        read_golden(tmp_path / "none.csv")
