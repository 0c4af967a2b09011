"""vpcma: the inputs of every multiplexer, ports, constants, pipeline bits."""

from __future__ import annotations

import pytest
from tests.archs.paths import drivers, earliest, followers

from gridloom.archs import Arch, Kind, build
from gridloom.errors import ArchError


@pytest.fixture(scope="module")
def chip() -> Arch:
    return build("vpcma")


def test_published_chip_has_12_columns_8_rows_and_16_constants(chip: Arch) -> None:
    kinds = [tile.kind for tile in chip.tiles]
    assert {kind: kinds.count(kind) for kind in kinds} == {"pe": 96, "load": 12, "store": 12, "const": 16}
    assert (chip.rows, chip.cols, chip.style, chip.inputs) == (8, 12, "static", "aligned")
    assert chip.free == frozenset()


def test_multiplexers_inside_the_array_have_the_published_inputs(chip: Arch) -> None:
    links = ["pe_2_4.out", "pe_2_5.out", "pe_2_6.out"]
    south, east, west = "pe_2_5.n", "pe_3_6.w", "pe_3_4.e"
    operand = sorted([south, east, west, *links, "const_3.fu", "const_11.fu"])
    assert drivers(chip, "pe_3_5.in0") == drivers(chip, "pe_3_5.in1") == operand
    assert drivers(chip, "pe_3_5.n") == sorted(["pe_3_5.out", south, east, west, *links, "const_3.fu"])
    assert drivers(chip, "pe_3_5.e") == sorted(["pe_3_5.out", south, west, *links])
    assert drivers(chip, "pe_3_5.w") == sorted([south, east, "pe_2_5.out", "pe_2_6.out"])
    assert drivers(chip, "pe_3_5.s") == sorted(["pe_3_5.out", "pe_4_5.s", east, west])


@pytest.mark.parametrize(("pin", "count"), [("in0", 8), ("in1", 8), ("n", 8), ("e", 6), ("w", 4), ("s", 4)])
def test_every_multiplexer_inside_the_array_has_the_published_width(chip: Arch, pin: str, count: int) -> None:
    found = {len(drivers(chip, f"pe_{y}_{x}.{pin}")) for y in range(1, 7) for x in range(1, 11)}
    assert found == {count}


def test_row_0_reads_the_load_port_of_its_column(chip: Arch) -> None:
    assert drivers(chip, "pe_0_5.in0") == ["const_0.fu", "const_8.fu", "load_5.out", "pe_0_4.e", "pe_0_6.w"]
    assert drivers(chip, "pe_0_5.n") == ["const_0.fu", "load_5.out", "pe_0_4.e", "pe_0_5.out", "pe_0_6.w"]
    assert followers(chip, "load_5.out") == ["pe_0_5.e", "pe_0_5.in0", "pe_0_5.in1", "pe_0_5.n", "pe_0_5.w"]


def test_store_port_reads_the_south_output_of_row_0(chip: Arch) -> None:
    assert drivers(chip, "store_5.in0") == ["pe_0_5.s"]


def test_south_output_feeds_nothing_but_the_south_chain(chip: Arch) -> None:
    for y in range(8):
        for x in range(12):
            assert followers(chip, f"pe_{y}_{x}.s") == [f"pe_{y - 1}_{x}.s" if y else f"store_{x}.in0"]


def test_nothing_reads_from_the_north_but_the_south_chain(chip: Arch) -> None:
    row = {name: chip.tiles[chip.tile[k]].row for name, k in chip.resource_index.items()}
    for a, b in zip(chip.arc_source.tolist(), chip.arc_target.tolist(), strict=True):
        source, target = chip.resource_names[a], chip.resource_names[b]
        if chip.kind[a] != Kind.CONST and not target.endswith(".s") and not target.startswith("store"):
            assert row[source] <= row[target], f"{source} -> {target}"


def test_row_reads_its_two_constants(chip: Arch) -> None:
    for k in range(16):
        rows = {chip.tiles[chip.tile[chip.resource(name)]].row for name in followers(chip, f"const_{k}.fu")}
        assert rows == {k % 8}


def test_unused_alu_passes_operand_0_on_unless_switched_off() -> None:
    assert drivers(build("vpcma"), "pe_0_0.fu") == ["pe_0_0.in0"]
    assert drivers(build("vpcma:alu_routes=false"), "pe_0_0.fu") == []


def test_nothing_takes_time_but_enabled_row_boundaries(chip: Arch) -> None:
    combinational = earliest(chip, "load_3.out")
    assert set(combinational.values()) == {0}
    bits = [0, 1, 0, 0, 1, 0, 0]
    registered = earliest(chip, "load_3.out", {"pipeline": bits})
    for y in range(8):
        for x in range(12):
            assert registered[f"pe_{y}_{x}.in0"] == registered[f"pe_{y}_{x}.n"] == sum(bits[:y])


def test_pipeline_registers_sit_on_alu_links_and_north_outputs_only(chip: Arch) -> None:
    gated = chip.arc_gate >= 0
    for a, b, gate in zip(chip.arc_source[gated], chip.arc_target[gated], chip.arc_gate[gated], strict=True):
        assert chip.resource_names[a].rpartition(".")[2] in ("n", "out")
        assert chip.tiles[chip.tile[a]].row == gate
        assert chip.tiles[chip.tile[b]].row == gate + 1
    assert chip.settings[0].length == 7


def test_constants_may_be_fewer() -> None:
    arch = build("vpcma:4x2,constants=5")
    assert drivers(arch, "pe_0_0.in0") == ["const_0.fu", "const_4.fu", "load_0.out", "pe_0_1.w"]
    assert drivers(arch, "pe_1_0.in0") == ["const_1.fu", "pe_0_0.n", "pe_0_0.out", "pe_0_1.out", "pe_1_1.w"]
    with pytest.raises(ArchError, match=r"constants: expected 0 to 8 \(two per row\), found 9$"):
        build("vpcma:4x2,constants=9")
