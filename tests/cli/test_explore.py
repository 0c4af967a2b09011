"""`gridloom explore` as a user sees it: the examples, outputs, exit statuses, mistakes, the page in a browser."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gridloom.archs import build
from gridloom.cli.commands.explore_command import panel
from gridloom.explore import Moment, parse_space
from gridloom.run import RunProgress

EXAMPLES = Path(__file__).parents[2] / "examples" / "explore"
SPACE = """
explore: tiny
kernels: ["kernel:vector_add", "kernel:gray"]
array: "{topology}:{side}x{side},fifo=1"
parameters: {topology: [mesh, chess], side: [2, 4]}
budget: {effort: 2000}
objectives: [mapped, area]
"""


@pytest.fixture
def space(tmp_path):
    file = tmp_path / "space.yaml"
    file.write_text(SPACE)
    return file


def test_everything_that_can_be_written(gridloom, space, tmp_path):
    pytest.importorskip("matplotlib")
    done = gridloom(
        "explore", space, "--jobs", 1, "--store", "rows.sqlite", "--html", "page.html", "--figures", "figures",
        "--csv", "rows.csv", "--best", "best.yaml", "--json",
    )  # fmt: skip
    assert done.status == 0
    record = done.record
    assert record["jobs"] == 8
    assert [one["figures"]["mapped"] for one in record["points"]] == [0.5, 1.0, 0.5, 1.0]
    assert record["best"]["mapped"]["point"] == {"topology": "mesh", "side": 4}
    assert len(build(tmp_path / "best.yaml").tiles) == 16
    with (tmp_path / "rows.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 8
    figures = {file.name for file in (tmp_path / "figures").iterdir()}
    assert figures == {"front.svg", "front.png", "sensitivity.svg", "sensitivity.png"}
    page = (tmp_path / "page.html").read_text()
    assert page.count("<title>topology mesh, side 4") == 1
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("http-equiv", "").replace("https://matplotlib.org", "")


def test_text_names_the_front_the_steps_and_the_best(gridloom, space):
    lines = gridloom("explore", space, "--jobs", 1).out.splitlines()
    assert lines[0].startswith("tiny: 4 arrays, 2 kernels, 8 mappings, ")
    assert lines[1] == "front (mapped, area):"
    assert lines[2].startswith("  topology mesh, side 4: mapped 1, area ")
    assert any(line.startswith("  side 2 -> 4: 50 % more kernels mapped, area +") for line in lines)
    assert lines[-1].startswith("  area: topology mesh, side 2 (area ")


def test_no_array_that_keeps_the_constraints_is_status_1(gridloom, space):
    space.write_text(SPACE + 'constraints: ["area <= 1"]')
    done = gridloom("explore", space, "--jobs", 1)
    assert done.status == 1
    assert "  0 keep area <= 1" in done.out
    assert "  empty: No array meets every constraint." in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--resume"], "error: --resume: needs a store to go on with: --store FILE"),
        (["--csv", "a.csv"], "error: --csv: needs the rows in a store: --store FILE"),
        (["--figures", "space.yaml"], "error: --figures: space.yaml is a file; expected a folder"),
    ],
)
def test_mistakes(gridloom, space, options, message):
    done = gridloom("explore", space, *options)
    assert (done.status, done.err.strip()) == (2, message)


def test_a_missing_file(gridloom):
    done = gridloom("explore", "nowhere.yaml")
    assert done.status == 2
    assert "nowhere.yaml" in done.err


@pytest.mark.parametrize("name", ["fifo-depth", "registers", "merged"])
def test_examples_run(gridloom, name):
    done = gridloom("explore", EXAMPLES / f"{name}.yaml", "--json")
    assert done.status == 0, done.err
    record = done.record
    assert record["array"] if name == "merged" else record["front"]


def test_the_dashboard_shows_rate_time_left_and_the_best():
    from rich.console import Console

    space = parse_space(SPACE, "tiny")
    moment = Moment(points=1, planned=4, jobs=RunProgress(3, 8, 0, 1, 2.5, 1.2, 4.2))
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(panel(space, moment))
    text = console.export_text()
    for words in ("3 of 8", "1.2 per second", "4 s left", "1 of 4", "1 rows from the store"):
        assert words in text


@pytest.mark.browser
def test_the_page_in_a_browser(gridloom, space, tmp_path, browser):
    pytest.importorskip("matplotlib")
    assert gridloom("explore", space, "--jobs", 1, "--html", "page.html").status == 0
    page = browser.new_page()
    page.goto(f"file://{tmp_path}/page.html")
    assert page.title() == "tiny"
    assert page.locator(".picture svg").count() == 2
    assert page.locator("table").last.locator("tbody tr").count() == 4
    assert page.locator(".picture svg").first.bounding_box()["width"] > 300
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()
