"""The streaming engine as a table of tiles by spokes: one column per tile, one row per slot, an op in its cell.

The tiles with their links are above the table; a link is drawn the stronger, the more slots use it. A wire leads from
the cell in which a value is issued to the cell that reads it.

The engine is one row of tiles, so a picture of the array for each slot would waste a page; with slots as rows the whole
steady state is one table. A wire may go up: its reader issues in a later round than its producer, at an earlier slot.
Columns are tiles in the order of the array; widths do not depend on the mapping.
"""

from __future__ import annotations

from typing import Final

from gridloom.archs.model import Kind
from gridloom.emit.details import Details, Way
from gridloom.emit.picture import palette
from gridloom.emit.picture.array import mapping_keys, summary
from gridloom.emit.picture.geometry import Box, Point, curve, spot
from gridloom.emit.picture.legend import HEAD, MARGIN, heading, legend
from gridloom.emit.picture.text import document, element, group, label
from gridloom.emit.picture.tiles import PictureStyle, arrow_heads, badges, heat_label, node, rectangle, wire
from gridloom.emit.picture.wires import Badge, WirePiece, merge_pieces
from gridloom.mapping.model import Instance

_CELL: Final = (74.0, 78.0)
_SIDE: Final = 58.0
_FABRIC: Final = 96.0
_PREFIX: Final = "spoke-arrow-"


def spokes_picture(details: Details, *, slot: int | None, live: bool) -> str:
    """Return the table of a mapping; ``slot`` fades the other rows, ``live`` adds the marks that the report uses.

    Linear in tiles times slots and in hops.
    """
    look = PictureStyle(live=live)
    tiles = len(details.arch.tiles)
    width = max(2 * MARGIN + _SIDE + tiles * _CELL[0], 420.0)
    top = HEAD + _FABRIC
    bottom = top + details.ii * _CELL[1]
    wires = [wire_of(details, way, way.target) for way in details.ways if way.hops and way.target is not None]
    pieces = merge_pieces(piece for piece, _ in wires)
    body = [
        arrow_heads(details.colours, _PREFIX),
        *heading(f"{details.dfg.name} on {details.arch.name}", summary(details), width),
        *_fabric(details, live),
        *_grid(details, live),
    ]
    body.append(
        group([_faded(wire(details, piece, look, _PREFIX), details, piece, slot) for piece in pieces], class_="wires")
    )
    body += _ops(details, slot, look)
    body += badges(details, [badge for _, marks in wires for badge in marks], look)
    keys, tall = legend(mapping_keys(details), bottom + 6, width)
    name = f"{details.dfg.name} mapped on {details.arch.name}"
    return document(
        width,
        bottom + tall + 14,
        [*body, *keys],
        name=name,
        kind="array spokes",
        live=live,
        crop=HEAD - 5 if live else 0.0,
    )


def cell(tile: int, slot: int) -> Box:
    """Return the cell of a tile's slot."""
    x = MARGIN + _SIDE + (tile + 0.5) * _CELL[0]
    return Box(x, HEAD + _FABRIC + (slot + 0.5) * _CELL[1], _CELL[0] / 2, _CELL[1] / 2)


def _core(tile: int, slot: int) -> Box:
    box = cell(tile, slot)
    return Box(box.x, box.y, 29.0, 20.0)


def _faded(text: str, details: Details, piece: WirePiece, slot: int | None) -> str:
    """A wire, faded where a slot is asked for and none of its readers issues in it."""
    if slot is None or any(details.mapping.instances[k].cycle % details.ii == slot for k in _readers(details, piece)):
        return text
    return element("g", text, opacity="0.16")


def _readers(details: Details, piece: WirePiece) -> list[int]:
    names = {details.dfg.edges[e].target for e in piece.edges}
    return [k for k, instance in enumerate(details.mapping.instances) if instance.node in names]


# -- the array ------------------------------------------------------------------------------------------------------


def _fabric(details: Details, live: bool) -> list[str]:
    """The tiles in a row with links over one and two steps, as strong as they are used."""
    y = HEAD + _FABRIC - 20
    parts = []
    for a, b, r in details.arch.links:
        used = len({cycle % details.ii for _, cycle, _ in details.uses.get(r, ())})
        x0, x1 = cell(a, 0).x, cell(b, 0).x
        east = b > a
        # The two directions have arcs of different heights, so that they do not cover each other.
        lift = (26.0 if abs(b - a) == 1 else 50.0) * (1.0 if east else 0.72)
        start, end = (x0 + (8 if east else -8), y - 11), (x1 - (8 if east else -8), y - 11)
        path = curve(start, (start[0], start[1] - lift), (end[0], end[1] - lift), end)
        marks: dict[str, object] = {"data_r": r} if live and used else {}
        parts.append(
            element(
                "path",
                class_="line fabric" if used else "road",
                d=path,
                fill="none",
                stroke=palette.surface("line" if used else "road"),
                stroke_width=f"{1.2 + 2.4 * used / details.ii:.1f}" if used else "1.2",
                **marks,
            )
        )
    for t, tile in enumerate(details.arch.tiles):
        box = Box(cell(t, 0).x, y, 24.0, 11.0)
        marks = {"data_t": t} if live else {}
        parts.append(
            element(
                "rect",
                class_="tile tile-rim",
                **rectangle(box),
                rx=5.0,
                fill=palette.surface("tile"),
                stroke=palette.surface("tile-rim"),
                **marks,
            )
            + label(box.x, y + 3.5, tile.name, size=9.5, kind="soft")
        )
    return parts


def _grid(details: Details, live: bool) -> list[str]:
    """The cells of the table: used ones are tinted, the others are pale."""
    parts = []
    waits = details.fifo
    longest = max(waits.values(), default=0)
    for slot in range(details.ii):
        row = [label(MARGIN + _SIDE - 12, cell(0, slot).y + 4, f"slot {slot}", size=12, anchor="end", weight=600)]
        for t in range(len(details.arch.tiles)):
            box = cell(t, slot)
            inner = Box(box.x, box.y, box.half_width - 3, box.half_height - 3)
            kind = "tile" if details.at(t, slot) else "idle"
            row.append(
                element(
                    "rect",
                    class_=f"{kind} tile-rim",
                    **rectangle(inner),
                    rx=8.0,
                    fill=palette.surface(kind),
                    stroke=palette.surface("tile-rim"),
                    stroke_opacity=None if kind == "tile" else "0.6",
                )
            )
        parts.append(group(row, class_="row", data_slot=slot if live else None))
    if live:
        shares = {t: share for t, share in details.congestion.items() if share > 0}
        parts.append(_heat("fifo", {t: (w / longest, str(w)) for t, w in waits.items()}, longest))
        parts.append(_heat("congestion", {t: (share, f"{100 * share:.0f}%") for t, share in shares.items()}, 100))
    return parts


def _heat(name: str, cells: dict[int, tuple[float, str]], top: int) -> str:
    """A hidden layer of coloured tiles that the report can show."""
    parts = []
    for tile, (share, text) in sorted(cells.items()):
        box = Box(cell(tile, 0).x, HEAD + _FABRIC - 20, 24.0, 11.0)
        parts.append(
            element("rect", **rectangle(box), rx=5.0, fill=palette.heat_colour(share), data_t=tile)
            + heat_label(box.x, box.y + 3.5, text, share)
        )
    return group(parts, class_=f"heat heat-{name}", data_top=top)


# -- what is mapped -------------------------------------------------------------------------------------------------


def _ops(details: Details, slot: int | None, look: PictureStyle) -> list[str]:
    """The ops in their cells with their cycles."""
    parts = []
    for k, (instance, tile) in enumerate(zip(details.mapping.instances, details.instance_tiles)):
        if tile < 0:
            continue
        row = instance.cycle % details.ii
        text = node(details, k, _core(tile, row), look)
        box = cell(tile, row)
        text += label(box.left + 8, box.top + 13, f"@{instance.cycle}", size=8.5, anchor="start", kind="soft")
        parts.append(text if slot in (None, row) else element("g", text, opacity="0.16"))
    return parts


def wire_of(details: Details, way: Way, reader: Instance) -> tuple[WirePiece, list[Badge]]:
    """Return the wire of a route from the cell of its producer to that of its consumer, and the wait at its end.

    Links between are not drawn in the table: the piece names the last one, so that pointing at it shows the resource.
    """
    source, target = _place(details, way.source), _place(details, reader)
    resource, arrival = way.hops[-1]
    # The row of the consumer is that of the cycle in which it reads, after the wait.
    cycle = arrival + way.route.fifo
    links = [r for r, _ in way.hops if details.arch.kind[r] == Kind.LINK]
    operand = int(details.arch.position[resource])
    path, end = _curve(source, target, operand)
    piece = WirePiece(path, way.signal, links[-1] if links else resource, (cycle,), (way.route.edge,), head=True)
    waits = []
    if way.route.fifo:
        waits.append(Badge((end[0], end[1] - 11), str(way.route.fifo), "fifo", way.signal, way.route.edge, cycle))
    return piece, waits


def _place(details: Details, instance: Instance) -> tuple[int, int]:
    return details.arch.tile_index.get(instance.place, 0), instance.cycle % details.ii


def _curve(source: tuple[int, int], target: tuple[int, int], operand: int) -> tuple[str, Point]:
    """A wire between two cells and where it ends: down, to the side, or back to its own cell.

    Operands end side by side at the upper side of the cell's node.
    """
    first, second = _core(*source), _core(*target)
    end = (second.x + (operand - 0.5) * 22, second.top)
    if source == target:
        start = (first.right, first.y + 6)
        return f"M{spot(start)}C{spot((start[0] + 16, start[1]))} {spot((end[0] + 22, end[1] - 22))} {spot(end)}", end
    if target[1] > source[1]:
        start = (first.x, first.bottom)
        # A long wire bends late, so that wires over several rows stay apart.
        bend = max(22.0, (end[1] - start[1]) * 0.5)
        return curve(start, (start[0], start[1] + bend), (end[0], end[1] - bend), end), end
    sense = 1 if second.x >= first.x else -1
    start = (first.x + sense * first.half_width, first.y)
    return curve(start, (start[0] + sense * 26, start[1]), (end[0] - sense * 10, end[1] - 40), end), end
