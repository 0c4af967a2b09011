"""The annealing loop of the static grids, compiled.

Why our own and not a library: none anneals a placement with swaps at tens of millions of moves a second from Python.

The schedule is that of VPR (Betz and Rose, FPL 1997): the first temperature comes from the spread of costs over random
moves, the next from the share of moves accepted, and the range of moves shrinks so that about 44 % are accepted. Half
of the moves are drawn in that range, the others put a node beside one it is connected to. The cost of an edge is its
weight times the hops beyond ``ideal``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]
State = NDArray[np.uint64]


@njit(cache=True, nogil=True, inline="always")
def _next(state: State) -> Any:
    """The next 64 random bits (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _below(state: State, bound: int) -> int:
    """A number from 0 to bound - 1; the bias of the multiplication is below 2**-20 for any array."""
    drawn: Any = np.int64(((_next(state) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))
    return drawn  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def _unit(state: State) -> float:
    drawn: float = np.float64(_next(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return drawn


@njit(cache=True, nogil=True)
def total_cost(position: Ints, starts: Ints, neighbour: Ints, weight: Ints, ideal: Ints, hops: Ints) -> int:
    """The cost of a placement: every edge is listed at both its ends, so half of the sum."""
    cost = 0
    for a in range(len(position)):
        for k in range(starts[a], starts[a + 1]):
            over = hops[position[a], position[neighbour[k]]] - ideal[k]
            if over > 0:
                cost += weight[k] * over
    return cost // 2


@njit(cache=True, nogil=True, inline="always")
def _moved(
    a: int, b: int, here: int, there: int,
    position: Ints, starts: Ints, neighbour: Ints, weight: Ints, ideal: Ints, hops: Ints,
) -> int:  # fmt: skip
    """The cost of moving node a from ``here`` to ``there``; its edge with b, which it swaps with, stays as it is."""
    delta = 0
    for k in range(starts[a], starts[a + 1]):
        other = neighbour[k]
        if other == b:
            continue
        tile = position[other]
        before = hops[here, tile] - ideal[k]
        after = hops[there, tile] - ideal[k]
        delta += weight[k] * (max(after, 0) - max(before, 0))
    return delta


@njit(cache=True, nogil=True, inline="always")
def _draw(
    a: int, reach: int, state: State, position: Ints, starts: Ints, neighbour: Ints, row: Ints, col: Ints, grid: Ints
) -> int:
    """The tile that a move tries for node a: in reach of where it is, or beside a node it is connected to."""
    rows, cols = grid.shape
    centre = position[a]
    span = reach
    degree = starts[a + 1] - starts[a]
    bits = _next(state)
    if degree > 0 and bits & np.uint64(1):
        centre = position[neighbour[starts[a] + _below(state, degree)]]
        span = 1 if bits & np.uint64(6) else 2
    top, bottom = max(0, row[centre] - span), min(rows - 1, row[centre] + span)
    left, right = max(0, col[centre] - span), min(cols - 1, col[centre] + span)
    width = right - left + 1
    cell = _below(state, (bottom - top + 1) * width)
    tile: int = grid[top + cell // width, left + cell % width]
    return tile


@njit(cache=True, nogil=True)
def _sweep(
    moves: int, temperature: float, reach: int, cost: int, best_cost: int, state: State,
    position: Ints, occupant: Ints, best: Ints, movable: Ints, fixed: Bools, kind: Ints, allowed: Bools,
    starts: Ints, neighbour: Ints, weight: Ints, ideal: Ints, hops: Ints, row: Ints, col: Ints, grid: Ints,
) -> tuple[int, int, int, float, float]:  # fmt: skip
    """Moves at one temperature: (cost, best cost, accepted, sum and sum of squares of the cost changes)."""
    accepted = 0
    total = 0.0
    squares = 0.0
    for _ in range(moves):
        a = movable[_below(state, len(movable))]
        there = _draw(a, reach, state, position, starts, neighbour, row, col, grid)
        here = position[a]
        if there == here or fixed[there] or not allowed[kind[a], there]:
            continue
        b = occupant[there]
        if b >= 0 and not allowed[kind[b], here]:
            continue
        delta = _moved(a, b, here, there, position, starts, neighbour, weight, ideal, hops)
        if b >= 0:
            delta += _moved(b, a, there, here, position, starts, neighbour, weight, ideal, hops)
        total += delta
        squares += np.float64(delta) * delta
        if delta <= 0 or _unit(state) < np.exp(-delta / temperature):
            position[a] = there
            occupant[there] = a
            occupant[here] = b
            if b >= 0:
                position[b] = here
            cost += delta
            accepted += 1
            if cost < best_cost:
                best_cost = cost
                best[:] = position
    return cost, best_cost, accepted, total, squares


@njit(cache=True, nogil=True)
def anneal(
    position: Ints, movable: Ints, fixed: Bools, kind: Ints, allowed: Bools,
    starts: Ints, neighbour: Ints, weight: Ints, ideal: Ints, hops: Ints, row: Ints, col: Ints, grid: Ints,
    seed: int, heat: float, moves_each: int, floor_cost: int, stop: NDArray[np.uint8],
) -> tuple[int, int]:  # fmt: skip
    """Anneal ``position`` in place to the best placement found: (its cost, moves made).

    ``heat`` scales the first temperature (1: everything moves freely); ``moves_each`` moves a temperature; ends early
    at ``floor_cost`` or when ``stop`` is set.
    """
    state = np.array([seed], dtype=np.uint64)
    occupant = np.full(len(row), -1, dtype=np.int32)
    for a in range(len(position)):
        occupant[position[a]] = a
    best = position.copy()
    cost = total_cost(position, starts, neighbour, weight, ideal, hops)
    best_cost = cost
    if len(movable) == 0:
        return cost, 0
    widest = max(grid.shape[0], grid.shape[1]) - 1
    trial = position.copy()
    held = occupant.copy()
    probe = max(200, 4 * len(movable))
    _, _, _, total, squares = _sweep(
        probe, 1e30, widest, cost, -(1 << 40), state, trial, held, best, movable, fixed, kind, allowed,
        starts, neighbour, weight, ideal, hops, row, col, grid,
    )  # fmt: skip
    spread = np.sqrt(max(squares / probe - (total / probe) ** 2, 1e-12))
    temperature = heat * spread
    coldest = 0.08 * _least_weight(weight)
    reach = np.float64(widest) if heat > 0.3 else max(1.0, 0.35 * widest)
    made = probe
    while best_cost > floor_cost and stop[0] == 0:
        cost, best_cost, accepted, _, _ = _sweep(
            moves_each, temperature, max(1, int(reach)), cost, best_cost, state, position, occupant, best, movable,
            fixed, kind, allowed, starts, neighbour, weight, ideal, hops, row, col, grid,
        )  # fmt: skip
        made += moves_each
        share = accepted / moves_each
        if temperature < coldest:
            break
        reach = min(max(reach * (0.56 + share), 1.0), np.float64(widest))
        temperature *= _cooling(share, reach)
    position[:] = best
    return best_cost, made


@njit(cache=True, nogil=True, inline="always")
def _cooling(share: float, reach: float) -> float:
    if share > 0.96:
        return 0.5
    if share > 0.8:
        return 0.9
    if share > 0.15 or reach > 1.0:
        return 0.95
    return 0.8


@njit(cache=True, nogil=True)
def _least_weight(weight: Ints) -> float:
    least = 1 << 30
    for k in range(len(weight)):
        if 0 < weight[k] < least:
            least = weight[k]
    return np.float64(least if least < 1 << 30 else 1)
