"""Whole functions of MLIR files: their parameters as data, and MLIR's own compiler as the judge of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom.compiler.c.function.program import FunctionProgram, program_of
from gridloom.compiler.c.function.signature import CType, FunctionParameter, Signature
from gridloom.compiler.ir.reader import module_of
from gridloom.compiler.loops.spec import parse
from gridloom.compiler.mlir.compile import parameters_of, result_of
from gridloom.compiler.mlir.jit import execute
from gridloom.compiler.mlir.signatures import MlirParameter as MlirParameter
from gridloom.errors import OptionError
from gridloom.flow.functions.data import Arguments
from gridloom.flow.functions.native import NativeOutcome

#: The size of a dimension that nobody gave, where arrays are made up.
OPEN_SIZE: Final = 16
_SCALARS: Final = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "index": "int32", "f32": "float32",
}  # fmt: skip


class MlirFunction:
    """A function of an MLIR file: its program and signature, what completes its arguments, and what judges a run.

    Reading it costs two runs of MLIR's passes and one of clang, a second in all. SourceError where it is not taken.
    """

    #: What a difference is a difference to.
    label: Final = "MLIR's JIT"

    def __init__(self, text: str, distinct: bool = False) -> None:
        spec = parse(text)
        if spec.function is None:
            raise OptionError(f"{spec.path} names no function; write {spec.path}:FUNCTION")
        self.path, self.function, self.singles = spec.path, spec.function, spec.singles
        self.distinct = distinct or spec.distinct
        self.rows = parameters_of(self.path, self.function, singles=self.singles)
        self.result = result_of(self.path, self.function, singles=self.singles)

    def program(self) -> FunctionProgram:
        """The function and its loops."""
        module = module_of(self.path, self.function, singles=self.singles, distinct=self.distinct)
        return program_of(module, self.function, str(self.path))

    def signature(self) -> Signature:
        """The parameters, those for results and for sizes of open shapes included."""
        result = CType(text=self.result, scalar=_SCALARS[self.result]) if self.result else None
        parameters = tuple(FunctionParameter(name=row.name, type=_type(row)) for row in self.rows)
        return Signature(name=self.function, parameters=parameters, result=result, variables={})

    def complete(self, given: Mapping[str, Any], seed: int | None) -> dict[str, Any]:
        """The arguments of a run with the sizes of arrays, buffers for results and, with a seed, what is missing."""
        found = dict(given)
        random = np.random.default_rng(seed)
        for row in self.rows:
            if row.shape is not None and row.name not in found and (row.is_result or seed is not None):
                found[row.name] = _made_up(row, random)
        for row in self.rows:
            if row.size_of is not None and row.name not in found:
                array, dimension = row.size_of
                value = np.asarray(found[array]) if array in found else None
                if value is None or value.ndim <= dimension:
                    dimensions = 0 if value is None else value.ndim
                    raise OptionError(
                        f"{self.function!r} takes the sizes of {array!r} from its array, which has {dimensions} "
                        f"dimensions; give {row.name}=NUMBER, or an array with {dimension + 1} or more"
                    )
                found[row.name] = int(value.shape[dimension])
        return found

    def run(self, arguments: Arguments, contents: Mapping[str, bytes], time_limit: float = 60.0) -> NativeOutcome:
        """Call the function in a process of its own, as MLIR's just-in-time compiler makes it."""
        given: dict[str, Any] = dict(arguments.numbers)
        for name, (dtype, shape) in arguments.shapes.items():
            key, offset = arguments.pointers[name]
            if (key, offset) != (name, 0):
                raise OptionError(f"arrays {key!r} and {name!r} share memory; buffers of MLIR functions are distinct")
            given[name] = np.frombuffer(arguments.objects[key], dtype).reshape(shape)
        (outcome,) = execute(self.path, self.function, [given], singles=self.singles)
        objects = {}
        for name, (dtype, _) in arguments.shapes.items():
            objects[name] = outcome.arrays[name].astype(dtype).tobytes()
        return NativeOutcome(value=self._value(outcome.result), objects=objects)

    def _value(self, result: int | float | None) -> Any:
        return None if result is None else np.asarray(result).astype(_SCALARS[self.result])[()]


def _type(row: MlirParameter) -> CType:
    """The type of a parameter as data."""
    scalar = _SCALARS[row.element]
    if row.shape is None:
        return CType(text=row.element, scalar=scalar)
    text = "x".join([*("?" if size is None else str(size) for size in row.shape), row.element])
    # A truth value is a byte in memory.
    rows = tuple(size or 0 for size in row.shape[1:])
    return CType(text=f"memref<{text}>", scalar="uint8" if scalar == "bool" else scalar, pointer=True, rows=rows)


def _made_up(row: MlirParameter, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Small random numbers for a buffer; zeros for a result."""
    shape = [OPEN_SIZE if size is None else size for size in row.shape or ()]
    dtype = np.dtype(_type(row).scalar)
    if row.is_result:
        return np.zeros(shape, dtype)
    if dtype.kind == "f":
        return random.normal(0.0, 4.0, shape).astype(dtype)
    return random.integers(0 if row.element in ("i1", "i8") else -8, 2 if row.element == "i1" else 64, shape).astype(
        dtype
    )


def mlir_source(source: str | Path) -> str | None:
    """The text of a source that names a function of an MLIR file; None for any other."""
    text = str(source)
    return text if parse(text).path.suffix == ".mlir" else None
