"""Many placements at once on a streaming engine, compiled: one step of every board, its mask and what a policy sees.

A board is one graph being placed node by node. All boards of a batch share the graph, the II and the array; what a step
leaves in ``slots`` and ``ready`` is the observation itself, so that nothing is copied. What a step calls is inlined:
handing the tables on to a function costs more than placing a node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.map.spokes_kernel import NONE, arrival, deadline
from gridloom.map.spokes_problem import Tables

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

RUNNING, COMPLETE, STUCK = 0, 1, 2

#: What the reward of a step is the negative of: growth of the last result, a node's time after its predecessors',
#: growth of the longest path that the placed nodes leave.
MAKESPAN, LATENCY, BOUND = 0, 1, 2

#: Features of a candidate slot, see ``shortlist``.
FEATURES = 18


class Boards(NamedTuple):
    """The state of a batch; the first axis is the board."""

    tile: Ints
    spoke: Ints
    issue: Ints
    #: Cycle of each result, 0 for nodes that are not placed.
    ready: Ints
    #: Node + 1 of each slot (tile * II + spoke), 0: empty.
    slots: Ints
    #: Tile-memory entries in use on each tile.
    used: Ints
    #: Slots in use on each tile.
    load: Ints
    #: Last result so far; the longest path through what is placed.
    cycles: Ints
    bound: Ints
    #: Order in which nodes are placed, how far it has come, steps made.
    order: Ints
    position: Ints
    steps: Ints
    over: Ints
    #: The node to be placed next; the last one when there is none.
    node: NDArray[np.int64]
    #: Slots without a node, and those of them that the next node may have.
    vacant: Flags
    mask: Flags
    reward: Floats


class Rules(NamedTuple):
    """What is the same for all boards and steps."""

    ii: int
    reward: int
    #: Price of having no legal slot, or of an illegal choice.
    penalty: float
    #: Weights of cycles and of tiles in use.
    cycles: float
    tiles: float
    #: True when nodes come in topological order onto empty boards: issues are then final at once.
    forward: bool
    #: True when some value is carried from an earlier iteration.
    carried: bool


@njit(cache=True, nogil=True, inline="always")
def write_mask(tables: Tables, rules: Rules, boards: Boards, b: int) -> bool:
    """The legal slots of the next node of a board; False when there is none.

    A copy of the vacant slots, in which the few tiles that rules close to the node are then struck out.
    """
    n = boards.order[b, boards.position[b]]
    boards.node[b] = n
    mask, vacant = boards.mask, boards.vacant
    for k in range(mask.shape[1]):
        mask[b, k] = vacant[b, k]
    for e in range(tables.foe_at[n], tables.foe_at[n + 1]):
        t = boards.tile[b, tables.foe[e]]
        if t != NONE:
            _close(rules.ii, boards, b, t)
    if tables.group[n] != NONE:
        _tie(tables, rules.ii, boards, b, n)
    if rules.carried and rules.forward:
        _hurry(tables, rules, boards, b, n)
    found = False
    for k in range(mask.shape[1]):
        if mask[b, k]:
            found = True
            break
    return found


@njit(cache=True, nogil=True, inline="always")
def _close(ii: int, boards: Boards, b: int, t: int) -> None:
    for k in range(t * ii, t * ii + ii):
        boards.mask[b, k] = False


@njit(cache=True, nogil=True, inline="always")
def _tie(tables: Tables, ii: int, boards: Boards, b: int, n: int) -> None:
    """Tile memory: a node with a variable goes where the variable is, or where there is room for it."""
    home = NONE
    for m in range(len(tables.group)):
        if tables.group[m] == tables.group[n] and m != n and boards.tile[b, m] != NONE:
            home = boards.tile[b, m]
    for t in range(tables.device[0]):
        full = tables.entries[n] > 0 and boards.used[b, t] + tables.entries[n] > tables.device[4]
        if full or (home != NONE and t != home):
            _close(ii, boards, b, t)


@njit(cache=True, nogil=True, inline="always")
def _hurry(tables: Tables, rules: Rules, boards: Boards, b: int, n: int) -> None:
    """Strike out slots too late for readers that are there already: only readers of a carried value can be."""
    hurried = False
    for e in range(tables.succ_at[n], tables.succ_at[n + 1]):
        hurried = hurried or (boards.tile[b, tables.succ[e]] != NONE and tables.succ[e] != n)
    if not hurried:
        return
    ii, tile, issue = rules.ii, boards.tile[b], boards.issue[b]
    for t in range(tables.device[0]):
        due = arrival(tables, ii, n, t, tile, issue)
        last = deadline(tables, ii, n, t, tile, issue)
        for s in range(ii):
            if due + (s - due) % ii > last:
                boards.mask[b, t * ii + s] = False


@njit(cache=True, nogil=True)
def _reschedule(tables: Tables, tail: Ints, rules: Rules, boards: Boards, b: int, scratch: Ints) -> bool:
    """Issues of all placed nodes anew, after a node whose readers may be there already."""
    tile, spoke, issue = boards.tile[b], boards.spoke[b], boards.issue[b]
    ii, count = rules.ii, len(tile)
    scratch[:] = issue
    for _ in range(count + 2):
        moved = False
        for n in range(count):
            if tile[n] == NONE:
                continue
            due = arrival(tables, ii, n, tile[n], tile, scratch)
            now = due + (spoke[n] - due) % ii
            if now > scratch[n]:
                scratch[n] = now
                moved = True
        if not moved:
            last, bound = 0, 0
            for n in range(count):
                if tile[n] != NONE:
                    issue[n] = scratch[n]
                    boards.ready[b, n] = scratch[n] + tables.device[1]
                    last = max(last, boards.ready[b, n])
                    bound = max(bound, scratch[n] + tail[n])
            boards.cycles[b] = last
            boards.bound[b] = max(bound, boards.bound[b])
            return True
    return False


@njit(cache=True, nogil=True, inline="always")
def _latest(tables: Tables, tile: Ints, ready: Ints, n: int) -> int:
    """The last result that node n waits for, of predecessors that are placed."""
    last = 0
    for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
        p = tables.pred[e]
        if tile[p] != NONE and p != n and tables.pred_distance[e] == 0:
            last = max(last, ready[p])
    return last


@njit(cache=True, nogil=True, inline="always")
def _put(tables: Tables, tail: Ints, rules: Rules, boards: Boards, b: int, n: int, slot: int, scratch: Ints) -> bool:
    """Place node n in a legal slot; the reward is left in ``boards``. False when carried values are then late."""
    ii, latency = rules.ii, tables.device[1]
    t, s = slot // ii, slot % ii
    tile, issue = boards.tile[b], boards.issue[b]
    due = arrival(tables, ii, n, t, tile, issue)
    now = due + (s - due) % ii
    new_tile = 1 if boards.load[b, t] == 0 else 0
    tile[n], boards.spoke[b, n], issue[n] = t, s, now
    boards.slots[b, slot] = n + 1
    boards.vacant[b, slot] = False
    boards.ready[b, n] = now + latency
    boards.used[b, t] += tables.entries[n]
    boards.load[b, t] += 1
    cycles, bound = boards.cycles[b], boards.bound[b]
    boards.cycles[b] = max(cycles, now + latency)
    boards.bound[b] = max(bound, now + tail[n])
    if not rules.forward and not _reschedule(tables, tail, rules, boards, b, scratch):
        return False
    if rules.reward == MAKESPAN:
        cost = boards.cycles[b] - cycles
    elif rules.reward == BOUND:
        cost = boards.bound[b] - bound
    else:
        cost = boards.ready[b, n] - _latest(tables, boards.tile[b], boards.ready[b], n)
    boards.reward[b] = -rules.cycles * cost - rules.tiles * new_tile
    return True


@njit(cache=True, nogil=True)
def step(tables: Tables, tail: Ints, rules: Rules, boards: Boards, action: Ints, limit: int) -> None:
    """One action (slot) for every board that is not over, then the mask of its next node.

    An illegal action costs the penalty and leaves the board as it is; ``limit`` steps end it. A node without a legal
    slot costs the penalty and ends the board. O(boards * (tiles * II + edges of the node)).
    """
    scratch = np.empty(boards.tile.shape[1], dtype=np.int32)
    for b in range(len(action)):
        boards.reward[b] = 0
        if boards.over[b] != RUNNING:
            continue
        boards.steps[b] += 1
        if not boards.mask[b, action[b]]:
            boards.reward[b] = -rules.penalty
            if boards.steps[b] >= limit:
                boards.over[b] = STUCK
            continue
        n = boards.order[b, boards.position[b]]
        if not _put(tables, tail, rules, boards, b, n, action[b], scratch):
            boards.over[b] = STUCK
            boards.reward[b] = -rules.penalty
            continue
        boards.position[b] += 1
        if boards.position[b] == boards.order.shape[1]:
            boards.over[b] = COMPLETE
        elif not write_mask(tables, rules, boards, b):
            boards.over[b] = STUCK
            boards.reward[b] -= rules.penalty
        elif boards.steps[b] >= limit:
            boards.over[b] = STUCK


@njit(cache=True, nogil=True)
def reset(
    tables: Tables, tail: Ints, rules: Rules, boards: Boards, which: Flags, nodes: Ints, slots: Ints, floor: int
) -> None:
    """Empty the boards that ``which`` names and put ``nodes`` (a partial placement) in ``slots`` on them."""
    scratch = np.empty(boards.tile.shape[1], dtype=np.int32)
    for b in range(len(which)):
        if not which[b]:
            continue
        boards.tile[b, :] = NONE
        boards.spoke[b, :] = 0
        boards.issue[b, :] = 0
        boards.ready[b, :] = 0
        boards.slots[b, :] = 0
        boards.vacant[b, :] = True
        boards.used[b, :] = 0
        boards.load[b, :] = 0
        boards.cycles[b] = 0
        boards.bound[b] = floor
        boards.position[b] = 0
        boards.steps[b] = 0
        boards.over[b] = RUNNING
        for k in range(len(nodes)):
            if not _put(tables, tail, rules, boards, b, nodes[k], slots[k], scratch):
                boards.over[b] = STUCK
        boards.reward[b] = 0
        if boards.order.shape[1] == 0:
            boards.over[b] = COMPLETE
        elif not write_mask(tables, rules, boards, b):
            boards.over[b] = STUCK


@njit(cache=True, nogil=True)
def uniform(boards: Boards, random: Floats, action: Ints) -> None:
    """A legal slot for every board that is not over, by one random number each."""
    for b in range(len(action)):
        count = 0
        for k in range(boards.mask.shape[1]):
            count += boards.mask[b, k]
        pick = int(random[b] * count)
        for k in range(boards.mask.shape[1]):
            if boards.mask[b, k]:
                if pick == 0:
                    action[b] = k
                    break
                pick -= 1


@njit(cache=True, nogil=True)
def _outlook(tables: Tables, tail: Ints, tile: Ints, ready: Ints, n: int, t: int, done: int) -> tuple[int, int, int]:
    """(longest path through the readers, distances to their other operands, how many of those) for node n on tile t.

    A reader can sit anywhere between its operands: with results at r and q on tiles d apart it issues at
    (r + q + d) / 2 at the earliest.
    """
    longest, far, count = done - tables.device[1] + tail[n], 0, 0
    for e in range(tables.succ_at[n], tables.succ_at[n + 1]):
        c = tables.succ[e]
        if tables.succ_distance[e] or not tables.succ_far[e]:
            continue
        for k in range(tables.pred_at[c], tables.pred_at[c + 1]):
            q = tables.pred[k]
            if q == n or tile[q] == NONE or tables.pred_distance[k]:
                continue
            d = abs(tile[q] - t)
            meet = max(done, ready[q], (done + ready[q] + d + 1) // 2)
            longest = max(longest, meet + tail[c])
            far += d
            count += 1
    return longest, far, count


@njit(cache=True, nogil=True)
def shortlist(
    tables: Tables, tail: Ints, rules: Rules, boards: Boards, actions: Ints, features: Floats, legal: Flags
) -> None:
    """For every board the ``actions.shape[1]`` most promising legal slots of its next node, with their features.

    Promising is a short longest path through the node and its readers, then an early issue, then a near place. Where
    there are fewer slots, ``legal`` is False. O(boards * tiles * II * readers).
    """
    most, ii, latency = actions.shape[1], rules.ii, tables.device[1]
    tiles = tables.device[0]
    key = np.empty(tiles * ii, dtype=np.int64)
    longest = np.empty(tiles * ii, dtype=np.int32)
    for b in range(len(boards.over)):
        legal[b, :] = False
        actions[b, :] = 0
        features[b, :, :] = 0
        if boards.over[b] != RUNNING:
            continue
        n = boards.order[b, boards.position[b]]
        tile, issue, ready, mask = boards.tile[b], boards.issue[b], boards.ready[b], boards.mask[b]
        middle = tiles // 2
        if boards.position[b] > 0:
            middle = tile[boards.order[b, 0]] if tile[boards.order[b, 0]] != NONE else middle
        found, soonest = 0, 1 << 20
        for t in range(tiles):
            due = NONE
            for s in range(ii):
                slot = t * ii + s
                if not mask[slot]:
                    continue
                if due == NONE:
                    due = arrival(tables, ii, n, t, tile, issue)
                now = due + (s - due) % ii
                best, far, _ = _outlook(tables, tail, tile, ready, n, t, now + latency)
                longest[slot] = best
                soonest = min(soonest, now)
                rank = min(best, 4095) * 4096 + min(now, 4095)
                key[found] = ((rank * 512 + min(far, 511)) * 256 + min(255, abs(t - middle))) * 65536 + slot
                found += 1
        ranked = np.sort(key[:found])
        for k in range(min(found, most)):
            slot = ranked[k] % 65536
            actions[b, k] = slot
            legal[b, k] = True
            _describe(tables, tail, rules, boards, b, n, slot, soonest, longest[slot], k, features[b, k])


@njit(cache=True, nogil=True)
def _describe(
    tables: Tables,
    tail: Ints,
    rules: Rules,
    boards: Boards,
    b: int,
    n: int,
    slot: int,
    soonest: int,
    longest: int,
    rank: int,
    row: Floats,
) -> None:
    """The features of one candidate, each about 0 to 1."""
    ii, latency, tiles = rules.ii, tables.device[1], tables.device[0]
    t, s = slot // ii, slot % ii
    tile, load, slots = boards.tile[b], boards.load[b], boards.slots[b]
    due = arrival(tables, ii, n, t, tile, boards.issue[b])
    now = due + (s - due) % ii
    bound = boards.bound[b]
    _, far, count = _outlook(tables, tail, tile, boards.ready[b], n, t, now + latency)
    row[0] = (now - soonest) / 6.0
    row[1] = (now - due) / 6.0
    row[2] = max(0, now + tail[n] - bound) / 6.0
    row[3] = max(0, longest - bound) / 6.0
    row[4] = min(0, longest - bound) / 12.0
    row[5] = far / (4.0 * max(1, count))
    row[6] = min(count, 4) / 4.0
    row[7] = load[t] / ii
    row[8] = 1.0 if load[t] == 0 else 0.0
    left = load[t - 1] if t > 0 else ii
    right = load[t + 1] if t + 1 < tiles else ii
    row[9] = (left + right) / (2.0 * ii)
    row[10] = 1.0 if slots[t * ii + (now + latency) % ii] == 0 else 0.0
    beside = 0
    for d in (-1, 1):
        if 0 <= t + d < tiles and slots[(t + d) * ii + (now + latency + 1) % ii] == 0:
            beside += 1
    row[11] = beside / 2.0
    row[12] = min(t, tiles - 1 - t) / 8.0 if min(t, tiles - 1 - t) < 8 else 1.0
    away, near, placed = 0, 64, 0
    for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
        p = tables.pred[e]
        if tile[p] != NONE and p != n:
            away += abs(tile[p] - t)
            near = min(near, abs(tile[p] - t))
            placed += 1
    row[13] = away / (4.0 * max(1, placed))
    row[14] = 1.0 if placed and near == 0 else 0.0
    apart, others = 0, 0
    for e in range(tables.foe_at[n], tables.foe_at[n + 1]):
        m = tables.foe[e]
        if tile[m] != NONE:
            apart += abs(tile[m] - t)
            others += 1
    row[15] = apart / (8.0 * max(1, others))
    row[16] = 1.0 if rank == 0 else 0.0
    row[17] = rank / 32.0
