"""Reading the values of a description: every complaint begins with the key, from which the line in the file is found.

A key is the way to a value through dictionaries and lists, joined by dots: ``tiles.2.latency.mul``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from gridloom.errors import ArchError


def join_keys(key: str, name: object) -> str:
    """Return the key of a part of a value.

    >>> join_keys("tiles.2", "ops"), join_keys("", "rows")
    ('tiles.2.ops', 'rows')
    """
    return f"{key}.{name}" if key else str(name)


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return the end of a complaint about a name: the ones that are close to it, or all of them.

    >>> suggestion("regs", ["registers", "rows"])
    "did you mean 'registers'?"
    >>> suggestion("x", ["rows", "cols"])
    'known: rows, cols'
    """
    names = list(known)
    # A name that was cut short is further from the whole one than a slip of the hand is.
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.55)
    near = near or [whole for whole in names if whole.startswith(str(name)[:3]) and len(str(name)) > 2][:1]
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"


def mapping_at(value: Any, known: Iterable[str], key: str, what: str) -> dict[str, Any]:
    """Return a dictionary whose keys are all known; ArchError for another value, and for the first unknown key."""
    names = list(known)
    if not isinstance(value, Mapping):
        raise ArchError(f"{key}: expected keys and values ({', '.join(names)}), found {value!r}")
    for name in value:
        if name not in names:
            raise ArchError(f"{join_keys(key, name)}: {what} has no key {name!r}; {suggestion(name, names)}")
    return dict(value)


def entries_at(value: Any, key: str) -> list[tuple[str, Any]]:
    """Return the entries of a list, each with its key; a single entry may stand without a list."""
    if isinstance(value, list | tuple):
        return [(join_keys(key, k), entry) for k, entry in enumerate(value)]
    return [(key, value)]


def count_at(value: Any, key: str, low: int, high: int, *, none: str | None = None) -> int | None:
    """Return a whole number within bounds; None is taken where ``none`` says what it means."""
    if value is None and none is not None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        other = f" or null ({none})" if none else ""
        raise ArchError(f"{key}: expected a whole number from {low} to {high}{other}, found {value!r}")
    return value


def number_at(value: Any, key: str, low: int, high: int) -> int:
    """Return a whole number within bounds; ArchError for anything else."""
    number = count_at(value, key, low, high)
    assert number is not None
    return number


def flag_at(value: Any, key: str) -> bool:
    """Return true or false; ArchError for anything else."""
    if not isinstance(value, bool):
        raise ArchError(f"{key}: expected true or false, found {value!r}")
    return value


def word_at(value: Any, key: str, known: Iterable[str]) -> str:
    """Return one of several words; ArchError names those that there are."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise ArchError(f"{key}: expected one of {', '.join(names)}, found {value!r}")
    return value


def name_at(value: Any, key: str) -> str:
    """Return a name: text without line ends that is not empty and has at most 100 characters."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 100:
        raise ArchError(f"{key}: expected a name of 1 to 100 printable characters, found {value!r}")
    return value
