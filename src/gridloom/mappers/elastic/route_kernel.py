"""Static routes over switches, compiled: dimension-ordered ways, the least loaded of those between two units.

A way leaves a unit at one of its corner switches, goes along rows and columns in either order, and enters the other
unit at one of its corners; between switches it takes the channel with the lesser load. Flows are routed in a given
order, the ones with much to carry first, each by the loads that are there.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Directions between switches, in the order of the link table.
_EAST: Final = 0
_WEST: Final = 1
_SOUTH: Final = 2
_NORTH: Final = 3

_LONGEST: Final = 600


@njit(cache=True, nogil=True)
def _step(at: int, goal: int, columns: bool) -> int:
    if columns:
        return _EAST if goal > at else _WEST
    return _SOUTH if goal > at else _NORTH


@njit(cache=True, nogil=True)
def _way(
    row: int,
    col: int,
    goal_row: int,
    goal_col: int,
    columns_first: bool,
    spread: float,
    rate: float,
    switch_links: Ints,
    loads: Floats,
    out: Ints,
    limit: float,
) -> tuple[int, float]:
    """Fill ``out`` with the links between two switches; returns how many and what they cost (``limit``: too much)."""
    count = 0
    cost = 0.0
    for leg in range(2):
        columns = columns_first == (leg == 0)
        while (col != goal_col) if columns else (row != goal_row):
            direction = _step(col, goal_col, True) if columns else _step(row, goal_row, False)
            best = switch_links[row, col, direction, 0]
            for channel in range(1, switch_links.shape[3]):
                other = switch_links[row, col, direction, channel]
                if loads[other] < loads[best]:
                    best = other
            out[count] = best
            count += 1
            load = loads[best] + rate
            cost += 1.0 + spread * load * load
            if cost >= limit:
                return count, cost
            if columns:
                col += 1 if direction == _EAST else -1
            else:
                row += 1 if direction == _SOUTH else -1
    return count, cost


@njit(cache=True, nogil=True)
def _route(
    source: int,
    target: int,
    rate: float,
    spread: float,
    aware: bool,
    corners: Ints,
    out_links: Ints,
    in_links: Ints,
    switch_links: Ints,
    loads: Floats,
    way: Ints,
    best: Ints,
) -> int:
    """The cheapest way between two tiles, in ``best``; returns its length. Loads are brought up to date."""
    least = 1e30
    length = 0
    for a in range(4):
        first = out_links[source, a]
        if first < 0:
            continue
        for b in range(4):
            final = in_links[target, b]
            if final < 0:
                continue
            load = loads[first] + rate
            ends = 2.0 + spread * load * load
            load = loads[final] + rate
            ends += spread * load * load
            between = abs(corners[source, a, 0] - corners[target, b, 0]) + abs(
                corners[source, a, 1] - corners[target, b, 1]
            )
            if ends + between >= least:
                continue
            for turn in range(2):
                if turn == 1 and (
                    not aware
                    or corners[source, a, 0] == corners[target, b, 0]
                    or corners[source, a, 1] == corners[target, b, 1]
                ):
                    continue
                count, cost = _way(
                    corners[source, a, 0],
                    corners[source, a, 1],
                    corners[target, b, 0],
                    corners[target, b, 1],
                    turn == 0,
                    spread,
                    rate,
                    switch_links,
                    loads,
                    way,
                    least - ends,
                )
                if cost + ends < least:
                    least = cost + ends
                    best[0] = first
                    for k in range(count):
                        best[k + 1] = way[k]
                    best[count + 1] = final
                    length = count + 2
    for k in range(length):
        loads[best[k]] += rate
    return length


@njit(cache=True, nogil=True)
def route_all(
    places: Ints,
    source: Ints,
    target: Ints,
    rate: Floats,
    order: Ints,
    spread: float,
    aware: bool,
    corners: Ints,
    out_links: Ints,
    in_links: Ints,
    switch_links: Ints,
    links: int,
) -> tuple[Ints, Ints]:
    """Routes of a batch of placements: starts and links, flow by flow and decision by decision.

    ``aware`` weighs loads and tries both orders of dimensions; else ways are the shortest, columns first.
    O(decisions * flows * corner pairs * length).
    """
    flows = len(source)
    starts = np.zeros(len(places) * flows + 1, dtype=np.int64)
    flat = np.empty(len(places) * flows * 16 + _LONGEST, dtype=np.int64)
    filled = 0
    way = np.empty(_LONGEST, dtype=np.int64)
    best = np.empty(_LONGEST, dtype=np.int64)
    ways = np.empty((flows, _LONGEST // 4), dtype=np.int64)
    lengths = np.zeros(flows, dtype=np.int64)
    for d in range(len(places)):
        loads = np.zeros(links)
        for k in range(flows):
            f = order[k]
            lengths[f] = _route(
                places[d, source[f]],
                places[d, target[f]],
                rate[f],
                spread if aware else 1e-6,
                aware,
                corners,
                out_links,
                in_links,
                switch_links,
                loads,
                way,
                best,
            )
            if lengths[f] > ways.shape[1]:
                wider = np.empty((flows, _LONGEST), dtype=np.int64)
                wider[:, : ways.shape[1]] = ways
                ways = wider
            for k2 in range(lengths[f]):
                ways[f, k2] = best[k2]
        total = 0
        for f in range(flows):
            total += lengths[f]
        if filled + total > len(flat):
            larger = np.empty(2 * (filled + total), dtype=np.int64)
            larger[:filled] = flat[:filled]
            flat = larger
        for f in range(flows):
            for k2 in range(lengths[f]):
                flat[filled + k2] = ways[f, k2]
            filled += lengths[f]
            starts[d * flows + f + 1] = filled
    return starts, flat[:filled].copy()
