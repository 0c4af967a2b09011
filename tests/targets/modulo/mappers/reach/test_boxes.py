"""Boxes of a large array: what they hold, what is cleared for them, and that routes within them are right."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.random_cases import loop_graph

from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.jit import kernel
from gridloom.mapping import Mapping
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo
from gridloom.targets.modulo.mappers.problem import ModuloProblem, RegisterUse
from gridloom.targets.modulo.mappers.reach.box_kernel import (
    CLEARED_FILES,
    CLEARED_TILES,
    FILES,
    TILES,
    add_ball,
    add_way,
    begin_box,
    end_box,
)
from gridloom.targets.modulo.mappers.reach.distances import Distances
from gridloom.targets.modulo.mappers.state import ModuloFabric, TileBox, empty_state, workspace
from gridloom.verify import legal

REACH = 3
SIDE = 11
PAIRS = [(0, 0), (0, 1), (0, 60), (5, 115), (120, 7)]


@kernel
def enclose(fabric: ModuloFabric, box: TileBox, source: int, target: int) -> None:
    """Make the box of a route."""
    begin_box(box)
    add_ball(box, target)
    add_ball(box, source)
    add_way(fabric, box, source, target)
    end_box(fabric, box)


def ground(*, boxed: bool = True) -> tuple[ModuloFabric, TileBox]:
    """An array of more than a hundred tiles, with a box that holds nothing yet, or with all of its tiles."""
    b = DfgBuilder("one")
    b.add("neg", b.livein("x"))
    problem = ModuloProblem(b.build(), build(f"torus:{SIDE}x{SIDE},regs=2"))
    loop = problem.loop(2)
    fabric = problem.fabric(loop, 2, RegisterUse(limit=2, rotating=1), 1.0)
    state = empty_state(fabric, loop, problem.pool_room)
    anywhere = np.full(loop.nodes, -1, dtype=np.int64)
    reach = Distances(problem).reach if boxed else None
    return fabric, workspace(fabric, state, np.zeros(loop.nodes), anywhere, 0, None, reach).labels.box


def listed(box: TileBox) -> tuple[list[int], list[int], list[int], list[int]]:
    """Tiles and files of the box, then those that are cleared."""
    lists = (box.tiles, box.files, box.cleared_tiles, box.cleared_files)
    sizes = (TILES, FILES, CLEARED_TILES, CLEARED_FILES)
    first, second, third, fourth = (row[: box.size[k]].tolist() for row, k in zip(lists, sizes))
    return first, second, third, fourth


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_box_holds_what_is_near_the_ends_and_all_short_ways_between_them(source: int, target: int) -> None:
    fabric, box = ground()
    enclose(fabric, box, source, target)
    tiles = listed(box)[0]
    hops = box.hops
    expected = {
        tile
        for tile in range(fabric.tiles)
        if min(hops[source, tile], hops[target, tile]) <= REACH
        or hops[source, tile] + hops[tile, target] <= hops[source, target] + 2
    }
    assert set(tiles) == expected
    assert len(tiles) == len(expected)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_prices_are_cleared_in_the_box_and_wherever_its_tiles_read(source: int, target: int) -> None:
    fabric, box = ground()
    enclose(fabric, box, 3, 77)
    enclose(fabric, box, source, target)
    tiles, files, cleared_tiles, cleared_files = listed(box)
    read = {int(k) for tile in tiles for k in fabric.read[fabric.read_at[tile] : fabric.read_at[tile + 1]]}
    assert set(cleared_tiles) == set(tiles) | read
    assert len(cleared_tiles) == len(set(cleared_tiles))
    assert set(files) == {int(fabric.file_of[tile]) for tile in tiles} <= set(cleared_files)


def test_array_without_distances_keeps_all_of_its_tiles_in_the_box() -> None:
    fabric, box = ground(boxed=False)
    enclose(fabric, box, 0, 1)
    assert listed(box)[0] == list(range(fabric.tiles))


@pytest.mark.parametrize("seed", range(3))
def test_loops_on_a_large_array_are_legal_and_right(seed: int) -> None:
    arch = build(f"torus:{SIDE}x{SIDE},regs=2")
    found = modulo(loop_graph(random.Random(seed)), arch, ModuloConfig(), Budget(effort=3000, seed=seed))
    assert isinstance(found, Mapping)
    assert legal(found) == []
    assert simulate(found).ok
