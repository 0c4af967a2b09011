"""Nodes that can be exchanged: the placements that the exact model does not have to tell apart.

A permutation of the nodes that keeps edges, groups and ops turns a placement into another that is as good. Of all
placements that such permutations, and the mirror image, make of one, the model keeps those whose row of tiles, node by
node, comes first in lexicographic order. For a node i and a node j to which a permutation takes it that leaves the
nodes before i alone, this says tile[i] <= tile[j] (Crawford et al. 1996, the first place of each lex-leader only).

Permutations are found by colour refinement and backtracking, bounded: a pair that is not found in time is left out,
which costs nothing but time of the solver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Final

from gridloom.targets.streaming.mappers.problem import SpokesProblem

#: Refinements that the search for one permutation may take.
_TRIES: Final = 200
#: Nodes up to which permutations are looked for.
MOST_NODES: Final = 64

#: The colour of a node that is told apart from all others.
_SINGLE: Final = -1


def exchangeable(problem: SpokesProblem, ops: bool) -> list[tuple[int, int]]:
    """Return pairs (i, j) of nodes of which i may be asked to sit no further to the right than j.

    ``ops``: nodes with different ops are different. Cost: a few refinements for each pair of nodes that look alike.
    """
    if problem.size > MOST_NODES:
        return []
    graph = _Coloured(problem)
    colours = graph.refined(graph.first_colours(ops), 1)
    pairs: list[tuple[int, int]] = []
    for i in range(problem.size):
        if len(set(colours)) == problem.size:
            break
        for j in range(problem.size):
            if j != i and colours[j] == colours[i] and graph.permuted(_with(colours, i), _with(colours, j)):
                pairs.append((i, j))
        colours = graph.refined(_with(colours, i), 1)
    return pairs


def _with(colours: list[int], n: int) -> list[int]:
    """The colours with a node told apart."""
    return [_SINGLE if k == n else colour for k, colour in enumerate(colours)]


def _numbered(labels: Sequence[Hashable]) -> list[int]:
    """The labels as numbers, the same for equal labels."""
    number: dict[Hashable, int] = {}
    return [number.setdefault(label, len(number)) for label in labels]


class _Coloured:
    """The graph of a problem as colour refinement reads it."""

    def __init__(self, problem: SpokesProblem) -> None:
        tables, self.size = problem.tables, problem.size
        self.problem = problem
        #: For each node its neighbours, with what kind of edge leads there.
        self.near: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in range(problem.size)]
        for n in range(problem.size):
            for e in range(tables.pred_at[n], tables.pred_at[n + 1]):
                p = int(tables.pred[e])
                kind = (int(tables.pred_lag[e]), int(tables.pred_distance[e]), int(tables.pred_far[e]))
                self.near[n].append((p, (0, *kind)))
                self.near[p].append((n, (1, *kind)))
            for m in range(problem.size):
                if m != n and tables.group[n] >= 0 and tables.group[m] == tables.group[n]:
                    self.near[n].append((m, (2,)))

    def first_colours(self, ops: bool) -> list[int]:
        """Colours by what a node is, without its neighbours."""
        tables = self.problem.tables
        rows = zip(tables.opcode.tolist(), tables.pinned.tolist(), tables.entries.tolist())
        return _numbered([(op if ops else 0, pinned, entries) for op, pinned, entries in rows])

    def refined(self, colours: list[int], copies: int) -> list[int]:
        """Colours by those of the neighbours, until nothing changes; for several colourings side by side."""
        count = len(set(colours))
        while True:
            labels: list[Hashable] = []
            for base in range(0, copies * self.size, self.size):
                for n in range(self.size):
                    around = sorted((kind, colours[base + m]) for m, kind in self.near[n])
                    labels.append((colours[base + n], tuple(around)))
            colours = _numbered(labels)
            if len(set(colours)) == count:
                return colours
            count = len(set(colours))

    def permuted(self, first: list[int], second: list[int]) -> bool:
        """True when a permutation that keeps all edges takes the first colouring to the second."""
        left = [_TRIES]

        def search(both: list[int]) -> bool:
            left[0] -= 1
            both = self.refined(both, 2)
            a, b = both[: self.size], both[self.size :]
            counts = Counter(a)
            if left[0] < 0 or counts != Counter(b):
                return False
            if len(counts) == self.size:
                return self._keeps_edges([b.index(colour) for colour in a])
            n = min((k for k in range(self.size) if counts[a[k]] > 1), key=lambda k: (counts[a[k]], k))
            return any(search(_with(a, n) + _with(b, m)) for m in range(self.size) if b[m] == a[n])

        return search(first + second)

    def _keeps_edges(self, image: list[int]) -> bool:
        """True when a permutation takes every edge to one of the same kind."""
        return all(
            sorted((image[m], kind) for m, kind in self.near[n]) == sorted(self.near[image[n]])
            for n in range(self.size)
        )
