"""Drawings for the terminal: arrays and static mappings as a grid, modulo mappings as tiles by slots, graphs by level.

Every drawing is a rich renderable: ``rich.print(terminal(mapping))``. rich is imported when the first one is made.

A drawing shows less than a picture: links only between tiles that are neighbours on the screen, one op per tile. What
was left out is counted in a line below. Colours are rich's named ones, legible on light and dark backgrounds; without
colour the text still says everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridloom.archs.model import Arch, Kind, Tile
from gridloom.dfg.model import Dfg
from gridloom.emit.details import Details, node_caption
from gridloom.emit.picture import palette
from gridloom.emit.picture.array import arch_summary, summary, telling_classes
from gridloom.emit.terminal.canvas import Canvas, clip_text, clipped_middle
from gridloom.errors import OptionError
from gridloom.mapping.model import Mapping

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_WIDTH = 9
_HEIGHT = 4
_GAP = 3
_ARROWS = {
    (0, 1): "→", (0, -1): "←", (1, 0): "↓", (-1, 0): "↑", (1, 1): "↘", (1, -1): "↙", (-1, 1): "↗", (-1, -1): "↖",
}  # fmt: skip


def terminal(thing: Mapping | Arch | Dfg) -> RenderableType:
    """Return a drawing of a mapping, an array or a graph as a rich renderable. Linear in what is drawn.

    OptionError for anything else.
    """
    if isinstance(thing, Mapping):
        return _mapping(Details(thing))
    if isinstance(thing, Arch):
        return _arch(thing)
    if isinstance(thing, Dfg):
        return _graph(thing)
    raise OptionError(f"cannot draw a {type(thing).__name__}; expected a mapping, an array or a graph")


# -- arrays and static mappings -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where tiles are on the canvas."""

    #: Tile -> row and column of its upper left corner; switches are not drawn.
    places: dict[int, tuple[int, int]]
    rows: int
    columns: int


def _grid(arch: Arch) -> _Grid:
    """Where each tile is drawn; switches are left out.

    Apart from those no two tiles of an array have the same row and column.
    """
    shown = [(k, tile) for k, tile in enumerate(arch.tiles) if tile.kind != "switch"]
    spots = {k: _screen_place(arch, tile) for k, tile in shown}
    top = min(row for row, _ in spots.values())
    left = min(col for _, col in spots.values())
    places = {k: ((row - top) * (_HEIGHT + 1), int((col - left) * (_WIDTH + _GAP))) for k, (row, col) in spots.items()}
    rows = max(row for row, _ in places.values()) + _HEIGHT
    return _Grid(places, rows, max(col for _, col in places.values()) + _WIDTH)


def _screen_place(arch: Arch, tile: Tile) -> tuple[int, float]:
    """Row and column of a tile on the screen."""
    if arch.has("hexagonal"):
        return tile.row, tile.col + (0.5 if tile.row % 2 else 0.0)
    if arch.has("upward"):
        # Rows count from the bottom; the ports of a column stand one above the other below it.
        return arch.rows - 1 - tile.row, float(tile.col)
    return tile.row, float(tile.col)


def _arch(arch: Arch) -> RenderableType:
    """An array: its tiles with their op classes, and arrows for links between neighbours."""
    grid = _grid(arch)
    shown = telling_classes(arch)
    canvas = Canvas(grid.rows, grid.columns)
    for k, (row, column) in grid.places.items():
        tile = arch.tiles[k]
        canvas.box(row, column, _WIDTH, _HEIGHT, "bright_black")
        canvas.centre(row + 1, column + 1, _WIDTH - 2, tile.name)
        have = [name for name in shown if name in tile.classes][: _WIDTH - 2]
        for place, name in enumerate(have):
            canvas.put(row + 2, column + (_WIDTH - len(have)) // 2 + place, "■", palette.TERMINAL_STYLES[name])
    for a, b, _ in arch.links:
        _arrow(canvas, grid, a, b, "bright_black")
    keys = [(name, palette.OP_TITLES[name]) for name in shown]
    return _page(arch.name, arch_summary(arch), canvas.text(), keys)


def _mapping(details: Details) -> RenderableType:
    """A mapping: a grid for a static or elastic array, a table of slots for a modulo-scheduled one."""
    name = f"{details.dfg.name} on {details.arch.name}"
    classes = {details.op_class(instance) for instance in details.mapping.instances}
    keys = [(name, palette.OP_TITLES[name]) for name in palette.OP_SHADES if name in classes]
    if details.arch.style == "modulo":
        return _page(name, summary(details), _slots(details), keys)
    grid = _grid(details.arch)
    canvas = Canvas(grid.rows, grid.columns)
    for k, (row, column) in grid.places.items():
        _draw_tile(canvas, details, k, row, column)
    hidden = 0
    for a, b, signal in _steps(details):
        style = palette.TERMINAL_SIGNALS[details.colours[signal] % len(palette.TERMINAL_SIGNALS)]
        hidden += not _arrow(canvas, grid, a, b, style)
    note = f"{hidden} hops between tiles that are not neighbours here are not drawn" if hidden else ""
    return _page(name, summary(details), canvas.text(), keys, note)


def _draw_tile(canvas: Canvas, details: Details, tile: int, row: int, column: int) -> None:
    """A tile with its op, node, cycle and longest wait."""
    here = details.at(tile, 0)
    if not here:
        canvas.box(row, column, _WIDTH, _HEIGHT, "bright_black", dashed=True)
        if any(move.tile == tile for move in details.moves):
            canvas.centre(row + 1, column + 1, _WIDTH - 2, "move", palette.TERMINAL_STYLES["route"])
        return
    instance = details.mapping.instances[here[0]]
    style = palette.TERMINAL_STYLES.get(details.op_class(instance), "")
    canvas.box(row, column, _WIDTH, _HEIGHT, style)
    canvas.centre(row + 1, column + 1, _WIDTH - 2, details.caption(instance.node), f"bold {style}")
    canvas.centre(row + 2, column + 1, _WIDTH - 2, instance.node, keep_end=True)
    if details.arch.is_timed and details.last_cycle:
        canvas.put(row, column + 2, f"@{instance.cycle}", style)
    waits = details.fifo.get(tile)
    if waits:
        canvas.put(row + _HEIGHT - 1, column + 2, f"+{waits}", style)


def _steps(details: Details) -> Iterator[tuple[int, int, int]]:
    """Yield (tile, next tile, signal) for every hop from tile to tile, each once.

    LINK resources name both tiles. On arrays without links a step is a change of the tile that owns the resource.
    Routes of constants are left out, since they reach every tile of a row.
    """
    seen: dict[tuple[int, int, int], None] = {}
    arch = details.arch
    ends = {r: (a, b) for a, b, r in arch.links}
    for way in details.ways:
        before = arch.tile_index.get(way.source.place, -1)
        if before >= 0 and arch.tiles[before].kind == "const":
            continue
        for resource, _ in way.hops:
            tile = int(arch.tile[resource])
            if resource in ends:
                seen[(*ends[resource], way.signal)] = None
                before = ends[resource][1]
            elif arch.kind[resource] == Kind.SWITCH and arch.has("crossbars"):
                continue
            elif arch.kind[resource] in (Kind.IN, Kind.SWITCH) and before >= 0 and tile not in (before, -1):
                seen[before, tile, way.signal] = None
                before = tile
            elif tile >= 0:
                before = tile
    yield from seen


def _arrow(canvas: Canvas, grid: _Grid, a: int, b: int, style: str) -> bool:
    """Draw an arrow in the gap between two tiles; False where they are not neighbours on the canvas.

    The two directions between neighbours have places of their own, so that both can be seen; several signals in one
    direction share one arrow, in the style of the last.
    """
    if a not in grid.places or b not in grid.places:
        return False
    (row, column), (row_b, column_b) = grid.places[a], grid.places[b]
    dr, dc = row_b - row, column_b - column
    pitch = _WIDTH + _GAP
    if abs(dr) > _HEIGHT + 1 or abs(dc) > pitch or (dr == 0 and dc == 0):
        return False
    sense = ((dr > 0) - (dr < 0), (dc > 0) - (dc < 0))
    if dr == 0:
        # Going right on the upper line, going left on the lower one.
        canvas.put(row + (1 if dc > 0 else 2), max(column, column_b) - 2, _ARROWS[sense], style)
        return True
    middle = (column + column_b + _WIDTH) // 2
    # Going down left of the middle, going up right of it.
    canvas.put(max(row, row_b) - 1, middle + (-1 if dr > 0 else 1), _ARROWS[sense], style)
    return True


# -- modulo mappings ------------------------------------------------------------------------------------------------


def _slots(details: Details) -> RenderableType:
    """A table of tiles by slots with what each tile issues in each slot.

    Tiles that issue nothing in any slot have no row.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("tile", style="bright_black", no_wrap=True)
    for slot in range(details.ii):
        table.add_column(f"slot {slot}", no_wrap=True)
    moves: dict[tuple[int, int], list[str]] = {}
    for move in details.moves:
        signal = details.signals[move.signal][0]
        moves.setdefault((move.tile, move.cycle % details.ii), []).append(f"{move.kind} {signal} @{move.cycle}")
    for t, tile in enumerate(details.arch.tiles):
        cells = [_slot_text(details, t, slot, moves.get((t, slot), [])) for slot in range(details.ii)]
        # Rows of idle tiles would push the others off the screen.
        if any(cell.plain for cell in cells):
            table.add_row(tile.name, *cells)
    return table


def _slot_text(details: Details, tile: int, slot: int, moves: Iterable[str]) -> Text:
    """What a tile issues in a slot, and the values it moves."""
    from rich.text import Text

    parts: list[Text] = []
    for k in details.at(tile, slot):
        instance = details.mapping.instances[k]
        style = palette.TERMINAL_STYLES.get(details.op_class(instance), "")
        part = Text(clip_text(details.caption(instance.node), 14), style=f"bold {style}")
        part.append(f" {clipped_middle(instance.node, 18)} @{instance.cycle}", style="not bold default")
        parts.append(part)
    parts += [Text(clip_text(text, 34), style=palette.TERMINAL_STYLES["route"]) for text in moves]
    return Text("\n").join(parts)


# -- graphs ---------------------------------------------------------------------------------------------------------


def _graph(dfg: Dfg) -> RenderableType:
    """A graph as a table of nodes by level.

    Constants and live-ins have no row of their own: they appear among the operands of their readers.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    level = [0] * len(dfg.nodes)
    for k in dfg.topological:
        for e in dfg.out_edges[k]:
            edge = dfg.edges[e]
            if edge.distance == 0:
                level[dfg.index[edge.target]] = max(level[dfg.index[edge.target]], level[k] + 1)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("level", "node", "op", "operands"):
        table.add_column(title, no_wrap=title != "operands", justify="right" if title == "level" else "left")
    before = -1
    for k in sorted(range(len(dfg.nodes)), key=lambda k: (level[k], k)):
        node = dfg.nodes[k]
        if dfg.ops[k].timeless and dfg.out_edges[k]:
            continue
        style = palette.TERMINAL_STYLES.get(dfg.op_class(node.id), "")
        shown = str(level[k]) if level[k] != before else ""
        before = level[k]
        caption = node_caption(node.label, node.op, node.value)
        operands = Text(", ".join(_operands(dfg, k)))
        table.add_row(
            shown, Text(clipped_middle(node.id, 24)), Text(clip_text(caption, 20), style=f"bold {style}"), operands
        )
    about = f"{dfg.domain} · {len(dfg.nodes)} nodes · {len(dfg.edges)} edges"
    return _page(dfg.name, about, table, [])


def _operands(dfg: Dfg, k: int) -> Iterator[str]:
    """The operands of a node in words; a carried one with its distance."""
    for e in dfg.in_edges[k]:
        edge = dfg.edges[e]
        source = dfg.node(edge.source)
        text = clipped_middle(str(source.value) if source.op == "const" else edge.source, 24)
        if edge.distance:
            text += f"[-{edge.distance}]"
        yield text if edge.carries_value else f"after {text}"


def _page(
    name: str, about: str, drawing: RenderableType, keys: Iterable[tuple[str, str]], note: str = ""
) -> RenderableType:
    """Heading, drawing, legend."""
    from rich.console import Group
    from rich.text import Text

    head = Text(clip_text(name, 200), style="bold")
    legend = Text()
    for op_class, text in keys:
        legend.append("■ ", palette.TERMINAL_STYLES[op_class])
        legend.append(f"{text}  ")
    rest = [Text(note, style="bright_black")] if note else []
    return Group(head, Text(clip_text(about, 200), style="bright_black"), Text(), drawing, Text(), legend, *rest)
