"""Placements that other tools print, and our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.archs import build
from gridloom.compiler import placement
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.errors import GridloomError, MappingError

ARCH = build("mesh:2x3")


def graph() -> Dfg:
    builder = DfgBuilder("g", "opaque")
    builder.add("input", id="10")
    builder.add("add", "10", id="2")
    builder.add("mul", "2", "10", id="1")
    return builder.build()


VPR = (
    "Netlist_File: g.net Netlist_ID: SHA256:0\nArray size: 5 x 4 logic blocks\n\n"
    "#block name\tx\ty\tsubblk\tlayer\tblock number\n#----------\n"
    "10\t1\t1\t0\t0\t#0\n2\t2\t1\t0\t0\t#1\nout:1\t3\t2\t0\t0\t#2\n"
)
PLACED = {"10": "pe_0_0", "2": "pe_0_1", "1": "pe_1_2"}


def test_our_json_takes_places_and_tile_names() -> None:
    text = json.dumps({"10": [0, 0], "2": "pe_0_1", "1": [1, 2]})
    assert placement.loads_json(text, graph(), ARCH) == PLACED
    assert placement.loads_json(placement.dumps(PLACED), graph(), ARCH) == PLACED


def test_vpr_places_lose_the_ring_of_pads() -> None:
    assert placement.loads_vpr(VPR, graph(), ARCH) == PLACED


def test_vpr_places_of_an_array_without_ring_are_taken_as_they_are() -> None:
    text = "Array size: 3 x 2 logic blocks\n10 0 0 0 #0\n2 1 0 0 #1\n1 2 1 0 #2\n"
    assert placement.loads_vpr(text, graph(), ARCH) == PLACED


@pytest.mark.parametrize("text", ["1 2 -1\n-1 -1 0\n", "1,2,\n,,0\n", "1, 2, -\n., ., 0\n", "\n1 2\n . . 0"])
def test_neosa_numbers_are_the_lexicographic_order_of_ids(text: str) -> None:
    # "1" < "10" < "2": vertex 0 is node 1, vertex 1 is node 10.
    assert placement.loads_neosa(text, graph(), ARCH) == PLACED


def test_files_are_read_by_their_ending(tmp_path: Path) -> None:
    for name, text in {"a.json": placement.dumps(PLACED), "b.place": VPR, "c.txt": "1 2 -1\n-1 -1 0\n"}.items():
        (tmp_path / name).write_text(text)
        assert placement.read(tmp_path / name, graph(), ARCH) == PLACED


def test_a_partial_placement_is_taken_where_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    path.write_text('{"2": [0, 1]}')
    assert placement.read(path, graph(), ARCH, complete=False) == {"2": "pe_0_1"}
    with pytest.raises(MappingError) as caught:
        placement.read(path, graph(), ARCH)
    assert str(caught.value) == f"{path}: node '10' and 1 more not placed; expected every node of graph 'g'"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.json", "{", "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("p.json", "[]", "expected a JSON object of nodes, found list"),
        ("p.json", '{"9": [0, 0]}', "node '9': graph 'g' has no node '9'"),
        ("p.json", '{"2": [0, 0], "2": [0, 1]}', "node '2' is placed twice"),
        ("p.json", '{"2": [0]}', "node '2': found '[0]'; expected [row, column] or the name of a tile"),
        ("p.json", '{"2": "pe_9_9"}', "node '2': tile 'pe_9_9' does not exist in array 'mesh:2x3'"),
        (
            "p.json",
            '{"2": [2, 0]}',
            "node '2': there is no tile at row 2, column 0; array 'mesh:2x3' has 2 rows and 3 columns",
        ),
        (
            "p.place",
            "Array size: 9 x 9 logic blocks\n",
            "line 1: the placement is for 9 x 9 blocks; array 'mesh:2x3' is 3 x 2 (5 x 4 with VPR's ring of pads)",
        ),
        ("p.place", "10 0 0\n", "line 1: found 3 columns; expected block, x, y, subblock"),
        ("p.place", "zz 0 0 0 #1\n", "line 1: graph 'g' has no node 'zz'"),
        ("p.place", "2 x 0 0 #1\n", "line 1: x is 'x'; expected an integer"),
        ("p.place", "2 0 0 0 #1\n2 1 0 0 #1\n", "line 2: node '2' is placed twice"),
        ("p.txt", "0 1\n\n7 2\n", "line 3: found vertex 7; the graph has 0 to 2"),
        ("p.txt", "0 0\n", "line 1: vertex 0 (node '1') is placed twice"),
        ("p.txt", "0 a\n", "line 1: entry 2 is 'a'; expected an integer"),
        (
            "p.txt",
            ". . . 0\n",
            "line 1: there is no tile at row 0, column 3; array 'mesh:2x3' has 2 rows and 3 columns",
        ),
        ("p.txt", "", "node '10' and 2 more not placed; expected every node of graph 'g'"),
    ],
)
def test_wrong_placements_name_the_place_found_and_expected(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(MappingError) as caught:
        placement.read(path, graph(), ARCH)
    assert str(caught.value) == f"{path}: {message}"


def test_a_missing_placement_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MappingError) as caught:
        placement.read(tmp_path / "none.place", graph(), ARCH)
    assert str(caught.value) == f"{tmp_path / 'none.place'}: there is no such file"


@given(text=st.one_of(st.text(), st.text('0123 ,.-#x\n\t[]{}:"out')))
def test_garbage_gives_an_error_of_ours_or_a_placement(text: str) -> None:
    for read in (placement.loads_json, placement.loads_vpr, placement.loads_neosa):
        try:
            assert set(read(text, graph(), ARCH)) <= {"1", "2", "10"}
        except GridloomError as error:
            assert str(error)
