"""Distances between tiles, compiled: how many tiles a value passes on its way."""

from __future__ import annotations

import numpy as np

from gridloom.jit import kernel
from gridloom.search.arrays import Int16s, Int64s


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
