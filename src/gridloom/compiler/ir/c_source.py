"""A C program as a user names it: its files, and for each what the command line would tell a compiler.

One record travels from the command line to every run of clang, so that the loops that are mapped, the code that is
compared and the program for the core are all made from the same text. C++ is taken where a function needs nothing
that C has not: no exceptions, no run-time types, no library.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gridloom.errors import OptionError, SourceError
from gridloom.text_file import is_dir, read_text, shown

C_ENDINGS: Final = (".c",)
CPP_ENDINGS: Final = (".cpp", ".cc", ".cxx")
COMMANDS_FILE: Final = "compile_commands.json"
#: Errors of today's C that were no errors in published code; clang says them as warnings.
OLD_C: Final = (
    "implicit-int", "implicit-function-declaration", "int-conversion", "incompatible-pointer-types",
    "incompatible-function-pointer-types", "return-mismatch", "return-type",
)  # fmt: skip
#: Warnings that are passed on: what an old text leaves out, and what clang adds.
SAID: Final = ("implicit-int", "implicit-function-declaration", "int-conversion", "incompatible-pointer-types")

_DEFINE: Final = re.compile(r"[A-Za-z_]\w*(?:=.*)?", re.S)
_STANDARD: Final = re.compile(r"(?:c|gnu)(?:\+\+)?[0-9][0-9a-z]")
_MOST_UNITS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What ``-D``, ``-I`` and ``-std`` say about a file. OptionError for a value that no compiler takes."""

    #: Macros: ``NAME`` or ``NAME=VALUE``.
    defines: tuple[str, ...] = ()
    #: Folders of headers; a source may include what is below them.
    folders: tuple[Path, ...] = ()
    #: The language, ``c99`` or ``gnu++17``; "" for gnu11 and gnu++17.
    standard: str = ""

    def __post_init__(self) -> None:
        for text in self.defines:
            if not _DEFINE.fullmatch(text):
                raise OptionError(f"expected NAME or NAME=VALUE, found {shown(text)}", where="-D")
        for folder in self.folders:
            if not is_dir(folder):
                raise OptionError(f"there is no folder {folder}", where="-I")
        if self.standard and not _STANDARD.fullmatch(self.standard):
            raise OptionError(f"expected a standard such as c99 or gnu89, found {shown(self.standard)}", where="-std")

    @property
    def preprocessing(self) -> list[str]:
        """The words that say it to a compiler, but for the language."""
        return [*(f"-D{text}" for text in self.defines), *(f"-I{folder.resolve()}" for folder in self.folders)]

    @property
    def text(self) -> str:
        """The same as a command line has it."""
        words = [f"-D{text}" for text in self.defines] + [f"-I{folder}" for folder in self.folders]
        return shlex.join([*words, *([f"-std={self.standard}"] if self.standard else [])])


#: A file that is compiled as it is.
PLAIN: Final = SourceOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class CUnit:
    """A file that is compiled by itself."""

    path: Path
    options: SourceOptions = PLAIN

    @property
    def is_cpp(self) -> bool:
        """True for C++."""
        return self.path.suffix in CPP_ENDINGS

    @property
    def language(self) -> list[str]:
        """The words that say what the text means: its standard, and what old C may leave out."""
        standard = self.options.standard
        if standard and ("++" in standard) != self.is_cpp:
            standard = ""
        words = [f"-std={standard or ('gnu++17' if self.is_cpp else 'gnu11')}", "-fno-trigraphs"]
        words += ["-fno-exceptions", "-fno-rtti"] if self.is_cpp else [f"-Wno-error={name}" for name in OLD_C]
        return words

    @property
    def words(self) -> list[str]:
        """All words that a compiler needs besides the file."""
        return [*self.language, *self.options.preprocessing]


@dataclass(frozen=True, slots=True, kw_only=True)
class CSource:
    """A program of one or several files. Messages that are about the whole name the first."""

    units: tuple[CUnit, ...]
    #: The file that lists the others; None where the command line did.
    listed_in: Path | None = field(default=None)

    @property
    def path(self) -> Path:
        """The first file, or the one that lists all."""
        return self.listed_in or self.units[0].path

    @property
    def is_plain(self) -> bool:
        """True for one C file that is compiled without options."""
        return len(self.units) == 1 and self.units[0] == CUnit(path=self.units[0].path) and not self.units[0].is_cpp

    @property
    def linked(self) -> bool:
        """True where what clang gives is not yet the module of the program: several files, or names of C++."""
        return len(self.units) > 1 or self.units[0].is_cpp


def source_of(source: Path | CSource) -> CSource:
    """The record of a file without options; a record stands for itself."""
    return source if isinstance(source, CSource) else CSource(units=(CUnit(path=source),))


def is_c(path: Path) -> bool:
    """True for a name of a C or C++ file."""
    return path.suffix in (*C_ENDINGS, *CPP_ENDINGS)


def gather_source(files: Sequence[Path], options: SourceOptions) -> CSource:
    """The program of some files, of which one may be a ``compile_commands.json``. OptionError for another kind."""
    if len(files) == 1 and files[0].suffix == ".json":
        return read_commands(files[0], options)
    for path in files:
        if not is_c(path):
            raise OptionError(f"expected files that end in .c, .cpp, .cc or .cxx, found {shown(str(path))}")
    return CSource(units=tuple(CUnit(path=path, options=options) for path in files))


def read_commands(path: Path, options: SourceOptions = PLAIN) -> CSource:
    """The program of a ``compile_commands.json``, as build tools write it.

    Of each command ``-D``, ``-I``, ``-isystem``, ``-iquote`` and ``-std`` count, after those of ``options``; nothing
    is executed. Files and folders have to be below the folder of the file, since whoever wrote it chose them.
    """
    where = str(path)
    try:
        rows = json.loads(read_text(path))
    except ValueError as error:
        raise SourceError(f"is no JSON: {error}", where=where) from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and "file" in row for row in rows):
        raise SourceError(f"is no list of compile commands, as {COMMANDS_FILE} has it", where=where)
    if len(rows) > _MOST_UNITS:
        raise SourceError(f"lists {len(rows)} files; at most {_MOST_UNITS} are taken", where=where)
    root = path.resolve().parent
    units = [_unit(row, root, options, where) for row in rows]
    found = {unit.path: unit for unit in units if is_c(unit.path)}
    if not found:
        raise SourceError("lists no C file", where=where)
    return CSource(units=tuple(found.values()), listed_in=path)


def _unit(row: dict[str, Any], root: Path, options: SourceOptions, where: str) -> CUnit:
    """The file of a command and its options."""
    folder = root / str(row.get("directory", "."))
    words = row.get("arguments")
    try:
        words = list(map(str, words)) if isinstance(words, list) else shlex.split(str(row.get("command", "")))
    except ValueError as error:
        raise SourceError(f"the command of {row['file']} cannot be read: {error}", where=where) from None
    defines, folders, standard = list(options.defines), list(options.folders), options.standard
    for k, word in enumerate(words):
        for flag in ("-D", "-isystem", "-iquote", "-I", "-std="):
            if not word.startswith(flag):
                continue
            value = word.removeprefix(flag) or (words[k + 1] if k + 1 < len(words) else "")
            if flag == "-D":
                defines.append(value)
            elif flag == "-std=":
                standard = options.standard or value
            elif is_dir(folder / value):
                folders.append(_inside(folder / value, root, where))
            break
    made = SourceOptions(defines=tuple(defines), folders=tuple(dict.fromkeys(folders)), standard=standard)
    return CUnit(path=_inside(folder / str(row["file"]), root, where), options=made)


def _inside(path: Path, root: Path, where: str) -> Path:
    """A path below a folder; SourceError for any other."""
    if not path.resolve().is_relative_to(root):
        raise SourceError(f"names {shown(str(path))}, which is outside its folder; name it with -I", where=where)
    return path.resolve()
