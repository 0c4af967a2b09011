"""The C compiler: finds clang, runs it in a temporary folder within limits, and returns LLVM IR as text.

clang comes with the PyPI package ``ziglang`` (the extra ``c``); the environment's ``GRIDLOOM_CLANG``
names another one. The target is a fixed 32-bit one, so that an index is as wide as a word of the array and the graph
does not depend on the machine: ``long`` and pointers have 32 bits. Nothing of the source is executed here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from errno import ENOENT
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gridloom.compiler.confinement import stop
from gridloom.compiler.ir.c_source import SAID, CSource, CUnit, source_of
from gridloom.compiler.ir.includes import check_directives, check_includes, looked_at, parse_includes
from gridloom.compiler.ir.linking import link_texts
from gridloom.errors import MissingExtra, SourceError, install_hint
from gridloom.text_file import read_text

#: Seconds that one compilation may take.
TIME_LIMIT: Final = 60.0

#: More than this is no loop kernel; clang would take it, the reader would be slow.
MAX_SOURCE_BYTES: Final = 4 * 1024 * 1024

#: More than this after macros and includes is a mistake or an attack.
MAX_PREPROCESSED_BYTES: Final = 8 * 1024 * 1024

MAX_IR_BYTES: Final = 64 * 1024 * 1024

#: Bytes of address space that clang may have.
MAX_MEMORY: Final = 2 * 1024 * 1024 * 1024

_OUTPUT: Final = "output.txt"
_MAX_MESSAGE: Final = 1024 * 1024
_OUT_OF_MEMORY: Final = re.compile(r"out of memory|OutOfMemory|bad_alloc|Cannot allocate memory")

TARGET: Final = "riscv32-linux-musl"

#: What C means here, whatever its standard: wrap-around integers, a signed char, products and sums that round each.
SEMANTICS: Final = (
    "-fsigned-char", "-ffp-contract=off", "-fno-math-errno", "-fno-sanitize=all", "-fno-strict-overflow",
)  # fmt: skip

# Optimised, but neither vectorised nor unrolled, which would hide the loop; calls of memset or memcpy would replace it.
_FLAGS: Final = (
    "-O2", "-S", "-emit-llvm", "-g", "-fno-discard-value-names", "-fno-vectorize", "-fno-slp-vectorize",
    "-fno-unroll-loops", "-fno-builtin-memset", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-strlen",
    "-fno-builtin-wcslen", "-fno-stack-protector",
    "-Wno-unknown-pragmas", "-Wno-unused-command-line-argument",
)  # fmt: skip

_KEEPS_LOOPS: Final = "-fno-unroll-loops"

# For IR, which has its language's meaning and its lines already.
_IR_FLAGS: Final = (
    *(flag for flag in _FLAGS if flag != "-gline-tables-only"),
    "-fno-sanitize=all", "-ffp-contract=off", "-Wno-override-module",
)  # fmt: skip

_DIAGNOSTIC: Final = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<text>.*)$", re.M)
_WARNING: Final = re.compile(r"^(?P<file>.+?):(?P<line>\d+):\d+: warning: (?P<text>.*) \[-W(?P<name>[\w-]+)\]$", re.M)
#: Warnings of a file that are passed on; the rest are counted.
_MOST_WARNINGS: Final = 5


@dataclass(frozen=True, slots=True)
class CompilerLimits:
    """What a run of the compiler may take: bytes of memory, and bytes of each file that it writes."""

    memory: int
    written: int

    def around(self, words: list[str]) -> list[str]:
        """The command under these limits; the command itself on systems without a POSIX shell to set them."""
        if os.name != "posix":
            return words
        # The shell sets the limits of the process that it then becomes; a size of memory that the system does not
        # know leaves the limit of time.
        script = 'ulimit -v "$0" 2>/dev/null; ulimit -f "$1" 2>/dev/null; shift; exec "$@"'
        return ["/bin/sh", "-c", script, str(self.memory // 1024), str(self.written // 512), *words]


@dataclass(frozen=True, slots=True)
class Compiler:
    """A clang to call: the words that start its command line, and whether it is zig's."""

    command: tuple[str, ...]
    is_zig: bool

    @property
    def clang(self) -> tuple[str, ...]:
        """The words that start clang itself, without zig's headers and libraries."""
        return (self.command[0], "clang") if self.is_zig else self.command

    @property
    def target(self) -> tuple[str, ...]:
        """The options that fix the 32-bit target; zig's carries C headers, another clang's comes without any."""
        if self.is_zig:
            return ("-target", TARGET)
        return ("--target=riscv32-unknown-elf", "-march=rv32imfc", "-mabi=ilp32f", "-ffreestanding")


@cache
def _zig() -> Path | None:
    """The zig of the package ``ziglang``; None where it is not installed."""
    spec = find_spec("ziglang")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in ("zig", "zig.exe"):
            if (Path(folder) / name).is_file():
                return Path(folder) / name
    return None


def find_compiler() -> Compiler:
    """The clang that ``GRIDLOOM_CLANG`` names, else ziglang's; MissingExtra when there is neither."""
    named = os.environ.get("GRIDLOOM_CLANG")
    if named:
        return Compiler((named,), False)
    zig = _zig()
    if zig is None:
        raise MissingExtra(
            f"C sources need clang: {install_hint('c')}, or let the environment's GRIDLOOM_CLANG name a clang"
        )
    return Compiler((str(zig), "cc"), True)


@dataclass(frozen=True, slots=True)
class CompiledText:
    """The IR of a program, and what clang had to say about it."""

    ir: str
    warnings: tuple[str, ...] = ()


def compile_to_ir(source: Path | CSource, *, time_limit: float | None = None, unrolled: bool = False) -> str:
    """The optimised LLVM IR of a C program: :func:`compile_program` without its warnings."""
    return compile_program(source, time_limit=time_limit, unrolled=unrolled).ir


def compile_program(
    source: Path | CSource, *, time_limit: float | None = None, unrolled: bool = False
) -> CompiledText:  # fmt: skip
    """The optimised LLVM IR of a C program. SourceError with clang's message, file and line where it does not compile.

    With ``unrolled``, clang replaces short loops of a constant number of iterations by their copies. Several files are
    linked and optimised as one. Includes are looked for beside each file, in the folders of its options and among the
    compiler's own. The text is preprocessed first, so that what it includes and how long it gets is known before it is
    compiled. Costs 0.1 to 0.4 s for each file.
    """
    program = source_of(source)
    limit = TIME_LIMIT if time_limit is None else time_limit
    parts = [_compiled_unit(unit, program, limit, unrolled) for unit in program.units]
    warnings = tuple(text for part in parts for text in part.warnings)
    if not program.linked:
        return CompiledText(parts[0].ir, warnings)
    whole = link_texts([part.ir for part in parts], str(program.path))
    if len(parts) > 1:
        whole = optimise_ir(whole, program.path, time_limit=time_limit, unrolled=unrolled)
    return CompiledText(whole, warnings)


def _compiled_unit(unit: CUnit, program: CSource, limit: float, unrolled: bool) -> CompiledText:
    """The IR of one file."""
    compiler, path = find_compiler(), unit.path
    with tempfile.TemporaryDirectory(prefix="gridloom-c-") as folder:
        preprocess(unit, Path(folder), limit)
        output = Path(folder) / "loop.ll"
        # Tentative definitions of one variable in several files are one variable, as linkers had it.
        common = ["-fcommon"] if len(program.units) > 1 and not unit.is_cpp else []
        words = [*compiler.command, *compiler.target, *SEMANTICS, *_kept_loops(_FLAGS, unrolled), *unit.words, *common]
        words += ["-o", str(output), str(path.resolve())]
        message = run_compiler(words, Path(folder), path, limit, limits=CompilerLimits(MAX_MEMORY, MAX_IR_BYTES))
        if not output.is_file():
            raise SourceError(_complaint(message), where=_position(message, path))
        return CompiledText(output.read_text(encoding="utf-8", errors="replace"), _warnings(message, path))


def _kept_loops(flags: Sequence[str], unrolled: bool) -> list[str]:
    return [flag for flag in flags if not (unrolled and flag == _KEEPS_LOOPS)]


def optimise_ir(text: str, path: Path, *, time_limit: float | None = None, unrolled: bool = False) -> str:
    """LLVM IR of another front end, optimised as :func:`compile_to_ir` does it for C.

    ``path`` is the file that messages name. Costs 0.1 to 0.3 s.
    """
    compiler = find_compiler()
    limit = TIME_LIMIT if time_limit is None else time_limit
    with tempfile.TemporaryDirectory(prefix="gridloom-c-") as folder:
        source, output = Path(folder) / "module.ll", Path(folder) / "loop.ll"
        source.write_text(text, encoding="utf-8")
        words = [*compiler.command, *compiler.target, *_kept_loops(_IR_FLAGS, unrolled), "-o", str(output), str(source)]
        message = run_compiler(words, Path(folder), path, limit, limits=CompilerLimits(MAX_MEMORY, MAX_IR_BYTES))
        if not output.is_file():
            raise SourceError(_complaint(message), where=str(path))
        return output.read_text(encoding="utf-8", errors="replace")


def preprocess(unit: CUnit, folder: Path, time_limit: float = TIME_LIMIT) -> Path:
    """Preprocess a file for the 32-bit target into a folder; returns the file with the text.

    SourceError for what it may not include or ask for, and for too long a text. Other errors are left to the
    compilation, which finds them again.
    """
    path, folders = unit.path, unit.options.folders
    read_text(path, limit=MAX_SOURCE_BYTES)
    source = path.resolve()
    check_directives(source, MAX_SOURCE_BYTES, folders)
    compiler, listed = find_compiler(), folder / "read.d"
    words = [*compiler.command, *compiler.target, *SEMANTICS, *unit.words, "-w", "-E", "-H", "-MD", "-MF", str(listed)]
    words += ["-MT", "unit", "-o", "-", str(source)]
    message = run_compiler(words, folder, path, time_limit, limits=CompilerLimits(MAX_MEMORY, MAX_PREPROCESSED_BYTES))
    names = parse_includes(message)
    if listed.is_file():
        names += looked_at(listed.read_text(encoding="utf-8", errors="replace"))
    check_includes(names, path, [*folders, *_own_folders(compiler)])
    output = folder / _OUTPUT
    if output.stat().st_size >= MAX_PREPROCESSED_BYTES:
        most = MAX_PREPROCESSED_BYTES // (1024 * 1024)
        raise SourceError(
            f"is longer than {most} MB after preprocessing; expand fewer macros, include fewer files", where=str(path)
        )
    return output


@cache
def _own_folders(compiler: Compiler) -> tuple[Path, ...]:
    """The folders of the headers that come with a compiler, as it prints them itself."""
    if compiler.is_zig:
        return (Path(compiler.command[0]).resolve().parent / "lib",)
    with tempfile.TemporaryDirectory(prefix="gridloom-c-") as folder:
        words = [*compiler.command, *compiler.target, "-E", "-v", "-x", "c", os.devnull, "-o", "-"]
        message = run_compiler(words, Path(folder), Path(compiler.command[0]), TIME_LIMIT)
    listed = message.partition("search starts here:")[2].partition("End of search list")[0]
    return tuple(Path(line.strip()) for line in listed.splitlines() if line.startswith(" "))


def run_compiler(
    words: list[str],
    folder: Path,
    path: Path,
    time_limit: float,
    cache_folder: Path | None = None,
    limits: CompilerLimits | None = None,
) -> str:
    """Run a command in a folder and return what it wrote to standard error.

    zig keeps the C libraries that it compiled for linking in ``cache_folder``; by default they go with the folder.
    The environment holds nothing of the user's but ``PATH``, so that a compilation gives the same result everywhere.
    SourceError when it does not end in time, needs more memory than ``limits`` gives it or cannot be started; that it
    failed for another reason shows in what it wrote.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C",
        "ZIG_LOCAL_CACHE_DIR": str(folder),
        "ZIG_GLOBAL_CACHE_DIR": str(cache_folder or folder),
    }
    if shutil.which(words[0]) is None:
        raise SourceError(f"clang ({words[0]}) cannot be started: {os.strerror(ENOENT)}", where=str(path))
    errors = folder / "errors.txt"
    with (folder / _OUTPUT).open("wb") as output, errors.open("wb") as error_file:
        try:
            process = subprocess.Popen(
                words if limits is None else limits.around(words),
                cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=error_file,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            reason = error.strerror or str(error)
            raise SourceError(f"clang ({words[0]}) cannot be started: {reason}", where=str(path)) from None
        try:
            status = process.wait(time_limit)
        except subprocess.TimeoutExpired:
            raise SourceError(f"clang did not end within {time_limit:g} s and was stopped", where=str(path)) from None
        finally:
            stop(process)
    text = errors.read_bytes()[:_MAX_MESSAGE].decode("utf-8", errors="replace")
    if status and limits is not None and _OUT_OF_MEMORY.search(text):
        most = limits.memory // (1024 * 1024)
        raise SourceError(f"clang needs more than {most} MB; make arrays and their initial values smaller",
                          where=str(path))  # fmt: skip
    return text if text.strip() or status == 0 else f"clang ended with status {status}"


def _warnings(message: str, path: Path) -> tuple[str, ...]:
    """What clang took for granted in an old text, with file and line."""
    found = []
    for match in _WARNING.finditer(message):
        if match["name"] in SAID:
            file = str(path) if Path(match["file"]).name == path.name else match["file"]
            found.append(f"{file}:{match['line']}: {match['text'].partition(';')[0]}")
    found = list(dict.fromkeys(found))
    more = len(found) - _MOST_WARNINGS
    return (*found[:_MOST_WARNINGS], *([f"{path}: {more} more of this kind"] if more > 0 else []))


def _position(message: str, path: Path) -> str:
    """File, line and column of clang's first message; the file alone where there is none."""
    diagnostic = _DIAGNOSTIC.search(message)
    if not diagnostic:
        return str(path)
    file = str(path) if Path(diagnostic["file"]).name == path.name else diagnostic["file"]
    return f"{file}:{diagnostic['line']}:{diagnostic['column']}"


def _complaint(message: str) -> str:
    """Clang's first error, and how many more there are."""
    diagnostic = _DIAGNOSTIC.search(message)
    if diagnostic:
        more = len(_DIAGNOSTIC.findall(message)) - 1
        return f"clang: {diagnostic['text']}" + (f" (and {more} more)" if more else "")
    lines = [line for line in message.splitlines() if line.strip() and "warning" not in line]
    return f"clang: {lines[0].strip() if lines else 'gave no output'}"
