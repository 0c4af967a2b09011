"""Comparisons of mappers: every number is computed again from the rows, by pandas or in plain Python."""

from __future__ import annotations

import csv
import io
import math
import random
import re
from typing import Any

import pytest

from gridloom.emit.plots.suite import plot_comparison
from gridloom.errors import OptionError
from gridloom.flow.bench.comparison import MapperComparison, compare_mappers, default_metric, write_table
from gridloom.flow.bench.run import Report
from gridloom.flow.bench.selection import SuiteChoice, split_archs
from gridloom.flow.bench.suite import read_suite

FIGURES = {"buffers": None, "wirelength": 1, "seconds": 0.25, "elapsed": 0.5}
ARCHS = ("torus:2x2", "torus:3x3", "ramp-2")


def row(mapper: str, source: str, arch: str, seed: int, ii: int | None, **more: Any) -> dict[str, Any]:
    cell = {"source": source, "arch": arch, "seed": seed}
    status = "failed" if ii is None else "mapped"
    return {"cell": cell, "mapper": mapper, "status": status, "ii": ii, **FIGURES, **more}


def random_rows(seed: int, mappers: tuple[str, ...] = ("first", "other")) -> list[dict[str, Any]]:
    """Two mappers x three arrays x five seeds over seven loops, with failures."""
    chance = random.Random(seed)
    return [
        row(mapper, f"loop{k}", arch, number, chance.choice([None, 2, 3, 3, 4, 7]))
        for mapper in mappers
        for k in range(7)
        for arch in ARCHS
        for number in range(1, 6)
    ]


def only(rows: list[MapperComparison], arch: str, mapper: str) -> MapperComparison:
    (found,) = [one for one in rows if (one.arch, one.mapper) == (arch, mapper)]
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("arch", [*ARCHS, "all"])
def test_numbers_equal_a_recomputation_in_pandas(seed: int, arch: str):
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    rows = random_rows(seed)
    frame = pandas.DataFrame([{**one["cell"], "mapper": one["mapper"], "ii": one["ii"]} for one in rows])
    frame = frame if arch == "all" else frame[frame["arch"] == arch]
    wide = frame.pivot(index=["source", "arch", "seed"], columns="mapper", values="ii")
    found, base = only(compare_mappers(rows), arch, "other"), only(compare_mappers(rows), arch, "first")
    assert (found.cells, found.mapped, found.failed) == (
        len(wide), wide["other"].notna().sum(), wide["other"].isna().sum(),
    )  # fmt: skip
    filled = wide.fillna(numpy.inf)
    assert found.wins == (filled["other"] < filled["first"]).sum()
    assert found.losses == (filled["other"] > filled["first"]).sum()
    assert found.ties == (filled["other"] == filled["first"]).sum()
    both = wide.dropna()
    assert found.pairs == len(both)
    assert found.ratio == pytest.approx(numpy.exp(numpy.log(both["other"] / both["first"]).mean()), abs=1e-4)
    for one, name in ((found, "other"), (base, "first")):
        assert one.geometric_mean == pytest.approx(numpy.exp(numpy.log(both[name]).mean()), abs=1e-3)


def test_interval_and_means_equal_a_recomputation_in_plain_python():
    rows = random_rows(9)
    found = only(compare_mappers(rows), "all", "other")
    ii = {(one["mapper"], *one["cell"].values()): one["ii"] for one in rows}
    logs: dict[str, list[float]] = {}
    for (mapper, *cell), value in ii.items():
        if mapper == "other" and value and ii["first", *cell]:
            logs.setdefault(cell[0], []).append(math.log(value) - math.log(ii["first", *cell]))
    chance, drawn = random.Random(0), []
    for _ in range(2000):
        sample = [value for name in chance.choices(list(logs), k=len(logs)) for value in logs[name]]
        drawn.append(math.exp(sum(sample) / len(sample)))
    drawn.sort()
    assert (found.ratio_low, found.ratio_high) == pytest.approx((drawn[49], drawn[1950]), abs=1e-3)
    assert found.ratio == pytest.approx(math.exp(sum(map(sum, logs.values())) / sum(map(len, logs.values()))), abs=1e-4)


def test_a_mapper_beside_itself_is_no_different():
    rows = random_rows(3, ("same",))
    twin = [{**one, "mapper": "twin"} for one in rows]
    for one in compare_mappers(rows + twin):
        if one.mapper == "twin":
            assert (one.ratio, one.wins, one.losses, one.verdict) == (1.0, 0, 0, "no difference")


def test_peers_join_by_name_with_what_they_published():
    rows = [
        row("ours", name, "torus:4x4", seed, ii, peers={"CRIMSON": 4, "ours": "aborted"})
        for name, ii in (("a", 2), ("b", 8))
        for seed in (1, 2)
    ]
    crimson, again = compare_mappers(rows)[1:]
    assert (crimson.mapper, crimson.wins, crimson.losses, crimson.ratio) == ("CRIMSON", 2, 2, 1.0)
    assert (again.mapper, again.failed, again.ratio) == ("ours (published)", 4, None)
    assert [one.mapper for one in compare_mappers(rows, "seconds")] == ["ours"]


def test_metric_is_the_first_that_differs_and_an_unknown_one_is_refused():
    static = [row("m", name, "mesh:4x4", 1, 1, wirelength=wires) for name, wires in (("a", 3), ("b", 5))]
    assert default_metric(static) == "wirelength"
    assert default_metric(random_rows(1)) == "ii"
    with pytest.raises(OptionError, match="--metric: no metric is called 'ipc'; known: ii, period"):
        compare_mappers(static, "ipc")


def test_a_mean_over_a_value_of_0_is_left_out():
    rows = [row(name, "a", "mesh:4x4", 1, 1, wirelength=0) for name in ("m", "n")]
    (_, second) = compare_mappers(rows, "wirelength")
    assert (second.geometric_mean, second.ratio, second.ties) == (None, None, 1)


def test_tables_hold_the_same_rows():
    rows = compare_mappers(random_rows(5, ("first", "with_$&%#")))
    table = {style: write_table(rows, style) for style in ("md", "csv", "latex")}
    read = list(csv.DictReader(io.StringIO(table["csv"])))
    assert [(one["arch"], one["mapper"], one["wins"]) for one in read] == [
        (one.arch, one.mapper, "" if one.wins is None else str(one.wins)) for one in rows
    ]
    lines = table["md"].splitlines()
    assert len(lines) == 2 + len(rows) == 10
    assert all(line.count("|") == 14 for line in lines)
    assert table["latex"].count(r"\\") == 1 + len(rows)
    assert r"with\_\$\&\%\#" in table["latex"]
    assert not re.search(r"(?<!\\)[$%#_]", table["latex"])
    assert r"\begin{tabular}{llrrrrrrrrrlr}" in table["latex"]


def test_report_gives_data_frames_tables_and_plain_data():
    report = Report(suite="s", rows=random_rows(2))
    assert report.table().startswith("| array | mapper | mapped | failed | II (geom. mean) | ratio to first |")
    assert [one["mapper"] for one in report.to_dict()["mappers"][:2]] == ["first", "other"]
    pytest.importorskip("pandas")
    frame = report.to_pandas()
    assert len(frame) == 210
    assert set(frame["mapper"]) == {"first", "other"}
    assert list(frame["cell.seed"][:2]) == [1, 2]


def test_figure_shows_ratios_with_their_intervals():
    drawn = plot_comparison(Report(suite="s", rows=random_rows(2)).to_dict()["mappers"], "s")
    assert drawn is not None
    assert drawn.count("<circle") == 4
    assert "II beside first" in drawn
    alone = Report(suite="s", rows=random_rows(2, ("first",)))
    assert plot_comparison(alone.to_dict()["mappers"], "s") is None


def test_choice_takes_mappers_with_settings_arrays_and_budgets():
    suite = read_suite("sources: [kernel:fir]\narchs: ['torus:2x2', 'torus:3x3']\nexpected: {cells: 2}\n", "s")
    assert SuiteChoice().apply(suite) == [("auto", suite)]
    choice = SuiteChoice(mappers=["ramp", "ramp:without=memory"], archs=["torus:3x3"], seeds=range(1, 4), cpu_limit=2.0)
    (_, plain), (name, without) = choice.apply(suite)
    assert (name, without.mapper, without.settings) == ("ramp:without=memory", "ramp", {"without": "memory"})
    assert (plain.time_limit, plain.cpu_time, plain.settings) == (2.0, True, {})
    assert [(cell.arch, cell.seed) for cell in plain.cells()] == [("torus:3x3", 1), ("torus:3x3", 2), ("torus:3x3", 3)]
    other = SuiteChoice(archs=split_archs("torus:2x2,hex:3x3")).apply(suite)[0][1]
    assert [cell.arch for cell in other.cells()] == ["torus:2x2", "hex:3x3"]
    with pytest.raises(OptionError, match="mapper: two mappers are called 'ramp'"):
        SuiteChoice(mappers=["ramp", "ramp"]).apply(suite)
    with pytest.raises(OptionError, match="--time-limit counts seconds, --cpu-limit those of CPU time; give one"):
        SuiteChoice(time_limit=1.0, cpu_limit=1.0).apply(suite)
