"""What a schedule counts before anything has a place: tiles, the tiles of an op class, buses.

The counts are necessary and not sufficient: a schedule within them may still have no placement. Row 0 of ``room`` is
all tiles, further ones are sets of tiles that fewer can serve, and buses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridloom.archs.model import Arch


@dataclass(frozen=True, eq=False)
class Resources:
    """What a schedule counts: rows of tiles, classes of tiles and buses, with their room per slot."""

    #: For each set of op classes the rows of ``room`` of which it takes one.
    takes: tuple[tuple[int, ...], ...]
    #: How many ops each row has room for in a slot.
    room: tuple[int, ...]


def resources(arch: Arch, classes: Sequence[frozenset[str]]) -> Resources:
    """All tiles, the tiles of each op class that not all have, and the buses of memory ops.

    ``classes`` are sets of op classes as nodes need them; ``takes`` has a row for each of them. Buses count only where
    all tiles of the class are on one.
    """
    room = [len(arch.tiles)]
    takes: list[tuple[int, ...]] = []
    rows: dict[tuple[str, frozenset[int]], int] = {}
    for needed in classes:
        mine = [0]
        able = frozenset(t for t, tile in enumerate(arch.tiles) if needed <= tile.classes)
        if len(able) < len(arch.tiles):
            mine.append(_row(rows, room, ("tiles", able), len(able)))
        pools = [pool for pool in arch.pools if pool.classes & needed]
        if pools and able <= {t for pool in pools for t in pool.tiles}:
            supply = sum(pool.capacity for pool in pools if able & set(pool.tiles))
            mine.append(_row(rows, room, ("pools", able), supply))
        takes.append(tuple(mine))
    return Resources(tuple(takes), tuple(room))


def _row(rows: dict[tuple[str, frozenset[int]], int], room: list[int], key: tuple[str, frozenset[int]], n: int) -> int:
    """The row of a resource; a new one, with room for ``n``, the first time it is met."""
    if key not in rows:
        rows[key] = len(room)
        room.append(n)
    return rows[key]
