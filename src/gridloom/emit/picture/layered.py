"""A layered drawing of a graph: layers by longest path, few crossings, long edges as straight as they can be.

It follows the classic steps (Sugiyama, Tagawa, Toda 1981). An edge over more than one layer gets a joint in each layer
between. Joints and boxes are ordered by the median of their neighbours, in sweeps down and up, and the best order is
kept. Then x is a least-squares fit to the neighbours that keeps order and distances (pool adjacent violators). Cost:
sweeps times edges.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

_SWEEPS: Final = 12
_FITS: Final = 10
#: With more arcs than this, crossings are not counted and the order of the first sweeps is taken.
_LARGE: Final = 4000


@dataclass(slots=True)
class LayeredGraph:
    """Items (boxes and joints) by layer.

    Items are numbered in the order in which they are added; all lists but ``arcs`` have one entry per item. An arc
    never skips a layer: :meth:`chain` puts joints between. Layers are counted from 0; an empty one is allowed.
    """

    #: Width and layer of each item, and whether it is a joint.
    width: list[float] = field(default_factory=list)
    layer: list[int] = field(default_factory=list)
    is_joint: list[bool] = field(default_factory=list)
    #: (upper, lower): an item of a layer and one of the next.
    arcs: list[tuple[int, int]] = field(default_factory=list)

    def add(self, width: float, layer: int, *, joint: bool = False) -> int:
        """Add an item; returns its index."""
        self.width.append(width)
        self.layer.append(layer)
        self.is_joint.append(joint)
        return len(self.width) - 1

    def chain(self, upper: int, lower: int, width: float) -> list[int]:
        """Join two items of different layers, with joints between; returns all items from upper to lower."""
        items = [upper]
        for layer in range(self.layer[upper] + 1, self.layer[lower]):
            items.append(self.add(width, layer, joint=True))
        items.append(lower)
        self.arcs += list(itertools.pairwise(items))
        return items


def place(graph: LayeredGraph, gap: float) -> list[float]:
    """Return the x of the centre of each item, with at least ``gap`` between neighbours of a layer.

    The leftmost side of all items is at 0.

    Deterministic: ties in the order keep the order in which items were added. The y of an item is for the caller to
    choose, by its layer.

    >>> graph = LayeredGraph()
    >>> top, left, right = graph.add(10, 0), graph.add(10, 1), graph.add(10, 1)
    >>> chains = [graph.chain(top, left, 2), graph.chain(top, right, 2)]
    >>> [round(x) for x in place(graph, gap=6)]
    [13, 5, 21]
    """
    rows: list[list[int]] = [[] for _ in range(max(graph.layer, default=0) + 1)]
    for item, layer in enumerate(graph.layer):
        rows[layer].append(item)
    above: list[list[int]] = [[] for _ in graph.width]
    below: list[list[int]] = [[] for _ in graph.width]
    for upper, lower in graph.arcs:
        below[upper].append(lower)
        above[lower].append(upper)
    rows = _ordered(rows, above, below)
    return _fitted(graph, rows, above, below, gap)


# -- order ----------------------------------------------------------------------------------------------------------


def _ordered(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    """The rows in the best order that some sweeps find.

    A sweep fixes one layer and orders the next by medians, downwards and upwards in turn; swaps of neighbours follow.
    Since a sweep may make things worse, the order with the fewest crossings is kept.
    """
    best, fewest = [list(row) for row in rows], None
    count_them = sum(map(len, above)) <= _LARGE
    for sweep in range(_SWEEPS if count_them else 4):
        down = sweep % 2 == 0
        order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for k in order:
            rows[k] = _by_median(rows[k], rows[k - 1 if down else k + 1], above if down else below)
        if not count_them:
            best = [list(row) for row in rows]
            continue
        _transpose(rows, above, below)
        crossings = sum(_crossings(rows[k], rows[k + 1], below) for k in range(len(rows) - 1))
        if fewest is None or crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
        if crossings == 0:
            break
    return best


def _by_median(row: list[int], fixed: list[int], near: list[list[int]]) -> list[int]:
    """A row ordered by the median position of each item's neighbours in a fixed row."""
    at = {item: k for k, item in enumerate(fixed)}
    keyed = []
    for k, item in enumerate(row):
        places = sorted(at[other] for other in near[item] if other in at)
        if not places:
            # Items without neighbours there keep their relative place.
            key = k * len(fixed) / max(1, len(row))
        elif len(places) % 2:
            key = float(places[len(places) // 2])
        else:
            key = (places[len(places) // 2 - 1] + places[len(places) // 2]) / 2
        keyed.append((key, k, item))
    return [item for _, _, item in sorted(keyed)]


def _crossings(upper: list[int], lower: list[int], below: list[list[int]]) -> int:
    """Crossings between two layers: inversions among the ends, counted with a Fenwick tree."""
    at = {item: k for k, item in enumerate(lower)}
    tree = [0] * (len(lower) + 1)
    total = seen = 0
    for item in upper:
        ends = sorted(at[other] for other in below[item])
        for end in ends:
            k, before = end + 1, 0
            while k > 0:
                before += tree[k]
                k -= k & -k
            total += seen - before
        for end in ends:
            k = end + 1
            while k <= len(lower):
                tree[k] += 1
                k += k & -k
        seen += len(ends)
    return total


def _transpose(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Swap neighbours wherever that removes crossings.

    Medians cannot tell items with the same neighbours apart; swapping finds what they miss. It ends, because each swap
    removes at least one crossing.
    """
    for k, row in enumerate(rows):
        sides = []
        for other, near in ((k - 1, above), (k + 1, below)):
            if 0 <= other < len(rows):
                sides.append(({item: place for place, item in enumerate(rows[other])}, near))
        improved = True
        while improved:
            improved = False
            for p in range(len(row) - 1):
                a, b = row[p], row[p + 1]
                gain = sum(
                    _pair_crossings(near[a], near[b], at) - _pair_crossings(near[b], near[a], at) for at, near in sides
                )
                if gain > 0:
                    row[p], row[p + 1] = b, a
                    improved = True


def _pair_crossings(left: Sequence[int], right: Sequence[int], at: dict[int, int]) -> int:
    """Crossings between the edges of two neighbours of a layer when the one is left of the other."""
    return sum(1 for a in left for b in right if at[a] > at[b])


# -- x --------------------------------------------------------------------------------------------------------------


def _fitted(
    graph: LayeredGraph, rows: list[list[int]], above: list[list[int]], below: list[list[int]], gap: float
) -> list[float]:
    """The x of each item: rows start centred and are fitted to their neighbours in turn."""
    x = [0.0] * len(graph.width)
    for row in rows:
        spread = _offsets(graph, row, gap)
        for item, offset in zip(row, spread):
            x[item] = offset - spread[-1] / 2
    for step in range(_FITS):
        order = rows if step % 2 == 0 else rows[::-1]
        for row in order:
            _fit_row(graph, row, x, above, below, gap)
    left = min((x[k] - graph.width[k] / 2 for k in range(len(x))), default=0.0)
    return [value - left for value in x]


def _offsets(graph: LayeredGraph, row: list[int], gap: float) -> list[float]:
    """The centres of a row packed as closely as allowed, from 0; two joints side by side need less room."""
    spread = [0.0]
    for a, b in itertools.pairwise(row):
        room = gap / 2 if graph.is_joint[a] and graph.is_joint[b] else gap
        spread.append(spread[-1] + (graph.width[a] + graph.width[b]) / 2 + room)
    return spread


def _fit_row(
    graph: LayeredGraph, row: list[int], x: list[float], above: list[list[int]], below: list[list[int]], gap: float
) -> None:
    """Move the items of a row towards the mean of their neighbours, in order and at their distances.

    Subtracting the packed offsets turns "in order and at least this far apart" into "non-decreasing", which
    :func:`_monotone` solves exactly. Joints pull at each other four times as strongly, so that long edges become
    straight.
    """
    if not row:
        return
    spread = _offsets(graph, row, gap)
    goals, weights = [], []
    for item, offset in zip(row, spread):
        pulls = [(x[other], 4.0 if graph.is_joint[item] and graph.is_joint[other] else 1.0)
                 for other in above[item] + below[item]]  # fmt: skip
        weight = sum(w for _, w in pulls)
        goal = sum(v * w for v, w in pulls) / weight if weight else x[item]
        goals.append(goal - offset)
        # An item without neighbours keeps its place unless others push it.
        weights.append(weight or 0.05)
    for item, offset, value in zip(row, spread, _monotone(goals, weights)):
        x[item] = value + offset


def _monotone(goals: list[float], weights: list[float]) -> list[float]:
    """The non-decreasing sequence with the least weighted squared distance to the goals.

    Pool adjacent violators: values that are out of order are merged into a block at their weighted mean. Linear.

    >>> _monotone([1.0, 4.0, 2.0], [1.0, 1.0, 1.0])
    [1.0, 3.0, 3.0]
    """
    blocks: list[tuple[float, float, int]] = []
    for goal, weight in zip(goals, weights):
        blocks.append((goal, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (v0, w0, n0), (v1, w1, n1) = blocks[-2:]
            blocks[-2:] = [((v0 * w0 + v1 * w1) / (w0 + w1), w0 + w1, n0 + n1)]
    return [value for value, _, count in blocks for _ in range(count)]
