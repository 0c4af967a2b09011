"""A lower bound on the cycles at an II: nodes that cannot all be near enough to one of them.

Within C cycles each node n has a window of issues. An ancestor of a node r that issues at c sits at most issue(r) - c -
path(n, r) tiles from r, since each tile on the way costs a cycle; a descendant likewise, and a node that shares a
descendant or an ancestor with r at most the sum of two such distances. So r, on some tile and at some issue, leaves
each node the slots (tile, spoke) of a disc around it. Every node needs a slot of its own: where no matching of nodes to
slots exists, for any tile and issue of r, no placement has C cycles. The bound is the least C that no node r refutes.

Links and delay registers are left out, so it holds at both levels. Cost: for each C and node r, a matching for every
tile and issue that r may have; 40 nodes on 16 tiles take less than a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridloom.mappers.budget import Clock
from gridloom.mappers.spokes.problem import SpokesProblem

_Ints = NDArray[np.int64]

#: The length of a path that does not exist.
_NO_PATH = -(1 << 20)


@dataclass(frozen=True)
class Paths:
    """Longest paths of the values of one iteration, in cycles without the distances of tiles."""

    #: From any source to the issue of a node, and from its issue to that of the last node after it.
    head: _Ints
    tail: _Ints
    #: From the issue of a node to that of another over carried values; very negative where there is no such path.
    between: _Ints

    def reaches(self, a: int, b: int) -> bool:
        """True where values lead from a to b."""
        return bool(self.between[a, b] > _NO_PATH // 2)


def paths_of(problem: SpokesProblem) -> Paths:
    """Return the longest paths of a problem; cubic in the nodes at worst."""
    tables, count = problem.tables, problem.size
    head, tail = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    between = np.full((count, count), _NO_PATH, dtype=np.int64)
    np.fill_diagonal(between, 0)
    arcs = [
        (int(tables.pred[e]), n, int(tables.pred_lag[e]), bool(tables.pred_far[e]))
        for n in range(count)
        for e in range(tables.pred_at[n], tables.pred_at[n + 1])
        if tables.pred_distance[e] == 0
    ]
    for p, n, lag, far in arcs:
        head[n] = max(head[n], head[p] + lag)
        if far:
            longer = np.where(between[:, p] > _NO_PATH // 2, between[:, p] + lag, _NO_PATH)
            between[:, n] = np.maximum(between[:, n], longer)
    for p, n, lag, _ in sorted(arcs, key=lambda arc: -arc[0]):
        tail[p] = max(tail[p], tail[n] + lag)
    return Paths(head, tail, between)


def fewest_cycles(problem: SpokesProblem, ii: int, floor: int, clock: Clock) -> int:
    """Return a number of cycles that no placement at an II is below, at least ``floor``.

    Ends when the clock does, with what was proved until then.
    """
    paths = paths_of(problem)
    cycles, centres = floor, list(range(problem.size))
    while not clock.over():
        refuter = next((r for r in centres if clock.over() or not _possible(problem, paths, ii, cycles, r)), None)
        if refuter is None or clock.over():
            break
        # What refuted this number is likely to refute the next one.
        centres.remove(refuter)
        centres.insert(0, refuter)
        cycles += 1
    return cycles


def _possible(problem: SpokesProblem, paths: Paths, ii: int, cycles: int, centre: int) -> bool:
    """False when no tile and issue of the centre leaves every node a slot of its own."""
    last = cycles - problem.latency - paths.tail
    if (last < paths.head).any():
        return False
    row = slice(int(problem.tables.conflict_at[centre]), int(problem.tables.conflict_at[centre + 1]))
    apart = {int(n) for n in problem.tables.conflict[row]}
    for issue in range(int(paths.head[centre]), int(last[centre]) + 1):
        radius = _radii(problem, paths, ii, last, centre, issue)
        # The other half of the row is its mirror image.
        for tile in range((problem.tiles + 1) // 2):
            slots = [_disc(problem.tiles, ii, tile, radius[n], n in apart) for n in range(problem.size)]
            own = 1 << (tile * ii + issue % ii)
            slots = [own if n == centre else mask & ~own for n, mask in enumerate(slots)]
            if matched(slots):
                return True
    return False


def _radii(problem: SpokesProblem, paths: Paths, ii: int, last: _Ints, centre: int, issue: int) -> _Ints:
    """For each node and spoke the most tiles between it and the centre that issues at a cycle; -1: not this spoke."""
    between, head = paths.between, paths.head
    radius = np.full((problem.size, ii), -1, dtype=np.int64)
    for n in range(problem.size):
        cycles = np.arange(head[n], last[n] + 1)
        reach = np.full(len(cycles), problem.tiles - 1, dtype=np.int64)
        if paths.reaches(n, centre):
            reach = np.minimum(reach, issue - cycles - between[n, centre])
        elif paths.reaches(centre, n):
            reach = np.minimum(reach, cycles - issue - between[centre, n])
        after = (between[n] > _NO_PATH // 2) & (between[centre] > _NO_PATH // 2)
        if after.any():
            reach = np.minimum(reach, (2 * last - between[n] - between[centre])[after].min() - cycles - issue)
        before = (between[:, n] > _NO_PATH // 2) & (between[:, centre] > _NO_PATH // 2)
        if before.any():
            reach = np.minimum(reach, cycles + issue - (2 * head + between[:, n] + between[:, centre])[before].max())
        np.maximum.at(radius[n], cycles % ii, reach)
    return radius


def _disc(tiles: int, ii: int, centre: int, radius: _Ints, apart: bool) -> int:
    """The slots within a radius per spoke around a tile, as bits tile * II + spoke; not on the tile itself if apart."""
    mask = 0
    for tile in range(tiles):
        if apart and tile == centre:
            continue
        for spoke in range(ii):
            if radius[spoke] >= abs(tile - centre):
                mask |= 1 << (tile * ii + spoke)
    return mask


def matched(slots: list[int]) -> bool:
    """True when every node can have a slot of its own; ``slots`` has a bit for each slot that a node may have.

    Augmenting paths (Kuhn). At worst nodes times slots times nodes, in practice one look per node.

    >>> matched([0b011, 0b010, 0b110]), matched([0b011, 0b010, 0b001])
    (True, False)
    """
    owner: dict[int, int] = {}
    taken = seen = 0

    def place(n: int) -> bool:
        """Give a node a slot, moving others where that is needed."""
        nonlocal taken, seen
        free = slots[n] & ~taken
        if free:
            bit = free & -free
            owner[bit], taken = n, taken | bit
            return True
        while left := slots[n] & ~seen:
            bit = left & -left
            seen |= bit
            if place(owner[bit]):
                owner[bit] = n
                return True
        return False

    for n in sorted(range(len(slots)), key=lambda k: slots[k].bit_count()):
        seen = 0
        if not place(n):
            return False
    return True
