"""Tiles that an array cannot tell apart: one of each set is tried."""

from __future__ import annotations

import pytest

from gridloom.archs import build
from gridloom.search.symmetry import representatives


@pytest.mark.parametrize(
    ("text", "tiles"), [("mesh:3x3", [0, 1, 4]), ("mesh:2x3", [0, 1]), ("chess:3x3", [0, 1, 4]), ("torus:3x3", [0])]
)
def test_tiles_that_the_array_cannot_tell_apart(text: str, tiles: list[int]) -> None:
    assert representatives(build(text)) == tiles


def test_tiles_with_other_ops_are_told_apart() -> None:
    assert len(representatives(build("mesh:3x3,mul=columns"))) > 3
