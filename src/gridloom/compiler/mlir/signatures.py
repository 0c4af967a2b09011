"""The parameters of MLIR functions as plain pointers and numbers.

A buffer with a fixed shape becomes a pointer whose bytes are promised. A buffer with an open shape (``?``) becomes a
pointer, too; where its sizes matter, they are parameters of their own at the end: ``A_dim0``, ``A_dim1``.
Upstream's affine analyses take two buffers that are parameters for distinct ones, and so does this front end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from gridloom.compiler.mlir.refusal import Refusal, line_of

#: Users of a buffer that need its strides but not its outermost size.
_INDEXED: Final = frozenset({"memref.load", "memref.store", "affine.load", "affine.store"})


@dataclass(frozen=True, slots=True)
class MlirParameter:
    """A parameter of a lowered function.

    ``element`` is the type of a number, or of a buffer's elements; ``shape`` is None for a number, and has None for
    open sizes. ``size_of`` names the buffer and the dimension whose size a number is.
    """

    name: str
    element: str
    shape: tuple[int | None, ...] | None = None
    size_of: tuple[str, int] | None = None
    #: A buffer for what the source returns.
    is_result: bool = False


def adapt(function: Any, names: list[str]) -> list[MlirParameter]:
    """Give a function parameters that the LLVM dialect takes as bare pointers, and describe them.

    ``names`` are those of the source; further ones are results that became parameters. Refusal for a buffer whose
    strides are open.
    """
    from torch_mlir import ir

    _check_results(function)
    block = function.regions[0].blocks[0]
    parameters: list[MlirParameter] = []
    sizes: list[MlirParameter] = []
    labels = _labels(names, len(block.arguments))
    with ir.Location.unknown(function.context):
        for k, argument in enumerate(list(block.arguments)):
            if not isinstance(argument.type, ir.MemRefType):
                parameters.append(MlirParameter(labels[k], str(argument.type)))
                continue
            kind = ir.MemRefType(argument.type)
            shape = tuple(None if kind.is_dynamic_dim(d) else kind.get_dim_size(d) for d in range(kind.rank))
            parameters.append(MlirParameter(labels[k], str(kind.element_type), shape, is_result=k >= len(names)))
            _check_layout(kind, shape, function)
            if None in shape:
                sizes += _open(block, argument, parameters[-1])
        _set_type(function, block)
    everything = _distinct([*parameters, *sizes])
    _set_attributes(function, everything)
    return everything


def _check_results(function: Any) -> None:
    """Raise Refusal for results that do not fit a register: buffers, and more than one number."""
    results = [str(kind) for kind in function.attributes["function_type"].value.results]
    if len(results) > 1 or any(kind.startswith("memref") for kind in results):
        raise Refusal(
            f"returns {', '.join(results)}; one number may be returned, buffers are parameters",
            line_of(function.location),
        )


def _labels(names: list[str], count: int) -> list[str]:
    """A name for each parameter: the source's, then ``result`` for what the function returned."""
    extra = count - len(names)
    added = ["result"] if extra == 1 else [f"result{k}" for k in range(extra)]
    return [*names[:count], *added]


def _distinct(parameters: list[MlirParameter]) -> list[MlirParameter]:
    """The parameters with a stroke behind every name that is there already."""
    seen: set[str] = set()
    found = []
    for row in parameters:
        name = row.name
        while name in seen:
            name += "_"
        seen.add(name)
        found.append(replace(row, name=name))
    return found


def _check_layout(kind: Any, shape: tuple[int | None, ...], function: Any) -> None:
    """Raise Refusal for a buffer of which neither size nor strides are fixed or follow from the sizes."""
    text = str(kind)
    if "strided<" in text and ("?" in text.partition("strided<")[2] or None in shape):
        raise Refusal(f"a parameter is {text}; buffers with open strides are not taken", line_of(function.location))
    if "affine_map" in text:
        raise Refusal(
            f"a parameter is {text}; run normalize-memrefs first, so that its layout is plain",
            line_of(function.location),
        )
    if kind.memory_space is not None:
        raise Refusal(f"a parameter is {text}; buffers of one memory space are taken", line_of(function.location))


def _open(block: Any, argument: Any, row: MlirParameter) -> list[MlirParameter]:
    """Replace a parameter of open shape by a pointer and sizes; the sizes that it needs, as parameters."""
    from torch_mlir import ir
    from torch_mlir.dialects import memref

    assert row.shape is not None
    kind = ir.MemRefType(argument.type)
    uses = [use.owner.operation for use in argument.uses]
    needs_first = any(user.name not in _INDEXED for user in uses)
    index = ir.IndexType.get()
    added: list[MlirParameter] = []
    sizes: list[Any] = []
    static: list[int] = []
    first_operation = block.operations[0]
    for d, size in enumerate(row.shape):
        if size is not None:
            static.append(size)
        elif d == 0 and not needs_first:
            # Nothing asks for it: no address depends on the number of rows.
            static.append(1)
        else:
            static.append(ir.ShapedType.get_dynamic_size())
            sizes.append(block.add_argument(index, ir.Location.unknown()))
            added.append(MlirParameter(f"{row.name}_dim{d}", "index", None, (row.name, d)))
    pointer = ir.MemRefType.get([1], kind.element_type)
    with ir.InsertionPoint(first_operation):
        strides, open_strides = _strides(row.shape, static, sizes)
        layout = ir.StridedLayoutAttr.get(0, strides)
        view = memref.ReinterpretCastOp(
            ir.MemRefType.get(static, kind.element_type, layout),
            argument, [], sizes, open_strides, [0], static, strides,
        )  # fmt: skip
        plain = memref.CastOp(kind, view.result)
    argument.replace_all_uses_except(plain.result, [view.operation])
    argument.set_type(pointer)
    return added


def _strides(shape: tuple[int | None, ...], static: list[int], sizes: list[Any]) -> tuple[list[int], list[Any]]:
    """Strides of a buffer in row-major order: numbers, and the values of those that are computed."""
    from torch_mlir import ir
    from torch_mlir.dialects import arith

    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    values = iter(reversed(sizes))
    strides: list[int] = []
    computed: list[Any] = []
    step: int | Any = 1
    for d in reversed(range(len(shape))):
        strides.append(step if isinstance(step, int) else dynamic)
        if not isinstance(step, int):
            computed.append(step)
        if not d:
            break
        size = static[d] if static[d] != ir.ShapedType.get_dynamic_size() else next(values)
        if isinstance(step, int) and isinstance(size, int):
            step *= size
        else:
            index = ir.IndexType.get()
            operands = [arith.ConstantOp(index, v).result if isinstance(v, int) else v for v in (step, size)]
            step = arith.MulIOp(*operands).result
    return strides[::-1], computed[::-1]


def _set_type(function: Any, block: Any) -> None:
    """Let a function's type say what its block's arguments are."""
    from torch_mlir import ir

    results = function.attributes["function_type"].value.results
    kind = ir.FunctionType.get([argument.type for argument in block.arguments], results, context=function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(kind, context=function.context)


def _set_attributes(function: Any, parameters: list[MlirParameter]) -> None:
    """Promise LLVM that the buffers are apart and as long as their shapes say."""
    from torch_mlir import ir

    rows = []
    wide = ir.IntegerType.get_signless(64, function.context)
    for row in parameters:
        known: dict[str, Any] = {}
        if row.shape is not None:
            known["llvm.noalias"] = ir.UnitAttr.get(function.context)
            if length := _bytes(row):
                known["llvm.dereferenceable"] = ir.IntegerAttr.get(wide, length)
        rows.append(ir.DictAttr.get(known, context=function.context))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(rows, context=function.context)


def _bytes(row: MlirParameter) -> int:
    """The bytes of a buffer of fixed shape; 0 where it is open. An index has 4 bytes here."""
    if row.shape is None or None in row.shape:
        return 0
    width = re.search(r"\d+", row.element)
    count = max((int(width[0]) if width else 32) // 8, 1)
    for size in row.shape:
        count *= size or 0
    return count
