"""Pictures of arrays and of mappings on them, as SVG text.

A static or elastic array is one panel. A modulo-scheduled one has a panel for each slot, in which a wire starts at the
output register that holds the value in that slot. The streaming engine has a picture of its own: tiles by spokes.

The layers of a panel, from the bottom: channels of links, tiles with registers, pipeline registers, heat maps (in the
report), wires, nodes and moves, badges. On a modulo-scheduled array a panel shows what happens in cycles c with c mod
II = slot, of whichever iteration, which is what the array does in that cycle of the steady state.
"""

from __future__ import annotations

import math

from gridloom import registry
from gridloom.archs.model import Arch, Kind
from gridloom.emit.details import Details, PassedValue
from gridloom.emit.picture import palette
from gridloom.emit.picture.array_layout import ArrayLayout
from gridloom.emit.picture.geometry import Box, line
from gridloom.emit.picture.legend import HEAD, MARGIN, Key, heading, legend, op_keys, wire_sample
from gridloom.emit.picture.text import document, element, group, label, number
from gridloom.emit.picture.tiles import (
    PictureStyle,
    arrow_heads,
    badges,
    channels,
    class_dots,
    cycle_mark,
    heat,
    node,
    rectangle,
    registers,
    tile_name,
    tile_outline,
    uses_by_slot,
    wire,
)
from gridloom.emit.picture.wires import LinkWiring, Wiring, merge_pieces
from gridloom.errors import OptionError
from gridloom.mapping.model import Mapping

_PANEL_HEAD = 26.0
_PREFIX = "array-arrow-"


def svg_arch(arch: Arch, *, live: bool = False) -> str:
    """Return a picture of an array as SVG text: tiles, links, and the op classes of each tile where tiles differ.

    ``live`` marks tiles by their numbers, for scripts that draw on them.

    Linear in tiles and links.
    """
    layout = ArrayLayout(arch)
    parts = plain_links(layout, strong=True)
    shown = telling_classes(arch)
    for t, tile in enumerate(arch.tiles):
        parts.append(tile_outline(layout, t, used=True, marks={"data_t": t} if live else {}))
        if tile.kind != "switch":
            parts.append(tile_name(layout, t, middle=True))
            parts += class_dots(layout, t, shown) if tile.kind in ("pe", "cu", "mu", "dram") else []
        if layout.arch.has("wraps"):
            parts += registers(layout, t, {})
    width = max(layout.width + 2 * MARGIN, 420.0)
    keys, tall = legend(op_keys(shown), HEAD + layout.height, width)
    body = [*heading(arch.name, arch_summary(arch), width), _panel(parts, (width - layout.width) / 2, HEAD), *keys]
    return document(width, HEAD + layout.height + tall + 8, body, name=f"array {arch.name}", kind="array")


def telling_classes(arch: Arch) -> list[str]:
    """Return the op classes that some tiles have and others do not, in the palette's order.

    A class that every tile has tells a reader nothing, so a homogeneous array has none. Moves are never shown.
    """
    every = [set(tile.classes) for tile in arch.tiles if tile.classes]
    common = set.intersection(*every) if every else set()
    return [name for name in palette.OP_SHADES if name != "route" and name in set().union(*every) - common]


def svg_mapping(mapping: Mapping, *, cycle: int | None = None) -> str:
    """Return a picture of a mapping as SVG text: nodes in tiles, routes in their signals' colours, waits at operands.

    ``cycle``: on modulo-scheduled arrays the slot to draw (default: all, side by side); on static ones the flat cycle
    whose issues and hops are in full colour. OptionError for a slot that the mapping does not have. Linear in tiles,
    links and hops.
    """
    if cycle is not None and mapping.arch.style == "modulo" and not 0 <= cycle < mapping.ii:
        raise OptionError(f"slot {cycle}: the mapping has slots 0 to {mapping.ii - 1}")
    return picture(Details(mapping), cycle=cycle, live=False)


def picture(details: Details, *, cycle: int | None = None, live: bool) -> str:
    """Return the picture of a mapping; ``live`` adds the marks and heat layers that the report's script uses.

    On modulo-scheduled arrays ``cycle`` is a slot and only its panel is drawn; on others everything else is faded. The
    slot is not checked here.
    """
    if (draw := registry.hook_for("pictures", details.arch)) is not None:
        drawn: str = draw(details, slot=cycle, live=live)
        return drawn
    layout = ArrayLayout(details.arch)
    modulo = details.arch.style == "modulo"
    slots = [cycle] if modulo and cycle is not None else list(range(details.ii))
    look = PictureStyle(live=live, cycle=None if modulo else cycle)
    head = _PANEL_HEAD if modulo else 0.0
    columns = _columns(len(slots), layout.width, layout.height)
    step_x, step_y = layout.width + 10, layout.height + head + _file_height(details.arch)
    # A very small array still needs room for the heading and the legend.
    width = max(2 * MARGIN + columns * step_x - 10, 420.0)
    offset = (width - (columns * step_x - 10)) / 2
    panels = []
    for k, slot in enumerate(slots):
        x, y = offset + k % columns * step_x, HEAD + k // columns * step_y
        box = " ".join(number(v) for v in (x - 6, y, layout.width + 12, step_y))
        marks: dict[str, object] = {"data_slot": slot, "data_box": box} if live and modulo else {}
        parts = _mapped(details, layout, slot, look)
        if modulo:
            parts.append(label(layout.width / 2, -8, f"slot {slot}", size=13, weight=600))
        panels.append(_panel(parts, x, y + head, class_="panel", **marks))
    bottom = HEAD + -(-len(slots) // columns) * step_y
    keys, tall = legend(mapping_keys(details), bottom, width)
    body = [
        arrow_heads(details.colours, _PREFIX),
        *heading(f"{details.dfg.name} on {details.arch.name}", summary(details), width),
        *panels,
        *keys,
    ]
    name = f"{details.dfg.name} mapped on {details.arch.name}"
    return document(width, bottom + tall + 8, body, name=name, kind="array", live=live, crop=HEAD - 5 if live else 0.0)


def _panel(parts: list[str], x: float, y: float, **marks: object) -> str:
    return group(parts, transform=f"translate({number(x)} {number(y)})", **marks)


def _columns(count: int, width: float, height: float) -> int:
    """How many panels side by side make a picture with about the proportions of a page and few empty places.

    It minimises the distance of the proportions from 1.7 (in logarithms) plus a price for empty places.
    """

    def cost(k: int) -> float:
        rows = -(-count // k)
        return abs(math.log(k * width / (rows * height) / 1.7)) + 1.5 * (rows * k - count) / (rows * k)

    return min(range(1, count + 1), key=lambda k: (round(cost(k), 6), k))


def arch_summary(arch: Arch) -> str:
    """Return one line about an array: style, size, tiles and links."""
    places = sum(1 for tile in arch.tiles if tile.kind in ("pe", "cu", "mu"))
    links = [f"{len(arch.links)} directed links"] if arch.links else []
    return " · ".join([arch.style, f"{arch.rows} × {arch.cols}", f"{places} tiles", *links])


def summary(details: Details) -> str:
    """Return one line about a mapping: nodes, tiles in use, II and cycles."""
    used = {tile for tile in details.instance_tiles if tile >= 0}
    count = len(details.dfg.nodes)
    total = sum(1 for tile in details.arch.tiles if tile.kind != "switch")
    parts = [f"{count} node{'s' * (count != 1)}", f"{len(used)} of {total} tiles"]
    if details.arch.is_timed:
        parts.append(f"II {details.ii}")
        parts.append(f"latency {details.latency}")
    return " · ".join(parts)


def mapping_keys(details: Details) -> list[Key]:
    """Return the legend of a mapping: op classes, routes, waits and pipeline registers, as far as they occur."""
    keys = op_keys(details.op_class(instance) for instance in details.mapping.instances)
    if details.moves:
        keys += op_keys(["route"])
    if any(way.hops for way in details.ways):
        first = next(way.signal for way in details.ways if way.hops)
        keys.append(Key(wire_sample(details.colours[first]), "routes, one colour per signal"))
    if details.fifo:
        sample = element("rect", class_="badge tile-rim", x=4.0, y=-6.5, width=14.0, height=13.0, rx=6.5,
                         fill=palette.surface("badge"), stroke=palette.surface("line"))  # fmt: skip
        keys.append(Key(sample + label(11, 3.5, "2", size=9, weight=600), "cycles that an operand waits"))
    if any(details.mapping.settings.get("pipeline") or ()):
        sample = element("path", class_="gate", d="M1 0H21", stroke=palette.surface("gate"), stroke_width="3",
                         stroke_linecap="round", opacity="0.55")  # fmt: skip
        keys.append(Key(sample, "pipeline registers"))
    return keys


# -- one panel ------------------------------------------------------------------------------------------------------


def wiring(details: Details, layout: ArrayLayout) -> Wiring:
    """Return how the routes on this array are drawn.

    Arrays with LINK resources and rows of ALUs differ in it; the streaming engine never comes here.
    """
    own = registry.hook_for("wires", layout.arch)
    made: Wiring = LinkWiring(details, layout) if own is None else own.wiring(details, layout)
    return made


def plain_links(layout: ArrayLayout, *, strong: bool = False) -> list[str]:
    """Return the links of an array without what they carry."""
    own = registry.hook_for("wires", layout.arch)
    drawn: list[str] = channels(layout, strong=strong) if own is None else own.links(layout, strong=strong)
    return drawn


def _mapped(details: Details, layout: ArrayLayout, slot: int, look: PictureStyle) -> list[str]:
    """The array with what it does in a slot. Wires are drawn above tiles and under nodes, badges on top."""
    modulo = details.arch.style == "modulo"
    wires = wiring(details, layout)
    pieces = merge_pieces(
        piece
        for way in details.ways
        for piece in wires.pieces(way)
        if not modulo or piece.cycles[0] % details.ii == slot
    )
    marks = [
        badge for way in details.ways for badge in wires.badges(way) if not modulo or badge.cycle % details.ii == slot
    ]
    parts = plain_links(layout)
    parts += _tiles(details, layout, slot, look)
    parts += _gates(details, layout)
    # The heat maps lie above the tiles, but below wires and nodes, which stay readable.
    if look.live:
        parts += heat(layout, details)
    parts.append(group([wire(details, piece, look, _PREFIX) for piece in pieces], class_="wires"))
    parts += _nodes(details, layout, slot, look)
    parts += badges(details, marks, look)
    if _file_height(details.arch):
        parts += _central_file(details, layout, slot)
    return parts


def _touched(details: Details) -> set[int]:
    """The tiles that hold a node or that a route passes."""
    tiles = {tile for tile in details.instance_tiles if tile >= 0}
    kind, tile = details.arch.kind, details.arch.tile
    for resource in details.uses:
        if kind[resource] in (Kind.LINK, Kind.SWITCH, Kind.IN, Kind.FU):
            tiles.add(int(tile[resource]))
    return tiles


def _tiles(details: Details, layout: ArrayLayout, slot: int, look: PictureStyle) -> list[str]:
    """The outlines of all tiles, names of those without an op, and registers with the values they hold."""
    touched = _touched(details)
    busy = {tile for tile in details.instance_tiles if tile >= 0}
    held = uses_by_slot(details, slot) if details.arch.has("wraps") else {}
    parts = []
    for t, tile in enumerate(details.arch.tiles):
        marks: dict[str, object] = {"data_t": t} if look.live else {}
        parts.append(tile_outline(layout, t, used=t in touched, marks=marks))
        if t not in busy and tile.kind != "switch" and (t not in touched or tile.kind != "pe"):
            parts.append(tile_name(layout, t, middle=True))
        if layout.arch.has("wraps"):
            parts += registers(layout, t, held)
    return parts


def _nodes(details: Details, layout: ArrayLayout, slot: int, look: PictureStyle) -> list[str]:
    """The ops and moves of a slot."""
    parts = []
    for t, tile in enumerate(details.arch.tiles):
        here = details.at(t, slot)
        for place, k in enumerate(here):
            core = layout.cores[t]
            if len(here) > 1:
                # More than one op in a slot is illegal; the picture has to show all of them.
                core = Box(core.x + 5 * place, core.y + 5 * place, core.half_width - 3, core.half_height)
            parts.append(node(details, k, core, look))
            if details.arch.is_timed and tile.kind == "pe" and details.last_cycle:
                parts.append(cycle_mark(details, t, k, layout))
    for move in details.moves:
        if move.cycle % details.ii == slot:
            parts.append(_move(move, layout, look))
    return parts


def _move(move: PassedValue, layout: ArrayLayout, look: PictureStyle) -> str:
    """A function unit that passes a value on, dashed."""
    core = layout.cores[move.tile]
    shade = palette.shade("route")
    marks: dict[str, object] = {"data_s": move.signal, "data_c": move.cycle, "data_t": move.tile} if look.live else {}
    shape = element("rect", class_="op-route", **rectangle(core), rx=7.0, fill=shade.fill, stroke=shade.stroke,
                    stroke_dasharray="4 3")  # fmt: skip
    text = label(core.x, core.y + 3.5, {"move": "move", "store": "spill", "load": "reload"}[move.kind], size=10.5)
    return group([shape, text], class_="move", opacity=look.faded([move.cycle]), **marks)


# -- what only some families have -----------------------------------------------------------------------------------


def _gates(details: Details, layout: ArrayLayout) -> list[str]:
    """Pipeline registers between rows that the mapping has switched on."""
    bits = details.mapping.settings.get("pipeline")
    if not details.arch.has("upward") or not isinstance(bits, list | tuple):
        return []
    left = min(box.left for box, tile in zip(layout.boxes, details.arch.tiles) if tile.kind == "pe") - 6
    right = max(box.right for box in layout.boxes) + 6
    below = {tile.row: box.top for box, tile in zip(layout.boxes, details.arch.tiles) if tile.kind == "pe"}
    parts = []
    for row, bit in enumerate(bits[: details.arch.rows - 1]):
        if bit:
            y = below[row] - layout.gap / 2
            parts.append(
                element(
                    "path",
                    class_="gate",
                    d=line((left, y), (right, y)),
                    stroke=palette.surface("gate"),
                    stroke_width="3",
                    stroke_linecap="round",
                    opacity="0.55",
                )
            )
    return parts


def _file_height(arch: Arch) -> float:
    """The height of the strip for a central register file, which is always called ``rf``; 0 where there is none."""
    central = any(file.name == "rf" for file in arch.register_files)
    return 34.0 if central else 0.0


def _central_file(details: Details, layout: ArrayLayout, slot: int) -> list[str]:
    """The central register file as a strip below the array."""
    held = uses_by_slot(details, slot)
    file = next(file for file in details.arch.register_files if file.name == "rf")
    step = min(12.0, (layout.width - 60) / len(file.registers))
    parts = [label(18, layout.height + 14, "registers", size=9, anchor="start", kind="soft")]
    for k, register in enumerate(file.registers):
        x = 62 + k * step
        colour = held.get(register)
        fill = palette.SIGNALS[colour[1]][0] if colour else palette.surface("badge")
        kind = f"f{colour[1]}" if colour else "badge tile-rim"
        parts.append(
            element(
                "rect",
                class_=kind,
                x=x,
                y=layout.height + 6,
                width=max(1.0, step - 2),
                height=9.0,
                rx=1.5,
                fill=fill,
                stroke=None if colour else palette.surface("tile-rim"),
                data_s=colour[0] if colour else None,
            )
        )
    return parts
