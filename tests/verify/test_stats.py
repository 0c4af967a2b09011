"""Metrics of the hand-made mappings, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.verify import legal_mappings as made
from tests.verify.sketch import adding

from gridloom.archs import build
from gridloom.mapping import Instance, Route
from gridloom.verify import stats
from gridloom.verify.stats import Slots

EXPECTED: dict[str, dict[str, Any]] = {
    # m -> s takes two links; x waits 2 cycles; o issues at 4 and is done at 5.
    "mesh": {
        "ii": 1, "latency": 5, "wirelength": 1, "longest_wire": 1, "placed_wirelength": 1,
        "buffers": {"max": 2, "total": 2}, "width": 2, "height": 2, "tiles_used": 4, "routing_tiles": 0,
        "occupancy": 1.0, "slots": None,
    },
    # The store issues at 3; moves and registers are no links. Four ops and the move through pe_1_0 take slots.
    "torus": {
        "ii": 2, "mii": 1, "latency": 4, "wirelength": 0, "placed_wirelength": None, "tiles_used": 4, "occupancy": 1.0,
        "slots": {"used": 5, "total": 8, "ops": 4, "moves": 1},
    },
    # y: port, W of pe_0_1, operand: 2 hops. s -> t: up two rows. t -> o: down two rows and into the port: 3 hops.
    "vpcma": {
        "latency": 2, "wirelength": 4, "longest_wire": 2, "width": 2, "height": 3,
        "tiles_used": 3, "routing_tiles": 1, "occupancy": 0.25,
    },
    # c issues at 8; a waits 3 cycles.
    "streaming": {
        "ii": 2, "latency": 11, "buffers": {"max": 3, "total": 3}, "width": 3, "height": 1, "occupancy": 0.75,
        "slots": {"used": 3, "total": 8, "ops": 3, "moves": 0},
    },
    # Two links an edge, over three switches; two of four units.
    "rdu": {
        "ii": None, "mii": None, "latency": None, "period": None, "wirelength": 3, "longest_wire": 1,
        "tiles_used": 2, "routing_tiles": 3, "occupancy": 0.5,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_metrics_are_those_counted_by_hand(name: str):
    found = stats(made.LEGAL[name]()).to_dict()
    assert {key: found[key] for key in EXPECTED[name]} == EXPECTED[name]


def test_fields_are_those_of_the_map_object():
    assert set(stats(made.mesh()).to_dict()) == {
        "ii", "mii", "res_mii", "rec_mii", "latency", "period", "wirelength", "longest_wire", "buffers",
        "placed_wirelength", "width", "height", "tiles_used", "routing_tiles", "occupancy", "slots",
    }  # fmt: skip


def test_the_store_and_the_load_of_a_spill_take_a_slot_each():
    assert stats(made.LEGAL["spilled"]()).slots == Slots(total=12, ops=2, moves=2)


def test_tile_that_is_only_passed_through_counts_as_routing_and_widens_the_box():
    found = stats(replace(made.mesh("mesh:3x3"), instances=made.mesh().instances[:-1]))
    assert (found.tiles_used, found.routing_tiles, found.width, found.height) == (3, 1, 2, 2)


def test_names_that_do_not_exist_are_passed_over():
    strange = adding(
        made.mesh(),
        [Instance(node="ghost", place="pe_0_0", cycle=99), Instance(node="m", place="nowhere", cycle=99, copy=1)],
        [Route(edge=7, hops=(("nowhere.out", 3),))],
    )
    assert stats(strange) == stats(made.mesh())


def test_empty_mapping_has_metrics():
    found = stats(replace(made.mesh(), arch=build("mesh:1x1"), instances=(), routes=()))
    assert (found.latency, found.width, found.height, found.occupancy) == (0, 0, 0, 0.0)


@pytest.mark.parametrize(
    ("text", "lanes", "size"),
    [("simd=512", 16, 65_536), ("simd=512,words=1024", 16, 131_072), ("simd=64,tile_memory=3", 2, 24)],
)
def test_a_simd_width_gives_lanes_their_rate_and_bytes_of_tile_memory(text: str, lanes: int, size: int) -> None:
    mapping = made.LEGAL["streaming"]()
    wide = replace(mapping, arch=build(f"streaming-engine:{len(mapping.arch.tiles)},{text}"))
    found = stats(wide).to_dict()["simd"]
    bits = 32 * lanes
    rate = lanes / mapping.ii
    assert found == {"bits": bits, "lanes": lanes, "elements_per_cycle": rate, "tile_memory_bytes": size}


def test_other_arrays_have_no_field_about_lanes() -> None:
    assert all("simd" not in stats(make()).to_dict() for make in made.LEGAL.values())
