"""Hops between tiles, and the box of tiles that a route, or a node with its routes, may use, compiled.

On a large array a sweep over all tiles is wasted: routes stay near the straight way between their ends. A box holds the
tiles within some hops of given ones, those that lie between them, and their files; its rim holds the tiles outside that
tiles of the box read, whose prices have to be cleared with those of the box. On a small array the box is the array.
"""

from __future__ import annotations

import numpy as np

from gridloom.jit import borrowing, kernel
from gridloom.search.arrays import Int16s, Int64s
from gridloom.targets.modulo.mappers.crossbars.wire_kernel import FAR
from gridloom.targets.modulo.mappers.state import Labels, ModuloFabric, TileBox


@kernel
def count_hops(follow_at: Int64s, follow: Int64s, hops: Int16s) -> None:
    """Fill hops[a, b] by a breadth-first search from each tile; ``follow`` has the tiles that read each tile.

    Tiles that cannot be reached keep what the table holds before. Cost: tiles times links.
    """
    tiles = hops.shape[0]
    queue = np.zeros(tiles, dtype=np.int64)
    for start in range(tiles):
        queue[0] = start
        head, tail = 0, 1
        seen = np.zeros(tiles, dtype=np.uint8)
        seen[start] = 1
        hops[start, start] = 0
        while head < tail:
            tile = queue[head]
            head += 1
            for k in range(follow_at[tile], follow_at[tile + 1]):
                after = follow[k]
                if seen[after] == 0:
                    seen[after] = 1
                    hops[start, after] = hops[start, tile] + 1
                    queue[tail] = after
                    tail += 1


# What Box.size counts.
TILES = 0
FILES = 1
CLEARED_TILES = 2
CLEARED_FILES = 3
_STAMP = 4
_WAYS = 5

# Hops that a route between two far tiles may go round.
_DETOUR = 2


@borrowing
def is_whole(box: TileBox) -> bool:
    """True when the box is the whole array and stays so: sweeps then need no lists."""
    return bool(box.hops.shape[0] == 0)


@borrowing
def clear_all(labels: Labels, first: int, last: int) -> None:
    """Forget all prices from cycle ``first`` to ``last``: row by row, which takes a fraction of the time of lists."""
    for cycle in range(first, last + 1):
        for storage in range(labels.best.shape[1]):
            labels.best[cycle, storage] = FAR
        for file in range(labels.write.shape[1]):
            labels.write[cycle, file] = FAR
            labels.least[cycle, file] = FAR


@borrowing
def begin_box(box: TileBox) -> None:
    """Empty the box; an array without distances keeps all of its tiles in it."""
    if box.hops.shape[0] == 0:
        return
    for k in range(_STAMP):
        box.size[k] = 0
    box.size[_STAMP] += 1


@borrowing
def _clear_file(box: TileBox, file: int) -> None:
    """Let the prices of a file be cleared."""
    if file >= 0 and box.file_seen[file] != box.size[_STAMP]:
        box.file_seen[file] = box.size[_STAMP]
        box.cleared_files[box.size[CLEARED_FILES]] = file
        box.size[CLEARED_FILES] += 1


@borrowing
def add_ball(box: TileBox, centre: int) -> None:
    """Add the tiles within reach of a tile. Costs their number."""
    if box.hops.shape[0] == 0:
        return
    for k in range(box.ball_at[centre], box.ball_at[centre + 1]):
        _add(box, box.ball[k])


@borrowing
def add_way(fabric: ModuloFabric, box: TileBox, source: int, target: int) -> None:
    """Add the tiles on short ways from one tile to another. Costs their number, times links.

    Every tile of such a way lies on one itself, so that a search back from the target over such tiles finds all.
    """
    if box.hops.shape[0] == 0:
        return
    most = box.hops[source, target] + _DETOUR
    box.size[_WAYS] += 1
    box.on_way[target] = box.size[_WAYS]
    box.queue[0] = target
    head, tail = 0, 1
    while head < tail:
        tile = box.queue[head]
        head += 1
        _add(box, tile)
        for k in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
            before = fabric.read[k]
            if box.on_way[before] != box.size[_WAYS] and box.hops[source, before] + box.hops[before, target] <= most:
                box.on_way[before] = box.size[_WAYS]
                box.queue[tail] = before
                tail += 1


@borrowing
def _add(box: TileBox, tile: int) -> None:
    """Add a tile unless it is in the box already."""
    if box.seen[tile] != box.size[_STAMP]:
        box.seen[tile] = box.size[_STAMP]
        box.tiles[box.size[TILES]] = tile
        box.size[TILES] += 1


@borrowing
def add_all(box: TileBox) -> None:
    """Add all tiles."""
    for tile in range(box.hops.shape[0]):
        _add(box, tile)


@borrowing
def end_box(fabric: ModuloFabric, box: TileBox) -> None:
    """List the files of the tiles in the box, and all whose prices have to be cleared before a sweep.

    Tiles are ordered as they were added. The files of the box come first among those that are cleared.
    """
    if box.hops.shape[0] == 0:
        return
    count, stamp = box.size[TILES], box.size[_STAMP]
    for k in range(count):
        box.cleared_tiles[k] = box.tiles[k]
        _clear_file(box, fabric.file_of[box.tiles[k]])
    box.size[FILES] = box.size[CLEARED_FILES]
    for k in range(box.size[FILES]):
        box.files[k] = box.cleared_files[k]
    cleared = count
    for k in range(count):
        tile = box.tiles[k]
        for at in range(fabric.read_at[tile], fabric.read_at[tile + 1]):
            source = fabric.read[at]
            if box.seen[source] != stamp:
                box.seen[source] = stamp
                box.cleared_tiles[cleared] = source
                cleared += 1
    box.size[CLEARED_TILES] = cleared
