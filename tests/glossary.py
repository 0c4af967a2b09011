"""The alphabetical list at the top of docs/glossary.md: ``python -m tests.glossary`` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "glossary.md"


def terms(text: str) -> dict[str, str]:
    """Term -> its address on the page, by alphabet; a heading such as `Route, hop` explains two terms."""
    found = {}
    for heading in re.findall(r"^### (.+)$", text, flags=re.MULTILINE):
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        found |= dict.fromkeys(heading.split(", "), anchor)
    return dict(sorted(found.items(), key=lambda pair: pair[0].lower()))


def with_index(text: str) -> str:
    """The page with its list of terms written anew."""
    listed = ",\n".join(f"[{term}](#{anchor})" for term, anchor in terms(text).items())
    return re.sub(r"<!-- index -->\n.*?<!-- end -->", f"<!-- index -->\n{listed}\n<!-- end -->", text, flags=re.DOTALL)


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_index(text), encoding="utf-8")


if __name__ == "__main__":
    main()
