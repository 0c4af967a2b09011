"""Placement, scheduling and routing at once on a modulo-scheduled array, compiled.

Nodes are placed one by one at the (tile, cycle) from which all ways to neighbours that are placed already cost least.
Overuse is allowed and paid for; once everything has a place, what touches overuse is taken out and placed again at
prices that remember where it was crowded (negotiated congestion, McMurchie and Ebeling 1995), until nothing is shared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.map.route.modulo_kernel import (
    FAR,
    ISSUE_PRICE,
    OUT_PRICE,
    Fabric,
    Scratch,
    State,
    add_way,
    close_net,
    gather,
    open_net,
    pool_price,
    price,
    read_from,
    read_price,
    remove_way,
    spread,
    trace,
)

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

#: "No dependence" in a table of least distances.
NONE = -(1 << 28)
#: What a candidate pays for an edge that has no way at all.
_LOST = 60.0
#: Cycles before its use in which a live-in may leave memory.
_LIVEIN_LEAD = 6


class Loop(NamedTuple):
    """A graph: nodes that take a slot, then live-ins; routed edges; ties between issue cycles."""

    nodes: int
    op_class: Ints
    has_result: Ints
    #: Routed edges. A source of ``nodes`` or more is a live-in.
    source: Ints
    target: Ints
    distance: Ints
    #: CSR: net -> edges that read it; node -> edges that it reads.
    out_at: Ints
    out: Ints
    in_at: Ints
    into: Ints
    #: Order and pair edges: target issues (exactly) ``delay`` after source; CSR node -> ties that name it.
    tie_source: Ints
    tie_target: Ints
    tie_delay: Ints
    tie_distance: Ints
    tie_exact: Ints
    tie_at: Ints
    tie: Ints
    #: [a, b] -> least cycles from the issue of a to that of b at this II; NONE: none.
    least: Ints
    #: Cycle at which a schedule without routes issues each node.
    wish: Ints


class Knobs(NamedTuple):
    """How a search runs."""

    rounds: int
    patience: int
    present: float
    growth: float
    ceiling: float
    history: float
    noise: float
    extra: int
    #: Weight of the distance to ``wish`` for nodes without placed neighbours.
    pull: float


class Desk(NamedTuple):
    """Memory of the placer."""

    #: [tile, cycle] -> price of a candidate.
    offer: Floats
    hot: Ints
    pool_hot: Ints
    #: The state of the random numbers.
    luck: NDArray[np.uint64]


@njit(cache=True, nogil=True)
def draw(luck: NDArray[np.uint64]) -> float:
    """A number from 0 to 1 (splitmix64): a start's own, whatever thread runs it."""
    luck[0] += np.uint64(0x9E3779B97F4A7C15)
    word = luck[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((word ^ (word >> np.uint64(31))) >> np.uint64(11)) * 1.1102230246251565e-16


@njit(cache=True, nogil=True)
def _ready(fabric: Fabric, loop: Loop, state: State, net: int) -> int:
    """The cycle of a net's result; -1 for a live-in."""
    if net >= loop.nodes:
        return -1
    return state.cycle[net] + fabric.latency[loop.op_class[net], state.tile[net]]


@njit(cache=True, nogil=True)
def _open(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, net: int) -> None:
    edges = loop.out[loop.out_at[net] : loop.out_at[net + 1]]
    tile = 0 if net >= loop.nodes else state.tile[net]
    open_net(fabric, state, scratch, edges, tile, _ready(fabric, loop, state, net))


@njit(cache=True, nogil=True)
def _occupy(fabric: Fabric, loop: Loop, state: State, node: int, step: int) -> None:
    """A node more (or less) in its slot, on its bus and in its output register."""
    tile, cycle, kind = state.tile[node], state.cycle[node], loop.op_class[node]
    state.used[tile, cycle % fabric.ii] += step
    pool = fabric.pool[kind, tile]
    if pool >= 0:
        state.pool_used[pool, cycle % fabric.ii] += step
    if loop.has_result[node]:
        state.used[fabric.tiles + tile, (cycle + fabric.latency[kind, tile]) % fabric.ii] += step


@njit(cache=True, nogil=True)
def _unroute(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, edge: int) -> None:
    if state.steps[edge] > 0:
        _open(fabric, loop, state, scratch, loop.source[edge])
        remove_way(fabric, state, scratch, edge)
        close_net(fabric, scratch)


@njit(cache=True, nogil=True)
def rip(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, node: int) -> None:
    """Take a node out, with the ways of its edges."""
    if state.tile[node] < 0:
        return
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        _unroute(fabric, loop, state, scratch, loop.into[k])
    for k in range(loop.out_at[node], loop.out_at[node + 1]):
        _unroute(fabric, loop, state, scratch, loop.out[k])
    _occupy(fabric, loop, state, node, -1)
    state.tile[node] = -1


@njit(cache=True, nogil=True)
def rip_with_partners(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, node: int) -> None:
    """Take a node out together with those that have to issue at an exact distance from it."""
    rip(fabric, loop, state, scratch, node)
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        if loop.tie_exact[tie]:
            rip(fabric, loop, state, scratch, loop.tie_source[tie])
            rip(fabric, loop, state, scratch, loop.tie_target[tie])


@njit(cache=True, nogil=True)
def route_edge(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, edge: int, present: float) -> bool:
    """Give an edge between placed ends its cheapest way; False: there is none."""
    net, target = loop.source[edge], loop.target[edge]
    due = state.cycle[target] + fabric.ii * loop.distance[edge]
    ready = _ready(fabric, loop, state, net)
    first = ready if ready >= 0 else max(0, due - _LIVEIN_LEAD)
    if due < first or due >= fabric.horizon:
        return False
    _open(fabric, loop, state, scratch, net)
    tile = 0 if net >= loop.nodes else state.tile[net]
    spread(fabric, state, scratch, tile, ready, first, due, present)
    storage = read_from(fabric, scratch, state.tile[target], due)
    found = storage >= 0 and trace(fabric, state, scratch, edge, storage, due)
    if found:
        add_way(fabric, state, scratch, edge, True)
    close_net(fabric, scratch)
    return found


# -- one node ---------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _window(fabric: Fabric, loop: Loop, state: State, node: int, extra: int) -> tuple[int, int]:
    """The cycles in which a node is tried; where its neighbours leave none, a period after the earliest."""
    low, high = NONE, -NONE
    near_low, near_high = False, False
    for other in range(loop.nodes):
        if state.tile[other] < 0 or other == node:
            continue
        if loop.least[other, node] > NONE:
            low = max(low, state.cycle[other] + loop.least[other, node])
        if loop.least[node, other] > NONE:
            high = min(high, state.cycle[other] - loop.least[node, other])
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        source = loop.source[loop.into[k]]
        near_low = near_low or (source < loop.nodes and source != node and state.tile[source] >= 0)
    for k in range(loop.out_at[node], loop.out_at[node + 1]):
        target = loop.target[loop.out[k]]
        near_high = near_high or (target != node and state.tile[target] >= 0)
    span = fabric.ii + extra
    if low == NONE and high == -NONE:
        low = max(0, loop.wish[node] - 1)
        high = low + fabric.ii
    elif low == NONE or (high < -NONE and near_high and not near_low):
        low = max(low, high - span + 1)
    if high < low:
        high = low + fabric.ii - 1
    if high - low >= span:
        high = low + span - 1
    return max(low, 0), min(high, fabric.horizon - 1)


@njit(cache=True, nogil=True)
def _offer_slots(fabric: Fabric, loop: Loop, state: State, desk: Desk, node: int, low: int, high: int,
                 present: float, knobs: Knobs) -> None:  # fmt: skip
    """Prices of slot, bus and output register; FAR where the op cannot run."""
    kind = loop.op_class[node]
    for tile in range(fabric.tiles):
        for cycle in range(low, high + 1):
            if fabric.able[kind, tile] == 0:
                desk.offer[tile, cycle] = FAR
                continue
            slot = cycle % fabric.ii
            cost = price(state, tile, slot, ISSUE_PRICE, present)
            cost += pool_price(fabric, state, fabric.pool[kind, tile], slot, present)
            ready = cycle + fabric.latency[kind, tile]
            if ready >= fabric.horizon:
                desk.offer[tile, cycle] = FAR
                continue
            if loop.has_result[node]:
                cost += price(state, fabric.tiles + tile, ready % fabric.ii, OUT_PRICE, present)
            desk.offer[tile, cycle] = cost + knobs.noise * draw(desk.luck)


@njit(cache=True, nogil=True)
def _offer_inputs(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk, node: int, low: int,
                  high: int, present: float) -> int:  # fmt: skip
    """Add what operands cost to get there; returns how many sources are placed."""
    placed = 0
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        edge = loop.into[k]
        net = loop.source[edge]
        if net == node or (net < loop.nodes and state.tile[net] < 0):
            continue
        if net < loop.nodes:
            placed += 1
        shift = fabric.ii * loop.distance[edge]
        ready = _ready(fabric, loop, state, net)
        first = ready if ready >= 0 else max(0, low - _LIVEIN_LEAD)
        last = min(high + shift, fabric.horizon - 1)
        if last >= first:
            _open(fabric, loop, state, scratch, net)
            spread(fabric, state, scratch, 0 if net >= loop.nodes else state.tile[net], ready, first, last, present)
            close_net(fabric, scratch)
        for tile in range(fabric.tiles):
            for cycle in range(low, high + 1):
                if desk.offer[tile, cycle] < FAR:
                    due = cycle + shift
                    cost = FAR
                    if first <= due <= last:
                        cost = read_price(fabric, scratch, tile, due)
                    desk.offer[tile, cycle] += min(cost, _LOST)
    return placed


@njit(cache=True, nogil=True)
def _offer_outputs(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk, node: int, low: int,
                   high: int, present: float) -> int:  # fmt: skip
    """Add what results cost to get to consumers; returns how many are placed."""
    placed = 0
    kind = loop.op_class[node]
    for k in range(loop.out_at[node], loop.out_at[node + 1]):
        edge = loop.out[k]
        target = loop.target[edge]
        if target == node or state.tile[target] < 0:
            continue
        placed += 1
        last = state.cycle[target] + fabric.ii * loop.distance[edge]
        first = low + 1
        if first <= last < fabric.horizon:
            gather(fabric, state, scratch, state.tile[target], first, last, present)
        for tile in range(fabric.tiles):
            for cycle in range(low, high + 1):
                if desk.offer[tile, cycle] < FAR:
                    ready = cycle + fabric.latency[kind, tile]
                    cost = FAR
                    if first <= ready <= last < fabric.horizon:
                        cost = scratch.enter[ready, tile]
                    desk.offer[tile, cycle] += min(cost, _LOST)
    return placed


@njit(cache=True, nogil=True)
def _offer_ties(fabric: Fabric, loop: Loop, state: State, desk: Desk, node: int, low: int, high: int) -> None:
    """Add what broken order and pair edges cost."""
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        source, target = loop.tie_source[tie], loop.tie_target[tie]
        other = target if source == node else source
        if other == node or state.tile[other] < 0:
            continue
        for tile in range(fabric.tiles):
            apart = loop.tie_exact[tie] and not fabric.together[tile, state.tile[other]]
            for cycle in range(low, high + 1):
                if desk.offer[tile, cycle] >= FAR:
                    continue
                gap = state.cycle[other] - cycle if source == node else cycle - state.cycle[other]
                gap += fabric.ii * loop.tie_distance[tie] - loop.tie_delay[tie]
                if gap < 0 or apart or (loop.tie_exact[tie] and gap > 0):
                    desk.offer[tile, cycle] += _LOST


@njit(cache=True, nogil=True)
def _tied(fabric: Fabric, loop: Loop, state: State, tie: int) -> bool:
    """True unless a tie between placed nodes is broken."""
    source, target = loop.tie_source[tie], loop.tie_target[tie]
    if state.tile[source] < 0 or state.tile[target] < 0:
        return True
    gap = state.cycle[target] - state.cycle[source] + fabric.ii * loop.tie_distance[tie] - loop.tie_delay[tie]
    if not loop.tie_exact[tie]:
        return bool(gap >= 0)
    return bool(gap == 0 and fabric.together[state.tile[source], state.tile[target]] != 0)


@njit(cache=True, nogil=True)
def _settle(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, node: int, present: float) -> None:
    """Route the edges of a node just placed; neighbours that cannot be reached are taken out."""
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        if not _tied(fabric, loop, state, loop.tie[k]):
            other = loop.tie_target[loop.tie[k]]
            rip(fabric, loop, state, scratch, loop.tie_source[loop.tie[k]] if other == node else other)
    for other in range(loop.nodes):
        if state.tile[other] < 0 or other == node:
            continue
        late = loop.least[node, other] > NONE and state.cycle[node] + loop.least[node, other] > state.cycle[other]
        early = loop.least[other, node] > NONE and state.cycle[other] + loop.least[other, node] > state.cycle[node]
        if late or early:
            rip_with_partners(fabric, loop, state, scratch, other)
    if state.tile[node] < 0:
        return
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        edge = loop.into[k]
        net = loop.source[edge]
        if net < loop.nodes and state.tile[net] < 0:
            continue
        if not route_edge(fabric, loop, state, scratch, edge, present) and net < loop.nodes and net != node:
            rip_with_partners(fabric, loop, state, scratch, net)
    if state.tile[node] < 0:
        return
    for k in range(loop.out_at[node], loop.out_at[node + 1]):
        edge = loop.out[k]
        target = loop.target[edge]
        if target == node or state.tile[target] < 0:
            continue
        if not route_edge(fabric, loop, state, scratch, edge, present):
            rip_with_partners(fabric, loop, state, scratch, target)
        if state.tile[node] < 0:
            return


@njit(cache=True, nogil=True)
def place_node(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk, node: int, present: float,
               knobs: Knobs) -> None:  # fmt: skip
    """Place a node where its edges cost least, and route them."""
    low, high = _window(fabric, loop, state, node, knobs.extra)
    if high < low:
        low = high
    _offer_slots(fabric, loop, state, desk, node, low, high, present, knobs)
    near = _offer_inputs(fabric, loop, state, scratch, desk, node, low, high, present)
    near += _offer_outputs(fabric, loop, state, scratch, desk, node, low, high, present)
    _offer_ties(fabric, loop, state, desk, node, low, high)
    best, tile, when = FAR, -1, -1
    for t in range(fabric.tiles):
        for cycle in range(low, high + 1):
            cost = desk.offer[t, cycle]
            if near == 0:
                cost += knobs.pull * abs(cycle - loop.wish[node])
            if cost < best:
                best, tile, when = cost, t, cycle
    if tile < 0:
        return
    state.tile[node] = tile
    state.cycle[node] = when
    _occupy(fabric, loop, state, node, 1)
    _settle(fabric, loop, state, scratch, node, present)


# -- the search -------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _overuse(fabric: Fabric, state: State, desk: Desk) -> int:
    """Signals beyond room, over all groups, slots and pools; marks where."""
    over = 0
    for group in range(state.used.shape[0]):
        for slot in range(fabric.ii):
            more = state.used[group, slot] - 1
            desk.hot[group, slot] = more > 0
            if more > 0:
                over += more
    for pool in range(len(fabric.pool_room)):
        for slot in range(fabric.ii):
            more = state.pool_used[pool, slot] - fabric.pool_room[pool]
            desk.pool_hot[pool, slot] = more > 0
            if more > 0:
                over += more
    return over


@njit(cache=True, nogil=True)
def _remember(fabric: Fabric, state: State, desk: Desk, weight: float) -> None:
    """Make what is overused dearer for good."""
    for group in range(state.used.shape[0]):
        for slot in range(fabric.ii):
            if desk.hot[group, slot]:
                state.history[group, slot] += weight * (state.used[group, slot] - 1)
    for pool in range(len(fabric.pool_room)):
        for slot in range(fabric.ii):
            if desk.pool_hot[pool, slot]:
                over = state.pool_used[pool, slot] - fabric.pool_room[pool]
                state.pool_history[pool, slot] += weight * over


@njit(cache=True, nogil=True)
def _hot_node(fabric: Fabric, loop: Loop, state: State, desk: Desk, node: int) -> bool:
    tile, cycle, kind = state.tile[node], state.cycle[node], loop.op_class[node]
    slot = cycle % fabric.ii
    if desk.hot[tile, slot]:
        return True
    pool = fabric.pool[kind, tile]
    if pool >= 0 and desk.pool_hot[pool, slot]:
        return True
    ready = (cycle + fabric.latency[kind, tile]) % fabric.ii
    return bool(loop.has_result[node] != 0 and desk.hot[fabric.tiles + tile, ready] != 0)


@njit(cache=True, nogil=True)
def _hot_way(fabric: Fabric, state: State, desk: Desk, edge: int) -> bool:
    """True when a way passes something overused."""
    tiles, elements = fabric.tiles, 4 * fabric.tiles + fabric.registers + 1
    for k in range(state.steps[edge]):
        code = state.way[edge, k]
        cycle, element = code // elements, code % elements
        slot = cycle % fabric.ii
        if element < 3 * tiles:
            tile = element % tiles
            pool = fabric.pool[fabric.move_class if element < tiles else fabric.memory_class, tile]
            if desk.hot[tile, slot] or (pool >= 0 and desk.pool_hot[pool, slot]):
                return True
            latency = fabric.move_latency[tile] if element < tiles else fabric.load_latency[tile]
            if element < 2 * tiles and desk.hot[tiles + tile, (cycle + latency) % fabric.ii]:
                return True
        elif element < elements - 1:
            if desk.hot[element - 2 * tiles, slot]:
                return True
            if k == 0 and element >= 4 * tiles and desk.hot[element - 2 * tiles].any():
                return True
    return False


@njit(cache=True, nogil=True)
def _take_out(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk) -> None:
    """Take out what touches overuse: nodes, and of hot ways the way itself or one of its ends."""
    for node in range(loop.nodes):
        if state.tile[node] >= 0 and _hot_node(fabric, loop, state, desk, node):
            rip_with_partners(fabric, loop, state, scratch, node)
    for edge in range(len(loop.source)):
        if state.steps[edge] == 0 or not _hot_way(fabric, state, desk, edge):
            continue
        luck = draw(desk.luck)
        if luck < 0.35:
            _unroute(fabric, loop, state, scratch, edge)
        elif luck < 0.7 or loop.source[edge] >= loop.nodes:
            rip_with_partners(fabric, loop, state, scratch, loop.target[edge])
        else:
            rip_with_partners(fabric, loop, state, scratch, loop.source[edge])


@njit(cache=True, nogil=True)
def _next_node(loop: Loop, state: State, desk: Desk, rank: Floats, noise: float) -> int:
    """The unplaced node that comes first, with some chance; -1: all are placed."""
    chosen, least = -1, FAR
    for node in range(loop.nodes):
        if state.tile[node] < 0:
            key = rank[node] + noise * draw(desk.luck)
            if key < least:
                chosen, least = node, key
    return chosen


@njit(cache=True, nogil=True)
def _finish_edges(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk, present: float) -> bool:
    """Route edges that were taken out alone; True when all edges have a way."""
    complete = True
    count = len(loop.source)
    start = int(draw(desk.luck) * count) if count else 0
    for k in range(count):
        edge = (k + start) % count
        if state.steps[edge] > 0:
            continue
        net, target = loop.source[edge], loop.target[edge]
        if state.tile[target] < 0 or (net < loop.nodes and state.tile[net] < 0):
            complete = False
        elif not route_edge(fabric, loop, state, scratch, edge, present):
            complete = False
            rip_with_partners(fabric, loop, state, scratch, target)
    return complete


@njit(cache=True, nogil=True)
def negotiate(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk, rank: Floats, knobs: Knobs,
              seed: int, stop: NDArray[np.uint8], won: Ints, number: int, report: Ints) -> bool:  # fmt: skip
    """Search from an empty state; True when it ends in a legal one.

    Ends early when ``stop`` is set or a start of a lower number has won. ``report`` takes moves and the least overuse.
    """
    desk.luck[0] = np.uint64(seed)
    present = knobs.present
    least, since = 1 << 30, 0
    for turn in range(knobs.rounds):
        spread_of_ranks = 0.0 if turn == 0 else 4.0
        steps = 0
        node = _next_node(loop, state, desk, rank, spread_of_ranks)
        while node >= 0 and steps < 6 * loop.nodes + 50:
            place_node(fabric, loop, state, scratch, desk, node, present, knobs)
            steps += 1
            node = _next_node(loop, state, desk, rank, spread_of_ranks)
            if stop[0] or won[0] < number:
                report[0] += steps
                return False
        report[0] += steps
        complete = _finish_edges(fabric, loop, state, scratch, desk, present) and node < 0
        over = _overuse(fabric, state, desk)
        if complete and over == 0:
            return True
        lost = over if complete else over + 1
        since += 1
        if lost < least:
            least, since = lost, 0
        report[1] = least
        if since > knobs.patience:
            return False
        _remember(fabric, state, desk, knobs.history)
        _take_out(fabric, loop, state, scratch, desk)
        present = min(present * knobs.growth, knobs.ceiling)
    return False
