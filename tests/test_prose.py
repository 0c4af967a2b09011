"""Prose: few long sentences, no idioms that the style guide replaces, and no more words than the pages may have.

What is left over is listed by page. The lists and the limits only shrink.
"""

from __future__ import annotations

import pytest
from tests.prose import LONG, PAGES, REPOSITORY, count_words, idioms, long_sentences, prose, sentences

#: Words that a person wrote, on all pages together.
MOST_WORDS = 60_000
#: Page -> its long sentences.
LONG_SENTENCES: dict[str, int] = {}
#: Page -> its idioms.
LEFT_IDIOMS: dict[str, int] = {}
NAMES = {page.relative_to(REPOSITORY).as_posix(): page for page in PAGES}


def test_the_pages_have_no_more_words_than_they_may() -> None:
    assert sum(count_words(prose(page.read_text(encoding="utf-8"))) for page in PAGES) <= MOST_WORDS


def test_the_readme_fits_on_three_screens() -> None:
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) < 130


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_no_long_sentence(name: str) -> None:
    found = long_sentences(NAMES[name].read_text(encoding="utf-8"))
    assert len(found) == LONG_SENTENCES.get(name, 0), found


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_no_idiom_that_the_style_guide_replaces(name: str) -> None:
    found = idioms(NAMES[name].read_text(encoding="utf-8"))
    assert len(found) == LEFT_IDIOMS.get(name, 0), found


def test_few_long_sentences_are_left() -> None:
    assert sum(LONG_SENTENCES.values()) < 20


def test_a_long_sentence_and_an_idiom_are_found() -> None:
    long = "It " + "goes " * (LONG - 2) + "on.\n"
    assert long_sentences(long) == []
    assert len(long_sentences("It is short. It " + long.lower())) == 1
    assert idioms("It moves\nthe loop around it.") == ["'the loop around': write the outer loop"]


def test_code_tables_of_generators_and_links_are_no_prose() -> None:
    text = "A [link](page.md#part).\n\n    code here\n\n```c\nint a;\n```\n<!-- table: x -->\n| a |\n<!-- end -->\n"
    assert list(sentences(text)) == ["A link."]


def test_an_item_and_a_cell_begin_a_sentence() -> None:
    assert list(sentences("- one\n- two\n\n| a | b |\n")) == ["- one", "- two", "a", "b"]
