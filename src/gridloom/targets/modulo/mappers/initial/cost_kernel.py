"""What routes will cost, estimated from tiles and cycles alone, compiled.

A value moves one hop per move and waits in register files. From a point (tile, cycle) where it is, a reader d hops away
that reads L cycles later needs d - 1 moves, which take d - 1 cycles; if there are more, the value waits: for little in
the file of its own tile, for one move more (or in an output register) elsewhere. The readers of a net are connected one
by one in the order of their cycles, each from the cheapest point that the value has been to, as a Steiner tree would.
The estimate sees distance, time and sharing within a net, but no other nets.

Cost: the square of the number of readers for a net.
"""

from __future__ import annotations

from gridloom.jit import borrowing
from gridloom.targets.modulo.mappers.initial.arrays import Ground, InitialRun, InitialScratch

#: Prices: a move, a cycle in a register file, a cycle in an output register; a route that has too few cycles, and each
#: cycle that it lacks.
MOVE = 1.6
WAIT = 0.12
HOLD = 0.95
LATE = 5.0
LACK = 3.0
#: A live-in in a register file, and one beyond the room of the file; two results or ops where there is room for one.
KEEP = 0.5
CROWDED = 2.5
#: An order or pair edge that is broken.
BROKEN = 12.0


@borrowing
def _leg(ground: Ground, hops: int, gap: int, until: int, at_file: bool) -> float:
    """The price from a point to a reader ``hops`` tiles away that reads ``gap`` cycles after the value came there.

    ``until`` is how many cycles the value stays at the point in any case.
    """
    need = ground.step * (hops - 1) if hops > 0 else 0
    slack = gap - need
    moves = hops - 1 if hops > 0 else 0
    if slack < 0:
        return LATE - LACK * slack + MOVE * moves
    if hops == 0:
        wait = max(0, gap - until)
        return WAIT * wait if at_file else HOLD * wait
    cost = MOVE * moves
    if slack > 0:
        cost += min(MOVE + WAIT * (slack - 1), HOLD * slack)
    return cost


@borrowing
def _sort(run: InitialRun, net: int, ii: int) -> int:
    """Put the edges of a net into ``order`` by the cycle in which they are read; returns their number."""
    loop, place, scratch = run.loop, run.place, run.scratch
    count = 0
    for k in range(loop.out_at[net], loop.out_at[net + 1]):
        edge = loop.out[k]
        target = loop.target[edge]
        if place.tile[target] < 0:
            continue
        due = place.cycle[target] + ii * loop.distance[edge]
        at = count
        while at > 0:
            before = scratch.order[at - 1]
            if place.cycle[loop.target[before]] + ii * loop.distance[before] <= due:
                break
            scratch.order[at] = before
            at -= 1
        scratch.order[at] = edge
        count += 1
    return count


@borrowing
def _neighbour(ground: Ground, source: int, tile: int) -> int:
    """The tile that ``tile`` reads which is nearest to ``source``."""
    best, where = 1 << 30, tile
    for k in range(ground.read_at[tile], ground.read_at[tile + 1]):
        hops = ground.hops[source, ground.read[k]]
        if hops < best:
            best, where = hops, ground.read[k]
    return where


@borrowing
def _add_point(scratch: InitialScratch, count: int, tile: int, since: int, until: int) -> int:
    """A further point where a value has been; returns the number of points."""
    scratch.point_tile[count] = tile
    scratch.point_from[count] = since
    scratch.point_until[count] = until
    return count + 1


@borrowing
def _extend(ground: Ground, scratch: InitialScratch, points: int, chosen: int, tile: int, due: int) -> int:
    """Note where a value comes by on its way from a point to a reader; returns the number of points."""
    origin, since = scratch.point_tile[chosen], scratch.point_from[chosen]
    hops, step = ground.hops[origin, tile], ground.step
    gap = due - since
    if hops == 0:
        scratch.point_until[chosen] = max(scratch.point_until[chosen], gap)
    elif gap >= step * (hops - 1):
        if gap >= step * hops:
            points = _add_point(scratch, points, tile, since + step * hops, gap - step * hops)
        if hops > 1:
            points = _add_point(scratch, points, _neighbour(ground, origin, tile), since + step * (hops - 1), 0)
    return points


@borrowing
def net_cost(run: InitialRun, net: int) -> float:
    """The estimate for the routes of the result of a placed node to its placed readers."""
    ground, loop, place, scratch = run.ground, run.loop, run.place, run.scratch
    edges, total = _sort(run, net, ground.ii), 0.0
    if edges == 0:
        return 0.0
    home = place.tile[net]
    points = _add_point(scratch, 0, home, place.cycle[net] + loop.latency[loop.kind[net], home], 0)
    for k in range(edges):
        edge = scratch.order[k]
        target = loop.target[edge]
        tile, due = place.tile[target], place.cycle[target] + ground.ii * loop.distance[edge]
        best, chosen = 1e18, 0
        for p in range(points):
            origin = scratch.point_tile[p]
            gap, stay = due - scratch.point_from[p], scratch.point_until[p]
            cost = _leg(ground, ground.hops[origin, tile], gap, stay, ground.file_of[origin] >= 0)
            if cost < best:
                best, chosen = cost, p
        total += best
        points = _extend(ground, scratch, points, chosen, tile, due)
    return total


@borrowing
def tie_cost(run: InitialRun, node: int) -> float:
    """What broken order and pair edges of a node cost."""
    ground, loop, place = run.ground, run.loop, run.place
    cost = 0.0
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        source, target = loop.tie_source[tie], loop.tie_target[tie]
        if place.tile[source] < 0 or place.tile[target] < 0:
            continue
        gap = place.cycle[target] - place.cycle[source] + ground.ii * loop.tie_distance[tie] - loop.tie_delay[tie]
        if gap < 0:
            cost += BROKEN - gap
        elif loop.tie_exact[tie]:
            if gap > 0:
                cost += BROKEN + gap
            if loop.together[place.tile[source], place.tile[target]] == 0:
                cost += BROKEN
    return cost


@borrowing
def take_out(run: InitialRun, node: int) -> float:
    """Take a node off its tile; returns by how much what it shares there becomes cheaper (as a negative number)."""
    ground, loop, place = run.ground, run.loop, run.place
    tile, slot = place.tile[node], place.cycle[node] % ground.ii
    change = 0.0
    place.occupant[tile, slot] = -1
    kind = loop.kind[node]
    pool = loop.pool[kind, tile]
    if pool >= 0:
        if place.pool_used[pool, slot] > ground.pool_room[pool]:
            change -= CROWDED
        place.pool_used[pool, slot] -= 1
    if loop.has_result[node]:
        ready = (place.cycle[node] + loop.latency[kind, tile]) % ground.ii
        if place.written[tile, ready] > 1:
            change -= CROWDED
        place.written[tile, ready] -= 1
    file = ground.file_of[tile]
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        livein = loop.source[loop.into[k]] - loop.nodes
        if livein >= 0 and file >= 0:
            place.readers[livein, file] -= 1
            if place.readers[livein, file] == 0:
                change -= KEEP if place.kept[file] <= ground.keep_room[file] else KEEP + CROWDED
                place.kept[file] -= 1
    place.tile[node] = -1
    return change


@borrowing
def put(run: InitialRun, node: int, tile: int, cycle: int) -> float:
    """Put a node on a tile in a cycle whose slot is free; returns what it adds to the cost of what it shares there."""
    ground, loop, place = run.ground, run.loop, run.place
    slot, change = cycle % ground.ii, 0.0
    place.tile[node] = tile
    place.cycle[node] = cycle
    place.occupant[tile, slot] = node
    kind = loop.kind[node]
    pool = loop.pool[kind, tile]
    if pool >= 0:
        place.pool_used[pool, slot] += 1
        if place.pool_used[pool, slot] > ground.pool_room[pool]:
            change += CROWDED
    if loop.has_result[node]:
        ready = (cycle + loop.latency[kind, tile]) % ground.ii
        place.written[tile, ready] += 1
        if place.written[tile, ready] > 1:
            change += CROWDED
    file = ground.file_of[tile]
    for k in range(loop.in_at[node], loop.in_at[node + 1]):
        livein = loop.source[loop.into[k]] - loop.nodes
        if livein >= 0 and file >= 0:
            place.readers[livein, file] += 1
            if place.readers[livein, file] == 1:
                place.kept[file] += 1
                change += KEEP if place.kept[file] <= ground.keep_room[file] else KEEP + CROWDED
    return change
