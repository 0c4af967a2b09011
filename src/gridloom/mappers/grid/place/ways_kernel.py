"""Annealing of a placement together with shortest ways for its edges, compiled.

The plain annealer sees hops, not links: its best placements need links twice. The joint annealer searches a way for
every edge it touches. In mappings with short wires nearly all edges have one or two links and no detour, so here the
shortest ways between tiles that are near are listed once, and a move takes for each edge the way in the list that
fights for the fewest links. Cost: hops, plus a price for each signal without a link of its own.

A signal's edges share a link where they are equally far from its source, as everywhere on the static grids. Edges
that are longer than the list reaches have no way here: they cost a fight, and a router has to find one in the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.mappers.grid.place.anneal_kernel import State, _below, _draw, _unit

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

#: Links of the longest listed ways, and ways listed for a pair of tiles.
REACH = 8
_WAYS = 8


class Ground(NamedTuple):
    """What does not change: the graph, the grid and the shortest ways on it."""

    movable: Ints
    fixed: Bools
    kind: Ints
    allowed: Bools
    #: CSR by node: its edges and who is at their other end.
    starts: Ints
    incident: Ints
    neighbour: Ints
    source: Ints
    target: Ints
    #: CSR by node: the edges of its signal.
    net_at: Ints
    net: Ints
    hops: NDArray[Any]
    row: Ints
    col: Ints
    grid: Ints
    #: pair[s, t]: position of the first way between two tiles in ``ways``, listed[s, t]: how many there are.
    pair: Ints
    listed: Ints
    ways: Ints


class Plan(NamedTuple):
    """What moves change: tiles of nodes, nodes of tiles, links of edges (length 0: no way), signals of links."""

    position: Ints
    occupant: Ints
    way: Ints
    length: Ints
    used: Ints


class Course(NamedTuple):
    """How to move: temperatures in links, what a fight costs, how many moves; what it costs where states are ranked."""

    hot: float
    cold: float
    price: float
    moves: int
    worth: float


@njit(cache=True, nogil=True)
def _list_pair(
    s: int, t: int, at: int, ways: Ints, hops: NDArray[Any],
    link_target: Ints, leaving_at: Ints, leaving: Ints, following_at: Ints, following: Ints,
) -> int:  # fmt: skip
    """List the shortest ways from s to t from position ``at`` on; returns how many there are (at most so many)."""
    depth = hops[s, t]
    cursor = np.zeros(REACH, dtype=np.int32)
    chain = np.empty(REACH, dtype=np.int32)
    cursor[0] = leaving_at[s]
    level = found = 0
    while level >= 0:
        end = leaving_at[s + 1] if level == 0 else following_at[chain[level - 1] + 1]
        if cursor[level] == end or found == _WAYS:
            level -= 1
            continue
        link = leaving[cursor[level]] if level == 0 else following[cursor[level]]
        cursor[level] += 1
        if hops[link_target[link], t] != depth - level - 1:
            continue
        chain[level] = link
        if level == depth - 1:
            ways[at + found, :depth] = chain[:depth]
            found += 1
        else:
            level += 1
            cursor[level] = following_at[link]
    return found


@njit(cache=True, nogil=True)
def list_ways(
    hops: NDArray[Any], link_target: Ints, leaving_at: Ints, leaving: Ints, following_at: Ints, following: Ints
) -> tuple[Ints, Ints, Ints]:
    """(pair, count, ways) of all pairs of tiles at most REACH links apart."""
    tiles = len(leaving_at) - 1
    pair = np.full((tiles, tiles), -1, dtype=np.int32)
    count = np.zeros((tiles, tiles), dtype=np.int32)
    near = 0
    for s in range(tiles):
        for t in range(tiles):
            near += 0 < hops[s, t] <= REACH
    ways = np.full((near * _WAYS, REACH), -1, dtype=np.int32)
    at = 0
    for s in range(tiles):
        for t in range(tiles):
            if 0 < hops[s, t] <= REACH:
                pair[s, t] = at
                count[s, t] = _list_pair(
                    s, t, at, ways, hops, link_target, leaving_at, leaving, following_at, following
                )
                at += count[s, t]
    return pair, count, ways[:at].copy()


@njit(cache=True, nogil=True)
def _shared(e: int, link: int, d: int, ground: Ground, plan: Plan) -> bool:
    """True when another edge of e's signal is on the link at the same distance from the source."""
    n = ground.source[e]
    for k in range(ground.net_at[n], ground.net_at[n + 1]):
        other = ground.net[k]
        if other != e and plan.length[other] > d and plan.way[other, d] == link:
            return True
    return False


@njit(cache=True, nogil=True)
def _lift(e: int, ground: Ground, plan: Plan) -> int:
    """Take edge e off its links; returns by how much fights change. An edge without a way is a fight."""
    if plan.length[e] == 0:
        return -1
    over = 0
    for d in range(plan.length[e]):
        link = plan.way[e, d]
        if not _shared(e, link, d, ground, plan):
            plan.used[link] -= 1
            over -= plan.used[link] >= 1
    plan.length[e] = 0
    return over


@njit(cache=True, nogil=True)
def _lay(e: int, ground: Ground, plan: Plan, state: State) -> int:
    """Give edge e, which has none, the listed way with the fewest fights, then the fewest links of its own."""
    s, t = plan.position[ground.source[e]], plan.position[ground.target[e]]
    count = ground.listed[s, t]
    if count == 0:
        return 1
    depth = ground.hops[s, t]
    chosen, least = -1, 1 << 20
    first = _below(state, count) if count > 1 else 0
    for k in range(count):
        w = ground.pair[s, t] + (first + k if first + k < count else first + k - count)
        price = 0
        for d in range(depth):
            link = ground.ways[w, d]
            if plan.used[link] == 0:
                price += 1
            elif not _shared(e, link, d, ground, plan):
                price += 64
        if price < least:
            chosen, least = w, price
    over = 0
    for d in range(depth):
        link = ground.ways[chosen, d]
        plan.way[e, d] = link
        if not _shared(e, link, d, ground, plan):
            over += plan.used[link] >= 1
            plan.used[link] += 1
    plan.length[e] = depth
    return over


@njit(cache=True, nogil=True)
def _put_back(e: int, length: int, ground: Ground, plan: Plan) -> None:
    """Put edge e, off its links, on the links in ``plan.way`` again."""
    for d in range(length):
        link = plan.way[e, d]
        if not _shared(e, link, d, ground, plan):
            plan.used[link] += 1
    plan.length[e] = length


@njit(cache=True, nogil=True)
def _gather(a: int, b: int, ground: Ground, touched: Ints) -> int:
    """The edges of a and b, each once."""
    count = 0
    for k in range(ground.starts[a], ground.starts[a + 1]):
        touched[count] = ground.incident[k]
        count += 1
    if b >= 0:
        for k in range(ground.starts[b], ground.starts[b + 1]):
            if ground.neighbour[k] != a:
                touched[count] = ground.incident[k]
                count += 1
            else:
                e = ground.incident[k]
                seen = False
                for j in range(count):
                    seen = seen or touched[j] == e
                if not seen:
                    touched[count] = e
                    count += 1
    return count


@njit(cache=True, nogil=True)
def _farther(a: int, b: int, here: int, there: int, ground: Ground, plan: Plan) -> int:
    """How many hops more a's edges have from ``there``; its edges with b, which it swaps with, stay as long."""
    more = 0
    for k in range(ground.starts[a], ground.starts[a + 1]):
        if ground.neighbour[k] != b:
            tile = plan.position[ground.neighbour[k]]
            more += int(ground.hops[there, tile]) - int(ground.hops[here, tile])
    return more


@njit(cache=True, nogil=True)
def _relieved(a: int, ground: Ground, plan: Plan) -> int:
    """How many fights the edges of a are in at most."""
    over = 0
    for k in range(ground.starts[a], ground.starts[a + 1]):
        e = ground.incident[k]
        over += plan.length[e] == 0
        for d in range(plan.length[e]):
            over += plan.used[plan.way[e, d]] > 1
    return over


@njit(cache=True, nogil=True)
def _relaid(
    a: int, b: int, here: int, there: int, more: int, accepted: float, price: float, state: State,
    ground: Ground, plan: Plan, touched: Ints, old_way: Ints, old_length: Ints,
) -> tuple[bool, int]:  # fmt: skip
    """Move a to ``there`` (and b to ``here``) with the ways of their edges, or put all back: (kept, more fights)."""
    count = _gather(a, b, ground, touched)
    over = 0
    for j in range(count):
        e = touched[j]
        old_length[j] = plan.length[e]
        old_way[j] = plan.way[e]
        over += _lift(e, ground, plan)
    plan.position[a] = there
    if b >= 0:
        plan.position[b] = here
    for j in range(count):
        over += _lay(touched[j], ground, plan, state)
    if more + price * over <= accepted:
        plan.occupant[here] = b
        plan.occupant[there] = a
        return True, over
    for j in range(count):
        _lift(touched[j], ground, plan)
    plan.position[a] = here
    if b >= 0:
        plan.position[b] = there
    for j in range(count):
        plan.way[touched[j]] = old_way[j]
        _put_back(touched[j], old_length[j], ground, plan)
    return False, 0


@njit(cache=True, nogil=True)
def anneal_ways(ground: Ground, plan: Plan, course: Course, seed: int, stop: NDArray[np.uint8]) -> tuple[int, int, int]:
    """Anneal ``plan`` in place: (signals without a link of their own, hops in all, moves made).

    The result is the state with the fewest hops, each fight counted as ``course.worth`` hops.
    """
    state = np.array([seed], dtype=np.uint64)
    most = 1
    for node in range(len(ground.starts) - 1):
        most = max(most, ground.starts[node + 1] - ground.starts[node])
    touched = np.empty(2 * most, dtype=np.int32)
    old_way = np.empty((2 * most, REACH), dtype=np.int32)
    old_length = np.empty(2 * most, dtype=np.int32)
    over = 0
    wire = 0
    for e in ground.net:
        over += _lay(e, ground, plan, state)
        wire += ground.hops[plan.position[ground.source[e]], plan.position[ground.target[e]]]
    best_over, best_wire = over, wire
    best_position, best_way, best_length = plan.position.copy(), plan.way.copy(), plan.length.copy()
    best_used = plan.used.copy()
    temperature = course.hot
    cooling = (course.cold / course.hot) ** (256.0 / max(256, course.moves))
    made = 0
    # No edge has less than a link: nothing is left to find then.
    while made < course.moves and stop[0] == 0 and best_wire + best_over > len(ground.net):
        made += 1
        if made % 256 == 0:
            temperature *= cooling
        a = ground.movable[_below(state, len(ground.movable))]
        here = plan.position[a]
        there = _draw(
            a, 1 + _below(state, 3), state, plan.position, ground.starts, ground.neighbour, ground.row, ground.col,
            ground.grid,
        )  # fmt: skip
        if ground.fixed[there] or not ground.allowed[ground.kind[a], there]:
            continue
        b = plan.occupant[there]
        if there == here:
            if over == 0:
                continue
            b = -1
        if b >= 0 and not ground.allowed[ground.kind[b], here]:
            continue
        more = _farther(a, b, here, there, ground, plan)
        if b >= 0:
            more += _farther(b, a, there, here, ground, plan)
        # What is accepted is drawn first: most moves are refused by their hops alone.
        accepted = -temperature * np.log(max(_unit(state), 1e-300))
        least = np.float64(more)
        if over > 0 and least > accepted:
            least -= course.price * (_relieved(a, ground, plan) + (_relieved(b, ground, plan) if b >= 0 else 0))
        if least > accepted:
            continue
        kept, fights = _relaid(
            a, b, here, there, more, accepted, course.price, state, ground, plan, touched, old_way, old_length
        )
        if kept:
            if there == here:
                plan.occupant[here] = a
            over += fights
            wire += more
            if wire + course.worth * over < best_wire + course.worth * best_over:
                best_over, best_wire = over, wire
                best_position[:] = plan.position
                best_way[:] = plan.way
                best_length[:] = plan.length
                best_used[:] = plan.used
    plan.position[:] = best_position
    plan.occupant[:] = -1
    for node in range(len(best_position)):
        plan.occupant[best_position[node]] = node
    plan.way[:] = best_way
    plan.length[:] = best_length
    plan.used[:] = best_used
    return best_over, best_wire, made
