"""``gridloom bench``: rows, golden results, stores and clusters."""

from __future__ import annotations

import csv
import json

import pytest

SUITE = """\
suite: tiny
budget: {effort: 5000}
seeds: [1]
sources: [kernel:vector_add, kernel:distance]
archs: ["mesh:auto", "mesh:2x2"]
expected: {cells: 4, mapped: 3}
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "tiny.yaml").write_text(SUITE)
    return "tiny.yaml"


def test_json_has_one_row_a_cell_with_the_fields_of_map(gridloom, suite):
    done = gridloom("bench", suite, "--jobs", "1", "--json")
    assert (done.status, done.err) == (0, "")
    record = done.record
    assert record["suite"] == "tiny"
    assert [row["cell"] for row in record["rows"]] == [
        {"source": "kernel:vector_add", "arch": "mesh:auto", "seed": 1},
        {"source": "kernel:vector_add", "arch": "mesh:2x2", "seed": 1},
        {"source": "kernel:distance", "arch": "mesh:auto", "seed": 1},
        {"source": "kernel:distance", "arch": "mesh:2x2", "seed": 1},
    ]
    assert [row["status"] for row in record["rows"]] == ["mapped", "mapped", "mapped", "failed"]
    assert record["rows"][2]["arch"]["name"] == "mesh:4x4"
    assert all(
        row["verified"] == {"legal": True, "simulated": True, "compared_with": "graph"} for row in record["rows"][:3]
    )
    assert record["summary"]["mapped"] == 3
    assert record["summary"]["archs"]["mesh"]["cells"] == 4


def test_fewer_mapped_cells_than_expected_is_status_1(gridloom, suite, tmp_path):
    (tmp_path / suite).write_text(SUITE.replace("mapped: 3", "mapped: 4"))
    done = gridloom("bench", suite, "--jobs", "1")
    assert (done.status, done.err) == (1, "3 cells are mapped, the suite expects 4\n")


def test_figures_are_written_where_there_are_numbers(gridloom, suite, tmp_path):
    done = gridloom("bench", suite, "--jobs", "1", "--plot", "all.svg", "--plot", "wirelength=wires.svg")
    assert (done.status, done.err) == (0, "wrote all.svg\nwrote wires.svg\n")
    for name in ("all.svg", "wires.svg"):
        assert "Wirelength" in (tmp_path / name).read_text()


def test_rows_written_as_csv_compare_equal_and_worse_ones_do_not(gridloom, suite, tmp_path):
    assert gridloom("bench", suite, "--jobs", "1", "--csv", "golden.csv").status == 0
    same = gridloom("bench", suite, "--jobs", "1", "--compare", "golden.csv", "--tolerance", "0", "--json")
    assert same.status == 0
    assert same.record["comparison"]["compared"] == 4
    latency = same.record["rows"][0]["latency"]
    golden = tmp_path / "golden.csv"
    rows = list(csv.DictReader(golden.read_text().splitlines()))
    rows[0]["latency"] = latency - 1
    with golden.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    worse = gridloom("bench", suite, "--jobs", "1", "--compare", "golden.csv", "--tolerance", "0")
    assert worse.status == 1
    assert f"worse: kernel:vector_add on mesh:auto, seed 1: latency {latency}, golden {latency - 1}" in worse.out


def test_stored_rows_are_not_run_again(gridloom, suite, monkeypatch):
    first = gridloom("bench", suite, "--jobs", "1", "--store", "s.sqlite", "--json").record
    monkeypatch.setattr("gridloom.flow.bench.run.Request", None)
    again = gridloom("bench", suite, "--jobs", "1", "--store", "s.sqlite", "--resume", "--json")
    assert again.status == 0
    assert again.record["rows"] == first["rows"]


def test_store_with_rows_needs_resume(gridloom, suite):
    gridloom("bench", suite, "--jobs", "1", "--store", "s.sqlite")
    done = gridloom("bench", suite, "--jobs", "1", "--store", "s.sqlite")
    assert (done.status, done.out) == (2, "")
    assert done.err == "error: s.sqlite: holds 3 results already; resume (--resume), or name a new file\n"


def test_worker_processes_give_the_same_rows(gridloom, suite):
    alone = gridloom("bench", suite, "--jobs", "1", "--json").record["rows"]
    shared = gridloom("bench", suite, "--jobs", "2", "--json").record["rows"]
    assert without_time(alone) == without_time(shared)


def test_local_cluster_gives_the_same_rows(gridloom, suite):
    pytest.importorskip("distributed")
    alone = gridloom("bench", suite, "--jobs", "1", "--json").record["rows"]
    shared = gridloom("bench", suite, "--jobs", "1", "--cluster", "local", "--json").record["rows"]
    assert without_time(alone) == without_time(shared)


def without_time(rows):
    return [{key: value for key, value in row.items() if key not in ("seconds", "elapsed")} for row in rows]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["smoky"], "error: no suite is called 'smoky'; did you mean smoke?"),
        (["no.yaml"], "error: no.yaml: there is no such file"),
        (["smoke", "--resume"], "error: --resume: needs a store to go on with: --store FILE"),
        (["smoke", "--compare", "no.csv"], "error: no.csv: there is no such file"),
        (["smoke", "--tolerance", "x"], "error: --tolerance: expected a share such as 0.1, found 'x'"),
        (["smoke", "--jobs", "0"], "error: --jobs: expected at least 1, found 0"),
        (
            ["smoke", "--cluster", "here"],
            "error: cluster: found 'here', expected 'local' or a Dask scheduler's address",
        ),
        (["smoke", "--csv", "no/x.csv"], "error: --csv: no/x.csv: there is no folder "),
        (["smoke", "--mapper", "magic"], "error: no mapper is called 'magic'; known: "),
        (["ucsb"], "error: suite 'ucsb' reads published files; name their folder with --folder or GRIDLOOM_BENCHMARKS"),
        (["ucsb", "--folder", "none"], "error: --folder: there is no folder none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_message(gridloom, tmp_path, words, message):
    done = gridloom("bench", *words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_broken_cell_is_a_failed_row_and_the_others_go_on(gridloom, suite, monkeypatch):
    from gridloom.flow.bench import run as bench

    original = bench.Request

    def sometimes(**fields):
        if fields["source"] == "kernel:distance":
            raise RuntimeError("broken on purpose")
        return original(**fields)

    monkeypatch.setattr(bench, "Request", sometimes)
    rows = json.loads(gridloom("bench", suite, "--jobs", "1", "--json").out)["rows"]
    assert [row["status"] for row in rows] == ["mapped", "mapped", "failed", "failed"]
    assert rows[2]["failure"]["bound"] == "an error (RuntimeError: broken on purpose)"
    assert rows[2].keys() == rows[0].keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["area:asic"], "area: expected area, area:intel or area:xilinx, found 'area:asic'"),
        (["area", "--plot", "overhead.png"], "--plot: expected FILE.svg or FIGURE=FILE.svg, found 'overhead.png'"),
        (
            ["area:intel", "--plot", "registers=a.svg"],
            "--plot: no figure 'registers' for intel; known: overhead, fifo, growth, four-bit",
        ),
        (
            ["smoke", "--plot", "area=a.svg"],
            "--plot: no figure 'area' for a suite; known: ii, fifo, wirelength, seconds, mapped, speedup, by-loop, "
            "strategies, comparison",
        ),
    ],
)
def test_mistakes_about_areas_and_figures_are_named(gridloom, arguments, message):
    done = gridloom("bench", *arguments)
    assert (done.status, done.err) == (2, f"error: {message}\n")


LOOPS = """\
suite: loops
budget: {effort: 20000}
seeds: [1]
sources: [kernel:iir]
archs: ["torus:2x2"]
"""


def test_one_mapper_is_compared_with_itself_under_other_settings(gridloom, tmp_path):
    (tmp_path / "loops.yaml").write_text(LOOPS)
    done = gridloom("bench", "loops.yaml", "--mapper", "ramp,ramp:without=memory:first=10", "--jobs", "1", "--json")
    assert (done.status, done.err) == (0, "")
    assert [row["mapper"] for row in done.record["rows"]] == ["ramp", "ramp:without=memory:first=10"]
    assert done.record["summary"]["loops"]["ratios"]["ramp:without=memory:first=10"]["all_cells"] == 1


def test_the_processor_is_an_option_of_a_run(gridloom, tmp_path):
    (tmp_path / "loops.yaml").write_text(LOOPS)
    found = []
    for text in ("width=1", "blocking=true,load=9"):
        done = gridloom("bench", "loops.yaml", "--mapper", "ramp", "--jobs", "1", "--processor", text, "--json")
        found.append(done.record["rows"][0]["sequential"])
    assert found[0] < found[1]
    wrong = gridloom("bench", "loops.yaml", "--processor", "cores=2")
    assert wrong.status == 2
    assert wrong.err.startswith("error: --processor: cores: processor 'of the comparison' has no such setting")


def test_two_mappers_on_three_arrays_and_five_seeds_are_one_table(gridloom, tmp_path):
    (tmp_path / "loops.yaml").write_text("suite: loops\nsources: [kernel:axpy, kernel:gray]\narchs: ['torus:4x4']\n")
    asked = ["bench", "loops.yaml", "--mapper", "modulo,ramp", "--arch", "torus:2x2,torus:2x3,regs=2,ramp-2"]
    asked += ["--seeds", "5", "--effort", "2000", "--jobs", "1", "--store", "rows.sqlite"]
    done = gridloom(*asked, "--table", "md", "--plot", "comparison=ratios.svg")
    assert (done.status, done.err) == (0, "wrote ratios.svg\n")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.out.splitlines()]
    assert [line[:2] for line in lines[2:]] == [
        [arch, mapper] for arch in ("torus:2x2", "torus:2x3,regs=2", "ramp-2", "all") for mapper in ("modulo", "ramp")
    ]
    assert lines[-1][2].endswith(" of 30")
    rows = list(csv.DictReader(gridloom(*asked, "--resume", "--table", "csv").out.splitlines()))
    assert [row["mapper"] for row in rows] == ["modulo", "ramp"] * 4
    assert gridloom(*asked, "--resume", "--table", "latex").out.startswith("\\begin{tabular}")
    record = gridloom(*asked, "--resume", "--json").record
    assert {row["mapper"] for row in record["rows"]} == {"modulo", "ramp"}
    assert [str(row["wins"] if row["wins"] is not None else "") for row in record["mappers"]] == [
        row["wins"] for row in rows
    ]


def test_cpu_limit_ends_a_search_in_the_place_of_a_time_limit(gridloom, tmp_path):
    (tmp_path / "one.yaml").write_text("sources: [kernel:gray]\narchs: ['torus:2x2']\nbudget: {cpu_limit: 5}\n")
    assert gridloom("bench", "one.yaml", "--jobs", "1", "--cpu-limit", "2").status == 0
    both = gridloom("bench", "one.yaml", "--cpu-limit", "2", "--time-limit", "2")
    message = "error: --time-limit counts seconds, --cpu-limit those of CPU time; give one of them\n"
    assert (both.status, both.err) == (2, message)
    assert gridloom("map", "kernel:gray", "--arch", "torus:2x2", "--cpu-limit", "1", "--time-limit", "1").err == message
