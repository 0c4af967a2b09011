"""A C file as a module of LLVM IR that may run on this machine, checked as the very text that is compiled.

The file is preprocessed for the front end's target, so that what runs is what was read: no other branch of an
``#ifdef``, no other header. clang compiles that text for 32-bit x86, where ``long`` and pointers have 32 bits, too. The
module must consist of functions and data alone: assembly, constructors, aliases, sections and thread-local variables
are refused wherever they stand. What the entry does not reach is removed, and what is then still declared without a
body must be a function that is known.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from gridloom.compiler.ir.c_source import CSource, CUnit, source_of
from gridloom.compiler.ir.driver import (
    MAX_IR_BYTES,
    MAX_MEMORY,
    SEMANTICS,
    TIME_LIMIT,
    CompilerLimits,
    find_compiler,
    preprocess,
    run_compiler,
)
from gridloom.compiler.ir.linking import link_texts, parse_module, remove_unreachable
from gridloom.compiler.ir.tokens import split_tokens
from gridloom.errors import SourceError
from gridloom.text_file import shown

#: The name of the entry in the module.
ENTRY: Final = "gridloom_entry"
TARGET: Final = ("--target=i386-linux-musl", "-malign-double")

# Unoptimised, so that every variable of the file is still there, and without clang's mark against optimising later.
_FLAGS: Final = ("-O1", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "-w",
                 "-fno-stack-protector", "-fno-builtin", "-fno-asynchronous-unwind-tables")  # fmt: skip
# A directive that macros put together would be followed in the second reading.
_DIRECTIVE: Final = re.compile(
    rb"^[ \t\v\f]*+(?:#|%:|\?\?=)(?![ \t]*+\d)[ \t\v\f]*+(\w*+)[ \t\v\f]*+(\w*+)[^\n]*+", re.M
)
#: Pragmas that look at files; what others do shows in the module.
_PRAGMAS: Final = frozenset({b"dependency", b"include_alias", b"import", b"module", b"include"})
#: Lists of what the compiler has to keep; they have a section, which no program has.
_KEPT: Final = ("@llvm.used", "@llvm.compiler.used")
#: Words that a printed module may not have: where the line begins so, what it may not have, and what that is called.
_REFUSED: Final[tuple[tuple[tuple[str, ...], frozenset[str], str], ...]] = (
    (("module",), frozenset({"asm"}), "assembly"),
    ((), frozenset({"asm", "callbr"}), "assembly"),
    (("@llvm.global_ctors", "@llvm.global_dtors"), frozenset(), "a constructor or destructor"),
    (("@",), frozenset({"ifunc"}), "an ifunc"),
    (("@",), frozenset({"alias"}), "an alias"),
    (("@", "define", "declare"), frozenset({"section", "partition"}), "a section of its own"),
    (("define",), frozenset({"personality", "prefix", "prologue"}), "code before a function"),
    (("@",), frozenset({"thread_local"}), "a thread-local variable"),
    (("attributes",), frozenset({"naked"}), "a naked function"),
    (("!llvm.linker.options", "!llvm.dependent-libraries"), frozenset(), "words for the linker"),
)
#: Intrinsics that clang writes at once and the host never sees.
_INTRINSICS: Final = (
    "llvm.va_", "llvm.stacksave", "llvm.stackrestore", "llvm.trap", "llvm.ubsantrap", "llvm.expect", "llvm.objectsize",
    "llvm.fmuladd", "llvm.is.fpclass", "llvm.is.constant", "llvm.load.relative", "llvm.memcpy.inline",
)  # fmt: skip


def native_module(
    source: Path | CSource, entry: str, variables: Sequence[str], known: Callable[[str], bool],
    time_limit: float = TIME_LIMIT,
) -> str:  # fmt: skip
    """The IR of a function of a C program and of what it reaches, ready to be compiled for 32-bit x86.

    The function is called ``gridloom_entry`` there and the variables ``gridloom_variable_0`` and on; everything else
    is local. ``known`` tells which functions without a body may be called. SourceError says what is refused. Runs
    clang twice for each file.
    """
    program = source_of(source)
    printed = [_native_unit(unit, time_limit) for unit in program.units]
    if program.linked:
        printed = [link_texts(printed, str(program.path))]
    return _reduced(printed[0], program.path, entry, variables, known)


def _native_unit(unit: CUnit, time_limit: float) -> str:
    """The IR of one file for 32-bit x86, with functions and data alone."""
    path = unit.path
    with tempfile.TemporaryDirectory(prefix="gridloom-c-") as folder:
        text = Path(folder) / "unit.i"
        preprocess(unit, Path(folder), time_limit).rename(text)
        _check_unit(text.read_bytes(), path)
        output = Path(folder) / "unit.ll"
        kind = "c++-cpp-output" if unit.is_cpp else "cpp-output"
        words = [*find_compiler().clang, *TARGET, *SEMANTICS, *unit.language, *_FLAGS, "-x", kind, "-o", str(output)]
        words += ["-fcommon", str(text)]
        message = run_compiler(words, Path(folder), path, time_limit, limits=CompilerLimits(MAX_MEMORY, MAX_IR_BYTES))
        if not output.is_file():
            raise SourceError(f"cannot be compiled for this machine: {message.strip()[:300]}", where=str(path))
        printed = output.read_text(encoding="utf-8", errors="replace")
    # What LLVM itself prints is judged, and it is what is linked and compiled.
    printed = str(parse_module(printed, str(path)))
    check_module(printed, path)
    return printed


def _check_unit(text: bytes, path: Path) -> None:
    """Raise SourceError for a directive in preprocessed text, and for a pragma that is not known to be harmless."""
    for match in _DIRECTIVE.finditer(text):
        if match[1] == b"ident" or (match[1] == b"pragma" and _PRAGMAS.isdisjoint(match[0].split())):
            continue
        words = shown(match[0].decode("utf-8", errors="replace").strip())
        raise SourceError(f"{words} is not taken in code that runs on this machine", where=str(path))


def check_module(printed: str, path: Path) -> None:
    """Raise SourceError where a printed module has anything but functions and data."""
    if any(f'{sign}"\\01' in printed for sign in "@%"):
        raise SourceError("has a name that is not its own (asm label); it is not run on this machine", where=str(path))
    for line in printed.split("\n"):
        what = _refused(split_tokens(line))
        if what:
            raise SourceError(f"has {what}; it is not run on this machine", where=str(path))


def _refused(tokens: list[str]) -> str:
    """What a line has that a module may not have; "" for nothing."""
    if not tokens or tokens[0] in _KEPT:
        return ""
    words = frozenset(tokens)
    for starts, named, what in _REFUSED:
        begins = not starts or tokens[0] in starts or (tokens[0][0] == "@" and "@" in starts)
        if begins and (not named or not words.isdisjoint(named)):
            return what
    spaces = [number for word, _, number in zip(tokens, tokens[1:], tokens[2:]) if word == "addrspace"]
    return "a pointer to another address space" if any(number != "0" for number in spaces) else ""


def _reduced(
    printed: str, path: Path, entry: str, variables: Sequence[str], known: Callable[[str], bool]
) -> str:  # fmt: skip
    """The module with the entry and what it reaches, checked once more."""
    module = parse_module(printed, str(path))
    kept = {name: f"gridloom_variable_{k}" for k, name in enumerate(variables)}
    for value in [*module.functions, *module.global_variables]:
        if value.name.startswith("gridloom_"):
            value.name = f"user_{value.name}"
    for value in [*module.functions, *module.global_variables]:
        if value.is_declaration or value.name.startswith("llvm."):
            continue
        target = ENTRY if value.is_function and value.name == entry else kept.get(value.name, "")
        value.linkage = "external" if target else "internal"
        if target:
            value.name = target
    remove_unreachable(module)
    _check_calls(module, path, entry, known)
    text = str(module)
    check_module(text, path)
    return text


def _check_calls(module: Any, path: Path, entry: str, known: Callable[[str], bool]) -> None:
    """Raise SourceError where the entry is missing, or where something is called that is not known."""
    names = {function.name for function in module.functions if not function.is_declaration}
    if ENTRY not in names:
        raise SourceError(f"has no function {entry!r} for this machine", where=str(path))
    for value in [*module.functions, *module.global_variables]:
        if value.is_declaration and not (known(value.name) or value.name.startswith(_INTRINSICS)):
            what = "calls" if value.is_function else "uses"
            raise SourceError(
                f"{what} {shown(value.name)}, which is none of the library functions that run on this machine",
                where=str(path),
            )
