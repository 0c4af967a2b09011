"""Layouts of complete binary trees on a mesh: the H-tree, and a compact one made of quadrants.

A layout is the cell (row, column) of each node in level order: root, its children, theirs. The H-tree (Browning 1980)
puts two halves beside each other, with a line between them that holds the root; all its paths are equally long. The
compact layout has the area of Lee and Choi's embedding (1996): a tree of p levels is four trees of p - 2 levels in
quadrants, the three nodes above them sit on cells that the quadrants leave free. Which cells these are, and how the
quadrants are turned, is our own choice: the one whose branches differ least in length, then the one with the shortest
wires. The tree of five levels is a picture that a SAT solver found: of all paths from its root none is longer than
five cells, the least that is possible, and its free cells suit the nodes above four of it.

Cost: linear in the area for the H-tree; 8 * 40^3 weighings for each doubling of the compact layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]

# Ways to turn quadrants independently that are all tried; above it only mirrored ones are.
_ALL_TURNS = 256

# Five levels on 6 x 6 cells, nodes in level order. If all paths had four cells, the levels would have one colour of a
# chessboard in turn, and 1 + 4 + 16 nodes would need 21 of 18 cells; five is therefore the least. The free cells on the
# right are where the nodes above four of these squares go.
_FIVE_LEVELS = """
 . 26 12 25 30 27
23 11  5 29 14 13
19 24  .  2  6 28
 9  4  1  0 16  .
20 10 22  3  7 15
 . 21 18  8 17  .
"""

# Free cells that the nodes above quadrants may take: all triples of them are weighed.
_FREE = 40


@dataclass(frozen=True, slots=True, eq=False)
class TreeLayout:
    """A rectangle, and the cell of each node in level order.

    ``cells[k]`` is the (row, column) of node k of a complete binary tree, the root first; the children of node k are
    nodes 2 * k + 1 and 2 * k + 2. No two nodes share a cell, and all cells are inside the rectangle. Cells without a
    node are left for wires. A layout knows nothing of op classes or links: the mapper ``trees`` puts it on an array.
    """

    rows: int
    cols: int
    cells: Cells

    @property
    def transposed(self) -> TreeLayout:
        """Rows become columns."""
        return TreeLayout(self.cols, self.rows, self.cells[:, ::-1])

    @property
    def free(self) -> Cells:
        """The cells without a node, row by row."""
        taken = np.zeros((self.rows, self.cols), dtype=np.bool_)
        taken[self.cells[:, 0], self.cells[:, 1]] = True
        return np.argwhere(~taken)

    def turned(self, way: int) -> TreeLayout:
        """One of the 8 ways to put it: bit 0 mirrors columns, bit 1 rows, bit 2 transposes afterwards."""
        cells = self.cells.copy()
        if way & 1:
            cells[:, 1] = self.cols - 1 - cells[:, 1]
        if way & 2:
            cells[:, 0] = self.rows - 1 - cells[:, 0]
        same = TreeLayout(self.rows, self.cols, cells)
        return same.transposed if way & 4 else same


def h_tree(levels: int) -> TreeLayout:
    """The H-tree of a complete binary tree of so many levels, at least 1.

    All paths from the root to a leaf are equally long. The area grows to about twice the number of nodes.

    >>> h_tree(3).cells.tolist()
    [[1, 1], [1, 0], [1, 2], [0, 0], [2, 0], [0, 2], [2, 2]]
    """
    layout = TreeLayout(1, 1, np.zeros((1, 2), dtype=np.int64))
    for _ in range(levels - 1):
        # Halves are joined along the shorter side, so that the rectangle stays near a square.
        half = layout if layout.cols <= layout.rows else layout.transposed
        other = half.cells + np.array([0, half.cols + 1])
        root = np.array([half.rows // 2, half.cols])
        layout = TreeLayout(half.rows, 2 * half.cols + 1, _joined(root, half.cells, other))
    return layout


def compact(levels: int, count: int = 1, *, fastest: bool = False) -> list[TreeLayout]:
    """The best ``count`` compact layouts, best first; of 1, 2, 3 and 5 levels there is one.

    Branches that differ little come first, or short paths to the root if ``fastest``.
    """
    if levels == 1 or levels == 3:
        return [h_tree(levels)]
    if levels == 2:
        return [TreeLayout(2, 2, np.array([[0, 0], [0, 1], [1, 0]], dtype=np.int64))]
    if levels == 5:
        return [_from_picture(_FIVE_LEVELS)]
    quarter = _best(levels - 2, fastest)
    # Quadrants of 4 x 4 leave one cell each: a cross between them has room for the three nodes above and their wires.
    gap = 1 if levels == 6 else 0
    side = 2 * quarter.rows + gap
    layouts: list[tuple[tuple[int, ...], Cells]] = []
    for ways in _turns(quarter):
        parts = _quadrants(quarter, ways, gap)
        layouts += _tops(parts, _free(parts, side), count, fastest)
    layouts.sort(key=lambda entry: entry[0])
    return [TreeLayout(side, side, cells) for _, cells in layouts[:count]]


def _from_picture(picture: str) -> TreeLayout:
    """The layout whose cells are drawn as rows of node numbers, a full stop for a free cell."""
    rows = [line.split() for line in picture.split("\n") if line]
    cells = {int(word): (r, c) for r, row in enumerate(rows) for c, word in enumerate(row) if word != "."}
    return TreeLayout(len(rows), len(rows[0]), np.array([cells[node] for node in range(len(cells))], dtype=np.int64))


@lru_cache(maxsize=16)
def _best(levels: int, fastest: bool) -> TreeLayout:
    """The best compact layout of so many levels, kept: each doubling asks for the one of two levels less."""
    return compact(levels, fastest=fastest)[0]


def _joined(root: Cells, left: Cells, right: Cells) -> Cells:
    """The level order of a tree from those of its two halves."""
    rows = [root[None, :]]
    start, width = 0, 1
    while start < len(left):
        rows += [left[start : start + width], right[start : start + width]]
        start, width = start + width, 2 * width
    return np.concatenate(rows)


def _turns(quarter: TreeLayout) -> list[tuple[int, int, int, int]]:
    """How the four quadrants are turned: every way if that is few, else mirrored to each other."""
    different: dict[bytes, int] = {}
    for way in range(8):
        turned = quarter.turned(way)
        different.setdefault(turned.cells[:1].tobytes() + turned.free.tobytes(), way)
    ways = list(different.values())
    if len(ways) ** 4 <= _ALL_TURNS:
        return [(a, b, c, d) for a, b, c, d in product(ways, repeat=4)]
    # Transposing comes last, so that a transposed quadrant is mirrored by the other bit.
    plain = [(way, way ^ 1, way ^ 2, way ^ 3) for way in range(4)]
    return plain + [(way, way ^ 2, way ^ 1, way ^ 3) for way in range(4, 8)]


def _quadrants(quarter: TreeLayout, ways: tuple[int, int, int, int], gap: int) -> list[Cells]:
    """The cells of the four quadrants, each turned its own way and shifted to its corner of the square."""
    step = quarter.rows + gap
    corners = ((0, 0), (0, step), (step, 0), (step, step))
    return [quarter.turned(way).cells + np.array(corner) for way, corner in zip(ways, corners)]


def _free(parts: list[Cells], side: int) -> Cells:
    """Free cells of the whole square; of many, those nearest to its middle, where the nodes above have short wires."""
    free = TreeLayout(side, side, np.concatenate(parts)).free
    off = np.abs(2 * free - (side - 1)).sum(axis=1)
    return free[np.sort(np.argsort(off, kind="stable")[:_FREE])]


def _tops(parts: list[Cells], free: Cells, count: int, fastest: bool) -> list[tuple[tuple[int, ...], Cells]]:
    """The best places of the three nodes above four quadrants: (score, cells of the whole tree).

    The score: largest difference of two branches that meet, all of them, longest path, wires. If ``fastest``, the
    longest path comes first.
    """
    roots = np.array([part[0] for part in parts])
    reach = np.abs(roots[:, None, :] - free[None, :, :]).sum(axis=2)
    between = np.abs(free[:, None, :] - free[None, :, :]).sum(axis=2)
    # Axes: the cell of the node above quadrants 0 and 1, of that above 2 and 3, of the root.
    upper, lower = np.maximum(reach[0], reach[1]), np.maximum(reach[2], reach[3])
    skew_upper, skew_lower = np.abs(reach[0] - reach[1]), np.abs(reach[2] - reach[3])
    late = (upper[:, None] + between)[:, None, :], (lower[:, None] + between)[None, :, :]
    skew = np.abs(late[0] - late[1])
    most = np.maximum(np.maximum(skew, skew_upper[:, None, None]), skew_lower[None, :, None])
    total = skew + skew_upper[:, None, None] + skew_lower[None, :, None]
    longest = np.maximum(late[0], late[1])
    wires = (reach[0] + reach[1])[:, None, None] + (reach[2] + reach[3])[None, :, None]
    wires = wires + between[:, None, :] + between[None, :, :]
    a, b, c = np.indices(wires.shape)
    apart = (a != b) & (b != c) & (a != c)
    ranks = (wires, total, most, longest) if fastest else (wires, longest, total, most)
    keys = [key[apart] for key in ranks]
    order = np.lexsort(keys)[:count]
    chosen = np.argwhere(apart)[order]
    scores = np.stack(keys[::-1], axis=1)[order]
    return [
        (
            tuple(score.tolist()),
            _joined(free[r], _joined(free[x], parts[0], parts[1]), _joined(free[y], parts[2], parts[3])),
        )
        for score, (x, y, r) in zip(scores, chosen.tolist())
    ]
