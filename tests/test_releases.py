"""Releases: the changelog has dated versions, fragments of news are named well, and a release collects them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from gridloom import __version__

REPOSITORY = Path(__file__).resolve().parents[1]
CHANGELOG = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")


def load_collector() -> ModuleType:
    spec = importlib.util.spec_from_file_location("collect", REPOSITORY / "changes" / "collect.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COLLECTOR = load_collector()


def misnamed(folder: Path) -> list[str]:
    """Files of a folder of news that no release would collect."""
    kept = {f".{kind}.md" for kind in COLLECTOR.TYPES}
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.name not in ("README.md", "collect.py", "__pycache__") and "".join(path.suffixes[-2:]) not in kept
    ]


def test_versions_of_the_changelog_are_dated_and_descend() -> None:
    found = re.findall(r"^## \[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d\d-\d\d$", CHANGELOG, flags=re.MULTILINE)
    versions = [tuple(map(int, version)) for version in found]
    assert len(versions) == CHANGELOG.count("\n## ")
    assert versions == sorted(versions, reverse=True)


def test_the_version_has_a_section_and_is_the_one_to_cite() -> None:
    assert f"## [{__version__}]" in CHANGELOG
    assert f"\nversion: {__version__}\n" in (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert f"{{{__version__}}}" in (REPOSITORY / "docs" / "how-to" / "cite.md").read_text(encoding="utf-8")


def test_news_are_files_that_a_release_collects() -> None:
    assert misnamed(REPOSITORY / "changes") == []


def test_a_release_collects_news_by_type(tmp_path: Path) -> None:
    (tmp_path / "b.fixed.md").write_text("A second\nline.\n", encoding="utf-8")
    (tmp_path / "a.added.md").write_text("A command.\n", encoding="utf-8")
    (tmp_path / "c.news.md").write_text("Lost.\n", encoding="utf-8")
    changelog = "# Changelog\n\n## [0.1.0] - 2026-11-16\n"
    assert misnamed(tmp_path) == ["c.news.md"]
    assert COLLECTOR.collect(tmp_path, changelog, "0.2.0", "2027-01-01") == (
        "# Changelog\n\n## [0.2.0] - 2027-01-01\n\n### Added\n\n- A command.\n\n### Fixed\n\n- A second\n  line.\n\n"
        "## [0.1.0] - 2026-11-16\n"
    )
