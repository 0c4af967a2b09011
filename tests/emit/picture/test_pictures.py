"""Pictures: golden files, sound XML, inert names, the same text every time, whatever the mapping says."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import hand_mappings as hand

from gridloom.archs import build
from gridloom.dfg.model import Dfg, DfgBuilder, Edge, Node
from gridloom.emit import svg, svg_arch, svg_dfg, svg_mapping
from gridloom.emit.picture import palette
from gridloom.emit.picture.graph import _layout
from gridloom.errors import MappingError, OptionError
from gridloom.mapping import Instance, Mapping, Route

GOLDEN = Path(__file__).parent / "golden"
ARRAYS = ("mesh:3x3,mul=checkerboard", "onehop:3x4", "chess:3x3", "hex:3x3", "torus:3x3,regs=2", "ramp-1",
          "vpcma:3x4,constants=6", "streaming-engine:8,spokes=3", "rdu:2x3")  # fmt: skip
HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\x00]]>"
SVG = "{http://www.w3.org/2000/svg}"


def check_golden(name: str, text: str) -> None:
    """Compare with a stored picture; GRIDLOOM_UPDATE_GOLDEN=1 stores a new one, to be looked at before it is kept."""
    path = GOLDEN / name
    if os.environ.get("GRIDLOOM_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{name} differs; look at it before storing a new one"


def loop_graph() -> Dfg:
    """A carried sum with an order edge, a shared constant and a live-in."""
    b = DfgBuilder("loop", "i32")
    b.array("a", 8)
    i = b.add("add", id="i")
    b.edges.append(Edge(source=b.const(1), target=i, operand=1))
    b.carry(i, i, operand=0, initial=[-1])
    x = b.load("a", i, id="x")
    total = b.add("add", b.add("mul", x, b.livein("k"), id="m"), id="total")
    b.carry(total, total, operand=1, distance=2)
    b.store("a", i, total, id="back")
    b.order("back", "x", distance=1)
    return b.build()


def hostile_mapping() -> Mapping:
    """The two-node mesh example with names that try to be markup."""
    source, target = HOSTILE, f"</svg>{HOSTILE}"
    dfg = Dfg(
        name=f"{{{{data}}}}{HOSTILE}",
        domain="i32",
        nodes=(Node(id=source, op="input"), Node(id=target, op="neg", label=f"<b>{HOSTILE}")),
        edges=(Edge(source=source, target=target),),
    )
    hops = (("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1>pe_0_2", 2), ("pe_0_2.in0", 2))
    return Mapping(
        dfg=dfg,
        arch=build("mesh:1x3"),
        ii=1,
        instances=(
            Instance(node=source, place="pe_0_0"),
            Instance(node=target, place="pe_0_2", cycle=4),
        ),
        routes=(Route(edge=0, hops=hops, fifo=2),),
        provenance={"mapper": HOSTILE},
    )


def texts_of(picture: str) -> str:
    return " ".join("".join(item.itertext()) for item in ElementTree.fromstring(picture).iter(f"{SVG}text"))


@pytest.mark.parametrize("name", hand.LEGAL)
def test_picture_of_a_hand_written_mapping_is_the_stored_one(name: str) -> None:
    check_golden(f"{name}.svg", svg_mapping(hand.LEGAL[name]()))


@pytest.mark.parametrize("name", ARRAYS)
def test_picture_of_an_array_is_the_stored_one(name: str) -> None:
    check_golden(f"array-{name.replace(':', '-').replace(',', '-').replace('=', '-')}.svg", svg_arch(build(name)))


def test_picture_of_a_graph_is_the_stored_one() -> None:
    check_golden("graph-loop.svg", svg_dfg(loop_graph()))


@pytest.mark.parametrize("name", hand.LEGAL)
def test_every_placed_node_is_named_and_every_routed_signal_has_a_wire(name: str) -> None:
    mapping = hand.LEGAL[name]()
    picture = svg_mapping(mapping)
    tree = ElementTree.fromstring(picture)
    titles = " ".join(item.text or "" for item in tree.iter(f"{SVG}title"))
    for instance in mapping.instances:
        if instance.place in mapping.arch.tile_index:
            assert f"{instance.node}: {mapping.dfg.node(instance.node).op} on {instance.place}" in titles
    wires = [item for item in tree.iter(f"{SVG}path") if "wire" in (item.get("class") or "").split()]
    drawn = {(item.findtext(f"{SVG}title") or "").partition(" on ")[0] for item in wires}
    linked = {
        mapping.dfg.edges[route.edge].source for route in mapping.routes if any(">" in hop for hop, _ in route.hops)
    }
    assert linked <= drawn


def test_fifo_depth_stands_at_its_operand() -> None:
    assert " 2 " in f" {texts_of(svg_mapping(hand.mesh_fifo_2()))} "
    before_legend = texts_of(svg_mapping(hand.mesh_local()))
    assert "cycles that an operand waits" not in before_legend


def test_modulo_mappings_have_a_panel_a_slot() -> None:
    mapping = hand.torus_rotating()
    assert [f"slot {k}" in texts_of(svg_mapping(mapping)) for k in range(mapping.ii)] == [True] * mapping.ii
    assert "slot 1" not in texts_of(svg_mapping(mapping, cycle=0))


def test_a_slot_that_is_not_there_is_an_option_error() -> None:
    with pytest.raises(OptionError, match="slot 7: the mapping has slots 0 to 1"):
        svg_mapping(hand.torus_rotating(), cycle=7)


def test_a_cycle_of_a_static_mapping_fades_what_happens_at_other_times() -> None:
    mapping = hand.mesh_fifo_2()
    assert 'opacity="0.16"' not in svg_mapping(mapping)
    assert 'opacity="0.16"' in svg_mapping(mapping, cycle=0)


def test_constants_are_drawn_with_each_reader() -> None:
    b = DfgBuilder("two readers", "i32")
    b.output(b.add("add", b.add("add", b.input("x"), b.const(7)), b.const(7)), "y")
    assert texts_of(svg_dfg(b.build())).split().count("7") == 2


def test_carried_edges_show_their_distance() -> None:
    words = texts_of(svg_dfg(loop_graph())).split()
    assert words.count("2") == 1
    assert "stroke-dasharray" in svg_dfg(loop_graph())


def test_pictures_are_the_same_every_time() -> None:
    for name in hand.LEGAL:
        assert svg_mapping(hand.LEGAL[name]()) == svg_mapping(hand.LEGAL[name]())


def test_hostile_names_stay_text() -> None:
    mapping = hostile_mapping()
    for picture in (svg_mapping(mapping), svg_dfg(mapping.dfg)):
        tree = ElementTree.fromstring(picture)
        assert not [item.tag for item in tree.iter() if item.tag not in _KNOWN_TAGS]
        assert "\x1b" not in picture and "\x00" not in picture


_KNOWN_TAGS = {SVG + tag for tag in ("svg", "g", "rect", "path", "text", "title", "defs", "marker", "polygon")}


def test_svg_takes_a_mapping_an_array_or_a_graph_and_nothing_else() -> None:
    mapping = hand.mesh_local()
    assert svg(mapping) == svg_mapping(mapping)
    assert svg(mapping.arch) == svg_arch(mapping.arch)
    assert svg(mapping.dfg) == svg_dfg(mapping.dfg)
    with pytest.raises(OptionError, match="cannot draw a int"):
        svg(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"routes": (), "instances": (Instance(node="ghost", place="pe_0_0"),)},
            "instance of 'ghost': the graph has no such node",
        ),
        ({"routes": (), "instances": (Instance(node="a", place="pe_9_9"),)}, "has no place 'pe_9_9'"),
        ({"routes": (Route(edge=99, hops=()),)}, "route of edge 99: the graph has"),
        ({"routes": (Route(edge=0, hops=(("nowhere", 1),)),)}, "has no resource 'nowhere'"),
    ],
)
def test_names_that_are_not_there_are_mapping_errors(change: dict[str, object], message: str) -> None:
    with pytest.raises(MappingError, match=message):
        svg_mapping(replace(hand.mesh_local(), **change))  # type: ignore[arg-type]


@given(data=st.data(), name=st.sampled_from(sorted(hand.LEGAL)))
def test_any_route_can_be_drawn(data: st.DataObject, name: str) -> None:
    """An illegal mapping has to be looked at too: whatever the hops are, the picture is sound."""
    mapping = hand.LEGAL[name]()
    hops = st.lists(st.tuples(st.sampled_from(mapping.arch.resource_names), st.integers(-3, 40)), max_size=8)
    routes = tuple(replace(route, hops=tuple(data.draw(hops))) for route in mapping.routes)
    tiles = st.sampled_from([tile.name for tile in mapping.arch.tiles])
    instances = tuple(
        replace(instance, place=data.draw(tiles), cycle=data.draw(st.integers(-2, 9))) for instance in mapping.instances
    )
    ElementTree.fromstring(svg_mapping(replace(mapping, routes=routes, instances=instances)))


def test_signals_that_meet_in_a_tile_have_different_colours() -> None:
    tiles = [[0, 1], [1, 2], [0, 2], [3]]
    colours = palette.signal_colours(tiles)
    for k, own in enumerate(tiles):
        for j in range(k):
            assert colours[j] != colours[k] or not set(own) & set(tiles[j])


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_have_the_contrast_that_the_accessibility_guidelines_ask_for() -> None:
    papers = palette.SURFACES["tile"][1:]
    for light, dark in palette.SIGNALS:
        assert _contrast(light, papers[0]) >= 3
        assert _contrast(dark, papers[1]) >= 3
    for kind in ("ink", "soft"):
        light, dark = palette.SURFACES[kind][1:]
        for look in palette.OP_SHADES.values():
            assert _contrast(light, look.fill) >= 4.5, (kind, look)
            assert _contrast(dark, look.dark_fill) >= 4.5, (kind, look)


def test_a_graph_of_long_edges_is_drawn_without_a_joint_in_every_layer() -> None:
    b = DfgBuilder("ladder", "opaque")
    first = last = b.input("x")
    for k in range(400):
        last = b.add("step", last, first, id=f"n{k}")
    dfg = b.build()
    joints = sum(_layout(dfg).graph.is_joint)
    assert 0 < joints <= 12_000
    assert len(ElementTree.fromstring(svg_dfg(dfg)).findall(f"{SVG}g[@class='node']")) == len(dfg.nodes)
