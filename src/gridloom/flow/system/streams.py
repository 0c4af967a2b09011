"""Loops for arrays without memory units: their loads and stores are streams, which DMA channels feed and drain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, Unpack

from gridloom.archs.model import Arch
from gridloom.errors import GridloomError
from gridloom.flow.functions.compile import (
    DEFAULT_EFFORT,
    DEFAULT_TIME_LIMIT,
    Compiled,
    CompiledLoop,
    CompileOptions,
    finish_function,
)
from gridloom.flow.inputs import fit_graph
from gridloom.flow.request import Request
from gridloom.flow.run import map_graph
from gridloom.frontend.c.function.program import FunctionProgram, LoopPlan
from gridloom.frontend.c.function.signature import Signature
from gridloom.frontend.c.llvm.ir import Constant, Instruction, IrModule, Value
from gridloom.frontend.c.loops import NaturalLoop, next_value
from gridloom.frontend.c.nest.values import constant_addition
from gridloom.frontend.c.translate import translate

#: Bytes of the types that indices step over.
_SIZES: Final = {"i8": 1, "i16": 2, "i32": 4}


def fixed_stride(plan: LoopPlan, access: Instruction) -> int | None:
    """The bytes that a load or store of a loop moves by in each iteration; None where they are not a number."""
    return _move(access.operands[-1], plan.loop)


def _move(value: Value, loop: NaturalLoop) -> int | None:
    """What an iteration adds to a number or, in bytes, to a pointer; None where that is no fixed number."""
    if not isinstance(value, Instruction) or not loop.contains(value):
        return 0
    if value.opcode == "phi":
        return _step(value, loop) if value in loop.phis else None
    if value.opcode == "getelementptr" and len(value.operands) == 2:
        start, index = (_move(operand, loop) for operand in value.operands)
        size = _SIZES.get(value.source_type)
        return None if start is None or index is None or size is None else start + index * size
    if value.opcode in ("shl", "mul") and isinstance(value.operands[1], Constant):
        moved, by = _move(value.operands[0], loop), value.operands[1].value
        return None if moved is None else moved << by if value.opcode == "shl" else moved * by
    if value.opcode == "add":
        first, second = (_move(operand, loop) for operand in value.operands)
        return None if first is None or second is None else first + second
    return None


def _step(phi: Instruction, loop: NaturalLoop) -> int | None:
    """What an iteration adds to a phi of the loop's header; None where that is no fixed number."""
    following = next_value(loop, phi)
    if phi.type == "i32":
        return constant_addition(following, phi)
    if not isinstance(following, Instruction) or following.opcode != "getelementptr" or len(following.operands) != 2:
        return None
    start, index = following.operands
    size = _SIZES.get(following.source_type)
    return index.value * size if start is phi and isinstance(index, Constant) and size else None


def compile_streams(
    program: FunctionProgram, signature: Signature, arch: Arch, path: Path, **options: Unpack[CompileOptions]
) -> Compiled:
    """A function with those loops on an array without memory units whose accesses move by a fixed step.

    Only innermost counted loops are taken.
    """
    limit, effort = options.get("time_limit"), options.get("effort")
    if limit is None and effort is None:
        limit, effort = DEFAULT_TIME_LIMIT, DEFAULT_EFFORT
    request = Request(
        source="", arch=arch, mapper=options.get("mapper", "auto"), seed=options.get("seed", 0), time_limit=limit,
        effort=effort, progress=options.get("progress"),
    )  # fmt: skip
    loops = [_stream_loop(plan, program.module, program.file, arch, request) for plan in program.loops]
    bare = finish_function(program, signature, arch, [CompiledLoop(plan=plan) for plan in program.loops], path)
    bare.loops = tuple(loops)
    return bare


def _stream_loop(plan: LoopPlan, module: IrModule, file: str, arch: Arch, request: Request) -> CompiledLoop:
    """A loop with streams on the array, or the reason why it stays on the core."""
    if plan.graph is None or plan.pieces is not None or plan.is_nest:
        reason = plan.reason or ("it runs in pieces" if plan.pieces is not None else "the core runs it around its loop")
        return CompiledLoop(plan=plan, reason=reason)
    try:
        graph = translate(module, plan.graph.region, file, plan.name, {}, streams=True)
        result = map_graph(request, fit_graph(graph.dfg, arch), arch)
    except GridloomError as error:
        return CompiledLoop(plan=plan, reason=getattr(error, "message", str(error)))
    if result.mapping is None:
        failure = result.failure
        reason = "no mapping" if failure is None else f"no mapping: {failure.constraint}: needs {failure.demand}"
        return CompiledLoop(plan=plan, reason=reason)
    return CompiledLoop(plan=replace(plan, graph=graph), mapping=result.mapping,
                        bound=None if result.bound is None else result.bound.total)  # fmt: skip
