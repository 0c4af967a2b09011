"""Files as readers take them: regular files of a bounded size, read once, every complaint with file and line.

A named pipe waits for a writer and a device may never end, so that neither is opened for its content. Every reader of
a file that a user names goes through :func:`read_text` or :func:`read_bytes`; a file that a library opens by its own
means is looked at by :func:`check_regular` first.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from gridloom.errors import SourceError

_MEGABYTE: Final = 1024 * 1024
MAX_BYTES: Final = 64 * _MEGABYTE

#: Published integers have far fewer digits; ``int`` itself refuses more than 4300 with an error that is not ours.
_MAX_DIGITS: Final = 40

_SPECIAL: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def read_text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """The text of a file, line ends untouched; SourceError when it is missing, too large or not UTF-8."""
    data = read_bytes(path, limit=limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise SourceError(f"is not UTF-8 text: {found}", where=str(path)) from None


def read_bytes(path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file of at most ``limit`` bytes; SourceError when it is missing, larger or no such file.

    Never waits: a named pipe, a device, a socket or a folder is refused before anything is read from it.
    """
    try:
        check_regular(path)
        # The file may have been exchanged since, so that the open one is asked again, and opening must not wait.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            _refuse_special(status.st_mode, path)
            data = stream.read(limit + 1) if status.st_size <= limit else None
    except FileNotFoundError:
        raise SourceError("there is no such file", where=str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot be read: {reason}", where=str(path)) from None
    if data is None or len(data) > limit:
        raise SourceError(f"is larger than {_size(limit)}, the most that is read", where=str(path))
    return data


def exists(path: Path) -> bool:
    """True when there is something of this name; False, and no error, for a name that no system takes."""
    return os.path.exists(path)


def is_file(path: Path) -> bool:
    """True for a regular file; False, and no error, for a name that no system takes."""
    return os.path.isfile(path)


def is_dir(path: Path) -> bool:
    """True for a folder; False, and no error, for a name that no system takes."""
    return os.path.isdir(path)


def check_regular(path: Path) -> None:
    """Raise SourceError for a path that is, or leads by a link to, anything but a regular file.

    FileNotFoundError and other errors of the system pass on, so that the caller can word them.
    """
    _refuse_special(path.stat().st_mode, path)


def _refuse_special(mode: int, path: Path) -> None:
    """Raise SourceError for the mode of anything but a regular file."""
    if stat.S_ISDIR(mode):
        raise SourceError("is a directory; expected a file", where=str(path))
    if not stat.S_ISREG(mode):
        name = next((name for test, name in _SPECIAL if test(mode)), "no regular file")
        raise SourceError(f"is {name}; expected a regular file", where=str(path))


def _size(limit: int) -> str:
    """A limit in the unit in which it is a whole number.

    >>> _size(64 * 1024 * 1024), _size(1_000_000)
    ('64 MB', '1000000 bytes')
    """
    return f"{limit} bytes" if limit % _MEGABYTE else f"{limit // _MEGABYTE} MB"


def line_of(text: str, offset: int) -> int:
    """The number (from 1) of the line that holds an offset."""
    return text.count("\n", 0, offset) + 1


def shown(text: str, limit: int = 40) -> str:
    """Found text, quoted and cut to a length that fits a message."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def integer(text: str, what: str, where: str) -> int:
    """A decimal or ``0x`` integer, else a SourceError that says what the field is."""
    stripped = text.strip()
    if len(stripped) <= _MAX_DIGITS:
        try:
            return int(stripped, 16) if stripped.lower().lstrip("+-").startswith("0x") else int(stripped)
        except ValueError:
            pass
    raise SourceError(f"{what} is {shown(stripped)}; expected an integer", where=where)
