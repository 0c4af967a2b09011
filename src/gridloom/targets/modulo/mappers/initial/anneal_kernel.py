"""Initial placement by annealing, compiled: each node gets a tile and a cycle where its routes are likely to be cheap.

As VPR does for FPGAs (Betz and Rose, FPL 1997), nodes move and swap under a cost that is estimated, not routed: a
move takes about a microsecond whatever the size of the array, where finding its routes takes a hundred. Here time is a
dimension of the placement: a node moves to a tile near one of its neighbours and to a cycle that its neighbours
allow. If another node has that issue slot, the two swap, so that no slot ever has two.
"""

from __future__ import annotations

import numpy as np

from gridloom.jit import borrowing, kernel
from gridloom.search.arrays import Int64s
from gridloom.search.random import random_below, random_unit
from gridloom.targets.modulo.mappers.initial.arrays import Ground, InitialRun, InitialScratch, NodePlaces
from gridloom.targets.modulo.mappers.initial.cost_kernel import net_cost, put, take_out, tie_cost
from gridloom.targets.modulo.mappers.schedule.iterative import NONE
from gridloom.targets.modulo.mappers.state import ModuloLoop, Race

_FAR = 1 << 28

# Moves between two looks at the clock at most.
_LONGEST_BLOCK = 8192


@borrowing
def _window(run: InitialRun, node: int) -> tuple[int, int]:
    """The first and the last cycle that the placed neighbours of a node allow; (-far, far) where they do not."""
    ground, loop, place = run.ground, run.loop, run.place
    low, high = -_FAR, _FAR
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        edge = loop.into[k]
        source = loop.source[edge]
        if source < loop.nodes and source != node and place.tile[source] >= 0:
            ready = place.cycle[source] + loop.latency[loop.kind[source], place.tile[source]]
            low = max(low, ready - ground.ii * loop.distance[edge])
    for k in range(loop.out_at[node], loop.out_at[node + 1]):
        edge = loop.out[k]
        target = loop.target[edge]
        if target != node and place.tile[target] >= 0:
            latency = loop.latency[loop.kind[node], max(0, place.tile[node])]
            high = min(high, place.cycle[target] + ground.ii * loop.distance[edge] - latency)
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        source, target = loop.tie_source[tie], loop.tie_target[tie]
        shift = ground.ii * loop.tie_distance[tie] - loop.tie_delay[tie]
        if target == node and source != node and place.tile[source] >= 0:
            low = max(low, place.cycle[source] - shift)
            if loop.tie_exact[tie]:
                high = min(high, place.cycle[source] - shift)
        if source == node and target != node and place.tile[target] >= 0:
            high = min(high, place.cycle[target] + shift)
            if loop.tie_exact[tie]:
                low = max(low, place.cycle[target] + shift)
    return low, high


@borrowing
def _some_cycle(run: InitialRun, node: int) -> int:
    """A cycle that the neighbours of a node allow, early or late; where they allow none, one between their bounds."""
    ground, loop, random = run.ground, run.loop, run.random
    ii = ground.ii
    low, high = _window(run, node)
    if low == -_FAR and high == _FAR:
        low, high = loop.preferred[node] - 1, loop.preferred[node] + ii
    elif low == -_FAR:
        low = high - ii
    elif high == _FAR:
        high = low + ii
    if high < low:
        low, high = high, low
    span = high - low + 1
    if span > ii + 2:
        span = ii + 2
        if random_unit(random) < 0.5:
            low = high - span + 1
    cycle = low + random_below(random, span)
    return min(max(cycle, 0), ground.horizon - 1)


@borrowing
def _some_place(run: InitialRun, node: int) -> tuple[int, int]:
    """A tile and a cycle near a random neighbour of a node, or near its own.

    Half of the time it is one that the value of the edge between them reaches without a move: next to the neighbour and
    at once, or on the same tile.
    """
    ground, loop, place, random = run.ground, run.loop, run.place, run.random
    edges = loop.touch_at[node + 1] - loop.touch_at[node]
    around = place.tile[node]
    draw = random_unit(random)
    if edges > 0 and draw < 0.85:
        edge = loop.touch[loop.touch_at[node] + random_below(random, edges)]
        reads = loop.target[edge] == node
        other = loop.source[edge] if reads else loop.target[edge]
        if other < loop.nodes and other != node:
            around = place.tile[other]
            if draw < 0.4:
                count = ground.read_at[around + 1] - ground.read_at[around]
                tile = ground.read[ground.read_at[around] + random_below(random, count)]
                if reads:
                    ready = place.cycle[other] + loop.latency[loop.kind[other], around]
                    cycle = ready - ground.ii * loop.distance[edge]
                else:
                    due = place.cycle[other] + ground.ii * loop.distance[edge]
                    cycle = due - loop.latency[loop.kind[node], tile]
                return tile, min(max(cycle, 0), ground.horizon - 1)
            if draw < 0.55:
                return around, _some_cycle(run, node)
    count = ground.near_at[around + 1] - ground.near_at[around]
    tile = ground.near[ground.near_at[around] + random_below(random, count)]
    return tile, _some_cycle(run, node)


@borrowing
def _note(loop: ModuloLoop, scratch: InitialScratch, node: int, count: int) -> int:
    """Mark the nets that a node's place changes: its own and those that it reads; returns how many there are."""
    if scratch.mark[node] == 0:
        scratch.mark[node] = 1
        scratch.changed[count] = node
        count += 1
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        net = loop.source[loop.into[k]]
        if net < loop.nodes and scratch.mark[net] == 0:
            scratch.mark[net] = 1
            scratch.changed[count] = net
            count += 1
    return count


@borrowing
def _estimates(run: InitialRun, count: int) -> float:
    """Estimate the marked nets anew, into ``fresh``; returns by how much they change. Takes the marks away."""
    place, scratch = run.place, run.scratch
    change = 0.0
    for k in range(count):
        net = scratch.changed[k]
        scratch.mark[net] = 0
        scratch.fresh[k] = net_cost(run, net) if place.tile[net] >= 0 else 0.0
        change += scratch.fresh[k] - place.cost[net]
    return change


@borrowing
def _keep_estimates(place: NodePlaces, scratch: InitialScratch, count: int) -> None:
    """Take over the estimates of the nets that were marked."""
    for k in range(count):
        place.cost[scratch.changed[k]] = scratch.fresh[k]


@borrowing
def _swapped_cycle(ground: Ground, place: NodePlaces, node: int, other: int) -> int:
    """The cycle nearest to that of ``other`` in the slot of ``node``."""
    back = (place.cycle[other] - place.cycle[node]) % ground.ii
    cycle: int = place.cycle[other] - back
    return cycle if 2 * back <= ground.ii else cycle + ground.ii


@borrowing
def _move(run: InitialRun, node: int, tile: int, cycle: int, other: int, other_tile: int, other_cycle: int) -> float:
    """Move a node, and another one (-1: none) that may be in its way; returns the change of what they share and tie."""
    change = -tie_cost(run, node)
    if other >= 0:
        change -= tie_cost(run, other)
        change += take_out(run, other)
    change += take_out(run, node)
    change += put(run, node, tile, cycle)
    if other >= 0:
        change += put(run, other, other_tile, other_cycle)
        change += tie_cost(run, other)
    return change + tie_cost(run, node)


@borrowing
def _try_move(run: InitialRun, node: int, tile: int, cycle: int, temperature: float) -> None:
    """Move a node, or swap it with the one in its way, if the change of the cost is accepted."""
    ground, loop, place, scratch, random = run.ground, run.loop, run.place, run.scratch, run.random
    old_tile, old_cycle = place.tile[node], place.cycle[node]
    other = place.occupant[tile, cycle % ground.ii]
    before, after = 0, 0
    if other == node:
        other = -1
    if other >= 0:
        before, after = place.cycle[other], _swapped_cycle(ground, place, node, other)
        if loop.allowed[loop.kind[other], old_tile] == 0 or after < 0 or after >= ground.horizon:
            return
    count = _note(loop, scratch, node, 0)
    if other >= 0:
        count = _note(loop, scratch, other, count)
    change = _move(run, node, tile, cycle, other, old_tile, after)
    change += _estimates(run, count)
    if change <= 0.0 or random_unit(random) < np.exp(-change / temperature):
        _keep_estimates(place, scratch, count)
    else:
        _move(run, node, old_tile, old_cycle, other, tile, before)


@kernel
def anneal(run: InitialRun, hot: float, cold: float, moves: int, race: Race) -> None:
    """Improve a placement by so many moves while the temperature falls from ``hot`` to ``cold``.

    A move costs the readers of the nets that it changes, squared, and nothing that grows with the array. Ends early
    when it is stopped or a start of a lower number has won.
    """
    loop, place, random = run.loop, run.place, run.random
    block = max(64, min(_LONGEST_BLOCK, moves // 256))
    factor = (cold / hot) ** (block / moves)
    temperature, done = hot, 0
    while done < moves and not race.stop[0] and race.won[0] >= race.number:
        for _ in range(block):
            node = random_below(random, loop.nodes)
            tile, cycle = _some_place(run, node)
            if loop.allowed[loop.kind[node], tile] and (tile != place.tile[node] or cycle != place.cycle[node]):
                _try_move(run, node, tile, cycle, temperature)
        done += block
        temperature *= factor


# -- the placement that annealing begins with -------------------------------------------------------------------------


@borrowing
def _first_window(run: InitialRun, node: int) -> tuple[int, int]:
    """At most one period of cycles that all placed nodes allow; where they allow none, one after the first."""
    ground, loop, place = run.ground, run.loop, run.place
    ii, low, high = ground.ii, -_FAR, _FAR
    for k in range(loop.related_at[node], loop.related_at[node + 1]):
        other = loop.related[k]
        if place.tile[other] >= 0 and loop.before[k] > NONE:
            low = max(low, place.cycle[other] + loop.before[k])
        if place.tile[other] >= 0 and loop.after[k] > NONE:
            high = min(high, place.cycle[other] - loop.after[k])
    # A dependence over many iterations gives a bound outside the horizon, which says nothing.
    if low < 0:
        low = -_FAR
    if high >= ground.horizon:
        high = _FAR
    if low == -_FAR:
        low = loop.preferred[node] if high == _FAR else high - ii + 1
    if high < low or high >= low + ii:
        high = low + ii - 1
    low = min(max(low, 0), ground.horizon - ii)
    return low, min(max(high, low), ground.horizon - 1)


@borrowing
def _near_place(run: InitialRun, node: int, centre: int, low: int, high: int) -> tuple[int, int]:
    """The free tile and cycle of least estimate within two hops of a tile; -1: there is none."""
    ground, loop, place, scratch, random = run.ground, run.loop, run.place, run.scratch, run.random
    best, where, when = 1e18, -1, -1
    for k in range(ground.near_at[centre], ground.near_at[centre + 1]):
        tile = ground.near[k]
        if loop.allowed[loop.kind[node], tile] == 0:
            continue
        for cycle in range(low, high + 1):
            if place.occupant[tile, cycle % ground.ii] >= 0:
                continue
            cost = put(run, node, tile, cycle) + 0.3 * random_unit(random)
            cost += _estimates(run, _note(loop, scratch, node, 0))
            cost += tie_cost(run, node)
            take_out(run, node)
            if cost < best:
                best, where, when = cost, tile, cycle
    return where, when


@borrowing
def _far_place(run: InitialRun, node: int, centre: int, low: int) -> tuple[int, int]:
    """The nearest tile with a free slot, and the first cycle from ``low`` on in such a slot; -1: there is none."""
    ground, loop, place = run.ground, run.loop, run.place
    best, where, when = _FAR, -1, -1
    for tile in range(ground.hops.shape[0]):
        if loop.allowed[loop.kind[node], tile] == 0 or ground.hops[centre, tile] >= best:
            continue
        for cycle in range(low, low + ground.ii):
            if place.occupant[tile, cycle % ground.ii] < 0:
                best, where, when = ground.hops[centre, tile], tile, cycle
                break
    return where, when


@kernel
def place_first(run: InitialRun, order: Int64s, first_tile: Int64s) -> bool:
    """Place all nodes one by one in an order; False where one has no slot left.

    A node goes near its given first tile, else near a placed neighbour, else near a random tile.
    """
    ground, loop, place, scratch, random = run.ground, run.loop, run.place, run.scratch, run.random
    for node in order:
        centre = first_tile[node]
        for k in range(loop.touch_at[node], loop.touch_at[node + 1]):
            edge = loop.touch[k]
            other = loop.source[edge] if loop.target[edge] == node else loop.target[edge]
            if centre < 0 and other < loop.nodes and other != node and place.tile[other] >= 0:
                centre = place.tile[other]
        if centre < 0:
            centre = random_below(random, ground.hops.shape[0])
        low, high = _first_window(run, node)
        tile, cycle = _near_place(run, node, centre, low, high)
        if tile < 0:
            tile, cycle = _far_place(run, node, centre, low)
        if tile < 0:
            return False
        put(run, node, tile, cycle)
        count = _note(loop, scratch, node, 0)
        _estimates(run, count)
        _keep_estimates(place, scratch, count)
    return True
