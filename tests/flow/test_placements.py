"""Pins with regions: rows, columns and rectangles for groups of nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

import gridloom as gl
from gridloom.errors import MappingError, OptionError


def tiles_of(result: gl.Result, stem: str) -> set[tuple[int, int]]:
    """Rows and columns of the tiles of nodes whose names begin with a stem."""
    mapping = result.mapping
    assert mapping is not None
    index = mapping.arch.tile_index
    places = [one.place for one in mapping.instances if one.node.startswith(stem)]
    tiles = [mapping.arch.tiles[index[place]] for place in places if place in index]
    assert tiles
    return {(tile.row, tile.col) for tile in tiles}


@pytest.mark.parametrize(
    ("arch", "region", "inside"),
    [
        ("mesh:6x6,inputs=skewed", "cols 0-2", lambda row, col: col <= 2),
        ("mesh:6x6,inputs=skewed", "rect 1,1-5,4", lambda row, col: 1 <= row <= 5 and 1 <= col <= 4),
        ("torus:4x4", "rows 3", lambda row, col: row == 3),
        ("torus:4x4", "rect 0,0-1,1", lambda row, col: row <= 1 and col <= 1),
    ],
)
def test_a_group_stays_within_its_region(arch: str, region: str, inside):
    result = gl.map("kernel:fir", arch, pin={"mul*": region}, effort=30_000)
    assert result.status == "mapped"
    assert all(inside(row, col) for row, col in tiles_of(result, "mul"))
    assert result.verified.legal and result.verified.simulated


def test_a_file_gives_regions_and_tiles(tmp_path: Path):
    file = tmp_path / "pins.yaml"
    file.write_text('mul*: cols 1-2\nmul*: rows 0\n"x": pe_3_3\n'.replace("mul*: rows 0\n", "mul[0-9]*: rows 0-1\n"))
    result = gl.map("kernel:fir", "torus:4x4", pin=file, effort=30_000)
    assert tiles_of(result, "mul") <= {(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)}
    assert tiles_of(result, "x") == {(3, 3)}


def test_a_region_bounds_the_ii():
    result = gl.map("kernel:fir,taps=8", "torus:4x4", pin={"mul*": "rect 0,0-0,0", "add*": "cols 1-3"}, effort=30_000)
    assert result.mapping is not None
    multiplications = sum(node.op == "mul" for node in result.dfg.nodes)
    assert result.mapping.ii >= multiplications


@pytest.mark.parametrize(
    ("pins", "words"),
    [
        ({"nothing*": "rows 0"}, "--pin: no node of graph 'fir' that needs a tile matches 'nothing*'"),
        ({"mul*": "rows 9"}, "--pin: 'rows 9' has no tile of array 'torus:4x4' ('mul*')"),
        (
            {"mul*": "rows a"},
            "--pin: 'rows a' is no region; expected 'rows 0-1', 'cols 2' or 'rect ROW,COLUMN-ROW,COLUMN'",
        ),
        ({"mul*": "rows 0", "mul?*": "rows 1"}, "have no tile in common"),
    ],
)
def test_mistakes_are_named(pins: dict[str, str], words: str):
    with pytest.raises(MappingError) as error:
        gl.map("kernel:fir", "torus:4x4", pin=pins)
    assert words in str(error.value)


def test_a_region_without_the_op_class_is_a_failure_and_a_mapper_without_regions_refuses_them():
    arch = {"family": "torus", "rows": 3, "cols": 3, "mul": {"tiles": [[0, 0]]}}
    result = gl.map("kernel:fir", arch, pin={"mul*": "rows 1-2"}, effort=2000)
    assert result.failure is not None and result.failure.cause == "proved"
    assert result.failure.constraint.endswith("within its region of 6 tiles")
    with pytest.raises(OptionError, match="--pin: mapper 'anneal' takes tiles, and no regions"):
        gl.map("kernel:fir", "streaming-engine:4", mapper="anneal", pin={"mul*": "cols 1-2"})
