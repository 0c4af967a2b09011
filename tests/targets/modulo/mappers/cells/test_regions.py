"""Rectangles of an array that are alike."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.archs import build
from gridloom.archs.check import check_arch
from gridloom.targets.modulo.mappers.cells.regions import Rectangle, RegionGrid, cut


def free(grid: RegionGrid) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.zeros(grid.size, dtype=np.bool_)


def test_a_torus_is_packed_with_rectangles_that_do_not_overlap() -> None:
    grid = RegionGrid(build("torus:6x8,bus=none"))
    found = grid.packed(Rectangle(0, 0, 2, 3), free(grid), 100)
    tiles = [tile for area in found for tile in grid.tiles(area)]
    assert len(found) == 6
    assert len(tiles) == len(set(tiles))


def test_no_more_rectangles_are_packed_than_are_asked_for() -> None:
    grid = RegionGrid(build("torus:6x8,bus=none"))
    assert len(grid.packed(Rectangle(0, 0, 2, 2), free(grid), 5)) == 5


def test_rectangles_with_other_units_are_not_alike() -> None:
    grid = RegionGrid(build("torus:4x8,mul=columns,bus=none"))
    columns = {area.col % 2 for area in grid.packed(Rectangle(0, 0, 4, 1), free(grid), 100)}
    assert columns == {0}


def test_a_strip_around_the_array_keeps_the_links_at_its_ends() -> None:
    grid = RegionGrid(build("torus:4x4"))
    strip = cut(grid.arch, grid.tiles(Rectangle(1, 0, 1, 4)), (1, 4))
    assert "pe_1_0>pe_1_3" in strip.resource_names
    part = cut(grid.arch, grid.tiles(Rectangle(1, 0, 1, 3)), (1, 3))
    assert "pe_1_0>pe_1_3" not in part.resource_names


@pytest.mark.parametrize("text", ["torus:4x4", "torus:5x3,bus=none,regs=2", "torus:4x4,memory=none", "ramp-8"])
def test_a_part_of_an_array_is_a_sound_array(text: str) -> None:
    grid = RegionGrid(build(text))
    for area in (Rectangle(0, 0, 2, 2), Rectangle(1, 0, 2, 3), Rectangle(0, 0, *grid.size)):
        assert check_arch(cut(grid.arch, grid.tiles(area), (area.height, area.width))) == []


def test_resources_are_translated_to_those_of_the_same_kind() -> None:
    grid = RegionGrid(build("torus:4x4"))
    to = grid.translation(Rectangle(0, 0, 2, 2), Rectangle(2, 2, 2, 2))
    assert to.tile("pe_0_1") == "pe_2_3"
    assert [to.resource(name) for name in ("pe_0_0.in2", "pe_1_0>pe_1_1", "pe_1_1.r3", "mem")] == [
        "pe_2_2.in2",
        "pe_3_2>pe_3_3",
        "pe_3_3.r3",
        "mem",
    ]
    assert list(to.files(["pe_0_1"])) == [("pe_0_1", "pe_2_3")]


def test_a_rectangle_that_shares_a_bus_with_others_is_not_closed() -> None:
    grid = RegionGrid(build("torus:4x4"))
    memory = frozenset({"mem"})
    assert not grid.closed(Rectangle(0, 0, 2, 2), memory)
    assert grid.closed(Rectangle(0, 0, 2, 4), memory)
    assert grid.closed(Rectangle(0, 0, 2, 2), frozenset({"alu"}))


@pytest.mark.parametrize(("text", "regular"), [("torus:3x3", True), ("ramp-1", False), ("ramp-7", True)])
def test_arrays_with_a_central_register_file_are_not_regular(text: str, regular: bool) -> None:
    assert RegionGrid(build(text)).regular is regular
