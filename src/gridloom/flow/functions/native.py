"""The same function compiled for this machine and run on the same data, confined, in a process of its own.

What is compiled is the module that ``native_module`` has checked, and a small driver. The driver limits its own time,
memory, files and processes, reads memory and arguments from standard input, gives up every system call but reading,
writing and ending, calls the function and writes everything back. It is a 32-bit program, so that ``long`` and pointers
are as wide as on the array's host, and needs no C library unless the function calls its mathematics.
"""

from __future__ import annotations

import os
import platform
import signal
import struct
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from gridloom.compiler.c.function.host import global_key
from gridloom.compiler.c.function.host_calls import known
from gridloom.compiler.c.function.signature import CType, Signature
from gridloom.compiler.confinement import (
    CPU_SECONDS,
    FUNCTION_CALLS,
    IDLE_CALLS,
    MEMORY,
    PROGRAM_CALLS,
    Sandbox,
    filter_rows,
    find_sandbox,
    stop,
)
from gridloom.compiler.ir.c_source import CSource, source_of
from gridloom.compiler.ir.driver import MAX_MEMORY as COMPILER_MEMORY
from gridloom.compiler.ir.driver import SEMANTICS, Compiler, CompilerLimits, find_compiler, run_compiler
from gridloom.compiler.ir.native_module import native_module
from gridloom.errors import SourceError
from gridloom.flow.functions.data import Arguments
from gridloom.hardware.system.header import software_text

#: Seconds that the compiled function may run.
TIME_LIMIT: Final = 20.0
#: Seconds for a link that has to build the C library first.
_LINK_LIMIT: Final = 120.0
#: Bytes that a whole program may print.
MOST_PRINTED: Final = 16 * 1024 * 1024
_MOST_WRITTEN: Final = 256 * 1024 * 1024
_GAP: Final = 64
_UNCONFINED: Final = 96
#: What a whole program may call besides the functions of ``host_calls``.
_PROGRAM_FUNCTIONS: Final = frozenset({
    "printf", "puts", "putchar", "fprintf", "fputs", "fputc", "putc", "fwrite", "fflush", "sprintf", "snprintf",
    "malloc", "calloc", "realloc", "free", "exit", "abort", "rand", "srand", "strcpy", "strncpy", "strcat",
    "strncat", "strncmp", "strcasecmp", "strncasecmp", "strchr", "strrchr", "strstr", "strtok", "strtol", "strtoul",
    "strdup", "memchr", "atoi", "atol", "atof", "qsort", "bsearch", "toupper", "tolower", "isalpha", "isdigit",
    "isspace", "isupper", "islower", "isalnum", "ispunct", "isprint", "sscanf", "fscanf", "scanf", "fopen", "fclose",
    "fread", "fgets", "fgetc", "getc", "getchar", "ungetc", "feof", "ferror", "fseek", "ftell", "rewind", "stdin",
    "stdout", "stderr",
})  # fmt: skip
_SCALARS: Final = {
    "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short", "int32": "int",
    "uint32": "unsigned", "int64": "long long", "uint64": "unsigned long long", "float16": "_Float16",
    "float32": "float", "float64": "double", "bool": "_Bool",
}  # fmt: skip
# Limits: processor time 0, file size 1, core 4, processes 6, open files 7, address space 9.
_SYSTEM: Final = """
static int gridloom_call(int number, int a, int b, int c, int d, int e) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
  return result;
}
static int gridloom_read(void *to, unsigned n) { return gridloom_call(3, 0, (int)to, (int)n, 0, 0); }
static int gridloom_write(const void *from, unsigned n) { return gridloom_call(4, 1, (int)from, (int)n, 0, 0); }
static void gridloom_exit(int status) { gridloom_call(1, status, 0, 0, 0, 0); }
static void *gridloom_pages(unsigned n) {
  unsigned area[6] = {0, n, 3, 0x22, 0xffffffffu, 0};
  void *found = (void *)gridloom_call(90, (int)area, 0, 0, 0, 0);
  if ((unsigned)found > 0xfffff000u) gridloom_exit(95);
  return found;
}
static void gridloom_limit(int what, unsigned most) {
  unsigned limit[2] = {most, most};
  if (gridloom_call(75, what, (int)limit, 0, 0, 0)) gridloom_exit(96);
}
static void gridloom_limits(void) {
  gridloom_call(310, 0x50000000, 0, 0, 0, 0); /* an empty network, where the kernel allows one to a user */
  gridloom_limit(0, CPU_SECONDS); gridloom_limit(9, MEMORY);
  gridloom_limit(1, 0); gridloom_limit(4, 0); gridloom_limit(6, 0); gridloom_limit(7, 3);
}
struct gridloom_row { unsigned short code; unsigned char yes, no; unsigned operand; };
static void gridloom_confine(void) {
  static const struct gridloom_row rows[] = {FILTER_ROWS};
  struct { unsigned short count; const struct gridloom_row *rows; } filter = {sizeof rows / sizeof *rows, rows};
  if (gridloom_call(172, 38, 1, 0, 0, 0)) gridloom_exit(96);
  if (USES_FILTER && gridloom_call(172, 22, 2, (int)&filter, 0, 0)) gridloom_exit(96);
}
"""
_TRANSFER: Final = """
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
#ifdef GRIDLOOM_LIBC
int main(void) { gridloom_run(); return 0; }
#else
__attribute__((force_align_arg_pointer)) void _start(void) { gridloom_run(); }
#endif
"""


class Crash(SourceError):
    """Compiled code did not return: it was ended by a signal."""


@dataclass(frozen=True, kw_only=True)
class NativeComparison:
    """What the comparison with native code said. ``differences`` is empty where everything is equal."""

    differences: tuple[str, ...] = ()
    #: Why there was no comparison; "" where there was one.
    missing: str = ""
    #: What the run was compared with.
    label: str = "compiled C"
    #: Why it was not compared with native code, where something else took its place.
    note: str = ""

    #: Whether the run did anything: a loop of the function had an iteration, or there is no loop.
    executed: bool = True

    @property
    def agrees(self) -> bool:
        """True where the function was compared and nothing differs, also of a run without an iteration."""
        return not self.differences and not self.missing

    @property
    def equal(self) -> bool:
        """True where the function was compared, did something, and nothing differs."""
        return self.agrees and self.executed


@dataclass(kw_only=True)
class NativeOutcome:
    """What a run of the function left: the returned value, objects by name, variables by name."""

    value: Any
    objects: dict[str, bytes] = field(default_factory=dict)


class NativeFunction:
    """A function of a C file as a program that can be run on any data.

    The program is built when it is first run, which takes 0.2 s, or once for each machine half a minute where the
    function needs the C library. ``sandbox`` is what confines it; by default what this machine offers.
    """

    #: What a difference is a difference to.
    label: Final = "compiled C"

    def __init__(
        self, source: CSource | Path, signature: Signature, variables: Sequence[tuple[str, int]],
        sandbox: Sandbox | None = None,
    ) -> None:  # fmt: skip
        self.source, self.signature = source_of(source), signature
        self.path = self.source.path
        #: Variables of the file that the driver can name, with their bytes.
        self.variables = variables
        self.sandbox = sandbox or find_sandbox()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._program: Path | None = None

    def complete(self, given: Mapping[str, Any], seed: int | None) -> Mapping[str, Any]:
        """The arguments of a run, to which C adds nothing."""
        return given

    def run(self, arguments: Arguments, contents: Mapping[str, bytes], time_limit: float = TIME_LIMIT) -> NativeOutcome:
        """Call the function. ``contents`` are what the variables start from.

        SourceError where it cannot be confined or built, and where it crashes or hangs.
        """
        program = self._built()
        places, pool = _pool(arguments.objects)
        message = struct.pack("<I", len(pool)) + pool + self._slots(arguments, places)
        for name, size in self.variables:
            message += contents[global_key(name)].ljust(size, b"\0")[:size]
        size = 8 + len(pool) + sum(size for _, size in self.variables)
        output = run_in_sandbox(self.sandbox, program, message, size, time_limit, self.path)
        return self._outcome(output, places, arguments, len(pool))

    def _outcome(
        self, output: bytes, places: Mapping[str, int], arguments: Arguments, size: int
    ) -> NativeOutcome:  # fmt: skip
        objects = {name: output[8 + at : 8 + at + len(arguments.objects[name])] for name, at in places.items()}
        at = 8 + size
        for name, length in self.variables:
            objects[global_key(name)] = output[at : at + length]
            at += length
        return NativeOutcome(value=_value(self.signature, output[:8]), objects=objects)

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
        """The program; SourceError with the reason where it cannot be built or must not run."""
        if self._program is None:
            check_machine(self.sandbox, self.path)
            module = native_module(self.source, self.signature.name, [name for name, _ in self.variables], known)
            self._folder = tempfile.TemporaryDirectory(prefix="gridloom-native-")
            self._program = built_program(Path(self._folder.name), self.path, self._driver(), module)
        return self._program

    def _driver(self) -> str:
        """The text of the driver."""
        kinds = [parameter.type for parameter in self.signature.parameters]
        result = self.signature.result
        declared = "void" if result is None else self._c_type(result)
        call = f"gridloom_entry({', '.join(self._argument(k) for k in range(len(kinds)))})"
        lines = [_system_text(self.sandbox, FUNCTION_CALLS), _TRANSFER, "#ifndef GRIDLOOM_LIBC", _RUNTIME, "#endif"]
        lines += [f"extern {declared} gridloom_entry({', '.join(map(self._c_type, kinds)) or 'void'});"]
        lines += [f"extern unsigned char gridloom_variable_{k}[];" for k in range(len(self.variables))]
        lines += [
            f"static long long gridloom_slot[{max(len(kinds), 1)}];",
            "static unsigned char *gridloom_pool; static unsigned gridloom_size;",
            "static void gridloom_run(void) {",
            "  long long gridloom_value = 0;",
            "  gridloom_limits();",
            "  gridloom_take(&gridloom_size, 4);",
            "  gridloom_pool = gridloom_pages(gridloom_size + 4096);",
            "  gridloom_take(gridloom_pool, gridloom_size);",
            f"  gridloom_take(gridloom_slot, {8 * len(kinds)});",
        ]
        sizes = [size for _, size in self.variables]
        lines += [f"  gridloom_take(gridloom_variable_{k}, {size});" for k, size in enumerate(sizes)]
        lines.append("  gridloom_confine();")
        if result is None:
            lines.append(f"  {call};")
        elif result.pointer:
            lines.append(f"  {{ const unsigned char *p = {call}; gridloom_value = p ? p - gridloom_pool : -1; }}")
        elif result.dtype.kind == "f":
            lines.append(f"  {{ double gridloom_real = {call};")
            lines.append("  __builtin_memcpy(&gridloom_value, &gridloom_real, 8); }")
        else:
            lines.append(f"  gridloom_value = {call};")
        lines += ["  gridloom_give(&gridloom_value, 8);", "  gridloom_give(gridloom_pool, gridloom_size);"]
        lines += [f"  gridloom_give(gridloom_variable_{k}, {size});" for k, size in enumerate(sizes)]
        return "\n".join([*lines, "  gridloom_exit(0);", "}", _ENTRY])

    def _c_type(self, kind: CType) -> str:
        """A type in the driver's declaration of the function; SourceError for a struct."""
        if kind.pointer:
            return "void *"
        if kind.text in ("_Bool", "bool"):
            return "_Bool"
        if kind.scalar not in _SCALARS:
            raise SourceError(
                f"function {self.signature.name!r} takes or returns {kind.text} by value", where=str(self.path)
            )
        return _SCALARS[kind.scalar]

    def _argument(self, k: int) -> str:
        """The C expression of an argument."""
        kind = self.signature.parameters[k].type
        slot = f"gridloom_slot[{k}]"
        if kind.pointer:
            return f"({slot} < 0 ? (void *)0 : (void *)(gridloom_pool + {slot}))"
        return f"(*(double *)&{slot})" if kind.dtype.kind == "f" else slot


def native_output(
    source: CSource | Path, c_files: Mapping[str, str] = MappingProxyType({}), stdin: bytes = b"", *,
    sandbox: Sandbox | None = None, time_limit: float = TIME_LIMIT,
) -> str:  # fmt: skip
    """What a whole program prints on this machine. SourceError where it cannot be confined, or fails.

    ``c_files`` are tables of the words and the files that it gets, as ``ProgramData`` has them.
    """
    confined, path = sandbox or find_sandbox(), source_of(source).path
    check_machine(confined, path)
    # Without tables of files there is nothing that a program could open.
    called = _PROGRAM_FUNCTIONS if c_files else _PROGRAM_FUNCTIONS - {"fopen"}
    module = native_module(source, "main", (), lambda name: known(name) or name in called)
    text = _system_text(confined, PROGRAM_CALLS, IDLE_CALLS)
    if c_files:
        text += "extern int gl_argc; extern char **gl_argv;\n"
    words = "gl_argc, gl_argv" if c_files else "0, 0"
    text += (
        "extern int gridloom_entry(int, char **);\n"
        f"int main(void) {{ gridloom_limits(); gridloom_confine(); return gridloom_entry({words}); }}\n"
    )
    with tempfile.TemporaryDirectory(prefix="gridloom-native-") as name:
        more = {**c_files, "files.c": software_text("files.c")} if c_files else {}
        program = built_program(Path(name), path, text, module, library=True, more=more)
        output = run_in_sandbox(confined, program, stdin, MOST_PRINTED, time_limit, path, whole=True)
    return output.decode("utf-8", errors="replace")


def check_machine(sandbox: Sandbox, path: Path) -> None:
    """Raise SourceError where no native code runs: on another kind of machine, or where nothing confines it."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64", "i686"):
        raise SourceError("native code is run on x86 machines with Linux only", where=str(path))
    if not sandbox.confines:
        raise SourceError("this machine has neither seccomp nor bubblewrap to confine native code", where=str(path))


def _system_text(sandbox: Sandbox, calls: Sequence[int], idle: Sequence[int] = ()) -> str:
    """The C text of the driver's system calls, limits and filter."""
    rows = ", ".join(f"{{{code}, {yes}, {no}, {operand}u}}" for code, yes, no, operand in filter_rows(calls, idle))
    words = {"CPU_SECONDS": str(CPU_SECONDS), "MEMORY": f"{MEMORY}u", "FILTER_ROWS": rows,
             "USES_FILTER": str(int(sandbox.seccomp))}  # fmt: skip
    text = _SYSTEM
    for name, value in words.items():
        text = text.replace(name, value)
    return text


def built_program(
    folder: Path, path: Path, driver: str, module: str, *, library: bool = False,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Path:  # fmt: skip
    """A static program of a driver and a checked module; with a C library where it is asked for or needed."""
    compiler, program = find_compiler(), folder / "program"
    (folder / "driver.c").write_text(driver, encoding="utf-8")
    (folder / "module.ll").write_text(module, encoding="utf-8")
    for name, text in more.items():
        (folder / name).write_text(text, encoding="utf-8")
    limits = CompilerLimits(COMPILER_MEMORY * 4, _MOST_WRITTEN)
    words = [*_builder(compiler), *SEMANTICS, "-O1", "-w", "-fno-stack-protector", "-fno-builtin", "-static"]
    words += ["-o", str(program), str(folder / "driver.c"), str(folder / "module.ll")]
    words += [str(folder / name) for name in more if name.endswith(".c")]
    message = ""
    if not library:
        message = run_compiler([*words, "-nostdlib"], folder, path, 60.0, limits=limits)
    if not program.is_file():
        message = run_compiler([*words, "-DGRIDLOOM_LIBC", "-lm"], folder, path, _LINK_LIMIT, library_cache(), limits)
    if not program.is_file():
        raise SourceError(f"cannot be compiled for this machine: {message.strip()[:300]}", where=str(path))
    return program


def _builder(compiler: Compiler) -> list[str]:
    """The words that compile and link for 32-bit x86."""
    target = ["-target", "x86-linux-musl"] if compiler.is_zig else ["--target=i386-linux-gnu"]
    return [*compiler.command, *target, "-malign-double"]


def run_in_sandbox(
    sandbox: Sandbox, program: Path, message: bytes, most: int, time_limit: float, path: Path, *, whole: bool = False
) -> bytes:
    """What a program writes for a message: exactly ``most`` bytes, or at most as many for a ``whole`` program.

    It starts in an empty folder without any environment. Crash where it ends by a signal, SourceError where it hangs
    or cannot be confined.
    """
    what = "program" if whole else "function"
    with tempfile.TemporaryDirectory(prefix="gridloom-empty-") as folder:
        process = subprocess.Popen(
            sandbox.around(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=folder, env={}, start_new_session=True,
        )  # fmt: skip
        late = threading.Event()
        clock = threading.Timer(time_limit, _end, (process, late))
        clock.start()
        writer = threading.Thread(target=_feed, args=(process, message), daemon=True)
        writer.start()
        try:
            output = process.stdout.read(most + 1) if process.stdout else b""
            if len(output) > most:
                stop(process)
            status = process.wait()
        finally:
            clock.cancel()
            stop(process)
            writer.join()
            if process.stdout:
                process.stdout.close()
    if late.is_set():
        raise SourceError(f"the compiled {what} did not end within {time_limit:g} s", where=str(path))
    if len(output) > most:
        raise SourceError(f"the compiled {what} writes more than {most} bytes", where=str(path))
    if (status and not whole) or status < 0 or status in (_UNCONFINED, 97) or status > 128:
        raise _ending(what, status - 128 if status > 128 else -status, status, path)
    if not whole and len(output) != most:
        raise Crash(f"the compiled {what} ended early", where=str(path))
    return output


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    """Stop a process whose time is up, and say so."""
    late.set()
    stop(process)


def _feed(process: subprocess.Popen[bytes], message: bytes) -> None:
    """Write a message to a process and close its input; it may have ended."""
    try:
        if process.stdin:
            process.stdin.write(message)
            process.stdin.close()
    except OSError:
        return


def _ending(what: str, number: int, status: int, path: Path) -> SourceError:
    """Why a compiled function ended; ``number`` is that of the signal."""
    if status == _UNCONFINED:
        return SourceError(f"the compiled {what} could not be confined and was not run", where=str(path))
    if number == signal.SIGXCPU:
        return SourceError(f"the compiled {what} took more than {CPU_SECONDS} s", where=str(path))
    if number == signal.SIGSYS:
        return Crash(f"the compiled {what} made a system call and was stopped", where=str(path))
    return Crash(
        f"the compiled {what} ended with status {status}; it divides by zero or leaves its arrays", where=str(path)
    )


def library_cache() -> Path | None:
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
