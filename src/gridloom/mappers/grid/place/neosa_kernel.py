"""The sweep of NeoSA, compiled: every pair of cells is offered a swap at every temperature.

Why our own and not a library: it is the reference that other placers are measured by, so it has to do what the
published algorithm does, pair by pair.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gridloom.mappers.grid.place.anneal_kernel import Bools, Ints, State, _unit


@njit(cache=True, nogil=True)
def wirelength(position: Ints, starts: Ints, neighbour: Ints, hops: Ints) -> int:
    """Hops beyond the first, over all edges; each is listed at both its ends, so half of the sum."""
    cost = 0
    for a in range(len(position)):
        for k in range(starts[a], starts[a + 1]):
            cost += max(0, hops[position[a], position[neighbour[k]]] - 1)
    return cost // 2


@njit(cache=True, nogil=True, inline="always")
def _wires(a: int, here: int, b: int, position: Ints, starts: Ints, neighbour: Ints, hops: Ints) -> int:
    """Hops beyond the first of node a's edges, from tile ``here``; those with its partner b do not change."""
    cost = 0
    for k in range(starts[a], starts[a + 1]):
        if neighbour[k] != b:
            cost += max(0, hops[here, position[neighbour[k]]] - 1)
    return cost


@njit(cache=True, nogil=True)
def _sweep(
    temperature: float, cost: int, state: State, position: Ints, occupant: Ints, region: Ints, kind: Ints,
    allowed: Bools, starts: Ints, neighbour: Ints, hops: Ints,
) -> int:  # fmt: skip
    """Offer a swap to every pair of cells, first to last; returns the cost."""
    cells = len(occupant)
    for first in range(cells):
        for second in range(first + 1, cells):
            a, b = occupant[first], occupant[second]
            if region[first] != region[second] or (a < 0 and b < 0):
                continue
            if (a >= 0 and not allowed[kind[a], second]) or (b >= 0 and not allowed[kind[b], first]):
                continue
            delta = 0
            if a >= 0:
                delta += _wires(a, second, b, position, starts, neighbour, hops)
                delta -= _wires(a, first, b, position, starts, neighbour, hops)
            if b >= 0:
                delta += _wires(b, first, a, position, starts, neighbour, hops)
                delta -= _wires(b, second, a, position, starts, neighbour, hops)
            if delta <= 0 or _unit(state) < np.exp(-delta / temperature):
                occupant[first], occupant[second] = b, a
                if a >= 0:
                    position[a] = second
                if b >= 0:
                    position[b] = first
                cost += delta
    return cost


@njit(cache=True, nogil=True)
def neosa(
    position: Ints, region: Ints, kind: Ints, allowed: Bools, starts: Ints, neighbour: Ints, hops: Ints,
    seed: int, hot: float, cold: float, cooling: float, stop: NDArray[np.uint8],
) -> tuple[int, int]:  # fmt: skip
    """Anneal ``position`` in place: (its wirelength, sweeps made).

    From ``hot``, times ``cooling`` after each sweep, until ``cold``; ends early at wirelength 0 or when ``stop`` is
    set. The placement is the last one, not the best one on the way, as published.
    """
    state = np.array([seed], dtype=np.uint64)
    occupant = np.full(len(region), -1, dtype=np.int32)
    for a in range(len(position)):
        occupant[position[a]] = a
    cost = wirelength(position, starts, neighbour, hops)
    temperature = hot
    sweeps = 0
    while temperature > cold and cost > 0 and stop[0] == 0:
        cost = _sweep(temperature, cost, state, position, occupant, region, kind, allowed, starts, neighbour, hops)
        sweeps += 1
        temperature *= cooling
    return cost, sweeps
