"""What a schedule counts before anything has a place: tiles, the tiles of an op class, buses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridloom.archs.model import Arch


@dataclass(frozen=True, eq=False)
class Resources:
    """What a schedule counts: rows of tiles, classes of tiles and buses, with their room a slot."""

    #: Row of op classes -> rows of ``room`` that it takes one of.
    takes: tuple[tuple[int, ...], ...]
    room: tuple[int, ...]


def resources(arch: Arch, classes: Sequence[frozenset[str]]) -> Resources:
    """All tiles, the tiles of each op class that not all have, and the buses of memory ops."""
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
    if key not in rows:
        rows[key] = len(room)
        room.append(n)
    return rows[key]
