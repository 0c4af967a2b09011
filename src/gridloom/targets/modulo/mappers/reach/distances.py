"""The hops between the tiles of an array."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gridloom.search.arrays import Int16s, Int64s, csr64
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.state import BOX_REACH, Reach

# Hops to a tile that cannot be reached.
_UNREACHED = 1000


class Distances:
    """The hops between the tiles of an array, and the tiles near each; made once for a problem."""

    def __init__(self, problem: ModuloProblem) -> None:
        self.problem = problem

    @cached_property
    def hops(self) -> Int16s:
        """[a, b] -> tiles that a value of tile a passes to be read by tile b."""
        from gridloom.targets.modulo.mappers.reach.box_kernel import count_hops

        reads = self.problem.structure.reads
        followers: list[list[int]] = [[] for _ in reads]
        for tile, sources in enumerate(reads):
            for source in sources:
                if source != tile:
                    followers[source].append(tile)
        table = np.full((len(reads), len(reads)), _UNREACHED, dtype=np.int16)
        count_hops(*csr64(followers), table)
        return table

    @cached_property
    def reach(self) -> Reach:
        """What boxes are made of."""
        rows, tiles = np.nonzero(self.hops <= BOX_REACH)
        starts = np.searchsorted(rows, np.arange(len(self.hops) + 1))
        return Reach(self.hops, starts.astype(np.int64), tiles.astype(np.int64))

    @cached_property
    def near(self) -> tuple[Int64s, Int64s]:
        """CSR: the tiles within two hops of each tile, in either direction."""
        rows, tiles = np.nonzero(np.minimum(self.hops, self.hops.T) <= 2)
        return np.searchsorted(rows, np.arange(len(self.hops) + 1)).astype(np.int64), tiles.astype(np.int64)
