"""SOURCE as one record: which file or which built-in graph a text names, and whether its Python may be executed.

:func:`split` is the only place that takes a text apart. What decides how a source is read and what decides whether it
may be read both see this record, so that they cannot differ about which file is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gridloom.compiler.ir.c_source import C_ENDINGS, CPP_ENDINGS, PLAIN, CSource, CUnit, SourceOptions, is_c
from gridloom.errors import OptionError
from gridloom.text_file import exists, shown

KERNEL_PREFIX: Final = "kernel:"
NETWORK_PREFIX: Final = "model:"
#: Endings of files of which a text may name a part.
PARTED: Final = (*C_ENDINGS, *CPP_ENDINGS, ".py", ".mlir")
# The first ending that a colon or the end follows: what comes after the colon is never a part of the file's name.
_FILE: Final = re.compile(r"(?P<file>.+?\.(?:c|cpp|cc|cxx|py|mlir))(?::(?P<rest>.*))?", re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceName:
    """A source by name. ``file`` is "" for a built-in graph, whose whole text is ``rest``."""

    file: str = ""
    #: What follows the colon after the file; None where there is none.
    rest: str | None = None
    #: Whether a Python file may be executed: the command line names it, or the user has consented.
    may_run: bool = True
    #: What the command line says about how a C file is compiled.
    options: SourceOptions = PLAIN

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file)

    @property
    def ending(self) -> str:
        """The ending of the file where it may have parts, that of C for C++; "" for any other source."""
        return ".c" if is_c(self.path) else self.path.suffix if self.path.suffix in PARTED else ""

    @property
    def c_source(self) -> CSource:
        """The C program of the file."""
        return CSource(units=(CUnit(path=self.path, options=self.options),))

    @property
    def is_python(self) -> bool:
        """True for a source that is executed when it is read."""
        return self.path.suffix.lower() == ".py"

    @property
    def text(self) -> str:
        """The SOURCE as a command line takes it."""
        if not self.file:
            return self.rest or ""
        return self.file if self.rest is None else f"{self.file}:{self.rest}"

    def __str__(self) -> str:
        """The SOURCE as a command line takes it."""
        return self.text

    def check_consent(self) -> None:
        """Raise OptionError for Python that nobody said may be executed."""
        if self.is_python and not self.may_run:
            raise OptionError(f"{shown(self.path.name)} is Python: mapping it executes the file; say so first")


def split(source: str | Path | SourceName) -> SourceName:
    """The record of a text; a record stands for itself. A file that exists under the whole text is that file.

    >>> split("fir.c:dot,unroll=2").rest, split("evil.py:k.c").path.name
    ('dot,unroll=2', 'evil.py')
    """
    if isinstance(source, SourceName):
        return source
    text = str(source)
    if text.startswith((KERNEL_PREFIX, NETWORK_PREFIX)):
        return SourceName(rest=text)
    match = None if exists(Path(text)) else _FILE.fullmatch(text)
    return SourceName(file=text) if match is None else SourceName(file=match["file"], rest=match["rest"])


def check_saved_sources(texts: Iterable[str], named: Iterable[str | Path], where: str) -> None:
    """Raise OptionError where a saved file names a Python file that the user has not named (``named``), too.

    Nothing is executed because a file says so.
    """
    allowed = {Path(name).resolve() for name in named}
    for text in texts:
        source = split(text)
        if source.is_python and source.path.resolve() not in allowed:
            raise OptionError(
                f"names {shown(source.file)}, which is Python and would be executed; allow that with --source FILE",
                where=where,
            )


def with_file(source: SourceName, file: str, *, may_run: bool) -> SourceName:
    """The same part of another file, executed only where the user has said so."""
    return replace(source, file=file, may_run=may_run)
