"""What the Tab key offers: names from the registry, which costs no import of what they stand for.

A callback that offers nothing leaves the word to the shell, which then completes file names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, MutableMapping
from typing import Final

from gridloom import registry

#: (name, one line about it), as shells that show descriptions take it.
Offer = tuple[str, str]


def offer_names(group: str) -> Callable[[str], list[Offer]]:
    """A callback that offers the names of a group of the registry that begin as the typed word does."""

    def offered(incomplete: str) -> list[Offer]:
        return [offer for offer in _entries(group) if offer[0].startswith(incomplete)]

    return offered


def offer_mappers(incomplete: str) -> list[Offer]:
    """The mappers, and ``auto``."""
    known = [("auto", "the mapper that suits the array"), *_entries("mappers")]
    return [offer for offer in known if offer[0].startswith(incomplete)]


def offer_groups(incomplete: str) -> list[str]:
    """The lists of ``gridloom list``."""
    return [group for group in (*registry.GROUPS, "plugins") if group.startswith(incomplete)]


def offer_sources(incomplete: str) -> list[Offer]:
    """``kernel:NAME`` and ``model:NAME`` once the word begins like one of them; every other word may be a file."""
    begun = os.environ.get(_BEGUN)
    if begun:
        return offer_names(_GROUPS[begun])(incomplete)
    if not incomplete:
        return []
    known = [(f"{prefix}:{name}", text) for prefix, group in _GROUPS.items() for name, text in _entries(group)]
    return [offer for offer in known if offer[0].startswith(incomplete)]


def join_bash_words(environment: MutableMapping[str, str]) -> None:
    """Undo how Bash takes ``kernel:fi`` apart: it hands over three words and wants only the end of the last one.

    Bash breaks words at colons (``COMP_WORDBREAKS``). The first two words are taken out of what Bash says was typed,
    and kept for :func:`offer_sources`. Does nothing for other shells, and outside of completion.
    """
    if environment.get("_GRIDLOOM_COMPLETE") != "complete_bash":
        return
    words, current = environment.get("COMP_WORDS", "").split(" "), int(environment.get("COMP_CWORD", "0"))
    colon = current if words[current : current + 1] == [":"] else current - 1
    if colon > 1 and words[colon] == ":" and words[colon - 1] in _GROUPS:
        environment[_BEGUN] = words[colon - 1]
        last = "".join(words[colon + 1 : current + 1])
        environment["COMP_WORDS"] = " ".join([*words[: colon - 1], last])
        environment["COMP_CWORD"] = str(colon - 1)


#: What a source may begin with, and the group of the registry that goes on from there.
_GROUPS: Final = {"kernel": "kernels", "model": "networks"}
_BEGUN: Final = "_GRIDLOOM_COMPLETE_BEGUN"


def _entries(group: str) -> Iterator[Offer]:
    """The names of a group of the registry, each with its summary."""
    for name in registry.names(group):
        yield name, registry.entry(group, name).summary
