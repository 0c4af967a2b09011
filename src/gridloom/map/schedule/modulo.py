"""Modulo schedules without places: least distances between issues, and Rau's iterative modulo scheduling.

B. R. Rau, Iterative modulo scheduling (MICRO 1994): nodes by decreasing height; each goes to the earliest cycle, within
one II of what its scheduled predecessors allow, in which its op class and its pool have room; where there is none it is
forced in, and what it displaces is scheduled again. Here the result only tells a placer when nodes would like to issue.

Cost: O(n^3) for the distances (compiled), O(n * II) a pass for the schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

#: "No dependence" in a table of least distances.
NONE = -(1 << 28)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """``target`` issues at least ``delay`` cycles after ``source`` of ``distance`` iterations earlier."""

    source: int
    target: int
    delay: int
    distance: int


def least_distances(count: int, dependences: Sequence[Dependence], ii: int) -> Ints:
    """[a, b] -> least cycles from the issue of a to that of b; NONE: no dependence. A positive diagonal: II too low."""
    from gridloom.map.schedule.distance_kernel import close_distances

    table = np.full((count, count), NONE, dtype=np.int64)
    for d in dependences:
        table[d.source, d.target] = max(table[d.source, d.target], d.delay - ii * d.distance)
    close_distances(table)
    return table


def heights(least: Ints) -> Ints:
    """For each node the longest chain of dependences that follows it."""
    tallest: Ints = np.maximum(least.max(axis=1, initial=0), 0).astype(np.int64)
    return tallest


def iterative_modulo_schedule(
    least: Ints, ii: int, resource: Ints, room: Ints, *, budget_ratio: int = 6
) -> tuple[Ints, bool]:
    """Issue cycles from 0 on, and whether they respect both dependences and room.

    ``resource[n]`` is the row of ``room`` (ops a slot) that node n takes one of. Gives up after ``budget_ratio`` tries
    a node and then returns the dependences' earliest cycles.
    """
    count = len(resource)
    height = heights(least)
    cycle = np.full(count, -1, dtype=np.int64)
    tried = np.full(count, -1, dtype=np.int64)
    table = np.zeros((len(room), ii), dtype=np.int64)
    order = [int(k) for k in np.lexsort((np.arange(count), -height))]
    for _ in range(budget_ratio * count + 1):
        node = next((k for k in order if cycle[k] < 0), -1)
        if node < 0:
            return cycle - cycle.min(initial=0), True
        low = _earliest(least, cycle, node)
        slots = [t for t in range(low, low + ii) if table[resource[node], t % ii] < room[resource[node]]]
        when = slots[0] if slots else max(low, int(tried[node]) + 1)
        tried[node] = when
        for other in _displaced(least, cycle, node, when, resource, room, table, ii):
            table[resource[other], cycle[other] % ii] -= 1
            cycle[other] = -1
        cycle[node] = when
        table[resource[node], when % ii] += 1
    early = np.maximum(least.max(axis=0, initial=0), 0).astype(np.int64)
    return early, False


def _earliest(least: Ints, cycle: Ints, node: int) -> int:
    known = (cycle >= 0) & (least[:, node] > NONE)
    known[node] = False
    earliest = max(0, int(least[:, node].max(initial=0)))
    return max(earliest, int((cycle[known] + least[known, node]).max(initial=0)))


def _displaced(
    least: Ints, cycle: Ints, node: int, when: int, resource: Ints, room: Ints, table: Ints, ii: int
) -> list[int]:
    """The scheduled nodes that cannot stay when ``node`` issues at ``when``."""
    placed = cycle >= 0
    placed[node] = False
    late = placed & (least[node] > NONE) & (when + least[node] > cycle)
    gone = np.flatnonzero(late).tolist()
    row = resource[node]
    if table[row, when % ii] >= room[row]:
        here = np.flatnonzero(placed & ~late & (resource == row) & (cycle % ii == when % ii))
        freed = sum(1 for k in gone if resource[k] == row and cycle[k] % ii == when % ii)
        if len(here) and freed == 0:
            gone.append(int(here[-1]))
    return gone


def recurrence(count: int, dependences: Sequence[Dependence], ii: int) -> list[int]:
    """The nodes of a cycle of dependences that an II is too low for, in order; empty: there is none. O(V E)."""
    longest, parent = [0] * count, [-1] * count
    last = -1
    for _ in range(count + 1):
        last = -1
        for d in dependences:
            value = longest[d.source] + d.delay - ii * d.distance
            if value > longest[d.target]:
                longest[d.target], parent[d.target] = value, d.source
                last = d.target
        if last < 0:
            return []
    for _ in range(count):
        last = parent[last]
    cycle, node = [last], parent[last]
    while node != last:
        cycle.append(node)
        node = parent[node]
    cycle.reverse()
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]
