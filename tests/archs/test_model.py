"""Names, look-ups and the fingerprint of an array."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import pytest

from gridloom.archs import Arch, ArchBuilder, Kind, Setting, Tile, build
from gridloom.errors import ArchError

FINGERPRINTED = ("mesh:3x3,io=border", "torus:2x2,regs=2", "vpcma:3x3", "streaming-engine:4", "rdu:2x2")
_PRINT = "import sys; from gridloom.archs import build; print(*(build(a).fingerprint for a in sys.argv[1:]))"


def test_fingerprint_is_the_same_in_every_process() -> None:
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", _PRINT, *FINGERPRINTED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(tuple(done.stdout.split()))
    assert found == {tuple(build(text).fingerprint for text in FINGERPRINTED)}


def test_fingerprint_tells_arrays_apart() -> None:
    strings = (
        "mesh:2x3", "mesh:3x2", "mesh:2x3,fifo=4", "mesh:2x3,inputs=skewed", "mesh:2x3,io=none", "mesh:2x3,mul=columns",
        "mesh:2x3,operands=2", "onehop:2x3", "hex:2x3", "torus:2x3", "torus:2x3,regs=2", "torus:2x3,rotating=2",
        "torus:2x3,hold=next", "torus:2x3,bus=dedicated", "torus:2x3,bus=none", "torus:2x3,data_memory=64",
        "torus:2x3,contexts=4", "vpcma:2x3", "vpcma:2x3,alu_routes=false", "vpcma:2x3,constants=1",
    )  # fmt: skip
    arrays = [build(text) for text in strings]
    arrays.append(build({"family": "mesh", "rows": 2, "cols": 3, "latency": {"mul": 2}}))
    arrays.append(replace(build("vpcma:2x3"), settings=(Setting(name="other", length=1, summary=""),)))
    arrays.append(replace(build("vpcma:2x3"), rules=()))
    for a, b in combinations(arrays, 2):
        assert a.fingerprint != b.fingerprint, f"{a.name} and {b.name}"


def test_fingerprint_does_not_depend_on_how_an_array_is_described() -> None:
    assert build("mesh:2x2,io=border").fingerprint == build("mesh:2x2,io=all").fingerprint
    assert build("ramp-3").fingerprint == build("torus:2x2,regs=2,data_memory=4096,contexts=256").fingerprint


@pytest.fixture
def arch() -> Arch:
    return build("mesh:1x2,operands=2")


def test_resources_are_found_by_tile_and_name(arch: Arch) -> None:
    assert arch.resource_names[arch.fu[1]] == "pe_0_1.fu"
    assert arch.resource_names[arch.out[1]] == "pe_0_1.out"
    assert [arch.resource_names[r] for r in arch.operand_inputs[1]] == ["pe_0_1.in0", "pe_0_1.in1"]
    assert [(a, b, arch.resource_names[r]) for a, b, r in arch.links] == [
        (0, 1, "pe_0_0>pe_0_1"),
        (1, 0, "pe_0_1>pe_0_0"),
    ]
    assert arch.tiles_for("mul") == (0, 1)
    with pytest.raises(ArchError, match=r"^array 'mesh:1x2,operands=2' has no resource 'pe_9_9\.fu'$"):
        arch.resource("pe_9_9.fu")


def test_latency_and_occupancy_fall_back_to_the_rest() -> None:
    tile = Tile(name="t", row=0, col=0, classes=frozenset(), latency={"mul": 3, "*": 2}, occupancy={"div": 8})
    assert (tile.latency_of("mul"), tile.latency_of("alu")) == (3, 2)
    assert (tile.occupancy_of("div"), tile.occupancy_of("alu")) == (8, 1)


def test_resource_defined_twice_is_refused() -> None:
    builder = ArchBuilder()
    builder.add("mem", Kind.MEM)
    with pytest.raises(ArchError, match=r"^resource 'mem' is defined twice$"):
        builder.add("mem", Kind.MEM)
