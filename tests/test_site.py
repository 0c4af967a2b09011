"""The documents as a whole: links between them, the glossary's list of terms, and the site that MkDocs builds."""

from __future__ import annotations

import re
import shutil
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


def build_site(repository: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site; not with --quiet, which hides warnings from --strict, too."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(
        command, cwd=repository, capture_output=True, text=True, check=False, env={"NO_MKDOCS_2_WARNING": "1"}
    )


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = build_site(REPOSITORY, tmp_path)
    assert (done.returncode, re.findall(r"^(?:WARNING|ERROR).*", done.stderr, flags=re.MULTILINE)) == (0, [])
    loaded = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="?(https?:[^"\s>]+)')
    pages = {page.name: loaded.findall(page.read_text(encoding="utf-8")) for page in tmp_path.rglob("*.html")}
    assert {name: found for name, found in pages.items() if found} == {}
    assert "Made with" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(REPOSITORY / "docs", copy / "docs")
    for path in (REPOSITORY / "mkdocs.yml", *REPOSITORY.glob("*.md")):
        shutil.copy(path, copy)
    page = copy / "docs" / "classics.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n[nowhere](nowhere.md)\n", encoding="utf-8")
    done = build_site(copy, tmp_path / "site")
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr
