"""The sweep of NeoSA, compiled: every pair of cells is offered a swap at every temperature.

Why our own and not a library: it is the reference that other placers are measured by, so it has to do what the
published algorithm does, pair by pair. The functions that a sweep is made of are compiled a second time for GPUs
(:mod:`gridloom.targets.grid.mappers.place.neosa_gpu`): they make no arrays, and compute nothing that devices round
differently.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.jit import borrowing, internal, kernel
from gridloom.search.annealing import Logarithms, accepts_by_table
from gridloom.search.arrays import Int32s, Uint8s
from gridloom.search.random import RandomState, random_state
from gridloom.targets.grid.mappers.problem import PlacedGraph, TileGrid


class NeosaSchedule(NamedTuple):
    """The temperature falls from ``hot``, times ``cooling`` after each sweep, until ``cold``.

    With ``by_cell`` it falls after each first cell of a sweep, so that a grid of 64 cells has a 64th of the sweeps. An
    instance ends with a whole sweep.
    """

    hot: float
    cold: float
    cooling: float
    by_cell: bool


@kernel
def wirelength(position: Int32s, starts: Int32s, neighbour: Int32s, hops: NDArray[Any]) -> int:
    """Hops beyond the first, over all edges; each is listed at both its ends, so half of the sum."""
    cost = 0
    for a in range(len(position)):
        for k in range(starts[a], starts[a + 1]):
            cost += max(0, hops[position[a], position[neighbour[k]]] - 1)
    return cost // 2


@borrowing
def _wires(a: int, here: int, b: int, position: Int32s, graph: PlacedGraph, grid: TileGrid) -> int:
    """Hops beyond the first of node a's edges, from tile ``here``; those with its partner b do not change."""
    cost = 0
    for k in range(graph.starts[a], graph.starts[a + 1]):
        if graph.neighbour[k] != b:
            cost += max(0, grid.hops[here, position[graph.neighbour[k]]] - 1)
    return cost


class NeosaCells(NamedTuple):
    """Where the nodes of an instance are: the tile of each node, the node on each tile (-1: none), and tiles' regions.

    A node never leaves its region.
    """

    position: Int32s
    occupant: Int32s
    region: Int32s


@internal
def sweep(
    temperature: float,
    cost: int,
    state: RandomState,
    cells: NeosaCells,
    graph: PlacedGraph,
    grid: TileGrid,
    schedule: NeosaSchedule,
    table: Logarithms,
) -> tuple[float, int]:
    """Offer a swap to every pair of cells, first to last; returns the next temperature and the cost.

    Pairs of different regions (op classes), of two empty cells, and of nodes that may not sit on each other's tile are
    left out. The change of cost is counted over the edges of the two nodes alone.
    """
    position, occupant, region = cells
    kind, allowed = graph.kind, grid.allowed
    for first in range(len(occupant)):
        for second in range(first + 1, len(occupant)):
            a, b = occupant[first], occupant[second]
            if region[first] != region[second] or (a < 0 and b < 0):
                continue
            if (a >= 0 and not allowed[kind[a], second]) or (b >= 0 and not allowed[kind[b], first]):
                continue
            delta = 0
            if a >= 0:
                delta += _wires(a, second, b, position, graph, grid)
                delta -= _wires(a, first, b, position, graph, grid)
            if b >= 0:
                delta += _wires(b, first, a, position, graph, grid)
                delta -= _wires(b, second, a, position, graph, grid)
            if accepts_by_table(delta, temperature, table, state):
                occupant[first], occupant[second] = b, a
                if a >= 0:
                    position[a] = second
                if b >= 0:
                    position[b] = first
                cost += delta
        if schedule.by_cell:
            temperature *= schedule.cooling
    if not schedule.by_cell:
        temperature *= schedule.cooling
    return temperature, cost


@kernel
def neosa(
    position: Int32s,
    region: Int32s,
    graph: PlacedGraph,
    grid: TileGrid,
    schedule: NeosaSchedule,
    table: Logarithms,
    seed: int,
    stop: Uint8s,
) -> tuple[int, int]:
    """Anneal ``position`` in place: (its wirelength, sweeps made).

    The run ends early at wirelength 0 or when ``stop`` is set, which is looked at between sweeps. The placement is the
    last one, not the best one on the way, as published. A sweep costs tiles^2 / 2 offers.
    """
    state = random_state(seed)
    occupant = np.full(len(region), -1, dtype=np.int32)
    for a in range(len(position)):
        occupant[position[a]] = a
    cost = wirelength(position, graph.starts, graph.neighbour, grid.hops)
    cells = NeosaCells(position, occupant, region)
    temperature = schedule.hot
    sweeps = 0
    while temperature > schedule.cold and cost > 0 and stop[0] == 0:
        temperature, cost = sweep(temperature, cost, state, cells, graph, grid, schedule, table)
        sweeps += 1
    return cost, sweeps
