"""What all tests share: the published benchmarks, a browser, how hard property tests try, a word on skips."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.skips import summary

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).resolve().parents[1]

# The first example of a test may compile numba kernels, so neither a deadline nor the slowness check means anything.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("ci", max_examples=50, derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("thorough", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder of published graphs: `GRIDLOOM_BENCHMARKS`, or `shared/benchmarks` beside the repository."""
    named = os.environ.get("GRIDLOOM_BENCHMARKS")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "benchmarks"
    if not folder.is_dir():
        pytest.skip(f"no benchmarks in {folder}; GRIDLOOM_BENCHMARKS may name their folder")
    return folder


CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium (playwright's Browser), one for the tests of a module."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM:
        pytest.skip("there is no Chromium on the path")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two options by which one run tells another what it skipped."""
    parser.addoption("--write-skips", metavar="FILE", help="write the ids of skipped tests and files to this file")
    parser.addoption("--only-skips", metavar="FILE", help="run only the tests and files whose ids are in this file")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what another run did not skip."""
    if not (path := config.getoption("--only-skips", None)):
        return
    asked = set(Path(path).read_text(encoding="utf-8").splitlines())
    chosen = [item for item in items if asked & {item.nodeid, item.nodeid.split("::")[0]}]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """Say at the end, below pytest's own summary, what was skipped for want of what; write it down where asked."""
    yield
    reports = terminalreporter.stats.get("skipped", [])
    if path := terminalreporter.config.getoption("--write-skips", None):
        Path(path).write_text("".join(sorted(f"{report.nodeid}\n" for report in reports)), encoding="utf-8")
    line = summary((str(report.longrepr[2]), isinstance(report, pytest.CollectReport)) for report in reports)
    if line:
        terminalreporter.write_line(line)
