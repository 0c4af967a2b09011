"""A ``*.mlir`` file as optimised LLVM IR: lowered by MLIR's passes, named, and cleaned up by clang as C is."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from gridloom.compiler.ir.driver import optimise_ir
from gridloom.compiler.mlir.child import call
from gridloom.compiler.mlir.naming import name_values
from gridloom.compiler.mlir.signatures import MlirParameter
from gridloom.errors import SourceError
from gridloom.text_file import read_text

MAX_SOURCE_BYTES: Final = 4 * 1024 * 1024

#: How the IR text carries what was refused to whoever reads it: one comment for each function.
REFUSED: Final = "; gridloom refused "


def parameters_of(path: Path, function: str, *, singles: bool = False) -> list[MlirParameter]:
    """The parameters of a function in their order, sizes of open shapes and buffers for results included.

    Errors and cost are those of :func:`compile_to_ir`.
    """
    rows = _lowered(path, function, singles)["parameters"][function]
    return [
        MlirParameter(row["name"], row["element"], _tuple(row["shape"]), _tuple(row["size_of"]), row["is_result"])
        for row in rows
    ]


def result_of(path: Path, function: str, *, singles: bool = False) -> str:
    """The type of the number that a function returns; "" where it returns none. Errors as :func:`compile_to_ir`."""
    return str(_lowered(path, function, singles)["results"][function])


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def compile_to_ir(path: Path, *, function: str | None = None, singles: bool = False) -> str:
    """The optimised LLVM IR of an MLIR file, with a comment for every function that is not taken.

    With a function's name only that function and what it calls have to be taken. ``singles`` reads every f64 as f32.
    SourceError with file and line names the op, dialect or type that is not taken. Costs 0.4 to 0.8 s.
    """
    found = _lowered(path, function, singles)
    names = {name: [row["name"] for row in rows] for name, rows in found["parameters"].items()}
    text = optimise_ir(name_values(found["ir"], found["text"], names, str(path)), path)
    notes = [REFUSED + json.dumps([name, line, reason]) for name, (line, reason) in found["refused"].items()]
    return "\n".join([*notes, text])


def _lowered(path: Path, function: str | None, singles: bool) -> dict[str, Any]:
    """What the passes make of a file; SourceError where it has no such function."""
    found = _lowered_text(path, read_text(path, limit=MAX_SOURCE_BYTES), function, singles)
    if function is not None and function not in found["parameters"]:
        known = ", ".join(found["lines"]) or "none"
        raise SourceError(f"has no function {function!r}; functions: {known}", where=str(path))
    return found


@lru_cache(maxsize=8)
def _lowered_text(path: Path, source: str, function: str | None, singles: bool) -> dict[str, Any]:
    """What the passes make of a text, in a process of its own. The last ones are kept: a run asks several times."""
    found: dict[str, Any] = call("gridloom.compiler.mlir.lowering:lower_to_text", path, source, function, singles)
    return found
