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

from gridloom.mappers.modulo.route_kernel import (
    FAR,
    ISSUE_PRICE,
    OUT_PRICE,
    Fabric,
    Scratch,
    State,
    add_way,
    close_net,
    gather,
    internal,
    open_net,
    pool_price,
    price,
    read_from,
    read_price,
    remove_way,
    spread,
    trace,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: "No dependence" in a table of least distances.
NONE = -(1 << 28)
#: What a candidate pays for an edge that has no way at all, the first time.
_LOST = 1000.0
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
    #: CSR: net -> edges that read it; node -> edges that it reads; node -> both, each edge once.
    out_at: Ints
    out: Ints
    in_at: Ints
    into: Ints
    touch_at: Ints
    touch: Ints
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

    #: Moves and rounds without progress after which a start gives up.
    moves: int
    patience: int
    present: float
    growth: float
    ceiling: float
    history: float
    noise: float
    extra: int
    #: Weight of the distance to ``wish`` for nodes without placed neighbours.
    pull: float
    #: The chance of what touches overuse to be taken out.
    zeal: float


class Desk(NamedTuple):
    """Memory of the placer."""

    #: [tile, cycle] -> price of a candidate.
    offer: Floats
    hot: Ints
    pool_hot: Ints
    #: 1: the node, or the way of the edge, is to be taken out; counts[0]: some are.
    leaving: Ints
    loose: Ints
    counts: Ints
    #: Edge -> times that it had no way, plus 1: what is lost often is given way to.
    lost: Floats
    #: The state of the random numbers.
    luck: NDArray[np.uint64]


@internal
def draw(luck: NDArray[np.uint64]) -> float:
    """A number from 0 to 1 (splitmix64): a start's own, whatever thread runs it."""
    luck[0] += np.uint64(0x9E3779B97F4A7C15)
    word = luck[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((word ^ (word >> np.uint64(31))) >> np.uint64(11)) * 1.1102230246251565e-16


@internal
def _ready(fabric: Fabric, loop: Loop, state: State, net: int) -> int:
    """The cycle of a net's result; -1 for a live-in."""
    if net >= loop.nodes:
        return -1
    ready: int = state.cycle[net] + fabric.latency[loop.op_class[net], state.tile[net]]
    return ready


@internal
def _open(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, net: int) -> None:
    edges = loop.out[loop.out_at[net] : loop.out_at[net + 1]]
    tile = 0 if net >= loop.nodes else state.tile[net]
    open_net(fabric, state, scratch, edges, tile, _ready(fabric, loop, state, net))


@internal
def _occupy(fabric: Fabric, loop: Loop, state: State, node: int, step: int) -> None:
    """A node more (or less) in its slot, on its bus and in its output register."""
    tile, cycle, kind = state.tile[node], state.cycle[node], loop.op_class[node]
    state.used[tile, cycle % fabric.ii] += step
    pool = fabric.pool[kind, tile]
    if pool >= 0:
        state.pool_used[pool, cycle % fabric.ii] += step
    if loop.has_result[node]:
        state.used[fabric.tiles + tile, (cycle + fabric.latency[kind, tile]) % fabric.ii] += step


@internal
def _unroute(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk) -> None:
    """Take out the ways of all edges of nodes that leave."""
    for edge in range(len(loop.source)):
        net = loop.source[edge]
        leaves = desk.leaving[loop.target[edge]] or (net < loop.nodes and desk.leaving[net])
        if state.steps[edge] > 0 and (leaves or desk.loose[edge]):
            _open(fabric, loop, state, scratch, net)
            remove_way(fabric, state, scratch, edge)
            close_net(fabric, scratch)
        desk.loose[edge] = 0


@internal
def expel(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk) -> None:
    """Take out the nodes that leave, with the ways of their edges, and the edges that are loose."""
    if desk.counts[0] == 0:
        return
    desk.counts[0] = 0
    _unroute(fabric, loop, state, scratch, desk)
    for node in range(loop.nodes):
        if desk.leaving[node]:
            desk.leaving[node] = 0
            if state.tile[node] >= 0:
                _occupy(fabric, loop, state, node, -1)
                state.tile[node] = -1


@internal
def leave(loop: Loop, desk: Desk, node: int) -> None:
    """Mark a node, and those that have to issue at an exact distance from it, to be taken out."""
    desk.counts[0] += 1
    desk.leaving[node] = 1
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        if loop.tie_exact[tie]:
            desk.leaving[loop.tie_source[tie]] = 1
            desk.leaving[loop.tie_target[tie]] = 1


@internal
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


@internal
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
    # A dependence over many iterations bounds nothing within reach.
    if low < 0:
        low = NONE
    if high >= fabric.horizon:
        high = -NONE
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
    low = min(max(low, 0), fabric.horizon - 1)
    return low, max(low, min(high, fabric.horizon - 1))


@internal
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


@internal
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
                    desk.offer[tile, cycle] += cost if cost < FAR else _LOST * desk.lost[edge]
    return placed


@internal
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
                    desk.offer[tile, cycle] += cost if cost < FAR else _LOST * desk.lost[edge]
    return placed


@internal
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


@internal
def _tied(fabric: Fabric, loop: Loop, state: State, tie: int) -> bool:
    """True unless a tie between placed nodes is broken."""
    source, target = loop.tie_source[tie], loop.tie_target[tie]
    if state.tile[source] < 0 or state.tile[target] < 0:
        return True
    gap = state.cycle[target] - state.cycle[source] + fabric.ii * loop.tie_distance[tie] - loop.tie_delay[tie]
    if not loop.tie_exact[tie]:
        return bool(gap >= 0)
    return bool(gap == 0 and fabric.together[state.tile[source], state.tile[target]] != 0)


@internal
def _displace(fabric: Fabric, loop: Loop, state: State, desk: Desk, node: int) -> None:
    """Mark what cannot stay now that a node has its cycle: broken ties, dependences that are too short."""
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        if not _tied(fabric, loop, state, tie):
            other = loop.tie_target[tie]
            desk.leaving[loop.tie_source[tie] if other == node else other] = 1
            desk.counts[0] += 1
    for other in range(loop.nodes):
        if state.tile[other] < 0 or other == node:
            continue
        late = loop.least[node, other] > NONE and state.cycle[node] + loop.least[node, other] > state.cycle[other]
        early = loop.least[other, node] > NONE and state.cycle[other] + loop.least[other, node] > state.cycle[node]
        if late or early:
            leave(loop, desk, other)
    desk.leaving[node] = 0


@internal
def place_node(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk, node: int, present: float,
               knobs: Knobs) -> None:  # fmt: skip
    """Place a node where its edges cost least; they are not routed yet."""
    low, high = _window(fabric, loop, state, node, knobs.extra)
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
    _displace(fabric, loop, state, desk, node)


@internal
def _loser(loop: Loop, net: int, target: int, keep: int) -> int:
    """Which end of an edge without a way has to leave."""
    if net >= loop.nodes or net == target:
        return target
    other = target if net == keep else net
    if keep < 0:
        other = target
    rest = net + target - other
    edges = loop.touch_at[other + 1] - loop.touch_at[other]
    mine = loop.touch_at[rest + 1] - loop.touch_at[rest]
    return rest if edges > 3 * mine + 2 else other


@internal
def _route(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk, edges: Ints, keep: int,
           present: float) -> bool:  # fmt: skip
    """Route those of the edges that have no way yet; True when all have one.

    An end of an edge without any way has to leave: the one that is not ``keep``, unless too much hangs on it.
    """
    complete = True
    for edge in edges:
        if state.steps[edge] > 0:
            continue
        net, target = loop.source[edge], loop.target[edge]
        stays = state.tile[target] >= 0 and desk.leaving[target] == 0
        if net < loop.nodes:
            stays = stays and state.tile[net] >= 0 and desk.leaving[net] == 0
        if not stays:
            complete = False
        elif not route_edge(fabric, loop, state, scratch, edge, present):
            complete = False
            desk.lost[edge] += 1.0
            leave(loop, desk, _loser(loop, net, target, keep))
    return complete


# -- the search -------------------------------------------------------------------------------------------------------


@internal
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


@internal
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


@internal
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


@internal
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


@internal
def _mark(fabric: Fabric, loop: Loop, state: State, desk: Desk, knobs: Knobs) -> None:
    """Mark what touches overuse: nodes, and of hot ways the way itself or one of its ends."""
    for node in range(loop.nodes):
        if state.tile[node] >= 0 and _hot_node(fabric, loop, state, desk, node) and draw(desk.luck) < knobs.zeal:
            leave(loop, desk, node)
    for edge in range(len(loop.source)):
        if state.steps[edge] == 0 or not _hot_way(fabric, state, desk, edge):
            continue
        if draw(desk.luck) >= knobs.zeal:
            continue
        luck = draw(desk.luck)
        desk.counts[0] += 1
        if luck < 0.35:
            desk.loose[edge] = 1
        elif luck < 0.7 or loop.source[edge] >= loop.nodes:
            leave(loop, desk, loop.target[edge])
        else:
            leave(loop, desk, loop.source[edge])


@internal
def _next_node(loop: Loop, state: State, desk: Desk, rank: Floats, noise: float) -> int:
    """The unplaced node that comes first, with some chance; -1: all are placed."""
    chosen, least = -1, FAR
    for node in range(loop.nodes):
        if state.tile[node] < 0:
            key = rank[node] + noise * draw(desk.luck)
            if key < least:
                chosen, least = node, key
    return chosen


@njit(cache=True, nogil=True, error_model="numpy")
def negotiate(fabric: Fabric, loop: Loop, state: State, scratch: Scratch, desk: Desk, rank: Floats, knobs: Knobs,
              seed: int, stop: NDArray[np.uint8], won: Ints, number: int, report: Ints) -> bool:  # fmt: skip
    """Search from an empty state; True when it ends in a legal one.

    Ends early when ``stop`` is set or a start of a lower number has won. ``report`` takes moves and the least overuse.
    """
    desk.luck[0] = np.uint64(seed)
    present, spread_of_ranks = knobs.present, 0.0
    least, since = 1 << 30, 0
    every = np.arange(len(loop.source))
    while report[0] < knobs.moves and since <= knobs.patience and not stop[0] and won[0] >= number:
        expel(fabric, loop, state, scratch, desk)
        node = _next_node(loop, state, desk, rank, spread_of_ranks)
        edges = every
        if node >= 0:
            report[0] += 1
            place_node(fabric, loop, state, scratch, desk, node, present, knobs)
            edges = loop.touch[loop.touch_at[node] : loop.touch_at[node + 1]]
        complete = _route(fabric, loop, state, scratch, desk, edges, node, present)
        if node >= 0 or desk.counts[0] > 0:
            continue
        over = _overuse(fabric, state, desk)
        if complete and over == 0:
            return True
        since += 1
        if over < least:
            least, since = over, 0
        report[1] = least
        _remember(fabric, state, desk, knobs.history)
        _mark(fabric, loop, state, desk, knobs)
        present = min(present * knobs.growth, knobs.ceiling)
        spread_of_ranks = 4.0
    return False
