"""The source of a loop in the report: its lines, escaped, with the nodes that they became."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import hand_mappings as hand
from tests.emit.report.test_page import Page, report

from gridloom.emit.report.source_listing import SourceListing

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def listing(**changes: object) -> SourceListing:
    node = hand.mesh_local().dfg.nodes[0].id
    fields: dict[str, object] = {
        "file": "a<b>.c", "first": 7, "lines": ["int a = b < c;", "", "</ol><script>alert(1)</script>"],
        "nodes": {node: 7, "none": 8}, "remarks": ["x & y may overlap"],
    }  # fmt: skip
    return SourceListing(**{**fields, **changes})  # type: ignore[arg-type]


def test_lines_are_escaped_and_name_their_nodes() -> None:
    text = report(hand.mesh_local(), source=listing())
    page = Page(text)
    lines = [
        attributes for tag, attributes in page.elements if tag == "li" and "line" in (attributes.get("class") or "")
    ]
    assert [line["data-g"] for line in lines] == ["0"]
    assert '<ol id="source" class="source" start="7">' in text
    assert "int a = b < c;" in page.words and "</ol><script>alert(1)</script>" in page.words
    assert "x & y may overlap" in page.words and "a<b>.c" in page.words


def test_a_report_without_source_has_no_card() -> None:
    assert 'id="source"' not in report(hand.mesh_local())


@pytest.mark.browser
def test_pointing_at_a_line_shows_its_nodes_and_the_other_way_round(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report(hand.mesh_local(), source=listing()), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.locator("#source .line").hover()
    assert page.locator("#graph.tracing .node.hot").count() == 1
    page.locator("h1").hover()
    assert page.locator(".hot").count() == 0
    page.locator('#graph .node[data-g="0"]').hover()
    assert page.locator("#source .line.hot").count() == 1
    page.close()
    assert complaints == []
