"""Tiles of every registered array reach each other; ``tests/testing`` runs the battery for families over them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.archs.paths import reached_tiles

from gridloom import registry
from gridloom.archs import Arch, build
from gridloom.errors import ArchError


@cache
def default(name: str) -> Arch:
    """The array of a name alone, or of a small size where the family wants one."""
    try:
        return build(name)
    except ArchError as error:
        if not error.message.startswith("rows:"):
            pytest.skip(f"{name} is described by a text of its own: {error.message}")
        return build(f"{name}:4x4")


NAMES = registry.names("archs")


@pytest.mark.parametrize("name", NAMES)
def test_every_tile_is_reached_and_reaches(name: str) -> None:
    arch = default(name)
    table = reached_tiles(arch)
    takes = np.array([tile.operands > 0 for tile in arch.tiles])
    gives = arch.fu >= 0
    others = ~np.eye(len(arch.tiles), dtype=bool)
    assert (table & others).any(axis=0)[takes].all()
    sinks = np.array([tile.kind == "store" for tile in arch.tiles])
    assert (table & others).any(axis=1)[gives & ~sinks].all()
    if "outputs_together" not in arch.rules:
        # Everywhere but on arrays whose values only go up, any tile gets any other's value.
        assert table[np.ix_(gives, takes)].all()
