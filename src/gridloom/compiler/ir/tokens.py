r"""Tokens of LLVM's assembly language: names, numbers, words and brackets of a line.

    split_tokens('%a = load i32, ptr %"x y", !dbg !3')
    ['%a', '=', 'load', 'i32', ',', 'ptr', '%"x y"', ',', '!dbg', '!3']

LLVM writes a quote inside of quoted text as ``\22``, so that each quote opens or closes one. A token is a bracket, a
comma, an equals sign, or all between them and spaces; a quoted part belongs to the sign before it. Linear, at the speed
of ``str.split``.
"""

from __future__ import annotations

from typing import Final

_BRACKETS: Final = "()[]{}<>,="
_SPACED: Final = {ord(letter): f" {letter} " for letter in _BRACKETS}
_SIGNS: Final = ("%", "@", "!", "$", " c", "\tc")
_NAME: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$-"
_HEX: Final = frozenset("0123456789abcdefABCDEF")


def split_tokens(line: str) -> list[str]:
    """The tokens of a line."""
    if '"' not in line:
        return line.translate(_SPACED).split()
    found: list[str] = []
    glued = False
    for k, part in enumerate(line.split('"')):
        if k % 2 == 0:
            found += part.translate(_SPACED).split()
            glued = part == "c" or part.endswith(_SIGNS)
        elif glued:
            found[-1] += f'"{part}"'
        else:
            found.append(f'"{part}"')
    return found


def first_name(text: str) -> str:
    """The name that a text begins with, behind its ``%``, ``@`` or ``!``, with the quotes that it has.

    >>> first_name("x.1, align 4"), first_name('"a b" ]'), first_name("[2 x i8]")
    ('x.1', '"a b"', '')
    """
    if text.startswith('"'):
        return text[: text.find('"', 1) + 1]
    return text[: len(text) - len(text.lstrip(_NAME))]


def leading_digits(text: str) -> str:
    """The digits that a text begins with."""
    return text[: len(text) - len(text.lstrip("0123456789"))]


def is_number(text: str) -> bool:
    """True for a decimal integer, with or without a sign."""
    return text.removeprefix("-").isdecimal() and text.isascii()


def plain(name: str) -> str:
    r"""A name without the quotes that LLVM puts around unusual ones.

    >>> plain('"gr\\C3\\B6\\C3\\9Fe"'), plain("sum")
    ('größe', 'sum')
    """
    return decode_bytes(name[1:-1]).decode("utf-8", errors="replace") if name.startswith('"') else name


def decode_bytes(text: str) -> bytes:
    r"""The bytes of a quoted text, in which LLVM writes unusual ones as ``\0A``.

    >>> decode_bytes("a\\0Ab\\zz")
    b'a\nb\\zz'
    """
    first, *parts = text.split("\\")
    found = [first.encode()]
    for part in parts:
        is_byte = len(part) > 1 and _HEX.issuperset(part[:2])
        found.append(bytes([int(part[:2], 16)]) + part[2:].encode() if is_byte else b"\\" + part.encode())
    return b"".join(found)


def with_letters(text: str) -> str:
    r"""A text of LLVM in which letters beyond ASCII stand for themselves; quotes and the like stay written as bytes.

    >>> with_letters('name: "f\\C3\\BCr \\22"')
    'name: "für \\22"'
    """
    if "\\" not in text:
        return text
    first, *parts = text.split("\\")
    found = [first.encode()]
    for part in parts:
        is_letter = len(part) > 1 and _HEX.issuperset(part[:2]) and part[0] in "89abcdefABCDEF"
        found.append(bytes([int(part[:2], 16)]) + part[2:].encode() if is_letter else b"\\" + part.encode())
    return b"".join(found).decode("utf-8", errors="replace")
