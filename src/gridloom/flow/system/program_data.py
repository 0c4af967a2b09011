"""What a whole program runs on: the words of its command line, its standard input, and the files that it opens.

They are tables of C that are linked with the program, on the core and on this machine alike, so that nothing is opened
while it runs. What the program writes to files goes to its standard output.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gridloom.errors import OptionError
from gridloom.text_file import read_bytes

_MOST_BYTES: Final = 8 * 1024 * 1024
_HEADER: Final = """\
typedef struct { const char *name; const unsigned char *bytes; unsigned size; } gl_file;
extern const gl_file gl_files[];
extern const unsigned gl_file_count;
"""


@dataclass(frozen=True, kw_only=True)
class ProgramData:
    """The words behind the program's name, and the contents of files by name; ``-`` is standard input."""

    words: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def c_files(self) -> dict[str, str]:
        """The tables as C, with their header."""
        lines = ['#include "files.h"']
        for k, contents in enumerate(self.files.values()):
            table = ",".join(map(str, contents)) or "0"
            lines.append(f"static const unsigned char bytes_{k}[] = {{{table}}};")
        rows = [f"{{{json.dumps(name)}, bytes_{k}, {len(contents)}}}"
                for k, (name, contents) in enumerate(self.files.items())]  # fmt: skip
        lines.append(f"const gl_file gl_files[] = {{{', '.join([*rows, '{0, 0, 0}'])}}};")
        lines.append(f"const unsigned gl_file_count = {len(rows)};")
        words = ", ".join(json.dumps(word) for word in ("program", *self.words))
        lines.append(f"static char *words[] = {{{words}, 0}};")
        lines.append(f"int gl_argc = {1 + len(self.words)};\nchar **gl_argv = words;")
        return {"files.h": _HEADER, "tables.c": "\n".join([*lines, ""])}


def read_program_data(words: Sequence[str], files: Sequence[str], stdin: Path | None) -> ProgramData:
    """The data that ``--words``, ``--file`` and ``--stdin`` give. OptionError for a name that is given twice."""
    found: dict[str, bytes] = {}
    for text in files:
        name, between, path = text.partition("=")
        if name in found:
            raise OptionError(f"{name!r} is given twice", where="--file")
        found[name] = read_bytes(Path(path if between else name), limit=_MOST_BYTES)
    if stdin is not None:
        found["-"] = read_bytes(stdin, limit=_MOST_BYTES)
    return ProgramData(words=tuple(words), files=found)
