"""The text of an MLIR file before the parser sees it: functions, names of parameters, attributes of other tools.

MLIR's parser drops the names of values and stops at the first construct that it does not know. Both matter here: a
parameter is named by the user, and a file of another tool (Polygeist writes whole programs) may hold functions that
no parser without that tool takes. So the text is cut into functions first. Nothing changes the number of a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NAME: Final = r"@(?:\"[^\"]*\"|[\w.$-]+)"
_FUNCTION: Final = re.compile(rf"(?<![\w.%@\"])(?:func\.func|llvm\.func)\s+(?:\w+\s+)*({_NAME})\s*\(")
_MODULE: Final = re.compile(rf"(?<![\w.%@\"#!])module\b(?:\s+{_NAME})?\s*(attributes\s*)?{{")
_LLVM_GLOBAL: Final = re.compile(r"^[ \t]*llvm\.(?:mlir\.global|comdat|module_flags)\b", re.M)
_SYMBOL: Final = re.compile(_NAME)
_PARAMETER: Final = re.compile(r"\s*%([\w.$-]+)\s*:")

#: Functions and ops as MLIR wrote them before 2022, when the dialect ``std`` was split up.
_OLD_FUNCTION: Final = re.compile(rf"^(\s*)func(\s+(?:private\s+|public\s+|nested\s+)?{_NAME}\s*\()", re.M)
_OLD_OPS: Final = {
    **{name: f"arith.{name}" for name in (
        "constant", "addf", "subf", "mulf", "divf", "remf", "negf", "addi", "subi", "muli", "cmpi", "cmpf", "select",
        "sitofp", "uitofp", "fptosi", "fptoui", "trunci", "index_cast", "bitcast",
    )},
    "divi_signed": "arith.divsi", "divi_unsigned": "arith.divui", "remi_signed": "arith.remsi",
    "remi_unsigned": "arith.remui", "and": "arith.andi", "or": "arith.ori", "xor": "arith.xori",
    "shift_left": "arith.shli", "shift_right_signed": "arith.shrsi", "shift_right_unsigned": "arith.shrui",
    "fpext": "arith.extf", "fptrunc": "arith.truncf", "sexti": "arith.extsi", "zexti": "arith.extui",
    "absf": "math.absf", "sqrt": "math.sqrt",
    "load": "memref.load", "store": "memref.store", "alloc": "memref.alloc", "alloca": "memref.alloca",
    "dealloc": "memref.dealloc", "global_memref": "memref.global", "get_global_memref": "memref.get_global",
    "call": "func.call", "br": "cf.br", "cond_br": "cf.cond_br",
}  # fmt: skip
_OLD_OP: Final = re.compile(rf"(^\s*|=\s*)({'|'.join(sorted(_OLD_OPS, key=len, reverse=True))})(?=\s+[%@\"\w^-])", re.M)
_OLD_PREDICATE: Final = re.compile(r"\b(arith\.cmp[if]) \"(\w+)\"")

_OPENING: Final = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class MlirFunctionText:
    """A function of a file: where its text begins and ends, its line, and its parameters by name."""

    name: str
    start: int
    end: int
    line: int
    parameters: tuple[str, ...]
    has_body: bool

    def calls(self, text: str) -> set[str]:
        """The symbols that the function mentions, itself left out."""
        return {_plain(found) for found in _SYMBOL.findall(text[self.start : self.end])} - {self.name}


def modernise_text(text: str) -> str:
    """The text without modules and strings of a host, and with today's names for the ops of the old dialect ``std``.

    Functions of several modules become those of one. Attributes of a module say how a host lays out memory (``dlti``)
    and what another tool wants to remember; their syntax has changed over the years, and nothing here needs them.
    """
    shadow = _shadow(text)
    text = _without(text, [*_module_frames(shadow), *_host_globals(shadow)])
    if not _OLD_FUNCTION.search(shadow):
        return text
    text = _OLD_FUNCTION.sub(r"\1func.func\2", text)
    text = _OLD_OP.sub(lambda match: match[1] + _OLD_OPS[match[2]], text)
    return _OLD_PREDICATE.sub(r"\1 \2", text)


def _module_frames(shadow: str) -> list[tuple[int, int]]:
    """Where the heads and the ends of modules stand, with what locations follow an end."""
    frames = []
    for match in _MODULE.finditer(shadow):
        opening = match.end() - 1
        if match[1]:
            rest = re.compile(r"\s*\{").match(shadow, _closing(shadow, opening))
            if rest is None:
                continue
            opening = rest.end() - 1
        close = _closing(shadow, opening)
        after = re.compile(r"[ \t]*loc\([^\n]*\)").match(shadow, close)
        frames += [(match.start(), opening + 1), (close - 1, after.end() if after else close)]
    return frames


def _host_globals(shadow: str) -> list[tuple[int, int]]:
    """Where strings and variables of the LLVM dialect stand; some have a body."""
    found = []
    for match in _LLVM_GLOBAL.finditer(shadow):
        end = match.end()
        while end < len(shadow) and shadow[end] != "\n":
            end = _closing(shadow, end) if shadow[end] in _OPENING else end + 1
        found.append((match.start(), end))
    return found


def functions_of(text: str) -> list[MlirFunctionText]:
    """The functions of a text in their order, those without a body included. Linear in its length."""
    shadow = _shadow(text)
    found: list[MlirFunctionText] = []
    position = 0
    while match := _FUNCTION.search(shadow, position):
        name = _plain(text[match.start(1) : match.end(1)])
        close = _closing(shadow, match.end() - 1)
        position = _end_of_function(shadow, close)
        parameters = _parameters(text[match.end() : close - 1], shadow[match.end() : close - 1])
        line = text.count("\n", 0, match.start()) + 1
        has_body = shadow[close:position].rstrip().endswith("}")
        found.append(MlirFunctionText(name, match.start(), position, line, parameters, has_body))
    return found


def without(text: str, functions: list[MlirFunctionText]) -> str:
    """The text with some functions blanked out."""
    return _without(text, [(function.start, function.end) for function in functions])


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with some spans blanked out; linear in its length."""
    pieces, at = [], 0
    for start, end in sorted(spans):
        pieces += [text[at:start], _blank(text[max(at, start) : end])]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def unreachable(text: str, functions: list[MlirFunctionText], root: str) -> list[MlirFunctionText]:
    """The functions that ``root`` neither is nor calls, directly or through others."""
    by_name = {function.name: function for function in functions}
    needed, work = set(), [root]
    while work:
        name = work.pop()
        if name in by_name and name not in needed:
            needed.add(name)
            work += by_name[name].calls(text)
    return [function for function in functions if function.name not in needed]


def value_name(lines: list[str], line: int, column: int) -> str:
    """The name of the value that an op or a block argument at a place gives; "" where it has none.

    A location points at the name of a block argument, and at the name of an op, which the names of its results and
    an equals sign precede. Numbers that a tool gave are no names.
    """
    if not (0 < line <= len(lines) and 0 < column <= len(lines[line - 1])):
        return ""
    before, after = lines[line - 1][: column - 1], lines[line - 1][column - 1 :]
    match = re.match(r"%([\w.$-]+)", after) or re.search(r"%([\w.$-]+)\s*=\s*$", before)
    return match[1] if match and not match[1][0].isdigit() else ""


def _parameters(text: str, shadow: str) -> tuple[str, ...]:
    """The names between the brackets of a function; none for a declaration, which has types only."""
    names, start, depth = [], 0, 0
    for k, character in enumerate(shadow + ","):
        depth += (character in "([{<") - (character in ")]}" or (character == ">" and shadow[k - 1 : k] != "-"))
        if character == "," and not depth:
            if match := _PARAMETER.match(text[start:k]):
                # A number alone is no name: a text would take it for a number.
                names.append(f"arg{match[1]}" if match[1].isdigit() else match[1])
            start = k + 1
    return tuple(names)


def _end_of_function(shadow: str, position: int) -> int:
    """Where a function ends whose parameters end at a position: after its body, or with its line."""
    while position < len(shadow):
        character = shadow[position]
        if character == "{":
            end = _closing(shadow, position)
            if not re.search(r"\battributes\s*$", shadow[max(0, position - 20) : position]):
                return end
            position = end
        elif character in "([":
            position = _closing(shadow, position)
        elif character == "\n" and not re.match(r"\s*(?:->|attributes\b|\{)", shadow[position:]):
            return position
        else:
            position += 1
    return position


def _closing(shadow: str, position: int) -> int:
    """The position after the bracket that closes the one at ``position``; the end of the text where none does."""
    stack: list[str] = []
    for k in range(position, len(shadow)):
        character = shadow[k]
        if character in _OPENING:
            stack.append(_OPENING[character])
        elif stack and character == stack[-1]:
            stack.pop()
            if not stack:
                return k + 1
    return len(shadow)


def _shadow(text: str) -> str:
    """The text with comments and strings blanked out, except the quoted names of symbols; of the same length."""
    return re.sub(r"//[^\n]*|(?<!@)\"(?:\\.|[^\"\\\n])*\"", lambda match: _blank(match[0]), text)


def _blank(text: str) -> str:
    """Spaces in the place of a text; line ends stay."""
    return re.sub(r"[^\n]", " ", text)


def _plain(symbol: str) -> str:
    """The name of a symbol without its sign and quotes."""
    return symbol.removeprefix("@").strip('"')
