"""Data for functions of MLIR files: random, but inside the arrays that the examples index."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gridloom.compiler.mlir.compile import parameters_of
from gridloom.compiler.mlir.signatures import MlirParameter

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "mlir"
DTYPES = {"i1": "u1", "i8": "i1", "i16": "i2", "i32": "i4", "index": "i4", "f32": "f4"}
#: What an open size is, where another one does not ask for more.
OPEN = {"x": 15, "y": 12}


@cache
def parameters(path: Path, function: str, singles: bool) -> tuple[MlirParameter, ...]:
    return tuple(parameters_of(path, function, singles=singles))


def arguments(path: Path, function: str, seed: int, *, singles: bool = False) -> dict[str, Any]:
    """One set of arguments by the parameters' names; open sizes are given by the arrays."""
    generator = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for row in parameters(path, function, singles):
        if row.shape is not None:
            shape = [OPEN.get(row.name, 14) if size is None else size for size in row.shape]
            found[row.name] = _array(generator, row.element, shape)
        elif row.size_of is None:
            found[row.name] = _number(generator, row.element)
    if "starts" in found:
        rows = np.sort(generator.integers(0, 64, found["starts"].size))
        found |= {"starts": rows.astype("i4"), "columns": generator.integers(0, 16, 64).astype("i4")}
    return found


def sizes(path: Path, function: str, given: dict[str, Any], *, singles: bool = False) -> dict[str, int]:
    """The parameters that are sizes of open shapes, by the arrays that were given."""
    rows = parameters(path, function, singles)
    return {row.name: given[row.size_of[0]].shape[row.size_of[1]] for row in rows if row.size_of is not None}


def _array(generator: np.random.Generator, element: str, shape: list[int]) -> np.ndarray:
    if element == "f32":
        return (generator.integers(-64, 64, shape) / 8).astype("f4")
    if element == "i32":
        return generator.integers(-1000, 1000, shape).astype("i4")
    dtype = np.dtype(DTYPES[element])
    return generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)


def _number(generator: np.random.Generator, element: str) -> int | float:
    if element == "f32":
        return float(generator.integers(-64, 64)) / 8
    return int(generator.integers(1, 12)) if element == "index" else int(generator.integers(-9, 9))
