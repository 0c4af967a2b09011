"""Maximum cliques in the compatibility graph of (op, PE) pairs, compiled, on bit sets.

Vertex ``op * tiles + tile`` stands for an op on a tile at the cycle that a schedule gave it; two vertices are joined
when both can be true. A clique of as many vertices as there are ops is a placement. Registers are not a matter of
pairs: what a file has to hold in each slot is counted beside the clique.

The search is a local one (dynamic local search for cliques, Pullan and Hoos 2006, on a graph in as many parts as there
are ops): an op without a tile goes where it is incompatible with least, what is incompatible leaves, and what left does
not come back at once. Cost per move: O(vertices / 64 + incompatible vertices).

Row a of the bit sets has bit b (word b / 64) set when vertices a and b are compatible. ``Clique.against`` is kept up to
date with every insertion and removal, so that the price of a candidate is one look.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.mappers.core.arrays import Bools, Int64s, Uint8s, Uint64s
from gridloom.mappers.core.kernels import internal, kernel


class Relations(NamedTuple):
    """What makes two ops on two tiles incompatible, besides that an op has one tile."""

    #: able[op, tile] is True where the op can run.
    able: Bools
    #: For each op the slot of its issue, and the slot of its result (-1: it has none).
    slot: Int64s
    result: Int64s
    #: pool[op, tile] is the shared bus that the op takes there; -1: it takes none.
    pool: Int64s
    #: Pairs of ops, and the row of ``tables`` that says which tiles they may have.
    first: Int64s
    second: Int64s
    row: Int64s
    #: tables[row, first tile, second tile] is True when the two ops may be there.
    tables: Bools


class Files(NamedTuple):
    """What register files have to hold, by op, if it is placed on a tile of the file."""

    #: For each tile its file (-1: none); for each file its registers, and how many of them may keep live-ins.
    file_of: Int64s
    room: Int64s
    still: Int64s
    #: need[op, slot] is the number of registers that the result takes in the file of its tile.
    need: Int64s
    #: CSR: the live-ins that the file of an op's tile keeps for it.
    keep_at: Int64s
    keep: Int64s
    liveins: int


class Clique(NamedTuple):
    """A clique in the making, with the counts that follow from it; each search begins with an empty one."""

    place: Int64s
    #: For each vertex the number of placed ops that it is incompatible with, and the move until which it is not taken.
    against: Int64s
    until: Int64s
    held: Int64s
    #: kept[file, live-in] is the number of ops that it is kept for, keeps[file] the number of live-ins kept.
    kept: Int64s
    keeps: Int64s
    #: The state of the random numbers.
    random_state: Uint64s


@internal
def _draw(random_state: Uint64s, below: int) -> int:
    """A number from 0 to ``below`` - 1 (splitmix64)."""
    random_state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = random_state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((word ^ (word >> np.uint64(31))) % np.uint64(below))


@internal
def _clear(rows: Uint64s, a: int, b: int) -> None:
    """Make two vertices incompatible."""
    rows[a, b >> 6] &= ~(np.uint64(1) << np.uint64(b & 63))
    rows[b, a >> 6] &= ~(np.uint64(1) << np.uint64(a & 63))


@internal
def _joined(rows: Uint64s, a: int, b: int) -> bool:
    """True when two vertices are compatible."""
    return bool((rows[a, b >> 6] >> np.uint64(b & 63)) & np.uint64(1))


@kernel
def compatibility(relations: Relations) -> Uint64s:
    """Rows of bits: vertex -> vertices that it is compatible with. O(ops^2 * tiles + related pairs * tiles^2).

    Starts from all vertices that exist and takes away: another tile of the same op, ops of one slot on one tile or bus,
    results of one slot in one output register, and the tiles that the relations between two ops forbid.
    """
    ops, tiles = relations.able.shape
    count = ops * tiles
    words = (count + 63) // 64
    rows = np.zeros((count, words), dtype=np.uint64)
    whole = np.zeros(words, dtype=np.uint64)
    for a in range(count):
        if relations.able[a // tiles, a % tiles]:
            whole[a >> 6] |= np.uint64(1) << np.uint64(a & 63)
    for a in range(count):
        op = a // tiles
        if relations.able[op, a % tiles]:
            rows[a, :] = whole
            for b in range(op * tiles, op * tiles + tiles):
                rows[a, b >> 6] &= ~(np.uint64(1) << np.uint64(b & 63))
    for a in range(ops):
        for b in range(a + 1, ops):
            same = relations.slot[a] == relations.slot[b]
            writes = relations.result[a] >= 0 and relations.result[a] == relations.result[b]
            if not same and not writes:
                continue
            for p in range(tiles):
                _clear(rows, a * tiles + p, b * tiles + p)
                pool = relations.pool[a, p]
                if not same or pool < 0:
                    continue
                for q in range(tiles):
                    if relations.pool[b, q] == pool:
                        _clear(rows, a * tiles + p, b * tiles + q)
    for k in range(len(relations.first)):
        a, b = relations.first[k], relations.second[k]
        for p in range(tiles):
            for q in range(tiles):
                if not relations.tables[relations.row[k], p, q]:
                    _clear(rows, a * tiles + p, b * tiles + q)
    return rows


@internal
def _trailing(word: np.uint64) -> int:
    """The position of the lowest bit that is set."""
    count = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if word & ((np.uint64(1) << np.uint64(shift)) - np.uint64(1)) == np.uint64(0):
            count += shift
            word >>= np.uint64(shift)
    return count


@internal
def _count(rows: Uint64s, clique: Clique, vertex: int, step: int) -> None:
    """Tell all vertices that are incompatible with one that it came (or went)."""
    count = rows.shape[0]
    for word in range(rows.shape[1]):
        rest = ~rows[vertex, word]
        while rest != np.uint64(0):
            other = word * 64 + _trailing(rest)
            rest &= rest - np.uint64(1)
            if other < count:
                clique.against[other] += step


@internal
def _hold(files: Files, clique: Clique, op: int, tile: int, step: int) -> None:
    """Add (or take away) what an op on a tile needs of its file."""
    file = files.file_of[tile]
    if file < 0:
        return
    for slot in range(files.need.shape[1]):
        clique.held[file, slot] += step * files.need[op, slot]
    for k in range(files.keep_at[op], files.keep_at[op + 1]):
        livein = files.keep[k]
        before = clique.kept[file, livein]
        clique.kept[file, livein] += step
        if (before == 0) != (before + step == 0):
            clique.keeps[file] += step


@internal
def _short(files: Files, clique: Clique, op: int, tile: int) -> int:
    """Registers that a file would be short of, over all slots, with an op more; 0 for a tile without a file."""
    file = files.file_of[tile]
    if file < 0:
        return 0
    more = clique.keeps[file]
    for k in range(files.keep_at[op], files.keep_at[op + 1]):
        if clique.kept[file, files.keep[k]] == 0:
            more += 1
    short: int = max(0, more - files.still[file])
    for slot in range(files.need.shape[1]):
        short += max(0, clique.held[file, slot] + files.need[op, slot] + more - files.room[file])
    return short


@internal
def _insert(rows: Uint64s, files: Files, clique: Clique, op: int, tile: int) -> None:
    """Place an op on a tile; the clique may be none for the moment."""
    clique.place[op] = tile
    _count(rows, clique, op * rows.shape[0] // len(clique.place) + tile, 1)
    _hold(files, clique, op, tile, 1)


@internal
def _remove(rows: Uint64s, files: Files, clique: Clique, op: int, until: int) -> None:
    """Take an op off its tile, which it does not get back before move ``until``."""
    tile = clique.place[op]
    vertex = op * rows.shape[0] // len(clique.place) + tile
    clique.place[op] = -1
    clique.until[vertex] = until
    _count(rows, clique, vertex, -1)
    _hold(files, clique, op, tile, -1)


@internal
def _choose(able: Bools, files: Files, clique: Clique, op: int, move: int) -> int:
    """The tile on which an op is against least, among equals by chance; -1: it has none.

    Incompatible ops count 4 each, a short file 2 or 4. A tile that the op left lately is taken only if it costs
    nothing, or where there is no other.
    """
    tiles = able.shape[1]
    best, chosen, equals = 1 << 40, -1, 0
    for tile in range(tiles):
        if not able[op, tile]:
            continue
        vertex = op * tiles + tile
        cost = 4 * clique.against[vertex] + 2 * min(2, _short(files, clique, op, tile))
        if cost > 0 and clique.until[vertex] > move:
            cost += 1 << 20
        if cost < best:
            best, chosen, equals = cost, tile, 1
        elif cost == best:
            equals += 1
            if _draw(clique.random_state, equals) == 0:
                chosen = tile
    return chosen


@internal
def _make_room(rows: Uint64s, able: Bools, files: Files, clique: Clique, op: int, move: int) -> int:
    """Take out what an op that has just been placed is incompatible with; returns how many ops left.

    Then, while the register file is too full, a random op that needs an overfull slot or keeps a live-in leaves. If
    there is none, the op itself does.
    """
    ops, tiles = able.shape
    vertex = op * tiles + clique.place[op]
    left = 0
    for other in range(ops):
        if other == op or clique.place[other] < 0:
            continue
        if not _joined(rows, vertex, other * tiles + clique.place[other]):
            _remove(rows, files, clique, other, move + 2 + _draw(clique.random_state, 4 + ops // 8))
            left += 1
    file = files.file_of[clique.place[op]]
    while file >= 0:
        full = 0 if clique.keeps[file] > files.still[file] else -1
        for slot in range(files.need.shape[1]):
            if clique.held[file, slot] + clique.keeps[file] > files.room[file]:
                full = slot
        if full < 0:
            break
        gone, equals = -1, 0
        for other in range(ops):
            tile = clique.place[other]
            if other == op or tile < 0 or files.file_of[tile] != file:
                continue
            if files.need[other, full] > 0 or files.keep_at[other + 1] > files.keep_at[other]:
                equals += 1
                if _draw(clique.random_state, equals) == 0:
                    gone = other
        if gone < 0:
            _remove(rows, files, clique, op, move + 2 + ops)
            return left + 1
        _remove(rows, files, clique, gone, move + 2 + _draw(clique.random_state, 4 + ops // 8))
        left += 1
    return left


@kernel
def find_clique(rows: Uint64s, able: Bools, files: Files, clique: Clique, start: Int64s, moves: int, seed: int,
                stop: Uint8s, report: Int64s) -> Int64s:  # fmt: skip
    """The tile of each op in the largest clique found, -1: not in it.

    Begins with what can stay of ``start``; ends when every op has a tile, after ``moves`` moves without a larger
    clique, or when ``stop`` is set. ``report[0]`` counts moves. Of the ops without a tile, the one that has waited
    longest comes next, with some chance. The same seed gives the same clique.
    """
    ops = able.shape[0]
    clique.random_state[0] = np.uint64(seed)
    for op in range(ops):
        if start[op] >= 0 and able[op, start[op]]:
            vertex = op * able.shape[1] + start[op]
            if clique.against[vertex] == 0 and _short(files, clique, op, start[op]) == 0:
                _insert(rows, files, clique, op, start[op])
    best = clique.place.copy()
    size, most, since = 0, -1, 0
    waiting = np.zeros(ops, dtype=np.int64)
    move = 0
    while since <= moves:
        move += 1
        since += 1
        size, chosen, longest = 0, -1, -1
        for op in range(ops):
            if clique.place[op] >= 0:
                size += 1
            else:
                drawn = 8 * waiting[op] + _draw(clique.random_state, 8)
                if drawn > longest:
                    chosen, longest = op, drawn
        if size > most:
            most, since = size, 0
            best[:] = clique.place
        if chosen < 0 or stop[0]:
            break
        report[0] += 1
        for op in range(ops):
            waiting[op] = waiting[op] + 1 if clique.place[op] < 0 else 0
        waiting[chosen] = 0
        tile = _choose(able, files, clique, chosen, move)
        if tile >= 0:
            _insert(rows, files, clique, chosen, tile)
            _make_room(rows, able, files, clique, chosen, move)
    return best
