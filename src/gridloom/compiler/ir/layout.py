"""Sizes and offsets of C types on the fixed 32-bit target: natural alignment, 4-byte pointers.

Types are read from LLVM's text: ``i16``, ``float``, ``[8 x i32]``, ``{ i32, i8 }``, ``<{ ... }>`` for packed structs,
``%struct.name`` for named ones. A type is parsed anew each time, which is cheap for the few of a loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from gridloom.errors import SourceError

_SCALARS: Final = {"float": 4, "double": 8, "ptr": 4, "half": 2}


class DataLayout:
    """Answers how many bytes a type takes and where its members start. ``structs`` maps names to the texts of structs.

    >>> layout = DataLayout({"point": "{ i8, i32, i16 }"})
    >>> layout.size("%point"), layout.members("%point"), layout.size("[3 x %point]")
    (12, [(0, 'i8'), (4, 'i32'), (8, 'i16')], 36)
    """

    def __init__(self, structs: Mapping[str, str]) -> None:
        self.structs = structs

    def size(self, type_: str) -> int:
        """Bytes from one element of an array of this type to the next."""
        return self._measure(type_)[0]

    def _measure(self, type_: str) -> tuple[int, int]:
        """(size, alignment)."""
        array = array_parts(type_)
        if array:
            size, alignment = self._measure(array.element)
            return array.length * size, alignment
        if type_.startswith("%"):
            return self._struct(self.structs.get(type_[1:].strip('"'), "{}"))
        if type_.startswith(("{", "<{")):
            return self._struct(type_)
        bits = integer_bits(type_)
        size = 1 << (-(-bits // 8) - 1).bit_length() if bits else _SCALARS.get(type_, 0)
        if not size:
            raise SourceError(f"type {type_} has no size that is known here; use 8-, 16-, 32-bit integers and float")
        return size, size

    def members(self, type_: str) -> list[tuple[int, str]]:
        """(offset, type) of each member of a struct."""
        text = self.structs.get(type_[1:].strip('"'), "{}") if type_.startswith("%") else type_
        packed = text.startswith("<")
        offset, members = 0, []
        for member in split_types(text.strip("<>").strip()[1:-1]):
            size, alignment = self._measure(member)
            offset = offset if packed else -(-offset // alignment) * alignment
            members.append((offset, member))
            offset += size
        return members

    def _struct(self, text: str) -> tuple[int, int]:
        """(size, alignment) of a struct.

        Its size is padded to the alignment of its most aligned member, unless it is packed.
        """
        found = self.members(text)
        if not found:
            return 0, 1
        alignment = 1 if text.startswith("<") else max(self._measure(member)[1] for _, member in found)
        end = found[-1][0] + self._measure(found[-1][1])[0]
        return -(-end // alignment) * alignment, alignment

    def scalars(self, type_: str) -> list[tuple[int, str]]:
        """(offset, type) of every scalar inside a type, in order."""
        array = array_parts(type_)
        if array:
            inner, size = self.scalars(array.element), self.size(array.element)
            return [(k * size + offset, scalar) for k in range(array.length) for offset, scalar in inner]
        if type_.startswith(("%", "{", "<{")):
            return [(at + offset, s) for at, member in self.members(type_) for offset, s in self.scalars(member)]
        return [(0, type_)]


class ArrayParts(NamedTuple):
    """The length and the element type of an array type."""

    length: int
    element: str


def array_parts(type_: str) -> ArrayParts | None:
    """The parts of an array type; None for any other.

    >>> array_parts("[3 x [2 x i8]]"), array_parts("i32")
    (ArrayParts(length=3, element='[2 x i8]'), None)
    """
    count, by, element = type_[1:-1].partition(" x ")
    is_array = by and type_[0] == "[" and type_[-1] == "]" and count.isdecimal()
    return ArrayParts(int(count), element) if is_array else None


def integer_bits(type_: str) -> int:
    """The bits of an integer type; 0 for any other."""
    return int(type_[1:]) if type_[:1] == "i" and type_[1:].isdecimal() else 0


def split_types(text: str) -> list[str]:
    """The comma-separated parts of a type or initializer list, nested brackets and quoted texts kept together.

    >>> split_types("i32, [2 x i8], { i8, i8 }")
    ['i32', '[2 x i8]', '{ i8, i8 }']
    >>> split_types('[3 x i8] c"a,[", %"struct.a,b"')
    ['[3 x i8] c"a,["', '%"struct.a,b"']
    """
    parts, depth, start, quoted = [], 0, 0, False
    for k, character in enumerate(text):
        # LLVM writes a quote inside a quoted text as \\22, so that each quote opens or closes one.
        quoted ^= character == '"'
        if quoted:
            continue
        depth += (character in "[{(<") - (character in "]})>")
        if character == "," and depth == 0:
            parts.append(text[start:k].strip())
            start = k + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]
