"""Modulo schedules without places: least distances between issues, and Rau's iterative modulo scheduling.

B. R. Rau, Iterative modulo scheduling (MICRO 1994): nodes by decreasing height; each goes to the earliest cycle, within
one II of what its scheduled predecessors allow, in which tiles, its op class and its bus have room; where there is none
it is forced in, and what it displaces is scheduled again. ``shorten_lifetimes`` then moves nodes within their windows
so that values wait less.

Cost: O(n^3) for the distances (for large graphs as a rule O(n * arcs)) and O(n^2) per pass for the schedule, compiled.

A placer asks for the bounds of one node at a time (``relations``). In a graph of many parts few nodes depend on each
other, and in any graph a row that lies together in memory is read far faster than a column of a large table.

What a schedule counts before anything has a place: tiles, the tiles of an op class, buses.

The counts are necessary and not sufficient: a schedule within them may still have no placement. Row 0 of ``room`` is
all tiles, further ones are sets of tiles that fewer can serve, and buses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gridloom.archs.model import Arch
from gridloom.search.arrays import Float64s, Int32s, Int64s

# Placements per node after which a schedule is given up.
_TRIES = 12
_SWEEPS = 8

# Graphs with more nodes than this get their distances row by row, in so many rounds at most.
_DENSE = 64
_ROUNDS = 40

#: "No dependence" in a table of least distances.
NONE = -(1 << 28)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """``target`` issues at least ``delay`` cycles after ``source`` of ``distance`` iterations earlier.

    At an II this is cycle[target] >= cycle[source] + delay - II * distance. A negative delay with a negative distance
    states an upper bound.
    """

    source: int
    target: int
    delay: int
    distance: int


def least_distances(count: int, dependences: Sequence[Dependence], ii: int) -> Int64s:
    """[a, b] -> least cycles from the issue of a to that of b; NONE: no dependence. A positive diagonal: II too low."""
    from gridloom.targets.modulo.mappers.schedule.iterative_kernel import close_distances, longest_paths

    table = np.full((count, count), NONE, dtype=np.int64)
    if count > _DENSE and dependences:
        source, target, length = np.array(
            [(d.source, d.target, d.delay - ii * d.distance) for d in dependences], dtype=np.int64
        ).T.copy()
        if longest_paths(_along(count, dependences), source, target, length, _ROUNDS, table):
            return table
        table[:] = NONE
    for d in dependences:
        table[d.source, d.target] = max(table[d.source, d.target], d.delay - ii * d.distance)
    close_distances(table)
    return table


def warm_up_distances() -> None:
    """Load or compile the kernels of :func:`least_distances`, those for small and those for large graphs."""
    for count in (2, _DENSE + 1):
        least_distances(count, [Dependence(source=0, target=1, delay=1, distance=0)], 1)


def _along(count: int, dependences: Sequence[Dependence]) -> Int64s:
    """The dependences in an order in which those within an iteration follow each other."""
    waiting, following = [0] * count, [[] for _ in range(count)]  # type: tuple[list[int], list[list[int]]]
    for d in dependences:
        if d.distance == 0 and d.delay >= 0:
            waiting[d.target] += 1
            following[d.source].append(d.target)
    ready, place = [n for n in range(count) if not waiting[n]], [count] * count
    for k, node in enumerate(ready):
        place[node] = k
        for after in following[node]:
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return np.array(sorted(range(len(dependences)), key=lambda k: place[dependences[k].source]), dtype=np.int64)


def heights(least: Int64s) -> Int64s:
    """For each node the longest chain of dependences that follows it, in cycles; at least 0.

    >>> import numpy as np
    >>> heights(np.array([[NONE, 2, 5], [NONE, NONE, 3], [NONE, NONE, NONE]])).tolist()
    [5, 3, 0]
    """
    tallest: Int64s = np.maximum(least.max(axis=1, initial=0), 0).astype(np.int64)
    return tallest


def modulo_schedule(
    least: Int64s,
    ii: int,
    takes: Int64s,
    room: Int64s,
    *,
    start: Int64s | None = None,
    wanted: Int64s | None = None,
    noise: Float64s | None = None,
) -> Int64s | None:
    """Issue cycles from 0 on that respect dependences and room; None where the search for them is given up.

    ``takes[n, r]`` is what node n takes of resource r in its slot, ``room[r]`` what there is. ``start`` holds cycles
    that are kept (-1: free), ``wanted`` those that a node takes if it can (-1: the earliest), and ``noise`` is added to
    the order of nodes. ``least`` has to be free of positive cycles.
    """
    from gridloom.targets.modulo.mappers.schedule.iterative_kernel import schedule_modulo

    count = len(takes)
    # Higher nodes first, then as they come.
    rank = -heights(least).astype(np.float64) + np.arange(count) / (count + 1)
    if noise is not None:
        rank += noise
    free = np.full(count, -1, dtype=np.int64)
    cycle, kept = free.copy(), free if start is None else start
    aim = free if wanted is None else wanted
    return cycle if schedule_modulo(least, takes, room, rank, kept, aim, ii, _TRIES * count + 1, cycle) else None


def shorten_lifetimes(
    least: Int64s,
    ii: int,
    takes: Int64s,
    room: Int64s,
    links: Int64s,
    latency: Int64s,
    cycle: Int64s,
    *,
    reach: int = 0,
) -> None:
    """Move nodes to cycles, in place, where fewer values wait, and less long. ``links``: source, target, distance.

    With a ``reach`` (tiles that read an output) values are taken to wait where they are made: readers that would need
    the same slot there, or more tiles at once than there are, are moved apart.
    """
    from gridloom.targets.modulo.mappers.schedule import iterative_kernel

    iterative_kernel.shorten_lifetimes(least, takes, room, links, latency, ii, reach, _SWEEPS, cycle)


def recurrence(count: int, dependences: Sequence[Dependence], ii: int) -> list[int]:
    """The nodes of a cycle of dependences that an II is too low for, in order; empty: there is none. O(V E).

    Bellman and Ford: when distances still grow after as many rounds as there are nodes, the parents contain such a
    cycle.

    >>> there = Dependence(source=0, target=1, delay=2, distance=0)
    >>> back = Dependence(source=1, target=0, delay=1, distance=1)
    >>> recurrence(2, [there, back], 2), recurrence(2, [there, back], 3)
    ([0, 1], [])
    """
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


class DependenceRelations(NamedTuple):
    """CSR: for each node those that depend on it or that it depends on, in their order."""

    at: Int64s
    other: Int32s
    #: The least number of cycles from the issue of the node to that of the other, and from the other's to its own;
    #: NONE: there is no such bound.
    after: Int32s
    before: Int32s


def relations(least: Int64s) -> DependenceRelations:
    """The rows of a table of least distances. O(n^2).

    >>> table = np.array([[NONE, 2, NONE], [-4, NONE, NONE], [NONE, NONE, NONE]])
    >>> rows = relations(table)
    >>> rows.at.tolist(), rows.other.tolist(), rows.after.tolist(), rows.before.tolist()
    ([0, 1, 2, 2], [1, 0], [2, -4], [-4, 2])
    """
    bounded = least > NONE
    bounded |= bounded.T.copy()
    np.fill_diagonal(bounded, val=False)
    nodes, others = np.nonzero(bounded)
    at = np.searchsorted(nodes, np.arange(len(least) + 1)).astype(np.int64)
    after, before = least[nodes, others].astype(np.int32), least[others, nodes].astype(np.int32)
    return DependenceRelations(at, others.astype(np.int32), after, before)


@dataclass(frozen=True, eq=False)
class Resources:
    """What a schedule counts: rows of tiles, classes of tiles and buses, with their room per slot."""

    #: For each set of op classes the rows of ``room`` of which it takes one.
    takes: tuple[tuple[int, ...], ...]
    #: How many ops each row has room for in a slot.
    room: tuple[int, ...]


def resources(arch: Arch, classes: Sequence[frozenset[str]]) -> Resources:
    """All tiles, the tiles of each op class that not all have, and the buses of memory ops.

    ``classes`` are sets of op classes as nodes need them; ``takes`` has a row for each of them. Buses count only where
    all tiles of the class are on one.
    """
    room = [len(arch.tiles)]
    takes: list[tuple[int, ...]] = []
    rows: dict[tuple[str, frozenset[int]], int] = {}
    for needed in classes:
        mine = [0]
        able = frozenset(t for t, tile in enumerate(arch.tiles) if needed <= tile.classes)
        if len(able) < len(arch.tiles):
            mine.append(_row(rows, room, ("tiles", able), len(able)))
        pools = [pool for pool in arch.pools if pool.classes & needed]
        if pools and able <= {t for pool in pools for t in pool.tiles}:
            supply = sum(pool.capacity for pool in pools if able & set(pool.tiles))
            mine.append(_row(rows, room, ("pools", able), supply))
        takes.append(tuple(mine))
    return Resources(tuple(takes), tuple(room))


def _row(rows: dict[tuple[str, frozenset[int]], int], room: list[int], key: tuple[str, frozenset[int]], n: int) -> int:
    """The row of a resource; a new one, with room for ``n``, the first time it is met."""
    if key not in rows:
        rows[key] = len(room)
        room.append(n)
    return rows[key]
