"""What holds for every registered array; a new family is tested here by being registered."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.archs.paths import reached_tiles

from gridloom import registry
from gridloom.archs import Arch, Kind, build, check_arch
from gridloom.archs.spec import build_spec
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
def test_default_array_has_nothing_odd(name: str) -> None:
    assert check_arch(default(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_description_builds_the_array_again(name: str) -> None:
    arch = default(name)
    assert build_spec(dict(arch.spec), "again").fingerprint == arch.fingerprint
    assert build(arch.name).fingerprint == arch.fingerprint


@pytest.mark.parametrize("name", NAMES)
def test_names_are_unique_and_belong_to_their_tiles(name: str) -> None:
    arch = default(name)
    assert len(arch.resource_index) == len(arch.resource_names) == len(arch.kind)
    assert len(arch.tile_index) == len(arch.tiles)
    for r, resource in enumerate(arch.resource_names):
        if arch.tile[r] >= 0:
            assert resource.startswith((f"{arch.tiles[arch.tile[r]].name}.", f"{arch.tiles[arch.tile[r]].name}>"))
        if arch.kind[r] == Kind.IN:
            assert resource.endswith(f".in{arch.position[r]}")
    assert (arch.kind[arch.group] == np.where(np.isin(arch.kind, (Kind.LOAD, Kind.STORE)), Kind.FU, arch.kind)).all()


@pytest.mark.parametrize("name", NAMES)
def test_it_unrolls_and_refuses_what_its_style_does_not_have(name: str) -> None:
    arch = default(name)
    for ii in (1, 3) if arch.style == "modulo" else (1,):
        graph = arch.unroll(ii)
        assert len(graph.target) == ii * len(arch.arc_source)
        assert graph.indptr[-1] == len(graph.target)
        assert 0 <= graph.target.min() <= graph.target.max() < graph.nodes == ii * len(arch.kind)
    if arch.style != "modulo":
        with pytest.raises(ArchError):
            arch.unroll(2)


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
