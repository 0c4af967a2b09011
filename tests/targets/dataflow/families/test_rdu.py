"""rdu: units, switches, links, buffers."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from tests.archs.paths import drivers, followers

from gridloom.archs import Kind, build
from gridloom.archs.spec import parameters
from gridloom.errors import ArchError
from gridloom.targets.dataflow.families.rdu import RduParameters


@pytest.mark.parametrize(
    ("rows", "cols", "channels", "every"), [(16, 8, 2, 2), (3, 5, 1, 2), (1, 1, 3, 1), (5, 2, 2, 4)]
)
def test_counts_follow_from_the_size(rows: int, cols: int, channels: int, every: int) -> None:
    arch = build(f"rdu:{rows}x{cols},channels={channels},dram_every={every}")
    kinds = [tile.kind for tile in arch.tiles]
    drams = 2 * -(-rows // every)
    assert kinds.count("cu") == -(-rows * cols // 2)
    assert kinds.count("mu") == rows * cols // 2
    assert kinds.count("switch") == (rows + 1) * (cols + 1)
    assert kinds.count("dram") == drams
    between_switches = 2 * channels * ((rows + 1) * cols + rows * (cols + 1))
    assert len(arch.links) == between_switches + 8 * rows * cols + 4 * drams


def test_units_stand_in_a_checkerboard_between_their_corner_switches() -> None:
    arch = build("rdu:2x2")
    assert [tile.name for tile in arch.tiles[:4]] == ["cu_0_0", "mu_0_1", "mu_1_0", "cu_1_1"]
    assert followers(arch, "mu_0_1.out") == ["mu_0_1>sw_0_1", "mu_0_1>sw_0_2", "mu_0_1>sw_1_1", "mu_0_1>sw_1_2"]
    assert drivers(arch, "mu_0_1.in5") == ["sw_0_1>mu_0_1", "sw_0_2>mu_0_1", "sw_1_1>mu_0_1", "sw_1_2>mu_0_1"]
    assert followers(arch, "dram_right_0.out") == ["dram_right_0>sw_0_2", "dram_right_0>sw_1_2"]


def test_channels_between_switches_are_numbered() -> None:
    arch = build("rdu:1x1,channels=2")
    assert "sw_0_0>sw_0_1#1" in followers(arch, "cu_0_0>sw_0_0")
    assert "sw_0_0>cu_0_0" not in followers(arch, "cu_0_0>sw_0_0")


def test_links_are_time_shared_and_units_buffer_vectors() -> None:
    arch = build("rdu:2x2,fifo=4,memory_bytes=1000,vector_bytes=64")
    assert set(arch.capacity[arch.kind == Kind.LINK]) == {0}
    assert {tile.name: tile.buffer for tile in arch.tiles[:2]} == {"cu_0_0": 4, "mu_0_1": 15}
    assert [tile.classes for tile in arch.tiles[:2]] == [{"gemm", "vector"}, {"buffer"}]
    assert arch.style == "elastic"


def test_parameters_are_those_of_the_description() -> None:
    given = {"switch_buffer": 48, "dram_queue": 96, "dram_channels": 3, "memory_ports": 2, "fifo": 9}
    arch = build("rdu:2x2," + ",".join(f"{key}={value}" for key, value in given.items()))
    found = asdict(parameters(RduParameters, arch.spec))
    assert {key: found[key] for key in given} == given
    assert {key: value for key, value in found.items() if key not in given} == {
        key: value for key, value in asdict(RduParameters(rows=2, cols=2)).items() if key not in given
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("channels=0", "channels: expected 1 to 16, found 0"),
        ("channels=1000000", "channels: expected 1 to 16, found 1000000"),
        ("operands=17", "operands: expected 1 to 16, found 17"),
        ("dram_every=0", "dram_every: expected 1 to 1099511627776, found 0"),
        ("memory_bytes=63", "memory_bytes: expected 64 to 1099511627776, found 63"),
    ],
)
def test_parameter_out_of_range_is_named(text: str, message: str) -> None:
    with pytest.raises(ArchError) as error:
        build(f"rdu:2x2,{text}")
    assert str(error.value) == f"array 'rdu:2x2,{text}': {message}"
