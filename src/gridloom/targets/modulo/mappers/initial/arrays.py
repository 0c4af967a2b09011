"""The arrays that the kernels of an initial placement share."""

from __future__ import annotations

from typing import NamedTuple

from gridloom.search.arrays import Float64s, Int16s, Int64s
from gridloom.search.random import RandomState
from gridloom.targets.modulo.mappers.state import ModuloLoop


class Ground(NamedTuple):
    """An array as an initial placement sees it: how far tiles are apart, which are near, what they share."""

    ii: int
    #: Cycles of a move; cycles 0 to ``horizon`` - 1 are used.
    step: int
    horizon: int
    #: hops[a, b] is the number of tiles that a value of tile a passes to be read by tile b, with b and without a.
    hops: Int16s
    #: CSR: the tiles within two hops of each tile, itself among them; the tiles whose output register a tile reads.
    near_at: Int64s
    near: Int64s
    read_at: Int64s
    read: Int64s
    #: The register file of each tile; -1: it has none. For each file the live-ins that it keeps at little cost.
    file_of: Int64s
    keep_room: Int64s
    #: How many ops each pool starts in a cycle.
    pool_room: Int64s


class NodePlaces(NamedTuple):
    """Tile and cycle of each node, and what follows from them.

    ``occupant[tile, slot]`` is the node there, -1: none; no two nodes ever share an issue slot.
    """

    tile: Int64s
    cycle: Int64s
    occupant: Int64s
    #: Results that reach the output register of a tile in a slot, and ops of a pool in a slot.
    written: Int64s
    pool_used: Int64s
    #: readers[live-in, file] counts nodes on tiles of the file; kept[file] is how many live-ins have some there.
    readers: Int16s
    kept: Int64s
    #: The estimate for each net.
    cost: Float64s


class InitialScratch(NamedTuple):
    """Memory of the kernels: nothing in it is part of the result."""

    #: The readers of a net in the order of their cycles, and where its value is by then: tile, from, and until when.
    order: Int64s
    point_tile: Int64s
    point_from: Int64s
    point_until: Int64s
    #: The nets whose estimate a move changes, with the new one; a mark for each net.
    changed: Int64s
    fresh: Float64s
    mark: Int64s


class InitialRun(NamedTuple):
    """All that the kernels of a placement share."""

    ground: Ground
    loop: ModuloLoop
    place: NodePlaces
    scratch: InitialScratch
    random: RandomState
