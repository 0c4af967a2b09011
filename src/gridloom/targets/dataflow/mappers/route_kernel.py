"""Static routes over switches, compiled: dimension-ordered paths, the least loaded of those between two units.

A route leaves a unit at one of its corner switches, goes along rows and columns in either order, and enters the other
unit at one of its corners; between switches it takes the channel with the lesser load. Flows are routed in a given
order, the ones with much to carry first, each by the loads that are there.

Routes that turn from columns to rows take even channels, those that turn from rows to columns odd ones, and straight
routes any. So no circle of links can wait for each other's buffers: on each channel packets turn one way only (the
duplicated channels of O1TURN, Seo et al., ISCA 2005).

The cost of a link is 1 + spread * load^2, with the load that the link has once the flow is on it. Flows of a multicast
tree are routed one after the other, and a link that the tree has already costs no further load. There is no rip-up: a
flow that is routed stays, since every step of the annealer routes all chains anew.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gridloom.jit import borrowing, kernel
from gridloom.search.arrays import Float64s, Int64s
from gridloom.targets.dataflow.mappers.tables import Flows, Switches, Weights

# Directions between switches, in the order of the link table.
_EAST, _WEST, _SOUTH, _NORTH = range(4)

# Links of a route at most; arrays of 128 rows and columns, the largest that can be built, need 258.
_LONGEST: Final = 600


@borrowing
def _direction(row: int, col: int, goal_row: int, goal_col: int, columns: bool) -> int:
    """The next step along columns or along rows."""
    if columns:
        return _EAST if goal_col > col else _WEST
    return _SOUTH if goal_row > row else _NORTH


@borrowing
def _load(loads: Float64s, stamp: Int64s, link: int, mark: int, rate: float) -> float:
    """The load of a link once a flow of the tree with this mark is on it."""
    load: float = loads[link] if stamp[link] == mark else loads[link] + rate
    return load


@borrowing
def _path(switch_links: Int64s, loads: Float64s, stamp: Int64s, path: Int64s, ends: tuple[int, int, int, int],
          columns_first: bool, spread: float, rate: float, mark: int, limit: float) -> tuple[int, float]:  # fmt: skip
    """Fill ``path`` with the links between two switches; returns how many and what they cost.

    ``ends`` are row and column of both. Of the channels that are allowed the least loaded is taken. A path that costs
    ``limit`` or more is left unfinished.
    """
    row, col, goal_row, goal_col = ends
    count = 0
    cost = 0.0
    channels = switch_links.shape[3]
    turns = channels > 1 and row != goal_row and col != goal_col
    first = 1 if turns and not columns_first else 0
    step = 2 if turns else 1
    for leg in range(2):
        columns = columns_first == (leg == 0)
        while (col != goal_col) if columns else (row != goal_row):
            direction = _direction(row, col, goal_row, goal_col, columns)
            best = switch_links[row, col, direction, first]
            load = _load(loads, stamp, best, mark, rate)
            for channel in range(first + step, channels, step):
                other = switch_links[row, col, direction, channel]
                other_load = _load(loads, stamp, other, mark, rate)
                if other_load < load:
                    best, load = other, other_load
            path[count] = best
            count += 1
            cost += 1.0 + spread * load * load
            if cost >= limit:
                return count, cost
            if columns:
                col += 1 if direction == _EAST else -1
            else:
                row += 1 if direction == _SOUTH else -1
    return count, cost


@borrowing
def _route(switches: Switches, loads: Float64s, stamp: Int64s, path: Int64s, best: Int64s, source: int, target: int,
           rate: float, mark: int, weights: Weights) -> int:  # fmt: skip
    """The cheapest route between two tiles, in ``best``; returns its length. Loads are brought up to date.

    Tries every pair of corners and both orders of dimensions, 32 paths at most; a pair whose fees and Manhattan
    distance already cost as much as the best route is skipped.
    """
    spread = weights.spread
    least = 1e30
    length = 0
    for a in range(4):
        first = switches.out_links[source, a]
        if first < 0:
            continue
        for b in range(4):
            final = switches.in_links[target, b]
            if final < 0:
                continue
            load = _load(loads, stamp, first, mark, rate)
            fee = 2.0 + spread * load * load
            load = _load(loads, stamp, final, mark, rate)
            fee += spread * load * load
            row, col = switches.corners[source, a, 0], switches.corners[source, a, 1]
            goal_row, goal_col = switches.corners[target, b, 0], switches.corners[target, b, 1]
            if fee + abs(row - goal_row) + abs(col - goal_col) >= least:
                continue
            for turn in range(2):
                if turn == 1 and (not weights.both_orders or row == goal_row or col == goal_col):
                    continue
                count, cost = _path(
                    switches.switch_links, loads, stamp, path, (row, col, goal_row, goal_col), turn == 0, spread, rate,
                    mark, least - fee,
                )  # fmt: skip
                if cost + fee < least:
                    least = cost + fee
                    best[0] = first
                    for k in range(count):
                        best[k + 1] = path[k]
                    best[count + 1] = final
                    length = count + 2
    for k in range(length):
        if stamp[best[k]] != mark:
            stamp[best[k]] = mark
            loads[best[k]] += rate
    return length


@kernel
def route_all(places: Int64s, flows: Flows, switches: Switches, links: int, weights: Weights) -> tuple[Int64s, Int64s]:
    """Routes of a batch of placements: starts and links, flow by flow and decision by decision.

    The links of flow f in decision d are ``links[starts[d * flows + f] : starts[d * flows + f + 1]]``. O(decisions *
    flows * corner pairs * length).
    """
    count = len(flows.source)
    starts = np.zeros(len(places) * count + 1, dtype=np.int64)
    flat = np.empty(len(places) * count * 16 + _LONGEST, dtype=np.int64)
    filled = 0
    path = np.empty(_LONGEST, dtype=np.int64)
    best = np.empty(_LONGEST, dtype=np.int64)
    routes = np.empty((count, _LONGEST), dtype=np.int64)
    lengths = np.zeros(count, dtype=np.int64)
    loads = np.empty(links, dtype=np.float64)
    stamp = np.full(links, -1, dtype=np.int64)
    for d in range(len(places)):
        for link in range(links):
            loads[link] = 0.0
        total = 0
        for k in range(count):
            f = flows.order[k]
            source, target = places[d, flows.source[f]], places[d, flows.target[f]]
            mark = d * count + flows.tree[f]
            lengths[f] = _route(switches, loads, stamp, path, best, source, target, flows.rate[f], mark, weights)
            total += lengths[f]
            for j in range(lengths[f]):
                routes[f, j] = best[j]
        if filled + total > len(flat):
            larger = np.empty(2 * (filled + total), dtype=np.int64)
            for j in range(filled):
                larger[j] = flat[j]
            flat = larger
        for f in range(count):
            for j in range(lengths[f]):
                flat[filled + j] = routes[f, j]
            filled += lengths[f]
            starts[d * count + f + 1] = filled
    return starts, flat[:filled].copy()
