"""Maximum cliques as RAMP's paper has them, compiled: A. Dharwadker, The Clique Algorithm (2006).

Two procedures work on a clique. The first adjoins vertices while any is joined to all of the clique, each time the one
that leaves the most vertices to adjoin. The second exchanges a vertex of the clique for one that is joined to all
others, and goes on with the first. Part one begins with every vertex alone; part two begins with what two of the
cliques found have in common.

Here the sets are rows of bits, a vertex is adjoined only where the register file of its tile has room, and the search
ends with the first clique that holds every op. The published bound is polynomial and large, so steps are limited too.
Cost per step: the vertices that can be adjoined times the words of a row.
"""

from __future__ import annotations

import numpy as np

from gridloom.jit import copy_row, int64, internal, kernel
from gridloom.search.arrays import Int64s, Uint8s, Uint64s
from gridloom.targets.modulo.mappers.ramp.cliques.compatibility_kernel import (
    Clique,
    CompatibilityGraph,
    Files,
    hold,
    is_compatible,
    lowest,
    ones,
    short,
)


@internal
def _add(graph: CompatibilityGraph, files: Files, clique: Clique, free: Uint64s, vertex: int) -> None:
    """Put a vertex into the clique; ``free`` keeps the vertices that are joined to all of it."""
    tiles = graph.able.shape[1]
    clique.place[vertex // tiles] = vertex % tiles
    hold(files, clique, vertex // tiles, vertex % tiles, int64(1))
    for word in range(len(free)):
        free[word] &= graph.rows[vertex, word]


@internal
def _take(files: Files, clique: Clique, op: int) -> None:
    """Take an op out of the clique."""
    hold(files, clique, op, clique.place[op], int64(-1))
    clique.place[op] = -1


@internal
def _set_free(graph: CompatibilityGraph, clique: Clique, free: Uint64s) -> None:
    """Find the vertices that are joined to all of the clique."""
    ops, tiles = graph.able.shape
    for word in range(len(free)):
        free[word] = np.uint64(0)
    for vertex in range(ops * tiles):
        if graph.able[vertex // tiles, vertex % tiles]:
            free[vertex >> 6] |= np.uint64(1) << np.uint64(vertex & 63)
    for op in range(ops):
        if clique.place[op] >= 0:
            for word in range(len(free)):
                free[word] &= graph.rows[op * tiles + clique.place[op], word]


@internal
def _adjoin(graph: CompatibilityGraph, files: Files, clique: Clique, free: Uint64s, report: Int64s) -> None:
    """Adjoin vertices while there are any, each time that which leaves the most to adjoin (procedure 3.1)."""
    tiles = graph.able.shape[1]
    while True:
        best, most = int64(-1), int64(-1)
        for word in range(len(free)):
            rest = free[word]
            while rest != np.uint64(0):
                vertex = int64(64 * word + lowest(rest))
                rest &= rest - np.uint64(1)
                if short(files, clique, vertex // tiles, vertex % tiles) > 0:
                    free[word] &= ~(np.uint64(1) << np.uint64(vertex & 63))
                    continue
                left = int64(0)
                for other in range(len(free)):
                    left += ones(free[other] & graph.rows[vertex, other])
                if left > most:
                    best, most = vertex, left
        if best < 0:
            return
        report[0] += 1
        _add(graph, files, clique, free, best)


@internal
def _exchange(graph: CompatibilityGraph, files: Files, clique: Clique, free: Uint64s, turn: int) -> bool:
    """Exchange a vertex for one that is joined to all others of the clique (procedure 3.2); False: none is.

    The search for it begins elsewhere each time, so that repeated exchanges do not undo each other.
    """
    ops, tiles = graph.able.shape
    count = ops * tiles
    for k in range(count):
        vertex = (k + turn) % count
        op, tile = vertex // tiles, vertex % tiles
        if not graph.able[op, tile] or clique.place[op] == tile:
            continue
        against, gone = 0, -1
        for other in range(ops):
            if clique.place[other] >= 0 and not is_compatible(graph.rows, vertex, other * tiles + clique.place[other]):
                against += 1
                gone = other
                if against > 1:
                    break
        if against != 1:
            continue
        before = clique.place[gone]
        _take(files, clique, gone)
        if short(files, clique, op, tile) == 0:
            _set_free(graph, clique, free)
            _add(graph, files, clique, free, vertex)
            return True
        clique.place[gone] = before
        hold(files, clique, gone, before, int64(1))
    return False


@internal
def _grow(graph: CompatibilityGraph, files: Files, clique: Clique, free: Uint64s, best: Int64s, report: Int64s) -> int:
    """Adjoin, then exchange and adjoin as often as there are ops; keep the largest clique; return its size."""
    ops = graph.able.shape[0]
    _set_free(graph, clique, free)
    _adjoin(graph, files, clique, free, report)
    most = _keep(clique, best)
    for turn in range(ops):
        if most == ops:
            break
        if not _exchange(graph, files, clique, free, turn * graph.able.shape[1]):
            break
        report[0] += 1
        _adjoin(graph, files, clique, free, report)
        most = _keep(clique, best)
    return most


@internal
def _size(place: Int64s) -> int:
    """Return how many ops have a tile."""
    size = 0
    for op in range(len(place)):
        if place[op] >= 0:
            size += 1
    return size


@internal
def _keep(clique: Clique, best: Int64s) -> int:
    """Keep the clique if it is larger than the best; return the size of the best."""
    if _size(clique.place) > _size(best):
        copy_row(clique.place, best)
    return _size(best)


@internal
def _restart(files: Files, clique: Clique, first: Int64s, second: Int64s) -> None:
    """Begin again with what two placements have in common, as far as registers allow."""
    for op in range(len(first)):
        if clique.place[op] >= 0:
            _take(files, clique, op)
    for op in range(len(first)):
        tile = first[op]
        if tile >= 0 and tile == second[op] and short(files, clique, op, tile) == 0:
            clique.place[op] = tile
            hold(files, clique, op, tile, int64(1))


@kernel
def find_clique(
    graph: CompatibilityGraph,
    files: Files,
    clique: Clique,
    start: Int64s,
    moves: int,
    seed: int,
    stop: Uint8s,
    report: Int64s,
) -> Int64s:
    """Return the tile of each op in the largest clique found, -1: not in it.

    Part one begins with every vertex, from one that the seed chooses on, part two with pairs of the cliques of part
    one. Ends when every op has a tile, after ``moves`` vertices adjoined or exchanged, or when ``stop`` is set.
    ``start`` is not used: the published algorithm has none. ``report[0]`` counts moves.
    """
    ops, tiles = graph.able.shape
    count = ops * tiles
    free = np.zeros(graph.rows.shape[1], dtype=np.uint64)
    best = clique.place.copy()
    single = best.copy()
    known = np.zeros((min(count, 256), ops), dtype=np.int64)
    found = 0
    for k in range(count):
        vertex = (k * 7919 + seed) % count
        if stop[0] or report[0] > moves or found == len(known) or not graph.able[vertex // tiles, vertex % tiles]:
            continue
        for op in range(ops):
            single[op] = -1
        single[vertex // tiles] = vertex % tiles
        _restart(files, clique, single, single)
        if _grow(graph, files, clique, free, best, report) == ops:
            return best
        copy_row(clique.place, known[found])
        found += 1
    for a in range(found):
        for b in range(a + 1, found):
            if stop[0] or report[0] > 2 * moves:
                return best
            _restart(files, clique, known[a], known[b])
            if _grow(graph, files, clique, free, best, report) == ops:
                return best
    return best
