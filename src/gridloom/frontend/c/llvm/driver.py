"""The C compiler: finds clang, runs it in a temporary folder with a time limit, and returns LLVM IR as text.

clang comes with the PyPI package ``ziglang`` (``pip install 'gridloom[c]'``); the environment's ``GRIDLOOM_CLANG``
names another one. The target is a fixed 32-bit one, so that an index is as wide as a word of the array and the graph
does not depend on the machine: ``long`` and pointers have 32 bits. Nothing of the source is executed.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gridloom.errors import MissingExtra, SourceError
from gridloom.text_file import read_text

#: Seconds that one compilation may take.
TIME_LIMIT: Final = 60.0

#: More than this is no loop kernel; clang would take it, the reader would be slow.
MAX_SOURCE_BYTES: Final = 4 * 1024 * 1024

TARGET: Final = "riscv32-linux-musl"

#: What C means here: wrap-around integers, a signed char, products and sums that round each.
SEMANTICS: Final = (
    "-std=gnu11", "-fsigned-char", "-ffp-contract=off", "-fno-math-errno", "-fno-sanitize=all", "-fno-strict-overflow",
)  # fmt: skip

# Optimised, but neither vectorised nor unrolled, which would hide the loop; calls of memset or memcpy would replace it.
_FLAGS: Final = (
    "-O2", "-S", "-emit-llvm", "-gline-tables-only", "-fno-discard-value-names", "-fno-vectorize", "-fno-slp-vectorize",
    "-fno-unroll-loops", "-fno-builtin-memset", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-stack-protector",
    "-Wno-unknown-pragmas", "-Wno-unused-command-line-argument",
)  # fmt: skip

_DIAGNOSTIC: Final = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<text>.*)$", re.M)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A clang to call: the words that start its command line, and whether it is zig's."""

    command: tuple[str, ...]
    is_zig: bool

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
            "C sources need clang: pip install 'gridloom[c]', or let the environment's GRIDLOOM_CLANG name a clang"
        )
    return Compiler((str(zig), "cc"), True)


def compile_to_ir(path: Path, *, time_limit: float | None = None) -> str:
    """The optimised LLVM IR of a C file. SourceError with clang's message, file and line where it does not compile.

    Includes are looked for beside the file. Costs 0.1 to 0.4 s.
    """
    # Read for its checks only: a missing, unreadable or huge file is refused in our own words.
    read_text(path, limit=MAX_SOURCE_BYTES)
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(prefix="gridloom-c-") as folder:
        output = Path(folder) / "loop.ll"
        source = path.resolve()
        words = [*compiler.command, *compiler.target, *SEMANTICS, *_FLAGS, "-o", str(output), str(source)]
        message = run_compiler(words, Path(folder), path, TIME_LIMIT if time_limit is None else time_limit)
        if not output.is_file():
            raise SourceError(_complaint(message), where=_position(message, path))
        return output.read_text(encoding="utf-8", errors="replace")


def run_compiler(
    words: list[str], folder: Path, path: Path, time_limit: float, cache_folder: Path | None = None
) -> str:
    """Run a command in a folder and return what it wrote to standard error.

    zig keeps the C libraries that it compiled for linking in ``cache_folder``; by default they go with the folder.
    The environment holds nothing of the user's but ``PATH``, so that a compilation gives the same result everywhere.
    SourceError when it does not end in time or cannot be started; that it failed shows in what it wrote.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C",
        "ZIG_LOCAL_CACHE_DIR": str(folder),
        "ZIG_GLOBAL_CACHE_DIR": str(cache_folder or folder),
    }
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=time_limit
        )
    except subprocess.TimeoutExpired:
        raise SourceError(f"clang did not end within {time_limit:g} s and was stopped", where=str(path)) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise SourceError(f"clang ({words[0]}) cannot be started: {reason}", where=str(path)) from None
    text = done.stderr.decode("utf-8", errors="replace")
    return text if text.strip() or done.returncode == 0 else f"clang ended with status {done.returncode}"


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
