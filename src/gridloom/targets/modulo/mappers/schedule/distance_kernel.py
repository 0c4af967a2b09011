"""Longest paths between all pairs, compiled: the closure of the least distances between issue cycles."""

from __future__ import annotations

import numpy as np

from gridloom.jit import checked_kernel, kernel
from gridloom.search.arrays import Int64s

_NONE = -(1 << 28)


@checked_kernel
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


@kernel
def longest_paths(order: Int64s, source: Int64s, target: Int64s, length: Int64s, passes: int, table: Int64s) -> bool:
    """Fill a table with the lengths of longest paths, row by row; False after ``passes`` rounds without an end.

    ``order`` has the arcs so that most come after those that lead to their sources; then few rounds are enough. Cost:
    rounds * nodes * arcs, which for a sparse graph is far below the cube of the nodes.
    """
    count = table.shape[0]
    reached = np.zeros(count, dtype=np.int64)
    for start in range(count):
        reached[:] = _NONE
        for turn in range(passes + 1):
            changed = False
            for k in order:
                a = source[k]
                before = max(reached[a], 0) if a == start else reached[a]
                if before > _NONE and before + length[k] > reached[target[k]]:
                    reached[target[k]] = before + length[k]
                    changed = True
            if not changed:
                break
            if turn == passes:
                return False
        for node in range(count):
            table[start, node] = reached[node]
    return True
