"""``trees``: complete binary trees by a layout that is known beforehand, as a reference for searching mappers.

Layouts: the H-tree (Browning 1980), whose paths are all equally long, so that no FIFO is needed; and a compact one of
the area of Lee and Choi's embedding (1996). The idea:

1. the graph is numbered as a tree in level order, or as several trees of one size;
2. the layout says the tile of each number; several trees lie beside each other as equal blocks; where the array leaves
   room, all of it is shifted and turned until op classes fit;
3. routes come from PathFinder, issue cycles and FIFOs from exact balancing.

Cost: a routing for each try. Limits: complete binary trees of one size; the compact layout has Lee and Choi's areas,
but not tile for tile their places.

Layouts of complete binary trees on a mesh: the H-tree, and a compact one made of quadrants.

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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.arrays import Int32s
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.choice import check_suits
from gridloom.search.settings import check_settings, origin
from gridloom.targets.grid.mappers.mapping import PlacementCandidate, to_failure, to_mapping
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem
from gridloom.targets.grid.mappers.screening import screen
from gridloom.targets.grid.mappers.search import Objective, StaticSearch

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
    quarter = _best_layout(levels - 2, fastest)
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
def _best_layout(levels: int, fastest: bool) -> TreeLayout:
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


@dataclass(frozen=True, kw_only=True)
class TreesConfig:
    """Settings of ``trees``.

    There is no search over places: the layout says where each node sits, and the settings choose the layout and how
    many of its placements on the array are routed.
    """

    #: ``htree``: equally long paths; ``compact``: the area of Lee and Choi's embedding.
    layout: Literal["htree", "compact"] = "htree"
    #: What the best try is chosen by; ``buffers`` also lets wires take detours where values would wait.
    objective: Objective = "wirelength"
    #: The largest number of placements of the layout that are routed: turned, shifted, with other free cells used.
    tries: int = 16
    #: How many links longer than the shortest way a route may be.
    detour: int = 4

    def __post_init__(self) -> None:
        words = {"layout": ("htree", "compact"), "objective": ("buffers", "wirelength", "latency")}
        check_settings(self, one_of=words, at_least={"tries": 1, "detour": 0})

    @property
    def joint(self) -> int:
        """Moves for each node together with its routes: none, since a layout stays as it is."""
        return 0


def trees(dfg: Dfg, arch: Arch, config: TreesConfig, budget: Budget) -> Mapping | Failure:
    """A mapping of complete binary trees by a layout on a static grid, or why there is none.

    OptionError for graphs that are not complete binary trees of one size and for another kind of array.
    """
    check_suits("trees", dfg, arch)
    clock = budget.start()
    problem = build_problem(dfg, arch)
    orders = level_orders(problem)
    layouts = _layouts(config, len(orders[0]))
    reason = _too_small(problem, layouts[0], len(orders)) or screen(problem)
    if reason is not None:
        return reason
    positions = list(islice(_placements(problem, orders, layouts), config.tries))
    if not positions:
        return _no_classes(problem, layouts[0])
    search = StaticSearch(problem, config, {})
    search.warm_up()
    clock.prepared()
    best = _best(search, positions, clock)
    if not best.legal:
        return to_failure(problem, best, True)
    return to_mapping(problem, best, origin("trees", config, clock))


def level_orders(problem: StaticProblem) -> list[list[int]]:
    """The nodes of each complete binary tree, root first, level by level; OptionError for any other graph.

    Edges may all point to the roots (reductions) or all away from them. The children of the node at position k of a
    tree's list are at positions 2 * k + 1 and 2 * k + 2. Linear in the nodes, times the levels.
    """
    below: list[list[int]] = [[] for _ in range(problem.size)]
    inward = len(set(problem.source.tolist())) == len(problem.source)
    for a, b in zip(problem.source.tolist(), problem.target.tolist()):
        below[b if inward else a].append(a if inward else b)
    children = [node for row in below for node in row]
    roots = sorted(set(range(problem.size)) - set(children))
    size = problem.size // max(1, len(roots))
    if not roots or size & (size + 1) or size * len(roots) != problem.size or len(set(children)) != len(children):
        raise _not_a_tree(problem)
    orders = [_level_order(root, below, size) for root in roots]
    if None in orders:
        raise _not_a_tree(problem)
    return [order for order in orders if order is not None]


def _level_order(root: int, below: list[list[int]], size: int) -> list[int] | None:
    """One tree's nodes level by level; None where a node above the last level has not two children."""
    order = [root]
    level = order
    while len(order) < size:
        if any(len(below[node]) != 2 for node in level):
            return None
        level = [child for node in level for child in below[node]]
        order = order + level
    return None if any(below[node] for node in level) else order


def _not_a_tree(problem: StaticProblem) -> OptionError:
    return OptionError(
        f"graph {problem.dfg.name!r} with {problem.size} placed nodes and {len(problem.edges)} routed edges is not one "
        "complete binary tree, nor several of one size; mapper 'trees' takes nothing else: use 'anneal'"
    )


def _layouts(config: TreesConfig, size: int) -> list[TreeLayout]:
    """The layouts to try, best first: the H-tree is one, of the compact layouts as many as there are tries."""
    levels = size.bit_length()
    if config.layout == "htree":
        return [h_tree(levels)]
    return compact(levels, config.tries, fastest=config.objective == "latency")


def _placements(problem: StaticProblem, orders: list[list[int]], layouts: list[TreeLayout]) -> Iterator[Int32s]:
    """Placements that op classes allow: layouts as they are or transposed, from the upper left corner on."""
    arch = problem.arch
    grid = np.full((arch.rows, arch.cols), -1, dtype=np.int32)
    grid[problem.row, problem.col] = np.arange(problem.tiles, dtype=np.int32)
    nodes = np.concatenate(orders)
    for layout in layouts:
        for turned in (layout, layout.transposed):
            for down, across in _arrangements(arch, turned, len(orders)):
                cells = _blocks(turned, across, len(orders))
                for top in range(arch.rows - down * turned.rows + 1):
                    for left in range(arch.cols - across * turned.cols + 1):
                        position = np.empty(problem.size, dtype=np.int32)
                        position[nodes] = grid[cells[:, 0] + top, cells[:, 1] + left]
                        if problem.allowed[problem.kind, position].all():
                            yield position


def _arrangements(arch: Arch, layout: TreeLayout, count: int) -> list[tuple[int, int]]:
    """(blocks below each other, blocks beside each other) for so many trees, as far as the array has room."""
    ways = [(-(-count // across), across) for across in range(1, count + 1)]
    return [
        (down, across) for down, across in ways if down * layout.rows <= arch.rows and across * layout.cols <= arch.cols
    ]


def _blocks(layout: TreeLayout, across: int, count: int) -> NDArray[np.int64]:
    """The cells of so many trees, one after the other, in rows of ``across`` blocks."""
    corners = [(block // across * layout.rows, block % across * layout.cols) for block in range(count)]
    return np.concatenate([layout.cells + np.array(corner) for corner in corners])


def _best(search: StaticSearch, positions: list[Int32s], clock: SearchClock) -> PlacementCandidate:
    """Route and balance each placement of the layout, and take the best; a try counts as one move."""
    jobs = [partial(search.realise, position, clock.budget.seed, 1, clock.stop) for position in positions]
    candidates = clock.run(jobs)
    clock.moves = len(candidates)
    clock.report("done", f"{sum(candidate.legal for candidate in candidates)} of {len(candidates)} tries legal")
    return min(candidates, key=lambda candidate: candidate.score)


def _too_small(problem: StaticProblem, layout: TreeLayout, count: int) -> Failure | None:
    """The Failure of a layout that does not fit on the array in either direction; None where it fits."""
    arch = problem.arch
    if any(_arrangements(arch, turned, count) for turned in (layout, layout.transposed)):
        return None
    long, short = max(layout.rows, layout.cols), min(layout.rows, layout.cols)
    area = f"{short}x{long} tiles for a tree of {problem.size // count} nodes"
    return Failure(
        constraint="area of the layout",
        demand=area if count == 1 else f"{area}, {count} times",
        bound=f"{arch.rows}x{arch.cols} on {arch.name}",
        levers=("a larger array", "layout=compact", "mapper anneal"),
    )


def _no_classes(problem: StaticProblem, layout: TreeLayout) -> Failure:
    """The Failure of a layout that fits, but puts a node on a tile without its op class wherever it is shifted."""
    return Failure(
        constraint="op classes under the layout",
        demand=f"a {layout.rows}x{layout.cols} part of the array whose tiles run the nodes that the layout puts there",
        bound=f"none on {problem.arch.name}",
        levers=("tiles with all op classes (io=any, mul=all)", "mapper anneal"),
    )
