"""docs/functions.md is run: its commands print the lines shown (numbers that a search decides aside)."""

from __future__ import annotations

import re

import pytest
from tests.documents import REPOSITORY, folder_with_examples, rerun

pytestmark = pytest.mark.tools
PAGE = REPOSITORY / "docs" / "functions.md"


def shape(text: str) -> str:
    """Text without numbers, bounds and widths of columns."""
    return re.sub(r" \(bound N\)", "", re.sub(r"\d+(\.\d+)?", "N", re.sub(r" +", " ", text)))


def test_the_document_shows_what_its_commands_print() -> None:
    pytest.importorskip("ziglang")
    pytest.importorskip("llvmlite")
    text = PAGE.read_text(encoding="utf-8")
    with folder_with_examples():
        now = rerun(text)
    assert shape(now) == shape(text), "python -m tests.documents docs/functions.md writes it anew"
