"""The report's text: complete, self-contained, and safe whatever the names are."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import pytest
from tests import hand_mappings as hand
from tests.emit.picture.test_pictures import HOSTILE, hostile_mapping

from gridloom.emit import html_report
from gridloom.mapping import Mapping, json_format

STATS = {"ii": 1, "latency": 7, "buffers": {"max": 2, "total": 3}, "occupancy": 0.25, "optimal": None, "odd": math.inf}


class Page(HTMLParser):
    """Elements with their attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self._in_script = True
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data
        else:
            self.words.append(data)


def report(mapping: Mapping, **changes: object) -> str:
    options: dict[str, object] = {
        "stats": STATS,
        "verdict": {"legal": True, "simulated": True},
        "command": "gridloom map x.json --arch mesh:3x3",
        "violations": [],
    }
    return html_report(mapping, **{**options, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", hand.LEGAL)
def test_nothing_is_fetched(name: str) -> None:
    page = Page(report(hand.LEGAL[name]()))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "video", "audio", "base", "form"}
    for tag, attributes in page.elements:
        assert not {"src", "href", "xlink:href", "action"} & set(attributes), tag
    style = report(hand.LEGAL[name]()).split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style


def test_policy_lets_only_our_script_run() -> None:
    page = Page(report(hand.mesh_local()))
    (policy,) = [a["content"] for t, a in page.elements if t == "meta" and a.get("http-equiv")]
    digest = base64.b64encode(hashlib.sha256(page.scripts[-1].encode()).digest()).decode()
    assert policy is not None and f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    assert "eval" not in page.scripts[-1] and "innerHTML" not in page.scripts[-1]


def test_verdicts_read_as_they_are() -> None:
    def badges(verdict: dict[str, object]) -> list[str | None]:
        page = Page(report(hand.mesh_local(), verdict=verdict))
        return [a["class"] for t, a in page.elements if t == "li" and "badge" in (a.get("class") or "")]

    assert badges({"legal": True, "simulated": True}) == ["badge-good"] * 3
    assert badges({"legal": False, "simulated": None}) == ["badge-good", "badge-bad", "badge-open"]
    assert badges({}) == ["badge-good", "badge-open", "badge-open"]


def test_metrics_command_and_violations_are_shown() -> None:
    text = report(hand.mesh_local(), violations=["link a>b: two signals"], command="gridloom map 'a b' --seed 3")
    words = Page(text).words
    for expected in ("deepest buffer", "2", "occupancy", "0.25", "1 violation", "link a>b: two signals"):
        assert expected in words
    assert "gridloom map 'a b' --seed 3" in words
    assert "optimal" not in words


def test_many_violations_are_counted() -> None:
    words = Page(report(hand.mesh_local(), violations=[f"v{k}" for k in range(250)])).words
    assert "250 violations" in words and "and 50 more" in words and "v200" not in words


@pytest.mark.parametrize("name", hand.LEGAL)
def test_the_mapping_can_be_taken_out_again(name: str) -> None:
    mapping = hand.LEGAL[name]()
    text = json.loads(Page(report(mapping)).scripts[1])
    assert json_format.dumps(json_format.loads(text)) == json_format.dumps(mapping)


@pytest.mark.parametrize("name", hand.LEGAL)
def test_marks_in_the_pictures_point_at_data(name: str) -> None:
    page = Page(report(hand.LEGAL[name]()))
    data = json.loads(page.scripts[0])
    sizes = {"data-n": data["instances"], "data-t": data["tiles"], "data-e": data["edges"], "data-g": data["nodes"]}
    seen = set()
    for _, attributes in page.elements:
        for key, rows in sizes.items():
            for number in (attributes.get(key) or "").split():
                seen.add(key)
                assert 0 <= int(number) < len(rows)
        if attributes.get("data-r") is not None:
            assert attributes["data-r"] in data["resources"]
    assert seen == set(sizes)


@pytest.mark.parametrize(
    ("name", "unit"),
    [("mesh_fifo_2", "cycle"), ("torus_rotating", "slot"), ("rdu_two_stages", "stage")],
)
def test_the_slider_runs_over_what_the_style_has(name: str, unit: str) -> None:
    page = Page(report(getattr(hand, name)()))
    assert json.loads(page.scripts[0])["timeline"]["unit"] == unit
    (slider,) = [a for t, a in page.elements if t == "input" and a.get("type") == "range"]
    assert slider["max"] == str(json.loads(page.scripts[0])["timeline"]["last"])


def test_hostile_names_stay_text() -> None:
    text = report(hostile_mapping(), command=HOSTILE, violations=[HOSTILE], stats={HOSTILE: HOSTILE})
    page = Page(text)
    kinds = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert kinds == ["application/json", "application/json", None]
    assert "alert(1)" not in page.scripts[2]
    assert json.loads(page.scripts[0])["nodes"][0]["id"].startswith("<script>alert(1)</script>")
    assert "{{data}}<script>" in json.loads(json.loads(page.scripts[1]))["dfg"]["name"]
    assert not [a for _, a in page.elements for key in a if key.startswith("on")]
    assert "<b>&lt;" not in text
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)


def test_reports_are_the_same_every_time() -> None:
    assert report(hand.torus_spill()) == report(hand.torus_spill())
