"""VPR's files: they fit a schema of the format, say what the graph and the array say, and come back as they were."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import shared_in_time
from tests.search.conftest import random_dag

from gridloom import registry
from gridloom.archs.spec import build
from gridloom.compiler.placement import loads_vpr
from gridloom.dfg import DfgBuilder
from gridloom.errors import OptionError
from gridloom.targets.grid.export.vpr.architecture import architecture
from gridloom.targets.grid.export.vpr.flow import OPTIONS
from gridloom.targets.grid.export.vpr.netlist import blocks, initial_placement, netlist, placement

SCHEMA = Path(__file__).parents[5] / "docs" / "schemas" / "vpr-architecture.xsd"
SUBCKT = re.compile(r"\.subckt (\S+)((?: in\[\d+\]=\S+)*) out\[0\]=(\S+)")


def read_netlist(text: str) -> tuple[dict[str, str], set[tuple[str, str, int]]]:
    """(kind of each block, edges as (source, target, pin)) of a BLIF text, every line of which has to be understood."""
    lines = text.split("\n")
    assert lines[:3] == [".model graph", ".inputs", ".outputs"]
    assert lines[-2:] == [".end", ""]
    kinds, edges = {}, set()
    for line in lines[3:-2]:
        match = SUBCKT.fullmatch(line)
        assert match, line
        kind, pins, out = match.groups()
        assert out not in kinds
        kinds[out] = kind
        for pin in pins.split():
            index, source = re.fullmatch(r"in\[(\d+)\]=(\S+)", pin).groups()
            edges.add((source, out, int(index)))
    assert {source for source, _, _ in edges} <= kinds.keys()
    return kinds, edges


@settings(max_examples=15)
@given(
    st.integers(2, 25),
    st.integers(0, 1000),
    st.sampled_from(["mesh:6x6", "chess:7x6,io=border,mul=columns", "hex:6x7,mul=checkerboard", "onehop:6x6"]),
)
def test_files_say_what_graph_and_array_say(nodes, seed, arch):
    xmlschema = pytest.importorskip("xmlschema")
    dfg, array = random_dag(nodes, seed), build(arch)
    text = architecture(dfg, array)
    xmlschema.XMLSchema(str(SCHEMA)).validate(text)
    kinds, edges = read_netlist(netlist(dfg, array))
    placed = [node.id for node in dfg.nodes if dfg.op_class(node.id) not in array.free]
    assert list(kinds) == placed
    wires = {(e.source, e.target) for e in dfg.edges if e.kind == "data" and e.source in kinds and e.target in kinds}
    assert {(a, b) for a, b, _ in edges} == wires
    assert sites(text) == {
        ((tile.col + 1, tile.row + 1), kind)
        for tile in array.tiles
        for node, kind in kinds.items()
        if dfg.required_classes(node, results_leave=True) <= tile.classes
    }


@pytest.mark.parametrize("arch", ["mesh:6x5", "onehop:6x5", "chess:6x5", "hex:6x5", "hex:5x6,io=border,mul=columns"])
def test_the_links_of_the_file_are_those_of_the_array(arch):
    array = build(arch)
    root = ET.fromstring(architecture(random_dag(9, 3), array))
    types = {(int(s.get("x")), int(s.get("y"))): s.get("type") for s in root.iter("single")}
    directs = {
        (d.get("from_pin"), d.get("to_pin"), int(d.get("x_offset")), int(d.get("y_offset")))
        for d in root.findall("directlist/direct")
        if d.get("to_pin").endswith(".in[0:0]")
    }
    links = {
        ((x, y), (x + dx, y + dy))
        for (x, y), kind in types.items()
        for source, target, dx, dy in directs
        if source == f"{kind}.out[0:0]" and target == f"{types.get((x + dx, y + dy))}.in[0:0]"
    }
    # Neighbours in a row or a column are joined by channels.
    links |= {(a, b) for a in types for b in types if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1}
    place = [(tile.col + 1, tile.row + 1) for tile in array.tiles]
    assert links == {(place[a], place[b]) for a, b, _ in array.links}


def test_the_four_topologies_differ():
    dfg = registry.load("kernels", "distance").build()
    assert len({architecture(dfg, build(f"{family}:6x6")) for family in ("mesh", "onehop", "chess", "hex")}) == 4


def test_the_ring_has_pads_for_the_models_that_vpr_asks_for_and_no_node_fits_there():
    root = ET.fromstring(architecture(random_dag(9, 3), build("mesh:4x4")))
    pad = root.find("layout/fixed_layout/perimeter").get("type")
    assert [site.get("pb_type") for site in root.find(f"tiles/tile[@name='{pad}']").iter("site")] == [pad]
    models = {p.get("blif_model") for p in root.find(f"complexblocklist/pb_type[@name='{pad}']").iter("pb_type")}
    assert models == {None, ".input", ".output"}
    assert [p.get("name") for p in root.findall("complexblocklist/pb_type") if p.get("name") == pad] == [pad]


def test_nodes_that_the_same_tiles_hold_are_one_kind():
    dfg = registry.load("kernels", "fir").build()
    assert len(blocks(dfg, build("mesh:8x8")).tiles) == 1
    assert len(blocks(dfg, build("mesh:8x8,mul=checkerboard")).tiles) == 2
    assert len(blocks(dfg, build("mesh:8x8,io=border,mul=checkerboard")).tiles) == 3


def test_inputs_are_no_constants_for_vpr():
    assert OPTIONS[OPTIONS.index("--constant_net_method") + 1] == "route"


def test_names_that_are_numbers_are_written():
    builder = DfgBuilder("numbers", "i32")
    builder.add("output", builder.add("input", id="0", variable="x"), id="1", variable="y")
    assert read_netlist(netlist(builder.build(), build("mesh:2x2")))[1] == {("0", "1", 0)}


@pytest.mark.parametrize("family", ["mesh", "onehop", "chess", "hex"])
@pytest.mark.parametrize(
    ("kernel", "array"), [("K4N4", "9x9,mul=checkerboard"), ("matmul44", "9x9"), ("tree_n_63_t_1", "10x10")]
)
def test_the_first_placement_obeys_a_full_border(family, kernel, array):
    dfg = registry.load("kernels", f"neosa-{kernel}").build()
    array = build(f"{family}:{array},io=border")
    found = loads_vpr(placement(initial_placement(dfg, array), array), dfg, array)
    assert len(set(found.values())) == len(found) == len(blocks(dfg, array).kind)
    for node, name in found.items():
        assert dfg.required_classes(node, results_leave=True) <= array.tiles[array.tile_index[name]].classes


def test_there_is_no_first_placement_where_tiles_are_too_few():
    assert initial_placement(registry.load("kernels", "fir").build(), build("mesh:2x2")) == {}


def sites(text: str) -> set[tuple[tuple[int, int], str]]:
    """(place, kind that it takes) for all places of an architecture."""
    root = ET.fromstring(text)
    takes = {tile.get("name"): [site.get("pb_type") for site in tile.iter("site")] for tile in root.iter("tile")}
    return {
        ((int(single.get("x")), int(single.get("y"))), kind)
        for single in root.iter("single")
        for kind in takes[single.get("type")]
    }


@pytest.mark.parametrize("family", ["mesh", "onehop", "hex", "chess"])
def test_a_placement_comes_back_as_it_was(family):
    dfg, array = registry.load("kernels", "distance").build(), build(f"{family}:5x4")
    nodes = [node.id for node in dfg.nodes if dfg.op_class(node.id) not in array.free]
    place = dict(zip(nodes, [tile.name for tile in reversed(array.tiles)]))
    assert loads_vpr(placement(place, array, netlist="graph.net"), dfg, array) == place


def test_a_name_that_no_netlist_takes_is_refused():
    builder = DfgBuilder("names", "i32")
    builder.output(builder.input("two words"), "y")
    with pytest.raises(OptionError, match=r"node 'two words' cannot be named in a netlist; use letters, digits"):
        netlist(builder.build(), build("mesh:2x2"))


def test_an_array_that_is_no_grid_is_refused():
    with pytest.raises(OptionError, match=r"array 'shared-in-time' is not a static grid; VPR's files describe mesh"):
        architecture(random_dag(4, 1), shared_in_time())
