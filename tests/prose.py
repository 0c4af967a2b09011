"""What the prose of the documents is judged by: words, long sentences and idioms that the style guide replaces.

``python -m tests.prose`` prints the words of each page and its long sentences. Prose is what a person wrote: no blocks
of code, no tables that a generator writes, no pages of results, and not the changelog. A cell of a table and an item of
a list begin a sentence; a link counts as its text, and a code span as one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
PAGES = [
    page
    for page in [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
    if DOCS / "results" not in page.parents
]
#: A sentence of more words is long.
LONG = 40
#: Idiom -> what the style guide writes in its place.
IDIOMS = {
    r"\bthe loops? around\b": "the outer loop",
    r"\biterations? of the loops? around\b": "outer iterations",
    r"\bfor want of\b": "by missing dependency",
    r"\b(?:is|are) looked ahead of\b": "a counted scan loop finds",
    r"\b(?:which|what) way each\b": "how each value is routed",
    r"\bfinds? out which\b": "decides",
    r"\bof (?:its|our|their|your) own accord\b": "by itself",
    r"\bVerilog of our own\b": "vendor-neutral Verilog",
    r"\bstands? beside each other\b": "are compared",
    r"\bhas not been repeated\b": "nothing: history belongs in the changelog",
    r"\b(?:at first|in former times|formerly|used to be)\b": "nothing: history belongs in the changelog",
    r"\bso many\b": "N",
    r"\breckons? with\b": "accounts for",
    r"\bled anew\b": "rerouted",
    r"\bis told\b|\bare told\b": "is called with, reports",
    r"\bsays? of itself\b": "reports",
}
_BLOCK = re.compile(r"^[ ]*```.*?^[ ]*```[ ]*$", flags=re.MULTILINE | re.DOTALL)
_GENERATED = re.compile(r"<!-- (?:table: .*?|results: .*?|generated|index) -->.*?<!-- end -->", flags=re.DOTALL)


def prose(text: str) -> str:
    """What a person wrote of a page."""
    text = _BLOCK.sub("", _GENERATED.sub("", text)).partition("\n## Shared modules\n")[0]
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # Code is indented behind a blank line; what is indented below an item of a list is text.
    return re.sub(r"(?<=\n\n)(?: {4,}(?![-*] |\d+\. ).*\n?)+", "", text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", prose(text))
    text = re.sub(r"`[^`]*`", "`code`", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=#|\|)", text):
        parts = paragraph.split("|") if paragraph.lstrip().startswith("|") else [paragraph]
        for part in parts:
            yield from filter(None, re.split(r"(?<=[.!?])\)?\s+(?=[A-Z`*(])", " ".join(part.split())))


def count_words(text: str) -> int:
    """Words with a letter or a digit."""
    return sum(re.search(r"\w", word) is not None for word in text.split())


def long_sentences(text: str) -> list[str]:
    """Sentences of more than ``LONG`` words."""
    return [sentence for sentence in sentences(text) if count_words(sentence) > LONG]


def idioms(text: str) -> list[str]:
    """Idioms of a page, each with what is written in its place."""
    flat = " ".join(prose(text).split())
    return [f"{match[0]!r}: write {better}" for idiom, better in IDIOMS.items() for match in re.finditer(idiom, flat)]


def main() -> None:
    total = long = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = long_sentences(text)
        words = count_words(prose(text))
        total, long = total + words, long + len(found)
        print(f"{words:6} {len(found):3} {page.relative_to(REPOSITORY)}")
        for line in [*found, *idioms(text)]:
            print(f"           {line}")
    print(f"{total:6} {long:3} in all")


if __name__ == "__main__":
    main()
