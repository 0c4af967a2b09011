"""Compiled steps of many placements at once on a streaming engine: placing, masks, and the features of slots.

A board is one graph that is being placed node by node. All boards of a batch share the graph, the II and the array. A
step leaves the observation itself in ``slots`` and ``ready``, so that nothing is copied. It goes over all boards twice,
for placing and for masking; in the usual case neither loop calls a function, because passing the tables to a function
for every board costs more than placing a node.

Slots are numbered tile * II + spoke. A node in spoke s that has all operands at cycle ``due`` issues at the first cycle
not before it that is s modulo II. Tables of the graph are CSR (``pred_at``, ``succ_at``, ``conflict_at``); ``tail[n]``
is the bound from the issue of n to the last result. ``NONE`` (-1) is the tile of a node that is not placed.

In topological order on an empty board issue cycles are final at once (``Rules.forward``). Otherwise a node may push
readers that are placed already, so all issue cycles are computed again after each node (``_reschedule``), which costs
several passes over the edges. Pins of nodes to tiles are not supported here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import checked_kernel
from gridloom.targets.streaming.mappers.kernel import NONE, arrival, deadline
from gridloom.targets.streaming.mappers.problem import Tables

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

RUNNING, COMPLETE, STUCK = 0, 1, 2

#: The reward of a step is minus one of these: growth of the last result's cycle, time of a node after its
#: predecessors, growth of the longest path that the placed nodes leave.
MAKESPAN, LATENCY, BOUND = 0, 1, 2

#: Features of a candidate slot, see ``shortlist``.
FEATURES = 18


class Boards(NamedTuple):
    """The state of a batch; the first axis of every array is the board.

    Arrays about nodes are [board, node], about slots [board, tile * II + spoke], about tiles [board, tile]; the others
    have one number per board. The kernels change all of them in place.
    """

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
    #: Cycle of the last result so far; the longest path through the placed nodes.
    cycles: Ints
    bound: Ints
    #: Order in which nodes are placed, position of the next one, steps made.
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


class BoardRules(NamedTuple):
    """The rules that are the same for all boards and steps."""

    ii: int
    reward: int
    #: The price of having no legal slot, or of an illegal choice.
    penalty: float
    #: Weights of cycles and of tiles in use.
    cycles: float
    tiles: float
    #: True when nodes are placed in topological order on empty boards: their issue cycles are then final at once.
    forward: bool
    #: True when some value is carried from an earlier iteration.
    carried: bool


@checked_kernel
def _mask_all(tables: Tables, rules: BoardRules, boards: Boards, chosen: Flags) -> None:
    """Compute the legal slots of the next node of each chosen board; a board without one is over.

    A mask begins as a copy of the vacant slots; the few tiles that rules forbid to the node are then removed.
    """
    order, position, node, over, tile = boards.order, boards.position, boards.node, boards.over, boards.tile
    mask, vacant, conflict_at, conflict, group = (
        boards.mask,
        boards.vacant,
        tables.conflict_at,
        tables.conflict,
        tables.group,
    )
    succ_at, succ_distance = tables.succ_at, tables.succ_distance
    ii, width, hurried = rules.ii, boards.mask.shape[1], rules.carried and rules.forward
    for b in range(len(chosen)):
        if not chosen[b]:
            continue
        n = order[b, position[b]]
        node[b] = n
        for k in range(width):
            mask[b, k] = vacant[b, k]
        for e in range(conflict_at[n], conflict_at[n + 1]):
            t = tile[b, conflict[e]]
            if t != NONE:
                for k in range(t * ii, t * ii + ii):
                    mask[b, k] = False
        if group[n] != NONE:
            _tie(tables, ii, boards, b, n)
        for e in range(succ_at[n], succ_at[n + 1] if hurried else succ_at[n]):
            if succ_distance[e] > 0:
                _hurry(tables, rules, boards, b, n)
                break
        over[b] = STUCK
        for k in range(width):
            if mask[b, k]:
                over[b] = RUNNING
                break


@checked_kernel
def _tie(tables: Tables, ii: int, boards: Boards, b: int, n: int) -> None:
    """Apply the rule of tile memory: a node with a variable goes to the variable, or where there is room for it."""
    home = NONE
    for m in range(len(tables.group)):
        if tables.group[m] == tables.group[n] and m != n and boards.tile[b, m] != NONE:
            home = boards.tile[b, m]
    for t in range(tables.device.tiles):
        full = tables.entries[n] > 0 and boards.used[b, t] + tables.entries[n] > tables.device.memory
        if full or (home != NONE and t != home):
            boards.mask[b, t * ii : t * ii + ii] = False


@checked_kernel
def _hurry(tables: Tables, rules: BoardRules, boards: Boards, b: int, n: int) -> None:
    """Remove slots that are too late for readers that are placed already: only readers of a carried value can be."""
    hurried = False
    for e in range(tables.succ_at[n], tables.succ_at[n + 1]):
        hurried = hurried or (boards.tile[b, tables.succ[e]] != NONE and tables.succ[e] != n)
    if not hurried:
        return
    ii, tile, issue = rules.ii, boards.tile[b], boards.issue[b]
    for t in range(tables.device.tiles):
        due = arrival(tables, ii, n, t, tile, issue)
        last = deadline(tables, ii, n, t, tile, issue)
        for s in range(ii):
            if due + (s - due) % ii > last:
                boards.mask[b, t * ii + s] = False


@checked_kernel
def _reschedule(tables: Tables, tail: Ints, rules: BoardRules, boards: Boards, b: int, scratch: Ints) -> bool:
    """Compute the issue cycles of all placed nodes again; False: a carried value comes too late.

    It is needed after a node whose readers may be placed already.

    Issue cycles only grow, from those that stand, until nothing moves: a longest-path relaxation. After count + 2
    passes a cycle of carried values has no slack left, so the board cannot be completed.
    """
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
                    boards.ready[b, n] = scratch[n] + tables.device.latency
                    last = max(last, boards.ready[b, n])
                    bound = max(bound, scratch[n] + tail[n])
            boards.cycles[b] = last
            boards.bound[b] = max(bound, boards.bound[b])
            return True
    return False


@checked_kernel
def _latest(tables: Tables, boards: Boards, b: int, n: int) -> int:
    """Return the cycle of the last result that node n waits for, among predecessors that are placed; 0 without one."""
    last = 0
    for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
        p = tables.pred[e]
        if boards.tile[b, p] != NONE and p != n and tables.pred_distance[e] == 0:
            last = max(last, boards.ready[b, p])
    return last


@checked_kernel
def _put_all(
    tables: Tables, tail: Ints, rules: BoardRules, boards: Boards, nodes: Ints, places: Ints, chosen: Flags
) -> None:
    """Place a node in a legal slot of each chosen board; rewards are left in ``boards``.

    A board whose carried values are then late is over, and not chosen any more.
    """
    tile, spoke, issue, ready, slots = boards.tile, boards.spoke, boards.issue, boards.ready, boards.slots
    vacant, used, load, cycles, bound = boards.vacant, boards.used, boards.load, boards.cycles, boards.bound
    pred_at, pred, lag, back, far = tables.pred_at, tables.pred, tables.pred_lag, tables.pred_distance, tables.pred_far
    entries, ii, latency, reward = tables.entries, rules.ii, tables.device.latency, boards.reward
    scratch = np.empty(tile.shape[1], dtype=np.int32)
    for b in range(len(chosen)):
        if not chosen[b]:
            continue
        n, slot = nodes[b], places[b]
        t, s = slot // ii, slot % ii
        due = 0
        for e in range(pred_at[n], pred_at[n + 1]):
            p = pred[e]
            there = tile[b, p]
            if there != NONE and p != n:
                due = max(due, issue[b, p] + lag[e] - ii * back[e] + (abs(there - t) if far[e] else 0))
        now = due + (s - due) % ii
        new_tile = 1 if load[b, t] == 0 else 0
        tile[b, n], spoke[b, n], issue[b, n], ready[b, n] = t, s, now, now + latency
        slots[b, slot], vacant[b, slot] = n + 1, False
        used[b, t] += entries[n]
        load[b, t] += 1
        last, longest = cycles[b], bound[b]
        cycles[b] = max(last, now + latency)
        bound[b] = max(longest, now + tail[n])
        if not rules.forward and not _reschedule(tables, tail, rules, boards, b, scratch):
            boards.over[b], chosen[b], reward[b] = STUCK, False, -rules.penalty
            continue
        cost = cycles[b] - last if rules.reward == MAKESPAN else bound[b] - longest
        if rules.reward == LATENCY:
            cost = ready[b, n] - _latest(tables, boards, b, n)
        reward[b] = -rules.cycles * cost - rules.tiles * new_tile


@checked_kernel
def step(tables: Tables, tail: Ints, rules: BoardRules, boards: Boards, action: Ints, limit: int) -> None:
    """Take one action (slot) on every board that is not over, then compute the mask of its next node.

    An illegal action costs the penalty and leaves the board as it is; ``limit`` steps end it. A node without a legal
    slot costs the penalty and ends the board. O(boards * (tiles * II + edges of the node)).
    """
    order, position, steps, over, mask = boards.order, boards.position, boards.steps, boards.over, boards.mask
    reward, count = boards.reward, len(action)
    chosen = np.zeros(count, dtype=np.bool_)
    nodes = np.zeros(count, dtype=np.int32)
    for b in range(count):
        reward[b] = 0
        if over[b] != RUNNING:
            continue
        steps[b] += 1
        if mask[b, action[b]]:
            chosen[b], nodes[b] = True, order[b, position[b]]
        else:
            reward[b] = -rules.penalty
            if steps[b] >= limit:
                over[b] = STUCK
    _put_all(tables, tail, rules, boards, nodes, action, chosen)
    for b in range(count):
        if chosen[b]:
            position[b] += 1
            if position[b] == order.shape[1]:
                over[b], chosen[b] = COMPLETE, False
    _mask_all(tables, rules, boards, chosen)
    for b in range(count):
        if chosen[b] and over[b] == STUCK:
            reward[b] -= rules.penalty
        elif chosen[b] and steps[b] >= limit:
            over[b] = STUCK


@checked_kernel
def reset(
    tables: Tables, tail: Ints, rules: BoardRules, boards: Boards, which: Flags, nodes: Ints, slots: Ints, floor: int
) -> None:
    """Empty the boards that ``which`` names and put ``nodes`` (a partial placement) in ``slots`` on them."""
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
    # A given partial placement is put down node by node, as if it had been played; its rewards do not count.
    chosen = which.copy()
    for k in range(len(nodes)):
        full = np.full(len(which), 1, dtype=np.int32)
        _put_all(tables, tail, rules, boards, full * nodes[k], full * slots[k], chosen)
    if boards.order.shape[1] > 0:
        _mask_all(tables, rules, boards, chosen)
    for b in range(len(which)):
        if which[b]:
            boards.reward[b] = 0
            if chosen[b] and boards.order.shape[1] == 0:
                boards.over[b] = COMPLETE


@checked_kernel
def uniform(boards: Boards, random: Floats, action: Ints) -> None:
    """Choose a legal slot for every board that is not over, by one random number per board.

    What a board that is over gets means nothing: ``step`` ignores it.
    """
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


class Ranked(NamedTuple):
    """What ranking computes about the listed slots, for their features: [board, position in the list]."""

    #: Cycle at which all operands have arrived; longest path through the readers; distances to their other operands.
    due: Ints
    longest: Ints
    far: Ints
    #: Per board: earliest issue of any legal slot, number of other operands of readers that are placed.
    soonest: Ints
    others: Ints


@checked_kernel
def shortlist(
    tables: Tables, tail: Ints, rules: BoardRules, boards: Boards, actions: Ints, features: Floats, legal: Flags
) -> None:
    """List for every board the ``actions.shape[1]`` most promising legal slots of its next node, with their features.

    A slot is promising by a short longest path through the node and its readers, then by an early issue, then by a
    small distance. Where there are fewer slots, ``legal`` is False. O(boards * tiles * II * readers).
    """
    count, most = actions.shape
    ranked = Ranked(
        np.zeros((count, most), dtype=np.int32),
        np.zeros((count, most), dtype=np.int32),
        np.zeros((count, most), dtype=np.int32),
        np.zeros(count, dtype=np.int32),
        np.zeros(count, dtype=np.int32),
    )
    legal[:] = False
    actions[:] = 0
    features[:] = 0
    _rank_all(tables, tail, rules, boards, ranked, actions, legal)
    _describe_all(tables, tail, rules, boards, ranked, actions, legal, features)


@checked_kernel
def _meetings(tables: Tables, tail: Ints, boards: Boards, b: int, n: int, meet: Ints) -> int:
    """List the placed other operands of the readers of n as rows (tile, result, tail of the reader); returns how many.

    A reader can be anywhere between its operands: with results at cycles r and q on tiles at distance d it issues at
    (r + q + d) / 2 at the earliest.
    """
    count = 0
    for e in range(tables.succ_at[n], tables.succ_at[n + 1]):
        c = tables.succ[e]
        if tables.succ_distance[e] or not tables.succ_far[e]:
            continue
        for k in range(tables.pred_at[c], tables.pred_at[c + 1]):
            q = tables.pred[k]
            if q != n and boards.tile[b, q] != NONE and not tables.pred_distance[k]:
                meet[count, 0], meet[count, 1], meet[count, 2] = boards.tile[b, q], boards.ready[b, q], tail[c]
                count += 1
    return count


@checked_kernel
def _rank_all(
    tables: Tables, tail: Ints, rules: BoardRules, boards: Boards, ranked: Ranked, actions: Ints, legal: Flags
) -> None:
    """Fill ``actions``, ``legal`` and ``ranked``.

    The order is one sort of integer keys that pack, from the highest digits: longest path, issue, distance to the
    readers' other operands, distance to the first node (or the middle of the array), and the slot itself, which makes
    keys unique. Each part is cut off at the width of its digits.
    """
    most, ii, tiles, latency = actions.shape[1], rules.ii, tables.device.tiles, tables.device.latency
    tile, issue, mask, over, order, node = (
        boards.tile,
        boards.issue,
        boards.mask,
        boards.over,
        boards.order,
        boards.node,
    )
    key = np.empty(tiles * ii, dtype=np.int64)
    path = np.empty(tiles * ii, dtype=np.int32)
    dues, fars = np.empty(tiles, dtype=np.int32), np.empty(tiles, dtype=np.int32)
    meet = np.empty((len(tables.pred) + 1, 3), dtype=np.int32)
    for b in range(len(over)):
        if over[b] != RUNNING:
            continue
        n = node[b]
        first = tile[b, order[b, 0]]
        middle = first if boards.position[b] > 0 and first != NONE else tiles // 2
        others = _meetings(tables, tail, boards, b, n, meet)
        listed, soonest = 0, 1 << 20
        for t in range(tiles):
            dues[t] = NONE
            for slot in range(t * ii, t * ii + ii):
                if not mask[b, slot]:
                    continue
                if dues[t] == NONE:
                    dues[t] = arrival(tables, ii, n, t, tile[b], issue[b])
                    fars[t] = 0
                    for m in range(others):
                        fars[t] += abs(meet[m, 0] - t)
                now = dues[t] + (slot - t * ii - dues[t]) % ii
                done, best = now + latency, now + tail[n]
                for m in range(others):
                    between = max(done, meet[m, 1], (done + meet[m, 1] + abs(meet[m, 0] - t) + 1) // 2)
                    best = max(best, between + meet[m, 2])
                path[slot] = best
                soonest = min(soonest, now)
                rank = min(best, 4095) * 4096 + min(now, 4095)
                key[listed] = ((rank * 512 + min(fars[t], 511)) * 256 + min(255, abs(t - middle))) * 65536 + slot
                listed += 1
        ranked.soonest[b], ranked.others[b] = soonest, others
        order_of = np.sort(key[:listed])
        for k in range(min(listed, most)):
            slot = order_of[k] % 65536
            actions[b, k], legal[b, k], ranked.longest[b, k] = slot, True, path[slot]
            ranked.due[b, k], ranked.far[b, k] = dues[slot // ii], fars[slot // ii]


@checked_kernel
def _describe_all(
    tables: Tables,
    tail: Ints,
    rules: BoardRules,
    boards: Boards,
    ranked: Ranked,
    actions: Ints,
    legal: Flags,
    rows: Floats,
) -> None:
    """Fill in the features of every listed slot, each about 0 to 1.

    In order: (0) issue after the soonest slot, (1) wait of the operands, (2) growth of the bound by the node, (3) and
    by its readers, (4) slack of the readers, (5) distance to the readers' other operands and (6) their number, (7) load
    of the tile, (8) whether it is empty, (9) load of its neighbours, (10) whether the slot in which a reader could
    follow is free on this tile and (11) on the neighbours, (12) distance from the end of the array, (13) distance to
    the operands and (14) whether one is here, (15) distance to conflicting nodes, (16) whether it ranks first, (17) its
    rank. Distances and cycles are divided by typical sizes.
    """
    ii, latency, tiles = rules.ii, tables.device.latency, tables.device.tiles
    tile, load, slots, bounds, node = boards.tile, boards.load, boards.slots, boards.bound, boards.node
    dues, longests, fars = ranked.due, ranked.longest, ranked.far
    pred_at, pred, conflict_at, conflict = tables.pred_at, tables.pred, tables.conflict_at, tables.conflict
    for b in range(actions.shape[0]):
        n, bound, count, soonest = node[b], bounds[b], ranked.others[b], ranked.soonest[b]
        for k in range(actions.shape[1]):
            if not legal[b, k]:
                break
            t, s = actions[b, k] // ii, actions[b, k] % ii
            due, longest = dues[b, k], longests[b, k]
            now = due + (s - due) % ii
            rows[b, k, 0] = (now - soonest) / 6.0
            rows[b, k, 1] = (now - due) / 6.0
            rows[b, k, 2] = max(0, now + tail[n] - bound) / 6.0
            rows[b, k, 3] = max(0, longest - bound) / 6.0
            rows[b, k, 4] = min(0, longest - bound) / 12.0
            rows[b, k, 5] = fars[b, k] / (4.0 * max(1, count))
            rows[b, k, 6] = min(count, 4) / 4.0
            rows[b, k, 7] = load[b, t] / ii
            rows[b, k, 8] = 1.0 if load[b, t] == 0 else 0.0
            left = load[b, t - 1] if t > 0 else ii
            right = load[b, t + 1] if t + 1 < tiles else ii
            rows[b, k, 9] = (left + right) / (2.0 * ii)
            rows[b, k, 10] = 1.0 if slots[b, t * ii + (now + latency) % ii] == 0 else 0.0
            beside = 0
            for d in (-1, 1):
                if 0 <= t + d < tiles and slots[b, (t + d) * ii + (now + latency + 1) % ii] == 0:
                    beside += 1
            rows[b, k, 11] = beside / 2.0
            rows[b, k, 12] = min(t, tiles - 1 - t) / 8.0 if min(t, tiles - 1 - t) < 8 else 1.0
            away, near, placed = 0, 64, 0
            for e in range(pred_at[n], pred_at[n + 1]):
                there = tile[b, pred[e]]
                if there != NONE and pred[e] != n:
                    away += abs(there - t)
                    near = min(near, abs(there - t))
                    placed += 1
            rows[b, k, 13] = away / (4.0 * max(1, placed))
            rows[b, k, 14] = 1.0 if placed and near == 0 else 0.0
            apart, rivals = 0, 0
            for e in range(conflict_at[n], conflict_at[n + 1]):
                there = tile[b, conflict[e]]
                if there != NONE:
                    apart += abs(there - t)
                    rivals += 1
            rows[b, k, 15] = apart / (8.0 * max(1, rivals))
            rows[b, k, 16] = 1.0 if k == 0 else 0.0
            rows[b, k, 17] = k / 32.0
