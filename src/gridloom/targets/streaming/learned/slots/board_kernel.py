"""One placement at level strict, compiled: what each slot would mean for the next node, and the node put into one.

A board is a partial placement with its routes and waits. For the next node every free slot (tile, spoke) that the rules
C1 to C3, the pins and the tile memories leave open is described by ``FEATURES`` numbers; links that two values would
need and delay registers that are missing are counted in them and are not forbidden, since the annealing that follows
can mend them. A slot that would take the last tile of a node that is still to come is closed (look-ahead).

Nodes that start a flow may issue whole IIs later without any change of slots and links. They do so as soon as their
first reader has a place, so that their values do not wait in registers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import borrowing
from gridloom.search.arrays import Bools, Int32s
from gridloom.targets.streaming.mappers.kernel import NONE, arrival, deadline, direction_of, instructions_on
from gridloom.targets.streaming.mappers.problem import Tables

Floats = NDArray[np.float32]

#: Numbers that describe a slot (``describe``), and numbers that describe the board as a whole (``survey``).
FEATURES = 24
SURVEY = 10

#: Other operands of readers that are looked at.
_MEETINGS = 24

#: What ``Board.sums`` holds: longest path so far, last result, link clashes, registers missing, tiles in use, nodes
#: placed.
BOUND, CYCLES, CLASHES, MISSING, TILES, PLACED = 0, 1, 2, 3, 4, 5


class BoardGraph(NamedTuple):
    """What does not change while a graph is placed: the order of its nodes, and the cycles after each to the end."""

    order: Int32s
    tail: Int32s
    #: The longest path, and the latest issue of each node on it that adds no cycle.
    floor: int
    starts: Bools


class SlotBoard(NamedTuple):
    """A partial placement; ``NONE`` stands for a node without tile, an empty slot, and a link that is free."""

    tile: Int32s
    issue: Int32s
    #: The node in each slot, [tile, spoke], and the value on each link in each spoke, [tile * 4 + direction, spoke].
    at: Int32s
    owner: Int32s
    #: Delay registers in use, [tile, spoke]; memory entries and slots in use on each tile.
    waits: Int32s
    used: Int32s
    load: Int32s
    #: Tiles that a node cannot have, [node, tile], and how many are open to it.
    closed: Bools
    open: Int32s
    sums: Int32s


@borrowing
def clear(tables: Tables, graph: BoardGraph, board: SlotBoard) -> None:
    """Empty a board. Pinned nodes have one open tile from the start."""
    board.tile[:] = NONE
    board.issue[:] = 0
    board.at[:] = NONE
    board.owner[:] = NONE
    board.waits[:] = 0
    board.used[:] = 0
    board.load[:] = 0
    board.sums[:] = 0
    board.sums[BOUND] = graph.floor
    board.closed[:] = False
    board.open[:] = len(board.load)
    for n in range(len(board.tile)):
        if tables.pinned[n] != NONE:
            board.closed[n, :] = True
            board.closed[n, tables.pinned[n]] = False
            board.open[n] = 1


@borrowing
def _close(board: SlotBoard, n: int, t: int) -> None:
    """Note that a node which is not placed cannot have a tile."""
    if board.tile[n] == NONE and not board.closed[n, t]:
        board.closed[n, t] = True
        board.open[n] -= 1


@borrowing
def _dead_end(tables: Tables, board: SlotBoard, n: int, t: int) -> bool:
    """True when node n on tile t leaves some node without any tile: one whose only open tile is t."""
    full = board.load[t] + 1 >= board.at.shape[1]
    for m in range(len(board.tile)):
        if board.open[m] == 1 and m != n and board.tile[m] == NONE and not board.closed[m, t]:
            if full:
                return True
            for e in range(tables.conflict_at[n], tables.conflict_at[n + 1]):
                if tables.conflict[e] == m:
                    return True
    return False


@borrowing
def open_for(tables: Tables, board: SlotBoard, n: int, free: Bools) -> int:
    """Mark the tiles that node n may have; returns how many. Dead ends are closed unless nothing else is open."""
    count = _fitting(tables, board, n, free)
    kept = 0
    for t in range(len(free)):
        if free[t] and _dead_end(tables, board, n, t):
            free[t] = False
        kept += free[t]
    return kept if kept > 0 or count == 0 else _fitting(tables, board, n, free)


@borrowing
def _fitting(tables: Tables, board: SlotBoard, n: int, free: Bools) -> int:
    """Mark the tiles with a free slot, and room for the variables and the op of node n; returns how many."""
    count, limit = 0, tables.device.instructions
    for t in range(len(free)):
        free[t] = not board.closed[n, t] and board.load[t] < board.at.shape[1]
        if tables.entries[n] > 0 and board.used[t] + tables.entries[n] > tables.device.memory:
            free[t] = False
        if free[t] and limit >= 0 and board.load[t] >= limit and instructions_on(tables, t, board.tile, n) > limit:
            free[t] = False
        count += free[t]
    return count


@borrowing
def _taken(here: int, p: int) -> int:
    """1 when a link carries the value of another node than p."""
    return 1 if here != NONE and here != p else 0


@borrowing
def _sweep_links(tables: Tables, ii: int, board: SlotBoard, p: int, cost: Int32s) -> None:
    """``cost[t]``: links with another value on the best way without detours from the tile of node p to tile t."""
    start, tiles = board.tile[p], len(cost)
    ready = board.issue[p] + tables.device.latency
    cost[start] = 0
    for sign in (-1, 1):
        k = 1
        while 0 <= start + sign * k < tiles:
            best = 1 << 20
            for step in (2, 1):
                if step <= k:
                    link = (start + sign * (k - step)) * 4 + direction_of(sign * step)
                    here = board.owner[link, (ready + k - step) % ii]
                    best = min(best, cost[start + sign * (k - step)] + _taken(here, p))
            cost[start + sign * k] = best
            k += 1


@borrowing
def _wait(tables: Tables, graph: BoardGraph, ii: int, board: SlotBoard, n: int, e: int, t: int, now: int) -> int:
    """Cycles that the operand of edge e waits on tile t for node n to issue; a start's whole IIs do not count."""
    p = tables.pred[e]
    wait = now + ii * tables.pred_distance[e] - board.issue[p] - tables.device.latency - abs(board.tile[p] - t)
    if graph.starts[p] and tables.pred_distance[e] == 0 and _first_reader(tables, board, p, n):
        return int(wait % ii)
    return int(wait)


@borrowing
def _first_reader(tables: Tables, board: SlotBoard, p: int, n: int) -> bool:
    """True when no other reader of node p than n is placed."""
    for e in range(tables.succ_at[p], tables.succ_at[p + 1]):
        if tables.succ[e] != n and board.tile[tables.succ[e]] != NONE:
            return False
    return True


@borrowing
def _missing(tables: Tables, ii: int, board: SlotBoard, t: int, arrival_at: int, wait: int) -> int:
    """Registers that are missing on tile t for a value that waits there from a cycle on; 0 where there is no limit."""
    limit = tables.device.delays
    if limit < 0:
        return 0
    over, rounds, rest = 0, wait // ii, wait % ii
    for s in range(ii):
        more = rounds + (1 if (s - arrival_at) % ii < rest else 0)
        if more:
            over += max(0, board.waits[t, s] + more - limit) - max(0, board.waits[t, s] - limit)
    return over


@borrowing
def _meetings(tables: Tables, graph: BoardGraph, board: SlotBoard, n: int, meet: Int32s) -> int:
    """List the placed other operands of the readers of n as (tile, result, cycles after the reader); returns how many.

    A reader may sit anywhere between its operands: with results at cycles r and q on tiles d apart it issues at
    (r + q + d) / 2 at the earliest.
    """
    count = 0
    for e in range(tables.succ_at[n], tables.succ_at[n + 1]):
        c = tables.succ[e]
        if tables.succ_distance[e] or not tables.succ_far[e]:
            continue
        for k in range(tables.pred_at[c], tables.pred_at[c + 1]):
            q = tables.pred[k]
            if q != n and board.tile[q] != NONE and not tables.pred_distance[k] and count < len(meet):
                meet[count, 0], meet[count, 1] = board.tile[q], board.issue[q] + tables.device.latency
                meet[count, 2] = graph.tail[c]
                count += 1
    return count


class BoardScratch(NamedTuple):
    """Arrays of one worker: tiles that are open, costs of links and sums over operands per tile, meetings."""

    free: Bools
    cost: Int32s
    links: Int32s
    away: Int32s
    dues: Int32s
    lasts: Int32s
    meet: Int32s


@borrowing
def _per_tile(tables: Tables, ii: int, board: SlotBoard, n: int, s: BoardScratch) -> int:
    """Fill in what depends on the tile alone: first cycle with all operands, links in use, distances. The soonest."""
    tiles = len(s.free)
    s.links[:] = 0
    s.away[:] = 0
    soonest = 1 << 20
    for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
        p = tables.pred[e]
        if p == n or board.tile[p] == NONE or not tables.pred_far[e]:
            continue
        if tables.device.strict:
            _sweep_links(tables, ii, board, p, s.cost)
        for t in range(tiles):
            s.links[t] += s.cost[t] if tables.device.strict else 0
            s.away[t] += abs(board.tile[p] - t)
    for t in range(tiles):
        if s.free[t]:
            s.dues[t] = arrival(tables, ii, n, t, board.tile, board.issue)
            s.lasts[t] = deadline(tables, ii, n, t, board.tile, board.issue)
            soonest = min(soonest, s.dues[t])
    return soonest


@borrowing
def describe(
    tables: Tables, graph: BoardGraph, ii: int, board: SlotBoard, n: int, s: BoardScratch, rows: Floats, legal: Bools
) -> int:
    """Describe every legal slot (tile * II + spoke) of node n in ``rows``; returns how many are legal.

    The columns are, each about 0 to 1: (0) issue after the soonest slot, (1) growth of the longest path by the node and
    (2) by its readers, (3) slack of the node, (4) slack of its readers, (5) cycles that operands wait, (6) registers
    missing, (7) registers in use on the tile, (8) links with two values, (9) distance to the operands, (10) distance to
    the readers' other operands, (11) load of the tile, (12) whether it is empty, (13) load of its neighbours, (14) free
    links that leave it when the result is there, (15) whether the slot in which a reader could follow is free here and
    (16) on the neighbours, (17) distance to the end of the row, (18) whether an operand is here, (19) distance to
    nodes that may not share the tile, (20) distance to the middle of what is placed, (21) whether that is the first
    node, (22) how late the node is against the start of its slack, (23) a constant.
    """
    tiles, latency, limit = len(s.free), tables.device.latency, tables.device.delays
    legal[:] = False
    if open_for(tables, board, n, s.free) == 0:
        return 0
    soonest = _per_tile(tables, ii, board, n, s)
    others = _meetings(tables, graph, board, n, s.meet)
    bound, placed = board.sums[BOUND], board.sums[PLACED]
    middle = 0.0
    for m in range(len(board.tile)):
        middle += board.tile[m] if board.tile[m] != NONE else 0
    middle = middle / placed if placed else (tiles - 1) / 2.0
    operands = 0
    for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
        operands += board.tile[tables.pred[e]] != NONE and tables.pred[e] != n
    found = 0
    for t in range(tiles):
        if not s.free[t]:
            continue
        far, here, apart, rivals, crowd = 0, 0.0, 0, 0, 0
        for m in range(others):
            far += abs(s.meet[m, 0] - t)
        for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
            here = 1.0 if board.tile[tables.pred[e]] == t else here
        for e in range(tables.conflict_at[n], tables.conflict_at[n + 1]):
            there = board.tile[tables.conflict[e]]
            if there != NONE:
                apart += abs(there - t)
                rivals += 1
        for spoke in range(ii):
            crowd += board.waits[t, spoke]
        left = board.load[t - 1] if t > 0 else ii
        right = board.load[t + 1] if t + 1 < tiles else ii
        for spoke in range(ii):
            now = s.dues[t] + (spoke - s.dues[t]) % ii
            if board.at[t, spoke] != NONE or now > s.lasts[t]:
                continue
            k = t * ii + spoke
            legal[k] = True
            found += 1
            longest = now + graph.tail[n]
            for m in range(others):
                done = now + latency
                between = max(done, s.meet[m, 1], (done + s.meet[m, 1] + abs(s.meet[m, 0] - t) + 1) // 2)
                longest = max(longest, between + s.meet[m, 2])
            wait, missing = 0, 0
            for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
                p = tables.pred[e]
                if p != n and board.tile[p] != NONE and tables.pred_far[e]:
                    w = _wait(tables, graph, ii, board, n, e, t, now)
                    wait += w
                    missing += _missing(tables, ii, board, t, now - w, w)
            row = rows[k]
            row[0] = (now - soonest) / 6.0
            row[1] = max(0, now + graph.tail[n] - bound) / 6.0
            row[2] = max(0, longest - bound) / 6.0
            row[3] = min(24, max(0, bound - now - graph.tail[n])) / 12.0
            row[4] = min(24, max(0, bound - longest)) / 12.0
            row[5] = wait / (2.0 * ii)
            row[6] = min(missing, 8) / 4.0
            row[7] = crowd / (ii * limit) if limit > 0 else 0.0
            row[8] = min(s.links[t], 8) / 2.0
            row[9] = s.away[t] / (4.0 * max(1, operands))
            row[10] = far / (4.0 * max(1, others))
            row[11] = board.load[t] / ii
            row[12] = 1.0 if board.load[t] == 0 else 0.0
            row[13] = (left + right) / (2.0 * ii)
            row[14] = _exits(ii, board, t, now + latency, tiles) / 4.0 if tables.device.strict else 1.0
            row[15] = 1.0 if board.at[t, (now + latency) % ii] == NONE else 0.0
            beside = 0
            for d in (-1, 1):
                if 0 <= t + d < tiles and board.at[t + d, (now + latency + 1) % ii] == NONE:
                    beside += 1
            row[16] = beside / 2.0
            row[17] = min(t, tiles - 1 - t, 8) / 8.0
            row[18] = here
            row[19] = apart / (8.0 * max(1, rivals))
            row[20] = abs(t - middle) / 8.0
            row[21] = 1.0 if placed == 0 else 0.0
            row[22] = min(48, max(0, now)) / 48.0 if operands == 0 else 0.0
            row[23] = 1.0
    return found


@borrowing
def _exits(ii: int, board: SlotBoard, t: int, ready: int, tiles: int) -> int:
    """Links that leave tile t and are free in the spoke of a cycle."""
    count = 0
    for k in range(4):
        step = k - 2 if k < 2 else k - 1
        if 0 <= t + step < tiles and board.owner[t * 4 + k, ready % ii] == NONE:
            count += 1
    return count


@borrowing
def survey(
    tables: Tables, graph: BoardGraph, ii: int, board: SlotBoard, n: int, tiles_weight: float, out: Floats
) -> None:
    """Describe the board as a whole for node n: progress, cost so far, how full it is, II, tiles, goal."""
    count, sums, tiles = len(board.tile), board.sums, tables.device.tiles
    out[0] = sums[PLACED] / count
    out[1] = (sums[BOUND] - graph.floor) / 12.0
    out[2] = min(16, sums[CLASHES]) / 8.0
    out[3] = min(16, sums[MISSING]) / 8.0
    out[4] = sums[TILES] / tiles
    out[5] = ii / 8.0
    out[6] = count / (tiles * ii)
    out[7] = tiles / 64.0
    out[8] = tiles_weight
    out[9] = 1.0 if tables.device.strict else 0.0


@borrowing
def put(tables: Tables, graph: BoardGraph, ii: int, board: SlotBoard, n: int, slot: int, s: BoardScratch) -> None:
    """Put node n into a legal slot: route its operands, count their waits, and close tiles for nodes to come."""
    t, spoke = slot // ii, slot % ii
    due = arrival(tables, ii, n, t, board.tile, board.issue)
    now = due + (spoke - due) % ii
    sums = board.sums
    for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
        p = tables.pred[e]
        if p == n or board.tile[p] == NONE or not tables.pred_far[e]:
            continue
        wait = _wait(tables, graph, ii, board, n, e, t, now)
        sums[MISSING] += _missing(tables, ii, board, t, now - wait, wait)
        rounds, rest = wait // ii, wait % ii
        for k in range(ii):
            board.waits[t, k] += rounds + (1 if (k - now + wait) % ii < rest else 0)
        sums[CLASHES] += _lay(tables, ii, board, p, t, s.cost)
        if tables.pred_distance[e] == 0 and graph.starts[p] and _first_reader(tables, board, p, n):
            whole = now - board.issue[p] - tables.device.latency - abs(board.tile[p] - t)
            board.issue[p] += whole // ii * ii
    board.tile[n], board.issue[n], board.at[t, spoke] = t, now, n
    for e in range(tables.succ_at[n], tables.succ_at[n + 1]):
        m = tables.succ[e]
        if m != n and board.tile[m] != NONE and tables.succ_far[e]:
            sums[CLASHES] += _lay(tables, ii, board, n, board.tile[m], s.cost)
    sums[TILES] += board.load[t] == 0
    board.load[t] += 1
    board.used[t] += tables.entries[n]
    sums[PLACED] += 1
    sums[CYCLES] = max(sums[CYCLES], now + tables.device.latency)
    sums[BOUND] = max(sums[BOUND], now + graph.tail[n])
    for e in range(tables.conflict_at[n], tables.conflict_at[n + 1]):
        _close(board, tables.conflict[e], t)
    if board.load[t] >= ii:
        for m in range(len(board.tile)):
            _close(board, m, t)
    if tables.group[n] != NONE:
        for m in range(len(board.tile)):
            if tables.group[m] == tables.group[n]:
                for other in range(len(board.load)):
                    if other != t:
                        _close(board, m, other)


@borrowing
def _lay(tables: Tables, ii: int, board: SlotBoard, p: int, t: int, cost: Int32s) -> int:
    """Route the value of node p to tile t on the way with the fewest clashes; returns these. At level paper: 0."""
    if not tables.device.strict:
        return 0
    _sweep_links(tables, ii, board, p, cost)
    start = board.tile[p]
    sign = 1 if t > start else -1
    ready = board.issue[p] + tables.device.latency
    k, clashes = abs(t - start), cost[t]
    while k > 0:
        best, pick = 1 << 20, 1
        for step in (2, 1):
            if step <= k:
                link = (start + sign * (k - step)) * 4 + direction_of(sign * step)
                here = board.owner[link, (ready + k - step) % ii]
                price = cost[start + sign * (k - step)] + _taken(here, p)
                if price < best:
                    best, pick = price, step
        k -= pick
        link = (start + sign * k) * 4 + direction_of(sign * pick)
        if board.owner[link, (ready + k) % ii] == NONE:
            board.owner[link, (ready + k) % ii] = p
    return int(clashes)
