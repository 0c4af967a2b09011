"""What the Tab key offers: names from the registry, which costs no import of what they stand for.

A callback that offers nothing leaves the word to the shell, which then completes file names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
    return [group for group in registry.REGISTRY if group.startswith(incomplete)]


def offer_sources(incomplete: str) -> list[Offer]:
    """``kernel:NAME`` and ``model:NAME`` once the word begins like one of them; every other word may be a file."""
    if not incomplete:
        return []
    known = [(f"{prefix}:{name}", text) for prefix, group in _PREFIXES for name, text in _entries(group)]
    return [offer for offer in known if offer[0].startswith(incomplete)]


_PREFIXES = (("kernel", "kernels"), ("model", "networks"))


def _entries(group: str) -> Iterator[Offer]:
    for name in registry.names(group):
        yield name, registry.entry(group, name).summary
