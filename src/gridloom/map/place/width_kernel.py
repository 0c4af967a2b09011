"""Annealing of ops, ports and routes together on arrays without latency, compiled.

Resources are numbered in topological order, so the cheapest way to an operand is one sweep over the numbers between
producer and operand, without a queue. A resource that the signal already has costs nothing (fan-outs become trees); one
that another signal has costs ``price`` plus its history, so that conflicts are negotiated for while nodes move. The
cost of a state is the sum of what its resources cost; a move rips up what it touches, routes it again and is taken or
undone by the change of that sum.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Shorts = NDArray[np.int16]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]

_FAR = 1e300
# What an edge without any way costs, and each row that its consumer sits too low.
_MISSING = 8.0
_ROW = 2.0

# Groups of nodes: what they sit on.
OP, LOAD, STORE, CONST = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def _put(n: int, r: int, own: Shorts, used: Shorts, base: Floats, history: Floats, price: float, over: Ints) -> float:
    """Signal n takes resource r once more; returns what that costs."""
    own[n, r] += 1
    if own[n, r] > 1:
        return 0.0
    used[r] += 1
    if used[r] == 1:
        return base[r]
    over[0] += 1
    return base[r] + price + history[r]


@njit(cache=True, nogil=True)
def _take(n: int, r: int, own: Shorts, used: Shorts, base: Floats, history: Floats, price: float, over: Ints) -> float:
    """Signal n gives resource r back once; returns what that saves."""
    own[n, r] -= 1
    if own[n, r] > 0:
        return 0.0
    used[r] -= 1
    if used[r] == 0:
        return base[r]
    over[0] -= 1
    return base[r] + price + history[r]


@njit(cache=True, nogil=True)
def lay(
    e: int, n: int, way: Ints, length: Ints, miss: Floats, own: Shorts, used: Shorts, base: Floats, history: Floats,
    price: float, over: Ints,
) -> float:  # fmt: skip
    """Put edge e of signal n on its way; returns the cost."""
    if length[e] == 0:
        over[1] += 1
        return miss[e]
    cost = 0.0
    for k in range(length[e]):
        cost += _put(n, way[e, k], own, used, base, history, price, over)
    return cost


@njit(cache=True, nogil=True)
def lift(
    e: int, n: int, way: Ints, length: Ints, miss: Floats, own: Shorts, used: Shorts, base: Floats, history: Floats,
    price: float, over: Ints,
) -> float:  # fmt: skip
    """Take edge e of signal n off its way; returns the cost saved."""
    if length[e] == 0:
        over[1] -= 1
        return miss[e]
    cost = 0.0
    for k in range(length[e]):
        cost += _take(n, way[e, k], own, used, base, history, price, over)
    return cost


@njit(cache=True, nogil=True)
def _sweep(
    n: int, first: int, sink: int, goal: int, succ_at: Ints, succ: Ints, owner: Ints, reach: Bytes, occupant: Ints,
    own: Shorts, used: Shorts, base: Floats, history: Floats, price: float, best: Floats, back: Ints,
) -> None:  # fmt: skip
    """Relax every arc between ``first`` and ``sink``; numbers are topological, so once is enough."""
    for u in range(first, sink):
        cost = best[u]
        if cost >= _FAR:
            continue
        for k in range(succ_at[u], succ_at[u + 1]):
            v = succ[k]
            if v > sink:
                break
            if reach[v, goal] == 0 or (owner[v] >= 0 and occupant[owner[v]] >= 0):
                continue
            enter = cost
            if own[n, v] == 0:
                enter += base[v]
                if used[v] > 0:
                    enter += price + history[v]
            if enter < best[v]:
                best[v] = enter
                back[v] = u


@njit(cache=True, nogil=True)
def route(
    e: int, n: int, root: int, roots: Ints, sink: int, goal: int, succ_at: Ints, succ: Ints, owner: Ints, reach: Bytes,
    occupant: Ints, own: Shorts, used: Shorts, base: Floats, history: Floats, price: float, best: Floats, back: Ints,
    way: Ints, length: Ints,
) -> bool:  # fmt: skip
    """Find the cheapest way of edge e from ``root`` (-1: from any of ``roots``) to resource ``sink`` of tile ``goal``.

    It goes to ``way[e]`` from the root to the sink; False: there is none.
    """
    first = root if root >= 0 else roots[0]
    length[e] = 0
    if first >= sink:
        return False
    best[first : sink + 1] = _FAR
    if root >= 0:
        best[root] = 0.0
        back[root] = -1
    else:
        for r in roots:
            if r >= sink or reach[r, goal] == 0:
                continue
            best[r] = 0.0 if own[n, r] > 0 else base[r] + (price + history[r] if used[r] > 0 else 0.0)
            back[r] = -1
    _sweep(
        n, first, sink, goal, succ_at, succ, owner, reach, occupant, own, used, base, history, price, best, back
    )  # fmt: skip
    if best[sink] >= _FAR:
        return False
    steps = 0
    r = sink
    while r >= 0:
        steps += 1
        r = back[r]
    if steps > way.shape[1]:
        return False
    length[e] = steps
    r = sink
    while r >= 0:
        steps -= 1
        way[e, steps] = r
        r = back[r]
    return True


@njit(cache=True, nogil=True)
def connect(
    e: int, source: Ints, target: Ints, operand: Ints, group: Ints, place: Ints, tile_in: Ints, tile_out: Ints,
    roots: Ints, row: Ints, succ_at: Ints, succ: Ints, owner: Ints, reach: Bytes, occupant: Ints, own: Shorts,
    used: Shorts, base: Floats, history: Floats, price: float, best: Floats, back: Ints, way: Ints, length: Ints,
    miss: Floats, over: Ints,
) -> float:  # fmt: skip
    """Route edge e between the tiles of its ends and lay it; returns its cost."""
    n = source[e]
    goal = place[target[e]]
    root = -1 if group[n] == CONST else tile_out[place[n]]
    found = route(
        e, n, root, roots, tile_in[goal, operand[e]], goal, succ_at, succ, owner, reach, occupant, own, used, base,
        history, price, best, back, way, length,
    )  # fmt: skip
    if not found:
        gap = 0 if group[n] == CONST or group[target[e]] == STORE else max(0, row[place[n]] - row[goal])
        miss[e] = _MISSING + _ROW * gap
    return lay(e, n, way, length, miss, own, used, base, history, price, over)


@njit(cache=True, nogil=True)
def _through(r: int, way: Ints, length: Ints, mark: Bytes, edges: Ints, count: int) -> int:
    """Add the edges that use resource r to a list; returns its new length."""
    for e in range(len(length)):
        if mark[e]:
            continue
        for k in range(length[e]):
            if way[e, k] == r:
                mark[e] = 1
                edges[count] = e
                count += 1
                break
    return count


@njit(cache=True, nogil=True)
def _touching(a: int, touch_at: Ints, touch: Ints, mark: Bytes, edges: Ints, count: int) -> int:
    """Add the edges of node a to a list; returns its new length."""
    for k in range(touch_at[a], touch_at[a + 1]):
        e = touch[k]
        if mark[e] == 0:
            mark[e] = 1
            edges[count] = e
            count += 1
    return count


@njit(cache=True, nogil=True)
def _near(
    a: int, reach_limit: int, source: Ints, target: Ints, group: Ints, place: Ints, touch_at: Ints, touch: Ints,
    row: Ints, col: Ints, at: Ints, ports: Ints,
) -> int:  # fmt: skip
    """A tile to try for node a: where one of its neighbours could reach it, or a random one not too far; -1: none."""
    rows, cols = at.shape
    if group[a] != OP:
        line = ports[group[a] - 1]
        if np.random.random() < 0.5 and touch_at[a + 1] > touch_at[a]:
            e = touch[touch_at[a] + np.random.randint(touch_at[a + 1] - touch_at[a])]
            other = target[e] if source[e] == a else source[e]
            if group[other] == OP:
                c = col[place[other]] + np.random.randint(3) - 1
                return line[c] if 0 <= c < cols else -1
        return line[np.random.randint(cols)]
    if np.random.random() < 0.5 and touch_at[a + 1] > touch_at[a]:
        e = touch[touch_at[a] + np.random.randint(touch_at[a + 1] - touch_at[a])]
        sign = -1 if source[e] == a else 1
        other = target[e] if source[e] == a else source[e]
        if group[other] != CONST:
            pick = np.random.randint(6)
            dr = 0 if pick == 3 else 2 if pick >= 4 else 1
            dc = pick - 1 if pick < 3 else 1 if pick == 3 else np.random.randint(3) - 1
            r = row[place[other]] + sign * dr
            c = col[place[other]] + sign * dc
            if group[other] == STORE:
                r = np.random.randint(rows)
            return at[r, c] if 0 <= r < rows and 0 <= c < cols else -1
    r = row[place[a]] + np.random.randint(2 * reach_limit + 1) - reach_limit
    c = col[place[a]] + np.random.randint(2 * reach_limit + 1) - reach_limit
    return at[r, c] if 0 <= r < rows and 0 <= c < cols else -1


@njit(cache=True, nogil=True)
def _fought(way: Ints, length: Ints, used: Shorts) -> int:
    """A resource that several signals have, met on a random edge; -1: none was met."""
    for _ in range(12):
        e = np.random.randint(len(length))
        for k in range(length[e]):
            if used[way[e, k]] > 1:
                return way[e, k]
    return -1


@njit(cache=True, nogil=True)
def anneal(
    source: Ints, target: Ints, operand: Ints, group: Ints, touch_at: Ints, touch: Ints, movable: Ints, allowed: Bytes,
    tile_in: Ints, tile_out: Ints, tile_fu: Ints, roots: Ints, row: Ints, col: Ints, at: Ints, ports: Ints,
    succ_at: Ints, succ: Ints, owner: Ints, reach: Bytes, base: Floats,
    place: Ints, way: Ints, length: Ints, keep_place: Ints, keep_way: Ints, keep_length: Ints,
    temperatures: int, moves_each: int, hot: float, cold: float, price_first: float, price_last: float, step: float,
    polish: bool, seed: int, stop: Bytes,
) -> tuple[int, int, int, float]:  # fmt: skip
    """Anneal from the placement in ``place``; (conflicts, edges without a way, moves made, cost of the wires).

    Ends at the first legal state, or with ``polish`` at the end of the schedule; the state with the fewest conflicts
    (and then the cheapest wires) is in ``keep_*``. The same seed gives the same result.
    """
    np.random.seed(seed & 0x7FFFFFFF)
    count_edges = len(source)
    nodes = len(group)
    resources = len(base)
    own = np.zeros((nodes, resources), dtype=np.int16)
    used = np.zeros(resources, dtype=np.int16)
    history = np.zeros(resources)
    best = np.empty(resources)
    back = np.empty(resources, dtype=np.int32)
    miss = np.zeros(count_edges)
    over = np.zeros(2, dtype=np.int32)
    occupant = np.full(len(row), -1, dtype=np.int32)
    mark = np.zeros(count_edges, dtype=np.uint8)
    edges = np.empty(count_edges, dtype=np.int32)
    old_way = np.empty_like(way)
    old_length = np.empty_like(length)
    old_miss = np.empty_like(miss)
    for a in range(nodes):
        if place[a] >= 0:
            occupant[place[a]] = a
    price = price_first
    cost = 0.0
    for e in range(count_edges):
        cost += connect(
            e, source, target, operand, group, place, tile_in, tile_out, roots, row, succ_at, succ, owner, reach,
            occupant, own, used, base, history, price, best, back, way, length, miss, over,
        )  # fmt: skip
    made = 0
    least = 1 << 30
    least_wire = 1e300
    for turn in range(temperatures):
        progress = turn / max(1, temperatures - 1)
        heat = hot * (cold / hot) ** progress
        new_price = price_first * (price_last / price_first) ** progress
        for r in range(resources):
            if used[r] > 1:
                history[r] += step * (used[r] - 1)
        price = new_price
        limit = max(1, int((1.0 - progress) * max(at.shape[0], at.shape[1])))
        for _ in range(moves_each):
            if stop[0] != 0:
                break
            made += 1
            count = 0
            a = -1
            b = -1
            here = -1
            there = -1
            if over[0] > 0 and np.random.random() < 0.15:
                r = _fought(way, length, used)
                if r < 0:
                    continue
                count = _through(r, way, length, mark, edges, 0)
            else:
                a = movable[np.random.randint(len(movable))]
                here = place[a]
                there = _near(a, limit, source, target, group, place, touch_at, touch, row, col, at, ports)
                if there < 0 or there == here or allowed[a, there] == 0:
                    continue
                b = occupant[there]
                if b >= 0 and (allowed[b, here] == 0 or group[b] != group[a] or allowed[b, len(row)] == 0):
                    continue
                count = _touching(a, touch_at, touch, mark, edges, 0)
                if b >= 0:
                    count = _touching(b, touch_at, touch, mark, edges, count)
                elif tile_fu[there] >= 0 and used[tile_fu[there]] > 0:
                    count = _through(tile_fu[there], way, length, mark, edges, count)
            before = over[0] + over[1]
            change = 0.0
            for k in range(count):
                e = edges[k]
                mark[e] = 0
                change -= lift(e, source[e], way, length, miss, own, used, base, history, price, over)
                old_length[e] = length[e]
                old_miss[e] = miss[e]
                for j in range(length[e]):
                    old_way[e, j] = way[e, j]
            if a >= 0:
                place[a] = there
                occupant[there] = a
                occupant[here] = b
                if b >= 0:
                    place[b] = here
            else:
                for k in range(count - 1, 0, -1):
                    j = np.random.randint(k + 1)
                    edges[k], edges[j] = edges[j], edges[k]
            for k in range(count):
                change += connect(
                    edges[k], source, target, operand, group, place, tile_in, tile_out, roots, row, succ_at, succ,
                    owner, reach, occupant, own, used, base, history, price, best, back, way, length, miss, over,
                )  # fmt: skip
            if change <= 0.0 or np.random.random() < np.exp(-change / heat):
                now = over[0] + over[1]
                if now < before or now == 0:
                    wire = 0.0
                    if now <= least:
                        for r in range(resources):
                            wire += base[r] * used[r]
                    if now < least or (now == least and wire < least_wire):
                        least = now
                        least_wire = wire
                        keep_place[:] = place
                        keep_way[:] = way
                        keep_length[:] = length
                        if now == 0 and not polish:
                            return over[0], over[1], made, wire
                continue
            for k in range(count):
                e = edges[k]
                lift(e, source[e], way, length, miss, own, used, base, history, price, over)
                length[e] = old_length[e]
                miss[e] = old_miss[e]
                for j in range(length[e]):
                    way[e, j] = old_way[e, j]
            if a >= 0:
                place[a] = here
                occupant[here] = a
                occupant[there] = b
                if b >= 0:
                    place[b] = there
            for k in range(count):
                e = edges[k]
                lay(e, source[e], way, length, miss, own, used, base, history, price, over)
        if stop[0] != 0:
            break
    if least == 1 << 30:
        least = over[0] + over[1]
        keep_place[:] = place
        keep_way[:] = way
        keep_length[:] = length
    return least, 0, made, least_wire
