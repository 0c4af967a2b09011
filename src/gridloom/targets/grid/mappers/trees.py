"""``trees``: complete binary trees by a layout that is known beforehand, as a reference for searching mappers.

Layouts: the H-tree (Browning 1980), whose paths are all equally long, so that no FIFO is needed; and a compact one of
the area of Lee and Choi's embedding (1996). The idea:

1. the graph is numbered as a tree in level order, or as several trees of one size;
2. the layout says the tile of each number; several trees lie beside each other as equal blocks; where the array leaves
   room, all of it is shifted and turned until op classes fit;
3. routes come from PathFinder, issue cycles and FIFOs from exact balancing.

Cost: a routing for each try. Limits: complete binary trees of one size; the compact layout has Lee and Choi's areas,
but not tile for tile their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
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
from gridloom.targets.grid.mappers.place.tree_layouts import TreeLayout, compact, h_tree
from gridloom.targets.grid.mappers.problem import StaticProblem, build_problem
from gridloom.targets.grid.mappers.screening import screen
from gridloom.targets.grid.mappers.search import Objective, StaticSearch


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
