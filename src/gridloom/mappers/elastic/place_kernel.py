"""Moves of dataflow placements, compiled: proposals for a batch of chains, and a quick start by wirelength."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def seed_generator(seed: int) -> None:
    """Seed the generator of the compiled moves."""
    np.random.seed(seed)


@njit(cache=True, nogil=True)
def _pick(unit: int, near: int, reach: float, kind: Ints, tile_start: Ints, tiles: Ints, rows: Ints, cols: Ints) -> int:
    """A random tile of the unit's kind; near a tile, if one is given: the nearest of a few."""
    begin, end = tile_start[kind[unit]], tile_start[kind[unit] + 1]
    best = int(tiles[np.random.randint(begin, end)])
    if near < 0:
        return best
    tries = 1 + int(reach)
    distance = abs(rows[best] - rows[near]) + abs(cols[best] - cols[near])
    for _ in range(tries):
        other = int(tiles[np.random.randint(begin, end)])
        away = abs(rows[other] - rows[near]) + abs(cols[other] - cols[near])
        if away < distance:
            best, distance = other, away
    return best


@njit(cache=True, nogil=True)
def propose(
    places: Ints,
    holder: Ints,
    aimed: float,
    reach: float,
    source: Ints,
    target: Ints,
    heavy: Floats,
    kind: Ints,
    fixed: NDArray[np.bool_],
    tile_start: Ints,
    tiles: Ints,
    rows: Ints,
    cols: Ints,
    moved: Ints,
) -> None:
    """One move a chain: a unit goes to another tile of its kind, and who is there comes back in exchange.

    A share ``aimed`` of the moves brings an end of a flow (by its rate: ``heavy`` is the running sum) near the other.
    Changes ``places`` and ``holder``; ``moved[chain]`` is (unit, tile it left), (-1, -1) where nothing moved.
    """
    for chain in range(len(places)):
        moved[chain, 0] = -1
        near = -1
        if len(source) and np.random.random() < aimed:
            flow = min(np.searchsorted(heavy, np.random.random() * heavy[-1]), len(source) - 1)
            first = np.random.random() < 0.5
            unit = source[flow] if first else target[flow]
            near = places[chain, target[flow] if first else source[flow]]
        else:
            unit = np.random.randint(0, places.shape[1])
        if fixed[unit]:
            continue
        tile = _pick(unit, near, reach, kind, tile_start, tiles, rows, cols)
        old = places[chain, unit]
        other = holder[chain, tile]
        if tile == old or (other >= 0 and fixed[other]):
            continue
        exchange(places, holder, chain, unit, tile)
        moved[chain, 0] = unit
        moved[chain, 1] = old


@njit(cache=True, nogil=True)
def exchange(places: Ints, holder: Ints, chain: int, unit: int, tile: int) -> None:
    """Put a unit on a tile; who was there goes to where the unit came from."""
    old = places[chain, unit]
    other = holder[chain, tile]
    places[chain, unit] = tile
    holder[chain, tile] = unit
    holder[chain, old] = other
    if other >= 0:
        places[chain, other] = old


@njit(cache=True, nogil=True)
def take_back(places: Ints, holder: Ints, moved: Ints, accepted: NDArray[np.bool_]) -> None:
    """Undo the moves that were not accepted."""
    for chain in range(len(places)):
        if moved[chain, 0] >= 0 and not accepted[chain]:
            exchange(places, holder, chain, moved[chain, 0], moved[chain, 1])


@njit(cache=True, nogil=True)
def shorten(
    places: Ints,
    holder: Ints,
    sweeps: int,
    source: Ints,
    target: Ints,
    rate: Floats,
    flow_start: Ints,
    flows: Ints,
    kind: Ints,
    fixed: NDArray[np.bool_],
    tile_start: Ints,
    tiles: Ints,
    rows: Ints,
    cols: Ints,
) -> None:
    """Anneal each chain on the sum of rate times distance alone: O(sweeps * units) cheap moves a chain."""
    units = places.shape[1]
    for chain in range(len(places)):
        total = sweeps * units
        for move in range(total):
            heat = 1.5 * (1.0 - move / total) ** 2
            unit = np.random.randint(0, units)
            tile = _pick(unit, -1, 0.0, kind, tile_start, tiles, rows, cols)
            other = holder[chain, tile]
            old = places[chain, unit]
            if fixed[unit] or tile == old or (other >= 0 and fixed[other]):
                continue
            before = _wire(unit, other, places[chain], source, target, rate, flow_start, flows, rows, cols)
            exchange(places, holder, chain, unit, tile)
            after = _wire(unit, other, places[chain], source, target, rate, flow_start, flows, rows, cols)
            if after > before and np.random.random() >= np.exp((before - after) / (heat + 1e-9)):
                exchange(places, holder, chain, unit, old)


@njit(cache=True, nogil=True)
def _wire(
    unit: int,
    other: int,
    place: Ints,
    source: Ints,
    target: Ints,
    rate: Floats,
    flow_start: Ints,
    flows: Ints,
    rows: Ints,
    cols: Ints,
) -> float:
    total = 0.0
    for k in range(2):
        end = unit if k == 0 else other
        if end < 0:
            continue
        for j in range(flow_start[end], flow_start[end + 1]):
            f = flows[j]
            a, b = place[source[f]], place[target[f]]
            # Long ways of heavy flows are what waits; the square makes them dearer than many short ones.
            away = abs(rows[a] - rows[b]) + abs(cols[a] - cols[b])
            total += rate[f] * away * (1.0 + 0.2 * away)
    return total
