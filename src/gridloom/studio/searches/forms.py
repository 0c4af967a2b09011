"""Forms made from records: the settings of a mapper and the parameters of an array family.

A mapper's configuration is a dataclass whose fields have ``#:`` comments; a form shows a field for each of them, with
its type, its default and the comment. A new setting shows in the studio without another edit.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.errors import GridloomError
from gridloom.flow.options import OPTIONS, type_words
from gridloom.search.choice import config_type, default_mapper, function_for, mappers_for
from gridloom.studio.python_text import comments

#: Arrays that the gallery shows, from small to large and from simple to special.
GALLERY: Final = (
    "torus:4x4", "torus:4x4,bus=none", "torus:8x8,regs=8", "hycube:4x4", "openedge-cgra", "adres",
    "mesh:6x6,inputs=skewed", "chess:8x8", "onehop:6x6,inputs=skewed", "hex:8x8,inputs=skewed",
    "vpcma", "streaming-engine:16", "rdu:6x6",
)  # fmt: skip


def mapper_forms(arch: Arch) -> list[dict[str, Any]]:
    """The mappers that take an array, ``auto`` first, each with the fields of its configuration."""
    found: list[dict[str, Any]] = []
    for name in mappers_for(arch):
        entry = registry.entry("mappers", name)
        try:
            kind = config_type(function_for(name, arch))
        except (GridloomError, ImportError):
            # Its extra is not installed: it is listed, and cannot be chosen.
            found.append({"name": name, "summary": entry.summary, "fields": [], "needs": entry.extra})
            continue
        found.append({"name": name, "summary": entry.summary, "fields": fields(kind), "needs": None})
    try:
        chosen = default_mapper(arch)
    except GridloomError:
        return found
    own: list[dict[str, Any]] = next((row["fields"] for row in found if row["name"] == chosen), [])
    return [{"name": "auto", "summary": f"takes {chosen} on this array", "fields": own, "needs": None}, *found]


def fields(kind: type[Any]) -> list[dict[str, Any]]:
    """The fields of a configuration as a form shows them; what has an option of its own is left out."""
    hints = get_type_hints(kind)
    told = comments(kind)
    rows = []
    for field in dataclasses.fields(kind):
        if field.name in OPTIONS or not _simple(hints[field.name]):
            continue
        rows.append(
            {
                "name": field.name,
                "type": type_words(hints[field.name]),
                "input": _input(hints[field.name]),
                "choices": _choices(hints[field.name]),
                "default": _shown(field.default),
                "help": told.get(field.name, ""),
            }
        )
    return rows


def _simple(hint: Any) -> bool:
    """Whether a form can ask for a value of a type: numbers, words, choices, flags and lists of words."""
    parts = (
        [part for part in get_args(hint) if part is not type(None)] if get_origin(hint) not in (Literal, tuple) else []
    )
    return all(_simple(part) for part in parts) if parts else (
        hint in (int, float, bool, str) or get_origin(hint) in (Literal, tuple)
    )  # fmt: skip


def _input(hint: Any) -> str:
    """The kind of a field: ``flag``, ``choice``, ``number`` or ``text``."""
    if hint is bool:
        return "flag"
    if _choices(hint):
        return "choice"
    plain = [part for part in get_args(hint) if part is not type(None)] or [hint]
    return "number" if all(part in (int, float) for part in plain) else "text"


def _choices(hint: Any) -> list[str]:
    """The values that a field can take, where they are listed."""
    if get_origin(hint) is Literal:
        return [str(value) for value in get_args(hint)]
    return [value for part in get_args(hint) if get_origin(part) is Literal for value in _choices(part)]


def _shown(value: Any) -> str:
    """A default as text, as ``--set`` takes it."""
    if value is dataclasses.MISSING:
        return ""
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
