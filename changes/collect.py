"""Moves the news of this folder into CHANGELOG.md as a release: ``python changes/collect.py VERSION DATE``."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TYPES = ("security", "added", "changed", "deprecated", "removed", "fixed")


def collect(folder: Path, changelog: str, version: str, date: str) -> str:
    """The changelog with a section of a release above the last one, from the fragments of a folder."""
    section = f"## [{version}] - {date}\n\n"
    for kind in TYPES:
        news = [path.read_text(encoding="utf-8").strip() for path in sorted(folder.glob(f"*.{kind}.md"))]
        if news:
            section += (
                f"### {kind.capitalize()}\n\n"
                + "".join(f"- {text}\n".replace("\n", "\n  ").rstrip() + "\n" for text in news)
                + "\n"
            )
    head, mark, rest = changelog.partition("## [")
    return head + section + mark + rest


def main() -> None:
    """Write the changelog and delete the fragments."""
    path = FOLDER.parent / "CHANGELOG.md"
    path.write_text(collect(FOLDER, path.read_text(encoding="utf-8"), *sys.argv[1:3]), encoding="utf-8")
    for kind in TYPES:
        for fragment in FOLDER.glob(f"*.{kind}.md"):
            fragment.unlink()


if __name__ == "__main__":
    main()
