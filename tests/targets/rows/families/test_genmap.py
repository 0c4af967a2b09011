"""GenMap's chip descriptions as arrays."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.conftest import broken

from gridloom.archs import Arch, Kind, build, check_arch
from gridloom.errors import ArchError
from gridloom.targets.rows.families import genmap as genmap_arch

ONE_PE = """<PEArray name="one" width="1" height="2" const_reg="2" input_port="1" output_port="1">
  <PREG vpos="1"/>
  <!-- row 0 -->
  <PE coord="(0, 0)"><ALU>
    <operation value="1">ADD</operation><operation value="8" route="true">CAT</operation>
    <input name="S" type="IN_PORT" index="0"/><input name="C" type="Const" index="0"/></ALU>
    <SE id="0"><output name="OUT_SOUTH" return_only="True"><input type="SE" id="0" src_name="OUT_SOUTH" coord="(0, 1)"/>
    </output></SE></PE>
  <PE coord="(0,1)"><ALU><operation value="1">ADD</operation><operation value="8" route="true">CAT</operation>
    <input name="L" type="ALU" coord="(0, 0)"/></ALU>
    <SE id="0"><output name="OUT_SOUTH"><input type="ALU" coord="(0, 1)"/></output></SE></PE>
  <OUT_PORT index="0"><input type="SE" id="0" src_name="OUT_SOUTH" coord="(0, 0)"/></OUT_PORT>
</PEArray>
"""


def arcs(arch: Arch) -> set[tuple[str, str, int, int]]:
    """Arcs by name, without those into switch outputs that lead nowhere: files leave such outputs out."""
    names = arch.resource_names
    used = set(arch.arc_source.tolist())
    rows = zip(
        arch.arc_source.tolist(),
        arch.arc_target.tolist(),
        arch.arc_latency.tolist(),
        arch.arc_gate.tolist(),
        strict=True,
    )
    return {
        (names[source], names[target], latency, gate)
        for source, target, latency, gate in rows
        if not (arch.kind[target] == Kind.SWITCH and target not in used)
    }


def test_a_description_becomes_tiles_arcs_and_a_pipeline_bit() -> None:
    arch = genmap_arch.loads(ONE_PE)
    assert (arch.name, arch.rows, arch.cols) == ("one", 2, 1)
    assert [tile.name for tile in arch.tiles] == ["pe_0_0", "pe_1_0", "load_0", "store_0", "const_0"]
    assert arcs(arch) == {
        ("pe_0_0.fu", "pe_0_0.out", 0, -1),
        ("pe_1_0.fu", "pe_1_0.out", 0, -1),
        ("pe_0_0.in0", "pe_0_0.fu", 0, -1),
        ("pe_1_0.in0", "pe_1_0.fu", 0, -1),
        ("load_0.fu", "load_0.out", 0, -1),
        ("load_0.out", "pe_0_0.in0", 0, -1),
        ("load_0.out", "pe_0_0.in1", 0, -1),
        ("const_0.fu", "pe_0_0.in0", 0, -1),
        ("const_0.fu", "pe_0_0.in1", 0, -1),
        ("pe_0_0.out", "pe_1_0.in0", 0, 0),
        ("pe_0_0.out", "pe_1_0.in1", 0, 0),
        ("pe_1_0.out", "pe_1_0.s", 0, -1),
        ("pe_1_0.s", "pe_0_0.s", 0, -1),
        ("pe_0_0.s", "store_0.in0", 0, -1),
    }
    assert [(s.name, s.length) for s in arch.settings] == [("pipeline", 1)]
    assert arch.tiles[0].classes == {"alu", "route"}


def test_the_array_is_built_again_from_its_own_description() -> None:
    arch = genmap_arch.loads(ONE_PE)
    assert "<!--" not in arch.spec["xml"]
    assert genmap_arch.build(arch.spec).fingerprint == arch.fingerprint


def test_the_published_vpcma_file_equals_our_family(benchmarks: Path) -> None:
    published = genmap_arch.read(benchmarks / "genmap" / "chip_files" / "CCSOTB2" / "arch.xml")
    ours = build("vpcma")
    assert arcs(published) == arcs(ours)
    assert [(t.name, t.row, t.col, t.classes) for t in sorted(published.tiles, key=lambda t: t.name)] == [
        (t.name, t.row, t.col, t.classes) for t in sorted(ours.tiles, key=lambda t: t.name)
    ]
    assert [s.length for s in published.settings] == [s.length for s in ours.settings]


@pytest.mark.parametrize(
    ("file", "cols", "rows", "constants", "ports", "registers"),
    [
        ("CCSOTB2/arch.xml", 12, 8, 16, 12, 7),
        ("CCSOTB2/arch_5domains.xml", 12, 8, 16, 12, 7),
        ("VPCMA2/arch.xml", 12, 8, 16, 12, 7),
        ("CCSOTB/arch.xml", 12, 8, 16, 12, 0),
        ("CCSOTB/arch_real.xml", 12, 6, 12, 12, 0),
        ("CMASOTB2/arch.xml", 8, 8, 16, 8, 0),
        ("RHP-CGRA/arch.xml", 7, 9, 0, 18, 0),
    ],
)
def test_chip_files_have_the_sizes_of_their_readme(
    benchmarks: Path, file: str, cols: int, rows: int, constants: int, ports: int, registers: int
) -> None:
    arch = genmap_arch.read(benchmarks / "genmap" / "chip_files" / file)
    kinds = [tile.kind for tile in arch.tiles]
    assert (arch.cols, arch.rows) == (cols, rows)
    assert kinds.count("pe") == cols * rows
    assert kinds.count("const") == constants
    assert (kinds.count("load"), kinds.count("store")) == (ports, ports)
    assert sum(setting.length for setting in arch.settings) == registers
    assert check_arch(arch) == []


def test_shared_ports_load_or_store_not_both(benchmarks: Path) -> None:
    arch = genmap_arch.read(benchmarks / "genmap" / "chip_files" / "RHP-CGRA" / "arch.xml")
    assert len(arch.pools) == 18
    assert [arch.tiles[k].name for k in arch.pools[3].tiles] == ["load_3", "store_3"]
    assert arch.free == {"const", "livein"}
    assert {"alu", "mul", "div", "fp"} < arch.tiles[0].classes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<PEArray ", "<!DOCTYPE x><PEArray ", "a.xml: line 1: <!DOCTYPE is not taken; remove it"),
        ("</PEArray>", "", "a.xml: is not XML: no element found at line 14, column 1"),
        ("PEArray", "Array", "a.xml: expected the root element PEArray, found 'Array'"),
        ('width="1"', 'width="x"', "a.xml: PEArray: width is 'x'; expected an integer"),
        ('width="1"', 'width="2"', "a.xml: PE (1, 0) is missing; expected 2 x 2 of them"),
        ('height="2"', 'height="999"', "a.xml: rows: expected 1 to 128, found 999"),
        ('height="2"', 'height="1"', "a.xml: PE (0, 1) is outside the array of 1 x 1"),
        ('coord="(0,1)"', 'coord="(0,0)"', "a.xml: PE (0, 0) is given twice"),
        ('coord="(0,1)"', 'coord="0,1"', "a.xml: PE: coord is '0,1'; expected (x, y)"),
        ('Const" index="0"', 'Const" index="5"', "a.xml: constant register 5 is read, but const_reg is 2"),
        ('type="IN_PORT" index="0"', 'type="IN_PORT" index="3"', "a.xml: input of pe_0_0.in0: there is no IN_PORT 3"),
        (
            'type="IN_PORT"',
            'type="Bus"',
            "a.xml: input of pe_0_0.in0: type is 'Bus'; expected ALU, SE, Const or IN_PORT",
        ),
        (
            'src_name="OUT_SOUTH" coord="(0, 1)"',
            'src_name="OUT_X" coord="(0, 1)"',
            "a.xml: input of pe_0_0.s: PE (0, 1) has no output OUT_X of SE 0",
        ),
        ('type="ALU" coord="(0, 0)"', 'type="ALU" coord="(5, 0)"', "a.xml: input of pe_1_0.in0: there is no PE (5, 0)"),
        (
            '<OUT_PORT index="0">',
            '<OUT_PORT index="4">',
            "a.xml: OUT_PORT 4 is described, but there are 1 output ports",
        ),
    ],
)
def test_wrong_descriptions_name_found_and_expected(old: str, new: str, message: str) -> None:
    text = ONE_PE.replace(old, new) if old == "PEArray" else ONE_PE.replace(old, new, 1)
    with pytest.raises(ArchError) as caught:
        genmap_arch.loads(text, "a.xml")
    assert str(caught.value) == message


@given(text=st.one_of(st.text(), broken(ONE_PE)))
def test_broken_text_gives_an_arch_error_or_an_array(text: str) -> None:
    try:
        assert genmap_arch.loads(text).tiles
    except ArchError as error:
        assert str(error)


def test_a_missing_file_is_an_arch_error(tmp_path: Path) -> None:
    with pytest.raises(ArchError) as caught:
        genmap_arch.read(tmp_path / "none.xml")
    assert str(caught.value) == f"{tmp_path / 'none.xml'}: there is no such file"


def test_family_without_its_file_says_what_to_give() -> None:
    with pytest.raises(ArchError) as caught:
        build("genmap")
    wanted = "family genmap is described by a file: name the XML file itself, as in --arch FILE.xml"
    assert str(caught.value) == f"array 'genmap': {wanted}"
