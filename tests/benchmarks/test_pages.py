"""Pages of results: they are what the generator writes, and their figures come from stored runs alone."""

from __future__ import annotations

import re

import pytest

from benchmarks import pages, records
from benchmarks.catalogue import all_claims

#: Numbers that say what was asked, and are no result.
SETTINGS = "K4N4|MII / II|all twelve|of 12|at 16 iterations|at 256|at 4,096|95 % interval"
TEMPLATES = sorted(pages.TEMPLATES.glob("*.yaml"))


def test_pages_are_what_the_generator_writes() -> None:
    assert pages.write_pages(check=True) == [], "python -m benchmarks pages writes them anew"


def test_no_other_page_is_among_them() -> None:
    assert {path for path in pages.FOLDER.iterdir() if path.name != "index.md"} == set(pages.make_pages())


def test_staleness_alone_does_not_make_a_page_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "is_stale", lambda claim, run: True)
    assert "**Stale:" in pages.make_pages()[pages.FOLDER / "ramp.md"]
    assert pages.write_pages(check=True) == []


def test_a_changed_result_makes_a_page_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = records.shown_run

    def falsified(claim):
        shown = stored(claim)
        if shown and claim.name == "thesis/distances":
            shown[1]["rows"][0]["to_opposite_corner"] = 99
        return shown

    monkeypatch.setattr(records, "shown_run", falsified)
    assert [path.name for path in pages.write_pages(check=True)] == ["thesis.md"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_the_prose_of_a_template_has_no_measured_figures(path) -> None:
    text = re.sub(r"\([^)]*\)", "", pages.read_template(path)["text"])
    assert re.findall(r"\d+(?:\.\d+)? ?(?:%|ms|s|CPU|cycles|times|x)\b", text) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_an_exhibit_has_a_claim_or_a_reason_and_its_figures_exist(path) -> None:
    for exhibit in pages.read_template(path).get("exhibits", []):
        assert exhibit.keys() <= {"item", "shows", "published", "claim", "ours", "rules", "loses", "reason"}
        assert "claim" in exhibit or "reason" in exhibit, exhibit["item"]
        assert not re.search(r"\d", re.sub(rf"\{{[^}}]*\}}|{SETTINGS}", "", exhibit.get("ours", "")))
        if "claim" in exhibit:
            claim = all_claims()[exhibit["claim"]]
            assert claim.suite == path.stem
            shown = records.shown_run(claim)
            names = re.findall(r"\{([^}]+)\}", exhibit.get("ours", "") + exhibit.get("loses", ""))
            assert not shown or set(names) <= pages.figures(claim, shown[1]["rows"]).keys()
            assert shown or "reason" in exhibit, f"{exhibit['item']} has neither a run nor a reason"


@pytest.mark.parametrize("claim", all_claims().values(), ids=lambda claim: claim.name)
def test_a_claim_has_a_section_on_its_page(claim) -> None:
    page = (pages.FOLDER / f"{claim.suite}.md").read_text(encoding="utf-8")
    assert f"## {claim.name}\n" in page
