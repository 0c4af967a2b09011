"""Rows of different lengths as two flat arrays (compressed sparse rows).

Row k is ``values[starts[k] : starts[k + 1]]``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gridloom.mappers.core.arrays import Int32s, Int64s


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
