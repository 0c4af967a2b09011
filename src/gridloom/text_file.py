"""Text files as readers take them: bounded in size, decoded once, every complaint with file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gridloom.errors import SourceError

_MEGABYTE: Final = 1024 * 1024
MAX_BYTES: Final = 64 * _MEGABYTE

#: Published integers have far fewer digits; ``int`` itself refuses more than 4300 with an error that is not ours.
_MAX_DIGITS: Final = 40


def read_text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """The text of a file, line ends untouched; SourceError when it is missing, too large or not UTF-8."""
    where = str(path)
    try:
        if path.is_dir():
            raise SourceError("is a directory; expected a file", where=where)
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except FileNotFoundError:
        raise SourceError("there is no such file", where=where) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot be read: {reason}", where=where) from None
    if len(data) > limit:
        most = f"{limit // _MEGABYTE} MB" if limit % _MEGABYTE == 0 else f"{limit} bytes"
        raise SourceError(f"is larger than {most}, the most that is read", where=where)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise SourceError(f"is not UTF-8 text: {found}", where=where) from None


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
