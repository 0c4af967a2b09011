"""Moves of dataflow placements, compiled: proposals for a batch of chains, and a quick start by wirelength.

``places`` and ``holder`` of a chain are inverse to each other at all times; ``_exchange`` is the only change and its
own inverse, so a proposal that is not accepted is taken back by the same exchange. Random numbers come from numba's own
generator of the calling thread, which ``seed_generator`` seeds; all kernels of a run are called from one thread.
"""

from __future__ import annotations

import numpy as np

from gridloom.jit import borrowing, kernel
from gridloom.search.arrays import Bools, Int64s, Uint8s
from gridloom.targets.dataflow.mappers.tables import Chains, PipelineUnits, Sites


@kernel
def seed_generator(seed: int) -> None:
    """Seed the generator of the compiled moves, which is not that of numpy outside."""
    np.random.seed(seed)


@borrowing
def _away(sites: Sites, a: int, b: int) -> int:
    """The Manhattan distance between two tiles."""
    distance: int = abs(sites.rows[a] - sites.rows[b]) + abs(sites.cols[a] - sites.cols[b])
    return distance


@borrowing
def _any_tile(sites: Sites, kind: int) -> int:
    """A random tile for a kind of unit."""
    return int(sites.tiles[np.random.randint(sites.tile_start[kind], sites.tile_start[kind + 1])])


@borrowing
def _tile_near(sites: Sites, kind: int, near: int, tries: int) -> int:
    """The nearest to a tile out of ``tries`` + 1 random tiles for a kind of unit.

    The more tries, the more local is the move; a search raises them while it cools.
    """
    best = _any_tile(sites, kind)
    distance = _away(sites, best, near)
    for _ in range(tries):
        other = _any_tile(sites, kind)
        if _away(sites, other, near) < distance:
            best, distance = other, _away(sites, other, near)
    return best


@borrowing
def _exchange(chains: Chains, chain: int, unit: int, tile: int) -> None:
    """Put a unit on a tile; what was there goes to where the unit came from."""
    old = chains.places[chain, unit]
    other = chains.holder[chain, tile]
    chains.places[chain, unit] = tile
    chains.holder[chain, tile] = unit
    chains.holder[chain, old] = other
    if other >= 0:
        chains.places[chain, other] = old


@kernel
def propose(chains: Chains, units: PipelineUnits, sites: Sites, aimed: float, tries: int, moved: Int64s) -> None:
    """Make one move in each chain: a unit goes to another tile of its kind, and what is there comes back in exchange.

    A share ``aimed`` of the moves brings an end of a flow (by its rate) near the other: to the nearest of ``tries`` + 1
    random tiles. Changes ``chains``; ``moved[chain]`` is (unit, tile it left), (-1, -1) where nothing moved.
    """
    flows = len(units.source)
    for chain in range(len(chains.places)):
        moved[chain, 0] = -1
        if flows and np.random.random() < aimed:
            flow = min(np.searchsorted(units.cumulative, np.random.random() * units.cumulative[-1]), flows - 1)
            first = np.random.random() < 0.5
            unit = units.source[flow] if first else units.target[flow]
            if units.fixed[unit]:
                continue
            near = chains.places[chain, units.target[flow] if first else units.source[flow]]
            tile = _tile_near(sites, units.kind[unit], near, tries)
        else:
            unit = np.random.randint(0, chains.places.shape[1])
            if units.fixed[unit]:
                continue
            tile = _any_tile(sites, units.kind[unit])
        old = chains.places[chain, unit]
        other = chains.holder[chain, tile]
        if tile == old or (other >= 0 and units.fixed[other]):
            continue
        _exchange(chains, chain, unit, tile)
        moved[chain, 0] = unit
        moved[chain, 1] = old


@kernel
def take_back(chains: Chains, moved: Int64s, accepted: Bools) -> None:
    """Undo the moves that were not accepted."""
    for chain in range(len(chains.places)):
        if moved[chain, 0] >= 0 and not accepted[chain]:
            _exchange(chains, chain, moved[chain, 0], moved[chain, 1])


@borrowing
def _wires(units: PipelineUnits, sites: Sites, place: Int64s, unit: int, other: int) -> float:
    """What the flows of two units cost by rate and distance; ``other`` -1: those of one.

    A flow between the two is counted twice, before and after an exchange alike, so that the difference is what it is
    for an exchange of the two: their distance does not change.
    """
    total = 0.0
    for k in range(2):
        end = unit if k == 0 else other
        if end < 0:
            continue
        for j in range(units.flow_start[end], units.flow_start[end + 1]):
            f = units.flows[j]
            # Long routes of heavy flows are what waits; the square makes them dearer than many short ones.
            away = _away(sites, place[units.source[f]], place[units.target[f]])
            total += units.rate[f] * away * (1.0 + 0.2 * away)
    return total


@kernel
def shorten(chains: Chains, units: PipelineUnits, sites: Sites, sweeps: int, stop: Uint8s) -> None:
    """Anneal each chain on the sum of rate times distance alone: O(sweeps * units) cheap moves for each chain.

    The temperature falls as a parabola from 1.5 to 0. Changes are computed from the flows of the moved units only. Ends
    early once ``stop`` is set, with the chains as they are.
    """
    count = chains.places.shape[1]
    total = sweeps * count
    for chain in range(len(chains.places)):
        place = chains.places[chain]
        for move in range(total):
            if stop[0] != 0:
                return
            heat = 1.5 * (1.0 - move / total) ** 2
            unit = np.random.randint(0, count)
            tile = _any_tile(sites, units.kind[unit])
            other = chains.holder[chain, tile]
            old = place[unit]
            if units.fixed[unit] or tile == old or (other >= 0 and units.fixed[other]):
                continue
            before = _wires(units, sites, place, unit, other)
            _exchange(chains, chain, unit, tile)
            after = _wires(units, sites, place, unit, other)
            if after > before and np.random.random() >= np.exp((before - after) / (heat + 1e-9)):
                _exchange(chains, chain, unit, old)
