"""Which files a C source may read: those below its own folder and the folders that the user named, and the compiler's.

Two looks are taken. :func:`check_directives` reads the directives of the source before clang does, since clang would
wait for a named pipe; :func:`check_includes` judges the list of files that clang says it looked at, whatever macros and
conditions led to them, before any of its messages is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from gridloom.errors import SourceError
from gridloom.text_file import check_regular, read_bytes, shown

# An unterminated comment ends with the text, so that many of them cost one look.
_COMMENT: Final = re.compile(r'"(?:\\.|[^"\\\n])*+"|\'(?:\\.|[^\'\\\n])*+\'|/\*(?:.*?\*/|.*\Z)|//[^\n]*+', re.DOTALL)
_SPLICE: Final = re.compile(r"\\[ \t]*+\r?\n")
_DIRECTIVE: Final = re.compile(r"^[ \t\v\f]*+(?:#|%:)[ \t\v\f]*+([a-z_]*+)([^\n]*+)", re.MULTILINE)
_NAME: Final = re.compile(r'"([^"\n]++)"|<(/[^<>\n]++)>')
_INCLUDING: Final = ("include", "include_next", "import")
_DEFINED: Final = re.compile(r"[ \t\v\f]++(\w++)([^\n]*+)")
_WHOLE_NAME: Final = re.compile(r'"[^"\n]++"|<[^<>\n]++>')
_ASKED: Final = re.compile(r"\b__has_(?:include|include_next|embed)\b[ \t]*+(\([ \t]*+(?:\"[^\"\n]*+\"|<[^<>\n]*+>))?+")
_INCLUDED: Final = re.compile(r"^\.+ (.+)$", re.MULTILINE)
_DEPENDENCY: Final = re.compile(r"\b_?[Pp]ragma\b[^\n]*\bdependency\b")
_OUTSIDE: Final = "includes {}, which is outside the folder of the source; name its folder with -I, or copy the file"
#: What clang's list of files separates names by: spaces that no backslash precedes, and ends of lines.
_BETWEEN: Final = re.compile(r"\\\n|(?<!\\)[ \n]")


def check_directives(source: Path, limit: int, folders: Sequence[Path] = ()) -> None:
    """Raise SourceError where a directive names a pipe, a device or a socket, or is an ``#embed``.

    Follows the files below the source's folder, and below ``folders`` of headers, that are named, each once; ``limit``
    is the most bytes of one. Every
    quoted name of a directive counts, also in macros and in parts that a condition leaves out. A name that macros put
    together is refused, since nobody can tell what it leads to before clang opens it.
    """
    waiting, seen = [source], {source}
    allowed = [source.parent, *(folder.resolve() for folder in folders)]
    macros: dict[str, list[str]] = {}
    computed: list[tuple[Path, str]] = []
    for file in waiting:
        text = _SPLICE.sub("", read_bytes(file, limit=limit).decode("latin-1"))
        text = _COMMENT.sub(lambda match: match[0] if match[0][0] in "\"'" else " ", text)
        if _DEPENDENCY.search(text):
            raise SourceError("a pragma that asks for a dependency is not taken; leave it out", where=str(file))
        for directive in _DIRECTIVE.finditer(text):
            if directive[1] == "embed":
                raise SourceError("#embed is not taken; write the values out", where=str(file))
            if directive[1] == "define" and (defined := _DEFINED.match(directive[2])):
                macros.setdefault(defined[1], []).append(defined[2].strip())
            _check_questions(file, directive[2], allowed)
            if directive[1] in _INCLUDING and not directive[2].lstrip().startswith(('"', "<")):
                computed.append((file, directive[2].strip()))
            for target in _named(file, directive[2], allowed[1:]):
                if target not in seen and any(target.is_relative_to(folder) for folder in allowed):
                    waiting.append(target)
                seen.add(target)
    for file, words in computed:
        if not all(_WHOLE_NAME.fullmatch(body) for body in macros.get(words, [""])):
            raise SourceError(
                f"#include {shown(words)}: macros put the name together; write it out, or define a macro as one quoted "
                "name",
                where=str(file),
            )


def _named(file: Path, words: str, folders: Sequence[Path]) -> list[Path]:
    """The regular files that a directive names, found from a file's folder on; SourceError for a special file."""
    targets = []
    names = [file.parent / (match[1] or match[2]) for match in _NAME.finditer(words)]
    names += [folder / match[0][1:-1] for folder in folders for match in _WHOLE_NAME.finditer(words)]
    for target in names:
        try:
            if target.is_dir():
                continue
            check_regular(target)
            targets.append(target.resolve())
        except SourceError as error:
            raise SourceError(f"names {error.where}, which {error.message}", where=str(file)) from None
        except (OSError, ValueError):
            # The name is that of another header, or no name of a file at all: clang says so if it matters.
            continue
    return targets


def _check_questions(file: Path, words: str, allowed: Sequence[Path]) -> None:
    """Raise SourceError where a directive asks whether a file outside of the folders that may be read is there."""
    for match in _ASKED.finditer(words):
        name = (match[1] or "").lstrip("( \t")[1:-1]
        if not name:
            raise SourceError("__has_include takes a name in quotes or angles here; write it out", where=str(file))
        target = (file.parent / name).resolve()
        if name.startswith("/") or ".." in Path(name).parts or not any(map(target.is_relative_to, allowed)):
            raise SourceError(
                f"asks for {shown(name)}, which is outside the folder of the source; copy the file there",
                where=str(file),
            )


def parse_includes(message: str) -> list[str]:
    """The files that clang says it included (``-H``), also where it ends with an error."""
    return _INCLUDED.findall(message)


def looked_at(listed: str) -> list[str]:
    """The files of clang's list of dependencies (``-MD``): what was included, and what ``__has_include`` found."""
    names = [name.replace("\\ ", " ").replace("\\#", "#").replace("$$", "$") for name in _BETWEEN.split(listed)]
    return [name for name in names[1:] if name]


def check_includes(names: Iterable[str], path: Path, folders: Iterable[Path]) -> None:
    """Raise SourceError where clang looked at a file outside the folders that it may read.

    These are the folder of the source with those below it, and ``folders``: the user's and the compiler's own.
    """
    allowed = [path.resolve().parent, *(folder.resolve() for folder in folders)]
    for name in dict.fromkeys(names):
        if not any(Path(name).resolve().is_relative_to(folder) for folder in allowed):
            raise SourceError(_OUTSIDE.format(name), where=str(path))
