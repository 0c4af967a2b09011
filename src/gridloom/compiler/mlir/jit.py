"""What a function of an MLIR file computes: MLIR's own just-in-time compiler runs it, in a process of its own.

It is the judge of what the arrays compute, so it shares nothing with the way to the graphs but the parser and the
upstream passes: it lowers for this machine (an index has 64 bits), without clang and without the graph.
"""

from __future__ import annotations

import base64
import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.compiler.confinement import confine_here
from gridloom.compiler.mlir.child import call
from gridloom.compiler.mlir.compile import MAX_SOURCE_BYTES
from gridloom.errors import OptionError
from gridloom.text_file import read_text

#: Element type -> how it lies in memory here.
DTYPES: Final = {"i1": "u1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "index": "i8", "f32": "f4"}

_TASK: Final = "gridloom.compiler.mlir.jit:run_here"


@dataclass(frozen=True)
class JitOutcome:
    """What one run leaves: every buffer by the name of its parameter, and the number that the function returned."""

    arrays: Mapping[str, np.ndarray[Any, Any]]
    result: int | float | None


def execute(path: Path, function: str, runs: Sequence[Mapping[str, Any]], *, singles: bool = False) -> list[JitOutcome]:
    """Run a function on several sets of arguments by name: arrays for buffers, numbers for the rest.

    Buffers that hold results have to be given, too. The sizes of buffers of open shape are those of the arrays. Costs
    0.5 s and the runs themselves. SourceError as :func:`compile_to_ir`; OptionError for a missing argument.
    """
    source = read_text(path, limit=MAX_SOURCE_BYTES)
    packed = [{name: _packed(value) for name, value in run.items()} for run in runs]
    answers = call(_TASK, path, source, function, singles, packed)
    if "missing" in answers:
        raise OptionError(f"{path}:{function}: argument {answers['missing']!r} is missing")
    return [_outcome(answer) for answer in answers["runs"]]


def _packed(value: Any) -> Any:
    """A value as JSON data; arrays as their bytes."""
    if isinstance(value, np.ndarray):
        return {
            "dtype": value.dtype.str,
            "shape": list(value.shape),
            "data": base64.b64encode(value.tobytes()).decode(),
        }
    return value.item() if isinstance(value, np.generic) else value


def _unpacked(value: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    data = np.frombuffer(base64.b64decode(value["data"]), dtype=value["dtype"])
    return data.reshape(value["shape"]).copy()


def _outcome(answer: Mapping[str, Any]) -> JitOutcome:
    return JitOutcome({name: _unpacked(row) for name, row in answer["arrays"].items()}, answer["result"])


# -- in the other process ---------------------------------------------------------------------------------------------


def run_here(source: str, function: str, singles: bool, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Compile a function and run it on all sets of arguments; ``missing`` names an argument that is not there."""
    from torch_mlir.execution_engine import ExecutionEngine

    from gridloom.compiler.mlir.lowering import lower
    from gridloom.compiler.mlir.refusal import Refusal
    from gridloom.compiler.mlir.source_text import modernise_text

    lowered = lower(modernise_text(source), function, singles, index_bits=64)
    if function not in lowered.parameters:
        raise Refusal(f"has no function {function!r}")
    rows = lowered.parameters[function]
    kind = lowered.results[function]
    engine = ExecutionEngine(lowered.module)
    address = engine.raw_lookup(function)
    answers = []
    # From here on the code of the file runs: it finds neither files nor processes nor a network.
    confine_here()
    for run in runs:
        for row in rows:
            if row.name not in run and row.size_of is None:
                return {"missing": row.name}
        answers.append(_one_run(address, rows, run, kind))
    return {"runs": answers}


def _one_run(address: int, rows: Sequence[Any], run: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Call the compiled function once: it takes an array of pointers to its arguments, the result's last."""
    arrays: dict[str, Any] = {}
    cells: list[Any] = []
    for row in rows:
        if row.shape is not None:
            arrays[row.name] = np.ascontiguousarray(_unpacked(run[row.name]).astype(DTYPES[row.element]))
            cells.append(ctypes.c_void_p(arrays[row.name].ctypes.data))
        else:
            size = row.size_of and _unpacked(run[row.size_of[0]]).shape[row.size_of[1]]
            value = run.get(row.name, size)
            cells.append(_number(row.element, value))
    result = _number(kind, 0) if kind else None
    pointers = [ctypes.addressof(cell) for cell in cells] + ([ctypes.addressof(result)] if result is not None else [])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)((ctypes.c_void_p * max(len(pointers), 1))(*pointers))
    return {
        "arrays": {name: _packed(array) for name, array in arrays.items()},
        "result": None if result is None else result.value,
    }


def _number(kind: str, value: Any) -> Any:
    """A number in memory as LLVM has it."""
    cells = {"f32": ctypes.c_float, "i64": ctypes.c_int64, "index": ctypes.c_int64, "i16": ctypes.c_int16,
             "i8": ctypes.c_int8, "i1": ctypes.c_bool}  # fmt: skip
    return cells.get(kind, ctypes.c_int32)(value)
