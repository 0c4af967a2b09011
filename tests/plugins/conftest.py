"""A folder for packages of plug-ins, which this process finds for the length of a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.plugins.packages import GOOD, install

from gridloom import plugins, registry
from gridloom.cli import main


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of the path; plug-ins are looked for anew, and forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    plugins.switch(False)
    plugins.switch(True)
    yield folder
    plugins.switch(False)
    plugins.switch(True)
    for name in set(sys.modules) - before:
        if name.endswith("_plugin"):
            del sys.modules[name]


@pytest.fixture
def good(site: Path) -> Path:
    """The folder with a plug-in that has one of each."""
    install(site, "good-package", {"good": "good_plugin:TARGET"}, good_plugin=GOOD)
    return site


@pytest.fixture
def gridloom(capsys: pytest.CaptureFixture[str]):
    """A function that runs a command line in this process."""

    def run(*words: object) -> Done:
        capsys.readouterr()
        status = main([str(word) for word in words])
        printed = capsys.readouterr()
        return Done(status, printed.out, printed.err)

    return run


@pytest.fixture
def forget() -> Iterator[None]:
    """What a test registers is gone after it."""
    yield
    registry.forget()
