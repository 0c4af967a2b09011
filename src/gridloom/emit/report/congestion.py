"""The picture of an array on which a search failed: the places that signals competed for, worst first.

``congested`` comes from the search (``Failure.congested``): names of resources, worst first. How much worse one is than
the next is not known, so colours go by rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gridloom.archs.model import Arch, Kind
from gridloom.emit.picture import palette
from gridloom.emit.picture.array import plain_links
from gridloom.emit.picture.array_layout import ArrayLayout
from gridloom.emit.picture.text import document, element, escape, group, title
from gridloom.emit.picture.tiles import heat_label, rectangle, tile_name, tile_outline

_MARGIN: Final = 12.0


def congestion_picture(arch: Arch, congested: Sequence[str]) -> str:
    """The array as SVG with a number, and a colour from hot to mild, at each congested resource.

    A link is drawn as a broad line; any other resource colours its tile. Names that the array does not have are passed
    over. Linear in tiles and links.
    """
    layout = ArrayLayout(arch)
    parts = plain_links(layout, strong=True)
    marks = [name for name in congested if name in arch.resource_index]
    hot = _tiles(arch, marks)
    for t, tile in enumerate(arch.tiles):
        parts.append(tile_outline(layout, t, used=t not in hot, marks={}))
        if t in hot:
            parts.append(_tile(layout, t, *hot[t]))
        elif tile.kind != "switch":
            parts.append(tile_name(layout, t, middle=True))
    parts += [
        _link(layout, arch.resource_index[name], rank, _share(rank, len(marks)))
        for rank, name in enumerate(marks)
        if int(arch.kind[arch.resource_index[name]]) == Kind.LINK
    ]
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    body = [group(parts, transform=f"translate({_MARGIN:.0f} {_MARGIN:.0f})")]
    return document(width, height, body, name=f"congested places of {arch.name}", kind="array")


def _share(rank: int, count: int) -> float:
    """1 for the worst place, then less and less, never so little that it does not show."""
    return 1.0 - 0.75 * rank / max(1, count)


def _tiles(arch: Arch, marks: Sequence[str]) -> dict[int, tuple[list[int], list[str], float]]:
    """Tile -> ranks and names of its congested resources other than links, and its heat."""
    found: dict[int, tuple[list[int], list[str], float]] = {}
    for rank, name in enumerate(marks):
        resource = arch.resource_index[name]
        tile = int(arch.tile[resource])
        if tile >= 0 and int(arch.kind[resource]) != Kind.LINK:
            ranks, names, _ = found.setdefault(tile, ([], [], _share(rank, len(marks))))
            ranks.append(rank)
            names.append(name)
    return found


def _tile(layout: ArrayLayout, tile: int, ranks: list[int], names: list[str], share: float) -> str:
    """A congested tile: its colour, and the ranks of all its resources that signals competed for."""
    box = layout.boxes[tile]
    shape = element("rect", **rectangle(box), rx=8.0, fill=palette.heat_colour(share))
    text = heat_label(box.x, box.y + 4, ", ".join(str(rank + 1) for rank in ranks), share)
    return group([title(", ".join(names)), shape, text], class_="congested")


def _link(layout: ArrayLayout, link: int, rank: int, share: float) -> str:
    """A congested link as a broad line with its rank in a disc."""
    track = layout.track(link)
    colour = palette.heat_colour(share)
    x, y = (track.leave[0] + track.enter[0]) / 2, (track.leave[1] + track.enter[1]) / 2
    if track.shape == "wrap":
        # The two ends of a link over the edge are far apart: its number stands where it leaves.
        x, y = track.leave[0] + 14 * track.outward[0], track.leave[1] + 14 * track.outward[1]
    path = element("path", d=track.path, stroke=colour, stroke_width="6", stroke_linecap="round", fill="none")
    # On a large array, which is shown small, marks of the usual size cannot be read.
    half = max(9.0, layout.width / 90)
    disc = element("circle", cx=x, cy=y, r=half, fill=colour, stroke="#2b1203", stroke_width="0.8")
    number = element(
        "text", escape(rank + 1), x=x, y=y + 0.4 * half, font_size=f"{1.1 * half:.0f}", font_weight="600",
        text_anchor="middle", fill="#ffffff" if share > 0.6 else "#2b1203",
    )  # fmt: skip
    return group([title(layout.arch.resource_names[link]), path, disc, number], class_="congested")
