"""Rau's iterative modulo scheduling, a pass that shortens lifetimes, and longest paths between all pairs, compiled.

``table[resource, slot]`` is the modulo reservation table: what the scheduled nodes take of each resource in each slot.
``cycle[node]`` is -1 for a node that is not scheduled. Both change together, by ``_book``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridloom.jit import borrowing, checked_kernel, kernel
from gridloom.search.arrays import Float64s, Int64s

_NONE = -(1 << 28)
# Periods by which a node may move later in one step.
_REACH = 64
# The cost of a reader that has no place next to its value.
_CROWDED = 4.0

# Steps of a count. They have a type, since a function is compiled once more for each literal.
_ADD: Any = np.int64(1)
_TAKE: Any = np.int64(-1)


@borrowing
def _fits(takes: Int64s, table: Int64s, room: Int64s, node: int, slot: int) -> bool:
    """True when a node finds room in a slot, on every resource that it takes."""
    free = True
    for r in range(len(room)):
        free = free and (takes[node, r] == 0 or table[r, slot] + takes[node, r] <= room[r])
    return free


@borrowing
def _book(takes: Int64s, table: Int64s, node: int, slot: int, step: int) -> None:
    """Add a node to the reservation table in a slot, or with ``step`` -1 take it out."""
    for r in range(table.shape[0]):
        table[r, slot] += step * takes[node, r]


@borrowing
def _displace(least: Int64s, takes: Int64s, table: Int64s, room: Int64s, cycle: Int64s, rank: Float64s, node: int,
              when: int, ii: int) -> None:  # fmt: skip
    """Take out what cannot stay when ``node`` issues at ``when``: broken dependences, then what fills its slot.

    Of those that share a full resource, the one that comes last by rank leaves first.
    """
    count, slot = len(cycle), when % ii
    for other in range(count):
        if cycle[other] < 0 or other == node:
            continue
        late = least[node, other] > _NONE and when + least[node, other] > cycle[other]
        early = least[other, node] > _NONE and cycle[other] + least[other, node] > when
        if late or early:
            _book(takes, table, other, cycle[other] % ii, _TAKE)
            cycle[other] = -1
    while not _fits(takes, table, room, node, slot):
        gone = -1
        for other in range(count):
            if cycle[other] < 0 or other == node or cycle[other] % ii != slot:
                continue
            shares = False
            for r in range(len(room)):
                full = takes[node, r] and table[r, slot] + takes[node, r] > room[r]
                shares = shares or (full and takes[other, r] > 0)
            if shares and (gone < 0 or rank[other] > rank[gone]):
                gone = other
        if gone < 0:
            return
        _book(takes, table, gone, slot, _TAKE)
        cycle[gone] = -1


@borrowing
def _window(least: Int64s, cycle: Int64s, node: int) -> tuple[int, int]:
    """The first and the last cycle in which a node may issue, by the nodes that have a cycle now; from 0 on.

    Paths from nodes without a cycle count as if these issued at 0; the diagonal can hold a first cycle of the node's
    own.
    """
    low, high = 0, 1 << 28
    for other in range(len(cycle)):
        if least[other, node] > _NONE:
            low = max(low, least[other, node])
        if cycle[other] < 0 or other == node:
            continue
        if least[other, node] > _NONE:
            low = max(low, cycle[other] + least[other, node])
        if least[node, other] > _NONE:
            high = min(high, cycle[other] - least[node, other])
    return low, high


@borrowing
def _next_node(rank: Float64s, cycle: Int64s) -> int:
    """The first node by rank that has no cycle yet; -1: all have one."""
    node = -1
    for k in range(len(cycle)):
        if cycle[k] < 0 and (node < 0 or rank[k] < rank[node]):
            node = k
    return node


@borrowing
def _kept(start: Int64s, cycle: Int64s) -> bool:
    """True when no node has left the cycle that it was given."""
    kept = True
    for node in range(len(start)):
        kept = kept and (start[node] < 0 or cycle[node] == start[node])
    return kept


@borrowing
def _free_cycle(takes: Int64s, table: Int64s, room: Int64s, node: int, low: int, high: int, wanted: int) -> int:
    """Return the first cycle from the wanted one on, within an II, in which a node finds room; -1: none.

    Where there is none, the last before the wanted one. A wanted cycle before ``low`` stands for ``low``.
    """
    ii = table.shape[1]
    first = max(low, min(wanted, high))
    for t in range(first, min(first + ii, high + 1)):
        if _fits(takes, table, room, node, t % ii):
            return int(t)
    for back in range(1, min(ii, first - low + 1)):
        if _fits(takes, table, room, node, (first - back) % ii):
            return int(first - back)
    return -1


@kernel
def schedule_modulo(least: Int64s, takes: Int64s, room: Int64s, rank: Float64s, start: Int64s, wanted: Int64s, ii: int,
                    tries: int, cycle: Int64s) -> bool:  # fmt: skip
    """Fill ``cycle``; False after ``tries`` placements without an end. The node of least ``rank`` comes first.

    ``start`` holds cycles that are kept as they are, -1: free; ``wanted`` those that a node takes if it can, -1: the
    earliest. A node without a free slot within an II is forced in, later than the last time so that two nodes do not
    displace each other for ever. With kept cycles nothing is forced in: the search fails then.
    """
    count = len(rank)
    table = np.zeros((len(room), ii), dtype=np.int64)
    tried = np.zeros(count, dtype=np.int64)
    tried[:] = -1
    for node in range(count):
        cycle[node] = start[node]
        if start[node] >= 0:
            _book(takes, table, node, start[node] % ii, _ADD)
    for _ in range(tries):
        node = _next_node(rank, cycle)
        if node < 0:
            return _kept(start, cycle)
        low, high = _window(least, cycle, node)
        when = _free_cycle(takes, table, room, node, low, high, wanted[node])
        if when < 0:
            when = max(low, tried[node] + 1)
            # What is kept may not be displaced.
            for k in range(count):
                if start[k] >= 0:
                    return False
        tried[node] = when
        _displace(least, takes, table, room, cycle, rank, node, when, ii)
        _book(takes, table, node, when % ii, _ADD)
        cycle[node] = when
    return False


@borrowing
def _length(links: Int64s, latency: Int64s, cycle: Int64s, node: int, when: int, ii: int) -> float:
    """What the dependences of a node cost at a cycle: those that are not met at once, and how long they wait."""
    cost = 0.0
    for k in range(links.shape[0]):
        a, b = links[k, 0], links[k, 1]
        if (a != node and b != node) or a == b:
            continue
        issue = when if a == node else cycle[a]
        due = (when if b == node else cycle[b]) + ii * links[k, 2]
        wait = due - issue - latency[a]
        if wait > 0:
            cost += 1.0 + 0.2 * wait
    return cost


@borrowing
def _crowd(
    links: Int64s, latency: Int64s, cycle: Int64s, source: int, node: int, when: int, ii: int, reach: int
) -> float:
    """Readers that cannot all be near their value: more at once than wires lead to, or in one slot of one tile."""
    issue = when if source == node else cycle[source]
    cost, at_once = 0.0, 0
    for k in range(links.shape[0]):
        if links[k, 0] != source or links[k, 1] == source:
            continue
        due = (when if links[k, 1] == node else cycle[links[k, 1]]) + ii * links[k, 2]
        if due - issue <= latency[source]:
            at_once += 1
            continue
        # A value that waits is read on the tile that made it.
        if (due - issue) % ii == 0:
            cost += _CROWDED
        for other in range(k):
            if links[other, 0] == source and links[other, 1] != source and links[other, 1] != links[k, 1]:
                then = (when if links[other, 1] == node else cycle[links[other, 1]]) + ii * links[other, 2]
                if then - issue > latency[source] and (then - due) % ii == 0:
                    cost += _CROWDED
    return cost + _CROWDED * max(0, at_once - reach)


@borrowing
def _price(links: Int64s, latency: Int64s, cycle: Int64s, node: int, when: int, ii: int, reach: int) -> float:
    """What a node costs at a cycle: the waits of its dependences and, with a reach, the crowding around its values."""
    cost = _length(links, latency, cycle, node, when, ii)
    if reach > 0:
        cost += _crowd(links, latency, cycle, node, node, when, ii, reach)
        for k in range(links.shape[0]):
            if links[k, 1] == node and links[k, 0] != node:
                cost += _crowd(links, latency, cycle, links[k, 0], node, when, ii, reach)
    return cost


@kernel
def shorten_lifetimes(least: Int64s, takes: Int64s, room: Int64s, links: Int64s, latency: Int64s, ii: int, reach: int,
                      sweeps: int, cycle: Int64s) -> None:  # fmt: skip
    """Move nodes within their windows to cycles with room where their values wait less.

    ``links``: rows of source, target, distance. ``reach``: tiles that read an output, where values wait in files of one
    tile; 0: that does not matter. Cost: O(sweeps * nodes * (nodes + II * links)), links squared with a reach.
    """
    count = len(cycle)
    table = np.zeros((len(room), ii), dtype=np.int64)
    for node in range(count):
        _book(takes, table, node, cycle[node] % ii, _ADD)
    for sweep in range(sweeps):
        moved = False
        for k in range(count):
            node = count - 1 - k if sweep % 2 == 0 else k
            low, high = _window(least, cycle, node)
            now = cycle[node]
            _book(takes, table, node, now % ii, _TAKE)
            best, when = _price(links, latency, cycle, node, now, ii, reach), now
            # A period from either end, and around where it is: further in, nothing is different.
            for first in (low, now - ii, now, high - ii + 1):
                for t in range(max(low, first), min(high, first + ii, now + _REACH * ii) + 1):
                    if t != now and _fits(takes, table, room, node, t % ii):
                        cost = _price(links, latency, cycle, node, t, ii, reach)
                        if cost < best - 1e-9:
                            best, when = cost, t
            moved = moved or when != now
            cycle[node] = when
            _book(takes, table, node, when % ii, _ADD)
        if not moved:
            return


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
