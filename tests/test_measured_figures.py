"""Measured figures stand on the pages of results alone, which are generated from stored runs.

A figure is a number with a unit of time, cycles, size, area, energy or percent, a factor such as ``2.5x``, or a row of
a table with several decimal numbers. It may stand in a fenced block, which tests execute, in a code span, and between
``<!-- table: ... -->``, ``<!-- results: ... -->`` or ``<!-- generated -->`` and ``<!-- end -->``, where a generator
writes. A number that defines a method or a machine stands on a line with ``<!-- fixed -->``, or between a line
``<!-- fixed -->`` and a line ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "docs" / "results"
PAGES = [
    page
    for page in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    if RESULTS not in page.parents
]

_UNIT = (
    r"(?:%|percent|per cent|[mµun]?s|seconds?|minutes?|min|hours?|h|days?|cycles?|clocks?|[kM]Hz|[kKMG]i?B|bytes?"
    r"|LUTs?|FFs?|flip-flops?|DSPs?|p[JW]|mW)(?![\w*])"
)
_FIGURE = re.compile(
    rf"(?<![\w.#/-])\d[\d,]*(?:\.\d+)?(?:(?:\s|-)?(?:CPU |processor |clock )?{_UNIT}|x(?![\w*])|\.\d+ times\b)"
)
_FACTOR = re.compile(r"(?<![\w.])\d+\.\d+ times\b")
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
_CODE = re.compile(r"`[^`]*`")
_BEGIN = re.compile(r"<!-- (table: .*|results: .*|generated|fixed) -->\s*")


def hand_written(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines that a person wrote as prose or as a table, without code spans."""
    end = ""
    for number, line in enumerate(text.splitlines(), 1):
        if end:
            end = "" if line.strip() == end else end
        elif line.lstrip().startswith("```"):
            end = "```"
        elif _BEGIN.fullmatch(line):
            end = "<!-- end -->"
        elif not line.startswith("    ") and "<!-- fixed -->" not in line:
            yield number, _CODE.sub("", line)


def measured_figures(text: str) -> list[tuple[int, str]]:
    """Line and text of every measured figure of a page."""
    found = []
    for number, line in hand_written(text):
        rows = _DECIMAL.findall(line) if line.startswith("|") else []
        found += [(number, match[0]) for match in (*_FIGURE.finditer(line), *_FACTOR.finditer(line))]
        found += [(number, " ".join(rows))] if len(rows) > 1 else []
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_a_hand_written_page_has_no_measured_figure(page: Path):
    assert measured_figures(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    ["It takes 3.5 s.", "7 % faster", "in 2 CPU seconds", "129 clocks", "6.1x the speed", "2.3 times as fast", "12 MB",
     "| a | 0.97 | 1.25 |", "20,249 LUTs", "a 10-minute run"],
)  # fmt: skip
def test_a_measured_figure_is_found(line: str):
    assert measured_figures(line)


@pytest.mark.parametrize(
    "text",
    [
        "a 4 x 4 torus",
        "`--time-limit 10 s`",
        "32 bits",
        "Python 3.11 or newer",
        "A result takes 3 cycles. <!-- fixed -->",
        "<!-- table: presets -->\n| 0.1 | 0.2 |\n<!-- end -->",
        "<!-- fixed -->\n| 4 bytes |\n<!-- end -->",
        "```console\n$ gridloom\n0.3 s\n```",
    ],
)
def test_other_numbers_are_not(text: str):
    assert measured_figures(text) == []
