"""The array types that mappers and their kernels share, and rows of different lengths as two flat arrays.

Each name of a type says how wide the numbers are.

Indices of nodes, tiles, edges and links are ``Int32s``: tables of large arrays have to stay in the cache. Cycles in
sums, values of tokens and words of memory are ``Int64s``. numba compiles a kernel once for each combination of types
that it is called with, so a table keeps one type everywhere.

Rows of different lengths are compressed sparse rows: row k is ``values[starts[k] : starts[k + 1]]``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Uint8s = NDArray[np.uint8]
Uint64s = NDArray[np.uint64]
Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]


def csr(rows: Iterable[Iterable[int]]) -> tuple[Int32s, Int32s]:
    """(starts, values) of a list of rows, in 32 bits. Linear in the number of values.

    >>> starts, values = csr([[4, 5], [], [6]])
    >>> starts.tolist(), values.tolist()
    ([0, 2, 2, 3], [4, 5, 6])
    """
    starts, values = csr64(rows)
    return starts.astype(np.int32), values.astype(np.int32)


def csr64(rows: Iterable[Iterable[int]]) -> tuple[Int64s, Int64s]:
    """(starts, values) of a list of rows, in 64 bits. Linear in the number of values."""
    lists = [list(row) for row in rows]
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in lists], out=starts[1:])
    return starts, np.array([value for row in lists for value in row], dtype=np.int64)


def csr_of_pairs(count: int, pairs: Iterable[tuple[int, int]]) -> tuple[Int32s, Int32s]:
    """(starts, values) of ``count`` rows, from pairs of a row and a value; a row keeps the order of its pairs."""
    rows: list[list[int]] = [[] for _ in range(count)]
    for row, value in pairs:
        rows[row].append(value)
    return csr(rows)
