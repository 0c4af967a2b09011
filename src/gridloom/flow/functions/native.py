"""The same function compiled for this machine and run on the same data, in a process of its own.

The function's file is included by a small driver, which reads memory and arguments from standard input, calls the
function and writes everything back. It is a 32-bit program where the machine runs those, so that ``long`` and pointers
are as wide as on the array's host, and needs no C library unless the function does. A crash or an endless loop ends
that process only.
"""

from __future__ import annotations

import os
import platform
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.errors import SourceError
from gridloom.flow.functions.data import Arguments
from gridloom.frontend.c.function.host import global_key
from gridloom.frontend.c.function.signature import Signature
from gridloom.frontend.c.llvm.driver import SEMANTICS, find_compiler, run_compiler

#: Seconds that the compiled function may run.
TIME_LIMIT: Final = 20.0
#: Seconds for a link that has to build the C library first.
_LINK_LIMIT: Final = 240.0
_GAP: Final = 64
_PRELUDE: Final = """\
#define main gridloom_application_main
#include "{file}"
#undef main
"""
_SYSTEM: Final = """
#ifdef GRIDLOOM_LIBC
#include <unistd.h>
#include <stdlib.h>
static int gridloom_read(void *to, unsigned n) { return (int)read(0, to, n); }
static int gridloom_write(const void *from, unsigned n) { return (int)write(1, from, n); }
static void gridloom_exit(int status) { _exit(status); }
static void *gridloom_pages(unsigned n) { return calloc(n, 1); }
#else
static int gridloom_call(int number, int a, int b, int c) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
  return result;
}
static int gridloom_read(void *to, unsigned n) { return gridloom_call(3, 0, (int)to, (int)n); }
static int gridloom_write(const void *from, unsigned n) { return gridloom_call(4, 1, (int)from, (int)n); }
static void gridloom_exit(int status) { gridloom_call(1, status, 0, 0); }
static void *gridloom_pages(unsigned n) {
  unsigned area[6] = {0, n, 3, 0x22, 0xffffffffu, 0};
  return (void *)gridloom_call(90, (int)area, 0, 0);
}
#endif
static void gridloom_take(void *to, unsigned n) {
  char *at = to;
  while (n) {
    int got = gridloom_read(at, n);
    if (got <= 0) gridloom_exit(97);
    at += got; n -= (unsigned)got;
  }
}
static void gridloom_give(const void *from, unsigned n) {
  const char *at = from;
  while (n) {
    int put = gridloom_write(at, n);
    if (put <= 0) gridloom_exit(98);
    at += put; n -= (unsigned)put;
  }
}
"""
_RUNTIME: Final = """
typedef unsigned long long gridloom_wide;
static gridloom_wide gridloom_divide(gridloom_wide a, gridloom_wide b, gridloom_wide *rest) {
  gridloom_wide q = 0, r = 0;
  if (!b) __builtin_trap();
  for (int k = 63; k >= 0; k--) {
    gridloom_wide top = r >> 63;
    r = r << 1 | (a >> k & 1);
    if (top || r >= b) { r -= b; q |= 1ull << k; }
  }
  *rest = r;
  return q;
}
unsigned long long __udivdi3(gridloom_wide a, gridloom_wide b) { gridloom_wide r; return gridloom_divide(a, b, &r); }
unsigned long long __umoddi3(gridloom_wide a, gridloom_wide b) { gridloom_wide r; gridloom_divide(a, b, &r); return r; }
long long __divdi3(long long a, long long b) {
  gridloom_wide r, q = gridloom_divide(a < 0 ? -(gridloom_wide)a : a, b < 0 ? -(gridloom_wide)b : b, &r);
  return (a < 0) != (b < 0) ? -q : q;
}
long long __moddi3(long long a, long long b) {
  gridloom_wide r;
  gridloom_divide(a < 0 ? -(gridloom_wide)a : a, b < 0 ? -(gridloom_wide)b : b, &r);
  return a < 0 ? -r : r;
}
void *memset(void *to, int c, unsigned n) { volatile char *t = to; while (n--) *t++ = (char)c; return to; }
void *memcpy(void *to, const void *from, unsigned n) {
  volatile char *t = to; const char *f = from; while (n--) *t++ = *f++; return to;
}
void *memmove(void *to, const void *from, unsigned n) {
  volatile char *t = to; const char *f = from;
  if (t <= f) while (n--) *t++ = *f++; else while (n--) t[n] = f[n];
  return to;
}
int memcmp(const void *a, const void *b, unsigned n) {
  const volatile unsigned char *x = a, *y = b;
  for (; n--; x++, y++) if (*x != *y) return *x - *y;
  return 0;
}
int bcmp(const void *a, const void *b, unsigned n) { return memcmp(a, b, n); }
unsigned strlen(const char *s) { const volatile char *p = s; while (*p) p++; return (unsigned)(p - s); }
"""
_ENTRY: Final = """
  gridloom_exit(0);
}
#ifdef GRIDLOOM_LIBC
int main(void) { gridloom_run(); return 0; }
#else
__attribute__((force_align_arg_pointer)) void _start(void) { gridloom_run(); }
#endif
"""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What the comparison with native code said. ``differences`` is empty where everything is equal."""

    differences: tuple[str, ...] = ()
    #: Why there was no comparison; "" where there was one.
    missing: str = ""
    #: What the run was compared with.
    label: str = "compiled C"

    @property
    def equal(self) -> bool:
        """True where the function was compared and nothing differs."""
        return not self.differences and not self.missing


@dataclass(kw_only=True)
class Outcome:
    """What a run of the function left: the returned value, objects by name, variables by name."""

    value: Any
    objects: dict[str, bytes] = field(default_factory=dict)


class NativeFunction:
    """A function of a C file as a program that can be run on any data.

    The program is built when it is first run, which takes 0.1 s, or once for each machine half a minute where the
    function needs the C library.
    """

    #: What a difference is a difference to.
    label: Final = "compiled C"

    def __init__(self, path: Path, signature: Signature, variables: Sequence[tuple[str, int]]) -> None:
        self.path, self.signature = path, signature
        #: Variables of the file that the driver can name, with their bytes.
        self.variables = variables
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._program: Path | None = None

    def complete(self, given: Mapping[str, Any], seed: int | None) -> Mapping[str, Any]:
        """The arguments of a run, to which C adds nothing."""
        return given

    def run(self, arguments: Arguments, contents: Mapping[str, bytes], time_limit: float = TIME_LIMIT) -> Outcome:
        """Call the function. ``contents`` are what the variables start from. SourceError where it crashes or hangs."""
        program = self._built()
        places, pool = _pool(arguments.objects)
        message = struct.pack("<I", len(pool)) + pool + self._slots(arguments, places)
        for name, size in self.variables:
            message += contents[global_key(name)].ljust(size, b"\0")[:size]
        try:
            done = subprocess.run([str(program)], input=message, capture_output=True, timeout=time_limit, check=False)
        except subprocess.TimeoutExpired:
            reason = f"the compiled function did not end within {time_limit:g} s"
            raise SourceError(reason, where=str(self.path)) from None
        if done.returncode:
            raise SourceError(
                f"the compiled function ended with status {done.returncode}; it divides by zero or leaves its arrays",
                where=str(self.path),
            )
        return self._outcome(done.stdout, places, arguments, len(pool))

    def _outcome(
        self, output: bytes, places: Mapping[str, int], arguments: Arguments, size: int
    ) -> Outcome:  # fmt: skip
        objects = {name: output[8 + at : 8 + at + len(arguments.objects[name])] for name, at in places.items()}
        at = 8 + size
        for name, length in self.variables:
            objects[global_key(name)] = output[at : at + length]
            at += length
        return Outcome(value=_value(self.signature, output[:8]), objects=objects)

    def _slots(self, arguments: Arguments, places: Mapping[str, int]) -> bytes:
        """Eight bytes for each parameter: a number, or the place of an array in the pool."""
        slots = b""
        for parameter in self.signature.parameters:
            if parameter.name in arguments.pointers:
                name, offset = arguments.pointers[parameter.name]
                slots += struct.pack("<q", places[name] + offset)
            elif parameter.type.pointer:
                slots += struct.pack("<q", -1)
            elif parameter.type.dtype.kind == "f":
                slots += struct.pack("<d", float(arguments.numbers[parameter.name]))
            else:
                slots += struct.pack("<q", _signed(int(arguments.numbers[parameter.name])))
        return slots

    # -- building ---------------------------------------------------------------------------------------------------

    def _built(self) -> Path:
        """The program; SourceError with the compiler's words where it cannot be built."""
        if self._program is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gridloom-native-")
            self._program = self._build(Path(self._folder.name))
        return self._program

    def _build(self, folder: Path) -> Path:
        program = folder / "function"
        driver = folder / "driver.c"
        driver.write_text(self._driver(), encoding="utf-8")
        compiler = find_compiler()
        words = [*compiler.command, *SEMANTICS, "-O1", "-w", "-fno-stack-protector", "-o", str(program)]
        words += ["-I", str(self.path.resolve().parent)]
        small = compiler.is_zig and platform.machine() in ("x86_64", "AMD64", "i686") and platform.system() == "Linux"
        target = ["-target", "x86-linux-musl", "-malign-double"] if small else []
        if small:
            alone = ["-nostdlib", "-static", "-fno-builtin", str(driver)]
            run_compiler([*words, *target, *alone], folder, self.path, 60.0)
            if program.is_file():
                return program
        kept = _library_cache()
        words += [*target, "-DGRIDLOOM_LIBC", str(driver), "-lm"]
        message = run_compiler(words, folder, self.path, _LINK_LIMIT, kept)
        if not program.is_file():
            raise SourceError(f"cannot be compiled for this machine: {message.strip()[:300]}", where=str(self.path))
        return program

    def _driver(self) -> str:
        """The text of the driver."""
        call = ", ".join(self._argument(k) for k in range(len(self.signature.parameters)))
        result, name = self.signature.result, self.signature.name
        lines = [_PRELUDE.format(file=str(self.path.resolve())), _SYSTEM]
        lines += ["#ifndef GRIDLOOM_LIBC", _RUNTIME, "#endif"]
        lines += [
            f"static long long gridloom_slot[{max(len(self.signature.parameters), 1)}];",
            "static unsigned char *gridloom_pool; static unsigned gridloom_size;",
            "static void gridloom_run(void) {",
            "  long long gridloom_value = 0;",
            "  gridloom_take(&gridloom_size, 4);",
            "  gridloom_pool = gridloom_pages(gridloom_size + 4096);",
            "  gridloom_take(gridloom_pool, gridloom_size);",
            f"  gridloom_take(gridloom_slot, {8 * len(self.signature.parameters)});",
        ]
        lines += [f"  gridloom_take((void *)&{variable}, {size});" for variable, size in self.variables]
        if result is None:
            lines.append(f"  {name}({call});")
        elif result.pointer:
            lines.append(f"  {{ const unsigned char *p = (const void *){name}({call}); "
                         "gridloom_value = p ? p - gridloom_pool : -1; }")  # fmt: skip
        elif result.dtype.kind == "f":
            lines.append(f"  {{ double gridloom_real = {name}({call});")
            lines.append("  __builtin_memcpy(&gridloom_value, &gridloom_real, 8); }")
        else:
            lines.append(f"  gridloom_value = {name}({call});")
        lines += ["  gridloom_give(&gridloom_value, 8);", "  gridloom_give(gridloom_pool, gridloom_size);"]
        lines += [f"  gridloom_give((const void *)&{variable}, {size});" for variable, size in self.variables]
        return "\n".join([*lines, _ENTRY])

    def _argument(self, k: int) -> str:
        """The C expression of an argument."""
        kind = self.signature.parameters[k].type
        slot = f"gridloom_slot[{k}]"
        if kind.pointer:
            return f"({slot} < 0 ? (void *)0 : (void *)(gridloom_pool + {slot}))"
        return f"(*(double *)&{slot})" if kind.dtype.kind == "f" else slot


def _library_cache() -> Path | None:
    """The user's own folder in which zig keeps the C library that it built; None where there is none to trust.

    A folder of a fixed name that others may write to could hold a library of somebody else's making.
    """
    try:
        folder = Path.home() / ".cache" / "gridloom" / "zig"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except (OSError, RuntimeError):
        return None
    private = os.name != "posix" or (state.st_uid == os.getuid() and not state.st_mode & 0o022)
    return folder if private else None


def _pool(objects: Mapping[str, bytes]) -> tuple[dict[str, int], bytes]:
    """Where each object lies in one block of bytes, and the block."""
    places, pool = {}, bytearray(_GAP)
    for name, contents in objects.items():
        if name.startswith("@"):
            continue
        places[name] = len(pool)
        pool += contents
        pool += bytes(-len(pool) % _GAP + _GAP)
    return places, bytes(pool)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _value(signature: Signature, raw: bytes) -> Any:
    """The returned value in its own type; of a pointer, its place."""
    result = signature.result
    if result is None:
        return None
    if result.pointer:
        return struct.unpack("<q", raw)[0]
    if result.dtype.kind == "f":
        return result.dtype.type(struct.unpack("<d", raw)[0])
    return np.frombuffer(raw, "<i8").astype(result.dtype)[0]
