"""Morpher's JSON arrays become arrays; what cannot be expressed is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.targets.modulo.families.morpher.descriptions import FILES, OPS, text

from gridloom.archs import Kind, build, check_arch
from gridloom.errors import ArchError
from gridloom.flow.inputs import read_arch
from gridloom.targets.modulo.families.morpher.array import read

#: Files that say what the model cannot express, and what the refusal names.
REFUSED = {
    "CONFLICTS: ports that exclude each other": ("mem_n2n_mem", "n2n", "n2n_new", "n2n_verbose"),
    "no module is called 'SPM_B0_WRAPPER'": (
        "hycube_original_updatemem", "hycube_original_updatemem8x8", "hycube_original_updatemem_RC",
        "new_cgra_updatemem", "stdnoc_alu_dependent_updatemem", "stdnoc_original_updatemem",
    ),
}  # fmt: skip


def small(**changes: Any) -> Any:
    return build({"family": "morpher", "json": text(**changes)})


def test_places_become_tiles_with_their_links_and_registers() -> None:
    arch = small()
    assert [tile.name for tile in arch.tiles] == ["pe_0_0", "pe_0_1", "pe_0_2"]
    assert sorted(arch.resource_names[r] for _, _, r in arch.links) == [
        "pe_0_0>pe_0_1", "pe_0_1>pe_0_0", "pe_0_1>pe_0_2", "pe_0_2>pe_0_1",
    ]  # fmt: skip
    # A register at the border that no link reaches falls away, as the port before it does.
    assert int((arch.kind == Kind.REG).sum()) == 4 + 3
    assert check_arch(arch) == []


def test_op_classes_and_latencies_are_those_of_the_function_unit() -> None:
    arch = small()
    assert sorted(arch.tiles[1].classes) == ["alu", "div", "mul"]
    assert sorted(arch.tiles[0].classes) == ["alu", "div", "mem", "mul"]
    assert (arch.tiles[0].latency_of("mem"), arch.tiles[1].latency_of("alu")) == (2, 1)


def test_ports_that_only_repeat_their_source_fall_away() -> None:
    arch = small()
    # Of each inner place: two crossbar inputs, and the wire that writes TREG.
    assert [name for name in arch.resource_names if name.startswith("pe_0_1.s")] == [
        "pe_0_1.s0", "pe_0_1.s1", "pe_0_1.s2",
    ]  # fmt: skip


def test_links_per_cycle_are_given_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "three.json"
    file.write_text(text())
    assert (read_arch(str(file)).links_per_cycle, read_arch(f"{file},hops=2").links_per_cycle) == (4, 2)
    assert read_arch(f"{file},hops=2").name == "three:1x3,hops=2"


def test_the_array_can_be_built_again_from_its_description() -> None:
    arch = small()
    assert build(dict(arch.spec)).fingerprint == arch.fingerprint


@pytest.mark.skipif(not FILES.exists(), reason="the descriptions of Morpher are not here")
def test_memories_beside_the_places_are_banks_with_their_ports() -> None:
    arch = read(FILES / "arch" / "mem_hycube_original_mem.json")
    banks = [([arch.tiles[k].name for k in bank.tiles], bank.ports, bank.size) for bank in arch.banks]
    assert banks == [(["pe_0_0", "pe_1_0"], 2, 2048), (["pe_2_0", "pe_3_0"], 2, 2048)]
    assert arch.has("banks")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"PE": {"CONFLICTS": {"W_X": ["E_X"]}}}, "PE.CONFLICTS: ports that exclude each other in a cycle cannot be "
         "expressed"),
        ({"PE": {"COLOUR": 1}}, "PE.COLOUR: no such key is known; known: CONFLICTS, CONNECTIONS, DATA_LAYOUT, "
         "INIT_FILE, INPUTS, INTERNAL, INTERNALS, ISOCKETS, MEM, OPS, OUTPUTS, REGS, SOCKETS, SUBMODS, TSOCKETS"),
        ({"FU": None}, "PE.SUBMODS: no module is called 'FU'; a template that Morpher's scripts complete with memory "
         "banks is no whole description"),
        ({"FU": {"OPS": {"ADD": 1, "SUB": 1}}}, "FU.OPS: has ADD, SUB but not AND, ARS, CGT, CLT, CMP, LS, OR, RS, "
         "SELECT, XOR; a tile has all ops of class alu or none"),
        ({"FU_MEM": {"OPS": {**OPS, "LOAD": 2, "STORE": 1}}}, "FU_MEM.OPS: ops of class mem differ in latency (LOAD 2, "
         "STORE 1); a class has one"),
        ({"FU": {"OPS": {"ADD": 0}}}, "FU.OPS: expected ops with latencies from 1 to 64, found \"{'ADD': 0}\""),
        ({"FU": {"SUBMODS": {"DP": [{"name": "D"}, {"name": "E"}]}}}, "FU: expected one data path, found 2"),
        ({"PE": {"SUBMODS": {"FU": [{"name": "F"}, {"name": "G"}]}}}, "PE_X1_Y0: a place with more than one function "
         "unit cannot be expressed"),
        ({"PE": {"CONNECTIONS": {"THIS.W_I": ["THIS.NOWHERE"]}}}, "PE_X1_Y0.NOWHERE: a connection names this port, "
         "which does not exist"),
        ({"SPM": {"MEM": {"SIZE": 64}, "SOCKETS": ["P"]}, "PE": {"SUBMODS": {"FU": [{"name": "F"}], "SPM": "M"}}},
         "PE: a memory inside a place cannot be expressed"),
        ({"CGRA": {"SUBMODS": [{"PATTERN": "RING"}]}}, "CGRA.SUBMODS.PATTERN: expected GRID with DIMS, found "
         "\"'RING'\""),
    ],
)  # fmt: skip
def test_what_cannot_be_expressed_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchError) as error:
        small(**changes)
    assert error.value.message == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON: "),
        ("[]", 'expected {"ARCH": {...}}, a Morpher array description'),
        ('{"ARCH": {}}', "ARCH: expected a module 'CGRA', found: none"),
    ],
)
def test_other_texts_are_refused_with_the_file(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(content)
    with pytest.raises(ArchError) as error:
        read(file)
    assert error.value.message.startswith(message)
    assert str(error.value).startswith(str(file))


@pytest.mark.skipif(not FILES.exists(), reason="the descriptions of Morpher are not here")
@pytest.mark.parametrize("reason", REFUSED)
def test_published_files_are_refused_with_the_reason(reason: str) -> None:
    for name in REFUSED[reason]:
        with pytest.raises(ArchError, match=reason):
            read(FILES / "arch" / f"{name}.json")


@pytest.mark.skipif(not FILES.exists(), reason="the descriptions of Morpher are not here")
def test_all_other_published_files_are_read() -> None:
    refused = {name for names in REFUSED.values() for name in names}
    files = [file for file in sorted((FILES / "arch").glob("*.json")) if file.stem not in refused]
    sizes = {file.stem: len(read(file).tiles) for file in files}
    assert len(sizes) == 18
    assert (sizes["stdnoc"], sizes["scale_stdnoc_8x8"], sizes["hycube_original"], sizes["hycube_2x2"]) == (
        16,
        64,
        16,
        4,
    )
    assert all(check_arch(read(file)) == [] for file in files)


@pytest.mark.skipif(not FILES.exists(), reason="the descriptions of Morpher are not here")
def test_the_verbose_file_is_the_same_array_as_the_one_with_a_pattern() -> None:
    plain, verbose = (read(FILES / "arch" / f"{name}.json") for name in ("stdnoc", "stdnoc_verbose"))
    assert len(plain.arc_source) == len(verbose.arc_source)
    assert sorted(plain.resource_names) == sorted(verbose.resource_names)
