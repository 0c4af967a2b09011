"""The examples of docs/c-frontend.md are run."""

from __future__ import annotations

import doctest
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools
REPOSITORY = Path(__file__).resolve().parents[3]


def test_the_examples_of_the_document_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(REPOSITORY / "docs" / "c-frontend.md"), module_relative=False)
    assert result.attempted > 8
    assert result.failed == 0
