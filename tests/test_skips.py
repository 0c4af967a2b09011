"""The line at the end of a run that says what was skipped for want of what."""

from __future__ import annotations

import pytest
from tests.skips import missing, summary


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        ("Skipped: could not import 'torch': No module named 'torch'", "torch"),
        ("Skipped: could not import 'torch_geometric': No module named 'torch_geometric'", "torch"),
        ("Skipped: could not import 'pyarrow.parquet': No module named 'pyarrow'", "pyarrow"),
        ("Skipped: no benchmarks in /shared; GRIDLOOM_BENCHMARKS may name their folder", "published graphs"),
        ("Skipped: there is no Chromium on the path", "chromium"),
        ("Skipped: yosys is not installed", "yosys"),
        ("Skipped: Yosys is not installed", "yosys"),
        ("Skipped: Icarus Verilog is not installed", "iverilog"),
        ("Skipped: mapper 'ppo' needs torch; install it with: pip install '.[learn]'", "torch"),
        ("Skipped: mapper 'genetic' needs DEAP; install it with: pip install '.[genetic]'", "the extra genetic"),
        ("Skipped: genmap is described by a text of its own", None),
    ],
)
def test_a_reason_names_what_is_missing(reason: str, want: str | None) -> None:
    assert missing(reason) == want


def test_skips_are_grouped_and_counted_the_most_wanted_first() -> None:
    torch, yosys = ("could not import 'torch': no", True), ("Yosys is not installed", False)
    skips = [torch, torch, ("could not import 'torch': no", False), yosys, yosys, ("there is no Chromium", False)]
    assert summary(skips) == "skipped for want of: torch 1 and 2 whole files, yosys 2, chromium 1"


def test_one_file_alone_is_not_in_the_plural() -> None:
    assert summary([("could not import 'ortools': no", True)]) == "skipped for want of: ortools 1 whole file"


def test_nothing_is_said_where_nothing_is_missing() -> None:
    assert summary([("described by a text of its own", False)]) == ""


def test_a_run_ends_with_the_line(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import pytest_terminal_summary")
    pytester.makepyfile(
        test_whole="import pytest\npytest.importorskip('no_such_package')\ndef test_it(): pass\n",
        test_parts="import pytest\n@pytest.mark.skip(reason='Yosys is not installed')\ndef test_it(): pass\n",
    )
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    done.stdout.fnmatch_lines(["skipped for want of: no_such_package 1 whole file, yosys 1"])


def test_a_second_run_takes_what_the_first_one_skipped(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "from tests.conftest import pytest_addoption, pytest_collection_modifyitems, pytest_terminal_summary"
    )
    pytester.makepyfile(
        tool="there = False\n",
        test_whole="import pytest, tool\nif not tool.there: pytest.skip(allow_module_level=True)\n"
        "def test_one(): pass\ndef test_two(): pass\n",
        test_parts="import pytest, tool\n@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_it(n):\n    if n == 2 and not tool.there: pytest.skip()\n",
    )
    first = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--write-skips", "skips")
    first.assert_outcomes(passed=1, skipped=2)
    assert (pytester.path / "skips").read_text().splitlines() == ["test_parts.py::test_it[2]", "test_whole.py"]
    (pytester.path / "tool.py").write_text("there = True\n")
    second = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--only-skips", "skips")
    second.assert_outcomes(passed=3, deselected=1)
