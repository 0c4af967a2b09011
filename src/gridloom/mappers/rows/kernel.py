"""Annealing of ops, ports and routes together on arrays without latency, compiled.

Resources are numbered in topological order, so the cheapest way to an operand is one sweep over the numbers between
producer and operand, without a queue. A resource that the signal already has costs nothing (fan-outs become trees); one
that another signal has costs ``price`` plus its history, so that conflicts are negotiated for while nodes move. The
cost of a state is the sum of what its resources cost; a move rips up what it touches, routes it again and is taken or
undone by the change of that sum.

A constant starts at any constant register: it takes as many of them as its readers' rows need.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.mappers.core.kernels import borrowing, copy_row, copy_table, kernel

Ints = NDArray[np.int32]
# Numbers of edges are 64 bits wide wherever they are passed on: one type of argument, one compilation.
Longs = NDArray[np.int64]
Shorts = NDArray[np.int16]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]

#: Groups of nodes: what they sit on.
OP, LOAD, STORE, CONST = 0, 1, 2, 3

_FAR = 1e300
# Above what any way costs.
_LARGE = 1e290
# What an edge without any way costs besides twice the price of a conflict, and for each row its reader sits too low.
_MISSING = 4.0
_ROW = 2.0
# The shares of moves that only route anew what fights over a resource, and that exchange two constant registers.
_REROUTES = 0.15
_EXCHANGES = 0.1

# The length of an empty list. It has a type, since a function is compiled once more for each literal.
_NOTHING: Any = np.int64(0)


class Graph(NamedTuple):
    """Nodes and edges; see ``RowGraph``."""

    source: Ints
    target: Ints
    operand: Ints
    group: Ints
    #: CSR: the edges that a node is an end of.
    touch_at: Ints
    touch: Ints
    #: Nodes that may be moved.
    movable: Ints
    #: allowed[node, tile]
    allowed: Bytes


class Rows(NamedTuple):
    """The array; see ``RowArray``."""

    succ_at: Ints
    succ: Ints
    owner: Ints
    base: Floats
    reach: Bytes
    tile_in: Ints
    tile_out: Ints
    tile_fu: Ints
    roots: Ints
    row: Ints
    col: Ints
    at: Ints
    ports: Ints


class State(NamedTuple):
    """Where everything is."""

    #: Node -> tile (-1: a constant), tile -> node (-1: empty).
    place: Ints
    occupant: Ints
    #: Of each edge the resources from its producer to its operand; length 0: there is no way, at the cost ``miss``.
    way: Ints
    length: Ints
    miss: Floats
    #: own[node, resource]: edges of the node's signal there. used[resource]: signals there.
    own: Shorts
    used: Shorts
    history: Floats
    #: Signals too many on resources, and edges without a way.
    over: Ints
    #: What the resources in use cost, conflicts left out.
    wire: Floats
    #: Edges whose constant has to come from a certain register in this move; -1: any.
    forced: Ints
    #: Scratch of the router.
    best: Floats
    back: Ints


class Schedule(NamedTuple):
    """Temperatures and prices from first to last, both geometric, and what a conflict adds to a resource's history."""

    temperatures: int
    moves: int
    hot: float
    cold: float
    price_first: float
    price_last: float
    step: float


@borrowing
def _lay(e: int, n: int, rows: Rows, state: State, price: float) -> float:
    """Put edge e of signal n on its way; returns what that costs."""
    if state.length[e] == 0:
        state.over[1] += 1
        return float(state.miss[e])
    cost = 0.0
    for k in range(state.length[e]):
        r = state.way[e, k]
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
def lift(e: int, n: int, rows: Rows, state: State, price: float) -> float:
    """Take edge e of signal n off its way; returns what that saves."""
    if state.length[e] == 0:
        state.over[1] -= 1
        return float(state.miss[e])
    cost = 0.0
    for k in range(state.length[e]):
        r = state.way[e, k]
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
def _sweep(n: int, first: int, sink: int, goal: int, rows: Rows, state: State, price: float, limit: float) -> None:
    """Relax every arc between ``first`` and ``sink``; numbers are topological, so once is enough.

    What costs more than ``limit`` is not followed.
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
    e: int, n: int, root: int, sink: int, goal: int, rows: Rows, state: State, price: float, limit: float
) -> bool:
    """Find the cheapest way of edge e from ``root`` (-1: any constant register) to ``sink`` on tile ``goal``.

    False: there is none that costs ``limit`` or less.
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
    if steps == 0 or steps > state.way.shape[1]:
        return False
    state.length[e] = steps
    r = sink
    while r >= 0:
        steps -= 1
        state.way[e, steps] = r
        r = back[r]
    return True


@borrowing
def _find(e: int, graph: Graph, rows: Rows, state: State, price: float, limit: float) -> bool:
    """Route edge e between the tiles of its ends at a cost of at most ``limit``."""
    n = graph.source[e]
    goal = state.place[graph.target[e]]
    constant = graph.group[n] == CONST
    if constant and len(rows.roots) == 0:
        state.length[e] = 0
        return False
    root = state.forced[e] if constant else rows.tile_out[state.place[n]]
    return bool(_route(e, n, root, rows.tile_in[goal, graph.operand[e]], goal, rows, state, price, limit))


@borrowing
def _price_of_none(e: int, graph: Graph, rows: Rows, state: State, price: float) -> float:
    """What it costs that edge e has no way: more, the more its reader sits below its producer."""
    n = graph.source[e]
    gap = 0
    if graph.group[n] != CONST and graph.group[graph.target[e]] != STORE:
        gap = max(0, rows.row[state.place[n]] - rows.row[state.place[graph.target[e]]])
    return float(_MISSING + 2.0 * price + _ROW * gap)


@borrowing
def connect(e: int, graph: Graph, rows: Rows, state: State, price: float) -> float:
    """Route edge e between the tiles of its ends and lay it; returns its cost."""
    if not _find(e, graph, rows, state, price, _LARGE):
        state.miss[e] = _price_of_none(e, graph, rows, state, price)
    return _lay(e, graph.source[e], rows, state, price)


@borrowing
def _connect_within(e: int, graph: Graph, rows: Rows, state: State, price: float, limit: float) -> float:
    """``connect`` where that costs at most ``limit``; else nothing is laid and the result is above it."""
    if not _find(e, graph, rows, state, price, limit):
        none = _price_of_none(e, graph, rows, state, price)
        if none > limit or _find(e, graph, rows, state, price, _LARGE):
            return _FAR
        state.miss[e] = none
    return _lay(e, graph.source[e], rows, state, price)


@borrowing
def _through(r: int, state: State, mark: Bytes, edges: Longs, count: int) -> int:
    """Add the edges that use resource r to a list; returns its new length."""
    for e in range(len(state.length)):
        if mark[e]:
            continue
        for k in range(state.length[e]):
            if state.way[e, k] == r:
                mark[e] = 1
                edges[count] = e
                count += 1
                break
    return count


@borrowing
def _touching(a: int, graph: Graph, mark: Bytes, edges: Longs, count: int) -> int:
    """Add the edges of node a to a list; returns its new length."""
    for k in range(graph.touch_at[a], graph.touch_at[a + 1]):
        e = graph.touch[k]
        if mark[e] == 0:
            mark[e] = 1
            edges[count] = e
            count += 1
    return count


@borrowing
def _neighbour(a: int, graph: Graph) -> tuple[int, int]:
    """A random node with an edge to or from node a, and 1 when it is the producer, else -1; (-1, 0): not placed."""
    edges = graph.touch_at[a + 1] - graph.touch_at[a]
    if edges == 0:
        return -1, 0
    e = graph.touch[graph.touch_at[a] + np.random.randint(edges)]
    other, sign = (graph.target[e], -1) if graph.source[e] == a else (graph.source[e], 1)
    return (-1, 0) if graph.group[other] == CONST else (other, sign)


@borrowing
def _port_to_try(a: int, graph: Graph, rows: Rows, state: State) -> int:
    """A port for node a: near a neighbour's column, or any; -1: none there."""
    line = rows.ports[graph.group[a] - 1]
    if np.random.random() < 0.5:
        other, _ = _neighbour(a, graph)
        if other >= 0:
            c = rows.col[state.place[other]] + np.random.randint(3) - 1
            return int(line[c]) if 0 <= c < len(line) else -1
    return int(line[np.random.randint(len(line))])


@borrowing
def _tile_to_try(a: int, limit: int, graph: Graph, rows: Rows, state: State) -> int:
    """A PE for node a: one that a neighbour reaches in a step or two, or any within ``limit``; -1: none there."""
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
def _fought(state: State) -> int:
    """A resource that several signals have, met on a random edge; -1: none was met."""
    for _ in range(12):
        e = np.random.randint(len(state.length))
        for k in range(state.length[e]):
            if state.used[state.way[e, k]] > 1:
                return int(state.way[e, k])
    return -1


@borrowing
def _exchange_registers(graph: Graph, rows: Rows, state: State, mark: Bytes, edges: Longs) -> int:
    """List the edges that read one of two constant registers, each to be routed from the other one; how many."""
    e = np.random.randint(len(state.length))
    if graph.group[graph.source[e]] != CONST or state.length[e] == 0:
        return 0
    here = int(state.way[e, 0])
    there = int(rows.roots[np.random.randint(len(rows.roots))])
    if here == there or rows.reach[there, state.place[graph.target[e]]] == 0:
        return 0
    first = _through(here, state, mark, edges, _NOTHING)
    count = _through(there, state, mark, edges, first)
    for k in range(count):
        state.forced[edges[k]] = there if k < first else here
    return count


@borrowing
def _exchange(a: int, there: int, state: State) -> None:
    """Node a goes to tile ``there``; who sits there takes its tile."""
    here = state.place[a]
    b = state.occupant[there]
    state.place[a] = there
    state.occupant[there] = a
    state.occupant[here] = b
    if b >= 0:
        state.place[b] = here


@borrowing
def _propose(limit: int, graph: Graph, rows: Rows, state: State, mark: Bytes, edges: Longs) -> tuple[int, int, int]:
    """(node, tile, edges to route anew) of a move; node -1: only routes; no edges: nothing to do."""
    draw = np.random.random()
    if draw < _REROUTES:
        r = _fought(state) if state.over[0] > 0 else -1
        count = _through(r, state, mark, edges, _NOTHING) if r >= 0 else 0
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
    count = _touching(a, graph, mark, edges, _NOTHING)
    if b >= 0:
        count = _touching(b, graph, mark, edges, count)
    elif rows.tile_fu[there] >= 0 and state.used[rows.tile_fu[there]] > 0:
        # An op cannot share its ALU, so what passes through has to find another way.
        count = _through(int(rows.tile_fu[there]), state, mark, edges, count)
    return a, there, count


@borrowing
def _move(
    limit: int, heat: float, price: float, graph: Graph, rows: Rows, state: State, old: State, mark: Bytes, edges: Longs
) -> bool:
    """Try one move; True when it was taken. ``old`` keeps the ways that are replaced.

    What the move may cost is drawn first, so that it ends as soon as it costs more.
    """
    a, there, count = _propose(limit, graph, rows, state, mark, edges)
    if count == 0 and a < 0:
        return False
    most = -heat * np.log(1.0 - np.random.random())
    change = 0.0
    for k in range(count):
        e = edges[k]
        mark[e] = 0
        change -= lift(e, graph.source[e], rows, state, price)
        old.length[e] = state.length[e]
        old.miss[e] = state.miss[e]
        for j in range(state.length[e]):
            old.way[e, j] = state.way[e, j]
    here = state.place[a] if a >= 0 else -1
    if a >= 0:
        _exchange(a, there, state)
    laid = 0
    while laid < count and change <= most:
        cost = _connect_within(edges[laid], graph, rows, state, price, most - change)
        change += cost
        if cost < _FAR:
            laid += 1
    for k in range(count):
        state.forced[edges[k]] = -1
    if change <= most:
        return True
    for k in range(count):
        e = edges[k]
        if k < laid:
            lift(e, graph.source[e], rows, state, price)
        state.length[e] = old.length[e]
        state.miss[e] = old.miss[e]
        for j in range(state.length[e]):
            state.way[e, j] = old.way[e, j]
    if a >= 0:
        _exchange(a, here, state)
    for k in range(count):
        _lay(edges[k], graph.source[edges[k]], rows, state, price)
    return False


@kernel
def blank(nodes: int, tiles: int, edges: int, resources: int, longest: int) -> State:
    """A state with nothing placed and nothing routed."""
    return State(
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
    graph: Graph,
    rows: Rows,
    schedule: Schedule,
    place: Ints,
    kept: State,
    polish: bool,
    seed: int,
    stop: Bytes,
    halt: Bytes,
) -> tuple[int, float, int]:
    """Anneal from a placement: (conflicts and edges without a way, cost of the wires, moves made) of the best state.

    Ends at the first legal state; with ``polish``, which starts from the ways in ``kept``, at the end of the schedule.
    ``kept`` gets place, ways and uses of
    the state with the fewest conflicts, then with the cheapest wires. The same seed gives the same result.
    """
    np.random.seed(seed & 0x7FFFFFFF)
    count = len(graph.source)
    resources = len(rows.base)
    state = blank(len(place), len(rows.row), count, resources, kept.way.shape[1])
    old = blank(1, 1, count, 1, kept.way.shape[1])
    for a in range(len(place)):
        state.place[a] = place[a]
        if place[a] >= 0:
            state.occupant[place[a]] = a
    mark = np.zeros(count, dtype=np.uint8)
    edges = np.empty(count, dtype=np.int64)
    for e in range(count):
        if polish:
            copy_row(kept.way[e], state.way[e])
            state.length[e] = kept.length[e]
            _lay(e, graph.source[e], rows, state, schedule.price_first)
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
                copy_table(state.way, kept.way)
                copy_row(state.length, kept.length)
                copy_row(state.used, kept.used)
                if now == 0 and not polish:
                    return least, wire, made
        if stop[0] != 0 or halt[0] != 0:
            break
    return least, wire, made
