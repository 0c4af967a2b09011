"""Loops for arrays without memory units: their loads and stores are streams, which DMA channels feed and drain."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Unpack

from gridloom.archs.model import Arch
from gridloom.compiler.analysis.evolution import Evolution
from gridloom.compiler.c.function.program import FunctionProgram, LoopPlan
from gridloom.compiler.c.function.signature import Signature
from gridloom.compiler.c.translate import translate
from gridloom.compiler.ir.ir import Instruction, IrModule
from gridloom.errors import GridloomError
from gridloom.flow.functions.compile import (
    Compiled,
    CompiledLoop,
    CompileOptions,
    finish_function,
    map_loop,
    mapping_request,
    restrict_loops,
)
from gridloom.flow.request import Request


def fixed_stride(plan: LoopPlan, access: Instruction) -> int | None:
    """The bytes that a load or store of a loop moves by in each iteration; None where they are not a number."""
    return Evolution(plan.loop).step_of(access.operands[-1])


def compile_streams(
    program: FunctionProgram, signature: Signature, arch: Arch, only: Collection[str],
    **options: Unpack[CompileOptions],
) -> Compiled:  # fmt: skip
    """A function with those loops on an array without memory units whose accesses move by a fixed step.

    Only innermost counted loops are taken.
    """
    request = mapping_request(arch, options)
    loops = [_stream_loop(plan, program.module, program.file, arch, request) for plan in restrict_loops(program, only)]
    bare = finish_function(program, signature, arch, [CompiledLoop(plan=plan) for plan in program.loops])
    bare.loops = tuple(loops)
    return bare


def _stream_loop(plan: LoopPlan, module: IrModule, file: str, arch: Arch, request: Request) -> CompiledLoop:
    """A loop with streams on the array, or the reason why it stays on the core."""
    if plan.graph is None or plan.pieces is not None or plan.is_nest:
        reason = plan.reason or ("it runs in pieces" if plan.pieces is not None else "the core runs it around its loop")
        return CompiledLoop(plan=plan, reason=reason)
    try:
        graph = translate(module, plan.graph.region, file, plan.name, {}, streams=True)
    except GridloomError as error:
        return CompiledLoop(plan=plan, reason=getattr(error, "message", str(error)))
    return map_loop(replace(plan, graph=graph), arch, request, file)
