"""Names as LLVM writes them: bytes that are no plain character stand as a backslash and two digits."""

from __future__ import annotations

import re
from typing import Final

_BYTE: Final = re.compile(rb"\\([0-9A-Fa-f]{2})")
_BEYOND: Final = re.compile(r"(?:\\[89A-Fa-f][0-9A-Fa-f])+")


def plain(name: str) -> str:
    r"""A name without the quotes that LLVM puts around unusual ones.

    >>> plain('"gr\\C3\\B6\\C3\\9Fe"'), plain("sum")
    ('größe', 'sum')
    """
    if not name.startswith('"'):
        return name
    return _decoded(name[1:-1])


def with_letters(text: str) -> str:
    r"""A text of LLVM in which letters beyond ASCII stand for themselves; quotes and the like stay written as bytes.

    >>> with_letters('name: "f\\C3\\BCr \\22"')
    'name: "für \\22"'
    """
    return _BEYOND.sub(lambda m: _decoded(m[0]), text)


def _decoded(text: str) -> str:
    data = _BYTE.sub(lambda m: bytes([int(m[1], 16)]), text.encode())
    return data.decode("utf-8", errors="replace")
