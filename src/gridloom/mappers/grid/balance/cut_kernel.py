"""Longest paths and convex cost over differences of issue cycles, compiled.

The problem: choose integers t so that lower <= t[v] - t[u] <= upper for every rule, with the least sum of costs that
grow with t[v] - t[u], first by ``gentle``, beyond ``knee`` by ``steep``. Such a sum is L-natural-convex (Murota):
from the least feasible t it falls step by step to its minimum by raising a set of nodes, the best set being a minimum
cut (Shioura 2017 for long steps). The least minimiser is found, so issue cycles are as early as the optimum allows.

Why our own: a linear-program solver is not a dependency, and networkx takes seconds where this takes milliseconds.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Longs = NDArray[np.int64]

#: More than any cost; sums of it stay below 2**63.
INFINITE = 1 << 40


@njit(cache=True, nogil=True)
def earliest(count: int, u: Longs, v: Longs, lower: Longs, upper: Longs, root: int) -> tuple[Longs, int]:
    """The least t with t[root] = 0 that obeys all rules, and -1; or a rule on a cycle that cannot be obeyed.

    Rule k with k >= len(u) stands for the upper bound of rule k - len(u). Bellman-Ford, O(count * rules).
    """
    floor = -INFINITE
    t = np.full(count, floor, dtype=np.int64)
    t[root] = 0
    changed = -1
    for _ in range(count + 1):
        changed = -1
        for k in range(len(u)):
            if t[u[k]] > floor and t[u[k]] + lower[k] > t[v[k]]:
                t[v[k]] = t[u[k]] + lower[k]
                changed = k
            if upper[k] < INFINITE and t[v[k]] > floor and t[v[k]] - upper[k] > t[u[k]]:
                t[u[k]] = t[v[k]] - upper[k]
                changed = k + len(u)
        if changed < 0 or t[root] > 0:
            break
    return t, changed


@njit(cache=True, nogil=True)
def _levels(head: Longs, following: Longs, goal: Longs, room: Longs, source: int, level: Longs, queue: Longs) -> None:
    level[:] = -1
    level[source] = 0
    queue[0] = source
    first, last = 0, 1
    while first < last:
        a = queue[first]
        first += 1
        arc = head[a]
        while arc >= 0:
            b = goal[arc]
            if room[arc] > 0 and level[b] < 0:
                level[b] = level[a] + 1
                queue[last] = b
                last += 1
            arc = following[arc]


@njit(cache=True, nogil=True)
def _push(
    following: Longs, goal: Longs, room: Longs, source: int, sink: int, level: Longs, at: Longs, path: Longs
) -> bool:
    """One augmenting path in the level graph; False when there is none left."""
    depth = 0
    a = source
    while a != sink:
        arc = at[a]
        while arc >= 0 and not (room[arc] > 0 and level[goal[arc]] == level[a] + 1):
            arc = following[arc]
        at[a] = arc
        if arc >= 0:
            path[depth] = arc
            depth += 1
            a = goal[arc]
        elif a == source:
            return False
        else:
            level[a] = -1
            depth -= 1
            a = goal[path[depth] ^ 1]
    least = INFINITE * 4
    for k in range(depth):
        least = min(least, room[path[k]])
    for k in range(depth):
        room[path[k]] -= least
        room[path[k] ^ 1] += least
    return True


@njit(cache=True, nogil=True)
def minimum_cut(count: int, tail: Longs, goal_of: Longs, capacity: Longs, arcs: int, source: int, sink: int) -> Longs:
    """The levels of a breadth-first search after the maximum flow (Dinic): -1 marks the sink's side."""
    head = np.full(count, -1, dtype=np.int64)
    following = np.empty(2 * arcs, dtype=np.int64)
    goal = np.empty(2 * arcs, dtype=np.int64)
    room = np.empty(2 * arcs, dtype=np.int64)
    for k in range(arcs):
        goal[2 * k], room[2 * k] = goal_of[k], capacity[k]
        goal[2 * k + 1], room[2 * k + 1] = tail[k], 0
        following[2 * k], head[tail[k]] = head[tail[k]], 2 * k
        following[2 * k + 1], head[goal_of[k]] = head[goal_of[k]], 2 * k + 1
    level = np.empty(count, dtype=np.int64)
    queue = np.empty(count, dtype=np.int64)
    path = np.empty(count + 1, dtype=np.int64)
    while True:
        _levels(head, following, goal, room, source, level, queue)
        if level[sink] < 0:
            return level
        at = head.copy()
        while _push(following, goal, room, source, sink, level, at, path):
            pass


@njit(cache=True, nogil=True)
def _slopes(x: int, lower: int, upper: int, knee: int, gentle: int, steep: int) -> tuple[int, int]:
    """What one more and one less cost at x."""
    more = INFINITE if x >= upper else (gentle if x < knee else steep)
    less = INFINITE if x <= lower else (-gentle if x <= knee else -steep)
    return more, less


@njit(cache=True, nogil=True)
def _best_set(
    t: Longs, u: Longs, v: Longs, lower: Longs, upper: Longs, knee: Longs, gentle: Longs, steep: Longs, root: int
) -> Longs:
    """The least set of nodes whose rise lowers the cost most: level >= 0 marks its members."""
    count = len(t)
    source, sink = count, count + 1
    gain = np.zeros(count, dtype=np.int64)
    room = 2 * len(u) + count + 1
    tail = np.empty(room, dtype=np.int64)
    goal = np.empty(room, dtype=np.int64)
    capacity = np.empty(room, dtype=np.int64)
    arcs = 0
    for k in range(len(u)):
        a, b = u[k], v[k]
        more, less = _slopes(t[b] - t[a], lower[k], upper[k], knee[k], gentle[k], steep[k])
        if more < INFINITE:
            gain[b] += more
            gain[a] -= more
            if more + less > 0:
                tail[arcs], goal[arcs], capacity[arcs] = a, b, more + less
                arcs += 1
        elif less < INFINITE:
            gain[a] += less
            gain[b] -= less
            tail[arcs], goal[arcs], capacity[arcs] = b, a, INFINITE
            arcs += 1
        else:
            tail[arcs], goal[arcs], capacity[arcs] = a, b, INFINITE
            tail[arcs + 1], goal[arcs + 1], capacity[arcs + 1] = b, a, INFINITE
            arcs += 2
    for a in range(count):
        if gain[a] < 0:
            tail[arcs], goal[arcs], capacity[arcs] = source, a, -gain[a]
            arcs += 1
        elif gain[a] > 0:
            tail[arcs], goal[arcs], capacity[arcs] = a, sink, gain[a]
            arcs += 1
    tail[arcs], goal[arcs], capacity[arcs] = root, sink, INFINITE
    arcs += 1
    return minimum_cut(count + 2, tail, goal, capacity, arcs, source, sink)


@njit(cache=True, nogil=True)
def _longest_step(t: Longs, level: Longs, u: Longs, v: Longs, lower: Longs, upper: Longs, knee: Longs) -> int:
    """How far the set may rise before the cost of any rule bends."""
    step = INFINITE
    for k in range(len(u)):
        x = t[v[k]] - t[u[k]]
        if level[v[k]] >= 0 and level[u[k]] < 0:
            step = min(step, (knee[k] if x < knee[k] else upper[k]) - x)
        elif level[u[k]] >= 0 and level[v[k]] < 0:
            step = min(step, x - (knee[k] if x > knee[k] else lower[k]))
    return step


@njit(cache=True, nogil=True)
def descend(
    t: Longs, u: Longs, v: Longs, lower: Longs, upper: Longs, knee: Longs, gentle: Longs, steep: Longs, root: int
) -> int:
    """Raise the least feasible ``t`` in place to the least minimiser; returns the number of steps.

    A step is a minimum cut; there are at most as many as bends between the start and the minimum.
    """
    steps = 0
    while True:
        level = _best_set(t, u, v, lower, upper, knee, gentle, steep, root)
        members = 0
        for a in range(len(t)):
            members += level[a] >= 0
        if members == 0:
            return steps
        step = _longest_step(t, level, u, v, lower, upper, knee)
        if step >= INFINITE // 2:
            return steps
        for a in range(len(t)):
            if level[a] >= 0:
                t[a] += step
        steps += 1
