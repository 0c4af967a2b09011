"""Makes pages of the site from the documents that stand at the top of the repository.

Links into `docs/` are rewritten, links to other files of the repository become text. README.md is no page of the site:
links to it lead to the front page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).resolve().parents[2]
#: Document at the top of the repository -> its address on the site.
PAGES = {"CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}


def on_files(files: Files, config: Any) -> Files:
    """Add the top documents, called by MkDocs when it has listed those of `docs/`."""
    for name, address in PAGES.items():
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        files.append(File.generated(config, address, content=relinked(text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links from `docs/` up to a top document to its page, called by MkDocs for each page."""
    for name, address in {**PAGES, "README.md": "index.md"}.items():
        markdown = re.sub(rf"\]\(((?:\.\./)*)\.\./{re.escape(name)}", rf"](\g<1>{address}", markdown)
    return markdown


def relinked(text: str) -> str:
    """The text of a top document with its links as they have to be on the site."""
    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", _link, text)


def _link(match: re.Match[str]) -> str:
    mark, label, target = match.groups()
    name, _, anchor = target.partition("#")
    if target.startswith(("https://", "#")):
        return match[0]
    if name.startswith("docs/"):
        return f"{mark}[{label}]({target.removeprefix('docs/')})"
    if name in PAGES:
        return f"[{label}]({PAGES[name]}{'#' + anchor if anchor else ''})"
    return label
