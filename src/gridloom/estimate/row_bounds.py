"""How many rows a graph needs on an array of rows whatever the placement: a proof from the array's wires.

On such arrays values only go up, and an op has few wires on which values of its own row arrive (on ``vpcma`` one, the
E output of its western neighbour). Of its operands at most so many come from its own row; each further one comes from a
lower row. That gives the lowest row of every op, as a longest path does:

    lowest(op) = max(largest, 1 + the largest but ``heard``)    over the lowest rows of the ops it reads

A graph whose ops go above the last row does not fit, and the ops whose lowest row is r or more have to find room in
the rows from r on. Linear in nodes and edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from gridloom.archs.model import Arch, Kind


@lru_cache(maxsize=64)
def heard_in_row(arch: Arch) -> int | None:
    """How many wires at most bring an op values of its own row; None: values can come down, and rows say nothing.

    A wire counts when some value of the row can get on it, whatever else is placed. Linear in the arcs.
    """
    highest = _highest_source(arch)
    most = 0
    wires: dict[int, set[int]] = {}
    heard = np.flatnonzero((arch.kind == Kind.IN)[arch.arc_target] & (arch.tile >= 0)[arch.arc_target])
    for source, target in zip(arch.arc_source[heard].tolist(), arch.arc_target[heard].tolist(), strict=True):
        tile = arch.tiles[arch.tile[target]]
        if tile.kind != "pe":
            continue
        if highest[source] > tile.row:
            return None
        if highest[source] == tile.row:
            mine = wires.setdefault(int(arch.tile[target]), set())
            mine.add(source)
            most = max(most, len(mine))
    return most


def _highest_source(arch: Arch) -> list[int]:
    """For each resource the highest row with an op whose value can get there; -1: none."""
    after: list[list[int]] = [[] for _ in arch.resource_names]
    for source, target in zip(arch.arc_source.tolist(), arch.arc_target.tolist(), strict=True):
        after[source].append(target)
    highest = [-1] * len(after)
    outs = [(tile.row, int(arch.out[k])) for k, tile in enumerate(arch.tiles) if tile.kind == "pe"]
    # From the highest row down, so that the first row to reach a resource is the highest one and no resource is visited
    # twice.
    for row, out in sorted(outs, reverse=True):
        if out < 0 or highest[out] >= 0:
            continue
        highest[out] = row
        waiting = [out]
        while waiting:
            for target in after[waiting.pop()]:
                if highest[target] < 0:
                    highest[target] = row
                    waiting.append(target)
    return highest


def upon(rows: Iterable[int], heard: int) -> int:
    """The lowest row of an op that reads ops of these rows."""
    ranked = sorted(rows, reverse=True)
    if len(ranked) > heard:
        return max(ranked[0], ranked[heard] + 1)
    return ranked[0] if ranked else 0


def row_windows(is_op: Sequence[bool], edges: Iterable[tuple[int, int]], heard: int) -> tuple[list[int], list[int]]:
    """For each node the lowest row in which it can sit, and rows that what depends on it takes above it.

    The first is proved, the second a guess: of the operands of an op the highest share its row. Both are 0 for what is
    not an op. ``edges`` without cycles.
    """
    makers: list[set[int]] = [set() for _ in is_op]
    readers: list[list[int]] = [[] for _ in is_op]
    for a, b in edges:
        if is_op[a] and is_op[b] and a not in makers[b]:
            makers[b].add(a)
            readers[a].append(b)
    waiting = [len(mine) for mine in makers]
    order = [n for n, count in enumerate(waiting) if count == 0]
    lowest, above = [0] * len(waiting), [0] * len(waiting)
    for n in order:
        lowest[n] = upon([lowest[a] for a in makers[n]], heard)
        for b in readers[n]:
            waiting[b] -= 1
            if waiting[b] == 0:
                order.append(b)
    for b in reversed(order):
        rows = [lowest[a] for a in makers[b]]
        for a in makers[b]:
            beside = sum(row >= lowest[a] for row in rows)
            above[a] = max(above[a], above[b] + (beside > heard))
    return lowest, above


def columns_needed(lowest: Iterable[int], rows: int) -> int | None:
    """The fewest columns in which the ops that sit in row r or above have room there, for every r; None: too few rows.

    ``lowest`` has the ops alone.
    """
    count = np.bincount(np.fromiter(lowest, dtype=np.int64), minlength=rows)
    if len(count) > rows:
        return None
    above = np.cumsum(count[::-1])
    return int((-(-above // np.arange(1, rows + 1))).max(initial=0))
