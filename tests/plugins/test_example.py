"""The example plug-in, installed beside the built package in an environment of its own."""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.plugins.packages import REPOSITORY
from tests.test_wheel import run

pytestmark = pytest.mark.slow

EXAMPLE = REPOSITORY / "examples" / "plugin"


def build_wheel(source: Path, folder: Path) -> Path:
    """The wheel of a project, built with what is installed here."""
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, source, folder=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with both wheels; the packages that they need are those of this environment."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("plugin")
    wheels = []
    for name, source in (("gridloom", REPOSITORY), ("example", EXAMPLE)):
        (folder / name).mkdir()
        wheels.append(build_wheel(source, folder / name))
    run(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    run(folder / "venv/bin/pip", "install", "--quiet", "--no-deps", "--no-index", *wheels, folder=folder)
    # Afterwards, so that pip has not seen what is installed there.
    (packages,) = (folder / "venv/lib").glob("python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "venv"


@pytest.fixture
def gridloom(installed: Path, tmp_path: Path):
    """A function that runs the installed command in an empty folder and returns what it prints."""

    def call(*words: object) -> str:
        done = run(installed / "bin/gridloom", *words, folder=tmp_path, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_it_is_listed(installed: Path, gridloom, tmp_path: Path) -> None:
    assert "site-packages/gridloom/" in run(installed / "bin/python", "-c", "import gridloom; print(gridloom.__file__)",
                                            folder=tmp_path).stdout  # fmt: skip
    (row,) = json.loads(gridloom("list", "plugins", "--json"))["plugins"]
    assert (row["name"], row["package"], row["version"], row["state"]) == (
        "example", "gridloom-example", "0.1.0", "loaded",
    )  # fmt: skip
    assert {"archs", "mappers", "readers", "costs", "suites", "commands"} == set(row["adds"])
    assert "greedy" in gridloom("list", "mappers") and "king" in gridloom("list", "archs")
    assert gridloom("--no-plugins", "list", "plugins") == "plug-ins are switched off\n"


def test_it_maps_its_file_onto_its_array_with_its_mapper(gridloom, tmp_path: Path) -> None:
    words = ("--arch", "king:4x4", "--mapper", "greedy", "--effort", 2000, "-o", "m.json", "--html", "m.html")
    printed = gridloom("map", EXAMPLE / "average.ops", *words)
    assert printed.startswith("mapped: average ") and "legal, and simulated" in printed
    assert "average" in gridloom("show", "m.json")
    gridloom("show", "m.json", "--svg", "m.svg")
    assert (tmp_path / "m.svg").read_text(encoding="utf-8").startswith("<svg") and (tmp_path / "m.html").is_file()
    gridloom("check", "m.json")
    gridloom("simulate", "m.json")
    assert "40 directed links" in gridloom("show", "king:3x3")


def test_its_suite_compares_its_mapper_with_ours(gridloom) -> None:
    record = json.loads(gridloom("bench", "king", "--mapper", "greedy,anneal", "--jobs", 2, "--json"))
    assert [row["mapper"] for row in record["rows"]] == ["greedy"] * 3 + ["anneal"] * 3
    assert record["summary"]["mapped"] == 6


def test_its_command_runs(gridloom) -> None:
    assert gridloom("count-ops", EXAMPLE / "average.ops").splitlines()[0] == "    2 add"


def test_its_own_tests_pass(installed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "plugin"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("src", "__pycache__"))
    done = run(installed / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", folder=copy, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
