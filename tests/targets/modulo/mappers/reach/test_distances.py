"""Hops between tiles, against a search written for the tests."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.targets.modulo.mappers.problem import ModuloProblem
from gridloom.targets.modulo.mappers.reach.distances import Distances

ARRAYS = ("torus:4x5", "torus:1x2,regs=1", "ramp-1", "ramp-8", "torus:12x12,bus=none")


def distances(arch: str) -> Distances:
    b = DfgBuilder("one")
    b.add("neg", b.livein("x"))
    return Distances(ModuloProblem(b.build(), build(arch)))


def relaxed(reads: list[set[int]]) -> list[list[int]]:
    """Hops by repeated relaxation over the links; 1000 where there is no way."""
    tiles = len(reads)
    hops = [[0 if a == b else 1000 for b in range(tiles)] for a in range(tiles)]
    changed = True
    while changed:
        changed = False
        for row in hops:
            for tile, sources in enumerate(reads):
                least = min((row[source] for source in sources), default=1000) + 1
                if least < row[tile]:
                    row[tile], changed = least, True
    return hops


@pytest.mark.parametrize("arch", ARRAYS)
def test_hops_are_those_of_the_shortest_ways(arch: str) -> None:
    found = distances(arch)
    assert found.hops.tolist() == relaxed([set(sources) for sources in found.problem.structure.reads])


@pytest.mark.parametrize("arch", ARRAYS)
def test_near_tiles_are_those_within_two_hops_in_either_direction(arch: str) -> None:
    found = distances(arch)
    at, near = found.near
    for tile in range(len(found.hops)):
        close = np.minimum(found.hops[tile], found.hops[:, tile]) <= 2
        assert near[at[tile] : at[tile + 1]].tolist() == np.flatnonzero(close).tolist()
        assert tile in near[at[tile] : at[tile + 1]]
