"""Descriptions by tile: what they say is what is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridloom.archs import build, check_arch
from gridloom.archs.model import Arch

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "arrays"


def array(**keys: Any) -> Arch:
    """A described array of 3 x 3 tiles, unless the keys say otherwise."""
    return build({"family": "array", "rows": 3, "cols": 3, **keys})


def neighbours(arch: Arch, name: str) -> list[str]:
    """The tiles that a tile has a link to."""
    k = arch.tile_index[name]
    return sorted(arch.tiles[b].name.removeprefix("pe_") for a, b, _ in arch.links if a == k)


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ("mesh", ["0_1", "1_0"]),
        ("torus", ["0_1", "0_2", "1_0", "2_0"]),
        ("onehop", ["0_1", "0_2", "1_0", "2_0"]),
        ("diagonal", ["1_1"]),
        ("row", ["0_1", "0_2"]),
        ("column", ["1_0", "2_0"]),
        ("none", []),
        (["mesh", "diagonal"], ["0_1", "1_0", "1_1"]),
        (["mesh", {"pattern": "onehop", "along": "rows"}], ["0_1", "0_2", "1_0"]),
        (["mesh", {"pattern": "torus", "along": "cols"}], ["0_1", "1_0", "2_0"]),
        (["mesh", {"from": [0, 0], "to": [2, 2]}], ["0_1", "1_0", "2_2"]),
        ([{"from": [0, 0], "to": {"row": 2}}], ["2_0", "2_1", "2_2"]),
        (["mesh", {"pattern": "mesh", "along": "rows", "remove": True}], ["1_0"]),
        ([{"pattern": "mesh", "where": {"row": 0}}], ["0_1"]),
        (["mesh", "none"], []),
    ],
)
def test_links_are_the_sum_of_their_entries(links: Any, expected: list[str]) -> None:
    assert neighbours(array(links=links), "pe_0_0") == expected


def test_both_gives_the_link_back_as_well() -> None:
    arch = array(links={"from": [0, 0], "to": [2, 2], "both": True})
    assert neighbours(arch, "pe_2_2") == ["0_0"]


def test_later_entries_refine_earlier_ones() -> None:
    arch = array(
        tiles=[
            {"ops": ["alu", "mul"], "latency": {"mul": 2}},
            {"where": {"row": 1}, "ops": {"add": "div"}, "latency": {"div": 8}},
            {"where": [1, 1], "ops": {"remove": "mul"}, "latency": 3},
        ]
    )
    classes = [sorted(arch.tiles[k].classes - {"route"}) for k in (0, 3, 4)]
    assert classes == [["alu", "mul"], ["alu", "div", "mul"], ["alu", "div"]]
    assert [dict(arch.tiles[k].latency) for k in (0, 3, 4)] == [
        {"*": 1, "mul": 2},
        {"*": 1, "mul": 2, "div": 8},
        {"*": 3},
    ]


def test_star_sets_all_latencies_anew() -> None:
    arch = array(tiles=[{"latency": {"mul": 2}}, {"where": [0, 0], "latency": {"*": 1, "div": 8}}])
    assert dict(arch.tiles[0].latency) == {"*": 1, "div": 8}


def test_registers_differ_from_tile_to_tile() -> None:
    arch = array(tiles=[{"registers": 2}, {"where": "inner", "registers": {"count": 8, "rotating": 4}}])
    files = {file.name: (len(file.registers), file.rotating, file.adjustable) for file in arch.register_files}
    assert files["pe_0_0"] == (2, 0, True)
    assert files["pe_1_1"] == (8, 4, False)


def test_a_shared_file_serves_its_tiles_only() -> None:
    arch = array(files=[{"name": "left", "count": 4, "where": {"col": 0}}])
    register = arch.resource("left.r0")
    writers = {arch.tiles[arch.tile[a]].name for a in arch.arc_source[arch.arc_target == register] if a != register}
    assert writers == {"pe_0_0", "pe_1_0", "pe_2_0"}


def test_ports_limit_the_tiles_that_have_memory() -> None:
    tiles = [{"ops": ["alu"]}, {"where": {"col": 0}, "ops": {"add": "memory"}}]
    two = array(tiles=tiles, memory={"ports": [{"name": "p", "where": {"rows": [0, 1]}, "count": 2}]})
    assert [(pool.name, pool.capacity, pool.tiles) for pool in two.pools] == [("p", 2, (0, 3))]
    columns = array(tiles=tiles, memory={"ports": "column"})
    assert [(pool.name, pool.tiles) for pool in columns.pools] == [("bus_col_0", (0, 3, 6))]


def test_static_arrays_have_fifos_and_ports_by_position() -> None:
    arch = array(style="static", tiles=[{"fifo": 4}, {"where": "inner", "ops": {"remove": "io"}, "fifo": None}])
    assert [tile.fifo for tile in arch.tiles] == [4, 4, 4, 4, None, 4, 4, 4, 4]
    assert 4 not in arch.tiles_for("input")
    assert arch.traits == {"grid"}


def test_an_array_is_called_by_its_name_in_the_description() -> None:
    assert array(name="mine").name == "mine"
    assert build({"family": "torus", "rows": 2, "cols": 2, "name": "small"}).name == "small"
    assert array().name == "array:3x3"


def test_a_name_does_not_change_the_resource_graph() -> None:
    assert array(name="mine").fingerprint == array().fingerprint


def test_extends_starts_from_a_family() -> None:
    arch = build({"extends": "torus:4x4,regs=2", "tiles": [{"where": [0, 0], "registers": 8}]})
    plain = build("torus:4x4,regs=2")
    assert arch.links == plain.links
    assert [len(file.registers) for file in arch.register_files] == [8] + [2] * 15
    assert arch.traits == plain.traits
    assert build({"extends": "torus:4x4"}).fingerprint == build("torus:4x4").fingerprint


def test_extends_adds_links_to_those_of_the_family() -> None:
    arch = build({"extends": "mesh:3x3", "links": "diagonal"})
    assert neighbours(arch, "pe_0_0") == ["0_1", "1_0", "1_1"]
    assert arch.style == "static"


def test_extends_a_file_that_stands_beside(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("extends: torus:3x3\ntiles:\n  - {registers: 7}\n", encoding="utf-8")
    (tmp_path / "top.yaml").write_text("name: top\nextends: base.yaml\nlinks: diagonal\n", encoding="utf-8")
    arch = build(tmp_path / "top.yaml")
    assert arch.name == "top"
    assert {len(file.registers) for file in arch.register_files} == {7}
    # What is embedded in mappings does not refer to the file any more.
    assert build(dict(arch.spec)).fingerprint == arch.fingerprint


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_have_nothing_odd(path: Path) -> None:
    assert check_arch(build(path)) == []


def test_the_six_by_six_is_described_in_thirty_lines() -> None:
    text = (EXAMPLES / "six-by-six.yaml").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 30


def test_single_ops_come_with_their_class() -> None:
    arch = array(tiles=[{"ops": ["add", "sub", "mul"]}, {"where": [0, 0], "ops": {"add": "xor", "remove": "sub"}}])
    runs = [{op for op in ("add", "sub", "xor", "min") if tile.runs(op, frozenset({"alu"}))} for tile in arch.tiles[:2]]
    assert runs == [{"add", "xor"}, {"add", "sub"}]
    assert arch.tiles[0].classes == {"alu", "mul", "route"}
    assert arch.has("partial")


def test_a_class_without_any_op_left_is_not_there() -> None:
    arch = array(tiles=[{"ops": ["add", "mul"]}, {"ops": {"remove": "add"}}])
    assert arch.tiles[0].classes == {"mul", "route"}
    assert not arch.has("partial")


def test_a_class_that_is_added_is_whole() -> None:
    arch = array(tiles=[{"ops": ["add"]}, {"ops": {"add": "alu"}}])
    assert arch.tiles[0].lacks == frozenset()


def test_the_word_is_the_width_of_the_hardware() -> None:
    from gridloom.hardware.rtl.structure import Hardware

    arch = array(word=16)
    assert Hardware(arch).width == 16
    assert arch.fingerprint != array().fingerprint == array(word=32).fingerprint
