"""``#pragma gridloom`` in a C file: which loop is meant, and what the author says of its iterations.

    #pragma gridloom                 the next loop is the one to map
    #pragma gridloom ivdep           iterations of the next loop meet in memory only where that is proved
    #pragma gridloom independent     no iteration of the next loop touches what another one writes

clang drops pragmas that it does not know, so they are looked for in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gridloom.compiler.c.source.loop_text import KEYWORD, without_comments
from gridloom.compiler.ir.c_source import is_c
from gridloom.compiler.ir.ir import IrModule
from gridloom.errors import SourceError
from gridloom.text_file import read_text, shown

_PRAGMA: Final = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+gridloom\b(.*)$", re.M)
#: What may be said of a loop.
WORDS: Final = ("ivdep", "independent")


@dataclass(frozen=True, slots=True)
class LoopPragma:
    """A pragma: its line, and its word; "" for one that names the loop to map."""

    line: int
    word: str


def find_pragmas(path: Path) -> list[LoopPragma]:
    """The pragmas of a file. SourceError for words that none takes."""
    text = read_text(path)
    found = []
    for pragma in _PRAGMA.finditer(text):
        line = text.count("\n", 0, pragma.start()) + 1
        word = pragma[1].partition("//")[0].partition("/*")[0].strip()
        if word and word not in WORDS:
            raise SourceError(
                f"found {shown(word)} after #pragma gridloom, which takes ivdep, independent or nothing; use --unroll, "
                "--flatten, --size",
                where=f"{path}:{line}",
            )
        found.append(LoopPragma(line, word))
    return found


def asserted_loops(path: Path) -> dict[tuple[str, int], str]:
    """(File, line where a loop starts) -> what a pragma right before it says. SourceError where no loop follows."""
    pragmas = [pragma for pragma in find_pragmas(path) if pragma.word]
    rows = without_comments(read_text(path)).split("\n") if pragmas else []
    found = {}
    for pragma in pragmas:
        code = (k for k in range(pragma.line, len(rows)) if rows[k].strip() and not rows[k].lstrip().startswith("#"))
        start = next(code, None)
        if start is None or not KEYWORD.match(rows[start].strip()):
            raise SourceError(
                f"no loop follows #pragma gridloom {pragma.word}; write it in the line before for, while or do",
                where=f"{path}:{pragma.line}",
            )
        found[path.name, start + 1] = pragma.word
    return found


def with_assertions(module: IrModule, path: Path) -> IrModule:
    """The module of a file, with what the file's pragmas say of loops."""
    if is_c(path):
        module.asserted |= asserted_loops(path)
    return module
