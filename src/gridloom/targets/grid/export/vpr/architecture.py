"""A static grid as VPR's architecture XML (the format of VTR 8 and 9).

Each kind of node is a model and a complex block of one primitive. A tile type is a set of kinds with a set of links:
tiles that take the same kinds and whose links go to the same relative places share a type, and its equivalent sites are
these kinds. The grid has a ring of pads around it, as VPR's own arrays have, so that tile (row, column) is block
(column + 1, row + 1). No node is placed on a pad: VPR refuses architectures without ``.input`` and ``.output``.

Links between neighbours in a row or a column are channels of length-1 wires. Links that skip a tile or go askew (of
onehop, hex and chess) are ``direct`` connections between the types at their ends, so that VPR's router has each link of
the topology. VPR's bounding-box placer knows no topology: it counts nets in rows and columns on all four.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.targets.grid.export.vpr.netlist import Blocks, blocks

#: The delay of an op and of a wire. One figure for all: the placer is to see lengths only.
_DELAY = "1e-9"

# The pads: the name of their tile and block, and the model, port and direction of their two modes.
_PAD = "pad"
_MODES = (("inpad", ".input", "output"), ("outpad", ".output", "input"))

#: Columns and rows from a tile to the end of one of its links.
Offset = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class TileType:
    """A type of tiles: its name, the kinds of nodes that it takes, and where its links go."""

    name: str
    kinds: frozenset[str]
    offsets: frozenset[Offset]


def architecture(dfg: Dfg, arch: Arch) -> str:
    """The text of an architecture file for the tiles of a grid and the kinds of nodes of a graph."""
    kinds = blocks(dfg, arch)
    types = tile_types(arch, kinds)
    root = Element("architecture")
    _models(SubElement(root, "models"), kinds)
    tiles = SubElement(root, "tiles")
    for kind in dict.fromkeys(types):
        _tile(tiles, kind, kinds.operands)
    _pad_tile(tiles)
    _layout(SubElement(root, "layout"), arch, types)
    _device(SubElement(root, "device"))
    _wires(root)
    links = list(_directs(arch, types, kinds.operands))
    if links:
        directs = SubElement(root, "directlist")
        for link in links:
            SubElement(directs, "direct", link)
    complex_blocks = SubElement(root, "complexblocklist")
    for name in kinds.tiles:
        _complex_block(complex_blocks, name, kinds.operands)
    _pad_block(complex_blocks)
    indent(root, " ")
    return tostring(root, encoding="unicode") + "\n"


def tile_types(arch: Arch, kinds: Blocks) -> list[TileType]:
    """The type of each tile.

    A tile at the border has the type of a tile inside whose links go the same way, those that leave the grid left out.
    """
    ends: list[set[Offset]] = [set() for _ in arch.tiles]
    for a, b, _ in arch.links:
        ends[a].add((arch.tiles[b].col - arch.tiles[a].col, arch.tiles[b].row - arch.tiles[a].row))
    places = {(tile.col, tile.row) for tile in arch.tiles}
    known: list[TileType] = []
    found: dict[int, TileType] = {}
    for t in sorted(range(len(arch.tiles)), key=lambda t: -len(ends[t])):
        tile = arch.tiles[t]
        takes = frozenset(name for name, tiles in kinds.tiles.items() if t in tiles)
        for kind in known:
            inside = {(x, y) for x, y in kind.offsets if (tile.col + x, tile.row + y) in places}
            if kind.kinds == takes and inside == ends[t]:
                break
        else:
            kind = TileType(name=f"tile_{len(known)}", kinds=takes, offsets=frozenset(ends[t]))
            known.append(kind)
        found[t] = kind
    return [found[t] for t in range(len(arch.tiles))]


def _directs(arch: Arch, types: list[TileType], operands: int) -> Iterator[dict[str, str]]:
    """The links that skip a tile or go askew, once for each pair of types, offset and operand."""
    found = set()
    for a, b, _ in arch.links:
        x, y = arch.tiles[b].col - arch.tiles[a].col, arch.tiles[b].row - arch.tiles[a].row
        if abs(x) + abs(y) != 1:
            found.add((types[a].name, types[b].name, x, y))
    for number, (source, target, x, y) in enumerate(sorted(found)):
        for k in range(operands):
            ends = {"from_pin": f"{source}.out[0:0]", "to_pin": f"{target}.in[{k}:{k}]"}
            apart = {"x_offset": str(x), "y_offset": str(y), "z_offset": "0"}
            yield {"name": f"link_{number}_{k}"} | ends | apart | {"switch_name": "link"}


def _models(models: Element, kinds: Blocks) -> None:
    for name in kinds.tiles:
        model = SubElement(models, "model", name=name)
        SubElement(SubElement(model, "input_ports"), "port", name="in", combinational_sink_ports="out")
        SubElement(SubElement(model, "output_ports"), "port", name="out")


def _tile(tiles: Element, kind: TileType, operands: int) -> None:
    sub_tile = SubElement(SubElement(tiles, "tile", name=kind.name, area="0"), "sub_tile", name=kind.name)
    sites = SubElement(sub_tile, "equivalent_sites")
    for name in sorted(kind.kinds):
        SubElement(sites, "site", pb_type=name, pin_mapping="direct")
    _ports(sub_tile, operands)
    _pins(sub_tile)


def _pad_tile(tiles: Element) -> None:
    sub_tile = SubElement(SubElement(tiles, "tile", name=_PAD, area="0"), "sub_tile", name=_PAD)
    SubElement(SubElement(sub_tile, "equivalent_sites"), "site", pb_type=_PAD, pin_mapping="direct")
    _pad_ports(sub_tile)
    _pins(sub_tile)


def _pins(sub_tile: Element) -> None:
    SubElement(sub_tile, "fc", in_type="frac", in_val="1.0", out_type="frac", out_val="1.0")
    SubElement(sub_tile, "pinlocations", pattern="spread")


def _pad_ports(parent: Element) -> None:
    SubElement(parent, "input", name="outpad", num_pins="1")
    SubElement(parent, "output", name="inpad", num_pins="1")


def _ports(parent: Element, operands: int) -> None:
    SubElement(parent, "input", name="in", num_pins=str(operands))
    SubElement(parent, "output", name="out", num_pins="1")


def _layout(layout: Element, arch: Arch, types: list[TileType]) -> None:
    fixed = SubElement(layout, "fixed_layout", name="array", width=str(arch.cols + 2), height=str(arch.rows + 2))
    SubElement(fixed, "fill", type="EMPTY", priority="1")
    SubElement(fixed, "perimeter", type=_PAD, priority="5")
    SubElement(fixed, "corners", type="EMPTY", priority="6")
    for tile, kind in zip(arch.tiles, types, strict=True):
        place = {"x": str(tile.col + 1), "y": str(tile.row + 1)}
        SubElement(fixed, "single", {"type": kind.name, "priority": "10"} | place)


def _device(device: Element) -> None:
    SubElement(device, "sizing", R_minW_nmos="1.0", R_minW_pmos="1.0")
    SubElement(device, "area", grid_logic_tile_area="0")
    channels = SubElement(device, "chan_width_distr")
    for axis in ("x", "y"):
        SubElement(channels, axis, distr="uniform", peak="1.0")
    SubElement(device, "switch_block", type="wilton", fs="3")
    SubElement(device, "connection_block", input_switch_name="link")


def _wires(root: Element) -> None:
    switch = {"type": "mux", "name": "link", "R": "0", "Cin": "0", "Cout": "0", "Tdel": _DELAY}
    SubElement(SubElement(root, "switchlist"), "switch", switch, mux_trans_size="1.0", buf_size="1.0")
    wire = {"name": "wire", "freq": "1.0", "length": "1", "type": "unidir", "Rmetal": "0", "Cmetal": "0"}
    segment = SubElement(SubElement(root, "segmentlist"), "segment", wire)
    SubElement(segment, "mux", name="link")
    SubElement(segment, "sb", type="pattern").text = "1 1"
    SubElement(segment, "cb", type="pattern").text = "1"


def _complex_block(parent: Element, name: str, operands: int) -> None:
    block = SubElement(parent, "pb_type", name=name)
    _ports(block, operands)
    primitive = SubElement(block, "pb_type", name=f"{name}_op", blif_model=f".subckt {name}", num_pb="1")
    _ports(primitive, operands)
    ends = {"in_port": f"{name}_op.in", "out_port": f"{name}_op.out"}
    SubElement(primitive, "delay_constant", {"max": _DELAY} | ends)
    joins = SubElement(block, "interconnect")
    SubElement(joins, "direct", name="operands", input=f"{name}.in", output=f"{name}_op.in")
    SubElement(joins, "direct", name="result", input=f"{name}_op.out", output=f"{name}.out")


def _pad_block(parent: Element) -> None:
    """The block of pads: one mode for an input and one for an output."""
    block = SubElement(parent, "pb_type", name=_PAD)
    _pad_ports(block)
    for port, model, direction in _MODES:
        mode = SubElement(block, "mode", name=port)
        primitive = SubElement(mode, "pb_type", name=port, blif_model=model, num_pb="1")
        SubElement(primitive, direction, name=port, num_pins="1")
        ends = (f"{_PAD}.{port}", f"{port}.{port}")
        source, target = ends if direction == "input" else ends[::-1]
        SubElement(SubElement(mode, "interconnect"), "direct", name=port, input=source, output=target)
