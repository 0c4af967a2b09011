"""Unit cells for ``modulo``: a graph of repeated pieces is mapped block by block, and equal blocks only once.

After HiMap (Wijerathne et al., DATE 2021), which maps the unit of a regular loop nest and replicates it, but from the
structure of any graph:

1. the graph falls into pieces, most of them alike (see :mod:`gridloom.targets.modulo.mappers.cells.pieces`);
2. some pieces make a block, which gets a rectangle of the array; all rectangles of a graph are alike;
3. the ordinary search maps one block of each kind onto the rectangle, with as many moves as an effort allows;
4. every other block repeats that mapping on its own rectangle (see
:mod:`gridloom.targets.modulo.mappers.cells.assemble`).

The search costs what its blocks cost, whatever the size of the array. Limits: the array is a grid of tiles with files
of their own, and pieces exchange no values except those that each block can compute for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.dfg.model import Dfg
from gridloom.mapping.mii import Mii, mii
from gridloom.mapping.model import Mapping
from gridloom.search.budget import Budget, SearchClock
from gridloom.search.settings import origin
from gridloom.targets.modulo.mappers.cells.assemble import BlockCopy, assemble_blocks
from gridloom.targets.modulo.mappers.cells.pieces import (
    Repetition,
    Template,
    blocks_of,
    graph_of,
    repetition,
    templates_of,
)
from gridloom.targets.modulo.mappers.cells.regions import Rectangle, RegionGrid, cut
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.mapping import memory_words, to_mapping
from gridloom.targets.modulo.mappers.problem import WORD_BYTES, ModuloProblem
from gridloom.targets.modulo.mappers.screening import screen
from gridloom.targets.modulo.mappers.search import ModuloSearch, warm_up
from gridloom.targets.modulo.mappers.timed import takes_slices
from gridloom.targets.modulo.mappers.walk import Walk

#: Graphs with fewer nodes are left to the ordinary search.
LEAST_NODES = 96

# The largest graphs and arrays on which the ordinary search goes on below the II of the cells.
_SEARCHED_NODES = 1500
_SEARCHED_TILES = 400

# The most nodes of a block, the most pieces in one, and the most kinds of blocks.
_BLOCK_NODES = 240
_BLOCK_PIECES = 8
_TEMPLATES = 9

# Plans that are tried at an II in the first pass and in later ones, and the largest part of a rectangle's issue slots
# that a block may fill.
_PLANS = (2, 4)
_FILLED = 0.95

# The multiple of the bound at which blocks are mapped first under a time limit, and the part of the limit in which some
# mapping has to be found.
_EASY = 4
_FIRST = 1 / 4

# Moves per node of a block: of the first try at an II, and the factor from pass to pass.
_MOVES = 150
_MORE = 4
_PASSES = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """A way to divide a graph: its blocks by kind, and the rectangles that they go to."""

    templates: list[Template]
    #: One for each block, template by template.
    areas: list[Rectangle]
    #: The largest part of the issue slots of a rectangle that a block fills, for an II of 1.
    filled: float

    @property
    def nodes(self) -> int:
        """The nodes of the largest block."""
        return max(len(template.model.nodes) for template in self.templates)


@dataclass(frozen=True, eq=False)
class UnitCells:
    """A mapping by unit cells, and whether it is the last word."""

    mapping: Mapping
    #: True when the ordinary search has nothing to add: the II is the bound, the budget is used up, or the graph is too
    #: large for it.
    final: bool


def unit_cells(dfg: Dfg, arch: Arch, config: ModuloConfig, clock: SearchClock) -> UnitCells | None:
    """A mapping by unit cells at the lowest II that is found; None where cells do not apply or find none.

    Depends on the seed and the effort alone, unless time or the user ends it. A graph that does not apply costs the
    time to find that out, which is near-linear in the graph. Under a time limit a small part of it goes to the first
    mapping at most: where that is not enough, the ordinary search needs the rest.
    """
    grid = RegionGrid(arch)
    if len(dfg.nodes) < LEAST_NODES or _given(config) or not grid.regular or _beyond_cells(arch):
        return None
    bound, found = mii(dfg, arch), repetition(dfg, arch)
    if found is None or bound.missing:
        return None
    warm_up()
    clock.prepared()
    mapping = _Cells(found, grid, config, clock, bound).best()
    if mapping is None:
        return None
    large = len(dfg.nodes) > _SEARCHED_NODES or len(arch.tiles) > _SEARCHED_TILES
    final = clock.budget.unlimited or large or clock.over() or mapping.ii == bound.total or config.ii is not None
    return UnitCells(mapping, final)


def _beyond_cells(arch: Arch) -> bool:
    """True for an array with rules that cells know nothing of.

    These are banks, ops that keep their unit, single ops, constant stores, and wires that tiles of several rectangles
    may share: buses and ports of register files.
    """
    kept = any(max(tile.occupancy.values(), default=1) > 1 for tile in arch.tiles)
    after_links = arch.arc_target[(arch.kind[arch.arc_source] == Kind.LINK) & (arch.arc_latency == 0)]
    shared = bool(np.setdiff1d(np.flatnonzero(arch.kind == Kind.SWITCH), after_links).size)
    return bool(arch.banks) or kept or shared or arch.has("constant_stores") or any(tile.lacks for tile in arch.tiles)


def _given(config: ModuloConfig) -> bool:
    """True when the user gives places of nodes, which cells know nothing of."""
    return bool(config.place or config.init or config.pin or config.region)


class _Cells:
    """The search for a mapping by unit cells: II by II, and plan by plan at each."""

    def __init__(
        self, found: Repetition, grid: RegionGrid, config: ModuloConfig, clock: SearchClock, bound: Mii
    ) -> None:
        self.found = found
        self.grid = grid
        self.config = config
        self.clock = clock
        self.bound = bound
        self.plans = list(self._plans())
        #: What ends the search of a block: the run, or before the first mapping a part of it.
        self.until = clock if clock.remaining is None else clock.slice(_FIRST * clock.remaining)

    def best(self) -> Mapping | None:
        """The mapping of the lowest II: upwards from the bound with little effort, then below that with more.

        Under a time limit it begins with one at an II with much room, which takes little time.
        """
        mapping = self._easy()
        if mapping is not None:
            self.until = self.clock
        for ii in self._upwards():
            if self.until.over() or (mapping is not None and mapping.ii <= ii):
                break
            better = self._at(ii, 0)
            if better is not None:
                mapping = better
                break
        self.until = self.clock
        for turn in range(_PASSES):
            while mapping is not None and mapping.ii > self.bound.total and self.config.ii is None:
                better = self._at(mapping.ii - 1, turn)
                if better is None:
                    break
                mapping = better
        return mapping

    def _easy(self) -> Mapping | None:
        """A mapping at an II with much room, where time is the limit: a search from the bound on may not get so far."""
        if self.config.ii is not None or not takes_slices(self.config, self.clock.budget):
            return None
        return self._at(min(_EASY * self.bound.total, self._last), 0, smallest=True)

    def _upwards(self) -> list[int]:
        """The IIs that are tried until one has a mapping."""
        if self.config.ii is not None:
            return [self.config.ii]
        steps = [0, *(2**k for k in range(16))]
        return [self.bound.total + step for step in steps if self.bound.total + step <= self._last]

    @property
    def _last(self) -> int:
        """The highest II that is tried; the contexts of a tile may end it."""
        contexts = [tile.contexts for tile in self.grid.arch.tiles if tile.contexts is not None]
        return min([*contexts, 4 * self.bound.total + 4])

    # -- plans --------------------------------------------------------------------------------------------------------

    def _plans(self) -> Iterator[Plan]:
        """Ways to divide the graph, for every number of pieces in a block the largest rectangles that have room."""
        for size in range(1, _BLOCK_PIECES + 1):
            blocks = blocks_of(self.found, size)
            templates = templates_of(blocks)
            if len(templates) > _TEMPLATES or max(len(t.model.nodes) for t in templates) > _BLOCK_NODES:
                continue
            for height, width in self._shapes(len(blocks))[:2]:
                areas = self._areas(height, width, len(blocks))
                if areas:
                    nodes = max(len(template.model.nodes) for template in templates)
                    yield Plan(templates, areas, nodes / (height * width))
                    break

    def _shapes(self, count: int) -> list[tuple[int, int]]:
        """Heights and widths of rectangles that fit so many times, the largest first, squares before strips."""
        rows, cols = self.grid.size
        fits = [
            (h, w)
            for h in range(1, rows + 1)
            for w in range(1, cols + 1)
            if (rows // h) * (cols // w) >= count and self._closed(h, w)
        ]
        return sorted(fits, key=lambda shape: (-shape[0] * shape[1], abs(shape[0] - shape[1]), shape))

    def _closed(self, height: int, width: int) -> bool:
        """True when a rectangle in the corner shares no bus with the tiles around it."""
        rows, cols = self.grid.size
        area = Rectangle(0, 0, height, width)
        return (height, width) == (rows, cols) or self.grid.closed(area, self._classes)

    @cached_property
    def _classes(self) -> frozenset[str]:
        """The op classes of the graph, and that of spills."""
        dfg = self.found.dfg
        return frozenset(dfg.op_class(node.id) for node in dfg.nodes) | {"route", "mem"}

    def _areas(self, height: int, width: int, count: int) -> list[Rectangle]:
        """So many rectangles that are alike, none overlapping; empty where there are not as many.

        The model is tried at the places of the first rows and columns: tiles may differ from column to column.
        """
        rows, cols = self.grid.size
        free = np.zeros(self.grid.size, dtype=np.bool_)
        for row in range(min(height, rows - height + 1, 4)):
            for col in range(min(width, cols - width + 1, 4)):
                found = self.grid.packed(Rectangle(row, col, height, width), free, count)
                if len(found) == count:
                    return found
        return []

    # -- one II -------------------------------------------------------------------------------------------------------

    def _at(self, ii: int, turn: int, *, smallest: bool = False) -> Mapping | None:
        """A mapping at an II, with the effort of a pass; plans that leave most room, or the smallest, come first."""
        plans = [plan for plan in self.plans if plan.filled <= ii * _FILLED]
        plans.sort(key=lambda plan: (0.0 if smallest else round(plan.filled / ii, 1), plan.nodes))
        for plan in plans[: _PLANS[min(turn, 1)]]:
            mapping = self._map(plan, ii, turn)
            self.clock.report(f"cells at II {ii}", "" if mapping is None else f"II {ii}")
            if mapping is not None or self.until.over():
                return mapping
        return None

    def _map(self, plan: Plan, ii: int, turn: int) -> Mapping | None:
        """The whole graph by a plan; None when the search finds no mapping of some block, or they do not fit memory."""
        arch, area, areas = self.grid.arch, plan.areas[0], iter(plan.areas)
        region = cut(arch, self.grid.tiles(area), (area.height, area.width))
        copies, words = list[BlockCopy](), 0
        for template in plan.templates:
            solved = self._solve(template, region, ii, turn)
            if solved is None:
                return None
            mapping, more = solved
            words += more * len(template.partners)
            for partners in template.partners:
                copies.append(BlockCopy(mapping, partners, self.grid.translation(area, next(areas))))
        words += sum(array.length for array in self.found.dfg.arrays)
        if arch.data_memory is not None and words * WORD_BYTES > arch.data_memory:
            return None
        more_words = {"optimal": ii == self.bound.total, "cells": _words(plan)}
        return assemble_blocks(self.found.dfg, arch, copies, origin("modulo", self.config, self.clock, **more_words))

    def _solve(self, template: Template, region: Arch, ii: int, turn: int) -> tuple[Mapping, int] | None:
        """The mapping of a template's model onto a part of the array, and the words of memory that it takes."""
        nodes = template.model.nodes
        graph = graph_of(self.found.dfg, nodes, f"{self.found.dfg.name}, a cell")
        problem = ModuloProblem(graph, region)
        bound = mii(graph, region)
        if bound.total > ii or screen(problem, bound, ii) is not None:
            return None
        budget = Budget(
            effort=_MOVES * len(nodes) * _MORE**turn,
            seed=self.clock.budget.seed,
            workers=self.clock.budget.workers,
            interrupted=self.until.over,
        )
        clock = budget.start()
        solution = Walk(ModuloSearch(problem), replace(self.config, ii=ii), clock, bound).best()
        self.clock.moves += clock.moves
        return None if solution is None else (to_mapping(solution, {}), memory_words(solution))


def _words(plan: Plan) -> list[str]:
    """What the provenance says of the cells: how many of each kind, and how large they are."""
    area = plan.areas[0]
    size = f"{area.height} x {area.width} tiles"
    return [
        f"{len(t.partners)} of {len(t.model.nodes)} nodes in {len(t.model.pieces)} "
        f"piece{'s' * (len(t.model.pieces) > 1)} on {size}"
        for t in plan.templates
    ]
