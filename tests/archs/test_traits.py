"""Traits say what is so: each one is tried against the resources of every family that declares it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.archs.test_conformance import NAMES, default

from gridloom import registry
from gridloom.archs import Kind, build
from gridloom.errors import ArchError
from gridloom.targets.rows.families import genmap

TRAITS = registry.traits()

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "arrays"
GENMAP = """<PEArray name="little" width="1" height="1" input_port="1" output_port="{stores}" const_reg="X">
<PE coord="(0, 0)"><ALU><operation>ADD</operation><input type="IN_PORT" index="0"/></ALU></PE></PEArray>"""


@pytest.mark.parametrize("trait", TRAITS)
def test_a_trait_is_explained_by_one_sentence_and_some_family_has_it(trait: str) -> None:
    assert TRAITS[trait][0].isupper()
    assert TRAITS[trait].endswith(".")
    named = [default(name) for name in NAMES if name not in ("genmap", "morpher")]
    stores = {"style": "modulo", "rows": 2, "cols": 2, "tiles": {"registers": 4, "constants": 2}}
    arrays = [*named, build("torus:2x2,loop_levels=1"), build(stores), *map(build, EXAMPLES.glob("*.yaml"))]
    assert any(arch.has(trait) for arch in arrays)


@pytest.mark.parametrize(
    ("text", "traits"),
    [
        ("mesh:2x2", {"grid"}),
        ("hex:2x2", {"grid", "hexagonal"}),
        ("torus:2x2", {"registers", "wraps", "memory_access"}),
        ("torus:2x2,memory=none", {"registers", "wraps"}),
        ("ramp-7", {"registers", "wraps", "memory_access"}),
        ("hycube:2x2", {"crossbars", "memory_access"}),
        ("hycube:2x2,memory=none", {"crossbars"}),
        ("vpcma", {"rows", "upward", "words24"}),
        ("streaming-engine", {"spokes", "fuses", "memory_access"}),
        ("rdu:2x2", {"switches"}),
    ],
)
def test_families_declare_their_traits(text: str, traits: set[str]) -> None:
    assert build(text).traits == traits


@pytest.mark.parametrize(("stores", "traits"), [(1, {"rows", "words24", "partial"}), (0, set())])
def test_genmap_arrays_are_rows_where_they_have_ports(stores: int, traits: set[str]) -> None:
    assert genmap.loads(GENMAP.format(stores=stores)).traits == traits


@pytest.mark.parametrize("name", NAMES)
def test_traits_hold_of_the_resources(name: str) -> None:
    arch = default(name)
    kinds = {Kind(kind) for kind in arch.kind.tolist()}
    ports = {"load", "store"} <= {tile.kind for tile in arch.tiles}
    plain = arch.style == "static" and kinds <= {Kind.FU, Kind.OUT, Kind.IN, Kind.LINK} and not arch.settings
    waits = any(tile.fifo != 0 for tile in arch.tiles)
    assert arch.has("grid") == plain
    crossed = arch.links_per_cycle is not None
    assert arch.has("registers") == (arch.style == "modulo" and not waits and not crossed)
    assert arch.has("crossbars") == (arch.style == "modulo" and crossed)
    assert arch.has("spokes") == (arch.style == "modulo" and waits)
    assert arch.has("rows") == (ports and not (arch.arc_latency != 0).any())
    assert arch.has("switches") == (arch.style == "elastic")
    assert arch.has("memory_access") == (arch.style != "static" and bool(arch.tiles_for("mem")))


def test_an_unknown_trait_is_refused_where_it_is_declared_and_where_it_is_asked_for() -> None:
    mesh = build("mesh:2x2")
    text = "no trait is called 'spoke'; known: " + ", ".join(TRAITS)
    with pytest.raises(ArchError) as declared:
        dataclasses.replace(mesh, traits=frozenset({"spoke"}))
    with pytest.raises(ArchError) as asked:
        mesh.has("spoke")
    assert str(declared.value) == str(asked.value) == text


def test_traits_leave_the_fingerprint_as_it_is() -> None:
    mesh = build("mesh:2x2")
    assert dataclasses.replace(mesh, traits=frozenset()).fingerprint == mesh.fingerprint
