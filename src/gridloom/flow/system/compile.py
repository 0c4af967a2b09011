"""A function with its loops on the array of a system: with loads and stores, or with streams; unrolled or as it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Unpack

from gridloom.archs.model import Arch
from gridloom.compiler.c.function.program import FunctionProgram, LoopPlan, program_of, read_program
from gridloom.compiler.c.function.signature import Signature, read_signature
from gridloom.compiler.c.source.pragmas import with_assertions
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.linking import keep_reachable
from gridloom.compiler.ir.reader import read_module
from gridloom.compiler.passes.jam_nest import INNER, OUTER, jam_nests
from gridloom.compiler.passes.scan import SCAN, TRY, insert_scans
from gridloom.errors import OptionError
from gridloom.flow.functions.compile import (
    LEFT_OVER,
    SEARCHED,
    Compiled,
    CompileOptions,
    choose_form,
    compile_program,
)
from gridloom.flow.functions.naming import NamedFunction, name_function
from gridloom.flow.inputs import ArchLike, memory_of, read_arch
from gridloom.flow.system.plan import launched_singly
from gridloom.flow.system.streams import compile_streams

#: What becomes of short inner loops with a constant number of iterations.
UNROLL: Final = ("auto", "short", "none")


#: Outer iterations that one launch may do, the best first. With 1 the nest itself is to be launched.
JAM_FACTORS: Final = (4, 2, 1)


def compile_for_system(
    source: str | Path | NamedFunction, arch: ArchLike, *, unroll: str = "auto", **options: Unpack[CompileOptions]
) -> Compiled:
    """A function with its loops on an array: with loads and stores, or with streams where the array has no memory.

    ``unroll`` is "short" where inner loops of few iterations, whose number is constant, are to be unrolled, so that the
    loop around them is launched; "none" where they are launched themselves; "auto" for what leaves fewer innermost
    loops to the core, in doubt the former, with nests jammed and searches looked ahead of where that can be mapped.
    Costs a search for each loop, with "auto" up to five.
    """
    if unroll not in UNROLL:
        raise OptionError(f"unroll: expected {', '.join(UNROLL)}, found {unroll!r}")
    named = source if isinstance(source, NamedFunction) else name_function([source])
    asked = SystemForms(named, read_signature(named.source, named.function), read_arch(arch), options)
    forms = (True, False) if unroll == "auto" else (unroll == "short",)
    programs = [read_program(named.source, named.function, unrolled=form) for form in forms]
    if len(programs) == 1:
        return asked.compile(programs[0])
    return choose_form(programs[0], programs[1], asked.compile, asked.rewrite)


def program_ir(program: FunctionProgram) -> str:
    """The IR that a program was read from."""
    return program.ir or _source_ir(program)


def core_ir(program: FunctionProgram) -> dict[str, str]:
    """What the core alone runs, by how it is compiled: the IR of the file, and that which the launches are put into."""
    plain = _source_ir(program)
    return {"clang -O2": plain} | ({"clang -O2, rewritten": program.ir} if program.ir else {})


def _source_ir(program: FunctionProgram) -> str:
    """What clang makes of the files, as far as the function reaches it."""
    assert program.source is not None
    return keep_reachable(compile_to_ir(program.source, unrolled=program.unrolled), {program.name}, program.file)


@dataclass(frozen=True)
class SystemForms:
    """What is to be compiled, for which array, and how its loops are mapped."""

    named: NamedFunction
    signature: Signature
    arch: Arch
    options: CompileOptions

    def rewrite(self, program: FunctionProgram) -> Compiled:
        """The function with searches looked ahead of and as many outer iterations in one launch as can be mapped.

        As it is where the array cannot have what that makes.
        """
        plain, path, function = program_ir(program), Path(program.file), program.name
        found = insert_scans(plain, path, function)
        ir, old = (plain, frozenset[str]()) if found is None else (found.ir, found.old)
        # With streams only innermost loops are launched.
        for factor in JAM_FACTORS if memory_of(self.arch) == "arrays" else JAM_FACTORS[:-1]:
            jam = jam_nests(ir, path, function, factor)
            if jam is None:
                continue
            compiled = self.variant(program, jam.ir, old, jam.left_over, jam.turns)
            if _is_mapped(compiled) and (factor > 1 or _has_nest(compiled)):
                return compiled
        if found is not None:
            compiled = self.variant(program, ir, old, frozenset())
            if _is_mapped(compiled):
                return compiled
        return self.compile(program)

    def variant(
        self, program: FunctionProgram, ir: str, old: Collection[str], left: Collection[str],
        turns: Mapping[str, int] = MappingProxyType({}),
    ) -> Compiled:  # fmt: skip
        """The compiled function of rewritten IR; ``old``: headers of searches, ``left``: those of left-over loops.

        ``turns`` gives the least iterations of the loops inside of jammed nests.
        """
        module = read_module(ir, program.file)
        for unit in program.source.units if program.source is not None else ():
            with_assertions(module, unit.path)
        made = program_of(module, program.name, program.file, turns=turns)
        loops: list[LoopPlan] = []
        for plan in made.loops:
            header, inner = plan.loop.header, [child.header for child in plan.loop.children]
            if header in left or any(child in left for child in inner):
                plan = replace(plan, graph=None, pieces=None, reason=LEFT_OVER)
            elif header in old or header.startswith(TRY) or any(child.startswith(SCAN) for child in inner):
                plan = replace(plan, graph=None, pieces=None, reason=SEARCHED)
            loops.append(plan)
        kept = {name: getattr(program, name) for name in ("source", "warnings", "unrolled")}
        return self.compile(replace(made, ir=ir, loops=tuple(loops), **kept))

    def compile(self, program: FunctionProgram) -> Compiled:
        """The program with its loops on the array."""
        only = self.named.only
        if memory_of(self.arch) != "arrays":
            return compile_streams(program, self.signature, self.arch, only, **self.options)
        # The driver has no launches side by side and no exchanged loops.
        loops = tuple(replace(plan, jams=(), exchanged=None) for plan in program.loops)
        program = replace(program, loops=loops)
        return launched_singly(compile_program(program, self.signature, self.arch, only=only, **self.options))


def _is_mapped(compiled: Compiled) -> bool:
    """Whether all loops that rewriting has made for the array are on it."""
    inner = [loop for loop in compiled.loops if loop.plan.loop.header.startswith((INNER, SCAN))]
    return bool(inner) and all(loop.mapping is not None for loop in inner if not loop.plan.is_nest)


def _has_nest(compiled: Compiled) -> bool:
    """Whether a nest that rewriting has made is on the array as one loop."""
    return any(loop.mapping is not None and loop.plan.is_nest and loop.plan.loop.header.startswith(OUTER)
               for loop in compiled.loops)  # fmt: skip
