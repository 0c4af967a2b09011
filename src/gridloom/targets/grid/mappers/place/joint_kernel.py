"""Annealing of nodes, routes and issue cycles together, compiled.

The plain annealer sees hops, not links, and not when values meet. Here a move takes the edges of the nodes it touches
off their links, moves the nodes (and, in a timed run, their issue cycles), and routes these edges again; the cost is
the links used plus a price for each signal without a link of its own. In a timed run a route has to be as long as its
value is under way, less what a FIFO of ``bound`` cycles takes up, so that a legal state needs no deeper FIFO.

Both terms of the cost are kept up to date by what a move changes. ``wire`` is the sum of route lengths; ``over`` counts
conflicts: one for each signal too many on a link, and ``_LOST`` for each edge without any way. A state is legal where
``over`` is 0. A quarter of the moves begin at a node in a conflict, the others at any node.

A move costs some ten short searches unless its hops alone forbid it: this starts where the plain annealer and the
router ended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.jit import borrowing, copy_row, copy_table, int64, internal, kernel
from gridloom.search.annealing import STEP, constant_factor, draw_largest_rise
from gridloom.search.arrays import Bools, Float64s, Int32s, Int64s, Uint8s
from gridloom.search.random import RandomState, random_below, random_state
from gridloom.targets.grid.mappers.place.anneal_kernel import draw_tile, edge_room, gather_edges
from gridloom.targets.grid.mappers.problem import Edges, PlacedGraph, PlacementMove, TileGrid
from gridloom.targets.grid.mappers.route.pathfinder_kernel import (
    EdgeWindow,
    GridLinks,
    Layers,
    LinkUsage,
    RoutePrices,
    empty_layers,
    search,
)

#: How many conflicts an edge without a way counts for.
_LOST = 2

# Cycles beyond which a bound on an issue cycle says nothing.
_FREE = 1 << 27


class MeetingTimes(NamedTuple):
    """When values may meet.

    A value that leaves node a in cycle ``issue[a]`` over ``links`` links is at the other end in cycle ``issue[a] + wait
    + links``; ``wait`` is the latency less 1 and less the iterations that the edge goes back (II is 1).
    """

    #: Nodes whose issue cycle is fixed.
    tied: Bools
    #: For each edge: arrival = issue + wait + links.
    wait: Int32s
    #: [operand, tile] -> FIFO cycles; the operand that each edge feeds.
    fifo: Int32s
    operand: Int32s


class Problem(NamedTuple):
    """What does not change in a run, but for the grid."""

    graph: PlacedGraph
    edges: Edges
    timing: MeetingTimes
    links: GridLinks


class JointLayout(NamedTuple):
    """What moves change: tiles and issue cycles of nodes, links of edges (length 0: no way), signals of links.

    ``way[e, :length[e]]`` are the links of edge e from its source on, and ``used[link]`` counts the pairs of a signal
    and an age that are on a link: edges of one signal share a link where they are equally far from the source. Rows of
    edges onto a node itself stay empty.
    """

    position: Int32s
    issue: Int32s
    way: Int32s
    length: Int32s
    used: Int32s


class JointScratch(NamedTuple):
    """Room for searches and for what a refused move puts back.

    ``touched`` lists the edges of the move at hand, and row j of ``saved`` and ``saved_length`` is the old way of edge
    ``touched[j]``. The history of links stays 0: nothing is negotiated here, prices are those of the moment.
    """

    layers: Layers
    history: Float64s
    touched: Int32s
    saved: Int32s
    saved_length: Int32s
    #: States that searches visited.
    visited: Int64s


class MoveRules(NamedTuple):
    """How to move."""

    timed: bool
    #: Timed runs: the deepest FIFO; others: how much longer than the shortest way a route may be.
    bound: int
    #: What a signal without a link of its own costs, in links.
    price: float
    #: What a hop costs a search beside the link itself: high for short routes, low for shared ones.
    hop: float
    hot: float
    cold: float
    moves: int
    #: The run also ends when searches have visited so many states.
    visits: int
    #: True: end at the first legal state; False: find the one with the shortest wires.
    first_legal: bool


class JointRun(NamedTuple):
    """All that the functions of a run share."""

    problem: Problem
    layout: JointLayout
    scratch: JointScratch
    rules: MoveRules
    state: RandomState


@internal
def _scratch(graph: PlacedGraph, links: int, depths: int) -> JointScratch:
    """Room for one run: a move touches the edges of two nodes, so twice the largest degree is enough."""
    most = edge_room(graph)
    return JointScratch(
        empty_layers(links, depths),
        np.zeros(links),
        np.empty(most, dtype=np.int32),
        np.empty((most, depths - 1), dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@borrowing
def _note_siblings(run: JointRun, e: int, step: int) -> None:
    """Note (or forget, ``step`` -1) where the other edges of e's net are.

    ``layers.own[link, depth]`` then tells a search which links the signal is on already at that age: they cost it
    nothing but the hop. Between moves the table is all 0.
    """
    edges, layout, layers = run.problem.edges, run.layout, run.scratch.layers
    n = edges.source[e]
    for k in range(edges.net_at[n], edges.net_at[n + 1]):
        other = edges.net[k]
        if other != e:
            for d in range(layout.length[other]):
                layers.own[layout.way[other, d], d + 1] += step


@borrowing
def _put(run: JointRun, e: int, step: int) -> int:
    """Put edge e on its links (``step`` 1) or take it off (-1); returns by how much conflicts change."""
    layout, layers = run.layout, run.scratch.layers
    _note_siblings(run, e, int64(1))
    over = 0
    own, used = layers.own, layout.used
    for d in range(layout.length[e]):
        link = layout.way[e, d]
        if own[link, d + 1] == 0:
            if step > 0:
                over += used[link] >= 1
            else:
                over -= used[link] >= 2
            used[link] += step
        own[link, d + 1] += step
    for d in range(layout.length[e]):
        own[layout.way[e, d], d + 1] -= step
    _note_siblings(run, e, int64(-1))
    if step < 0:
        layout.length[e] = 0
    return over


@borrowing
def _window(run: JointRun, e: int) -> tuple[int, int]:
    """The least and the largest number of links that edge e may have where its ends are; empty: no way.

    In a timed run a route of ``high`` links arrives just in time, and each link less is a cycle in the FIFO.
    """
    edges, timing, hops, layout, rules = (
        run.problem.edges,
        run.problem.timing,
        run.problem.links.hops,
        run.layout,
        run.rules,
    )
    a, b = edges.source[e], edges.target[e]
    tile = layout.position[b]
    low = int64(hops[layout.position[a], tile])
    high = low + rules.bound
    if rules.timed:
        high = int64(layout.issue[b] - layout.issue[a] - timing.wait[e])
        low = max(low, high - min(rules.bound, timing.fifo[timing.operand[e], tile]))
    return low, min(high, layout.way.shape[1])


@borrowing
def _least_rise(run: JointRun, count: int) -> float:
    """What a move costs at least, its nodes moved and its edges not yet: all links free, every conflict it has over.

    Each edge needs at least the shortest way in its window. A move whose bound is beyond what the temperature accepts
    is refused before any search, which is the fate of most moves.
    """
    touched, layout, rules = run.scratch.touched, run.layout, run.rules
    rise = 0.0
    for j in range(count):
        e = touched[j]
        length = layout.length[e]
        low, high = _window(run, e)
        rise += low if low <= high else rules.price * _LOST
        rise -= length if length > 0 else rules.price * _LOST
        for d in range(length):
            if layout.used[layout.way[e, d]] > 1:
                rise -= rules.price
    return rise


@borrowing
def _find(run: JointRun, e: int) -> None:
    """Route edge e, if there is a way in its window; the edge has to be off its links, and is not put on them here."""
    edges, links, layout, scratch, rules = run.problem.edges, run.problem.links, run.layout, run.scratch, run.rules
    low, high = _window(run, e)
    layout.length[e] = 0
    if low > high:
        return
    window = EdgeWindow(layout.position[edges.source[e]], layout.position[edges.target[e]], low, high)
    # A detour of two links must stay cheaper than a link that is taken, whatever a hop costs.
    prices = RoutePrices(rules.price * (1.0 + rules.hop), rules.hop, 0.0)
    _note_siblings(run, e, int64(1))
    usage = LinkUsage(layout.used, scratch.history)
    layout.length[e] = search(window, links, scratch.layers, usage, prices, layout.way[e])
    scratch.visited[0] += scratch.layers.sizes[0]
    _note_siblings(run, e, int64(-1))


@borrowing
def _node_in_conflict(run: JointRun) -> int:
    """An end of the next edge, from a random one on, that has no way or shares a link; -1: there is none."""
    state, edges, layout = run.state, run.problem.edges, run.layout
    count = len(edges.net)
    first = random_below(state, count)
    for k in range(count):
        e = edges.net[first + k if first + k < count else first + k - count]
        conflict = layout.length[e] == 0
        for d in range(layout.length[e]):
            conflict = conflict or layout.used[layout.way[e, d]] > 1
        if conflict:
            node: int = int64(edges.source[e] if random_below(state, 2) == 0 else edges.target[e])
            return node
    nobody: int = int64(-1)
    return nobody


@borrowing
def _retime(run: JointRun, a: int) -> bool:
    """Give node a an issue cycle that its neighbours allow where they are; False: there is none.

    The neighbours' cycles and the hops between them bound the cycle from below and above, and one in between is drawn
    evenly. A tied node keeps its cycle, or the move is refused. Waits that are longer than a FIFO allows are not
    refused here: the window of the route then asks for a longer wire.
    """
    state, graph, edges, timing, hops, layout = (
        run.state,
        run.problem.graph,
        run.problem.edges,
        run.problem.timing,
        run.problem.links.hops,
        run.layout,
    )
    least, most = -2 * _FREE, 2 * _FREE
    for k in range(graph.starts[a], graph.starts[a + 1]):
        e = edges.incident[k]
        other = graph.neighbour[k]
        source, target = layout.position[edges.source[e]], layout.position[edges.target[e]]
        apart = timing.wait[e] + hops[source, target]
        if edges.source[e] == a:
            most = min(most, layout.issue[other] - apart)
        else:
            least = max(least, layout.issue[other] + apart)
    if timing.tied[a]:
        return bool(least <= layout.issue[a] <= most)
    if least > most:
        return False
    if least < -_FREE and most > _FREE:
        return True
    # Free on one side: stay near the other, where wires are short.
    if least < -_FREE:
        least = most - 2
    if most > _FREE:
        most = least + 2
    layout.issue[a] = least + random_below(state, most - least + 1)
    return True


@borrowing
def _attempt(run: JointRun, move: PlacementMove, temperature: float) -> tuple[bool, int, int]:
    """Make a move with the routes of its nodes, or put all back: (kept, more conflicts, more wire).

    All touched edges are taken off their links before the first is routed again, so that they do not block each other
    by their old ways; they are then routed one by one in the order in which they were listed. A refused move restores
    tiles, cycles, ways and link counts exactly.
    """
    state, layout, scratch, rules = run.state, run.layout, run.scratch, run.rules
    a, b, here, there = move
    graph, edges = run.problem.graph, run.problem.edges
    position, issue = layout.position, layout.issue
    issue_a, issue_b = issue[a], issue[b] if b >= 0 else 0
    position[a] = there
    if b >= 0:
        position[b] = here
    # What is accepted is drawn first: most moves are refused by their hops alone, without a search.
    accepted = draw_largest_rise(temperature, state)
    touched = scratch.touched
    count = gather_edges(move, graph, edges, touched)
    timely = True
    if rules.timed:
        timely = _retime(run, a)
        if timely and b >= 0:
            timely = _retime(run, b)
    kept = timely and _least_rise(run, count) <= accepted
    over = 0
    wire = 0
    searched = kept
    if searched:
        for j in range(count):
            e = touched[j]
            for d in range(layout.length[e]):
                scratch.saved[j, d] = layout.way[e, d]
            scratch.saved_length[j] = layout.length[e]
            wire -= layout.length[e]
            over -= (layout.length[e] == 0) * _LOST
            over += _put(run, e, int64(-1))
        for j in range(count):
            e = touched[j]
            _find(run, e)
            over += _put(run, e, int64(1))
            over += (layout.length[e] == 0) * _LOST
            wire += layout.length[e]
        kept = wire + rules.price * over <= accepted
    if kept:
        return True, over, wire
    if searched:
        for j in range(count):
            _put(run, touched[j], int64(-1))
    position[a], issue[a] = here, issue_a
    if b >= 0:
        position[b], issue[b] = there, issue_b
    if searched:
        for j in range(count):
            e = touched[j]
            for d in range(scratch.saved_length[j]):
                layout.way[e, d] = scratch.saved[j, d]
            layout.length[e] = scratch.saved_length[j]
            _put(run, e, int64(1))
    return False, 0, 0


@borrowing
def _complete(run: JointRun) -> int:
    """Route the edges that have no way yet; returns how many still have none."""
    problem, layout = run.problem, run.layout
    lost = 0
    for e in problem.edges.net:
        if layout.length[e] == 0:
            _find(run, e)
            _put(run, e, int64(1))
            lost += layout.length[e] == 0
    return lost


@borrowing
def _copy(source: JointLayout, target: JointLayout) -> None:
    """Copy a layout into another one of the same shape."""
    copy_row(source.position, target.position)
    copy_row(source.issue, target.issue)
    copy_table(source.way, target.way)
    copy_row(source.length, target.length)
    copy_row(source.used, target.used)


@kernel
def anneal_jointly(
    problem: Problem, grid: TileGrid, layout: JointLayout, rules: MoveRules, seed: int, stop: Uint8s
) -> tuple[int, int]:
    """Anneal ``layout`` in place: (signals without a link of their own, moves made).

    The temperature falls from ``hot`` to ``cold``; the result is the legal state with the shortest wires, or where the
    run ended if there was none. An edge without a way counts as two signals. Besides the moves, the states that
    searches visit bound the run, since a move on a large grid with long windows takes many times as long as one on a
    small grid.
    """
    graph = problem.graph
    state = random_state(seed)
    scratch = _scratch(graph, len(problem.links.target), layout.way.shape[1] + 1)
    occupant = np.full(len(grid.row), -1, dtype=np.int32)
    for node in range(len(layout.position)):
        occupant[layout.position[node]] = node
    run = JointRun(problem, layout, scratch, rules, state)
    over = _complete(run) * _LOST
    for link in range(len(layout.used)):
        over += max(0, layout.used[link] - 1)
    wire = 0
    for e in range(len(layout.length)):
        wire += layout.length[e]
    best_wire = wire if over == 0 else 1 << 40
    best = JointLayout(
        layout.position.copy(), layout.issue.copy(), layout.way.copy(), layout.length.copy(), layout.used.copy()
    )
    temperature = rules.hot
    cooling = constant_factor(rules.hot, rules.cold, rules.moves)
    made = 0
    while made < rules.moves and scratch.visited[0] < rules.visits and stop[0] == 0:
        if rules.first_legal and over == 0:
            break
        made += 1
        if made % STEP == 0:
            temperature *= cooling
        a = _node_in_conflict(run) if over > 0 and random_below(state, 4) == 0 else int64(-1)
        if a < 0 or grid.fixed[layout.position[a]]:
            a = int64(graph.movable[random_below(state, len(graph.movable))])
        here = layout.position[a]
        there = draw_tile(a, 1 + random_below(state, 3), state, layout.position, graph, grid)
        b = int64(occupant[there] if there != here else -1)
        if grid.fixed[there] or not grid.allowed[graph.kind[a], there]:
            continue
        if b >= 0 and not grid.allowed[graph.kind[b], here]:
            continue
        move = PlacementMove(a, b, here, there)
        kept, more_over, more_wire = _attempt(run, move, temperature)
        if kept:
            occupant[here] = b
            occupant[there] = a
            over += more_over
            wire += more_wire
            if over == 0 and wire < best_wire:
                best_wire = wire
                _copy(layout, best)
    if best_wire < 1 << 40:
        _copy(best, layout)
        over = 0
    return over, made
