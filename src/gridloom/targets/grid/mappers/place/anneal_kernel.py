"""The annealing loop of the static grids, compiled.

Why our own and not a library: none anneals a placement with swaps at tens of millions of moves per second from Python.

The schedule is that of VPR (Betz and Rose, FPL 1997): the first temperature comes from the spread of costs over random
moves, the next from the share of moves accepted, and the range of moves shrinks so that about 44 % are accepted. Half
of the moves are drawn in that range, the others put a node beside one it is connected to. The cost of an edge is its
weight times the hops beyond ``ideal``.

A move swaps the nodes of two tiles, one of which may be empty, and its change of cost is counted over the edges of the
two nodes alone: a move costs the degree of its nodes, whatever the size of the graph. Costs are whole numbers, so that
the running sum never drifts from the true cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.jit import borrowing, copy_row, int64, kernel
from gridloom.search.annealing import accepts, vpr_factor, vpr_reach
from gridloom.search.arrays import Int32s, Uint8s
from gridloom.search.random import RandomState, random_below, random_state, random_word
from gridloom.targets.grid.mappers.problem import Edges, PlacedGraph, PlacementMove, TileGrid


class HopPrices(NamedTuple):
    """What each entry of the graph's neighbour table costs: ``weight`` for each hop beyond ``ideal``."""

    weight: Int32s
    ideal: Int32s


class GridPlacement(NamedTuple):
    """The tile of each node, the node of each tile (-1: none), and the tiles of the best placement so far.

    ``position`` and ``occupant`` are inverse to each other between moves.
    """

    position: Int32s
    occupant: Int32s
    best: Int32s


class CoolingSchedule(NamedTuple):
    """How a run cools."""

    #: The first temperature as a multiple of the spread of costs (1: everything moves freely).
    heat: float
    #: Moves per temperature.
    moves_each: int
    #: The run ends early at this cost.
    floor_cost: int


@borrowing
def total_cost(position: Int32s, graph: PlacedGraph, prices: HopPrices, grid: TileGrid) -> int:
    """The cost of a placement: every edge is listed at both its ends, so half of the sum.

    Linear in the edges. A run counts it once and then follows it move by move.
    """
    cost = 0
    for a in range(len(position)):
        for k in range(graph.starts[a], graph.starts[a + 1]):
            over = grid.hops[position[a], position[graph.neighbour[k]]] - prices.ideal[k]
            if over > 0:
                cost += prices.weight[k] * over
    return cost // 2


@borrowing
def _rise(
    a: int, b: int, here: int, there: int, position: Int32s, graph: PlacedGraph, prices: HopPrices, grid: TileGrid
) -> int:
    """What moving node a from ``here`` to ``there`` costs; its edge with b, which it swaps with, stays as it is."""
    delta = 0
    for k in range(graph.starts[a], graph.starts[a + 1]):
        other = graph.neighbour[k]
        if other == b:
            continue
        tile = position[other]
        before = grid.hops[here, tile] - prices.ideal[k]
        after = grid.hops[there, tile] - prices.ideal[k]
        delta += prices.weight[k] * (max(after, 0) - max(before, 0))
    return delta


@borrowing
def draw_tile(a: int, reach: int, state: RandomState, position: Int32s, graph: PlacedGraph, grid: TileGrid) -> int:
    """The tile that a move tries for node a: in reach of where it is, or beside a node it is connected to.

    One random bit decides between the two. Beside a neighbour means at most one row and column away, in one of four
    cases two. The reach is clipped at the border, so that every draw is a tile of the grid; it may be the node's own
    tile.
    """
    rows, cols = grid.tile.shape
    centre = position[a]
    span = reach
    degree = graph.starts[a + 1] - graph.starts[a]
    bits = random_word(state)
    if degree > 0 and bits & np.uint64(1):
        centre = position[graph.neighbour[graph.starts[a] + random_below(state, degree)]]
        span = 1 if bits & np.uint64(6) else 2
    top, bottom = max(0, grid.row[centre] - span), min(rows - 1, grid.row[centre] + span)
    left, right = max(0, grid.col[centre] - span), min(cols - 1, grid.col[centre] + span)
    width = right - left + 1
    cell = random_below(state, (bottom - top + 1) * width)
    tile: int = grid.tile[top + cell // width, left + cell % width]
    return tile


@borrowing
def gather_edges(move: PlacementMove, graph: PlacedGraph, edges: Edges, touched: Int32s) -> int:
    """List the edges of the nodes that a move touches, each once; returns how many there are.

    Degrees are small, so looking through the list is cheaper than marking edges.
    """
    count = 0
    for node in (move.a, move.b):
        if node < 0:
            continue
        for k in range(graph.starts[node], graph.starts[node + 1]):
            seen = False
            for j in range(count if node == move.b and graph.neighbour[k] == move.a else 0):
                seen = seen or touched[j] == edges.incident[k]
            if not seen:
                touched[count] = edges.incident[k]
                count += 1
    return count


@borrowing
def edge_room(graph: PlacedGraph) -> int:
    """How many edges a move touches at most: twice the largest degree."""
    most = 1
    for node in range(len(graph.starts) - 1):
        most = max(most, graph.starts[node + 1] - graph.starts[node])
    return 2 * most


class _Sweep(NamedTuple):
    """What the moves at one temperature came to; the sums are over the changes of cost that were offered.

    ``total`` and ``squares`` count refused moves as well: their spread sets the first temperature.
    """

    cost: int
    best_cost: int
    accepted: int
    total: float
    squares: float


@borrowing
def _sweep(
    moves: int, temperature: float, reach: int, before: _Sweep, state: RandomState,
    placement: GridPlacement, graph: PlacedGraph, prices: HopPrices, grid: TileGrid,
) -> _Sweep:  # fmt: skip
    """Make the moves of one temperature, from the costs that the sweep before came to.

    Moves to a fixed tile, or to one where a node of the swap may not sit, count as made but are not offered. The best
    placement is copied whenever the cost falls below the best so far, which is rare after the first temperatures.
    """
    position, occupant = placement.position, placement.occupant
    cost, best_cost = before.cost, before.best_cost
    accepted = 0
    total = 0.0
    squares = 0.0
    for _ in range(moves):
        a = graph.movable[random_below(state, len(graph.movable))]
        there = draw_tile(a, reach, state, position, graph, grid)
        here = position[a]
        if there == here or grid.fixed[there] or not grid.allowed[graph.kind[a], there]:
            continue
        b = occupant[there]
        if b >= 0 and not grid.allowed[graph.kind[b], here]:
            continue
        delta = _rise(a, b, here, there, position, graph, prices, grid)
        if b >= 0:
            delta += _rise(b, a, there, here, position, graph, prices, grid)
        total += delta
        squares += np.float64(delta) * delta
        if accepts(delta, temperature, state):
            position[a] = there
            occupant[there] = a
            occupant[here] = b
            if b >= 0:
                position[b] = here
            cost += delta
            accepted += 1
            if cost < best_cost:
                best_cost = cost
                copy_row(position, placement.best)
    return _Sweep(cost, best_cost, accepted, total, squares)


@kernel
def anneal(
    position: Int32s,
    graph: PlacedGraph,
    prices: HopPrices,
    grid: TileGrid,
    schedule: CoolingSchedule,
    seed: int,
    stop: Uint8s,
) -> tuple[int, int]:
    """Anneal ``position`` in place to the best placement found: (its cost, moves made).

    The run ends when it is cold, at the schedule's floor, or when ``stop`` is set, which is looked at once per
    temperature. Cold is a temperature at which a single hop of the cheapest edge is hardly ever accepted. A start that
    is not hot (``heat`` up to 0.3) begins with a third of the range, so that it changes the given placement near by.
    """
    state = random_state(seed)
    occupant = np.full(len(grid.row), -1, dtype=np.int32)
    for a in range(len(position)):
        occupant[position[a]] = a
    placement = GridPlacement(position, occupant, position.copy())
    cost = total_cost(position, graph, prices, grid)
    if len(graph.movable) == 0:
        return cost, 0
    widest = max(grid.tile.shape[0], grid.tile.shape[1]) - 1
    # Random moves on a copy tell how far costs spread. No cost is below the best one given, so that none is kept.
    trial = GridPlacement(position.copy(), occupant.copy(), placement.best)
    made = max(200, 4 * len(graph.movable))
    sweep = _Sweep(cost, int64(-(1 << 40)), int64(0), 0.0, 0.0)
    sweep = _sweep(made, 1e30, widest, sweep, state, trial, graph, prices, grid)
    spread = np.sqrt(max(sweep.squares / made - (sweep.total / made) ** 2, 1e-12))
    temperature = schedule.heat * spread
    coldest = 0.08 * _least_weight(prices.weight)
    reach = np.float64(widest) if schedule.heat > 0.3 else max(1.0, 0.35 * widest)
    sweep = _Sweep(cost, cost, int64(0), 0.0, 0.0)
    while sweep.best_cost > schedule.floor_cost and stop[0] == 0:
        sweep = _sweep(
            schedule.moves_each, temperature, max(1, int(reach)), sweep, state, placement, graph, prices, grid
        )
        made += schedule.moves_each
        share = sweep.accepted / schedule.moves_each
        if temperature < coldest:
            break
        reach = vpr_reach(reach, share, widest)
        temperature *= vpr_factor(share, reach)
    copy_row(placement.best, position)
    return sweep.best_cost, made


@borrowing
def _least_weight(weight: Int32s) -> float:
    """The smallest weight above 0, which is the smallest change of cost there is; 1 where there is none."""
    least = 1 << 30
    for k in range(len(weight)):
        if 0 < weight[k] < least:
            least = weight[k]
    return np.float64(least if least < 1 << 30 else 1)
