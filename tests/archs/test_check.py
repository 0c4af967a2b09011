"""check_arch finds faults that were planted in sound arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridloom.archs import Arch, ArchBuilder, Kind, Pool, Tile, build, check_arch


def without_arcs(arch: Arch, drop: np.ndarray) -> Arch:
    keep = ~drop
    return replace(
        arch,
        arc_source=arch.arc_source[keep],
        arc_target=arch.arc_target[keep],
        arc_latency=arch.arc_latency[keep],
        arc_gate=arch.arc_gate[keep],
    )


def tiny(*classes: str) -> ArchBuilder:
    builder = ArchBuilder()
    for k in range(2):
        tile = builder.add_tile(Tile(name=f"pe_{k}", row=0, col=k, classes=frozenset(classes), operands=1))
        builder.arc(builder.add(f"pe_{k}.fu", Kind.FU, tile), builder.add(f"pe_{k}.out", Kind.OUT, tile), 1)
        builder.add(f"pe_{k}.in0", Kind.IN, tile)
    return builder


def link(builder: ArchBuilder, a: int, b: int) -> None:
    wire = builder.add(f"pe_{a}>pe_{b}", Kind.LINK, a)
    builder.arc(builder.index[f"pe_{a}.out"], wire)
    builder.arc(wire, builder.index[f"pe_{b}.in0"])


def finish(builder: ArchBuilder) -> list[str]:
    return check_arch(builder.build(name="tiny", style="static", rows=1, cols=2, spec={}))


def test_tile_that_no_other_reaches_and_one_that_reaches_none() -> None:
    builder = tiny("alu", "input", "output")
    link(builder, 0, 1)
    assert finish(builder) == [
        "tile pe_0: no other tile reaches it",
        "tile pe_1: it reaches no other tile",
        "resource pe_0.in0: nothing drives it",
    ]


def test_sound_pair_of_tiles_has_no_finding() -> None:
    builder = tiny("alu", "input", "output")
    link(builder, 0, 1)
    link(builder, 1, 0)
    assert finish(builder) == []


def test_op_classes_that_nobody_has() -> None:
    assert check_arch(build("mesh:2x2,io=none")) == ["no tile has op class input", "no tile has op class output"]
    builder = tiny("mul")
    link(builder, 0, 1)
    link(builder, 1, 0)
    assert finish(builder) == [f"no tile has op class {name}" for name in ("alu", "input", "output")]


def test_pools_without_tiles_capacity_or_purpose() -> None:
    pools = (
        Pool(name="nobody", capacity=1, tiles=(), classes=frozenset({"mem"})),
        Pool(name="nothing", capacity=0, tiles=(0,), classes=frozenset({"mem"})),
        Pool(name="useless", capacity=1, tiles=(1,), classes=frozenset({"gemm"})),
    )
    assert check_arch(replace(build("torus:2x2"), pools=pools)) == [
        "pool nobody: no tile belongs to it",
        "pool nothing: its capacity is 0",
        "pool useless: none of its tiles has gemm",
    ]


def test_register_that_nothing_writes() -> None:
    arch = build("torus:2x2,regs=1")
    register = arch.resource("pe_0_1.r0")
    cut = without_arcs(arch, (arch.arc_target == register) & (arch.arc_source != register))
    assert check_arch(cut) == ["resource pe_0_1.r0: nothing drives it"]


def test_parts_without_a_way_between_them() -> None:
    arch = build("mesh:2x4")
    column = np.array([tile.col for tile in arch.tiles])[arch.tile]
    link_target = {r: arch.tiles[b].col for _, b, r in arch.links}
    goal = np.array([link_target.get(r, c) for r, c in enumerate(column)])
    drop = (column[arch.arc_source] < 2) != (goal[arch.arc_target] < 2)
    drop |= (goal[arch.arc_source] < 2) != (column[arch.arc_target] < 2)
    drop |= (column[arch.arc_source] < 2) != (column[arch.arc_target] < 2)
    findings = check_arch(without_arcs(arch, drop))
    assert "tiles pe_0_2 to pe_1_3 (4 of them): no way leads to pe_0_0" in findings


def test_arc_defined_twice_with_two_latencies() -> None:
    builder = tiny("alu", "input", "output")
    link(builder, 0, 1)
    link(builder, 1, 0)
    builder.arc(builder.index["pe_0.fu"], builder.index["pe_0.out"], 2)
    assert finish(builder) == ["pe_0.fu -> pe_0.out: two arcs with different latencies"]


def test_single_tile_is_no_fault() -> None:
    assert check_arch(build("mesh:1x1")) == []
