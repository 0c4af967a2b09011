"""Spoke RAM: what each tile does in each spoke of the published distance example."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.hand_mappings import streaming_engine_distance
from tests.plain_arrays import static_grid
from tests.simd_cases import widened

from gridloom.errors import MappingError
from gridloom.targets.streaming.spoke_ram import spoke_ram


def entries() -> dict[str, dict[str, object]]:
    return {entry.node: entry.to_dict() for entry in spoke_ram(streaming_engine_distance()) if entry.node}


def test_every_tile_has_as_many_entries_as_the_ii() -> None:
    found = spoke_ram(streaming_engine_distance())
    assert [(entry.tile, entry.spoke) for entry in found] == [(f"t_{x}", s) for x in range(16) for s in range(3)]


def test_flow_starts_at_the_base_and_sends_to_where_its_reader_is() -> None:
    first = entries()["n0"]
    assert (first["tile"], first["spoke"], first["master"], first["outputs"]) == ("t_3", 0, "base", ["-2"])


def test_master_input_is_the_operand_that_arrives_last() -> None:
    # n4 on tile 2 waits 8 cycles for n1's result and none for n3's, which comes from tile 1.
    assert (entries()["n4"]["master"], entries()["n4"]["delays"]) == ("-1", [8, 8, 0])
    assert (entries()["n6"]["master"], entries()["n6"]["delays"]) == ("-2", [13, 13, 0])


def test_instructions_of_a_tile_are_numbered_by_spoke() -> None:
    found = entries()
    assert [(found[n]["tile"], found[n]["instruction"]) for n in ("n1", "n4", "n2", "n6")] == [
        ("t_2", 0), ("t_2", 1), ("t_4", 0), ("t_4", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("simd", [32, 512])
def test_the_width_of_the_data_path_changes_no_entry(simd: int) -> None:
    mapping = streaming_engine_distance()
    assert spoke_ram(widened(mapping, simd)) == spoke_ram(mapping)


def test_other_arrays_have_no_spoke_ram() -> None:
    with pytest.raises(MappingError, match="has no spokes"):
        spoke_ram(replace(streaming_engine_distance(), arch=static_grid()))
