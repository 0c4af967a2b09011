"""Annealing of nodes, routes and issue cycles together, compiled.

The plain annealer sees hops, not links, and not when values meet. Here a move takes the edges of the nodes it touches
off their links, moves the nodes (and, in a timed run, their issue cycles), and routes these edges again; the cost is
the links used plus a price for each signal without a link of its own. In a timed run a route has to be as long as its
value is under way, less what a FIFO of ``bound`` cycles takes up, so that a legal state needs no deeper FIFO.

A move costs some ten short searches unless its hops alone forbid it: this starts where the plain annealer and the
router ended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.mappers.grid.place.anneal_kernel import State, _below, _draw, _unit
from gridloom.mappers.grid.route.pathfinder_kernel import _FAR, _search

Ints = NDArray[np.int32]
Shorts = NDArray[np.int16]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


#: How many fought-over links an edge without any way counts for.
_LOST = 2


class Field(NamedTuple):
    """What does not change: the graph, the grid and its links."""

    movable: Ints
    #: Tiles of fixed nodes; nodes whose issue cycle is fixed.
    fixed: Bools
    tied: Bools
    kind: Ints
    allowed: Bools
    #: CSR by node: its edges and who is at their other end.
    starts: Ints
    incident: Ints
    neighbour: Ints
    source: Ints
    target: Ints
    #: latency of the source less distance less 1: arrival = issue + wait + links.
    wait: Ints
    net_at: Ints
    net: Ints
    hops: Ints
    row: Ints
    col: Ints
    grid: Ints
    #: FIFO cycles of a tile's operands.
    fifo: Ints
    link_target: Ints
    leaving_at: Ints
    leaving: Ints
    following_at: Ints
    following: Ints


class Layout(NamedTuple):
    """What moves change."""

    position: Ints
    issue: Ints
    way: Ints
    length: Ints
    used: Ints


class Scratch(NamedTuple):
    """Room for searches and for what a refused move puts back."""

    own: Shorts
    best: Floats
    back: Ints
    layers: Ints
    sizes: Ints
    history: Floats
    touched: Ints
    saved: Ints
    saved_length: Ints
    #: States that searches visited.
    visited: NDArray[np.int64]


class Rules(NamedTuple):
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


@njit(cache=True, nogil=True)
def scratch(field: Field, layout: Layout) -> Scratch:
    """Room for one run."""
    links, depths = len(field.link_target), layout.way.shape[1] + 1
    most = 1
    for node in range(len(field.starts) - 1):
        most = max(most, field.starts[node + 1] - field.starts[node])
    return Scratch(
        np.zeros((links, depths), dtype=np.int16),
        np.full((depths, links), _FAR),
        np.empty((depths, links), dtype=np.int32),
        np.empty((depths, links), dtype=np.int32),
        np.zeros(depths, dtype=np.int32),
        np.zeros(links),
        np.empty(2 * most, dtype=np.int32),
        np.empty((2 * most, layout.way.shape[1]), dtype=np.int32),
        np.empty(2 * most, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def _siblings(e: int, field: Field, layout: Layout, own: Shorts, step: int) -> None:
    """Note (or forget, ``step`` -1) where the other edges of e's net are."""
    n = field.source[e]
    for k in range(field.net_at[n], field.net_at[n + 1]):
        other = field.net[k]
        if other != e:
            for d in range(layout.length[other]):
                own[layout.way[other, d], d + 1] += step


@njit(cache=True, nogil=True)
def _shift(e: int, layout: Layout, own: Shorts, step: int) -> int:
    """Put edge e on its links (or take it off); returns how many more signals are without a link of their own."""
    over = 0
    used = layout.used
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
    return over


@njit(cache=True, nogil=True)
def _lift(e: int, field: Field, layout: Layout, own: Shorts) -> int:
    _siblings(e, field, layout, own, 1)
    over = _shift(e, layout, own, -1)
    _siblings(e, field, layout, own, -1)
    layout.length[e] = 0
    return over


@njit(cache=True, nogil=True)
def _lay(e: int, field: Field, layout: Layout, own: Shorts) -> int:
    _siblings(e, field, layout, own, 1)
    over = _shift(e, layout, own, 1)
    _siblings(e, field, layout, own, -1)
    return over


@njit(cache=True, nogil=True, inline="always")
def _window(e: int, field: Field, layout: Layout, rules: Rules) -> tuple[int, int]:
    """The least and the largest number of links that edge e may have where its ends are; empty: no way."""
    s, t = layout.position[field.source[e]], layout.position[field.target[e]]
    low = field.hops[s, t]
    high = low + rules.bound
    if rules.timed:
        high = layout.issue[field.target[e]] - layout.issue[field.source[e]] - field.wait[e]
        low = max(low, high - min(rules.bound, field.fifo[t]))
    return low, min(high, layout.way.shape[1])


@njit(cache=True, nogil=True)
def _least_worse(count: int, field: Field, layout: Layout, room: Scratch, rules: Rules) -> float:
    """What a move costs at least, its nodes moved and its edges not yet: all links free, every fight it is in over."""
    worse = 0.0
    for j in range(count):
        e = room.touched[j]
        length = layout.length[e]
        low, high = _window(e, field, layout, rules)
        worse += low if low <= high else rules.price * _LOST
        worse -= length if length > 0 else rules.price * _LOST
        for d in range(length):
            if layout.used[layout.way[e, d]] > 1:
                worse -= rules.price
    return worse


@njit(cache=True, nogil=True)
def _find(e: int, field: Field, layout: Layout, room: Scratch, rules: Rules) -> None:
    """Route edge e, if there is a way in its window."""
    s, t = layout.position[field.source[e]], layout.position[field.target[e]]
    low, high = _window(e, field, layout, rules)
    layout.length[e] = 0
    if low > high:
        return
    # A detour of two links must stay cheaper than a link that is taken, whatever a hop costs.
    present = rules.price * (1.0 + rules.hop)
    _siblings(e, field, layout, room.own, 1)
    layout.length[e] = _search(
        s, t, low, high, 0.0, field.link_target, field.leaving_at, field.leaving, field.following_at, field.following,
        field.hops, room.own, layout.used, room.history, present, rules.hop, room.best, room.back, room.layers,
        room.sizes, layout.way[e],
    )  # fmt: skip
    room.visited[0] += room.sizes[0]
    _siblings(e, field, layout, room.own, -1)


@njit(cache=True, nogil=True)
def _tangled_node(state: State, field: Field, layout: Layout) -> int:
    """An end of the next edge, from a random one on, that is on a fought-over link or has no way; -1: there is none."""
    count = len(field.net)
    first = _below(state, count)
    for k in range(count):
        e = field.net[first + k if first + k < count else first + k - count]
        tangled = layout.length[e] == 0
        for d in range(layout.length[e]):
            tangled = tangled or layout.used[layout.way[e, d]] > 1
        if tangled:
            return int(field.source[e] if _below(state, 2) == 0 else field.target[e])
    return -1


@njit(cache=True, nogil=True)
def _gather(a: int, b: int, field: Field, touched: Ints) -> int:
    """The edges of a and b, each once."""
    count = 0
    for node in (a, b):
        if node < 0:
            continue
        for k in range(field.starts[node], field.starts[node + 1]):
            seen = False
            for j in range(count):
                seen = seen or touched[j] == field.incident[k]
            if not seen:
                touched[count] = field.incident[k]
                count += 1
    return count


@njit(cache=True, nogil=True)
def _retime(a: int, state: State, field: Field, layout: Layout) -> bool:
    """Give node a an issue cycle that its neighbours allow where they are; False: there is none."""
    least, most = -(1 << 28), 1 << 28
    for k in range(field.starts[a], field.starts[a + 1]):
        e = field.incident[k]
        other = field.neighbour[k]
        apart = field.wait[e] + field.hops[layout.position[field.source[e]], layout.position[field.target[e]]]
        if field.source[e] == a:
            most = min(most, layout.issue[other] - apart)
        else:
            least = max(least, layout.issue[other] + apart)
    if field.tied[a]:
        return bool(least <= layout.issue[a] <= most)
    if least > most:
        return False
    if least < -(1 << 27) and most > 1 << 27:
        return True
    # Free on one side: stay near the other, where wires are short.
    if least < -(1 << 27):
        least = most - 2
    if most > 1 << 27:
        most = least + 2
    layout.issue[a] = least + _below(state, most - least + 1)
    return True


@njit(cache=True, nogil=True)
def _attempt(
    a: int, b: int, here: int, there: int, state: State, temperature: float,
    field: Field, layout: Layout, room: Scratch, rules: Rules, occupant: Ints,
) -> tuple[bool, int, int]:  # fmt: skip
    """Move a to ``there`` (b, if any, to ``here``) with their routes, or put all back: (kept, more over, more wire)."""
    position, issue = layout.position, layout.issue
    issue_a, issue_b = issue[a], issue[b] if b >= 0 else 0
    position[a] = there
    if b >= 0:
        position[b] = here
    # What is accepted is drawn first: most moves are refused by their hops alone, without a search.
    accepted = -temperature * np.log(max(_unit(state), 1e-300))
    count = _gather(a, b, field, room.touched)
    timely = not rules.timed or (_retime(a, state, field, layout) and (b < 0 or _retime(b, state, field, layout)))
    if not timely or _least_worse(count, field, layout, room, rules) > accepted:
        position[a], issue[a] = here, issue_a
        if b >= 0:
            position[b], issue[b] = there, issue_b
        return False, 0, 0
    over = 0
    wire = 0
    for j in range(count):
        e = room.touched[j]
        room.saved[j] = layout.way[e]
        room.saved_length[j] = layout.length[e]
        wire -= layout.length[e]
        over -= (layout.length[e] == 0) * _LOST
        over += _lift(e, field, layout, room.own)
    for j in range(count):
        e = room.touched[j]
        _find(e, field, layout, room, rules)
        over += _lay(e, field, layout, room.own)
        over += (layout.length[e] == 0) * _LOST
        wire += layout.length[e]
    if wire + rules.price * over <= accepted:
        occupant[here], occupant[there] = b, a
        return True, over, wire
    for j in range(count):
        _lift(room.touched[j], field, layout, room.own)
    position[a], issue[a] = here, issue_a
    if b >= 0:
        position[b], issue[b] = there, issue_b
    for j in range(count):
        e = room.touched[j]
        layout.way[e] = room.saved[j]
        layout.length[e] = room.saved_length[j]
        _lay(e, field, layout, room.own)
    return False, 0, 0


@njit(cache=True, nogil=True)
def _complete(field: Field, layout: Layout, room: Scratch, rules: Rules) -> int:
    """Route the edges that have no way yet; returns how many still have none."""
    lost = 0
    for e in field.net:
        if layout.length[e] == 0:
            _find(e, field, layout, room, rules)
            _lay(e, field, layout, room.own)
            lost += layout.length[e] == 0
    return lost


@njit(cache=True, nogil=True)
def anneal_jointly(field: Field, layout: Layout, rules: Rules, seed: int, stop: NDArray[np.uint8]) -> tuple[int, int]:
    """Anneal ``layout`` in place: (signals without a link of their own, moves made).

    The temperature falls from ``hot`` to ``cold``; the result is the legal state with the shortest wires, or where
    the run ended if there was none.
    """
    state = np.array([seed], dtype=np.uint64)
    room = scratch(field, layout)
    occupant = np.full(len(field.row), -1, dtype=np.int32)
    for node in range(len(layout.position)):
        occupant[layout.position[node]] = node
    over = _complete(field, layout, room, rules) * _LOST
    for link in range(len(layout.used)):
        over += max(0, layout.used[link] - 1)
    wire = layout.length.sum()
    best_wire = wire if over == 0 else 1 << 40
    best = (layout.position.copy(), layout.issue.copy(), layout.way.copy(), layout.length.copy(), layout.used.copy())
    temperature = rules.hot
    cooling = (rules.cold / rules.hot) ** (256.0 / max(256, rules.moves))
    made = 0
    while made < rules.moves and room.visited[0] < rules.visits and stop[0] == 0:
        if rules.first_legal and over == 0:
            break
        made += 1
        if made % 256 == 0:
            temperature *= cooling
        a = _tangled_node(state, field, layout) if over > 0 and _below(state, 4) == 0 else -1
        if a < 0 or field.fixed[layout.position[a]]:
            a = field.movable[_below(state, len(field.movable))]
        here = layout.position[a]
        there = _draw(
            a,
            1 + _below(state, 3),
            state,
            layout.position,
            field.starts,
            field.neighbour,
            field.row,
            field.col,
            field.grid,
        )
        b = occupant[there] if there != here else -1
        if field.fixed[there] or not field.allowed[field.kind[a], there]:
            continue
        if b >= 0 and not field.allowed[field.kind[b], here]:
            continue
        kept, more_over, more_wire = _attempt(
            a, b, here, there, state, temperature, field, layout, room, rules, occupant
        )
        if kept:
            over += more_over
            wire += more_wire
            if there == here:
                occupant[here] = a
            if over == 0 and wire < best_wire:
                best_wire = wire
                _copy(layout, best)
    if best_wire < 1 << 40:
        _restore(layout, best)
        over = 0
    return over, made


@njit(cache=True, nogil=True)
def _copy(layout: Layout, best: tuple[Ints, Ints, Ints, Ints, Ints]) -> None:
    best[0][:] = layout.position
    best[1][:] = layout.issue
    best[2][:] = layout.way
    best[3][:] = layout.length
    best[4][:] = layout.used


@njit(cache=True, nogil=True)
def _restore(layout: Layout, best: tuple[Ints, Ints, Ints, Ints, Ints]) -> None:
    layout.position[:] = best[0]
    layout.issue[:] = best[1]
    layout.way[:] = best[2]
    layout.length[:] = best[3]
    layout.used[:] = best[4]
