"""The sweep of NeoSA, compiled: every pair of cells is offered a swap at every temperature.

Why our own and not a library: it is the reference that other placers are measured by, so it has to do what the
published algorithm does, pair by pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.mappers.core.annealing import accepts
from gridloom.mappers.core.arrays import Int32s, Uint8s
from gridloom.mappers.core.kernels import inlined, internal, kernel
from gridloom.mappers.core.random import RandomState, random_state
from gridloom.mappers.grid.place.tables import Graph, Grid


class Schedule(NamedTuple):
    """The temperature falls from ``hot``, times ``cooling`` after each sweep, until ``cold``."""

    hot: float
    cold: float
    cooling: float


@kernel
def wirelength(position: Int32s, starts: Int32s, neighbour: Int32s, hops: NDArray[Any]) -> int:
    """Hops beyond the first, over all edges; each is listed at both its ends, so half of the sum."""
    cost = 0
    for a in range(len(position)):
        for k in range(starts[a], starts[a + 1]):
            cost += max(0, hops[position[a], position[neighbour[k]]] - 1)
    return cost // 2


@inlined
def _wires(a: int, here: int, b: int, position: Int32s, graph: Graph, grid: Grid) -> int:
    """Hops beyond the first of node a's edges, from tile ``here``; those with its partner b do not change."""
    cost = 0
    for k in range(graph.starts[a], graph.starts[a + 1]):
        if graph.neighbour[k] != b:
            cost += max(0, grid.hops[here, position[graph.neighbour[k]]] - 1)
    return cost


@internal
def _sweep(
    temperature: float, cost: int, state: RandomState, position: Int32s, occupant: Int32s, region: Int32s,
    graph: Graph, grid: Grid,
) -> int:  # fmt: skip
    """Offer a swap to every pair of cells, first to last; returns the cost.

    Pairs of different regions (op classes), of two empty cells, and of nodes that may not sit on each other's tile are
    left out. The change of cost is counted over the edges of the two nodes alone.
    """
    cells = len(occupant)
    kind, allowed = graph.kind, grid.allowed
    for first in range(cells):
        for second in range(first + 1, cells):
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
            if accepts(delta, temperature, state):
                occupant[first], occupant[second] = b, a
                if a >= 0:
                    position[a] = second
                if b >= 0:
                    position[b] = first
                cost += delta
    return cost


@kernel
def neosa(
    position: Int32s, region: Int32s, graph: Graph, grid: Grid, schedule: Schedule, seed: int, stop: Uint8s
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
    temperature = schedule.hot
    sweeps = 0
    while temperature > schedule.cold and cost > 0 and stop[0] == 0:
        cost = _sweep(temperature, cost, state, position, occupant, region, graph, grid)
        sweeps += 1
        temperature *= schedule.cooling
    return cost, sweeps
