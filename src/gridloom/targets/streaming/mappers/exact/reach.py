"""A lower bound on the cycles at an II: nodes that cannot all be near enough to one of them.

Within C cycles each node n has a window of issues. An ancestor of a node r that issues at c sits at most issue(r) - c -
path(n, r) tiles from r, since each tile on the way costs a cycle; a descendant likewise, and a node that shares a
descendant or an ancestor with r at most the sum of two such distances. So r, on some tile and at some issue, leaves
each node the slots (tile, spoke) of a disc around it. Every node needs a slot of its own: where no matching of nodes to
slots exists, for any tile and issue of r, no placement has C cycles. What r leaves open is shaved: each place of each
other node is tried together with r, and struck out where the two discs leave no matching; a node without a place
refutes r's (this is singleton consistency with a matching as the test). The bound is the least C that is not refuted.

Links and delay registers are left out, so it holds at both levels. Cost: for each C and node r a matching for every
tile and issue that r may have, and for a few r one for each pair of places; 20 to 40 nodes on 16 tiles take one to
five seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridloom.search.budget import SearchClock
from gridloom.targets.streaming.mappers.problem import SpokesProblem

_Ints = NDArray[np.int64]

#: Centres whose places are tried together with those of other nodes, and rounds of striking out for each place.
_PAIRED, _ROUNDS = 4, 3

#: Matchings after which the bound is what it is: about a minute.
_MATCHINGS = 200_000

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


def fewest_cycles(problem: SpokesProblem, ii: int, floor: int, clock: SearchClock) -> int:
    """Return a number of cycles that no placement at an II is below, at least ``floor``.

    Ends when the clock does, or after a number of matchings, which the clock counts as its moves, with what was proved
    until then.
    """
    paths = paths_of(problem)
    cycles, centres = floor, list(range(problem.size))
    while True:
        discs = Discs(problem, paths, ii, cycles, clock)
        refuter = _refuter(discs, centres)
        if refuter is None:
            break
        # What refuted this number is likely to refute the next one.
        centres.remove(refuter)
        centres.insert(0, refuter)
        cycles += 1
    return cycles


def _refuter(discs: Discs, centres: list[int]) -> int | None:
    """A node that has no place from which all others can be reached; first by itself, then with every other node.

    None: there is none, or it is too late to say.
    """
    left: dict[int, list[tuple[int, int]]] = {}
    for centre in centres:
        left[centre] = discs.places(centre)
        if discs.over:
            return None
        if not left[centre]:
            return centre
    # A centre with few places is soonest done with.
    for centre in sorted(left, key=lambda r: len(left[r]))[:_PAIRED]:
        if all(discs.shaved(centre, issue, tile) for issue, tile in left[centre]):
            return centre
    return None


class Discs:
    """What a node on a tile and at an issue leaves of the places of the others, within so many cycles.

    Places are arrays [node, tile, issue] of Booleans.
    """

    def __init__(self, problem: SpokesProblem, paths: Paths, ii: int, cycles: int, clock: SearchClock) -> None:
        self.problem, self.paths, self.ii, self.clock = problem, paths, ii, clock
        self.last = cycles - problem.latency - paths.tail
        self.horizon = int(self.last.max(initial=0)) + 1
        self.tiles = np.arange(problem.tiles)
        tables = problem.tables
        rows = [slice(int(tables.conflict_at[n]), int(tables.conflict_at[n + 1])) for n in range(problem.size)]
        self.apart = [tables.conflict[row].tolist() for row in rows]
        self._radii: dict[tuple[int, int], _Ints] = {}

    @property
    def over(self) -> bool:
        """True when the budget is used up."""
        return self.clock.over() or self.clock.moves >= _MATCHINGS

    def places(self, centre: int) -> list[tuple[int, int]]:
        """The issues and tiles of a centre that leave every node a slot of its own.

        Only half of the row is looked at: the other half is its mirror image.
        """
        issues = range(int(self.paths.head[centre]), int(self.last[centre]) + 1)
        half = range((self.problem.tiles + 1) // 2)
        return [(i, t) for i in issues for t in half if self.over or self.fits(self.around(centre, i, t))]

    def around(self, centre: int, issue: int, tile: int) -> NDArray[np.bool_]:
        """The places that a centre leaves: within reach, not in its slot, and not on its tile where C2 or C3 say so."""
        left = self.radii(centre, issue)[:, None, :] >= np.abs(self.tiles - tile)[None, :, None]
        left[self.apart[centre], tile, :] = False
        left[:, tile, issue % self.ii :: self.ii] = False
        left[centre] = False
        left[centre, tile, issue] = True
        return left

    def radii(self, centre: int, issue: int) -> _Ints:
        """For each node and issue the most tiles between it and a centre that issues at a cycle; -1: not this issue."""
        if (centre, issue) not in self._radii:
            found = np.full((self.problem.size, self.horizon), -1, dtype=np.int64)
            for n in range(self.problem.size):
                cycles = np.arange(self.paths.head[n], self.last[n] + 1)
                found[n, cycles] = self._radius(n, cycles, centre, issue)
            self._radii[centre, issue] = found
        return self._radii[centre, issue]

    def _radius(self, n: int, cycles: _Ints, centre: int, issue: int) -> _Ints:
        """The most tiles between a node at some issues and the centre: by paths between them, and over a third node."""
        between, head = self.paths.between, self.paths.head
        reach = np.full(len(cycles), self.problem.tiles - 1, dtype=np.int64)
        if self.paths.reaches(n, centre):
            reach = np.minimum(reach, issue - cycles - between[n, centre])
        elif self.paths.reaches(centre, n):
            reach = np.minimum(reach, cycles - issue - between[centre, n])
        after = (between[n] > _NO_PATH // 2) & (between[centre] > _NO_PATH // 2)
        if after.any():
            reach = np.minimum(reach, (2 * self.last - between[n] - between[centre])[after].min() - cycles - issue)
        before = (between[:, n] > _NO_PATH // 2) & (between[:, centre] > _NO_PATH // 2)
        if before.any():
            reach = np.minimum(reach, cycles + issue - (2 * head + between[:, n] + between[:, centre])[before].max())
        return reach

    def fits(self, left: NDArray[np.bool_]) -> bool:
        """True when the places hold every node in a slot of its own."""
        self.clock.moves += 1
        spokes = [left[:, :, s :: self.ii].any(axis=2) for s in range(self.ii)]
        packed = np.packbits(np.stack(spokes, axis=2).reshape(len(left), -1), axis=1, bitorder="little")
        return has_matching([int.from_bytes(row.tobytes(), "little") for row in packed])

    def shaved(self, centre: int, issue: int, tile: int) -> bool:
        """True when the centre's place is refuted by looking at each place of each other node in turn.

        A place of a node that together with the centre leaves no matching is struck out; a node without a place refutes
        the centre's. False when the budget ends first.
        """
        left = self.around(centre, issue, tile)
        for _ in range(_ROUNDS):
            before = int(left.sum())
            for n in sorted(range(len(left)), key=lambda k: int(left[k].sum())):
                if n == centre:
                    continue
                for t, c in np.argwhere(left[n]).tolist():
                    if self.over:
                        return False
                    if not self.fits(left & self.around(n, c, t)):
                        left[n, t, c] = False
                if not left[n].any():
                    return True
            if int(left.sum()) == before:
                break
        return False


def has_matching(slots: list[int]) -> bool:
    """True when every node can have a slot of its own; ``slots`` has a bit for each slot that a node may have.

    Augmenting paths (Kuhn). At worst nodes times slots times nodes, in practice one look per node.

    >>> has_matching([0b011, 0b010, 0b110]), has_matching([0b011, 0b010, 0b001])
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
