"""docs/cli.md and docs/api.md are run: commands print the lines shown (numbers aside), Python gives its values.

README.md and docs/walkthrough.md are run by tests/test_walkthrough.py, to the letter.
"""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from gridloom import registry

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = ["docs/cli.md", "docs/describing-arrays.md"]


def blocks(page, language):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def commands(page):
    """(command, the lines below it) of all console blocks."""
    found = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            found.append((line, shown))
    return found


def shape(text):
    """Text without the numbers that a search or a machine decides."""
    return re.sub(r"\d+(\.\d+)?", "N", text).strip()


@pytest.mark.parametrize("page", PAGES)
def test_console_blocks_show_what_the_commands_print(gridloom, page):
    listed = commands(page)
    assert listed
    for line, shown in listed:
        words, _, target = line.partition(" > ")
        program, *arguments = shlex.split(words)
        assert program == "gridloom", line
        done = gridloom(*arguments)
        assert done.status == (1 if shown.startswith("failed") else 0), done.err
        assert shape(done.out) == shape(shown) or target, line


@pytest.mark.parametrize("page", ["docs/api.md"])
def test_python_blocks_give_the_values_they_show(page):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL)
    source = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(source, {}, page, page, 0)
    assert test.examples
    try:
        runner.run(test)
    finally:
        registry.forget()
    assert runner.failures == 0


def test_every_map_option_is_documented(gridloom):
    text = (REPOSITORY / "docs/reference/commands.md").read_text(encoding="utf-8")
    for command in ("map", "bench", "show", "simulate"):
        offered = set(re.findall(r"--[a-z-]+", gridloom(command, "--help").out)) - {"--help"}
        missing = {option for option in offered if option not in text and option != "--output"}
        assert missing == set(), command


def test_every_public_name_is_documented():
    import gridloom as gl

    text = (REPOSITORY / "docs/api.md").read_text(encoding="utf-8")
    assert [name for name in gl.__all__ if not name.startswith("_") and f"gl.{name}" not in text] == []
