"""docs/reference: generated pages and pictures are what the code gives, and the ten questions of a reader are near."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests import reference_pages

DOCUMENTS = reference_pages.DOCUMENTS
FRONT = DOCUMENTS / "index.md"
#: A reader's question -> the page that answers it, and words of the answer.
QUESTIONS = {
    "what is the area?": ("how-to/area-clock-energy.md", "gridloom synth"),
    "what is the energy?": ("how-to/area-clock-energy.md", "energy_of"),
    "how do I compare mappers?": ("how-to/compare-mappers.md", "--cpu-limit"),
    "how do I add a mapper?": ("tutorials/own-mapper.md", "gl.register_mapper"),
    "how do I reproduce table 4.3?": ("how-to/reproduce.md", "thesis/multipliers"),
    "why is the II 3?": ("how-to/debug-a-mapping.md", "gridloom why"),
    "which C is taken?": ("c-frontend.md", "## What is taken"),
    "how do I use a cluster?": ("cluster.md", "--cluster"),
    "how do I cite it?": ("how-to/cite.md", "@software"),
    "how large is an installation?": ("how-to/install.md", "MB"),
}


def links(page: Path) -> set[Path]:
    """The pages of `docs` that a page links to."""
    targets = re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    found = {(page.parent / target).resolve() for target in targets if "://" not in target}
    return {path for path in found if path.is_file() and DOCUMENTS in path.parents}


def within_two_clicks(front: Path) -> set[Path]:
    """The pages that two links lead to."""
    near = links(front)
    return near.union(*(links(page) for page in near))


def test_reference_pages_are_what_the_code_gives() -> None:
    assert reference_pages.differing() == [], "python -m tests.reference_pages writes them anew"


def test_a_page_that_differs_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_pages, "texts", lambda: {tmp_path / "ops.md": "new"})
    (tmp_path / "ops.md").write_text("old", encoding="utf-8")
    assert reference_pages.differing() == [tmp_path / "ops.md"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_within_two_clicks_of_the_front_page(question: str) -> None:
    name, words = QUESTIONS[question]
    page = DOCUMENTS / name
    assert page in within_two_clicks(FRONT)
    assert words in page.read_text(encoding="utf-8")


def test_a_page_that_nobody_links_to_is_not_near(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("nothing", encoding="utf-8")
    assert within_two_clicks(tmp_path / "index.md") == set()
