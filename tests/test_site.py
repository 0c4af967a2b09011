"""The documents as a whole: links between them, the glossary's list of terms, and the site that MkDocs builds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.glossary import PAGE, terms, with_index

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])


def prose(path: Path) -> str:
    """A document without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", prose(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_of_a_document_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        other = (path.parent / name).resolve() if name else path
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_test_files_that_a_document_names_exist(path: Path) -> None:
    named = re.findall(r"`([\w/]*test_\w+\.py)`", prose(path))
    missing = [name for name in named if not any((REPOSITORY / "tests").rglob(name.removeprefix("tests/")))]
    assert missing == []


def test_the_glossary_lists_its_terms_by_alphabet() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_index(text), "python -m tests.glossary writes the list anew"


def test_the_glossary_explains_every_term_in_a_few_sentences() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(terms(text)) > 80
    for entry in re.split(r"^##+ .*$", text.partition("## Graphs")[2], flags=re.MULTILINE):
        assert len(entry) < 500, entry


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=False, env={"NO_MKDOCS_2_WARNING": "1"}
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    loaded = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="?(https?:[^"\s>]+)')
    pages = {page.name: loaded.findall(page.read_text(encoding="utf-8")) for page in tmp_path.rglob("*.html")}
    assert {name: found for name, found in pages.items() if found} == {}
    assert "Made with" not in (tmp_path / "index.html").read_text(encoding="utf-8")
