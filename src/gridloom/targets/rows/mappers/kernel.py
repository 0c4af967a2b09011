"""Annealing of ops, ports and routes together on arrays without latency, compiled.

Resources are numbered in topological order, so the cheapest route to an operand is one sweep over the numbers between
producer and operand, without a queue. A resource that the signal already has costs nothing (fan-outs become trees); one
that another signal has costs ``price`` plus its history, so that conflicts are negotiated for while nodes move, as in
PathFinder (McMurchie and Ebeling 1995). The cost of a state is the sum of what its resources cost; a move rips up what
it touches, routes it again and is taken or undone by the change of that sum.

Invariants between moves: ``own``, ``used``, ``over`` and ``wire`` are what the committed routes add up to; only
``_commit`` and ``rip_up`` change them, and nothing counts them anew. They do not depend on the order of the commits, so
a move that is undone leaves them as they were. ``mark`` is all zeros and ``forced`` all -1. The sum of the costs itself
is not kept: prices rise from temperature to temperature, and only differences at one price are compared.

A constant starts at any constant register: it takes as many of them as its readers' rows need.

Cost: a move routes the edges of one or two nodes, each by a sweep over at most all arcs between two numbers. A rejected
move pays for its undoing as well. Memory: ``own`` has nodes * resources entries of 16 bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gridloom.jit import borrowing, copy_row, copy_table, kernel
from gridloom.search.arrays import Float64s, Int16s, Int32s, Int64s, Uint8s
from gridloom.targets.rows.mappers.problem import CONST, OP, STORE, RowTables

# Numbers of edges are 64 bits wide wherever they are passed on: one type of argument, one compilation.

_FAR = 1e300
# A limit that no route exceeds.
_LARGE = 1e290
# An edge without any route costs this much besides twice the price of a conflict, and ``_ROW`` more for each row that
# its reader sits too low.
_MISSING = 4.0
_ROW = 2.0
# The shares of moves that only reroute what meets at a contested resource, and that exchange two constant registers.
_REROUTES = 0.15
_EXCHANGES = 0.1

# The length of an empty list. It has a type, since a function is compiled once more for each literal.
_EMPTY: Any = np.int64(0)


class RowKernelGraph(NamedTuple):
    """Nodes and edges as the kernels read them; ``RowGraph`` says what the first four arrays hold."""

    source: Int32s
    target: Int32s
    operand: Int32s
    group: Int32s
    #: CSR: the edges that a node is an end of.
    touch_at: Int32s
    touch: Int32s
    #: Nodes that may be moved.
    movable: Int32s
    #: allowed[node, tile] is 1 when the node may sit on the tile.
    allowed: Uint8s


class RowState(NamedTuple):
    """A placement with all its routes, and the counts that follow from them.

    ``blank`` makes one. The kernels change it in place; scalars are arrays of one element for that reason.
    """

    #: The tile of each node (-1: a constant), and the node of each tile (-1: it is empty).
    place: Int32s
    occupant: Int32s
    #: route[e, : length[e]] are the resources of edge e from its producer to its operand. With length 0 the edge has no
    #: route, at the cost ``miss[e]``.
    route: Int32s
    length: Int32s
    miss: Float64s
    #: own[node, resource] counts the edges of the node's signal there, used[resource] the signals there.
    own: Int16s
    used: Int16s
    history: Float64s
    #: [signals too many, summed over resources; edges without a route]. Both 0: the state is legal.
    over: Int32s
    #: The sum of the base costs of the resources in use, once for each signal there.
    wire: Float64s
    #: Edges whose constant has to come from a certain register in this move; -1: any.
    forced: Int32s
    #: Scratch of the router: the cost of the cheapest route to each resource, and the resource before it (-1: none).
    best: Float64s
    back: Int32s


class RowSchedule(NamedTuple):
    """Temperatures and prices from first to last, both geometric, and what a conflict adds to a resource's history.

    ``moves`` is the number of moves per temperature, ``step`` the addition to the history for each signal too many,
    once per temperature.
    """

    temperatures: int
    moves: int
    hot: float
    cold: float
    price_first: float
    price_last: float
    step: float
    #: [temperature] -> the fewest conflicts so far, which the start writes, and the most with which it goes on.
    least: Int32s
    most: Int32s


@borrowing
def _commit(e: int, n: int, rows: RowTables, state: RowState, price: float) -> float:
    """Take the resources of edge e for signal n; returns what that adds to the cost of the state.

    Only a resource that is new to the signal costs something. An edge without a route costs its ``miss``.
    """
    if state.length[e] == 0:
        state.over[1] += 1
        return float(state.miss[e])
    cost = 0.0
    for k in range(state.length[e]):
        r = state.route[e, k]
        state.own[n, r] += 1
        if state.own[n, r] > 1:
            continue
        state.used[r] += 1
        state.wire[0] += rows.base[r]
        cost += rows.base[r]
        if state.used[r] > 1:
            state.over[0] += 1
            cost += price + state.history[r]
    return cost


@borrowing
def rip_up(e: int, n: int, rows: RowTables, state: RowState, price: float) -> float:
    """Release the resources of edge e of signal n; returns what that takes off the cost of the state.

    The exact inverse of ``_commit`` at the same price. The route itself stays in ``state.route``.
    """
    if state.length[e] == 0:
        state.over[1] -= 1
        return float(state.miss[e])
    cost = 0.0
    for k in range(state.length[e]):
        r = state.route[e, k]
        state.own[n, r] -= 1
        if state.own[n, r] > 0:
            continue
        state.used[r] -= 1
        state.wire[0] -= rows.base[r]
        cost += rows.base[r]
        if state.used[r] > 0:
            state.over[0] -= 1
            cost += price + state.history[r]
    return cost


@borrowing
def _sweep(
    n: int, first: int, sink: int, goal: int, rows: RowTables, state: RowState, price: float, limit: float
) -> None:
    """Relax every arc between ``first`` and ``sink``; numbers are topological, so once is enough.

    Resources whose cost so far exceeds ``limit`` are not followed, nor those from which the goal tile cannot be
    reached, nor ALUs that an op sits on (a free ALU may pass a value through). Successors are ascending, so the first
    one beyond the sink ends the row.
    """
    best, back = state.best, state.back
    for u in range(first, sink):
        cost = best[u]
        if cost > limit:
            continue
        for k in range(rows.succ_at[u], rows.succ_at[u + 1]):
            v = rows.succ[k]
            if v > sink:
                break
            if rows.reach[v, goal] == 0 or (rows.owner[v] >= 0 and state.occupant[rows.owner[v]] >= 0):
                continue
            enter = cost
            if state.own[n, v] == 0:
                enter += rows.base[v]
                if state.used[v] > 0:
                    enter += price + state.history[v]
            if enter < best[v]:
                best[v] = enter
                back[v] = u


@borrowing
def _route(
    e: int, n: int, root: int, sink: int, goal: int, rows: RowTables, state: RowState, price: float, limit: float
) -> bool:
    """Find the cheapest route of edge e from ``root`` (-1: any constant register) to ``sink`` on tile ``goal``.

    True when one of cost ``limit`` or less exists; it is then in ``state.route[e]``, from producer to operand, and not
    yet committed. False, with length 0, otherwise, or when the route is longer than a row of ``state.route``.
    """
    first = root if root >= 0 else rows.roots[0]
    state.length[e] = 0
    if first >= sink:
        return False
    best, back = state.best, state.back
    best[first : sink + 1] = _FAR
    if root >= 0:
        best[root] = 0.0
        back[root] = -1
    else:
        for r in rows.roots:
            if r < sink and rows.reach[r, goal] != 0:
                conflict = price + state.history[r] if state.used[r] > 0 else 0.0
                best[r] = 0.0 if state.own[n, r] > 0 else rows.base[r] + conflict
                back[r] = -1
    _sweep(n, first, sink, goal, rows, state, price, limit)
    steps = 0
    r = sink if best[sink] <= limit else -1
    while r >= 0:
        steps += 1
        r = back[r]
    if steps == 0 or steps > state.route.shape[1]:
        return False
    state.length[e] = steps
    r = sink
    while r >= 0:
        steps -= 1
        state.route[e, steps] = r
        r = back[r]
    return True


@borrowing
def _find(e: int, graph: RowKernelGraph, rows: RowTables, state: RowState, price: float, limit: float) -> bool:
    """Route edge e between the tiles of its ends at a cost of at most ``limit``; True when there is such a route.

    A constant starts at its forced register, where a move exchanges two, or at whichever is cheapest.
    """
    n = graph.source[e]
    goal = state.place[graph.target[e]]
    constant = graph.group[n] == CONST
    if constant and len(rows.roots) == 0:
        state.length[e] = 0
        return False
    root = state.forced[e] if constant else rows.tile_out[state.place[n]]
    return bool(_route(e, n, root, rows.tile_in[goal, graph.operand[e]], goal, rows, state, price, limit))


@borrowing
def _price_without_route(e: int, graph: RowKernelGraph, rows: RowTables, state: RowState, price: float) -> float:
    """The cost of having no route for edge e: it grows with the rows that its reader sits below its producer.

    The gradient leads a reader upwards, where a constant penalty would leave the annealer without direction.
    """
    n = graph.source[e]
    gap = 0
    if graph.group[n] != CONST and graph.group[graph.target[e]] != STORE:
        gap = max(0, rows.row[state.place[n]] - rows.row[state.place[graph.target[e]]])
    return float(_MISSING + 2.0 * price + _ROW * gap)


@borrowing
def connect(e: int, graph: RowKernelGraph, rows: RowTables, state: RowState, price: float) -> float:
    """Route edge e between the tiles of its ends and commit it; returns its cost, with or without a route."""
    if not _find(e, graph, rows, state, price, _LARGE):
        state.miss[e] = _price_without_route(e, graph, rows, state, price)
    return _commit(e, graph.source[e], rows, state, price)


@borrowing
def _connect_within(
    e: int, graph: RowKernelGraph, rows: RowTables, state: RowState, price: float, limit: float
) -> float:
    """``connect`` where that costs at most ``limit``; else nothing is committed and the result is above the limit.

    The bounded search is tried first. When it fails, having no route at all may still be affordable, but only if no
    route exists at any price: an edge that can be routed is never left without a route.
    """
    if not _find(e, graph, rows, state, price, limit):
        none = _price_without_route(e, graph, rows, state, price)
        if none > limit or _find(e, graph, rows, state, price, _LARGE):
            return _FAR
        state.miss[e] = none
    return _commit(e, graph.source[e], rows, state, price)


@borrowing
def _edges_through(r: int, state: RowState, mark: Uint8s, edges: Int64s, count: int) -> int:
    """Add the edges whose routes use resource r to a list; returns its new length. Edges with a mark are left out."""
    for e in range(len(state.length)):
        if mark[e]:
            continue
        for k in range(state.length[e]):
            if state.route[e, k] == r:
                mark[e] = 1
                edges[count] = e
                count += 1
                break
    return count


@borrowing
def _edges_of(a: int, graph: RowKernelGraph, mark: Uint8s, edges: Int64s, count: int) -> int:
    """Add the edges of node a to a list; returns its new length. Edges with a mark are left out."""
    for k in range(graph.touch_at[a], graph.touch_at[a + 1]):
        e = graph.touch[k]
        if mark[e] == 0:
            mark[e] = 1
            edges[count] = e
            count += 1
    return count


@borrowing
def _neighbour(a: int, graph: RowKernelGraph) -> tuple[int, int]:
    """A random node with an edge to or from node a, and 1 when it is the producer, else -1.

    (-1, 0) when a has no edge, or when the neighbour is a constant, which has no tile.
    """
    edges = graph.touch_at[a + 1] - graph.touch_at[a]
    if edges == 0:
        return -1, 0
    e = graph.touch[graph.touch_at[a] + np.random.randint(edges)]
    other, sign = (graph.target[e], -1) if graph.source[e] == a else (graph.source[e], 1)
    return (-1, 0) if graph.group[other] == CONST else (other, sign)


@borrowing
def _port_to_try(a: int, graph: RowKernelGraph, rows: RowTables, state: RowState) -> int:
    """A port for node a: half of the time one within a column of a random neighbour, else any; -1: there is none."""
    line = rows.ports[graph.group[a] - 1]
    if np.random.random() < 0.5:
        other, _ = _neighbour(a, graph)
        if other >= 0:
            c = rows.col[state.place[other]] + np.random.randint(3) - 1
            return int(line[c]) if 0 <= c < len(line) else -1
    return int(line[np.random.randint(len(line))])


@borrowing
def _tile_to_try(a: int, limit: int, graph: RowKernelGraph, rows: RowTables, state: RowState) -> int:
    """A PE for node a: one that a neighbour reaches in a step or two, or any within ``limit``; -1: there is none.

    Of six equally likely steps from a producer, three go up a row and two go up two rows, each to a column at most one
    aside, and one goes east in the row; for a reader as neighbour the signs are reversed. A neighbour that is a store
    port says nothing about the row.
    """
    height, width = rows.at.shape
    other, sign = -1, 0
    if np.random.random() < 0.5:
        other, sign = _neighbour(a, graph)
    if other >= 0:
        pick = np.random.randint(6)
        up = 0 if pick == 3 else 2 if pick > 3 else 1
        side = 1 if pick == 3 else np.random.randint(3) - 1
        r = np.random.randint(height) if graph.group[other] == STORE else rows.row[state.place[other]] + sign * up
        c = rows.col[state.place[other]] + sign * side
    else:
        r = rows.row[state.place[a]] + np.random.randint(2 * limit + 1) - limit
        c = rows.col[state.place[a]] + np.random.randint(2 * limit + 1) - limit
    return rows.at[r, c] if 0 <= r < height and 0 <= c < width else -1


@borrowing
def _contested(state: RowState) -> int:
    """A resource that several signals have, met on one of twelve random edges; -1: none was met."""
    for _ in range(12 if len(state.length) else 0):
        e = np.random.randint(len(state.length))
        for k in range(state.length[e]):
            if state.used[state.route[e, k]] > 1:
                return int(state.route[e, k])
    return -1


@borrowing
def _exchange_registers(graph: RowKernelGraph, rows: RowTables, state: RowState, mark: Uint8s, edges: Int64s) -> int:
    """List the edges that read one of two constant registers, each to be routed from the other one; returns how many.

    Without this move two constants that sit in each other's best register would have to pass through a conflict.
    """
    if len(state.length) == 0:
        return 0
    e = np.random.randint(len(state.length))
    if graph.group[graph.source[e]] != CONST or state.length[e] == 0:
        return 0
    here = int(state.route[e, 0])
    there = int(rows.roots[np.random.randint(len(rows.roots))])
    if here == there or rows.reach[there, state.place[graph.target[e]]] == 0:
        return 0
    first = _edges_through(here, state, mark, edges, _EMPTY)
    count = _edges_through(there, state, mark, edges, first)
    for k in range(count):
        state.forced[edges[k]] = there if k < first else here
    return count


@borrowing
def _exchange(a: int, there: int, state: RowState) -> None:
    """Node a goes to tile ``there``; the node that sits there, if any, takes its tile. It is its own inverse."""
    here = state.place[a]
    b = state.occupant[there]
    state.place[a] = there
    state.occupant[there] = a
    state.occupant[here] = b
    if b >= 0:
        state.place[b] = here


@borrowing
def _propose(
    limit: int, graph: RowKernelGraph, rows: RowTables, state: RowState, mark: Uint8s, edges: Int64s
) -> tuple[int, int, int]:
    """(node, tile, number of edges to route anew) of a random move; node -1: nothing changes its place.

    The edges are listed in ``edges`` and marked. A share of the moves reroutes what meets at a contested resource, in
    random order; another exchanges constant registers; the rest move a node, in exchange with an occupant, and reroute
    the edges of both nodes and those that pass through the ALU that is taken. (-1, -1, 0) when what was drawn is not
    possible.
    """
    draw = np.random.random()
    if draw < _REROUTES:
        r = _contested(state) if state.over[0] > 0 else -1
        count = _edges_through(r, state, mark, edges, _EMPTY) if r >= 0 else 0
        for k in range(count - 1, 0, -1):
            j = np.random.randint(k + 1)
            edges[k], edges[j] = edges[j], edges[k]
        return -1, -1, count
    if draw < _REROUTES + _EXCHANGES:
        return -1, -1, _exchange_registers(graph, rows, state, mark, edges)
    if len(graph.movable) == 0:
        return -1, -1, 0
    a = graph.movable[np.random.randint(len(graph.movable))]
    if graph.group[a] == OP:
        there = _tile_to_try(a, limit, graph, rows, state)
    else:
        there = _port_to_try(a, graph, rows, state)
    if there < 0 or there == state.place[a] or graph.allowed[a, there] == 0:
        return -1, -1, 0
    b = state.occupant[there]
    if b >= 0 and graph.allowed[b, state.place[a]] == 0:
        return -1, -1, 0
    count = _edges_of(a, graph, mark, edges, _EMPTY)
    if b >= 0:
        count = _edges_of(b, graph, mark, edges, count)
    elif rows.tile_fu[there] >= 0 and state.used[rows.tile_fu[there]] > 0:
        # An op cannot share its ALU, so what passes through has to find another route.
        count = _edges_through(int(rows.tile_fu[there]), state, mark, edges, count)
    return a, there, count


@borrowing
def _move(
    limit: int,
    heat: float,
    price: float,
    graph: RowKernelGraph,
    rows: RowTables,
    state: RowState,
    old: RowState,
    mark: Uint8s,
    edges: Int64s,
) -> bool:
    """Try one move; True when it was taken. ``old`` keeps the routes that are replaced.

    The Metropolis threshold is drawn first, as the most that the move may cost: routing then ends as soon as it costs
    more, which is what makes rejected moves cheap. A rejected move is undone edge by edge.
    """
    a, there, count = _propose(limit, graph, rows, state, mark, edges)
    if count == 0 and a < 0:
        return False
    most = -heat * np.log(1.0 - np.random.random())
    change = 0.0
    for k in range(count):
        e = edges[k]
        mark[e] = 0
        change -= rip_up(e, graph.source[e], rows, state, price)
        old.length[e] = state.length[e]
        old.miss[e] = state.miss[e]
        for j in range(state.length[e]):
            old.route[e, j] = state.route[e, j]
    here = state.place[a] if a >= 0 else -1
    if a >= 0:
        _exchange(a, there, state)
    routed = 0
    while routed < count and change <= most:
        cost = _connect_within(edges[routed], graph, rows, state, price, most - change)
        change += cost
        if cost < _FAR:
            routed += 1
    for k in range(count):
        state.forced[edges[k]] = -1
    if change <= most:
        return True
    for k in range(count):
        e = edges[k]
        if k < routed:
            rip_up(e, graph.source[e], rows, state, price)
        state.length[e] = old.length[e]
        state.miss[e] = old.miss[e]
        for j in range(state.length[e]):
            state.route[e, j] = old.route[e, j]
    if a >= 0:
        _exchange(a, here, state)
    for k in range(count):
        _commit(edges[k], graph.source[edges[k]], rows, state, price)
    return False


@kernel
def blank(nodes: int, tiles: int, edges: int, resources: int, longest: int) -> RowState:
    """A state with nothing placed and nothing routed. ``longest`` is the most resources that a route may have."""
    return RowState(
        np.full(nodes, -1, dtype=np.int32),
        np.full(tiles, -1, dtype=np.int32),
        np.zeros((edges, longest), dtype=np.int32),
        np.zeros(edges, dtype=np.int32),
        np.zeros(edges),
        np.zeros((nodes, resources), dtype=np.int16),
        np.zeros(resources, dtype=np.int16),
        np.zeros(resources),
        np.zeros(2, dtype=np.int32),
        np.zeros(1),
        np.full(edges, -1, dtype=np.int32),
        np.empty(resources),
        np.empty(resources, dtype=np.int32),
    )


@kernel
def anneal(
    graph: RowKernelGraph,
    rows: RowTables,
    schedule: RowSchedule,
    place: Int32s,
    kept: RowState,
    polish: bool,
    seed: int,
    stop: Uint8s,
    halt: Uint8s,
) -> tuple[int, float, int]:
    """Anneal from a placement: (conflicts and edges without a route, cost of the wires, moves made) of the best state.

    Ends at the first legal state, when ``stop`` or ``halt`` is set by another thread, or at the end of the schedule;
    with ``polish``, which starts from the routes in ``kept``, a legal state does not end it. ``kept`` gets place,
    routes and uses of the state with the fewest conflicts, then with the cheapest wires. When no move was made,
    ``kept`` is as it was. The same seed gives the same result, unless it is stopped. The distance of moves shrinks to 1
    while the temperature falls.
    """
    np.random.seed(seed & 0x7FFFFFFF)
    count = len(graph.source)
    resources = len(rows.base)
    state = blank(len(place), len(rows.row), count, resources, kept.route.shape[1])
    old = blank(1, 1, count, 1, kept.route.shape[1])
    for a in range(len(place)):
        state.place[a] = place[a]
        if place[a] >= 0:
            state.occupant[place[a]] = a
    mark = np.zeros(count, dtype=np.uint8)
    edges = np.empty(count, dtype=np.int64)
    for e in range(count):
        if polish:
            copy_row(kept.route[e], state.route[e])
            state.length[e] = kept.length[e]
            _commit(e, graph.source[e], rows, state, schedule.price_first)
        else:
            connect(e, graph, rows, state, schedule.price_first)
    made = 0
    least = 1 << 30
    wire = 0.0
    for turn in range(schedule.temperatures):
        progress = turn / max(1, schedule.temperatures - 1)
        heat = schedule.hot * (schedule.cold / schedule.hot) ** progress
        price = schedule.price_first * (schedule.price_last / schedule.price_first) ** progress
        limit = max(1, int((1.0 - progress) * max(rows.at.shape[0], rows.at.shape[1])))
        for r in range(resources):
            if state.used[r] > 1:
                state.history[r] += schedule.step * (state.used[r] - 1)
        for step in range(schedule.moves):
            if stop[0] != 0 or halt[0] != 0:
                break
            made += 1
            taken = _move(limit, heat, price, graph, rows, state, old, mark, edges) or step == 0
            now = state.over[0] + state.over[1]
            if taken and (now < least or (now == least and state.wire[0] < wire - 1e-6)):
                least, wire = now, state.wire[0]
                copy_row(state.place, kept.place)
                copy_table(state.route, kept.route)
                copy_row(state.length, kept.length)
                copy_row(state.used, kept.used)
                if now == 0 and not polish:
                    return least, wire, made
        schedule.least[turn] = least
        if stop[0] != 0 or halt[0] != 0 or least > schedule.most[turn]:
            break
    return least, wire, made
