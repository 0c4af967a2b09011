"""The compatibility graph of (op, PE) pairs, compiled: rows of bits, and the ops that restrict each other.

Vertex ``op * tiles + tile`` stands for an op on a tile at the cycle that a schedule gave it; two vertices are joined
when both can be true. Row a of the bit sets has bit b (word b / 64) set when vertices a and b are compatible.

Most pairs of ops do not restrict each other at all: they issue in different slots and pass no value. ``related`` lists
for each op the others that do, so that a search looks at these alone.

What register files hold beside a clique, compiled. Registers are no matter of pairs, so they are counted apart.

A placed op adds to the file of its tile: the registers that its result takes in each slot, and the live-ins that are
kept for it. A file is short where values and live-ins together are more than its registers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridloom.jit import int64, internal, kernel
from gridloom.search.arrays import Bools, Int64s, Uint8s, Uint64s


class ConflictRelations(NamedTuple):
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
    #: Wires between two tiles; all 0 where wires do not matter.
    hops: Int64s


class CompatibilityGraph(NamedTuple):
    """A compatibility graph: its rows of bits, the vertices that exist, and the ops that restrict an op (CSR)."""

    rows: Uint64s
    able: Bools
    related_at: Int64s
    related: Int64s
    #: CSR: the ops that an op exchanges values with, and those that these do; hops[tile, tile] counts wires.
    near_at: Int64s
    near: Int64s
    hops: Int64s


@internal
def _forbid(rows: Uint64s, vertex: int, op: int, tiles: int, masks: Uint64s) -> None:
    """Make a vertex incompatible with the tiles of an op whose bit is set in ``masks``, 64 tiles to a word."""
    for chunk in range(len(masks)):
        start = op * tiles + 64 * chunk
        shift = np.uint64(start & 63)
        rows[vertex, start >> 6] &= ~(masks[chunk] << shift)
        if shift > np.uint64(0) and (start >> 6) + 1 < rows.shape[1]:
            rows[vertex, (start >> 6) + 1] &= ~(masks[chunk] >> (np.uint64(64) - shift))


@internal
def _set(masks: Uint64s, tile: int) -> None:
    """Set the bit of a tile."""
    masks[tile >> 6] |= np.uint64(1) << np.uint64(tile & 63)


@internal
def is_compatible(rows: Uint64s, a: int, b: int) -> bool:
    """Return True when two vertices are compatible."""
    return bool((rows[a, b >> 6] >> np.uint64(b & 63)) & np.uint64(1))


@internal
def lowest(word: np.uint64) -> int:
    """Return the position of the lowest bit that is set."""
    count = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if word & ((np.uint64(1) << np.uint64(shift)) - np.uint64(1)) == np.uint64(0):
            count += shift
            word >>= np.uint64(shift)
    return count


@internal
def ones(word: np.uint64) -> int:
    """Return the number of bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@internal
def draw(random_state: Uint64s, below: int) -> int:
    """Return a number from 0 to ``below`` - 1 (splitmix64)."""
    random_state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = random_state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((word ^ (word >> np.uint64(31))) % np.uint64(below))


@internal
def count_conflicts(graph: CompatibilityGraph, place: Int64s, weight: Int64s, op: int, counts: Int64s) -> None:
    """Write for each tile the weight of the placed ops that the op would be incompatible with there.

    A placed op rules tiles out by the bits of its row that belong to the op, which are read 64 at a time. Costs the
    related ops and the tiles that they rule out.
    """
    tiles = graph.able.shape[1]
    for tile in range(tiles):
        counts[tile] = 0
    for k in range(graph.related_at[op], graph.related_at[op + 1]):
        other = graph.related[k]
        if place[other] < 0:
            continue
        row = other * tiles + place[other]
        for first in range(0, tiles, 64):
            start = op * tiles + first
            shift = np.uint64(start & 63)
            word = graph.rows[row, start >> 6] >> shift
            if shift > np.uint64(0) and (start >> 6) + 1 < graph.rows.shape[1]:
                word |= graph.rows[row, (start >> 6) + 1] << (np.uint64(64) - shift)
            word = ~word
            if tiles - first < 64:
                word &= (np.uint64(1) << np.uint64(tiles - first)) - np.uint64(1)
            while word != np.uint64(0):
                counts[first + lowest(word)] += weight[other]
                word &= word - np.uint64(1)


@kernel
def compatibility(relations: ConflictRelations) -> CompatibilityGraph:
    """Return the graph of a schedule. O(ops^2 * tiles) words, and a bit for each pair of vertices.

    Starts from all vertices that exist and takes away: another tile of the same op, ops of one slot on one tile or bus,
    results of one slot in one output register, and the tiles that the relations between two ops forbid.
    """
    ops, tiles = relations.able.shape
    rows = _complete(relations.able)
    touched = np.zeros((ops, ops), dtype=np.uint8)
    buses = _bus_masks(relations.pool)
    for a in range(ops):
        for b in range(ops):
            same = relations.slot[a] == relations.slot[b]
            writes = relations.result[a] >= 0 and relations.result[a] == relations.result[b]
            if a == b or (not same and not writes):
                continue
            touched[a, b] = 1
            for p in range(tiles):
                vertex, tile = a * tiles + p, b * tiles + p
                rows[vertex, tile >> 6] &= ~(np.uint64(1) << np.uint64(tile & 63))
                pool = relations.pool[a, p]
                if same and pool >= 0:
                    _forbid(rows, vertex, b, tiles, buses[b, pool])
    forbidden = _forbidden_masks(relations.tables)
    linked = np.zeros((ops, ops), dtype=np.uint8)
    for k in range(len(relations.first)):
        a, b = relations.first[k], relations.second[k]
        touched[a, b] = touched[b, a] = 1
        linked[a, b] = linked[b, a] = 1
        for p in range(tiles):
            _forbid(rows, a * tiles + p, b, tiles, forbidden[relations.row[k], 0, p])
            _forbid(rows, b * tiles + p, a, tiles, forbidden[relations.row[k], 1, p])
    related_at, related = _lists(touched)
    near_at, near = _lists(_two_steps(linked))
    return CompatibilityGraph(rows, relations.able, related_at, related, near_at, near, relations.hops)


@internal
def _two_steps(linked: Uint8s) -> Uint8s:
    """Return the pairs of ops that are linked directly or through one op between them."""
    ops = len(linked)
    near = linked.copy()
    for a in range(ops):
        for b in range(ops):
            if linked[a, b]:
                for c in range(ops):
                    if linked[b, c] and c != a:
                        near[a, c] = 1
    return near


@internal
def _bus_masks(pool: Int64s) -> Uint64s:
    """Return for each op and bus the tiles on which the op takes the bus."""
    ops, tiles = pool.shape
    most = 0
    for op in range(ops):
        for tile in range(tiles):
            most = max(most, pool[op, tile] + 1)
    masks = np.zeros((ops, most, (tiles + 63) // 64), dtype=np.uint64)
    for op in range(ops):
        for tile in range(tiles):
            if pool[op, tile] >= 0:
                _set(masks[op, pool[op, tile]], tile)
    return masks


@internal
def _forbidden_masks(tables: Bools) -> Uint64s:
    """Return for each table, end (first, second) and tile the tiles that the other end may not have."""
    count, tiles = tables.shape[0], tables.shape[1]
    masks = np.zeros((count, 2, tiles, (tiles + 63) // 64), dtype=np.uint64)
    for row in range(count):
        for p in range(tiles):
            for q in range(tiles):
                if not tables[row, p, q]:
                    _set(masks[row, 0, p], q)
                    _set(masks[row, 1, q], p)
    return masks


@internal
def _lists(touched: Uint8s) -> tuple[Int64s, Int64s]:
    """Return the columns that are set in each row, as CSR."""
    ops, count = len(touched), 0
    at = np.zeros(ops + 1, dtype=np.int64)
    found = np.zeros(int(touched.sum()), dtype=np.int64)
    for a in range(ops):
        for b in range(ops):
            if touched[a, b]:
                found[count] = b
                count += 1
        at[a + 1] = count
    return at, found


@internal
def _complete(able: Bools) -> Uint64s:
    """Return rows in which each vertex that exists is joined to every vertex of every other op."""
    ops, tiles = able.shape
    count = ops * tiles
    words = (count + 63) // 64
    rows = np.zeros((count, words), dtype=np.uint64)
    whole = np.zeros(words, dtype=np.uint64)
    for a in range(count):
        if able[a // tiles, a % tiles]:
            whole[a >> 6] |= np.uint64(1) << np.uint64(a & 63)
    for a in range(count):
        op = a // tiles
        if able[op, a % tiles]:
            for word in range(words):
                rows[a, word] = whole[word]
            for b in range(op * tiles, op * tiles + tiles):
                rows[a, b >> 6] &= ~(np.uint64(1) << np.uint64(b & 63))
    return rows


@kernel
def nearest_tiles(graph: CompatibilityGraph, place: Int64s) -> tuple[Int64s, int]:
    """Return the tile of each op, and how many pairs are incompatible when every op has a tile.

    An op without a tile gets that which the fewest placed ops rule out; -1: none exists. This says where its failure
    is: the ops that rule the tile out stand in its way. An op that only registers keep from a tile counts 1.
    """
    ops, tiles = graph.able.shape
    counts = np.zeros(tiles, dtype=np.int64)
    single = np.ones(ops, dtype=np.int64)
    near = place.copy()
    failures = int64(0)
    for op in range(ops):
        if place[op] >= 0:
            continue
        count_conflicts(graph, place, single, op, counts)
        best = int64(1 << 20)
        for tile in range(tiles):
            if graph.able[op, tile] and counts[tile] < best:
                best = counts[tile]
                near[op] = tile
        failures += max(int64(1), best)
    return near, int(failures)


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
    #: What it costs that an op is left out.
    weight: Int64s
    #: For each vertex the move until which it is not taken.
    until: Int64s
    held: Int64s
    #: kept[file, live-in] is the number of ops that it is kept for, keeps[file] the number of live-ins kept.
    kept: Int64s
    keeps: Int64s
    #: The state of the random numbers.
    random_state: Uint64s


@internal
def hold(files: Files, clique: Clique, op: int, tile: int, step: int) -> None:
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
def short(files: Files, clique: Clique, op: int, tile: int) -> int:
    """Return the registers that a file would be short of, over all slots, with an op more; 0 without a file."""
    file = files.file_of[tile]
    if file < 0:
        return 0
    more = clique.keeps[file]
    for k in range(files.keep_at[op], files.keep_at[op + 1]):
        if clique.kept[file, files.keep[k]] == 0:
            more += 1
    lacking: int = max(0, more - files.still[file])
    for slot in range(files.need.shape[1]):
        lacking += max(0, clique.held[file, slot] + files.need[op, slot] + more - files.room[file])
    return lacking


@internal
def full_slot(files: Files, clique: Clique, file: int) -> int:
    """Return a slot in which a file holds too much, the last of them; -1: it holds no more than it has room for."""
    full = 0 if clique.keeps[file] > files.still[file] else -1
    for slot in range(files.need.shape[1]):
        if clique.held[file, slot] + clique.keeps[file] > files.room[file]:
            full = slot
    return full
