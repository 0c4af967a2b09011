"""Annealing of a placement together with the trees of links that carry its signals, compiled.

The plain annealer adds up the hops of edges, as if each had links of its own. In a dense graph most edges belong to
fan-outs, and what runs out is links. Here a net is a tree: the cost of a placement is the number of (link, age) pairs
that its signals occupy, a little for each hop, and a price for each signal without a link of its own, which rises as
the temperature falls. So signals are spread over the array from the first temperature on, and tiles are left free where
links are short.

A move takes the edges of its nodes off their links and lays them again, each along a shortest way. A way is walked link
by link from the source: a link that carries the signal at that age already is free, others cost by the signals that
they carry. Each link has a few slots, which count the edges of a signal at an age, so that a step of a walk costs the
links that leave a tile, whatever the fan-out. Issue cycles are not seen; detours are left to the router.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.jit import borrowing, int64, internal, kernel
from gridloom.search.annealing import STEP, constant_factor, draw_largest_rise
from gridloom.search.arrays import Int32s, Uint8s
from gridloom.search.random import RandomState, random_below, random_state
from gridloom.targets.grid.mappers.place.anneal_kernel import draw_tile, edge_room, gather_edges
from gridloom.targets.grid.mappers.problem import Edges, PlacedGraph, PlacementMove, TileGrid
from gridloom.targets.grid.mappers.route.pathfinder_kernel import GridLinks

#: Pairs of a signal and an age that a link can be asked to carry; walks avoid links whose slots are taken.
SLOTS = 4

# Ages that a key has room for, and the most times that a way is walked to choose the cheapest.
_AGES = 1024
_WALKS = 2

# What a hop costs beside the links, in links, and what an edge without a way counts for, in conflicts.
_HOP = 0.3
_LOST = 4

# One move in so many begins at a conflict, if it is among so many random edges.
_PICKED, _LOOKED = 4, 16

# What a step onto a link costs a walk: one that the signal has, a free one, and each signal that others have on it.
_FREE, _TAKEN = 4, 64


class NetLayout(NamedTuple):
    """What moves change: tiles of nodes, nodes of tiles, links of edges, and who is on each link.

    ``way[e, :length[e]]`` are the links of edge e. Slot k of a link holds the key of a signal at an age (0: empty) and
    the number of edges that share it; ``used[link]`` is the number of slots that are taken.
    """

    position: Int32s
    occupant: Int32s
    way: Int32s
    length: Int32s
    used: Int32s
    key: Int32s
    sharing: Int32s


class NetMoves(NamedTuple):
    """How to move."""

    #: First and last temperature, in links.
    hot: float
    cold: float
    #: First and last price of a conflict, in links; from this price on the run ends at the first legal state.
    cheap: float
    dear: float
    settled: float
    moves: int


class NetCost(NamedTuple):
    """Links that signals occupy, hops of edges, and conflicts."""

    links: int
    hops: int
    over: int


class _SavedNets(NamedTuple):
    """The edges that a move touches with the ways they had, and room for a walk."""

    touched: Int32s
    way: Int32s
    length: Int32s
    trial: Int32s


class NetRun(NamedTuple):
    """All that the functions of a run share."""

    graph: PlacedGraph
    edges: Edges
    links: GridLinks
    layout: NetLayout
    saved: _SavedNets
    state: RandomState


@internal
def _room(graph: PlacedGraph, depth: int) -> _SavedNets:
    """Room for the edges of any two nodes."""
    most = edge_room(graph)
    return _SavedNets(
        np.empty(most, dtype=np.int32),
        np.empty((most, depth), dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty(depth, dtype=np.int32),
    )


@borrowing
def _slot(layout: NetLayout, link: int, key: int) -> int:
    """The slot of a link that has a key; -1: none."""
    for k in range(SLOTS):
        if layout.key[link, k] == key:
            return k
    return -1


@borrowing
def _apart(run: NetRun, e: int) -> int:
    """The links of a shortest way of an edge. An edge without a way costs as many, so that its ends attract."""
    layout, edges = run.layout, run.edges
    apart: int = int64(run.links.hops[layout.position[edges.source[e]], layout.position[edges.target[e]]])
    return apart


@borrowing
def _lift(run: NetRun, e: int) -> NetCost:
    """Take an edge off its links; returns what that changes. Its links stay in ``way``."""
    layout = run.layout
    if layout.length[e] == 0:
        apart = _apart(run, e)
        return NetCost(-apart, -apart, -_LOST)
    first = int64(run.edges.source[e]) * _AGES + 1
    links = over = 0
    for d in range(layout.length[e]):
        link = layout.way[e, d]
        k = _slot(layout, link, first + d)
        layout.sharing[link, k] -= 1
        if layout.sharing[link, k] == 0:
            layout.key[link, k] = 0
            layout.used[link] -= 1
            links -= 1
            over -= layout.used[link] >= 1
    hops = int64(-layout.length[e])
    layout.length[e] = 0
    return NetCost(links, hops, over)


@borrowing
def _put(run: NetRun, e: int, length: int) -> NetCost:
    """Put an edge, which has no links, on the first ``length`` links of its row; returns what that changes."""
    layout = run.layout
    if length == 0:
        apart = _apart(run, e)
        return NetCost(apart, apart, _LOST)
    first = int64(run.edges.source[e]) * _AGES + 1
    links = over = 0
    for d in range(length):
        link = layout.way[e, d]
        k = _slot(layout, link, first + d)
        if k < 0:
            k = _slot(layout, link, int64(0))
            layout.key[link, k] = first + d
            layout.sharing[link, k] = 0
            over += layout.used[link] >= 1
            layout.used[link] += 1
            links += 1
        layout.sharing[link, k] += 1
    layout.length[e] = length
    return NetCost(links, int64(length), over)


@borrowing
def _walk(run: NetRun, e: int, depth: int, way: Int32s) -> int:
    """Walk a shortest way of an edge into ``way``: its price; -1 where all links of a step are full.

    Each step takes the cheapest link that leads nearer; of equally cheap ones each is as likely.
    """
    layout, links, state = run.layout, run.links, run.state
    source, target = layout.position[run.edges.source[e]], layout.position[run.edges.target[e]]
    first = int64(run.edges.source[e]) * _AGES + 1
    price = 0
    before = -1
    for d in range(depth):
        begin, end = links.leaving_at[source], links.leaving_at[source + 1]
        if d > 0:
            begin, end = links.following_at[before], links.following_at[before + 1]
        chosen, least, equal = -1, 1 << 20, 0
        for j in range(begin, end):
            link = links.following[j] if d > 0 else links.leaving[j]
            if links.hops[links.target[link], target] != depth - d - 1:
                continue
            users = layout.used[link]
            step = _FREE
            if users > 0:
                if _slot(layout, link, first + d) >= 0:
                    step = 0
                elif users == SLOTS:
                    continue
                else:
                    step = _TAKEN * users
            if step < least:
                chosen, least, equal = link, step, 1
            elif step == least:
                equal += 1
                if random_below(state, equal) == 0:
                    chosen = link
        if chosen < 0:
            return -1
        way[d] = chosen
        before = chosen
        price += least
    return price


@borrowing
def _lay(run: NetRun, e: int) -> NetCost:
    """Give an edge, which has none, the cheapest of a few walked ways; returns what that changes."""
    layout, trial = run.layout, run.saved.trial
    depth = _apart(run, e)
    least = _walk(run, e, depth, layout.way[e])
    # A way of free or own links is kept at once.
    for _ in range(_WALKS - 1 if depth > 1 and (least < 0 or least >= _TAKEN) else 0):
        price = _walk(run, e, depth, trial)
        if price >= 0 and (least < 0 or price < least):
            least = price
            for d in range(depth):
                layout.way[e, d] = trial[d]
    return _put(run, e, int64(depth if least >= 0 else 0))


@borrowing
def _attempt(run: NetRun, move: PlacementMove, accepted: float, price: float) -> tuple[bool, NetCost]:
    """Make a move, or put all back: (kept, what it changed)."""
    layout, saved = run.layout, run.saved
    count = gather_edges(move, run.graph, run.edges, saved.touched)
    links = hops = over = 0
    for j in range(count):
        e = saved.touched[j]
        saved.length[j] = layout.length[e]
        for d in range(layout.length[e]):
            saved.way[j, d] = layout.way[e, d]
        change = _lift(run, e)
        links, hops, over = links + change.links, hops + change.hops, over + change.over
    layout.position[move.a] = move.there
    if move.b >= 0:
        layout.position[move.b] = move.here
    laid = 0
    while laid < count and links + _HOP * hops + price * over <= accepted:
        change = _lay(run, saved.touched[laid])
        links, hops, over = links + change.links, hops + change.hops, over + change.over
        laid += 1
    kept = links + _HOP * hops + price * over <= accepted
    if kept:
        layout.occupant[move.here] = move.b
        layout.occupant[move.there] = move.a
        return True, NetCost(links, hops, over)
    for j in range(laid):
        _lift(run, saved.touched[j])
    layout.position[move.a] = move.here
    if move.b >= 0:
        layout.position[move.b] = move.there
    for j in range(count):
        e = saved.touched[j]
        for d in range(saved.length[j]):
            layout.way[e, d] = saved.way[j, d]
        _put(run, e, int64(saved.length[j]))
    return False, NetCost(0, 0, 0)


@borrowing
def _most_relief(run: NetRun, a: int, price: float) -> float:
    """What lifting the edges of a node saves at most: links that nobody shares, hops and conflicts."""
    graph, layout = run.graph, run.layout
    relief = 0.0
    for k in range(graph.starts[a], graph.starts[a + 1]):
        e = run.edges.incident[k]
        length = int64(layout.length[e])
        if length == 0:
            relief += price * _LOST
            length = _apart(run, e)
        # One link at least is needed again.
        relief += (1.0 + _HOP) * max(length - 1, 0)
        for d in range(layout.length[e]):
            relief += price * (layout.used[layout.way[e, d]] > 1)
    return relief


@borrowing
def _least_need(run: NetRun, a: int, b: int, there: int) -> float:
    """What the hops of node a's edges cost at least beyond one each, once it is on tile ``there``."""
    graph, layout = run.graph, run.layout
    need = 0.0
    for k in range(graph.starts[a], graph.starts[a + 1]):
        other = graph.neighbour[k]
        if other != b:
            need += _HOP * (run.links.hops[there, layout.position[other]] - 1)
    return need


@borrowing
def _in_conflict(run: NetRun, a: int) -> int:
    """An end of a conflict among a few random edges; the node given where there is none, or where it may not move."""
    edges, layout, state = run.edges, run.layout, run.state
    for _ in range(_LOOKED):
        e = edges.net[random_below(state, len(edges.net))]
        conflict = layout.length[e] == 0
        for d in range(layout.length[e]):
            conflict = conflict or layout.used[layout.way[e, d]] > 1
        if conflict:
            node: int = edges.source[e] if random_below(state, 2) == 0 else edges.target[e]
            return node
    return a


@kernel
def anneal_nets(
    graph: PlacedGraph,
    edges: Edges,
    grid: TileGrid,
    links: GridLinks,
    layout: NetLayout,
    schedule: NetMoves,
    seed: int,
    stop: Uint8s,
) -> tuple[int, int, int]:
    """Anneal ``layout`` in place: (conflicts, links that signals occupy, moves made).

    Only positions and occupants have to be set; ways are laid from nothing. The price of a conflict rises as the
    temperature falls, which ends while nodes still move: a legal state is found by moving through many that nearly are.
    The result is the last state.
    """
    state = random_state(seed)
    run = NetRun(graph, edges, links, layout, _room(graph, layout.way.shape[1]), state)
    over = wire = 0
    for e in edges.net:
        change = _lay(run, e)
        over += change.over
        wire += change.links
    temperature, price = schedule.hot, schedule.cheap
    cooling = constant_factor(schedule.hot, schedule.cold, schedule.moves)
    rising = constant_factor(schedule.cheap, schedule.dear, schedule.moves)
    made = 0
    while made < schedule.moves and stop[0] == 0 and (over > 0 or price < schedule.settled):
        made += 1
        if made % STEP == 0:
            temperature *= cooling
            price *= rising
        a = graph.movable[random_below(state, len(graph.movable))]
        if over > 0 and random_below(state, _PICKED) == 0:
            a = _in_conflict(run, a)
            if grid.fixed[layout.position[a]]:
                continue
        here = layout.position[a]
        there = draw_tile(a, 1 + random_below(state, 4), state, layout.position, graph, grid)
        if grid.fixed[there] or not grid.allowed[graph.kind[a], there]:
            continue
        b = layout.occupant[there]
        if there == here:
            b = np.int32(-1)
        if b >= 0 and not grid.allowed[graph.kind[b], here]:
            continue
        accepted = draw_largest_rise(temperature, state)
        least = _least_need(run, a, b, there) - _most_relief(run, a, price)
        if b >= 0:
            least += _least_need(run, b, a, here) - _most_relief(run, b, price)
        if least > accepted:
            continue
        kept, change = _attempt(run, PlacementMove(a, b, here, there), accepted, price)
        if kept:
            over += change.over
            wire += change.links
    return over, wire, made
