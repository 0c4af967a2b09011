"""What register files hold beside a clique, compiled. Registers are no matter of pairs, so they are counted apart.

A placed op adds to the file of its tile: the registers that its result takes in each slot, and the live-ins that are
kept for it. A file is short where values and live-ins together are more than its registers.
"""

from __future__ import annotations

from typing import NamedTuple

from gridloom.jit import internal
from gridloom.search.arrays import Int64s, Uint64s


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
