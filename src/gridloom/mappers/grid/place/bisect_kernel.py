"""Bisection of a part of a graph by moving one node at a time (Fiduccia and Mattheyses, DAC 1982), compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def _gain(a: int, side: Bools, members: Ints, local: Ints, starts: Ints, neighbour: Ints, pull: Floats) -> float:
    """How much less is cut when a node changes sides; ``pull`` is what draws it to the second one."""
    gain: float = -pull[a] if side[a] else pull[a]
    node = members[a]
    for k in range(starts[node], starts[node + 1]):
        other = local[neighbour[k]]
        if other >= 0:
            gain += 1.0 if side[other] != side[a] else -1.0
    return gain


@njit(cache=True, nogil=True)
def _pass(
    side: Bools, members: Ints, local: Ints, starts: Ints, neighbour: Ints, pull: Floats, room: Ints, count: Ints
) -> float:
    """Move every node once, the best first, and keep the best prefix: what it gained."""
    size = len(side)
    locked = np.zeros(size, dtype=np.bool_)
    order = np.empty(size, dtype=np.int32)
    total = 0.0
    best, best_at = 0.0, 0
    for step in range(size):
        chosen, chosen_gain = -1, -1e300
        for a in range(size):
            to = 0 if side[a] else 1
            # One node too many is allowed on the way: where the grid is full, nodes can only change places.
            if locked[a] or count[to] > room[to]:
                continue
            gain = _gain(a, side, members, local, starts, neighbour, pull)
            if gain > chosen_gain:
                chosen, chosen_gain = a, gain
        if chosen < 0:
            order = order[:step]
            break
        to = 0 if side[chosen] else 1
        count[to] += 1
        count[1 - to] -= 1
        side[chosen] = not side[chosen]
        locked[chosen] = True
        order[step] = chosen
        total += chosen_gain
        if total > best + 1e-9 and count[0] <= room[0] and count[1] <= room[1]:
            best, best_at = total, step + 1
    for step in range(len(order) - 1, best_at - 1, -1):
        a = order[step]
        to = 0 if side[a] else 1
        count[to] += 1
        count[1 - to] -= 1
        side[a] = not side[a]
    return best


@njit(cache=True, nogil=True)
def bisect(
    side: Bools, members: Ints, local: Ints, starts: Ints, neighbour: Ints, pull: Floats, room: Ints, passes: int
) -> None:
    """Improve a bisection of ``members`` in place; at most ``room[k]`` of them on a side. O(passes * members^2).

    ``local`` gives a node's place in ``members``, -1 for others; ``side`` has to obey ``room`` already.
    """
    count = np.zeros(2, dtype=np.int32)
    for a in range(len(side)):
        count[1 if side[a] else 0] += 1
    for _ in range(passes):
        if _pass(side, members, local, starts, neighbour, pull, room, count) <= 1e-9:
            break
