"""Placements that a user gives: pins hold, a placement is kept, a search begins from one, on every style of array."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.errors import OptionError
from gridloom.flow.request import Request
from gridloom.flow.result import Result
from gridloom.flow.run import run
from gridloom.mapping.json_format import dumps
from gridloom.mapping.model import Mapping
from gridloom.search.placements import given_tiles, sits_on_tile
from gridloom.targets.grid.mappers.anneal import AnnealConfig

#: Style -> a source, an array and the effort that the default mapper needs for it.
STYLES = {
    "grid": ("kernel:fir", "mesh:6x6,fifo=4", 20_000),
    "modulo": ("kernel:iir", "torus:4x4", 8_000),
    "spokes": ("kernel:fir", "streaming-engine:16", 20_000),
    "rows": ("kernel:vector_add,lanes=4", "vpcma", 50_000),
    "elastic": ("kernel:mlp,width=64,layers=1", "rdu:16x8", 320),
}


def mapped(style: str, seed: int = 1, **placements: Any) -> Result:
    source, arch, effort = STYLES[style]
    return run(Request(source=source, arch=arch, effort=effort, seed=seed, **placements))


@cache
def first(style: str) -> Mapping:
    mapping = mapped(style, seed=0).mapping
    assert mapping is not None
    return mapping


def tiles(mapping: Mapping) -> dict[str, str]:
    """The tile of every node that sits on one."""
    placed = [node.id for k, node in enumerate(mapping.dfg.nodes) if sits_on_tile(mapping.dfg, mapping.arch, k)]
    return {node: mapping.instance_of[node, 0].place for node in placed}


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def saved(style: str, tmp_path: Path) -> Path:
    path = tmp_path / "mapping.json"
    path.write_text(dumps(first(style)))
    return path


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_pins_of_any_half_of_a_mapping_hold(style: str, data: st.DataObject):
    placed = tiles(first(style))
    chosen = data.draw(st.lists(st.sampled_from(sorted(placed)), unique=True, max_size=len(placed) // 2))
    pin = {node: placed[node] for node in chosen}
    result = mapped(style, pin=pin)
    assert result.status == "mapped"
    assert result.mapping is not None
    for instance in result.mapping.instances:
        assert instance.place == pin.get(instance.node, instance.place)


def test_saved_mapping_is_kept_by_place(style: str, saved: Path):
    result = mapped(style, place=saved)
    assert result.status == "mapped"
    assert result.mapping is not None
    assert tiles(result.mapping) == tiles(first(style))


@pytest.mark.parametrize("option", ["init", "pin"])
def test_saved_mapping_is_taken_as_a_start_and_as_pins(style: str, saved: Path, option: str):
    result = mapped(style, **{option: saved})
    assert result.status == "mapped"
    assert result.mapping is not None
    assert option == "init" or tiles(result.mapping) == tiles(first(style))


def test_init_of_some_nodes_begins_there(style: str):
    placed = tiles(first(style))
    assert mapped(style, init=dict(list(placed.items())[::2])).status == "mapped"


def test_init_changes_what_is_found_on_a_torus():
    placed = tiles(first("modulo"))
    begun = mapped("modulo", init=placed).mapping
    assert begun is not None
    assert tiles(begun) != tiles(mapped("modulo").mapping or begun)


@pytest.mark.parametrize(
    ("style", "node", "tile", "demand", "bound"),
    [
        ("rows", "x0", "store_1", "op class input", "classes output in column 1 of 12"),
        ("elastic", "fc0.c0@0", "mu_0_1", "op class gemm", "classes buffer"),
    ],
)
def test_pin_on_a_tile_that_cannot_run_the_node_is_a_failure(style: str, node: str, tile: str, demand: str, bound: str):
    failure = mapped(style, pin={node: tile}).failure
    assert failure is not None
    assert failure.constraint == f"node {node!r} on tile {tile!r}"
    assert (failure.demand, failure.bound) == (demand, bound)


def test_pin_of_a_load_on_a_tile_without_memory_is_a_failure():
    arch = "torus:4x4,memory=borders"
    failure = run(Request(source="kernel:iir", arch=arch, effort=1000, pin={"x": "pe_1_1"})).failure
    assert failure is not None
    assert failure.constraint == "node 'x' on tile 'pe_1_1'"
    assert failure.demand == "op class mem"


def test_more_pins_on_a_tile_than_the_ii_are_counted():
    nodes = list(tiles(first("modulo")))[:3]
    result = mapped("modulo", pin=dict.fromkeys(nodes, "pe_1_1"))
    assert result.mapping is not None
    assert result.mapping.ii >= 3


@pytest.mark.parametrize(
    ("settings_of", "shared", "text"),
    [
        ({"pin": {"q": "pe_0_0"}}, False, "pin: graph 'fir' has no node 'q'"),
        ({"init": {"x": "pe_9_9"}}, False, "init: node 'x': array 'mesh:6x6,fifo=4' has no tile 'pe_9_9'"),
        ({"pin": {"c1": "pe_0_0"}}, False, "pin: node 'c1' is a const, which needs no tile on 'mesh:6x6,fifo=4'"),
        (
            {"pin": {"x": "pe_0_0", "mul2": "pe_0_0"}},
            False,
            "pin: tile 'pe_0_0' is given to 'x' and to 'mul2'; a tile takes one node",
        ),
        ({"place": {"x": "pe_0_0"}}, True, "place: no tile for mul2, mul4, add5, ...; every node needs one"),
    ],
)
def test_placement_that_makes_no_sense_is_one_message(settings_of: dict[str, Any], shared: bool, text: str):
    mapping = first("grid")
    config = AnnealConfig(**settings_of)
    with pytest.raises(OptionError) as caught:
        given_tiles(mapping.dfg, mapping.arch, config, shared=shared)
    assert str(caught.value) == text


def test_value_that_nothing_reads_and_nothing_can_keep_is_named():
    from gridloom.search.placements import no_place_left

    assert str(no_place_left("k")) == (
        "node 'k' is read by nothing, and no register is left to keep it; take it out of the graph, or use an array "
        "with more registers"
    )
