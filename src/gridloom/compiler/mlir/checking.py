"""Which ops and types of an MLIR function are taken; anything else is refused by name and line before it is lowered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from gridloom.compiler.mlir.refusal import Refusal, line_of


def _ops(names: str) -> frozenset[str]:
    return frozenset(names.split())


#: Dialect -> its ops that are taken; None: all of them, as far as the passes lower them.
_TAKEN: Final[dict[str, frozenset[str] | None]] = {
    "affine": _ops("apply delinearize_index for if linearize_index load max min parallel store yield"),
    "arith": None,
    "bufferization": _ops("alloc_tensor materialize_in_destination to_buffer to_memref to_tensor"),
    "cf": _ops("br cond_br switch"),
    "func": _ops("call func return"),
    "index": None,
    "linalg": None,
    "llvm": _ops("mlir.undef mlir.poison mlir.constant mlir.zero"),
    "math": _ops("absf absi copysign ctlz ctpop cttz sqrt"),
    "memref": _ops(
        "alloc alloca assume_alignment cast collapse_shape copy dealloc dim expand_shape get_global global load "
        "reinterpret_cast store subview transpose"
    ),
    "scf": _ops(
        "condition execute_region for forall forall.in_parallel if in_parallel index_switch parallel reduce "
        "reduce.return while yield"
    ),
    "tensor": _ops(
        "cast collapse_shape dim empty expand_shape extract extract_slice from_elements generate insert insert_slice "
        "pad parallel_insert_slice reshape splat yield"
    ),
    "ub": _ops("poison"),
}
_WIDTHS: Final = frozenset({1, 8, 16, 32, 64})


def check_function(function: Any) -> None:
    """Raise Refusal for the first op or type of a ``func.func`` that is not taken."""
    for type_ in _signature(function):
        _check_type(str(type_), line_of(function.location))
    for op in _inside(function):
        _check_op(op)


def find_calls(function: Any) -> list[tuple[str, int]]:
    """The functions that a function calls, each with the line of the call."""
    names = []
    for op in _inside(function):
        if op.name == "func.call":
            names.append((str(op.attributes["callee"]).removeprefix("@").strip('"'), line_of(op.location)))
    return names


def check_dialect(module: Any) -> None:
    """Raise Refusal for an op that the passes left in another dialect than LLVM's."""
    for op in _inside(module.operation):
        if not op.name.startswith(("llvm.", "builtin.module")):
            raise Refusal(f"MLIR's passes do not lower {op.name}", line_of(op.location), enclosing(op))


def enclosing(op: Any) -> str:
    """The name of the function that holds an op; "" outside of functions."""
    while op is not None and op.name not in ("func.func", "llvm.func"):
        op = op.parent.operation if op.parent is not None else None
    return str(op.attributes["sym_name"]).strip('"') if op is not None else ""


def _inside(op: Any) -> Iterator[Any]:
    """All ops inside an op, each before what it holds."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _inside(inner.operation)


def _signature(function: Any) -> list[Any]:
    """The types of parameters and results."""
    kind = function.attributes["function_type"].value
    return [*kind.inputs, *kind.results]


def _check_op(op: Any) -> None:
    """Raise Refusal for an op that is not taken."""
    dialect, _, name = op.name.partition(".")
    line = line_of(op.location)
    if dialect not in _TAKEN:
        known = ", ".join(sorted(_TAKEN))
        raise Refusal(f"{op.name} is of the dialect {dialect!r}, which is not taken; taken are {known}", line)
    taken = _TAKEN[dialect]
    if taken is not None and name not in taken:
        raise Refusal(f"{op.name} is not taken; of {dialect!r} there are {', '.join(sorted(taken))}", line)
    if op.name == "memref.alloc" and op.operands:
        raise Refusal("memref.alloc of a size that is computed is not taken; give it a fixed size", line)
    if op.name == "memref.alloca" and op.operands:
        raise Refusal("memref.alloca of a size that is computed is not taken; give it a fixed size", line)
    for value in op.results:
        _check_type(str(value.type), line)
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                _check_type(str(argument.type), line)


def _check_type(text: str, line: int) -> None:
    """Raise Refusal for a type that has no place in words of 32 bits."""
    if text.startswith("vector<"):
        raise Refusal(f"{text} is not taken: the array computes with single words; lower vectors to loops first", line)
    if text.startswith(("memref<*", "tensor<*")):
        raise Refusal(f"{text} is not taken; give it a rank", line)
    shaped = re.fullmatch(r"(?:memref|tensor)<(.*)>", text)
    _check_element((shaped[1] if shaped else text), text, line)


def _check_element(text: str, whole: str, line: int) -> None:
    """Raise Refusal for a number that is no integer, index or single."""
    kind = re.sub(r"^(?:[\d?]+x)+", "", text).partition(",")[0].strip()
    if (re.fullmatch(r"i\d+", kind) and int(kind[1:]) in _WIDTHS) or kind in ("index", "f32"):
        return
    if kind == "f64":
        raise Refusal(
            "computes with f64; integers of up to 64 bits and f32 are taken (f64=f32 after the function's name reads "
            "every f64 as f32)", line,
        )  # fmt: skip
    raise Refusal(f"{whole if kind != whole else kind} is not taken; integers, index and f32 are", line)
