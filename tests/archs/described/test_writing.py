"""Every array can be written as a description; what is read back is the same array."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom import registry
from gridloom.archs import Arch, build
from gridloom.archs.described.text import yaml_text
from gridloom.archs.described.writing import describe, describe_by_tile
from gridloom.errors import ArchError

VARIANTS = [
    "mesh:6x6,mul=checkerboard,io=border,fifo=3,inputs=skewed,operands=2", "onehop:5x3", "hex:4x3", "chess:4x5",
    "torus:1x3,regs=0,bus=none", "torus:2x2", "torus:4x4,hold=next,mul=columns,memory=none,contexts=8",
    "torus:3x3,rotating=2,bus=dedicated,data_memory=4096", "torus:3x3,file=central,regs=8,rotating=3",
    "vpcma:3x4,constants=3,alu_routes=false", "streaming-engine:5,spokes=3,level=paper", "rdu:3x3",
]  # fmt: skip


def of_name(name: str) -> Arch:
    """The array of a family's name alone, or of a small size."""
    try:
        return build(name)
    except ArchError as error:
        if not error.message.startswith("rows:"):
            pytest.skip("it is described by a text of its own")
        return build(f"{name}:4x4")


def read_back(arch: Arch, folder: Path) -> Arch:
    """The array that is read from the description of another one."""
    path = folder / "array.yaml"
    path.write_text(yaml_text(describe(arch)), encoding="utf-8")
    return build(path)


@pytest.mark.parametrize("name", [*registry.names("archs"), *VARIANTS])
def test_an_array_read_back_is_the_same(name: str, tmp_path: Path) -> None:
    arch = of_name(name)
    again = read_back(arch, tmp_path)
    assert again.fingerprint == arch.fingerprint
    assert (again.traits, again.name, again.rows, again.cols) == (arch.traits, arch.name, arch.rows, arch.cols)


@pytest.mark.parametrize("name", ["mesh:5x5", "onehop:5x5", "hex:5x5", "chess:5x5", "torus:5x5", "ramp-12", "ramp-5"])
def test_grids_are_written_by_tile_in_a_few_lines(name: str) -> None:
    described = describe_by_tile(build(name))
    assert described is not None
    assert len(yaml_text(described).splitlines()) <= 12


def test_tiles_that_differ_in_latency_are_written_by_tile() -> None:
    arch = build({
        "extends": "torus:3x3",
        "tiles": [{"latency": {"mul": 2}}, {"where": [0, 0], "latency": {"*": 1, "div": 8}, "occupancy": {"div": 8}},
                  {"where": {"row": 2}, "latency": 2}],
    })  # fmt: skip
    described = describe_by_tile(arch)
    assert described is not None
    assert described["tiles"] == [
        {"ops": ["alu", "mul", "div", "fp", "mem", "mem_data"], "latency": {"mul": 2}, "occupancy": 1, "registers": 4},
        {"where": [0, 0], "latency": {"*": 1, "div": 8}, "occupancy": {"div": 8}},
        {"where": {"row": 2}, "latency": 2},
    ]


def test_banks_are_written_by_tile(tmp_path: Path) -> None:
    banks = [{"name": "low", "where": {"col": 0}, "ports": 2, "bytes": 64, "latency": 3}, {"name": "high"}]
    arch = build({"extends": "torus:3x3", "memory": {"banks": banks}, "name": "banked"})
    assert describe_by_tile(arch) is not None
    again = read_back(arch, tmp_path)
    assert (again.fingerprint, again.banks, again.traits) == (arch.fingerprint, arch.banks, arch.traits)
    assert [tile.latency_of("mem") for tile in again.tiles[:2]] == [3, 1]


def test_links_that_no_pattern_has_are_listed() -> None:
    described = describe_by_tile(
        build(
            {
                "extends": "mesh:3x3",
                "links": [{"from": [0, 0], "to": [2, 2]}, {"from": [0, 1], "to": [2, 1], "both": True}],
            }
        )
    )
    assert described is not None
    assert described["links"] == [
        "mesh",
        {"from": [0, 0], "to": [2, 2]},
        {"from": [0, 1], "to": [2, 1], "both": True},
    ]
