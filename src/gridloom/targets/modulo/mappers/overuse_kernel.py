"""Overuse on a modulo-scheduled array, compiled: where it is, what it adds to prices, and what leaves because of it.

A round of the negotiation ends here. Nodes and routes that touch overuse are marked, each with some probability, and
taken out in the next step.
"""

from __future__ import annotations

from gridloom.jit import borrowing
from gridloom.search.random import RandomState, random_unit
from gridloom.targets.modulo.mappers.route_kernel import group_of
from gridloom.targets.modulo.mappers.state import Marks, ModuloLoop, PlacerRun, SlotUsage


@borrowing
def mark_node(loop: ModuloLoop, marks: Marks, node: int) -> None:
    """Mark a node, and those that have to issue at an exact distance from it, to be taken out.

    The ends of a pair edge can only move together: with one of them in place, the other has a single cycle.
    """
    marks.marked[0] += 1
    marks.leaving[node] = 1
    for k in range(loop.tie_at[node], loop.tie_at[node + 1]):
        tie = loop.tie[k]
        if loop.tie_exact[tie]:
            marks.leaving[loop.tie_source[tie]] = 1
            marks.leaving[loop.tie_target[tie]] = 1


@borrowing
def overuse(usage: SlotUsage, marks: Marks) -> int:
    """Signals beyond room, over all groups, slots and pools; marks where."""
    over = 0
    groups, ii = usage.used.shape
    for group in range(groups):
        for slot in range(ii):
            more = usage.used[group, slot] - 1
            marks.overused[group, slot] = more > 0
            if more > 0:
                over += more
    for pool in range(len(usage.pool_room)):
        for slot in range(ii):
            more = usage.pool_used[pool, slot] - usage.pool_room[pool]
            marks.pool_overused[pool, slot] = more > 0
            if more > 0:
                over += more
    return over


@borrowing
def remember(usage: SlotUsage, marks: Marks, weight: float) -> None:
    """Add to the history of what is overused, in proportion to the overuse; history only grows."""
    groups, ii = usage.used.shape
    for group in range(groups):
        for slot in range(ii):
            if marks.overused[group, slot]:
                usage.history[group, slot] += weight * (usage.used[group, slot] - 1)
    for pool in range(len(usage.pool_room)):
        for slot in range(ii):
            if marks.pool_overused[pool, slot]:
                over = usage.pool_used[pool, slot] - usage.pool_room[pool]
                usage.pool_history[pool, slot] += weight * over


@borrowing
def _touches_overuse(run: PlacerRun, node: int) -> bool:
    """True when a node's slot, bus or output register is overused."""
    loop, state, marks = run.loop, run.state, run.work.marks
    tile, cycle, ii = state.tile[node], state.cycle[node], marks.overused.shape[1]
    slot = cycle % ii
    if marks.overused[tile, slot]:
        return True
    kind = loop.kind[node]
    for k in range(1, loop.taken[kind, tile]):
        if marks.overused[tile, (slot + k) % ii]:
            return True
    pool = loop.pool[kind, tile]
    if pool >= 0 and marks.pool_overused[pool, slot]:
        return True
    ready = (cycle + loop.latency[kind, tile]) % ii
    return bool(loop.has_result[node] != 0 and marks.overused[loop.allowed.shape[1] + tile, ready] != 0)


@borrowing
def _ever_overused(marks: Marks, group: int) -> bool:
    """True when a group is overused in some slot."""
    over = False
    for slot in range(marks.overused.shape[1]):
        over = over or marks.overused[group, slot] != 0
    return over


@borrowing
def _crosses_overuse(run: PlacerRun, edge: int) -> bool:
    """True when a route passes something overused: an issue slot, a bus, an output register it writes, a storage.

    A route that begins at a live-in in a register uses that register in every slot.
    """
    fabric, routes, marks = run.fabric, run.state.routes, run.work.marks
    tiles, elements = fabric.tiles, fabric.elements
    for k in range(routes.length[edge]):
        code = routes.codes[edge, k]
        cycle, element = code // elements, code % elements
        slot = cycle % fabric.ii
        if element < 3 * tiles:
            tile = element % tiles
            pool = fabric.move_pool[tile] if element < tiles else fabric.memory_pool[tile]
            if marks.overused[tile, slot] or (pool >= 0 and marks.pool_overused[pool, slot]):
                return True
            latency = fabric.move_latency[tile] if element < tiles else fabric.load_latency[tile]
            if element < 2 * tiles and marks.overused[tiles + tile, (cycle + latency) % fabric.ii]:
                return True
        elif element < elements - 1:
            if marks.overused[group_of(fabric, element), slot]:
                return True
            if k == 0 and element >= 4 * tiles and _ever_overused(marks, element - 2 * tiles):
                return True
    return False


@borrowing
def mark(run: PlacerRun, random_state: RandomState, removal: float, leaving: float, rerouting: float) -> None:
    """Mark what touches overuse: nodes, and of routes that cross it the route itself or one of its ends.

    Each is taken with the probability ``removal``, so that not all parties to a conflict leave at the same time. Of the
    routes, about a third are rerouted between the same ends.
    """
    loop, state, marks = run.loop, run.state, run.work.marks
    halfway = rerouting + 0.35 if rerouting < 0.5 else 0.5 + 0.5 * rerouting
    for node in range(loop.nodes):
        if state.tile[node] < 0 or not _touches_overuse(run, node):
            continue
        if random_unit(random_state) < leaving:
            mark_node(loop, marks, node)
    for edge in range(len(loop.source)):
        if state.routes.length[edge] == 0 or not _crosses_overuse(run, edge):
            continue
        if random_unit(random_state) >= removal:
            continue
        share = random_unit(random_state)
        marks.marked[0] += 1
        if share < rerouting:
            marks.rerouted[edge] = 1
        elif share < halfway or loop.source[edge] >= loop.nodes:
            mark_node(loop, marks, loop.target[edge])
        else:
            mark_node(loop, marks, loop.source[edge])
