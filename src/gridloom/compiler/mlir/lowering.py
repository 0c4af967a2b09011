"""An MLIR file as LLVM IR: parse, refuse, bufferise, lower. Runs in a process of its own (see ``child``).

The steps are upstream's passes; what is done here by hand is small: functions that nothing may take are left out with
their reasons, copies become loops, allocations of a fixed size go to the stack, and parameters become bare pointers.
"""

from __future__ import annotations

import re
import struct
from dataclasses import asdict, dataclass, field
from typing import Any

from gridloom.compiler.mlir import passes
from gridloom.compiler.mlir.checking import check_dialect, check_function, find_calls
from gridloom.compiler.mlir.refusal import Refusal, from_diagnostics, line_of
from gridloom.compiler.mlir.signatures import MlirParameter, adapt
from gridloom.compiler.mlir.source_text import MlirFunctionText, functions_of, modernise_text, unreachable, without


@dataclass(slots=True)
class LoweredModule:
    """A module in the LLVM dialect, what its functions take, and what was refused: name -> (line, reason)."""

    module: Any
    parameters: dict[str, list[MlirParameter]] = field(default_factory=dict)
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    #: The type of the number that a function returns, "" for none.
    results: dict[str, str] = field(default_factory=dict)


def lower_to_text(source: str, function: str | None, singles: bool) -> dict[str, Any]:
    """LLVM IR of a file's functions as plain data: ``ir``, ``parameters``, ``refused``, ``lines``, ``text``.

    With a function's name only that function and what it calls are looked at. ``singles`` reads every f64 as f32.
    """
    from torch_mlir.dialects import llvm

    text = modernise_text(source)
    lowered = lower(text, function, singles, index_bits=32)
    passes.run(lowered.module, passes.LINES)
    rows = {name: [asdict(row) for row in found] for name, found in lowered.parameters.items()}
    ir_text = llvm.translate_module_to_llvmir(lowered.module.operation)
    return {
        "ir": ir_text, "parameters": rows, "results": lowered.results, "refused": lowered.refused,
        "lines": lowered.lines, "text": text,
    }  # fmt: skip


def lower(text: str, function: str | None, singles: bool, index_bits: int) -> LoweredModule:
    """The functions of a text in the LLVM dialect.

    Without a function's name, functions that are not taken are left out and listed; with one, Refusal where it is not
    taken.
    """
    found = functions_of(text)
    lines = {row.name: row.line for row in found}
    if function is not None:
        text = without(text, unreachable(text, found, function))
    refused: dict[str, tuple[int, str]] = {}
    while True:
        try:
            lowered = _lowered(text, found, refused, singles, index_bits)
            break
        except Refusal as refusal:
            name = refusal.function or _function_at(found, refusal.line)
            row = next((row for row in found if row.name == name), None)
            if row is None or name in refused or function == name:
                raise Refusal(_clearer(refusal, text), refusal.line) from None
            refused[name] = (refusal.line or row.line, _clearer(refusal, text))
            text = without(text, [row])
    if function is not None and function in refused:
        raise Refusal(refused[function][1], refused[function][0])
    lowered.lines = lines
    lowered.refused = {row.name: refused[row.name] for row in found if row.has_body and row.name in refused}
    return lowered


def _clearer(refusal: Refusal, text: str) -> str:
    """The message of a refusal; the parser's complaint about an old pointer type in plain words."""
    line = text.splitlines()[refusal.line - 1] if refusal.line else ""
    if refusal.message.startswith("MLIR:") and "!llvm.ptr<" in line:
        return "the pointers of LLVM before version 17 (!llvm.ptr<i8>) are not taken; !llvm.ptr is"
    return refusal.message


def _function_at(functions: list[MlirFunctionText], line: int) -> str:
    """The function whose text holds a line; "" where none does."""
    within = [row for row in functions if row.line <= line]
    return within[-1].name if within else ""


def _lowered(
    text: str, found: list[MlirFunctionText], refused: dict[str, tuple[int, str]], singles: bool, index_bits: int
) -> LoweredModule:
    """One attempt to lower a text; functions that are refused by their ops are erased and noted."""
    module = _parsed(text)
    if singles:
        module = _with_singles(module)
    _refuse(module, refused)
    for op in _functions(module):
        # All functions are entries here, whoever calls them in the file.
        for name in ("sym_visibility", "llvm.linkage"):
            if name in op.attributes:
                del op.attributes[name]
    passes.run(module, passes.INLINE)
    _refuse_calls(module)
    if "tensor<" in str(module):
        passes.run(module, passes.BUFFERS)
    _simplify_buffers(module)
    passes.run(module, passes.LOOPS)
    names = {row.name: list(row.parameters) for row in found}
    parameters = {_name(op): adapt(op, names.get(_name(op), [])) for op in _functions(module)}
    results = {_name(op): "".join(map(str, op.attributes["function_type"].value.results)) for op in _functions(module)}
    passes.run(module, passes.to_llvm(index_bits))
    check_dialect(module)
    _keep_loops(module)
    return LoweredModule(module, parameters, refused, results=results)


def _keep_loops(module: Any) -> None:
    """Tell clang not to make calls of loops that fill or copy, as its options tell it for C."""
    from torch_mlir import ir

    words = ("no-builtin-memset", "no-builtin-memcpy", "no-builtin-memmove")
    with module.context:
        kept = ir.ArrayAttr.get([ir.StringAttr.get(word) for word in words])
    for op in module.body.operations:
        if op.operation.name == "llvm.func":
            op.attributes["passthrough"] = kept


def _parsed(text: str) -> Any:
    """The module of a text. Refusal with the parser's complaint and its line."""
    from torch_mlir import ir

    context = ir.Context()
    context.allow_unregistered_dialects = True
    try:
        return ir.Module.parse(text, context)
    except ir.MLIRError as error:
        raise from_diagnostics(error) from None


def _functions(module: Any) -> list[Any]:
    """The functions of a module that have bodies."""
    return [op for op in module.body.operations if op.operation.name == "func.func" and len(op.regions[0].blocks)]


def _name(op: Any) -> str:
    return str(op.attributes["sym_name"]).strip('"')


def _refuse(module: Any, refused: dict[str, tuple[int, str]]) -> None:
    """Erase the functions of a module that are not taken, those that call them, and declarations; note the reasons."""
    for op in list(module.body.operations):
        name = op.operation.name
        if name == "llvm.func":
            refused[_name(op)] = (line_of(op.location), "llvm.func is not taken; func.func is")
            op.operation.erase()
        elif name not in ("func.func", "memref.global"):
            if name.startswith(("llvm.mlir.global", "llvm.comdat")):
                op.operation.erase()
            else:
                raise Refusal(f"{name} is not taken outside of functions", line_of(op.location))
    bodies = {_name(op): op for op in _functions(module)}
    for name, op in bodies.items():
        try:
            check_function(op.operation)
        except Refusal as refusal:
            refused[name] = (refusal.line, refusal.message)
    calls = {name: find_calls(op.operation) for name, op in bodies.items()}
    changed = True
    while changed:
        changed = False
        for name, targets in calls.items():
            missing = next((row for row in targets if row[0] not in bodies or row[0] in refused), None)
            if missing and name not in refused:
                reason = f" ({refused[missing[0]][1]})" if missing[0] in refused else ""
                has = "which is not taken" if reason else "which has no body"
                refused[name] = (missing[1], f"calls {missing[0]!r}, {has}{reason}")
                changed = True
    for op in list(module.body.operations):
        if op.operation.name == "func.func" and (_name(op) in refused or _name(op) not in bodies):
            op.operation.erase()


def _refuse_calls(module: Any) -> None:
    """Raise Refusal for a call that could not be inlined: a function that calls itself."""
    for op in _functions(module):
        for target, line in find_calls(op.operation):
            raise Refusal(f"calls {target!r}, which calls itself", line, _name(op))


def _simplify_buffers(module: Any) -> None:
    """Copies become loops, allocations of a fixed size go to the stack, and nothing is freed."""
    from torch_mlir import ir
    from torch_mlir.dialects import linalg, memref

    for op in _all(module.operation):
        with op.location, ir.InsertionPoint(op):
            if op.name == "memref.copy":
                linalg.copy(op.operands[0], outs=[op.operands[1]])
                op.erase()
            elif op.name == "memref.alloc":
                fresh = memref.AllocaOp(op.results[0].type, [], [])
                op.results[0].replace_all_uses_with(fresh.result)
                op.erase()
            elif op.name in ("memref.dealloc", "memref.assume_alignment"):
                if op.results:
                    op.results[0].replace_all_uses_with(op.operands[0])
                op.erase()


def _all(op: Any) -> list[Any]:
    """All ops inside an op, as a list that stays valid while ops are exchanged."""
    found = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                found.append(inner.operation)
                found += _all(inner.operation)
    return found


def _with_singles(module: Any) -> Any:
    """The module with f32 in the place of every f64; conversions between the two change nothing any more."""
    text = module.operation.get_asm(enable_debug_info=True, assume_verified=True)
    text = re.sub(r"\b0x([0-9A-F]{16})(?= : f64\b)", lambda match: _single_pattern(match[1]), text)
    text = re.sub(r"(?<![\w@%#\"$.!])f64\b|(?<=[\dx?]x)f64\b", "f32", text)
    # The verifier takes no conversion of f32 to f32.
    text = re.sub(r"arith\.(?:extf|truncf) (%[\w#]+)[^:\n]* : f32 to f32", r"arith.bitcast \1 : f32 to f32", text)
    return _parsed(text)


def _single_pattern(digits: str) -> str:
    """The pattern of the single nearest to a double that is written as a pattern: infinities, not-a-number."""
    number = struct.unpack(">d", bytes.fromhex(digits))[0]
    return f"0x{struct.pack('>f', number).hex().upper()}"
