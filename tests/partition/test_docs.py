"""The example of the partitioning page is run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "algorithms" / "partition.md"


def test_the_page_shows_what_happens() -> None:
    source = "\n".join(re.findall(r"^```pycon\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(source, {}, PAGE.name, str(PAGE), 0)
    assert test.examples
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0
