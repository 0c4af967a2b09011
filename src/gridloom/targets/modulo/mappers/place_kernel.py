"""Placement, scheduling and routing at once on a modulo-scheduled array, compiled.

Nodes are placed one by one at the (tile, cycle) from which all routes to neighbours that are placed already cost least.
Overuse is allowed and paid for; once everything has a place, what touches overuse is taken out and placed again at
prices that remember where it was crowded (negotiated congestion, McMurchie and Ebeling 1995), until nothing is shared.

Cycles are flat, 0 to horizon - 1; the slot of a cycle is its remainder modulo the II, and usage is counted by slot. A
dependence over d iterations lets the reader take the value d * II cycles after its own issue cycle. What is to be taken
out is first marked (``Marks``) and removed at the start of the next step, all at once: routes first, since a net's tree
has to be complete while one of its routes is removed.

Invariants between steps: ``usage`` is what the placed nodes and the routes add up to; an edge has a route only if both
its ends are placed; no net is open (``Tree`` is empty).
"""

from __future__ import annotations

from gridloom.jit import borrowing, compile_kernel
from gridloom.search.arrays import Float64s, Int64s
from gridloom.search.random import RandomState, random_unit
from gridloom.targets.modulo.mappers.clock_kernel import add_clock_prices
from gridloom.targets.modulo.mappers.crossbars.wire_kernel import FAR, price
from gridloom.targets.modulo.mappers.overuse_kernel import mark, mark_node, overuse, remember
from gridloom.targets.modulo.mappers.reach.box_kernel import TILES, add_all, add_ball, add_way, begin_box, end_box
from gridloom.targets.modulo.mappers.reach.gather_kernel import gather
from gridloom.targets.modulo.mappers.route_kernel import (
    ADD,
    ISSUE_PRICE,
    OUT_PRICE,
    TAKE,
    YES,
    add_route,
    close_net,
    open_net,
    pool_price,
    read_from,
    read_price,
    remove_route,
    spread,
    trace,
)
from gridloom.targets.modulo.mappers.schedule.iterative import NONE
from gridloom.targets.modulo.mappers.state import (
    Labels,
    ModuloFabric,
    ModuloLoop,
    ModuloState,
    Parameters,
    PlacerRun,
    PlacerScratch,
    Race,
    TileBox,
)

#: What a candidate pays for an edge that has no route at all, the first time.
_NO_ROUTE = 1000.0
#: Cycles before its use in which a live-in may leave memory.
_LIVEIN_LEAD = 6


@borrowing
def _ready(loop: ModuloLoop, state: ModuloState, net: int) -> int:
    """The cycle of a net's result; -1 for a live-in."""
    if net >= loop.nodes:
        return -1
    ready: int = state.cycle[net] + loop.latency[loop.kind[net], state.tile[net]]
    return ready


@borrowing
def _open(run: PlacerRun, net: int) -> None:
    """Open the tree of a net, with all routes that it has so far; ``close_net`` has to follow before the next."""
    loop, state = run.loop, run.state
    edges = loop.out[loop.out_at[net] : loop.out_at[net + 1]]
    tile = 0 if net >= loop.nodes else state.tile[net]
    open_net(run, edges, tile, _ready(loop, state, net))


@borrowing
def _occupy(loop: ModuloLoop, state: ModuloState, node: int, step: int) -> None:
    """One node more (or less) in its slot, on its bus and in its output register."""
    tile, cycle, usage = state.tile[node], state.cycle[node], state.usage
    tiles, ii = loop.allowed.shape[1], usage.used.shape[1]
    kind = loop.kind[node]
    usage.used[tile, cycle % ii] += step
    for k in range(1, loop.taken[kind, tile]):
        usage.used[tile, (cycle + k) % ii] += step
    pool = loop.pool[kind, tile]
    if pool >= 0:
        usage.pool_used[pool, cycle % ii] += step
    if loop.has_result[node]:
        usage.used[tiles + tile, (cycle + loop.latency[kind, tile]) % ii] += step


@borrowing
def _unroute(run: PlacerRun) -> None:
    """Take out the routes of all edges of nodes that leave, and those that are to be found anew.

    A net is opened once for each of its routes that goes; nets that lose none are not opened.
    """
    loop, state, work = run.loop, run.state, run.work
    for edge in range(len(loop.source)):
        net = loop.source[edge]
        leaves = work.marks.leaving[loop.target[edge]] or (net < loop.nodes and work.marks.leaving[net])
        if state.routes.length[edge] > 0 and (leaves or work.marks.rerouted[edge]):
            _open(run, net)
            remove_route(run, edge)
            close_net(work.tree)
        work.marks.rerouted[edge] = 0


@borrowing
def _remove_marked(run: PlacerRun) -> None:
    """Take out the nodes that leave, with the routes of their edges, and the routes that are to be found anew."""
    loop, state, work = run.loop, run.state, run.work
    if work.marks.marked[0] == 0:
        return
    work.marks.marked[0] = 0
    _unroute(run)
    for node in range(loop.nodes):
        if work.marks.leaving[node]:
            work.marks.leaving[node] = 0
            if state.tile[node] >= 0:
                _occupy(loop, state, node, TAKE)
                state.tile[node] = -1


@borrowing
def _box_of_route(fabric: ModuloFabric, labels: Labels, source: int, target: int) -> None:
    """Let sweeps visit the tiles around both ends of a route and between them; source -1: a live-in."""
    begin_box(labels.box)
    add_ball(labels.box, target)
    if source >= 0:
        add_ball(labels.box, source)
        add_way(fabric, labels.box, source, target)
    end_box(fabric, labels.box)


@borrowing
def _box_of_node(run: PlacerRun, node: int) -> None:
    """Let sweeps visit the tiles around the placed neighbours of a node and between them; all, if there is none."""
    fabric, loop, state, work = run.fabric, run.loop, run.state, run.work
    box, first = work.labels.box, work.first_tile[node]
    begin_box(box)
    if first >= 0:
        add_ball(box, first)
    for k in range(loop.touch_at[node], loop.touch_at[node + 1]):
        edge = loop.touch[k]
        other = loop.source[edge] if loop.target[edge] == node else loop.target[edge]
        if other < loop.nodes and other != node and state.tile[other] >= 0:
            add_ball(box, state.tile[other])
            if first < 0:
                first = state.tile[other]
            add_way(fabric, box, first, state.tile[other])
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        other = loop.tie_source[tie] if loop.tie_target[tie] == node else loop.tie_target[tie]
        if loop.tie_exact[tie] and other != node and state.tile[other] >= 0:
            add_ball(box, state.tile[other])
    if box.size[TILES] == 0:
        add_all(box)
    end_box(fabric, box)


@borrowing
def _route_edge(run: PlacerRun, edge: int) -> bool:
    """Give an edge between placed ends its cheapest route; False: there is none.

    Spreads the labels from the net's tree up to the cycle in which the target reads, then traces back from the cheapest
    storage that the target's tile can read. The new part of the route is counted in ``usage`` at once.
    """
    fabric, loop, state, labels = run.fabric, run.loop, run.state, run.work.labels
    net, target = loop.source[edge], loop.target[edge]
    due = state.cycle[target] + fabric.ii * loop.distance[edge]
    ready = _ready(loop, state, net)
    first = ready if ready >= 0 else max(0, due - _LIVEIN_LEAD)
    if due < first or due >= fabric.horizon:
        return False
    _open(run, net)
    tile = 0 if net >= loop.nodes else state.tile[net]
    _box_of_route(fabric, labels, -1 if net >= loop.nodes else tile, state.tile[target])
    spread(run, tile, ready, first, due)
    storage = read_from(fabric, labels, state.tile[target], due, loop.flag[edge])
    routed = storage >= 0 and trace(run, edge, storage, due)
    if routed:
        add_route(run, edge, YES)
    close_net(run.work.tree)
    return routed


# -- one node ---------------------------------------------------------------------------------------------------------


@borrowing
def _window(loop: ModuloLoop, state: ModuloState, node: int, ii: int, span: int, horizon: int) -> tuple[int, int]:
    """The cycles, at most ``span``, in which a node is tried; where neighbours leave none, a period after the first.

    The bounds come from the least distances to all related nodes that are placed, not only to neighbours. A node
    without placed relations is tried around its preferred cycle. A node that only feeds placed nodes is tried in the
    last cycles before them, so that its value waits as little as possible; any other in the first.
    """
    low, high = NONE, -NONE
    near_low, near_high = False, False
    for k in range(loop.related_at[node], loop.related_at[node + 1]):
        other = loop.related[k]
        if state.tile[other] < 0:
            continue
        if loop.before[k] > NONE:
            low = max(low, state.cycle[other] + loop.before[k])
        if loop.after[k] > NONE:
            high = min(high, state.cycle[other] - loop.after[k])
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        source = loop.source[loop.into[k]]
        near_low = near_low or (source < loop.nodes and source != node and state.tile[source] >= 0)
    for k in range(loop.out_at[node], loop.out_at[node + 1]):
        target = loop.target[loop.out[k]]
        near_high = near_high or (target != node and state.tile[target] >= 0)
    # A dependence over many iterations gives a bound outside the horizon, which says nothing.
    if low < 0:
        low = NONE
    if high >= horizon:
        high = -NONE
    if low == NONE and high == -NONE:
        low = max(0, loop.preferred[node] - 1)
        high = low + ii
    elif low == NONE or (high < -NONE and near_high and not near_low):
        low = max(low, high - span + 1)
    if high < low:
        high = low + ii - 1
    if high - low >= span:
        high = low + span - 1
    low = min(max(low, 0), horizon - 1)
    return low, max(low, min(high, horizon - 1))


@borrowing
def _slot_costs(
    run: PlacerRun,
    box: TileBox,
    cost: Float64s,
    random_state: RandomState,
    node: int,
    low: int,
    high: int,
    noise: float,
) -> None:
    """Fill ``cost`` with prices of slot, bus and output register; FAR where the node may not sit.

    A small random part keeps equal candidates from being taken in the same order each time.
    """
    loop, usage, present = run.loop, run.state.usage, run.present
    tiles, horizon = cost.shape
    ii, kind = usage.used.shape[1], loop.kind[node]
    for at in range(box.size[TILES]):
        tile = box.tiles[at]
        if loop.allowed[kind, tile] == 0:
            for cycle in range(low, high + 1):
                cost[tile, cycle] = FAR
            continue
        latency, taken, pool = loop.latency[kind, tile], loop.taken[kind, tile], loop.pool[kind, tile]
        slot, after = low % ii, (low + latency) % ii
        for cycle in range(low, high + 1):
            fee = FAR
            if cycle + latency < horizon:
                fee = price(usage, tile, slot, ISSUE_PRICE, present) + pool_price(usage, pool, slot, present)
                for k in range(1, taken):
                    fee += price(usage, tile, (slot + k) % ii, ISSUE_PRICE, present)
                if loop.has_result[node]:
                    fee += price(usage, tiles + tile, after, OUT_PRICE, present)
                fee += noise * random_unit(random_state)
            cost[tile, cycle] = fee
            slot = slot + 1 if slot + 1 < ii else 0
            after = after + 1 if after + 1 < ii else 0


@borrowing
def _add_input_costs(run: PlacerRun, node: int, low: int, high: int) -> int:
    """Add what operands cost to get there; returns how many sources are placed.

    One forward sweep for each operand prices all candidates (tile, cycle) at once. A candidate that an operand cannot
    reach pays a price that grows with the number of times the edge had no route, so that what fails often is moved
    first.
    """
    fabric, loop, state, work = run.fabric, run.loop, run.state, run.work
    labels, placed = work.labels, 0
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        edge = loop.into[k]
        net = loop.source[edge]
        if net == node or (net < loop.nodes and state.tile[net] < 0):
            continue
        if net < loop.nodes:
            placed += 1
        shift = fabric.ii * loop.distance[edge]
        ready = _ready(loop, state, net)
        first = ready if ready >= 0 else max(0, low - _LIVEIN_LEAD)
        last = min(high + shift, fabric.horizon - 1)
        if last >= first:
            tile = 0 if net >= loop.nodes else state.tile[net]
            _open(run, net)
            spread(run, tile, ready, first, last)
            close_net(work.tree)
        for at in range(labels.box.size[TILES]):
            tile = labels.box.tiles[at]
            for cycle in range(low, high + 1):
                if work.cost[tile, cycle] < FAR:
                    due = cycle + shift
                    cost = FAR
                    if first <= due <= last:
                        cost = read_price(fabric, labels, tile, due, loop.flag[edge])
                    work.cost[tile, cycle] += cost if cost < FAR else _NO_ROUTE * work.failures[edge]
    return placed


@borrowing
def _add_output_costs(run: PlacerRun, node: int, low: int, high: int) -> int:
    """Add what results cost to get to consumers; returns how many are placed.

    One backward sweep for each consumer prices all candidates at once. It does not know of the sharing between the
    routes of one net, so it overestimates nets with several placed readers.
    """
    fabric, loop, state, work = run.fabric, run.loop, run.state, run.work
    labels, placed = work.labels, 0
    for k in range(loop.out_at[node], loop.out_at[node + 1]):
        edge = loop.out[k]
        target = loop.target[edge]
        if target == node or state.tile[target] < 0:
            continue
        placed += 1
        last = state.cycle[target] + fabric.ii * loop.distance[edge]
        first = low + 1
        if first <= last < fabric.horizon:
            gather(run, state.tile[target], first, last, loop.flag[edge])
        for at in range(labels.box.size[TILES]):
            tile = labels.box.tiles[at]
            for cycle in range(low, high + 1):
                if work.cost[tile, cycle] < FAR:
                    ready = cycle + loop.latency[loop.kind[node], tile]
                    cost = FAR
                    if first <= ready <= last < fabric.horizon:
                        cost = labels.enter[ready, tile]
                    work.cost[tile, cycle] += cost if cost < FAR else _NO_ROUTE * work.failures[edge]
    return placed


@borrowing
def _add_tie_costs(
    loop: ModuloLoop, state: ModuloState, box: TileBox, costs: Float64s, ii: int, node: int, low: int, high: int
) -> None:
    """Add what broken order and pair edges cost: a fixed price, as the other end can be displaced."""
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        source, target = loop.tie_source[tie], loop.tie_target[tie]
        other = target if source == node else source
        if other == node or state.tile[other] < 0:
            continue
        for at in range(box.size[TILES]):
            tile = box.tiles[at]
            apart = loop.tie_exact[tie] and not loop.together[tile, state.tile[other]]
            for cycle in range(low, high + 1):
                if costs[tile, cycle] >= FAR:
                    continue
                gap = state.cycle[other] - cycle if source == node else cycle - state.cycle[other]
                gap += ii * loop.tie_distance[tie] - loop.tie_delay[tie]
                if gap < 0 or apart or (loop.tie_exact[tie] and gap > 0):
                    costs[tile, cycle] += _NO_ROUTE


@borrowing
def _tied(loop: ModuloLoop, state: ModuloState, ii: int, tie: int) -> bool:
    """True unless a tie between placed nodes is broken.

    An order edge is broken when its target issues too early, a pair edge also when it issues too late or its ends sit
    where they may not.
    """
    source, target = loop.tie_source[tie], loop.tie_target[tie]
    if state.tile[source] < 0 or state.tile[target] < 0:
        return True
    gap = state.cycle[target] - state.cycle[source] + ii * loop.tie_distance[tie] - loop.tie_delay[tie]
    if not loop.tie_exact[tie]:
        return bool(gap >= 0)
    return bool(gap == 0 and loop.together[state.tile[source], state.tile[target]] != 0)


@borrowing
def _displace(run: PlacerRun, ii: int, node: int) -> None:
    """Mark what cannot stay now that a node has its cycle: broken ties, dependences that are too short.

    The node itself stays, whatever the marks of its partners say.
    """
    loop, state, marks = run.loop, run.state, run.work.marks
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        if not _tied(loop, state, ii, tie):
            other = loop.tie_target[tie]
            marks.leaving[loop.tie_source[tie] if other == node else other] = 1
            marks.marked[0] += 1
    for k in range(loop.related_at[node], loop.related_at[node + 1]):
        other = loop.related[k]
        if state.tile[other] < 0:
            continue
        late = loop.after[k] > NONE and state.cycle[node] + loop.after[k] > state.cycle[other]
        early = loop.before[k] > NONE and state.cycle[other] + loop.before[k] > state.cycle[node]
        if late or early:
            mark_node(loop, marks, other)
    marks.leaving[node] = 0


@borrowing
def _place_node(run: PlacerRun, node: int, parameters: Parameters) -> None:
    """Place a node where its edges cost least; they are not routed yet.

    A node with a given first tile is placed there the first time, and anywhere afterwards. Without placed neighbours
    the distance to its preferred cycle is added, so that the schedule stays compact. No place at all leaves it
    unplaced.
    """
    fabric, loop, state, work = run.fabric, run.loop, run.state, run.work
    ii = fabric.ii
    if work.first_cycle[node] >= 0:
        state.tile[node] = work.first_tile[node]
        state.cycle[node] = work.first_cycle[node]
        work.first_tile[node] = -1
        work.first_cycle[node] = -1
        _occupy(loop, state, node, ADD)
        _displace(run, ii, node)
        return
    low, high = _window(loop, state, node, ii, ii + parameters.extra, fabric.horizon)
    box = work.labels.box
    _box_of_node(run, node)
    _slot_costs(run, box, work.cost, work.random_state, node, low, high, parameters.noise)
    near = _add_input_costs(run, node, low, high)
    near += _add_output_costs(run, node, low, high)
    if parameters.clock_price > 0.0:
        add_clock_prices(run, node, low, high, parameters.clock_price)
    _add_tie_costs(loop, state, box, work.cost, ii, node, low, high)
    best, tile, when = FAR, -1, -1
    first_tile = work.first_tile[node]
    work.first_tile[node] = -1
    for k in range(box.size[TILES]):
        t = box.tiles[k]
        if first_tile >= 0 and t != first_tile:
            continue
        for cycle in range(low, high + 1):
            cost = work.cost[t, cycle]
            if near == 0:
                cost += parameters.pull * abs(cycle - loop.preferred[node])
            if cost < best:
                best, tile, when = cost, t, cycle
    if tile < 0:
        return
    state.tile[node] = tile
    state.cycle[node] = when
    _occupy(loop, state, node, ADD)
    _displace(run, ii, node)


@borrowing
def _loser(loop: ModuloLoop, net: int, target: int, keep: int) -> int:
    """Which end of an edge without a route has to leave: not ``keep``, unless the other end has far more edges."""
    if net >= loop.nodes or net == target:
        return target
    other = target if net == keep else net
    if keep < 0:
        other = target
    rest = net + target - other
    edges = loop.touch_at[other + 1] - loop.touch_at[other]
    mine = loop.touch_at[rest + 1] - loop.touch_at[rest]
    return rest if edges > 3 * mine + 2 else other


@borrowing
def _route(run: PlacerRun, edges: Int64s, keep: int) -> bool:
    """Route those of the edges that have no route yet; True when all have one.

    An end of an edge without any route has to leave: the one that is not ``keep``, unless too much hangs on it.
    """
    loop, state, work = run.loop, run.state, run.work
    complete = True
    for edge in edges:
        if state.routes.length[edge] > 0:
            continue
        net, target = loop.source[edge], loop.target[edge]
        stays = state.tile[target] >= 0 and work.marks.leaving[target] == 0
        if net < loop.nodes:
            stays = stays and state.tile[net] >= 0 and work.marks.leaving[net] == 0
        if not stays:
            complete = False
        elif not _route_edge(run, edge):
            complete = False
            work.failures[edge] += 1.0
            mark_node(loop, work.marks, _loser(loop, net, target, keep))
    return complete


# -- the search -------------------------------------------------------------------------------------------------------


@borrowing
def _next_node(tile: Int64s, rank: Float64s, random_state: RandomState, noise: float) -> int:
    """The unplaced node with the least rank, blurred by ``noise``; -1: all are placed."""
    chosen, least = -1, FAR
    for node in range(len(tile)):
        if tile[node] < 0:
            key = rank[node] + noise * random_unit(random_state)
            if key < least:
                chosen, least = node, key
    return chosen


@compile_kernel(_nrt=False)
def negotiate(
    fabric: ModuloFabric,
    loop: ModuloLoop,
    state: ModuloState,
    work: PlacerScratch,
    parameters: Parameters,
    race: Race,
    report: Int64s,
) -> bool:
    """Search from an empty state; True when it ends in a legal one.

    Each step removes what is marked, places one node and routes its edges; once all nodes are placed and routed, a
    round ends: overuse is counted, remembered and marked, and the price of sharing grows. Gives up after ``moves``
    placements or ``patience`` rounds without less overuse. Ends early when it is stopped or a start of a lower number
    has won. ``report`` takes moves and the least overuse.
    """
    present, spread_of_ranks = parameters.present, 0.0
    least, since = 1 << 30, 0
    usage, marks = state.usage, work.marks
    while report[0] < parameters.moves and since <= parameters.patience and not race.stop[0]:
        if race.won[0] < race.number:
            return False
        run = PlacerRun(fabric, loop, state, work, present)
        _remove_marked(run)
        node = _next_node(state.tile, work.rank, work.random_state, spread_of_ranks)
        edges = work.every_edge
        if node >= 0:
            report[0] += 1
            _place_node(run, node, parameters)
            edges = loop.touch[loop.touch_at[node] : loop.touch_at[node + 1]]
        complete = _route(run, edges, node)
        if node >= 0 or marks.marked[0] > 0:
            continue
        over = overuse(usage, marks)
        if complete and over == 0:
            return True
        since += 1
        if over < least:
            least, since = over, 0
        report[1] = least
        remember(usage, marks, parameters.history)
        mark(run, work.random_state, parameters.removal, parameters.leaving, parameters.rerouting)
        present = min(present * parameters.growth, parameters.ceiling)
        spread_of_ranks = 4.0
    return False
