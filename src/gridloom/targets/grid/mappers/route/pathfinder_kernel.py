"""Negotiated congestion (PathFinder, McMurchie and Ebeling, FPGA 1995) over the links of a static grid, compiled.

A state of the search is (link, depth): a signal that is ``depth`` links away from its producer has that age, and a link
carries one age of one signal. Branches of a fan-out therefore share a link only at the same depth. Searching by depth
makes the graph a layered one, so that the cheapest way of any length in a window is found without a queue: that is how
a route is made longer on purpose where its value has to wait anyway.

Nets are ripped up and routed again in rounds. A link costs (0.5 + history) * (1 + present * users) and a hop: the share
``present`` grows by half in each round, and the history of a link grows with each round in which signals compete for
it. Every sixth round all nets are routed again, in the others only edges in a conflict.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import borrowing, int64, internal, kernel
from gridloom.search.arrays import Float64s, Int16s, Int32s, Uint8s

_FAR = 1e300

# Hops that a route may lead away from the shortest way and back.
_ASIDE = 6


class GridLinks(NamedTuple):
    """The links of a grid."""

    #: The tile that each link leads to.
    target: Int32s
    #: CSR: the links that leave a tile, and the links that may follow a link.
    leaving_at: Int32s
    leaving: Int32s
    following_at: Int32s
    following: Int32s
    #: hops[a, b]: links of the shortest way between two tiles.
    hops: NDArray[Any]


class Nets(NamedTuple):
    """The edges that carry each node's signal (CSR), and the order in which nets are routed."""

    at: Int32s
    edges: Int32s
    order: Int32s


class Windows(NamedTuple):
    """For each edge the tiles at its ends, and the least and the largest number of links that it may have."""

    source: Int32s
    target: Int32s
    low: Int32s
    high: Int32s


class EdgeWindow(NamedTuple):
    """The same for one edge."""

    source: int
    target: int
    low: int
    high: int


class EdgeLinks(NamedTuple):
    """The links of each edge, in order, and how many there are (0: no way)."""

    way: Int32s
    length: Int32s


class LinkUsage(NamedTuple):
    """How many signals use each link, and what it costs more because they did so before."""

    used: Int32s
    history: Float64s


class RoutePrices(NamedTuple):
    """What a search pays."""

    #: The share that each present user of a link adds to its price.
    present: float
    #: The price of a hop beside that of the link.
    hop: float
    #: The price of each link that a route has less than its window allows.
    late: float


class Layers(NamedTuple):
    """The room of searches: what they found at each depth.

    ``best`` is ``_FAR`` and ``own`` is 0 everywhere between searches: a search clears what it reached, so that its cost
    does not grow with the grid. ``sizes[0]`` is the number of states that the last search visited.
    """

    #: own[link, depth]: how many edges of the signal that is being routed use a link at a depth.
    own: Int16s
    #: best[depth, link]: the price of the cheapest way so far; back[depth, link]: the link before.
    best: Float64s
    back: Int32s
    #: The links that were reached at each depth, and how many.
    links: Int32s
    sizes: Int32s


@internal
def empty_layers(links: int, depths: int) -> Layers:
    """Room for searches over so many links and depths."""
    return Layers(
        np.zeros((links, depths), dtype=np.int16),
        np.full((depths, links), _FAR),
        np.empty((depths, links), dtype=np.int32),
        np.empty((depths, links), dtype=np.int32),
        np.zeros(depths, dtype=np.int32),
    )


@borrowing
def search(
    window: EdgeWindow, links: GridLinks, layers: Layers, usage: LinkUsage, prices: RoutePrices, way: Int32s
) -> int:
    """The cheapest way in a window; its links go to ``way``, its length is returned (0: there is none).

    ``layers.sizes[0]`` tells how many states were visited. The arrays are taken out of their tuples once: taken out in
    the loops they are counted at every use, and a search takes twice as long.
    """
    source, target, low, high = window
    link_target, leaving_at, leaving, following_at, following, hops = links
    own, best, back, layer, sizes = layers
    used, history = usage
    present, hop, late = prices
    # A wait is wound up near the way, not all over the grid, so that searches do not grow with it.
    span = hops[source, target] + _ASIDE
    length = 0
    last_link = -1
    least = _FAR
    reached = 1
    sizes[1] = 0
    # Depth 0 is the source: the links that leave it are entered at depth 1.
    for depth in range(high + 1):
        size = 0
        for k in range(sizes[depth] if depth > 0 else 1):
            link, cost = -1, 0.0
            begin, end = leaving_at[source], leaving_at[source + 1]
            if depth > 0:
                link = layer[depth, k]
                cost = best[depth, link]
                if link_target[link] == target and depth >= low and cost + late * (high - depth) < least:
                    length, last_link, least = depth, link, cost + late * (high - depth)
                if depth == high:
                    continue
                begin, end = following_at[link], following_at[link + 1]
            for j in range(begin, end):
                onward = following[j] if depth > 0 else leaving[j]
                there = link_target[onward]
                ahead = hops[there, target]
                if depth + 1 + ahead > high or (depth > 0 and hops[source, there] + ahead > span):
                    continue
                price = cost + hop
                if own[onward, depth + 1] == 0:
                    price = cost + (hop + (0.5 + history[onward]) * (1.0 + present * used[onward]))
                if best[depth + 1, onward] >= _FAR:
                    layer[depth + 1, size] = onward
                    size += 1
                if price < best[depth + 1, onward]:
                    best[depth + 1, onward] = price
                    back[depth + 1, onward] = link
        if depth < high:
            sizes[depth + 1] = size
            reached = depth + 1
    link = last_link
    for depth in range(length, 0, -1):
        way[depth - 1] = link
        link = back[depth, link]
    sizes[0] = 0
    for depth in range(1, reached + 1):
        sizes[0] += sizes[depth]
        for k in range(sizes[depth]):
            best[depth, layer[depth, k]] = _FAR
    return length


@borrowing
def _lift(e: int, ways: EdgeLinks, own: Int16s, used: Int32s) -> None:
    """Take edge e off its links; a link is given back when the last edge of the net at that depth has left it."""
    for d in range(ways.length[e]):
        link = ways.way[e, d]
        own[link, d + 1] -= 1
        if own[link, d + 1] == 0:
            used[link] -= 1
    ways.length[e] = 0


@borrowing
def _lay(e: int, ways: EdgeLinks, own: Int16s, used: Int32s) -> None:
    """Put edge e on its links; a link is counted once for all edges of the net that are on it at the same depth."""
    for d in range(ways.length[e]):
        link = ways.way[e, d]
        if own[link, d + 1] == 0:
            used[link] += 1
        own[link, d + 1] += 1


@borrowing
def _count(nets: Nets, ways: EdgeLinks, own: Int16s, used: Int32s) -> None:
    """Fill ``used``: how many (signal, age) pairs each link carries."""
    for link in range(len(used)):
        used[link] = 0
    for n in nets.order:
        for k in range(nets.at[n], nets.at[n + 1]):
            _lay(nets.edges[k], ways, own, used)
        _forget(n, nets, ways, own)


@borrowing
def _forget(n: int, nets: Nets, ways: EdgeLinks, own: Int16s) -> None:
    """Clear ``own`` after a net."""
    for k in range(nets.at[n], nets.at[n + 1]):
        e = nets.edges[k]
        for d in range(ways.length[e]):
            own[ways.way[e, d], d + 1] = 0


@borrowing
def _conflicts(e: int, ways: EdgeLinks, used: Int32s) -> bool:
    """Whether edge e has no way, or one over a link that several signals use."""
    for d in range(ways.length[e]):
        if used[ways.way[e, d]] > 1:
            return True
    return bool(ways.length[e] == 0)


@borrowing
def _overuse(usage: LinkUsage, step: float) -> int:
    """Signals that have no link of their own; links that several signals use get dearer.

    Each signal too many adds ``step`` to the link's history, which is never lowered again.
    """
    over = 0
    for link in range(len(usage.used)):
        if usage.used[link] > 1:
            over += usage.used[link] - 1
            usage.history[link] += step * (usage.used[link] - 1)
    return over


@borrowing
def _reroute(
    n: int,
    everything: bool,
    nets: Nets,
    windows: Windows,
    links: GridLinks,
    layers: Layers,
    usage: LinkUsage,
    prices: RoutePrices,
    ways: EdgeLinks,
) -> int:
    """Route the edges of a net again, all or those with conflicts; returns how many have no way.

    Edges that were routed before are noted in ``own``, so that later ones of the same net share their links at no price
    but the hop. The order within a net is that of the edges in the graph.
    """
    lost = 0
    for k in range(nets.at[n], nets.at[n + 1]):
        e = nets.edges[k]
        for d in range(ways.length[e]):
            layers.own[ways.way[e, d], d + 1] += 1
    for k in range(nets.at[n], nets.at[n + 1]):
        e = nets.edges[k]
        if not everything and not _conflicts(e, ways, usage.used):
            continue
        _lift(e, ways, layers.own, usage.used)
        window = EdgeWindow(windows.source[e], windows.target[e], int64(windows.low[e]), int64(windows.high[e]))
        ways.length[e] = search(window, links, layers, usage, prices, ways.way[e])
        lost += ways.length[e] == 0
        _lay(e, ways, layers.own, usage.used)
    _forget(n, nets, ways, layers.own)
    return lost


@borrowing
def _without_way(nets: Nets, ways: EdgeLinks) -> int:
    """Edges that have no way yet."""
    lost = 0
    for e in nets.edges:
        lost += ways.length[e] == 0
    return lost


@kernel
def negotiate(
    nets: Nets,
    windows: Windows,
    links: GridLinks,
    ways: EdgeLinks,
    usage: LinkUsage,
    prices: RoutePrices,
    rounds: int,
    patience: int,
    stop: Uint8s,
) -> tuple[int, int]:
    """Route every edge of every net in its window: (signals without a link of their own, edges without a way at all).

    ``ways`` holds the routes to start from (length 0: none) and gets the result; the history of links is kept between
    calls. Ends after ``rounds``, or when ``patience`` rounds brought nothing; at once when an edge has no way in its
    window, since prices cannot change that.
    """
    depths = int64(2)
    for e in nets.edges:
        depths = max(depths, windows.high[e] + 2)
    layers = empty_layers(len(links.target), depths)
    _count(nets, ways, layers.own, usage.used)
    present = prices.present
    least = 1 << 30
    waited = 0
    over = 0
    lost = 0
    for turn in range(rounds):
        everything = turn % 6 == 0
        now = RoutePrices(present, prices.hop, prices.late)
        lost = 0
        for n in nets.order:
            # Every edge has a way after the first round, which is therefore made whole where there is time.
            if stop[0] > 1 or (turn > 0 and stop[0] != 0):
                break
            lost += _reroute(n, everything, nets, windows, links, layers, usage, now, ways)
        if turn == 0 and stop[0] > 1:
            lost = _without_way(nets, ways)
        over = _overuse(usage, 0.4)
        if over == 0 or lost > 0 or stop[0] != 0:
            break
        waited = 0 if over < least else waited + 1
        least = min(least, over)
        if waited >= patience:
            break
        present = min(present * 1.5, 1e4)
    return over, lost
