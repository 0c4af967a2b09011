"""Metadata of an LLVM module: the numbered records behind its functions, and their fields.

    !12 = distinct !DILocation(line: 5, scope: !10)      kind "!DILocation", fields "line" and "scope"
    !13 = !{!14, null, !"llvm.loop.mustprogress"}        items "!14", "null" and '!"llvm.loop.mustprogress"'

A record is taken apart when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gridloom.compiler.ir.layout import split_types
from gridloom.compiler.ir.tokens import plain, with_letters


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A record: what it is, its named fields, and the items of a list."""

    kind: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    items: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """A field without quotes; "" where the record has none of that name."""
        return plain(self.fields.get(name, ""))

    def number(self, name: str) -> int | None:
        """A field that is a number."""
        found = self.fields.get(name, "")
        return int(found) if found.removeprefix("-").isdecimal() else None

    def reference(self, name: str) -> int | None:
        """The number of the record that a field names."""
        return reference(self.fields.get(name, ""))

    @property
    def references(self) -> list[int]:
        """The numbers of the records in a list."""
        return [number for item in self.items if (number := reference(item)) is not None]


_NONE = MetadataRecord()


class Metadata:
    """The records of a module's text, by number."""

    def __init__(self, text: str) -> None:
        self._texts: dict[int, str] = {}
        self._known: dict[int, MetadataRecord] = {}
        for line in text.splitlines():
            if line.startswith("!"):
                name, equals, body = line.partition(" = ")
                if equals and name[1:].isdecimal():
                    self._texts[int(name[1:])] = body

    def __getitem__(self, number: int | None) -> MetadataRecord:
        """A record; an empty one where there is none of that number."""
        if number is None or number not in self._texts:
            return _NONE
        if number not in self._known:
            self._known[number] = _read(self._texts[number])
        return self._known[number]

    def of_kind(self, kind: str) -> Iterator[tuple[int, MetadataRecord]]:
        """The records of a kind: ``!DISubprogram``."""
        for number, text in self._texts.items():
            if text.removeprefix("distinct ").startswith(f"{kind}("):
                yield number, self[number]


def reference(text: str) -> int | None:
    """The number of the record that a token names: 7 for ``!7``."""
    return int(text[1:]) if text.startswith("!") and text[1:].isdecimal() else None


def _read(text: str) -> MetadataRecord:
    """The record of a definition."""
    text = with_letters(text.removeprefix("distinct "))
    if text.startswith("!{"):
        return MetadataRecord(items=tuple(split_types(text[2:-1])))
    kind, _, body = text.partition("(")
    pairs = (part.partition(": ") for part in split_types(body.removesuffix(")")))
    return MetadataRecord(kind=kind, fields={name: value for name, _, value in pairs})


def split_metadata(line: str) -> tuple[str, dict[str, int]]:
    """An instruction's line without its metadata, and the numbers of the records attached, by kind.

    >>> split_metadata("  store i32 %x, ptr %p, !dbg !4, !tbaa !9")
    ('  store i32 %x, ptr %p', {'dbg': 4, 'tbaa': 9})
    """
    text, *parts = line.split(", !")
    found = {}
    for part in parts:
        kind, _, number = part.partition(" !")
        if not number.isdecimal():
            return line, {}
        found[kind] = int(number)
    return text, found
