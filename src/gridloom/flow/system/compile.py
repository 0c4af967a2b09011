"""A function with its loops on the array of a system: with loads and stores, or with streams; unrolled or as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Unpack

from gridloom.archs.model import Arch
from gridloom.errors import OptionError
from gridloom.flow.functions.compile import Compiled, CompileOptions, compile_program
from gridloom.flow.inputs import ArchLike, memory_of, read_arch
from gridloom.flow.system.plan import launched_singly
from gridloom.flow.system.streams import compile_streams
from gridloom.frontend.c.function.program import FunctionProgram, read_program
from gridloom.frontend.c.function.signature import read_signature

#: What becomes of short inner loops with a constant number of iterations.
UNROLL: Final = ("auto", "short", "none")


def compile_for_system(
    path: Path, function: str, arch: ArchLike, *, unroll: str = "auto", **options: Unpack[CompileOptions]
) -> Compiled:
    """A function with its loops on an array: with loads and stores, or with streams where the array has no memory.

    ``unroll`` is "short" where inner loops of few iterations, whose number is constant, are to be unrolled, so that the
    loop around them is launched; "none" where they are launched themselves; "auto" for what leaves fewer innermost
    loops to the core, in doubt the former. Costs a search for each loop, with "auto" up to two.
    """
    if unroll not in UNROLL:
        raise OptionError(f"unroll: expected {', '.join(UNROLL)}, found {unroll!r}")
    array = read_arch(arch)
    if unroll != "auto":
        return _compiled(read_program(path, function, unrolled=unroll == "short"), function, path, array, options)
    unrolled, plain = (read_program(path, function, unrolled=choice) for choice in (True, False))
    if len(unrolled.loops) == len(plain.loops):
        return _compiled(plain, function, path, array, options)
    first = _compiled(unrolled, function, path, array, options)
    if not _on_core(first):
        return first
    second = _compiled(plain, function, path, array, options)
    return second if _on_core(second) < _on_core(first) else first


def _on_core(compiled: Compiled) -> int:
    """Innermost loops that stay on the core."""
    return sum(loop.mapping is None for loop in compiled.loops if not loop.plan.loop.children)


def _compiled(program: FunctionProgram, function: str, path: Path, arch: Arch, options: CompileOptions) -> Compiled:
    signature = read_signature(path, function)
    if memory_of(arch) == "arrays":
        return launched_singly(compile_program(program, signature, arch, path=path, **options))
    return compile_streams(program, signature, arch, path, **options)
