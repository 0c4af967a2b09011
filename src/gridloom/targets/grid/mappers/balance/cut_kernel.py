"""Longest paths and convex cost over differences of issue cycles, compiled.

The problem: choose integers t so that lower <= t[v] - t[u] <= upper for every rule, with the least sum of costs that
grow with t[v] - t[u], first by ``gentle``, beyond ``knee`` by ``steep``. Such a sum is L-natural-convex (Murota): from
the least feasible t it falls step by step to its minimum by raising a set of nodes, the best set being a minimum cut
(Shioura 2017 for long steps). The least minimiser is found, so issue cycles are as early as the optimum allows.

Rules are arrays over rule numbers, t is an array over nodes with the root among them; the root stands for cycle 0 and
is never raised. A bound of ``INFINITE`` is none.

Why our own: a linear-program solver is not a dependency, and networkx takes seconds where this takes milliseconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.jit import int64, internal, kernel
from gridloom.search.arrays import Int64s

#: More than any cost; sums of it stay below 2**63.
INFINITE = 1 << 40


class Differences(NamedTuple):
    """Rule k bounds the difference of two numbers: lower[k] <= t[v[k]] - t[u[k]] <= upper[k].

    Two nodes may have any number of rules. ``lower`` may be negative (loop-carried edges).
    """

    u: Int64s
    v: Int64s
    lower: Int64s
    upper: Int64s


class Costs(NamedTuple):
    """What each rule's difference costs: ``gentle`` for each one up to ``knee``, ``steep`` beyond it.

    ``gentle`` has to be at most ``steep``, or the sum is not convex and the descent may end too early. Rules that cost
    nothing have 0 for both.
    """

    knee: Int64s
    gentle: Int64s
    steep: Int64s


class _Network(NamedTuple):
    """A flow network as lists of arcs by node; arc k ^ 1 is the reverse of arc k.

    ``head[a]`` is the first arc that leaves node a and ``following[arc]`` the next one, -1: none. ``goal`` is where an
    arc leads.
    """

    head: Int64s
    following: Int64s
    goal: Int64s
    #: What an arc can still carry.
    room: Int64s


class _Arcs(NamedTuple):
    """The arcs of a network before it is built."""

    tail: Int64s
    goal: Int64s
    capacity: Int64s


@kernel
def earliest(count: int, rules: Differences, root: int) -> tuple[Int64s, int]:
    """The least t with t[root] = 0 that obeys all rules, and -1; or a rule on a cycle that cannot be obeyed.

    Rule k with k >= len(u) stands for the upper bound of rule k - len(u). Bellman-Ford, O(count * rules).
    """
    u, v, lower, upper = rules
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


@internal
def _levels(network: _Network, source: int, level: Int64s, queue: Int64s) -> None:
    """Fill ``level``: arcs with room between the source and each node; -1: it cannot be reached."""
    for a in range(len(level)):
        level[a] = -1
    level[source] = 0
    queue[0] = source
    first, last = 0, 1
    while first < last:
        a = queue[first]
        first += 1
        arc = network.head[a]
        while arc >= 0:
            b = network.goal[arc]
            if network.room[arc] > 0 and level[b] < 0:
                level[b] = level[a] + 1
                queue[last] = b
                last += 1
            arc = network.following[arc]


@internal
def _push(network: _Network, source: int, sink: int, level: Int64s, at: Int64s, path: Int64s) -> bool:
    """Fill one augmenting path in the level graph; False when there is none left.

    ``at[a]`` is the arc of node a that is tried next: arcs before it cannot carry any more in this phase. A node from
    which the sink cannot be reached leaves the level graph.
    """
    goal, room = network.goal, network.room
    depth = 0
    a = source
    while a != sink:
        arc = at[a]
        while arc >= 0 and not (room[arc] > 0 and level[goal[arc]] == level[a] + 1):
            arc = network.following[arc]
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


@internal
def _minimum_cut(count: int, arcs: _Arcs, used: int, source: int, sink: int) -> Int64s:
    """The levels of a breadth-first search after the maximum flow (Dinic): -1 marks the sink's side.

    The source's side is the smallest one among all minimum cuts, which is what makes the result of the descent the
    least minimiser. ``used`` is the number of arcs that are filled in.
    """
    head = np.full(count, -1, dtype=np.int64)
    following = np.empty(2 * used, dtype=np.int64)
    goal = np.empty(2 * used, dtype=np.int64)
    room = np.empty(2 * used, dtype=np.int64)
    for k in range(used):
        a, b = arcs.tail[k], arcs.goal[k]
        goal[2 * k], room[2 * k] = b, arcs.capacity[k]
        goal[2 * k + 1], room[2 * k + 1] = a, 0
        following[2 * k], head[a] = head[a], 2 * k
        following[2 * k + 1], head[b] = head[b], 2 * k + 1
    network = _Network(head, following, goal, room)
    level = np.empty(count, dtype=np.int64)
    queue = np.empty(count, dtype=np.int64)
    path = np.empty(count + 1, dtype=np.int64)
    while True:
        _levels(network, source, level, queue)
        if level[sink] < 0:
            return level
        at = head.copy()
        while _push(network, source, sink, level, at, path):
            pass


@internal
def _slopes(x: int, k: int, rules: Differences, costs: Costs) -> tuple[int, int]:
    """What one more and one less of rule k's difference cost at x."""
    gentle, steep, knee = costs.gentle[k], costs.steep[k], costs.knee[k]
    more = INFINITE if x >= rules.upper[k] else (gentle if x < knee else steep)
    less = INFINITE if x <= rules.lower[k] else (-gentle if x <= knee else -steep)
    return more, less


@internal
def _add(arcs: _Arcs, k: int, tail: int, goal: int, capacity: int) -> int:
    """Enter arc k; returns the number of the next one."""
    arcs.tail[k] = tail
    arcs.goal[k] = goal
    arcs.capacity[k] = capacity
    return k + 1


@internal
def _best_set(t: Int64s, rules: Differences, costs: Costs, root: int) -> Int64s:
    """The least set of nodes whose rise lowers the cost most: level >= 0 marks its members.

    Raising a set by 1 changes the cost of the rules with one end in it. The changes of single nodes become arcs from
    the source (what lowers the cost) and to the sink (what raises it); the rest of a rule's cost, where only one end
    rises, is an arc between the two. Rules at a bound have arcs that no cut may take.
    """
    u, v = rules.u, rules.v
    count = len(t)
    source, sink = count, count + 1
    gain = np.zeros(count, dtype=np.int64)
    most = 2 * len(u) + count + 1
    arcs = _Arcs(np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64))
    infinite = int64(INFINITE)
    used = int64(0)
    for k in range(len(u)):
        a, b = u[k], v[k]
        more, less = _slopes(t[b] - t[a], k, rules, costs)
        if more < INFINITE:
            gain[b] += more
            gain[a] -= more
            if more + less > 0:
                used = _add(arcs, used, a, b, more + less)
        elif less < INFINITE:
            gain[a] += less
            gain[b] -= less
            used = _add(arcs, used, b, a, infinite)
        else:
            used = _add(arcs, used, a, b, infinite)
            used = _add(arcs, used, b, a, infinite)
    for a in range(count):
        if gain[a] < 0:
            used = _add(arcs, used, source, a, -gain[a])
        elif gain[a] > 0:
            used = _add(arcs, used, a, sink, gain[a])
    used = _add(arcs, used, root, sink, infinite)
    return _minimum_cut(count + 2, arcs, used, source, sink)


@internal
def _longest_step(t: Int64s, level: Int64s, rules: Differences, knee: Int64s) -> int:
    """How far the set may rise before the cost of any rule bends: up to there the same set stays the best one."""
    u, v, lower, upper = rules
    step = INFINITE
    for k in range(len(u)):
        x = t[v[k]] - t[u[k]]
        if level[v[k]] >= 0 and level[u[k]] < 0:
            step = min(step, (knee[k] if x < knee[k] else upper[k]) - x)
        elif level[u[k]] >= 0 and level[v[k]] < 0:
            step = min(step, x - (knee[k] if x > knee[k] else lower[k]))
    return step


@kernel
def descend(t: Int64s, rules: Differences, costs: Costs, root: int) -> int:
    """Raise the least feasible ``t`` in place to the least minimiser; returns the number of steps.

    A step is a minimum cut; there are at most as many as bends between the start and the minimum.
    """
    steps = 0
    while True:
        level = _best_set(t, rules, costs, root)
        members = 0
        for a in range(len(t)):
            members += level[a] >= 0
        if members == 0:
            return steps
        step = _longest_step(t, level, rules, costs.knee)
        if step >= INFINITE // 2:
            return steps
        for a in range(len(t)):
            if level[a] >= 0:
                t[a] += step
        steps += 1
