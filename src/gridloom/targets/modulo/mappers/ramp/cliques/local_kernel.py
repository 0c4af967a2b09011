"""Maximum cliques by local search, compiled, on the bit rows of a compatibility graph.

This is dynamic local search for cliques (Pullan and Hoos 2006) on a graph in as many parts as there are ops: an op
without a tile goes where it is incompatible with least, what is incompatible leaves, and what left does not come back
at once. Ops have weights: an op with many links is displaced less easily. Cost per move: the ops, and the tiles that
related ops rule out.
"""

from __future__ import annotations

import numpy as np

from gridloom.jit import copy_row, int64, internal, kernel
from gridloom.search.arrays import Int64s, Uint8s
from gridloom.targets.modulo.mappers.ramp.cliques.compatibility_kernel import (
    Clique,
    CompatibilityGraph,
    Files,
    count_conflicts,
    draw,
    full_slot,
    hold,
    is_compatible,
    short,
)


@internal
def _remove(graph: CompatibilityGraph, files: Files, clique: Clique, op: int, until: int) -> None:
    """Take an op off its tile, which it does not get back before move ``until``."""
    tile = clique.place[op]
    clique.place[op] = -1
    clique.until[op * graph.able.shape[1] + tile] = until
    hold(files, clique, op, tile, int64(-1))


@internal
def _choose(graph: CompatibilityGraph, files: Files, clique: Clique, op: int, move: int, counts: Int64s) -> int:
    """Return the tile on which an op is against least, and of these one near the ops around it; -1: it has none.

    Incompatible ops count 4 times their weight, a short file 2 or 4. A tile that the op left lately is taken only if it
    costs nothing, or where there is no other. Among equals, wires to the ops that it exchanges values with decide, and
    chance: on a large array ops would otherwise be spread over tiles that no clique joins again.
    """
    tiles = graph.able.shape[1]
    best, nearest, chosen = int64(1 << 40), int64(1 << 40), int64(-1)
    count_conflicts(graph, clique.place, clique.weight, op, counts)
    for tile in range(tiles):
        if not graph.able[op, tile]:
            continue
        cost = 4 * counts[tile]
        late = clique.until[op * tiles + tile] > move
        if late and cost > 0:
            cost += 1 << 20
        if cost > best:
            continue
        lacking = 2 * min(2, short(files, clique, op, tile))
        cost += lacking
        if late and lacking > 0 and cost < 1 << 20:
            cost += 1 << 20
        if cost > best:
            continue
        wires = int64(draw(clique.random_state, int64(8)))
        for k in range(graph.near_at[op], graph.near_at[op + 1]):
            other = clique.place[graph.near[k]]
            if other >= 0:
                wires += 4 * graph.hops[tile, other]
        if cost < best or wires < nearest:
            best, nearest, chosen = cost, wires, int64(tile)
    return int(chosen)


@internal
def _make_room(graph: CompatibilityGraph, files: Files, clique: Clique, op: int, move: int) -> None:
    """Take out what an op that has just been placed is incompatible with.

    Then, while the register file is too full, a random op that needs an overfull slot or keeps a live-in leaves. If
    there is none, the op itself does.
    """
    ops, tiles = graph.able.shape
    vertex = op * tiles + clique.place[op]
    for k in range(graph.related_at[op], graph.related_at[op + 1]):
        other = graph.related[k]
        if clique.place[other] >= 0 and not is_compatible(graph.rows, vertex, other * tiles + clique.place[other]):
            _remove(graph, files, clique, other, move + 2 + draw(clique.random_state, int64(4 + ops // 8)))
    file = files.file_of[clique.place[op]]
    if file < 0:
        return
    full = full_slot(files, clique, file)
    while full >= 0:
        gone, equals = int64(-1), int64(0)
        for other in range(ops):
            tile = clique.place[other]
            if other == op or tile < 0 or files.file_of[tile] != file:
                continue
            if files.need[other, full] > 0 or files.keep_at[other + 1] > files.keep_at[other]:
                equals += 1
                if draw(clique.random_state, equals) == 0:
                    gone = int64(other)
        if gone < 0:
            _remove(graph, files, clique, op, move + 2 + ops)
            return
        _remove(graph, files, clique, gone, move + 2 + draw(clique.random_state, int64(4 + ops // 8)))
        full = full_slot(files, clique, file)


@internal
def _begin(graph: CompatibilityGraph, files: Files, clique: Clique, start: Int64s, counts: Int64s) -> None:
    """Place what can stay of a start, in the order of the ops."""
    for op in range(graph.able.shape[0]):
        tile = start[op]
        if tile < 0 or not graph.able[op, tile]:
            continue
        count_conflicts(graph, clique.place, clique.weight, op, counts)
        if counts[tile] == 0 and short(files, clique, op, tile) == 0:
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
    """Return the tile of each op in the heaviest clique found, -1: not in it.

    Begins with what can stay of ``start``; ends when every op has a tile, after ``moves`` moves without a heavier
    clique, or when ``stop`` is set. ``report[0]`` counts moves. Of the ops without a tile, the one that has waited
    longest comes next, with some chance. The same seed gives the same clique.
    """
    ops, tiles = graph.able.shape
    clique.random_state[0] = np.uint64(seed)
    counts = np.zeros(tiles, dtype=np.int64)
    _begin(graph, files, clique, start, counts)
    best = clique.place.copy()
    least, since = int64(1 << 40), 0
    waiting = np.zeros(ops, dtype=np.int64)
    move = 0
    while since <= moves:
        move += 1
        since += 1
        lacking, chosen, longest = int64(0), -1, -1
        for op in range(ops):
            if clique.place[op] >= 0:
                waiting[op] = 0
            else:
                lacking += clique.weight[op]
                drawn = 8 * waiting[op] + draw(clique.random_state, int64(8))
                waiting[op] += 1
                if drawn > longest:
                    chosen, longest = op, drawn
        if lacking < least:
            least, since = lacking, 0
            copy_row(clique.place, best)
        if chosen < 0 or stop[0]:
            break
        report[0] += 1
        waiting[chosen] = 0
        tile = _choose(graph, files, clique, chosen, move, counts)
        if tile >= 0:
            clique.place[chosen] = tile
            hold(files, clique, chosen, tile, int64(1))
            _make_room(graph, files, clique, chosen, move)
    return best
