"""The loops that stand in the text of a C file, to tell which ones the compiler left none of.

clang replaces a sum of consecutive numbers by a formula, unrolls short loops and removes what nothing uses. Such a loop
is in the source and in no listing of the compiled code; whoever looks for it is told so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gridloom.compiler.ir.ir import IrModule

GONE: Final = (
    "clang left no loop here: it unrolled it, found a formula for its result, or removed it because nothing uses "
    "what it computes"
)

_BLANKED: Final = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_UNROLL: Final = re.compile(r"[ \t]*#[ \t]*pragma\b.*\bunroll")
KEYWORD: Final = re.compile(r"\b(for|while|do)\b")


def find_vanished_loops(text: str, module: IrModule, seen: set[int]) -> Iterator[tuple[str, int]]:
    """(Function, line) of every loop of the text that stands in a compiled function and starts on no line of ``seen``.

    A loop in a function that was inlined everywhere belongs to no compiled function and is not reported; neither is one
    that ``#pragma unroll`` stands above. Linear in the text.
    """
    lines = text.splitlines()
    starts = sorted((function.line, name) for name, function in module.functions.items() if function.line)
    ends = _ends(text)
    for line in _loop_lines(text):
        around = [(first, name) for first, name in starts if first <= line <= ends.get(first, first)]
        unrolled = line >= 2 and _UNROLL.match(lines[line - 2])
        if around and line not in seen and not unrolled:
            yield around[-1][1], line


def without_comments(text: str) -> str:
    """The text with comments and literals blanked out, line for line."""
    return _BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _loop_lines(text: str) -> Iterator[int]:
    """The lines on which loops start; the ``while`` that ends a ``do`` starts none."""
    plain = without_comments(text)
    # Preprocessor lines may hold macros whose loops stand elsewhere.
    plain = re.sub(
        r"^[ \t]*#(?:[^\n\\]|\\[^\n]|\\\n)*", lambda match: re.sub(r"[^\n]", " ", match[0]), plain, flags=re.M
    )
    open_dos = 0
    for match in KEYWORD.finditer(plain):
        if match[1] == "while" and open_dos and _ends_a_do(plain, match.end()):
            open_dos -= 1
            continue
        open_dos += match[1] == "do"
        yield plain.count("\n", 0, match.start()) + 1


def _ends_a_do(plain: str, position: int) -> bool:
    """True where a semicolon follows the condition of a ``while``."""
    depth = 0
    for k in range(position, len(plain)):
        depth += (plain[k] == "(") - (plain[k] == ")")
        if depth == 0 and plain[k] == ")":
            return plain[k + 1 :].lstrip().startswith(";")
    return False


def _ends(text: str) -> dict[int, int]:
    """Line -> the last line of the function that its text belongs to, by braces on the outermost level."""
    plain = without_comments(text)
    ends: dict[int, int] = {}
    depth, line, first = 0, 1, 1
    for character in plain:
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                for start in range(first, line + 1):
                    ends.setdefault(start, line)
        elif character == "\n":
            line += 1
        if depth == 0 and character in ";}":
            first = line
    return ends
