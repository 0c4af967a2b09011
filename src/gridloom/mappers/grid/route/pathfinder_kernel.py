"""Negotiated congestion (PathFinder, McMurchie and Ebeling, FPGA 1995) over the links of a static grid, compiled.

A state of the search is (link, depth): a signal that is ``depth`` links away from its producer has that age, and a link
carries one age of one signal. Branches of a fan-out therefore share a link only at the same depth. Searching by depth
makes the graph a layered one, so that the cheapest way of any length in a window is found without a queue: that is
how a route is made longer on purpose where its value has to wait anyway.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Shorts = NDArray[np.int16]
Floats = NDArray[np.float64]

_FAR = 1e300

# Hops that a route may lead away from the shortest way and back.
_ASIDE = 6


@njit(cache=True, nogil=True)
def _enter(
    link: int, came: int, depth: int, cost: float, own: Shorts, used: Ints, history: Floats, present: float, hop: float,
    best: Floats, back: Ints, layer: Ints, size: int,
) -> int:  # fmt: skip
    """Offer a way into (link, depth); returns the new size of the layer."""
    if own[link, depth] > 0:
        cost += hop
    else:
        cost += hop + (0.5 + history[link]) * (1.0 + present * used[link])
    if best[depth, link] >= _FAR:
        layer[size] = link
        size += 1
    if cost < best[depth, link]:
        best[depth, link] = cost
        back[depth, link] = came
    return size


@njit(cache=True, nogil=True)
def _search(
    source: int, target: int, low: int, high: int, late: float,
    link_target: Ints, leaving_at: Ints, leaving: Ints, following_at: Ints, following: Ints, hops: Ints,
    own: Shorts, used: Ints, history: Floats, present: float, hop: float,
    best: Floats, back: Ints, layers: Ints, sizes: Ints, way: Ints,
) -> int:  # fmt: skip
    """The cheapest way of ``low`` to ``high`` links; its links go to ``way``, its length is returned (0: none).

    ``sizes[0]`` tells how many states were visited.
    """
    size = 0
    # A wait is wound up near the way, not all over the grid, so that searches do not grow with it.
    span = hops[source, target] + _ASIDE
    for k in range(leaving_at[source], leaving_at[source + 1]):
        link = leaving[k]
        if 1 + hops[link_target[link], target] <= high:
            size = _enter(link, -1, 1, 0.0, own, used, history, present, hop, best, back, layers[1], size)
    sizes[1] = size
    found = 0
    found_link = -1
    found_cost = _FAR
    reached = 1
    for depth in range(1, high + 1):
        size = 0
        for k in range(sizes[depth]):
            link = layers[depth, k]
            cost = best[depth, link]
            if link_target[link] == target and depth >= low and cost + late * (high - depth) < found_cost:
                found, found_link, found_cost = depth, link, cost + late * (high - depth)
            if depth == high:
                continue
            for j in range(following_at[link], following_at[link + 1]):
                onward = following[j]
                there = link_target[onward]
                if depth + 1 + hops[there, target] <= high and hops[source, there] + hops[there, target] <= span:
                    size = _enter(
                        onward, link, depth + 1, cost, own, used, history, present, hop, best, back,
                        layers[depth + 1], size,
                    )  # fmt: skip
        if depth < high:
            sizes[depth + 1] = size
            reached = depth + 1
    sizes[0] = 0
    link = found_link
    for depth in range(found, 0, -1):
        way[depth - 1] = link
        link = back[depth, link]
    for depth in range(1, reached + 1):
        sizes[0] += sizes[depth]
        for k in range(sizes[depth]):
            best[depth, layers[depth, k]] = _FAR
    return found


@njit(cache=True, nogil=True)
def _lift(e: int, way: Ints, length: Ints, own: Shorts, used: Ints) -> None:
    """Take edge e off its links."""
    for d in range(length[e]):
        link = way[e, d]
        own[link, d + 1] -= 1
        if own[link, d + 1] == 0:
            used[link] -= 1
    length[e] = 0


@njit(cache=True, nogil=True)
def _lay(e: int, way: Ints, length: Ints, own: Shorts, used: Ints) -> None:
    """Put edge e on its links."""
    for d in range(length[e]):
        link = way[e, d]
        if own[link, d + 1] == 0:
            used[link] += 1
        own[link, d + 1] += 1


@njit(cache=True, nogil=True)
def _count(net_at: Ints, net: Ints, order: Ints, way: Ints, length: Ints, own: Shorts, used: Ints) -> None:
    """Fill ``used``: how many (signal, age) pairs each link carries."""
    used[:] = 0
    for n in order:
        for k in range(net_at[n], net_at[n + 1]):
            _lay(net[k], way, length, own, used)
        for k in range(net_at[n], net_at[n + 1]):
            for d in range(length[net[k]]):
                own[way[net[k], d], d + 1] = 0


@njit(cache=True, nogil=True)
def _fights(e: int, way: Ints, length: Ints, used: Ints) -> bool:
    for d in range(length[e]):
        if used[way[e, d]] > 1:
            return True
    return bool(length[e] == 0)


@njit(cache=True, nogil=True)
def _overuse(used: Ints, history: Floats, step: float) -> int:
    """Signals that have no link of their own; fought-over links get dearer."""
    over = 0
    for link in range(len(used)):
        if used[link] > 1:
            over += used[link] - 1
            history[link] += step * (used[link] - 1)
    return over


@njit(cache=True, nogil=True)
def _reroute(
    n: int, everything: bool, net_at: Ints, net: Ints, source: Ints, target: Ints, low: Ints, high: Ints, late: float,
    link_target: Ints, leaving_at: Ints, leaving: Ints, following_at: Ints, following: Ints, hops: Ints,
    own: Shorts, used: Ints, history: Floats, present: float, hop: float,
    best: Floats, back: Ints, layers: Ints, sizes: Ints, way: Ints, length: Ints,
) -> int:  # fmt: skip
    """Route the edges of a net again, all or those that fight; returns how many have no way."""
    lost = 0
    for k in range(net_at[n], net_at[n + 1]):
        for d in range(length[net[k]]):
            own[way[net[k], d], d + 1] += 1
    for k in range(net_at[n], net_at[n + 1]):
        e = net[k]
        if not everything and not _fights(e, way, length, used):
            continue
        _lift(e, way, length, own, used)
        length[e] = _search(
            source[e], target[e], low[e], high[e], late, link_target, leaving_at, leaving, following_at,
            following, hops, own, used, history, present, hop, best, back, layers, sizes, way[e],
        )  # fmt: skip
        lost += length[e] == 0
        _lay(e, way, length, own, used)
    for k in range(net_at[n], net_at[n + 1]):
        for d in range(length[net[k]]):
            own[way[net[k], d], d + 1] = 0
    return lost


@njit(cache=True, nogil=True)
def negotiate(
    net_at: Ints, net: Ints, order: Ints, source: Ints, target: Ints, low: Ints, high: Ints,
    link_target: Ints, leaving_at: Ints, leaving: Ints, following_at: Ints, following: Ints, hops: Ints,
    way: Ints, length: Ints, used: Ints, history: Floats,
    rounds: int, patience: int, hop: float, late: float, stop: NDArray[np.uint8],
) -> tuple[int, int]:  # fmt: skip
    """Route every edge of every net in its window: (signals without a link of their own, edges without a way at all).

    ``way`` and ``length`` hold routes to start from (length 0: none) and get the result; ``history`` is kept between
    calls. Ends after ``rounds``, or when ``patience`` rounds brought nothing.
    """
    links = len(link_target)
    depths = 2
    for e in net:
        depths = max(depths, high[e] + 2)
    own = np.zeros((links, depths), dtype=np.int16)
    best = np.full((depths, links), _FAR)
    back = np.empty((depths, links), dtype=np.int32)
    layers = np.empty((depths, links), dtype=np.int32)
    sizes = np.zeros(depths, dtype=np.int32)
    _count(net_at, net, order, way, length, own, used)
    present = 0.6
    least = 1 << 30
    waited = 0
    over = 0
    lost = 0
    for turn in range(rounds):
        everything = turn % 6 == 0
        lost = 0
        for n in order:
            lost += _reroute(
                n, everything, net_at, net, source, target, low, high, late, link_target, leaving_at, leaving,
                following_at, following, hops, own, used, history, present, hop, best, back, layers, sizes, way, length,
            )  # fmt: skip
        over = _overuse(used, history, 0.4)
        if over == 0 or lost > 0 or stop[0] != 0:
            break
        waited = 0 if over < least else waited + 1
        least = min(least, over)
        if waited >= patience:
            break
        present = min(present * 1.5, 1e4)
    return over, lost
