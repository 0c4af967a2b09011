"""A static grid as VPR's architecture XML (the format of VTR 8 and 9).

Each kind of node is a model and a complex block of one primitive; each set of op classes among the tiles is a tile type
whose equivalent sites are the kinds that it takes. The grid has an empty ring around it, as VPR's own arrays have, so
that tile (row, column) is block (column + 1, row + 1). VPR routes over channels of length-1 wires between the blocks:
links of onehop, hex and chess that skip a tile or go askew have no counterpart there, and its placer counts the length
of nets in rows and columns. Placements carry over, routes of VPR are compared by their length only.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.targets.grid.export.vpr.netlist import Blocks, blocks

#: The delay of an op and of a wire. One figure for all: the placer is to see lengths only.
_DELAY = "1e-9"


def architecture(dfg: Dfg, arch: Arch) -> str:
    """The text of an architecture file for the tiles of a grid and the kinds of nodes of a graph."""
    kinds = blocks(dfg, arch)
    types = tile_types(arch)
    root = Element("architecture")
    _models(SubElement(root, "models"), kinds)
    tiles = SubElement(root, "tiles")
    for classes, name in types.items():
        _tile(tiles, name, classes, kinds)
    _layout(SubElement(root, "layout"), arch, types)
    _device(SubElement(root, "device"))
    _wires(root)
    complex_blocks = SubElement(root, "complexblocklist")
    for name in kinds.classes:
        _complex_block(complex_blocks, name, kinds.operands)
    indent(root, " ")
    return tostring(root, encoding="unicode") + "\n"


def tile_types(arch: Arch) -> dict[frozenset[str], str]:
    """A name for each set of op classes that some tile has."""
    types: dict[frozenset[str], str] = {}
    for tile in arch.tiles:
        types.setdefault(tile.classes, f"tile_{len(types)}")
    return types


def _models(models: Element, kinds: Blocks) -> None:
    for name in kinds.classes:
        model = SubElement(models, "model", name=name)
        SubElement(SubElement(model, "input_ports"), "port", name="in", combinational_sink_ports="out")
        SubElement(SubElement(model, "output_ports"), "port", name="out")


def _tile(tiles: Element, name: str, classes: frozenset[str], kinds: Blocks) -> None:
    sub_tile = SubElement(SubElement(tiles, "tile", name=name, area="0"), "sub_tile", name=name)
    sites = SubElement(sub_tile, "equivalent_sites")
    for kind, needed in kinds.classes.items():
        if needed <= classes:
            SubElement(sites, "site", pb_type=kind, pin_mapping="direct")
    _ports(sub_tile, kinds.operands)
    SubElement(sub_tile, "fc", in_type="frac", in_val="1.0", out_type="frac", out_val="1.0")
    SubElement(sub_tile, "pinlocations", pattern="spread")


def _ports(parent: Element, operands: int) -> None:
    SubElement(parent, "input", name="in", num_pins=str(operands))
    SubElement(parent, "output", name="out", num_pins="1")


def _layout(layout: Element, arch: Arch, types: dict[frozenset[str], str]) -> None:
    fixed = SubElement(layout, "fixed_layout", name="array", width=str(arch.cols + 2), height=str(arch.rows + 2))
    SubElement(fixed, "fill", type="EMPTY", priority="1")
    for tile in arch.tiles:
        place = {"x": str(tile.col + 1), "y": str(tile.row + 1)}
        SubElement(fixed, "single", {"type": types[tile.classes], "priority": "10"} | place)


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
