"""Annealing of a placement together with shortest ways for its edges, compiled.

The plain annealer sees hops, not links: its best placements need links twice. The joint annealer searches a way for
every edge it touches. In mappings with short wires nearly all edges have one or two links and no detour, so here the
shortest ways between tiles that are near are listed once, and a move takes for each edge the way in the list that has
the fewest conflicts. Cost: hops, plus a price for each conflict, that is, each signal without a link of its own.

A signal's edges share a link where they are equally far from its source, as everywhere on the static grids. Edges that
are longer than the list reaches have no way here: they count as a conflict, and a router has to find one in the end.

Hops and conflicts are both kept up to date by what a move changes. The threshold of acceptance is drawn before a move
is made, and a bound on its change of cost (its hops, less all conflicts that it may end) refuses most moves without
touching a route. Issue cycles are not seen: this is for objectives with short wires and graphs without recurrences.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import borrowing, copy_row, copy_table, int64, internal, kernel
from gridloom.search.annealing import STEP, constant_factor, draw_largest_rise
from gridloom.search.arrays import Int32s, Uint8s
from gridloom.search.random import RandomState, random_below, random_state
from gridloom.targets.grid.mappers.place.anneal_kernel import draw_tile, edge_room, gather_edges
from gridloom.targets.grid.mappers.problem import Edges, PlacedGraph, PlacementMove, TileGrid
from gridloom.targets.grid.mappers.route.pathfinder_kernel import GridLinks

#: Links of the longest listed ways, and ways listed for a pair of tiles.
REACH = 8
_WAYS = 8


class WayList(NamedTuple):
    """The shortest ways between tiles that are near.

    ``ways[w]`` are the links of a way, ``hops[s, t]`` of them, padded with -1 to ``REACH``. The ways of a pair of tiles
    stand one after the other. Of pairs with more than ``_WAYS`` shortest ways only the first ones are listed; pairs
    further apart than ``REACH`` have none.
    """

    #: first[s, t]: position of the first way between two tiles in ``ways``; listed[s, t]: how many there are.
    first: Int32s
    listed: Int32s
    ways: Int32s
    #: Links of a shortest way between two tiles.
    hops: NDArray[Any]


class RouteLayout(NamedTuple):
    """What moves change: tiles of nodes, nodes of tiles, links of edges (length 0: no way), signals of links.

    ``way`` has one row of ``REACH`` links for each edge. ``used[link]`` counts the pairs of a signal and an age on a
    link, so that a link is in conflict where it is above 1.
    """

    position: Int32s
    occupant: Int32s
    way: Int32s
    length: Int32s
    used: Int32s


class RouteMoves(NamedTuple):
    """How to move."""

    #: First and last temperature, in links.
    hot: float
    cold: float
    #: What a conflict costs a move, in links.
    price: float
    moves: int
    #: What a conflict costs where states are ranked, in links.
    worth: float


class _Saved(NamedTuple):
    """The edges that a move touches and the ways they had."""

    touched: Int32s
    way: Int32s
    length: Int32s


class _Terms(NamedTuple):
    """What decides on a move: the hops that it adds, the largest rise of cost accepted, the price of a conflict."""

    hops: int
    accepted: float
    price: float


class WaysRun(NamedTuple):
    """All that the functions of a run share."""

    graph: PlacedGraph
    edges: Edges
    near: WayList
    layout: RouteLayout
    saved: _Saved
    state: RandomState


@internal
def _list_pair(s: int, t: int, at: int, ways: Int32s, links: GridLinks) -> int:
    """List the shortest ways from s to t from position ``at`` on; returns how many were listed.

    A depth-first search that only follows links which bring t one hop nearer; ``chain`` is the way so far and
    ``cursor`` the next link to try at each level. Needs hops[s, t] from 1 to REACH.
    """
    depth = links.hops[s, t]
    cursor = np.zeros(REACH, dtype=np.int32)
    chain = np.empty(REACH, dtype=np.int32)
    cursor[0] = links.leaving_at[s]
    level = listed = 0
    while level >= 0:
        end = links.leaving_at[s + 1] if level == 0 else links.following_at[chain[level - 1] + 1]
        if cursor[level] == end or listed == _WAYS:
            level -= 1
            continue
        link = links.leaving[cursor[level]] if level == 0 else links.following[cursor[level]]
        cursor[level] += 1
        if links.hops[links.target[link], t] != depth - level - 1:
            continue
        chain[level] = link
        if level == depth - 1:
            for d in range(depth):
                ways[at + listed, d] = chain[d]
            listed += 1
        else:
            level += 1
            cursor[level] = links.following_at[link]
    return listed


@kernel
def list_ways(links: GridLinks) -> WayList:
    """The shortest ways of all pairs of tiles at most REACH links apart.

    Time and memory grow with the number of such pairs, which is linear in the tiles of a large grid; the tables of
    pairs themselves have tiles^2 entries.
    """
    tiles = len(links.leaving_at) - 1
    first = np.full((tiles, tiles), -1, dtype=np.int32)
    count = np.zeros((tiles, tiles), dtype=np.int32)
    near = 0
    for s in range(tiles):
        for t in range(tiles):
            near += 0 < links.hops[s, t] <= REACH
    ways = np.full((near * _WAYS, REACH), -1, dtype=np.int32)
    at = int64(0)
    for s in range(tiles):
        for t in range(tiles):
            if 0 < links.hops[s, t] <= REACH:
                first[s, t] = at
                count[s, t] = _list_pair(s, t, at, ways, links)
                at += count[s, t]
    return WayList(first, count, ways[:at].copy(), links.hops)


@borrowing
def _shared(e: int, link: int, d: int, edges: Edges, layout: RouteLayout) -> bool:
    """True when another edge of e's signal is on the link at the same distance from the source."""
    n = edges.source[e]
    for k in range(edges.net_at[n], edges.net_at[n + 1]):
        other = edges.net[k]
        if other != e and layout.length[other] > d and layout.way[other, d] == link:
            return True
    return False


@borrowing
def _lift(e: int, edges: Edges, layout: RouteLayout) -> int:
    """Take edge e off its links; returns by how much conflicts change. An edge without a way is a conflict.

    Its links stay in ``layout.way`` until another way is laid.
    """
    if layout.length[e] == 0:
        return -1
    over = 0
    for d in range(layout.length[e]):
        link = layout.way[e, d]
        if not _shared(e, link, d, edges, layout):
            layout.used[link] -= 1
            over -= layout.used[link] >= 1
    layout.length[e] = 0
    return over


@borrowing
def _lay(run: WaysRun, e: int) -> int:
    """Give edge e, which has none, the listed way with the fewest conflicts, then the fewest links of its own.

    Returns by how much conflicts change. Links that the signal is on already are free, an unused link costs 1 and a
    link of another signal 64. Ways are looked at from a random one on, so that equally good ones are taken equally
    often.
    """
    edges, near, layout, state = run.edges, run.near, run.layout, run.state
    s, t = layout.position[edges.source[e]], layout.position[edges.target[e]]
    count = near.listed[s, t]
    if count == 0:
        return 1
    depth = near.hops[s, t]
    chosen, least = -1, 1 << 20
    first = random_below(state, count) if count > 1 else 0
    for k in range(count):
        w = near.first[s, t] + (first + k if first + k < count else first + k - count)
        price = 0
        for d in range(depth):
            link = near.ways[w, d]
            if layout.used[link] == 0:
                price += 1
            elif not _shared(e, link, d, edges, layout):
                price += 64
        if price < least:
            chosen, least = w, price
    over = 0
    for d in range(depth):
        link = near.ways[chosen, d]
        layout.way[e, d] = link
        if not _shared(e, link, d, edges, layout):
            over += layout.used[link] >= 1
            layout.used[link] += 1
    layout.length[e] = depth
    return over


@borrowing
def _put_back(e: int, length: int, edges: Edges, layout: RouteLayout) -> None:
    """Put edge e, off its links, on the links in ``layout.way`` again."""
    for d in range(length):
        link = layout.way[e, d]
        if not _shared(e, link, d, edges, layout):
            layout.used[link] += 1
    layout.length[e] = length


@borrowing
def _more_hops(move: PlacementMove, position: Int32s, graph: PlacedGraph, grid: TileGrid) -> int:
    """How many hops more the edges of a move's nodes have after it; edges between the two stay as long."""
    more = 0
    for k in range(graph.starts[move.a], graph.starts[move.a + 1]):
        if graph.neighbour[k] != move.b:
            tile = position[graph.neighbour[k]]
            more += int64(grid.hops[move.there, tile]) - int64(grid.hops[move.here, tile])
    if move.b >= 0:
        for k in range(graph.starts[move.b], graph.starts[move.b + 1]):
            if graph.neighbour[k] != move.a:
                tile = position[graph.neighbour[k]]
                more += int64(grid.hops[move.here, tile]) - int64(grid.hops[move.there, tile])
    return more


@borrowing
def _relieved(run: WaysRun, a: int) -> int:
    """How many conflicts the edges of a are in at most: no move of a can end more of them than that."""
    graph, edges, layout = run.graph, run.edges, run.layout
    over = 0
    for k in range(graph.starts[a], graph.starts[a + 1]):
        e = edges.incident[k]
        over += layout.length[e] == 0
        for d in range(layout.length[e]):
            over += layout.used[layout.way[e, d]] > 1
    return over


@borrowing
def _attempt(run: WaysRun, move: PlacementMove, terms: _Terms) -> tuple[bool, int]:
    """Make a move with the ways of its edges, or put all back: (kept, more conflicts).

    All touched edges are lifted before the first is laid again. The move is kept if its hops and the price of its
    conflicts are within what the temperature accepts. A refused move restores ways and link counts exactly.
    """
    graph, edges, layout, saved = run.graph, run.edges, run.layout, run.saved
    a, b, here, there = move
    count = gather_edges(move, graph, edges, saved.touched)
    over = 0
    for j in range(count):
        e = saved.touched[j]
        saved.length[j] = layout.length[e]
        for d in range(REACH):
            saved.way[j, d] = layout.way[e, d]
        over += _lift(e, edges, layout)
    layout.position[a] = there
    if b >= 0:
        layout.position[b] = here
    for j in range(count):
        over += _lay(run, saved.touched[j])
    if terms.hops + terms.price * over <= terms.accepted:
        layout.occupant[here] = b
        layout.occupant[there] = a
        return True, over
    for j in range(count):
        _lift(saved.touched[j], edges, layout)
    layout.position[a] = here
    if b >= 0:
        layout.position[b] = there
    for j in range(count):
        e = saved.touched[j]
        for d in range(REACH):
            layout.way[e, d] = saved.way[j, d]
        _put_back(e, saved.length[j], edges, layout)
    return False, 0


@internal
def _saved(graph: PlacedGraph) -> _Saved:
    """Room for the edges of any two nodes."""
    most = edge_room(graph)
    return _Saved(
        np.empty(most, dtype=np.int32), np.empty((most, REACH), dtype=np.int32), np.empty(most, dtype=np.int32)
    )


@borrowing
def _copy(source: RouteLayout, target: RouteLayout) -> None:
    """Copy all but the nodes of tiles, which follow from the tiles of nodes."""
    copy_row(source.position, target.position)
    copy_table(source.way, target.way)
    copy_row(source.length, target.length)
    copy_row(source.used, target.used)


@kernel
def anneal_ways(
    graph: PlacedGraph,
    edges: Edges,
    grid: TileGrid,
    near: WayList,
    layout: RouteLayout,
    schedule: RouteMoves,
    seed: int,
    stop: Uint8s,
) -> tuple[int, int, int]:
    """Anneal ``layout`` in place: (signals without a link of their own, hops in all, moves made).

    The result is the state with the fewest hops, each conflict counted as ``schedule.worth`` hops. The ways of
    ``layout`` are laid from nothing at the start; only its positions and occupants have to be set. While there are
    conflicts, a move to the node's own tile lays its edges anew. The run ends early when every edge has one link and
    nothing is in conflict.
    """
    state = random_state(seed)
    run = WaysRun(graph, edges, near, layout, _saved(graph), state)
    over = 0
    wire = 0
    for e in edges.net:
        over += _lay(run, e)
        wire += grid.hops[layout.position[edges.source[e]], layout.position[edges.target[e]]]
    best_over, best_wire = over, wire
    best = RouteLayout(
        layout.position.copy(), layout.occupant.copy(), layout.way.copy(), layout.length.copy(), layout.used.copy()
    )
    temperature = schedule.hot
    cooling = constant_factor(schedule.hot, schedule.cold, schedule.moves)
    made = 0
    # No edge has less than a link: nothing is left to find then.
    while made < schedule.moves and stop[0] == 0 and best_wire + best_over > len(edges.net):
        made += 1
        if made % STEP == 0:
            temperature *= cooling
        a = graph.movable[random_below(state, len(graph.movable))]
        here = layout.position[a]
        there = draw_tile(a, 1 + random_below(state, 3), state, layout.position, graph, grid)
        if grid.fixed[there] or not grid.allowed[graph.kind[a], there]:
            continue
        b = layout.occupant[there]
        if there == here:
            if over == 0:
                continue
            b = np.int32(-1)
        if b >= 0 and not grid.allowed[graph.kind[b], here]:
            continue
        move = PlacementMove(a, b, here, there)
        more = _more_hops(move, layout.position, graph, grid)
        # What is accepted is drawn first: most moves are refused by their hops alone.
        accepted = draw_largest_rise(temperature, state)
        least = np.float64(more)
        if over > 0 and least > accepted:
            relieved = _relieved(run, a) + (_relieved(run, b) if b >= 0 else 0)
            least -= schedule.price * relieved
        if least > accepted:
            continue
        terms = _Terms(more, accepted, schedule.price)
        kept, conflicts = _attempt(run, move, terms)
        if kept:
            over += conflicts
            wire += more
            if wire + schedule.worth * over < best_wire + schedule.worth * best_over:
                best_over, best_wire = over, wire
                _copy(layout, best)
    _copy(best, layout)
    for tile in range(len(layout.occupant)):
        layout.occupant[tile] = -1
    for node in range(len(layout.position)):
        layout.occupant[layout.position[node]] = node
    return best_over, best_wire, made
