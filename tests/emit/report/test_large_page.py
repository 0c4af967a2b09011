"""The report of a large mapping: tables for a canvas instead of pictures, complete and safe."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests import hand_mappings as hand
from tests.emit.picture.test_pictures import hostile_mapping
from tests.emit.report.test_page import Page, report

from gridloom.emit.details import Details
from gridloom.emit.report import large_page
from gridloom.mapping import Mapping


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mapping on a grid counts as large."""
    monkeypatch.setattr(large_page, "MOST_CELLS", 0)


def tables(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_small_mappings_keep_their_pictures() -> None:
    assert "<canvas" not in report(hand.torus_spill())


def test_elastic_arrays_keep_their_pictures(all_large: None) -> None:
    assert "<canvas" not in report(hand.rdu_two_stages())


@pytest.mark.parametrize("make", [hand.torus_rotating, hand.torus_spill, hand.mesh_fifo_2])
def test_the_tables_hold_every_instance_route_and_tile(all_large: None, make: Any) -> None:
    mapping: Mapping = make()
    data = tables(report(mapping))
    assert len(data["tiles"]) == len(mapping.arch.tiles)
    assert len(data["instances"]) == len(mapping.instances)
    assert [way[0] for way in data["ways"]] == [route.edge for route in mapping.routes]
    assert [data["nodes"][row[0]][0] for row in data["instances"]] == [one.node for one in mapping.instances]


def test_links_and_moves_are_listed_once_with_their_cycle(all_large: None) -> None:
    mapping = hand.torus_spill()
    details = Details(mapping)
    data = large_page.large_data(details)
    links = {(name, cycle) for route in mapping.routes for name, cycle in route.hops if ">" in name}
    names = [tile.name for tile in mapping.arch.tiles]
    assert {(f"{names[a]}>{names[b]}", cycle) for a, b, cycle, _ in data["wires"]} == links
    issues = {(n, c) for r in mapping.routes for n, c in r.hops if n.endswith((".fu", ".load", ".store"))}
    assert len(data["moves"]) == len(issues)


def test_no_name_becomes_markup_and_nothing_is_fetched(all_large: None) -> None:
    text = report(hostile_mapping())
    page = Page(text)
    assert not any(tag in ("img", "iframe", "link") for tag, _ in page.elements)
    assert not any("src" in attributes or "href" in attributes for _, attributes in page.elements)


def test_only_the_script_of_the_page_may_run(all_large: None) -> None:
    page = Page(report(hand.torus_spill()))
    assert sum(1 for tag, attributes in page.elements if tag == "script" and "type" not in attributes) == 1
