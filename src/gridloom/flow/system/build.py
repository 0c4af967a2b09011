"""The program for the core: the function's IR with its launches, the driver, a main, as one binary.

clang compiles the IR, Debian's GCC for RISC-V the driver and ``main`` and links them. A file with a ``main`` of its own
brings it in its IR and may print with C's library (picolibc).
"""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.compiler.c.function.program import LoopPlan
from gridloom.compiler.ir.c_source import CUnit
from gridloom.compiler.ir.driver import find_compiler, run_compiler
from gridloom.compiler.ir.ir import Function, Instruction
from gridloom.compiler.ir.layout import DataLayout
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.ir.writer import copy_function, make, write_module
from gridloom.errors import MissingExtra, SourceError
from gridloom.flow.functions.compile import Compiled
from gridloom.flow.functions.data import Arguments
from gridloom.flow.functions.native import library_cache
from gridloom.flow.system.host_access import host_access, roots
from gridloom.flow.system.laps import LAP_C, LAP_DECLARED, mark_loop
from gridloom.flow.system.launch_c import LaunchedLoop, loops_c
from gridloom.flow.system.launch_calls import LaunchSite, insert_launches, lead_through_end
from gridloom.flow.system.plan import SystemPlan, left_over
from gridloom.flow.system.trip_counts import trip_count
from gridloom.hardware.programs import run_program
from gridloom.hardware.system.header import header_text, software_text

PREFIX: Final = "riscv64-unknown-elf-"
_MACHINE: Final = ("-march=rv32im", "-mabi=ilp32")
_PICOLIBC: Final = Path("/usr/lib/picolibc/riscv64-unknown-elf")
_SECONDS: Final = 120.0
_MEASURED: Final = ("declare void @gl_enter()", "declare void @gl_leave()")
_ZIG_MACHINE: Final = ("-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m-c", "-fno-sanitize=all")
_NO_GCC: Final = "programs for the core need GCC: apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"


@dataclass(frozen=True)
class Sources:
    """What a program is made of: IR, and C files by name; ``libc`` where it prints with C's library."""

    ir: str
    c_files: Mapping[str, str]
    on_array: bool
    #: Prints with C's library, and has files where ``files.h`` is among the C files.
    libc: bool = False

    def with_files(self, more: Mapping[str, str]) -> Sources:
        """The same with more C files."""
        return replace(self, c_files={**self.c_files, **more})


def array_sources(plan: SystemPlan, main: str | None, *, laps: bool = False) -> Sources:
    """The program with launches. SourceError where a launch cannot be put into the IR.

    With ``laps``, it marks where control enters and leaves each launched loop.
    """
    program = plan.compiled.program
    counts: list[str] = []
    declared = ["declare void @gl_enter()", "declare void @gl_leave()", "declare void @gl_end()",
                "declare void @gl_sync()",
                "declare void @gl_buffer(ptr, i32)", "declare void @gl_drop(ptr)",
                "@gl_out = external global [0 x i32]", *([LAP_DECLARED] if laps else [])]  # fmt: skip
    by_function: dict[str, list[LaunchSite]] = {plan.compiled.name: []}
    for loop in plan.loops:
        trip = None
        if loop.plan.pieces is None:
            trip = trip_count(loop.plan, f"gl_trip_{loop.number}")
            counts.append(trip.text)
        site = LaunchSite(loop.number, loop.plan, trip, _local(plan.compiled, loop))
        declared.append(site.declared)
        by_function.setdefault(loop.plan.loop.function.name, []).append(site)
    changed = {name: copy_function(program.module.functions[name]) for name in by_function}
    for k, rest in enumerate(left_over(plan.compiled)):
        if by_function.get(rest.loop.function.name):
            lead_through_end(changed[rest.loop.function.name][0], rest, k)
    for name, sites in by_function.items():
        if sites:
            insert_launches(changed[name][0], sites, changed[name][1])
    for loop in plan.loops if laps else ():
        function, number = changed[loop.plan.loop.function.name][0], loop.number
        made = (f"gl.pre.{number}", f"gl.done.{number}", f"gl.way.{number}.")
        blocks = {name for name in function.blocks if name.startswith(made)} | set(loop.plan.loop.blocks)
        mark_loop(function, blocks, made[0], number)
    _measure(changed[plan.compiled.name][0])
    functions = {name: function for name, (function, _) in changed.items()}
    ir = write_module(program.module, functions, bare=True, declared=declared,
                      more=[*counts, _registering(plan.compiled)])  # fmt: skip
    spills = max(loop.image.spill_words for loop in plan.loops)
    outs = max(2 * len(loop.plan.left) + 2 for loop in plan.loops)
    header = header_text(plan.system, spill_words=spills, outs=outs) + "void gl_register_globals(void);\n"
    # Loops lie behind the function that launches them, so that both have places of their own in the core's small cache.
    files = {"gridloom.h": header, "loops.c": loops_c(plan.loops, plan.compiled.name),
             "gridloom.c": software_text("gridloom.c")}  # fmt: skip
    files |= {"laps.c": LAP_C} if laps else {}
    return Sources(ir, files | ({"main.c": main} if main else {}), True, main is None)


def launchable(plan: SystemPlan) -> SystemPlan:
    """The plan without loops whose launch cannot be put into the IR or into C; each is named with the reason.

    SourceError where no loop is left.
    """
    kept: list[LaunchedLoop] = []
    reasons = list(plan.reasons)
    for loop in plan.loops:
        try:
            alone = replace(plan, loops=(loop,))
            array_sources(alone, "")
        except SourceError as error:
            reasons.append(f"{loop.plan.name}: {error.message}")
        else:
            kept.append(replace(loop, number=len(kept)))
    if not kept:
        raise SourceError(f"no loop of {plan.compiled.name!r} can be launched: {'; '.join(reasons)}")
    return replace(plan, loops=tuple(with_access(kept, left_over(plan.compiled))), reasons=tuple(reasons))


def with_access(loops: Sequence[LaunchedLoop], rest: Sequence[LoopPlan] = ()) -> list[LaunchedLoop]:
    """The loops with what the core does to memory when just these are launched.

    Not what it does in the ``rest`` of jammed nests, which begin with everything in memory.
    """
    found = []
    plans = [*(loop.plan for loop in loops), *rest]
    for loop in loops:
        function = loop.plan.loop.function
        blocks = {b for plan in plans if plan.loop.function is function for b in plan.loop.blocks}
        found.append(replace(loop, access=host_access(function, blocks)))
    return found


def core_sources(compiled: Compiled, ir: str, main: str | None) -> Sources:
    """The program for the core alone, from some IR."""
    module = read_module(ir, compiled.program.file)
    _measure(module.functions[compiled.name])
    text = write_module(module, {}, bare=True, declared=_MEASURED)
    return Sources(text, {"main.c": main} if main else {}, False, main is None)


def marked_core_sources(plan: SystemPlan, main: str | None) -> Sources:
    """The program of a plan for the core alone, which marks where control enters and leaves each launched loop."""
    module = plan.compiled.program.module
    names = {plan.compiled.name, *(loop.plan.loop.function.name for loop in plan.loops)}
    changed = {name: copy_function(module.functions[name])[0] for name in names}
    for loop in plan.loops:
        inner = loop.plan.loop
        mark_loop(changed[inner.function.name], set(inner.blocks), inner.header, loop.number)
    _measure(changed[plan.compiled.name])
    text = write_module(module, changed, bare=True, declared=[*_MEASURED, LAP_DECLARED])
    return Sources(text, {"laps.c": LAP_C} | ({"main.c": main} if main else {}), False, main is None)


def _measure(function: Function) -> None:
    """Count the cycles from the function's first to its last instruction."""
    first = function.blocks[function.entry].instructions
    place = next((k for k, item in enumerate(first) if item.opcode != "alloca"), 0)
    first.insert(place, make("", function.entry, "call", "void", callee="gl_enter"))
    for block in function.blocks.values():
        if block.terminator.opcode == "ret":
            block.instructions.insert(-1, make("", block.name, "call", "void", callee="gl_leave"))


def _local(compiled: Compiled, loop: LaunchedLoop) -> tuple[tuple[Instruction, int], ...]:
    """Local arrays that a loop works on, with their bytes."""
    graph = loop.plan.graph
    assert graph is not None
    layout = DataLayout(compiled.program.module.structs)
    found: dict[Instruction, int] = {}
    for base in graph.bases.values():
        for root in roots(base):
            if isinstance(root, Instruction) and root.opcode == "alloca" and not root.operands:
                kind = root.text.split("alloca ", 1)[1].rsplit(", align", 1)[0].strip()
                found[root] = layout.size(kind)
    return tuple(found.items())


def _registering(compiled: Compiled) -> str:
    """The function that tells the driver about the variables of the file."""
    layout = DataLayout(compiled.program.module.structs)
    lines = ["define void @gl_register_globals() {"]
    for name, variable in compiled.program.module.globals.items():
        try:
            size = layout.size(variable.contents_type)
        except SourceError:
            continue
        if not name.startswith(".str") and size:
            lines.append(f"  call void @gl_buffer(ptr @{name}, i32 {size})")
    return "\n".join([*lines, "  ret void", "}"])


# -- main -----------------------------------------------------------------------------------------------------------


def main_text(compiled: Compiled, arguments: Arguments) -> str:
    """A main that calls the function on data and prints the returned value and all that the function left."""
    names = {name: f"gl_data_{k}" for k, name in enumerate(n for n in arguments.objects if not n.startswith("@"))}
    result = compiled.signature.result
    kind = "void" if result is None else "void *" if result.pointer else _c_type(result.dtype)
    parameters = [("void *" if p.type.pointer else _c_type(p.type.dtype)) for p in compiled.signature.parameters]
    lines = [
        "#include <stdint.h>", "void gl_text(const char *); void gl_word(uint32_t);",
        "void gl_buffer(const void *, uint32_t); void gl_enter(void); void gl_leave(void);",
        f"{kind} {compiled.name}({', '.join(parameters) or 'void'});",
    ]  # fmt: skip
    for name, variable in names.items():
        words = _words_of(arguments.objects[name])
        table = ", ".join(f"0x{w:08x}" for w in words)
        lines.append(f"static uint32_t {variable}[{max(1, len(words))}] __attribute__((aligned(64))) = {{{table}}};")
    variables = {name: t for name, t in compiled.signature.variables.items() if _changes(compiled, name)}
    lines += [f"extern uint32_t {name}[];" for name in variables]
    lines += ["static void show(const char *name, const void *at, uint32_t bytes) {", "  const uint8_t *b = at;",
              '  gl_text(name); gl_text(" ");', "  uint32_t k = 0, w = 0;",
              "  if (!((uint32_t)b & 3)) for (; k + 4 <= bytes; k += 4) gl_word(*(const uint32_t *)(b + k));",
              "  for (; k < bytes; k += 4) {", "    w = 0;",
              "    for (uint32_t j = 0; j < 4 && k + j < bytes; j++) w |= (uint32_t)b[k + j] << 8 * j;",
              "    gl_word(w);", "  }", '  gl_text("\\n");', "}", "int main(void) {"]  # fmt: skip
    lines += ["#ifdef GL_ON_ARRAY", "  gl_enter();", "  gl_leave();"]
    lines += [f"  gl_buffer({v}, {len(arguments.objects[n])});" for n, v in names.items()]
    lines.append("#endif")
    given = [_argument(compiled, arguments, names, k) for k in range(len(parameters))]
    call = f"{compiled.name}({', '.join(given)})"
    lines += ["#ifdef GL_WRAP", "  gl_enter();", "#endif"]
    lines.append(f"  {call};" if result is None else f"  {kind} value = {call};")
    lines += ["#ifdef GL_WRAP", "  gl_leave();", "#endif"]
    if result is not None and not result.pointer:
        lines.append(f'  show("value", &value, {result.dtype.itemsize});')
    lines += [f'  show("{n}", {v}, {len(arguments.objects[n])});' for n, v in names.items()]
    lines += [f'  show("@{n}", {n}, {_variable_bytes(compiled, n)});' for n in variables]
    return "\n".join([*lines, "  return 0;", "}", ""])


def _changes(compiled: Compiled, name: str) -> bool:
    variable = compiled.program.module.globals.get(name)
    return variable is not None and not variable.constant


def _variable_bytes(compiled: Compiled, name: str) -> int:
    layout = DataLayout(compiled.program.module.structs)
    return int(layout.size(compiled.program.module.globals[name].contents_type))


def _words_of(contents: bytes) -> list[int]:
    padded = contents + bytes(-len(contents) % 4)
    return [int.from_bytes(padded[k : k + 4], "little") for k in range(0, len(padded), 4)]


def _c_type(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "f":
        return "float" if dtype.itemsize == 4 else "double"
    return f"{'u' if dtype.kind == 'u' else ''}int{8 * dtype.itemsize}_t"


def _argument(compiled: Compiled, arguments: Arguments, names: Mapping[str, str], k: int) -> str:
    """The C expression of an argument."""
    parameter = compiled.signature.parameters[k]
    if parameter.name in arguments.pointers:
        name, offset = arguments.pointers[parameter.name]
        return f"(char *){names[name]} + {offset}"
    if parameter.type.pointer:
        return "0"
    number = arguments.numbers[parameter.name]
    if parameter.type.dtype.kind == "f":
        return f"({_c_type(parameter.type.dtype)}){float(number).hex()}"
    return f"({_c_type(parameter.type.dtype)}){int(number) & (1 << 8 * parameter.type.dtype.itemsize) - 1:#x}ull"


# -- binaries ---------------------------------------------------------------------------------------------------------


def link_program(sources: Sources, path: Path, *, level: str = "-O2") -> bytes:
    """The binary of a program. MissingExtra without GCC for RISC-V, SourceError with a tool's words."""
    with _folder() as name:
        folder = Path(name)
        (folder / "function.ll").write_text(sources.ir, encoding="utf-8")
        compiler = find_compiler()
        words = [*compiler.command, "-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m-c", level, "-w",
                 "-fno-sanitize=all", "-c", "function.ll", "-o", "function.o"]  # fmt: skip
        message = run_compiler(words, folder, path, _SECONDS)
        if not (folder / "function.o").is_file():
            raise SourceError(f"clang refuses the rewritten IR: {message.strip()[:300]}", where=str(path))
        return _link(folder, sources, ["function.o"])


def linked_by_gcc(main: str, unit: CUnit, flags: Sequence[str]) -> bytes:
    """The program for the core alone with the function compiled by GCC, as a second opinion on how fast the core is."""
    path = unit.path
    with _folder() as name:
        folder = Path(name)
        options = [f"-std={unit.options.standard or 'gnu11'}", *unit.options.preprocessing, "-fsigned-char", "-fwrapv",
                   "-ffp-contract=off", "-w", *flags, "-isystem", str(_PICOLIBC / "include"),
                   "-I", str(path.resolve().parent)]  # fmt: skip
        text = path.read_text(encoding="utf-8")
        (folder / "source.c").write_text(text.replace("static inline", "static"), encoding="utf-8")
        _build(folder, [*options, "-c", "source.c", "-o", "source.o"])
        return _link(folder, Sources("", {"main.c": main}, False), ["source.o"], ["-DGL_WRAP"])


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gridloom-program-")


def has_gcc() -> bool:
    """Whether GCC for RISC-V is installed."""
    return shutil.which(f"{PREFIX}gcc") is not None


def _build(folder: Path, words: Sequence[str], path: Path | None = None) -> None:
    """Compile or link for the core: with GCC where it is installed, else with zig's clang."""
    if has_gcc():
        done = run_program([f"{PREFIX}gcc", *_MACHINE, *words], folder, seconds=_SECONDS)
        complaint = done.stderr if done.returncode else ""
    else:
        compiler = find_compiler()
        if not compiler.is_zig:
            raise MissingExtra(_NO_GCC)
        command = [*compiler.command, *_ZIG_MACHINE, *words]
        complaint = run_compiler(command, folder, path or folder, _SECONDS, library_cache())
        complaint = "" if (folder / words[-1]).is_file() else complaint
    if complaint:
        lines = [line for line in complaint.splitlines() if "error" in line or "undefined" in line]
        raise SourceError(f"{'gcc' if has_gcc() else 'clang'}: {(lines or [complaint.strip()[-200:]])[0]}")


def _link(folder: Path, sources: Sources, objects: list[str], options: Sequence[str] = ()) -> bytes:
    """Compile the C files, link everything and return the memory's contents."""
    files = dict(sources.c_files) | {name: software_text(name) for name in ("support.c", "start.S", "memory.ld")}
    if sources.libc:
        files["stdio.c"] = software_text("stdio.c")
        files |= {"files.c": software_text("files.c")} if "files.h" in files else {}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    # Calls of the driver that a program does not use would take places in the core's small cache.
    flags = [*options, *(["-DGL_ON_ARRAY", "-ffunction-sections"] if sources.on_array else [])]
    for name in files:
        if name.endswith((".c", ".S")):
            library = ["-isystem", str(_PICOLIBC / "include")] if name in ("stdio.c", "files.c") else ["-ffreestanding"]
            _build(folder, ["-O2", "-w", *flags, *library, "-c", name, "-o", f"{name}.o"])
            objects = [*objects, f"{name}.o"]
    gcc = has_gcc()
    library = ["-L", str(_PICOLIBC / "lib/release/rv32im/ilp32"), "-lc"] if _PICOLIBC.is_dir() and gcc else []
    unused = ["-Wl,--gc-sections"] if sources.on_array else []
    library += ["-lgcc" if gcc else "-lcompiler_rt"]
    if sources.libc and not gcc:
        raise MissingExtra(_NO_GCC)
    _build(folder, ["-nostdlib", "-static", *unused, "-T", "memory.ld", *objects, "-Wl,--start-group", *library,
                    "-Wl,--end-group", "-o", "program.elf"])  # fmt: skip
    return flat_image((folder / "program.elf").read_bytes())


def flat_image(elf: bytes) -> bytes:
    """The contents of memory that the segments of a 32-bit ELF file give, from its lowest address on."""
    start, size, count = struct.unpack_from("<I", elf, 28)[0], *struct.unpack_from("<HH", elf, 42)
    rows = [struct.unpack_from("<IIIIII", elf, start + size * k) for k in range(count)]
    parts = [(address, elf[offset : offset + length]) for kind, offset, _, address, length, _ in rows
             if kind == 1 and length]  # fmt: skip
    base = min(address for address, _ in parts)
    image = bytearray(max(address + len(part) for address, part in parts) - base)
    for address, part in parts:
        image[address - base : address - base + len(part)] = part
    return bytes(image)
