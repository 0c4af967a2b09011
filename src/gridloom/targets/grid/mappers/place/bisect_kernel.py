"""Bisection of a part of a graph by moving one node at a time (Fiduccia and Mattheyses, DAC 1982), compiled.

The part is a list of members; edges to nodes outside it count through ``pull``, which stands for where their other ends
are. A pass moves every member once, the one with the largest gain first, even where that makes the cut worse for a
while, and keeps the best prefix of these moves. Gains are counted anew at each step instead of being kept in buckets:
parts are small, and a pull is no whole number. ``divide`` calls this for each rectangle that it cuts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.jit import internal, kernel
from gridloom.search.arrays import Bools, Float64s, Int32s


class BisectionPart(NamedTuple):
    """The part of a graph that is cut in two.

    Members are numbered from 0 within the part: ``members[a]`` is the node of member a, ``local`` leads back. Sides,
    gains and pulls are arrays over members; the CSR tables are those of the whole graph.
    """

    #: The nodes of the part; a node's place in that list, -1 for others.
    members: Int32s
    local: Int32s
    #: CSR by node of the whole graph: who it is connected to.
    starts: Int32s
    neighbour: Int32s
    #: For each member what draws it to the second side, in edges.
    pull: Float64s


@internal
def _gain(a: int, side: Bools, part: BisectionPart) -> float:
    """How much less is cut when a member changes sides.

    Edges to the other side are no longer cut, edges to its own side are; the pull counts like as many edges to the
    outside.
    """
    gain: float = -part.pull[a] if side[a] else part.pull[a]
    node = part.members[a]
    for k in range(part.starts[node], part.starts[node + 1]):
        other = part.local[part.neighbour[k]]
        if other >= 0:
            gain += 1.0 if side[other] != side[a] else -1.0
    return gain


@internal
def _pass(side: Bools, part: BisectionPart, room: Int32s, count: Int32s) -> float:
    """Move every node once, the best first, and keep the best prefix: what it gained.

    A node is locked once it has moved. A prefix counts only if both sides fit into their halves of the grid; moves
    beyond the best prefix are undone. ``count`` has the members of each side and is kept up to date. O(members^2 *
    degree).
    """
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
            gain = _gain(a, side, part)
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


@kernel
def bisect(side: Bools, part: BisectionPart, room: Int32s, passes: int) -> None:
    """Improve a bisection of a part in place; at most ``room[k]`` members on a side. O(passes * members^2).

    ``side`` has to obey ``room`` already.
    """
    count = np.zeros(2, dtype=np.int32)
    for a in range(len(side)):
        count[1 if side[a] else 0] += 1
    for _ in range(passes):
        if _pass(side, part, room, count) <= 1e-9:
            break
