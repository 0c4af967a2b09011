"""Annealing of placements on tiles with spokes, compiled: every placement on the way keeps C1 to C3 and the slots.

A state is ``tile`` and ``spoke`` of each node, and ``at[tile, spoke]``, the node there. Moves change these in place,
and may leave them half changed when they fail; ``anneal`` keeps a copy of the last state that was taken and restores
it. The cost is computed from scratch for each state, since an issue cycle can change all those after it: one pass of
``schedule`` and, at level strict, one of ``route`` and one of ``waiting``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.jit import borrowing, copy_row, copy_table, internal, kernel
from gridloom.search.arrays import Int32s, Uint8s
from gridloom.targets.streaming.mappers.kernel import NONE, arrival, makespan, postpone, route, schedule, waiting
from gridloom.targets.streaming.mappers.problem import Tables


class Cooling(NamedTuple):
    """A schedule of annealing: how many moves are made while the temperature falls from hot to cold."""

    moves: int
    hot: float
    cold: float
    #: What a tile in use costs, in cycles.
    tiles: float = 0.0


#: A value without a link, or without a delay register, costs as much as this many cycles.
_CLASH = 4.0


@borrowing
def _may_sit(tables: Tables, n: int, t: int, tile: Int32s, other: int) -> bool:
    """True when node n may sit on tile t beside all nodes but itself and ``other``.

    No node that C2 or C3 keep apart from n is there (the CSR ``conflict``), and all that share variables with n (C1,
    its ``group``) are there.
    """
    for e in range(tables.conflict_at[n], tables.conflict_at[n + 1]):
        m = tables.conflict[e]
        if m != other and tile[m] == t:
            return False
    if tables.group[n] != NONE:
        for m in range(len(tile)):
            if tables.group[m] == tables.group[n] and m != n and tile[m] != t:
                return False
    return True


@borrowing
def _entries_fit(tables: Tables, tile: Int32s, used: Int32s, at: Int32s) -> bool:
    """True when no tile has more variables or different ops than its memories hold. ``used`` is scratch."""
    limit = tables.device.instructions
    if limit >= 0 and at.shape[1] > limit:
        for t in range(at.shape[0]):
            if _ops_on(tables, t, at) > limit:
                return False
    used[:] = 0
    for n in range(len(tile)):
        used[tile[n]] += tables.entries[n]
        if used[tile[n]] > tables.device.memory:
            return False
    return True


@borrowing
def _ops_on(tables: Tables, t: int, at: Int32s) -> int:
    """Different ops in the slots of tile t."""
    count = 0
    for s in range(at.shape[1]):
        fresh = at[t, s] != NONE
        for k in range(s):
            if fresh and at[t, k] != NONE and tables.opcode[at[t, k]] == tables.opcode[at[t, s]]:
                fresh = False
        count += fresh
    return count


@internal
def price_of(
    tables: Tables,
    ii: int,
    tile: Int32s,
    spoke: Int32s,
    issue: Int32s,
    owner: Int32s,
    price: Int32s,
    steps: Int32s,
    count: Int32s,
    later: Int32s,
) -> tuple[float, int]:
    """(cost, violations) of a placement: cycles, a little for late issues, much for what strict forbids.

    The two small terms for late issues make placements with equal cycles differ, so that the search has a slope to
    follow. A placement whose carried values cannot be in time costs 1e9. ``issue`` is written; the last five arrays are
    scratch. Where registers are too few, nodes may issue whole IIs later (``postpone``). Prices of links are cleared
    each time, so a placement always has the same cost.
    """
    if not schedule(tables, ii, tile, spoke, issue):
        return 1e9, 1 << 20
    cycles = makespan(tables, issue)
    late = 0
    for n in range(len(issue)):
        late += issue[n]
    clashes = 0
    if tables.device.strict:
        price[:] = 0
        over = waiting(tables, ii, tile, issue, count)
        if over:
            postpone(tables, ii, tile, issue, later)
            over = min(over, waiting(tables, ii, tile, later, count))
        clashes = over + route(tables, ii, tile, issue, owner, price, steps)
    return cycles + 0.5 * late / (len(issue) * max(1, cycles)) + 0.03 * late / len(issue) + _CLASH * clashes, clashes


@borrowing
def _near(tables: Tables, n: int, tile: Int32s, tiles: int) -> int:
    """A tile at most two away from a random neighbour of node n; sometimes, or without neighbours, any tile."""
    first, last = tables.pred_at[n], tables.pred_at[n + 1]
    more = tables.succ_at[n + 1] - tables.succ_at[n]
    if last - first + more == 0 or np.random.random() < 0.15:
        return np.random.randint(tiles)
    k = np.random.randint(last - first + more)
    m = tables.pred[first + k] if k < last - first else tables.succ[tables.succ_at[n] + k - (last - first)]
    return int(min(tiles - 1, max(0, tile[m] + np.random.randint(-2, 3))))


@borrowing
def _free_spoke(tables: Tables, ii: int, n: int, t: int, tile: Int32s, issue: Int32s, at: Int32s) -> int:
    """The spoke of tile t that node n can have soonest, or a random one now and then; NONE when all are taken."""
    due = np.random.randint(ii) if np.random.random() < 0.2 else arrival(tables, ii, n, t, tile, issue)
    for k in range(ii):
        if at[t, (due + k) % ii] == NONE:
            return (due + k) % ii
    return NONE


@borrowing
def _swap_tiles(tables: Tables, a: int, b: int, tile: Int32s, at: Int32s) -> None:
    """Exchange all that sits on two tiles: C1 to C3 stay as they are."""
    for s in range(at.shape[1]):
        n, m = at[a, s], at[b, s]
        at[a, s], at[b, s] = m, n
        if n != NONE:
            tile[n] = b
        if m != NONE:
            tile[m] = a


@borrowing
def _holds_pinned(tables: Tables, t: int, at: Int32s) -> bool:
    """True when a node on tile t has to stay there."""
    held = False
    for s in range(at.shape[1]):
        n = at[t, s]
        held = held or (n != NONE and tables.pinned[n] != NONE)
    return held


@borrowing
def _rebuild(tile: Int32s, spoke: Int32s, at: Int32s) -> None:
    """Fill ``at`` from ``tile`` and ``spoke``."""
    at[:] = NONE
    for n in range(len(tile)):
        at[tile[n], spoke[n]] = n


@borrowing
def _move_group(tables: Tables, ii: int, n: int, tile: Int32s, spoke: Int32s, issue: Int32s, at: Int32s) -> bool:
    """Move node n, with all that shares its variables, to another tile. False: it cannot go there.

    Each node takes the spoke that it can have soonest there. Pinned nodes never move, nor does what shares their
    variables. After False the arrays may be half changed, and the caller restores them.
    """
    t = _near(tables, n, tile, tables.device.tiles)
    for m in range(len(tile)):
        if tables.pinned[m] != NONE and (m == n or (tables.group[n] != NONE and tables.group[m] == tables.group[n])):
            return False
    for m in range(len(tile)):
        if (m == n or (tables.group[n] != NONE and tables.group[m] == tables.group[n])) and tile[m] != t:
            at[tile[m], spoke[m]] = NONE
            tile[m] = t
            s = _free_spoke(tables, ii, m, t, tile, issue, at)
            if s == NONE:
                return False
            spoke[m] = s
            at[t, s] = m
    for m in range(len(tile)):
        if (m == n or (tables.group[n] != NONE and tables.group[m] == tables.group[n])) and not _may_sit(
            tables, m, t, tile, NONE
        ):
            return False
    return True


@borrowing
def _propose(tables: Tables, ii: int, tile: Int32s, spoke: Int32s, issue: Int32s, at: Int32s) -> bool:
    """Change a placement at random; False when the change breaks a rule, and the arrays are then to be restored.

    45 % of the changes move a node with its group to another tile, 20 % move a node to another spoke of its tile (in
    exchange with the node there), 20 % exchange two nodes, and 15 % exchange all that sits on two tiles up to three
    apart.
    """
    count, tiles = len(tile), tables.device.tiles
    kind = np.random.random()
    n = np.random.randint(count)
    if kind < 0.45:
        return _move_group(tables, ii, n, tile, spoke, issue, at)
    if kind < 0.65:
        s = np.random.randint(ii)
        m = at[tile[n], s]
        at[tile[n], s], at[tile[n], spoke[n]] = n, m
        if m != NONE:
            spoke[m] = spoke[n]
        spoke[n] = s
        return True
    if kind < 0.85:
        m = np.random.randint(count)
        if m == n or tile[m] == tile[n] or tables.pinned[n] != NONE or tables.pinned[m] != NONE:
            return False
        if not _may_sit(tables, n, tile[m], tile, m) or not _may_sit(tables, m, tile[n], tile, n):
            return False
        tile[n], tile[m] = tile[m], tile[n]
        spoke[n], spoke[m] = spoke[m], spoke[n]
        at[tile[n], spoke[n]] = n
        at[tile[m], spoke[m]] = m
        return True
    a = tile[n]
    b = min(tiles - 1, max(0, a + np.random.randint(-3, 4)))
    if _holds_pinned(tables, a, at) or _holds_pinned(tables, b, at):
        return False
    _swap_tiles(tables, a, b, tile, at)
    return bool(a != b)


@borrowing
def _tiles_in_use(at: Int32s) -> int:
    """The number of tiles with a node."""
    count = 0
    for t in range(at.shape[0]):
        for s in range(at.shape[1]):
            if at[t, s] != NONE:
                count += 1
                break
    return count


@kernel
def anneal(tables: Tables, ii: int, seed: int, cooling: Cooling, stop: Uint8s, tile: Int32s, spoke: Int32s,
           target: int) -> tuple[int, int, int]:  # fmt: skip
    """Anneal a legal placement in place; the best one found stays in ``tile`` and ``spoke``.

    Ends after ``cooling.moves``, when stopped, or when the cycles reach ``target`` without violations and tiles cost
    nothing. Returns (cycles,
    violations, moves made) of the best. It is the one with the fewest violations, then with the least cost. A move
    costs one schedule, at level strict one routing more. The same seed gives the same result, unless it is stopped.
    """
    np.random.seed(seed)
    count, tiles = len(tile), tables.device.tiles
    issue = np.empty(count, dtype=np.int32)
    at = np.empty((tiles, ii), dtype=np.int32)
    owner = np.empty((tiles * 4, ii), dtype=np.int32)
    price = np.zeros((tiles * 4, ii), dtype=np.int32)
    steps = np.empty((max(1, len(tables.wire_source)), tiles), dtype=np.int32)
    waits = np.empty((tiles, ii), dtype=np.int32)
    used = np.empty(tiles, dtype=np.int32)
    later = np.empty(count, dtype=np.int32)
    _rebuild(tile, spoke, at)
    cost, bad = price_of(tables, ii, tile, spoke, issue, owner, price, steps, waits, later)
    if cooling.tiles > 0:
        cost += cooling.tiles * _tiles_in_use(at)
    best_tile, best_spoke, best_cost, best_bad = tile.copy(), spoke.copy(), cost, bad
    best_cycles = makespan(tables, issue)
    old_tile, old_spoke, old_issue, old_at = tile.copy(), spoke.copy(), issue.copy(), at.copy()
    made = 0
    while made < cooling.moves:
        if stop[0] or (best_bad == 0 and best_cycles <= target and cooling.tiles <= 0):
            break
        temperature = cooling.hot * (cooling.cold / cooling.hot) ** (made / cooling.moves)
        made += 1
        fine = _propose(tables, ii, tile, spoke, issue, at)
        if fine:
            fine = _entries_fit(tables, tile, used, at)
        if fine:
            new, new_bad = price_of(tables, ii, tile, spoke, issue, owner, price, steps, waits, later)
            if cooling.tiles > 0:
                new += cooling.tiles * _tiles_in_use(at)
            fine = new <= cost or np.random.random() < np.exp((cost - new) / temperature)
        if not fine:
            copy_row(old_tile, tile)
            copy_row(old_spoke, spoke)
            copy_row(old_issue, issue)
            copy_table(old_at, at)
            continue
        cost, bad = new, new_bad
        copy_row(tile, old_tile)
        copy_row(spoke, old_spoke)
        copy_row(issue, old_issue)
        copy_table(at, old_at)
        if bad < best_bad or (bad == best_bad and cost < best_cost):
            best_cost, best_bad, best_cycles = cost, bad, makespan(tables, issue)
            copy_row(tile, best_tile)
            copy_row(spoke, best_spoke)
    copy_row(best_tile, tile)
    copy_row(best_spoke, spoke)
    return best_cycles, best_bad, made
