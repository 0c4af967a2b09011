"""How a battery says that a promise is broken, and how it adds a subject to the registry for as long as it looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gridloom import registry


def require(kept: bool, sentence: str) -> None:
    """Raise an AssertionError with a sentence unless a promise is kept; unlike ``assert`` it is never left out."""
    if not kept:
        raise AssertionError(sentence)


@contextmanager
def declare_for_a_while(group: str, name: str, item: Any) -> Iterator[None]:
    """Let a name of the registry stand for an object inside the block."""
    registry.names(group)
    entries = registry.groups()[group]
    before = entries.get(name)
    entries[name] = item
    try:
        yield
    finally:
        if before is None:
            del entries[name]
        else:
            entries[name] = before
