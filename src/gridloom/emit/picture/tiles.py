"""The parts of an array picture: channels, tiles, nodes, registers, wires, badges, heat.

Each function returns SVG text of one part in the coordinates of an :class:`ArrayLayout` and draws nothing else, so
``array``, ``spokes`` and the report's congestion picture put them together in their own ways. Colours are given twice:
as attributes for plain viewers, as classes for the style sheet of the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gridloom.archs.model import Kind
from gridloom.emit.details import Details
from gridloom.emit.picture import palette
from gridloom.emit.picture.array_layout import ArrayLayout
from gridloom.emit.picture.geometry import Box, line
from gridloom.emit.picture.text import (
    element,
    escape,
    fit_text,
    group,
    label,
    number,
    shorten_middle,
    text_width,
    title,
)
from gridloom.emit.picture.wires import Badge, WirePiece, output_register, register_count, register_square


@dataclass(frozen=True, slots=True)
class PictureStyle:
    """How a picture is drawn."""

    #: With the marks that the report's script reads, instead of the titles that viewers show.
    live: bool = False
    #: Only what happens at this flat cycle is in full colour; None: everything is.
    cycle: int | None = None

    def faded(self, cycles: Sequence[int]) -> str | None:
        """Return the opacity of something that happens at these cycles; None: it is in full colour.

        >>> PictureStyle(cycle=3).faded([2, 4]), PictureStyle(cycle=3).faded([3]), PictureStyle().faded([2])
        ('0.16', None, None)
        """
        return None if self.cycle is None or self.cycle in cycles else "0.16"


def words(values: Iterable[object]) -> str:
    """Return numbers as the text of one attribute."""
    return " ".join(str(value) for value in values)


def arrow_heads(colours: Iterable[int], prefix: str) -> str:
    """Return one arrow head per colour, since viewers do not agree on heads that inherit their colour.

    ``prefix`` keeps the ids of several pictures on one page apart.
    """
    marks = [
        element(
            "marker",
            element("path", class_=f"f{k}", d="M0 0L7 3.5L0 7Z", fill=palette.SIGNALS[k][0]),
            id=f"{prefix}{k}",
            markerWidth="7",
            markerHeight="7",
            refX="5.6",
            refY="3.5",
            orient="auto",
            markerUnits="userSpaceOnUse",
        )
        for k in sorted(set(colours))
    ]
    return element("defs", "".join(marks)) if marks else ""


# -- the array ------------------------------------------------------------------------------------------------------


def channels(layout: ArrayLayout, *, strong: bool = False) -> list[str]:
    """Return the channels of the links: broad between neighbours, thin around tiles and over the edge.

    They are pale under a mapping's wires; ``strong`` emphasises the thin ones where nothing else is drawn.

    A link and its opposite share one broad channel, which is drawn once.
    """
    broad: dict[tuple[int, int], str] = {}
    thin: dict[str, None] = {}
    tiles = layout.arch.tiles
    spokes: dict[tuple[int, int], str] = {}
    for a, b, r in layout.arch.links:
        track = layout.track(r)
        if track.shape not in ("step", "far"):
            thin[track.path] = None
            continue
        pair = (min(a, b), max(a, b))
        first, second = layout.boxes[pair[0]], layout.boxes[pair[1]]
        # Links between a unit and its switch are narrower than the channels between switches.
        mixed = (tiles[a].kind == "switch") != (tiles[b].kind == "switch")
        (spokes if mixed else broad)[pair] = line((first.x, first.y), (second.x, second.y))
    between_switches = any(tile.kind == "switch" for tile in tiles)
    fine = "line" if strong else "road"
    layers = (
        ("road", "12" if between_switches else "20", broad.values()),
        ("road", "6", spokes.values()),
        (fine, "1.1" if strong else "1.6", thin),
    )
    return [
        element("path", class_=kind, d="".join(paths), stroke=palette.surface(kind), stroke_width=width, fill="none")
        for kind, width, paths in layers
        if paths
    ]


def tile_outline(layout: ArrayLayout, tile: int, *, used: bool, marks: dict[str, object]) -> str:
    """Return the outline of a tile, filled."""
    box = layout.boxes[tile]
    kind = layout.arch.tiles[tile].kind
    look: dict[str, object] = {
        "class_": f"{'tile' if used else 'idle'} tile-rim",
        "fill": palette.surface("tile" if used else "idle"),
        "stroke": palette.surface("tile-rim"),
        "stroke_width": "1.2",
    }
    if not used:
        look["stroke_opacity"] = "0.7"
    if layout.arch.has("hexagonal"):
        return element("polygon", points=layout.hexagon(box), stroke_linejoin="round", **look, **marks)
    radius = {"switch": 7.0, "pe": 10.0}.get(kind, 6.0)
    return element("rect", **rectangle(box), rx=radius, **look, **marks)


def rectangle(box: Box) -> dict[str, object]:
    """Return the attributes of a box as a rectangle."""
    return {"x": box.left, "y": box.top, "width": 2 * box.half_width, "height": 2 * box.half_height}


def tile_name(layout: ArrayLayout, tile: int, *, middle: bool) -> str:
    """Return the name of a tile, small; in its middle where nothing else is drawn."""
    box, name = layout.boxes[tile], layout.arch.tiles[tile].name
    text = shorten_middle(name.removeprefix("pe_").replace("_", ","), 9, 2 * box.half_width - 4)
    if middle:
        return element("g", label(box.x, box.y + 3, text, size=9, kind="soft"), opacity="0.55")
    return label(box.left + 6, box.top + 12, text, size=8.5, anchor="start", kind="soft")


def class_dots(layout: ArrayLayout, tile: int, shown: Sequence[str]) -> list[str]:
    """Return a square for each of the op classes ``shown`` that a tile has."""
    box = layout.boxes[tile]
    have = [name for name in shown if name in layout.arch.tiles[tile].classes]
    parts = []
    for k, name in enumerate(have):
        look = palette.shade(name)
        x = box.x + (k - (len(have) - 1) / 2) * 11 - 4
        parts.append(
            element(
                "rect",
                class_=f"op-{name}",
                x=x,
                y=box.y + 14,
                width=8.0,
                height=8.0,
                rx=2.0,
                fill=look.fill,
                stroke=look.stroke,
            )
        )
    return parts


def registers(layout: ArrayLayout, tile: int, held: dict[int, tuple[int, int]]) -> list[str]:
    """Return the output register and the local file of a modulo-scheduled tile.

    ``held``: resource -> (signal, colour) of the value it holds.
    """
    box = layout.boxes[tile]
    parts = [_register(*output_register(box), 4.5, held.get(int(layout.arch.out[tile])))]
    count = register_count(layout, tile)
    name = layout.arch.tiles[tile].name
    half = min(3.5, 56 / max(1, count) / 2 - 0.7)
    for k in range(count):
        x, y = register_square(box, k, count)
        parts.append(_register(x, y, half, held.get(layout.arch.resource_index[f"{name}.r{k}"])))
    return parts


def _register(x: float, y: float, half: float, held: tuple[int, int] | None) -> str:
    """A small square, filled with the colour of the signal that it holds."""
    shape: dict[str, object] = {"x": x - half, "y": y - half, "width": 2 * half, "height": 2 * half, "rx": 1.5}
    if held is None:
        return element(
            "rect", class_="badge tile-rim", fill=palette.surface("badge"), stroke=palette.surface("tile-rim"), **shape
        )
    signal, colour = held
    return element("rect", class_=f"f{colour}", fill=palette.SIGNALS[colour][0], data_s=signal, **shape)


# -- what is mapped -------------------------------------------------------------------------------------------------


def node(details: Details, k: int, core: Box, look: PictureStyle) -> str:
    """Return an instance: a box in the colours of its op class, with op and id.

    The second line, the id, is left out where it would repeat the first or has no room. A copy is marked with its
    number.
    """
    instance = details.mapping.instances[k]
    op_class = details.op_class(instance)
    shade = palette.shade(op_class)
    caption = details.caption(instance.node)
    name = instance.node + (f"′{instance.copy}" if instance.copy else "")
    marks: dict[str, object] = {"class_": "node", "opacity": look.faded([instance.cycle])}
    if look.live:
        marks |= {"data_n": k, "data_s": k, "data_g": details.dfg.index[instance.node], "tabindex": "-1"}
        marks |= {"role": "img", "aria_label": describe(details, k)}
        marks["data_c"] = instance.cycle if details.arch.is_timed else details.depth[instance.node]
    parts = [] if look.live else [title(describe(details, k))]
    parts.append(
        element(
            "rect",
            class_=f"op-{op_class}",
            **rectangle(core),
            rx=7.0,
            fill=shade.fill,
            stroke=shade.stroke,
            stroke_width="1.5",
        )
    )
    port = op_class in ("input", "output")
    parts += _node_text(core, caption, name if name != caption and (port or core.half_height > 19) else "")
    return group(parts, **marks)


def _node_text(core: Box, caption: str, name: str) -> list[str]:
    """One or two lines of text that fit a node's box."""
    # Bold text runs wider than the estimate.
    room = (2 * core.half_width - 6) * 0.92
    size = 12.5 if text_width(caption, 12.5) <= room else 10.5
    if core.half_height < 19:
        return [label(core.x, core.y + 4, shorten_middle(name or caption, 10.5, room), size=10.5, weight=600)]
    if not name:
        return [label(core.x, core.y + 4, fit_text(caption, size, room), size=size, weight=600)]
    return [
        label(core.x, core.y - 1.5, fit_text(caption, size, room), size=size, weight=600),
        label(core.x, core.y + 12, shorten_middle(name, 9.5, room), size=9.5, kind="soft"),
    ]


def describe(details: Details, k: int) -> str:
    """Return one line about an instance: node, op, tile and cycle."""
    instance = details.mapping.instances[k]
    when = f" at cycle {instance.cycle}" if details.arch.is_timed else ""
    if details.ii > 1:
        when += f" (slot {instance.cycle % details.ii})"
    return f"{instance.node}: {details.dfg.node(instance.node).op} on {instance.place}{when}"


def cycle_mark(details: Details, tile: int, k: int, layout: ArrayLayout) -> str:
    """Return the cycle of an instance, small, in the corner of its tile."""
    box = layout.boxes[tile]
    text = f"@{details.mapping.instances[k].cycle}"
    if layout.arch.has("hexagonal"):
        return label(box.x, box.top + 20, text, size=8.5, kind="soft")
    x = box.left + (15 if layout.arch.has("upward") else 6)
    return label(x, box.top + 12, text, size=8.5, anchor="start", kind="soft")


def wire(details: Details, piece: WirePiece, look: PictureStyle, prefix: str) -> str:
    """Return a piece of a route in its signal's colour."""
    colour = details.colours[piece.signal]
    cycles = piece.cycles
    if not details.arch.is_timed:
        cycles = tuple(sorted({details.depth[details.dfg.edges[e].source] for e in piece.edges}))
    marks: dict[str, object] = {}
    content = ""
    if look.live:
        marks = {
            "data_s": piece.signal,
            "data_r": piece.resource,
            "data_c": words(cycles),
            "data_e": words(piece.edges),
        }
    else:
        content = title(f"{details.signals[piece.signal][0]} on {details.arch.resource_names[piece.resource]}")
    return element(
        "path", content, class_=f"wire s{colour}", d=piece.path, fill="none", stroke=palette.SIGNALS[colour][0],
        stroke_width="2.4", stroke_linecap="round", stroke_linejoin="round",
        marker_end=f"url(#{prefix}{colour})" if piece.head else None, opacity=look.faded(cycles), **marks,
    )  # fmt: skip


def badges(details: Details, shown: Iterable[Badge], look: PictureStyle) -> list[str]:
    """Return the marks at operands; marks at one place are written into one.

    The colour is that of the first signal at the place.
    """
    places: dict[tuple[float, float], list[Badge]] = {}
    for badge in shown:
        places.setdefault(badge.point, []).append(badge)
    parts = []
    for (x, y), crowd in places.items():
        text = fit_text("/".join(dict.fromkeys(badge.text for badge in crowd)), 9, 34)
        colour = details.colours[crowd[0].signal]
        half = max(6.5, text_width(text, 9) / 2 + 3.5)
        stroke = palette.SIGNALS[colour][0]
        shape = element(
            "rect", class_=f"badge s{colour}", x=x - half, y=y - 6.5, width=2 * half, height=13.0,
            rx=6.5 if crowd[0].kind == "fifo" else 2.5, fill=palette.surface("badge"), stroke=stroke,
            stroke_width="1.4",
        )  # fmt: skip
        marks: dict[str, object] = {"opacity": look.faded([badge.cycle for badge in crowd])}
        if look.live:
            marks |= {"data_s": crowd[0].signal, "data_e": words(sorted({badge.edge for badge in crowd}))}
            marks["data_c"] = words(sorted({badge.cycle for badge in crowd}))
        parts.append(
            group([shape, label(x, y + 3.2, text, size=9, weight=600)], class_=f"mark {crowd[0].kind}", **marks)
        )
    return parts


def heat(layout: ArrayLayout, details: Details) -> list[str]:
    """Return two hidden layers over the tiles that the report can show: operand waits, and how full the links are.

    The colour of a wait is relative to the longest wait, that of a link's load to its capacity.
    """
    longest = max(details.fifo.values(), default=0)
    layers = {
        "fifo": {tile: (depth / longest, str(depth)) for tile, depth in details.fifo.items()},
        "congestion": {
            tile: (share, f"{100 * share:.0f}%")
            for tile, share in details.congestion.items()
            if share > 0 and tile >= 0
        },
    }
    parts = []
    for name, cells in layers.items():
        squares = []
        for tile, (share, text) in sorted(cells.items()):
            box = layout.boxes[tile]
            rim = Box(box.x, box.y, box.half_width - 2, min(box.half_width, box.half_height) - 2)
            squares.append(
                element("rect", **rectangle(rim), rx=8.0, fill=palette.heat_colour(share), data_t=tile)
                + heat_label(box.x, box.bottom - 8 if box.half_height > 10 else box.y + 3, text, share)
            )
        parts.append(group(squares, class_=f"heat heat-{name}", data_top=number(longest) if name == "fifo" else "100"))
    return parts


def heat_label(x: float, y: float, text: str, share: float) -> str:
    """Return a number on a heat map, dark on pale colours and pale on dark ones, in any colour scheme."""
    return element(
        "text", escape(text), x=x, y=y, font_size="10", font_weight="600", text_anchor="middle",
        fill="#ffffff" if share > 0.6 else "#2b1203",
    )  # fmt: skip


def uses_by_slot(details: Details, slot: int) -> dict[int, tuple[int, int]]:
    """Return the registers that hold a value in a slot: resource -> (signal, colour).

    Of several signals in a register in one slot, which is illegal, the last one is shown.
    """
    held: dict[int, tuple[int, int]] = {}
    for k, instance in enumerate(details.mapping.instances):
        if details.instance_tiles[k] < 0:
            # A live-in that was put into a register before the loop stays there.
            held[details.arch.resource_index[instance.place]] = (k, details.colours[k])
    for resource, rows in details.uses.items():
        if details.arch.kind[resource] in (Kind.REG, Kind.OUT):
            for signal, cycle, _ in rows:
                if cycle % details.ii == slot:
                    held[resource] = (signal, details.colours[signal])
    return held
