"""Longest paths between all pairs, compiled: the closure of the least distances between issue cycles."""

from __future__ import annotations

from numba import njit

from gridloom.mappers.core.arrays import Int64s

_NONE = -(1 << 28)


@njit(cache=True, nogil=True)
def close_distances(table: Int64s) -> None:
    """Turn lengths of arcs into lengths of longest paths, in place (Floyd and Warshall). O(n^3).

    With a cycle of positive length the result is no distance, but its diagonal is positive somewhere, which is the
    test.
    """
    count = table.shape[0]
    for k in range(count):
        for a in range(count):
            first = table[a, k]
            if first <= _NONE:
                continue
            for b in range(count):
                if table[k, b] > _NONE and first + table[k, b] > table[a, b]:
                    table[a, b] = first + table[k, b]
