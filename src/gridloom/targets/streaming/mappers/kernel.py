"""Kernels of placement on tiles with spokes: the schedule of a placement, its routes, its waits, and random samples.

All of them read :class:`~gridloom.targets.streaming.mappers.problem.Tables` and write into arrays that the caller owns.
Tiles form a line, so the time between two tiles is the difference of their positions, whatever links are taken; that is
why issue cycles follow from tiles and spokes alone, before anything is routed. Links are numbered position * 4 + 0..3
for the offsets -2, -1, 1, 2, and a link is busy per spoke, (cycle mod II).

The annealer, the learned policies (``gridloom.targets.streaming.learned``) and the exact model share these functions.
"""

from __future__ import annotations

import numpy as np

from gridloom.jit import borrowing, copy_row, kernel
from gridloom.search.arrays import Bools, Int32s, Uint8s
from gridloom.targets.streaming.mappers.problem import Tables

#: The mark of a slot that is empty, a node that is not placed, or a value that is not given.
NONE = -1

#: Price of a link that another value has in that spoke; far above any number of links.
_TAKEN = 1 << 16


@kernel
def schedule(tables: Tables, ii: int, tile: Int32s, spoke: Int32s, issue: Int32s) -> bool:
    """Issue cycles of a placement, in place; False when carried values cannot be in time on it. O(edges) mostly.

    Relaxes the issue rule of :mod:`gridloom.targets.streaming.mappers.problem` in topological order until nothing
    changes. Without carried edges the second pass confirms the first; with them, more passes than nodes mean a cycle
    that takes longer than the II allows.
    """
    count = len(tile)
    issue[:] = 0
    for _ in range(count + 2):
        moved = False
        for n in range(count):
            due = 0
            for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
                p = tables.pred[e]
                there = issue[p] + tables.pred_lag[e] - ii * tables.pred_distance[e]
                if tables.pred_far[e]:
                    there += abs(tile[p] - tile[n])
                due = max(due, there)
            now = due + (spoke[n] - due) % ii
            if now != issue[n]:
                issue[n] = now
                moved = True
        if not moved:
            return True
    return False


@kernel
def route(tables: Tables, ii: int, tile: Int32s, issue: Int32s, owner: Int32s, price: Int32s, steps: Int32s) -> int:
    """Routes of all wires; returns how many links carry a second value.

    A route has no detours, so a value is at a tile at a time that does not depend on its route. ``steps[w]`` becomes
    the links of wire w (position * 4 + 0..3 for -2, -1, 1, 2), NONE at the end. ``owner`` (links x spokes) says whose
    value a link carries; a link that the value already has costs nothing, so that fan-outs share links. ``price``
    (links x spokes) adds to the cost and grows where two values meet, so that calling this again negotiates. Each wire
    is one pass of dynamic programming over the tiles between its ends.
    """
    owner[:] = NONE
    clashes = 0
    cost = np.empty(len(owner) + 2, dtype=np.int64)
    came = np.empty(len(owner) + 2, dtype=np.int32)
    for w in range(len(tables.wire_source)):
        p = tables.wire_source[w]
        start, end = tile[p], tile[tables.wire_target[w]]
        far = abs(end - start)
        sign = 1 if end > start else -1
        ready = issue[p] + tables.device.latency
        cost[0] = 0
        for k in range(1, far + 1):
            cost[k] = 1 << 60
            for step in (2, 1):
                if step > k:
                    continue
                link = (start + sign * (k - step)) * 4 + direction_of(sign * step)
                slot = (ready + k - step) % ii
                here = owner[link, slot]
                add = price[link, slot] + (0 if here == p else (1 if here == NONE else _TAKEN))
                if cost[k - step] + add < cost[k]:
                    cost[k] = cost[k - step] + add
                    came[k] = step
        k = far
        last = 0
        while k > 0:
            k -= came[k]
            last += 1
        if last < steps.shape[1]:
            steps[w, last] = NONE
        k = far
        while k > 0:
            step = came[k]
            k -= step
            last -= 1
            link = (start + sign * k) * 4 + direction_of(sign * step)
            slot = (ready + k) % ii
            steps[w, last] = link
            if owner[link, slot] == NONE:
                owner[link, slot] = p
            elif owner[link, slot] != p:
                clashes += 1
                price[link, slot] += 1
    return clashes


@borrowing
def direction_of(step: int) -> int:
    """The number of a link within its tile, 0 to 3, by its offset -2, -1, 1 or 2."""
    return step + 2 if step < 0 else step + 1


@kernel
def waiting(tables: Tables, ii: int, tile: Int32s, issue: Int32s, count: Int32s) -> int:
    """Values too many for the delay registers, over tiles and spokes; ``count`` (tiles x II) is scratch.

    A value waits on its reader's tile from its arrival to the issue of the last reader there. A wait of II cycles or
    more takes a register in every spoke, once for each whole II. 0 where the device has no limit.
    """
    limit = tables.device.delays
    if limit < 0:
        return 0
    count[:] = 0
    wires = len(tables.wire_source)
    for w in range(wires):
        p, n = tables.wire_source[w], tables.wire_target[w]
        arrival = issue[p] + tables.device.latency + abs(tile[p] - tile[n])
        end = issue[n] + ii * tables.wire_distance[w]
        # One value that waits for several readers on a tile is kept once, until the last of them. Wires are sorted.
        first, latest = True, end
        other = w
        while other > 0 and tables.wire_source[other - 1] == p:
            other -= 1
        while other < wires and tables.wire_source[other] == p:
            m = tables.wire_target[other]
            if tile[m] == tile[n] and other != w:
                latest = max(latest, issue[m] + ii * tables.wire_distance[other])
                first = first and other > w
            other += 1
        if first:
            rounds, rest = (latest - arrival) // ii, (latest - arrival) % ii
            for s in range(ii):
                count[tile[n], s] += rounds
            for c in range(arrival, arrival + rest):
                count[tile[n], c % ii] += 1
    over = 0
    for t in range(count.shape[0]):
        for s in range(ii):
            over += max(0, count[t, s] - limit)
    return over


@kernel
def postpone(tables: Tables, ii: int, tile: Int32s, issue: Int32s, later: Int32s) -> None:
    """Issue cycles with the same tiles, spokes and last result, but whole IIs later where fewer values wait then.

    A node that issues k * II cycles later keeps its slot and its links, which are counted modulo the II; its operands
    wait longer and its readers' operands shorter. First every node goes as late as its readers and the last result
    allow, against the topological order; then each that has more operands than readers comes back, as far as its
    operands let it. ``later`` is written, ``issue`` is only read. Two passes over the edges.
    """
    copy_row(issue, later)
    last = 0
    for n in range(len(issue)):
        last = max(last, issue[n])
    for n in range(len(issue) - 1, -1, -1):
        until = last
        for e in range(tables.succ_at[n], tables.succ_at[n + 1]):
            m = tables.succ[e]
            if m != n:
                there = later[m] + ii * tables.succ_distance[e] - tables.succ_lag[e]
                until = min(until, there - (abs(tile[m] - tile[n]) if tables.succ_far[e] else 0))
        if tables.succ_at[n + 1] > tables.succ_at[n] and until > later[n]:
            later[n] += (until - later[n]) // ii * ii
    for n in range(len(issue)):
        if tables.pred_at[n + 1] - tables.pred_at[n] > tables.succ_at[n + 1] - tables.succ_at[n]:
            due = arrival(tables, ii, n, tile[n], tile, later)
            later[n] -= (later[n] - due) // ii * ii


@kernel
def makespan(tables: Tables, issue: Int32s) -> int:
    """The cycle of the last result."""
    last = 0
    for n in range(len(issue)):
        last = max(last, issue[n])
    return int(last + tables.device.latency)


@borrowing
def open_tiles(tables: Tables, n: int, tile: Int32s, used: Int32s, free: Bools) -> None:
    """Mark in ``free`` the tiles that node n may sit on beside the nodes placed so far (tile NONE: not placed).

    ``used`` has the memory entries that are taken on each tile. Slots are not looked at: a tile may be free and full.
    """
    free[:] = tables.pinned[n] == NONE
    if tables.pinned[n] != NONE:
        free[tables.pinned[n]] = True
    limit = tables.device.memory
    if tables.entries[n] > 0:
        for t in range(len(free)):
            if used[t] + tables.entries[n] > limit:
                free[t] = False
    for e in range(tables.conflict_at[n], tables.conflict_at[n + 1]):
        t = tile[tables.conflict[e]]
        if t != NONE:
            free[t] = False
    if tables.device.instructions >= 0:
        for t in range(len(free)):
            if free[t] and instructions_on(tables, t, tile, n) > tables.device.instructions:
                free[t] = False
    if tables.group[n] != NONE:
        for m in range(len(tile)):
            if tables.group[m] == tables.group[n] and m != n and tile[m] != NONE:
                stays = free[tile[m]]
                free[:] = False
                free[tile[m]] = stays
                return


@borrowing
def instructions_on(tables: Tables, t: int, tile: Int32s, n: int) -> int:
    """Different ops on tile t with node n added (NONE: none is added). Quadratic in the nodes there."""
    count = 0
    for m in range(len(tile)):
        if tile[m] != t and m != n:
            continue
        first = True
        for k in range(m):
            if (tile[k] == t or k == n) and tables.opcode[k] == tables.opcode[m]:
                first = False
                break
        count += first
    return count


@borrowing
def arrival(tables: Tables, ii: int, n: int, t: int, tile: Int32s, issue: Int32s) -> int:
    """The earliest cycle at which node n can issue on tile t, after the predecessors placed so far, on any spoke."""
    due = 0
    for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
        p = tables.pred[e]
        if tile[p] != NONE and p != n:
            there = issue[p] + tables.pred_lag[e] - ii * tables.pred_distance[e]
            if tables.pred_far[e]:
                there += abs(tile[p] - t)
            due = max(due, there)
    return due


@borrowing
def deadline(tables: Tables, ii: int, n: int, t: int, tile: Int32s, issue: Int32s) -> int:
    """The latest cycle at which node n can issue on tile t, before readers placed so far (carried values)."""
    latest = 1 << 30
    for e in range(tables.succ_at[n], tables.succ_at[n + 1]):
        m = tables.succ[e]
        if tile[m] != NONE and m != n:
            until = issue[m] + ii * tables.succ_distance[e] - tables.succ_lag[e]
            if tables.succ_far[e]:
                until -= abs(tile[m] - t)
            latest = min(latest, until)
    return latest


@kernel
def sample(
    tables: Tables,
    ii: int,
    seed: int,
    rounds: int,
    greed: int,
    stop: Uint8s,
    best_tile: Int32s,
    best_spoke: Int32s,
    best_cycles: int,
) -> tuple[int, int, int]:
    """Random legal placements, one node after the other; the best with fewer cycles than given is kept.

    A node takes the slot that it can have soonest of ``greed`` drawn ones: 1 is uniform. A placement that leaves some
    node without a slot is dropped. Links and delay registers are not looked at. Returns (fewest cycles, complete
    placements, placements tried, which are one at least); ``best_tile`` and ``best_spoke`` are written only where the
    fewest cycles are below ``best_cycles``.
    """
    np.random.seed(seed)
    count, tiles = len(best_tile), tables.device.tiles
    tile = np.empty(count, dtype=np.int32)
    spoke = np.empty(count, dtype=np.int32)
    issue = np.empty(count, dtype=np.int32)
    free = np.empty(tiles, dtype=np.bool_)
    busy = np.empty((tiles, ii), dtype=np.bool_)
    used = np.empty(tiles, dtype=np.int32)
    slots = np.empty((tiles * ii, 2), dtype=np.int32)
    whole = 0
    for turn in range(rounds):
        if stop[0] and turn > 0:
            return best_cycles, whole, turn
        tile[:] = NONE
        busy[:] = False
        used[:] = 0
        done = 0
        for n in range(count):
            open_tiles(tables, n, tile, used, free)
            found = 0
            for t in range(tiles):
                if not free[t]:
                    continue
                due = arrival(tables, ii, n, t, tile, issue)
                last = deadline(tables, ii, n, t, tile, issue)
                for s in range(ii):
                    if not busy[t, s] and due + (s - due) % ii <= last:
                        slots[found, 0] = t
                        slots[found, 1] = due + (s - due) % ii
                        found += 1
            if found == 0:
                break
            pick = np.random.randint(found)
            for _ in range(greed - 1):
                other = np.random.randint(found)
                if slots[other, 1] < slots[pick, 1]:
                    pick = other
            tile[n], issue[n] = slots[pick, 0], slots[pick, 1]
            spoke[n] = issue[n] % ii
            busy[tile[n], spoke[n]] = True
            used[tile[n]] += tables.entries[n]
            done += 1
        if done < count:
            continue
        whole += 1
        cycles = makespan(tables, issue)
        if cycles < best_cycles:
            best_cycles = cycles
            copy_row(tile, best_tile)
            copy_row(spoke, best_spoke)
    return best_cycles, whole, rounds
