"""From a search on rows back to names: the Mapping of a legal state, and the pipeline bits that it can take.

A search leaves a :class:`RowLayout`, which speaks in numbers of its
:class:`~gridloom.targets.rows.mappers.problem.RowArray`.
``to_mapping`` makes a tree of each signal (two routes of a signal may meet again after they parted, which the kernels
do not forbid), gives constants one instance for each register they use, and reads the cycle of everything off the
stages. ``to_failure`` describes the best layout that is not legal.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gridloom.archs.model import Arch, Kind
from gridloom.mapping.model import Failure, Instance, Mapping, Route
from gridloom.search.arrays import Int32s
from gridloom.search.placements import no_place_left
from gridloom.targets.rows.mappers.problem import CONST, RowArray, RowGraph, crossed_rows, feeds_operands, timed_arcs

if TYPE_CHECKING:
    from gridloom.targets.rows.mappers.kernel import RowState

# Congested resources that a failure names.
_NAMED = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class RowLayout:
    """A state of the search: where nodes sit and which resources each edge takes, as numbers of its RowArray.

    It is a snapshot, legal or not; ``layout_of`` makes it from a kernel's state.
    """

    array: RowArray
    #: The tile of each node; -1: a constant.
    place: Int32s
    #: route[e, : length[e]] are the resources of edge e, as numbers.
    route: Int32s
    length: Int32s
    #: The signals on each resource, by number.
    used: Int32s
    #: Conflicts and edges without a route; 0: legal.
    conflicts: int
    #: The sum of the base costs of the resources in use.
    wire: float
    #: Moves that the search made for this layout.
    moves: int

    @property
    def legal(self) -> bool:
        """True when no resource has two signals and every edge has a route."""
        return self.conflicts == 0

    def path(self, e: int) -> list[int]:
        """The resources of the array (not the numbers) that edge e takes, from producer to operand."""
        numbers = self.route[e, : self.length[e]]
        return [int(r) for r in self.array.resource[numbers]]


def layout_of(array: RowArray, state: RowState, conflicts: int, wire: float, moves: int) -> RowLayout:
    """The layout that a kernel left in its state. It shares the arrays of the state, all but ``used``."""
    return RowLayout(
        array=array,
        place=state.place,
        route=state.route,
        length=state.length,
        used=state.used.astype(np.int32),
        conflicts=conflicts,
        wire=wire,
        moves=moves,
    )


def to_mapping(graph: RowGraph, layout: RowLayout, pipeline: str, provenance: MappingABC[str, Any]) -> Mapping:
    """The mapping of a legal layout, with II 1. Linear in the length of the routes.

    ``pipeline`` ``auto`` switches on every row boundary that the routes allow; otherwise the pipeline bits are those of
    the layout's array. ``provenance`` is stored as it is.
    """
    arch = layout.array.arch
    paths = _trees(graph, layout)
    settings, stage = layout.array.settings, layout.array.stage
    if pipeline == "auto" and arch.settings:
        settings, stage = _switched_on(arch, paths, settings, stage)
    instances, copy_at = _instances(graph, layout, paths, stage)
    names = arch.resource_names
    routes = []
    for e, path in enumerate(paths):
        constant = graph.group[graph.source[e]] == CONST
        hops = tuple((names[r], int(stage[r])) for r in (path[1:] if constant else path))
        copy = copy_at[int(graph.source[e]), path[0]] if constant else 0
        routes.append(Route(edge=int(graph.edges[e]), hops=hops, source_copy=copy))
    return Mapping(
        dfg=graph.dfg,
        arch=arch,
        ii=1,
        instances=tuple(instances),
        routes=tuple(routes),
        settings=settings,
        provenance=provenance,
    )


def _trees(graph: RowGraph, layout: RowLayout) -> list[list[int]]:
    """The path of each edge, with one driver for each resource of a signal: where routes meet, the first one holds.

    A later route that enters a resource of its signal by another arc is led back to the source along the first route,
    so that the union of the paths of a signal is a tree. All resources of the result are in the original routes.
    """
    driver: dict[tuple[int, int], int] = {}
    paths = []
    for e in range(len(graph.edges)):
        n = int(graph.source[e])
        found = layout.path(e)
        before = -1
        for r in found:
            driver.setdefault((n, r), before)
            before = r
        path = [found[-1]]
        while (r := driver[n, path[-1]]) >= 0:
            path.append(r)
        paths.append(path[::-1])
    return paths


def _instances(
    graph: RowGraph, layout: RowLayout, paths: list[list[int]], stage: Int32s
) -> tuple[list[Instance], dict[tuple[int, int], int]]:
    """The instances, and which copy of a constant (by node number and register) a constant register holds.

    A node is issued in the stage of its tile's ALU or port. The copies of a constant are numbered by register.
    """
    dfg, arch = graph.dfg, layout.array.arch
    registers: dict[int, set[int]] = {n: set() for n in range(len(graph.nodes)) if graph.group[n] == CONST}
    for e, path in enumerate(paths):
        if (n := int(graph.source[e])) in registers:
            registers[n].add(path[0])
    taken = set().union(*registers.values())
    spare = [int(r) for r in np.flatnonzero(arch.kind == Kind.CONST) if r not in taken]
    for n, held in registers.items():
        if not held:
            # A constant that nothing reads still has a place.
            if not spare:
                raise no_place_left(dfg.nodes[int(graph.nodes[n])].id)
            held.add(spare.pop(0))
    instances = []
    copy_at: dict[tuple[int, int], int] = {}
    for n, k in enumerate(graph.nodes.tolist()):
        if n not in registers:
            tile = int(layout.place[n])
            instances.append(
                Instance(node=dfg.nodes[k].id, place=arch.tiles[tile].name, cycle=int(stage[arch.fu[tile]]))
            )
            continue
        for copy, r in enumerate(sorted(registers[n])):
            copy_at[n, r] = copy
            instances.append(Instance(node=dfg.nodes[k].id, place=arch.tiles[arch.tile[r]].name, copy=copy))
    return instances, copy_at


def _switched_on(
    arch: Arch, paths: list[list[int]], settings: MappingABC[str, Any], stage: Int32s
) -> tuple[MappingABC[str, Any], Int32s]:
    """(settings, stages) with every row boundary on that lies below all places where an output turns to its port.

    Above such a turn a boundary would delay a value that the output no longer crosses. If some step of a route does not
    agree with the new stages after all, the settings and stages stay as they were.
    """
    rows = [tile.row for tile in arch.tiles]
    feeds = feeds_operands(arch)
    turns = [
        rows[arch.tile[before]]
        for path in paths
        for before, after in pairwise(path)
        if feeds[before] and not feeds[after]
    ]
    lowest = min(turns, default=arch.rows)
    bits = [int(row <= lowest) for row in crossed_rows(arch)]
    chosen = {arch.settings[0].name: bits}
    new_stage, arcs = timed_arcs(arch, np.ones(len(arch.kind), dtype=np.bool_), chosen)
    if all(step in arcs for path in paths for step in pairwise(path)):
        return chosen, new_stage
    return settings, stage


def to_failure(graph: RowGraph, layout: RowLayout | None, width: int) -> Failure:
    """Why the best layout is no mapping: the number of its conflicts, and the most contested resources by name.

    Without a layout, nothing was tried before the time was up, and the failure says so.
    """
    levers = ("more time", "more columns", "parts: gridloom partition")
    demand = f"a way for each of {len(graph.edges)} edges"
    if layout is None:
        bound = "none was tried before time was up"
        return Failure(constraint="time", demand=demand, bound=bound, levers=levers, cause="limit")
    array = layout.array
    worst = [int(r) for r in np.argsort(-layout.used, kind="stable") if layout.used[r] > 1]
    missing = int((layout.length == 0).sum())
    return Failure(
        constraint="wires",
        demand=demand,
        bound=f"{width} columns; the best try leaves {_conflicts(layout.conflicts)}, {missing} without any way",
        levers=levers,
        congested=tuple(array.arch.resource_names[array.resource[r]] for r in worst[:_NAMED]),
        conflicts=layout.conflicts,
    )


def _conflicts(count: int) -> str:
    return f"{count} conflict{'' if count == 1 else 's'}"
