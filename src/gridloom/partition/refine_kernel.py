"""Passes of moves that keep a bisection one way, compiled: the inner loop of :func:`gridloom.partition.acyclic.refine`.

Lists of lists are flat: those of k are ``ends[at[k]:at[k + 1]]``.

The scores of two states are compared as (imbalance beyond the limit, transfers, imbalance). The passes keep the state
and its score up to date move by move; a move is scored only by the values that its cluster makes or reads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import checked_kernel

Int32s = NDArray[np.int32]


class Flat(NamedTuple):
    """A cluster graph as arrays, which :attr:`gridloom.partition.acyclic.ClusterGraph.flat` makes.

    Fields that end in ``_at`` are row starts of the CSR field without it; all are int32.
    """

    weight: Int32s
    following_at: Int32s
    following: Int32s
    leading_at: Int32s
    leading: Int32s
    #: The cluster that makes a value (-1: an input of the graph), and those that read it.
    maker: Int32s
    reading_at: Int32s
    reading: Int32s
    #: Cluster -> the values that it makes or reads.
    touching_at: Int32s
    touching: Int32s


@checked_kernel
def passes(graph: Flat, start: Int32s, limit: int) -> Int32s:
    """The bisection after passes of moves, made while they help. A pass costs O(clusters^2)."""
    best = start.copy()
    score = _score(graph, best, limit)
    while True:
        candidate = _pass(graph, best, limit, score)
        reached = _score(graph, candidate, limit)
        if not _less(reached, score):
            return best
        best, score = candidate, reached


@checked_kernel
def _less(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    """True when the first score is better, compared number by number."""
    if a[0] != b[0]:
        return a[0] < b[0]
    if a[1] != b[1]:
        return a[1] < b[1]
    return a[2] < b[2]


@checked_kernel
def _score(graph: Flat, side: Int32s, limit: int) -> tuple[int, int, int]:
    """How far the balance is off the limit, loads and stores that the cut adds, the balance."""
    balance, total = 0, 0
    for k in range(len(side)):
        balance += graph.weight[k] if side[k] else -graph.weight[k]
    for v in range(len(graph.maker)):
        total += _transfer(graph, side, v)
    return max(0, abs(balance) - limit), total, abs(balance)


@checked_kernel
def _transfer(graph: Flat, side: Int32s, v: int) -> int:
    """Loads and stores that value v needs more because of the cut."""
    seen_0, seen_1 = False, False
    for j in range(graph.reading_at[v], graph.reading_at[v + 1]):
        if side[graph.reading[j]]:
            seen_1 = True
        else:
            seen_0 = True
    maker = graph.maker[v]
    if maker < 0:
        return 1 if seen_0 and seen_1 else 0
    return 2 if (seen_0 if side[maker] else seen_1) else 0


@checked_kernel
def _pass(graph: Flat, start: Int32s, limit: int, score: tuple[int, int, int]) -> Int32s:
    """Move each cluster at most once, the best move first; the best state on the way.

    ``score`` is that of ``start``. Moves that make things worse are made, too, which is how a pass leaves a local
    optimum; states with an empty side are passed through but never kept.
    """
    count = len(start)
    side, best = start.copy(), start.copy()
    free = np.ones(count, dtype=np.uint8)
    balance, cut, ones = 0, score[1], 0
    for k in range(count):
        balance += graph.weight[k] if side[k] else -graph.weight[k]
        ones += side[k]
    while True:
        chosen = -1
        option = (0, 0, 0)
        for k in range(count):
            if not free[k] or not _may_move(graph, side, k):
                continue
            moved = abs(balance + (-2 if side[k] else 2) * graph.weight[k])
            move = (max(0, moved - limit), _change(graph, side, k), moved)
            if chosen < 0 or _less(move, option):
                chosen, option = k, move
        # Every cluster has moved, or those that are left would turn an arc.
        if chosen < 0:
            return best
        balance += (-2 if side[chosen] else 2) * graph.weight[chosen]
        ones += -1 if side[chosen] else 1
        side[chosen] = 1 - side[chosen]
        cut += option[1]
        free[chosen] = 0
        reached = (option[0], cut, option[2])
        if 0 < ones < count and _less(reached, score):
            best[:] = side
            score = reached


@checked_kernel
def _may_move(graph: Flat, side: Int32s, k: int) -> bool:
    """True when everything before (on side 1) or after (on side 0) is on the other side."""
    here = side[k]
    at, row = (graph.leading_at, graph.leading) if here else (graph.following_at, graph.following)
    blocking = 0
    for j in range(at[k], at[k + 1]):
        blocking += side[row[j]] == here
    return blocking == 0


@checked_kernel
def _change(graph: Flat, side: Int32s, k: int) -> int:
    """What moving cluster k adds to the transfers."""
    change = 0
    for j in range(graph.touching_at[k], graph.touching_at[k + 1]):
        change -= _transfer(graph, side, graph.touching[j])
    side[k] = 1 - side[k]
    for j in range(graph.touching_at[k], graph.touching_at[k + 1]):
        change += _transfer(graph, side, graph.touching[j])
    side[k] = 1 - side[k]
    return change
