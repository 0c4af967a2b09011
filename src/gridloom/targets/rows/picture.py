"""Wires of ``vpcma``: links between ALUs go from the top of an ALU to the bottom of one in the row above.

All other routes pass the outputs N, E, S, W of switching elements, drawn as a ring along the left and lower side of a
tile.

The array has no LINK resources: an ALU's output is read directly by ALUs of the row above, and a switching element
(SWITCH resources named ``n``, ``e``, ``s``, ``w``) hands values on from tile to tile. So each resource gets an anchor,
a fixed point at its tile, and a wire goes from anchor to anchor. ``wires`` does the same job for arrays with links.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gridloom.archs.model import Kind
from gridloom.emit.details import Details, Way
from gridloom.emit.picture import palette
from gridloom.emit.picture.array_layout import ArrayLayout
from gridloom.emit.picture.geometry import Point, curve, line, spot
from gridloom.emit.picture.text import element
from gridloom.emit.picture.wires import Badge, WirePiece

_N_LANE: Final = 8.0
_S_LANE: Final = 15.0
_E_LANE: Final = 8.0
_W_LANE: Final = 15.0


class Anchors:
    """The points that stand for the resources of a PE, and the paths between them.

    Anchors depend on the layout alone. Values that share a resource share its anchor and are drawn over each other.
    """

    def __init__(self, layout: ArrayLayout) -> None:
        self.layout = layout
        self.arch = layout.arch

    def side(self, resource: int) -> str:
        """Return the last word of a resource's name: ``n``, ``out``, ``in0``."""
        return self.arch.resource_names[resource].rpartition(".")[2]

    def point(self, resource: int) -> Point:
        """Return where a resource is drawn.

        Operand inputs are at the lower side of the ALU, its result at the upper side; switch outputs are on the tile's
        rim, each direction in a lane of its own, so that opposite directions do not cover each other.
        """
        tile = int(self.arch.tile[resource])
        box, core = self.layout.boxes[tile], self.layout.cores[tile]
        kind = self.arch.kind[resource]
        if kind == Kind.IN and self.arch.tiles[tile].kind != "store":
            return core.x + (-12, 12)[int(self.arch.position[resource]) % 2], core.bottom
        if kind == Kind.SWITCH:
            return {
                "n": (box.left + _N_LANE, box.top),
                "s": (box.left + _S_LANE, box.bottom),
                "e": (box.right, box.bottom - _E_LANE),
                "w": (box.left, box.bottom - _W_LANE),
            }[self.side(resource)]
        return core.x, core.top

    def straight(self, before: int, resource: int) -> bool:
        """Return True for two resources on one horizontal or vertical line."""
        start, end = self.point(before), self.point(resource)
        return abs(start[0] - end[0]) < 0.5 or abs(start[1] - end[1]) < 0.5

    def path(self, before: int, resource: int) -> str:
        """Return the path from one resource to the next; empty inside the ALU.

        The shape depends on where the wire comes from: straight where both anchors are on a line, else a curve that
        leaves the output in its own direction.
        """
        arch = self.arch
        start, end = self.point(before), self.point(resource)
        if arch.kind[resource] in (Kind.FU, Kind.OUT):
            return ""
        if arch.tile[before] == arch.tile[resource]:
            return self._from_own_output(resource)
        if self.straight(before, resource):
            return line(start, end)
        side = self.side(before)
        if side in ("e", "w"):
            return self._from_side(start, end, 1 if side == "e" else -1, resource)
        if side == "s":
            return curve(start, (start[0], start[1] + 16), (end[0], end[1] - 16), end)
        return self._upwards(start, end, resource)

    def _from_side(self, start: Point, end: Point, sense: int, resource: int) -> str:
        """From an east or west output to an operand or to a switch output of the next column."""
        if self.arch.kind[resource] == Kind.IN:
            return curve(start, (start[0] + 22 * sense, start[1]), (end[0], end[1] + 12), end)
        lower = 14 if self.side(resource) == "n" else -14
        return curve(start, (start[0] + 12 * sense, start[1]), (end[0], end[1] + lower), end)

    def _upwards(self, start: Point, end: Point, resource: int) -> str:
        """From an output to the row above: an operand, or an output of the switching element there."""
        if self.arch.kind[resource] != Kind.SWITCH:
            return curve(start, (start[0], start[1] - 18), (end[0], end[1] + 18), end)
        box = self.layout.boxes[int(self.arch.tile[resource])]
        side = self.side(resource)
        if side == "n":
            foot = (end[0], box.bottom)
            return curve(start, (start[0], start[1] - 14), (foot[0], foot[1] + 14), foot) + "L" + spot(end)
        reach = -24 if side == "e" else 24
        return curve(start, (start[0], start[1] - 16), (end[0] + reach, end[1]), end)

    def _from_own_output(self, resource: int) -> str:
        """From an ALU to the outputs of its own switching element."""
        core = self.layout.cores[int(self.arch.tile[resource])]
        end = self.point(resource)
        side = self.side(resource)
        if side == "n":
            return curve((core.left + 6, core.top), (core.left + 4, core.top - 8), (end[0], end[1] + 14), end)
        if side == "e":
            return curve((core.right - 6, core.bottom), (core.right - 6, core.bottom + 12), (end[0] - 12, end[1]), end)
        return curve((core.left, core.y + 8), (core.left - 8, core.y + 8), (end[0], end[1] - 20), end)


class VpcmaWiring:
    """Wires from anchor to anchor; constants are marks at the operand, since every PE of a row can read them."""

    def __init__(self, details: Details, layout: ArrayLayout) -> None:
        self.details = details
        self.arch = details.arch
        self.anchors = Anchors(layout)

    def pieces(self, way: Way) -> Iterable[WirePiece]:
        """Yield one piece from each hop to the next, the first from the producer's output."""
        before = self.arch.resource_index.get(f"{way.source.place}.out", -1)
        for resource, cycle in way.hops:
            wired = before not in (-1, resource) and self.arch.kind[before] != Kind.CONST
            path = self.anchors.path(before, resource) if wired else ""
            if path:
                # Only the end at an operand has an arrow: one at every switch output would be clutter.
                head = bool(self.arch.kind[resource] == Kind.IN)
                yield WirePiece(path, way.signal, resource, (cycle,), (way.route.edge,), head)
            before = resource

    def badges(self, way: Way) -> Iterable[Badge]:
        """Yield the constant where it enters the array, and the wait of an operand."""
        if not way.hops:
            return
        entries = [(resource, cycle) for resource, cycle in way.hops if self.arch.kind[resource] != Kind.CONST]
        first, cycle = (entries or way.hops)[0]
        tile = self.arch.tile_index.get(way.source.place, -1)
        if tile >= 0 and self.arch.tiles[tile].kind == "const":
            text = self.details.caption(way.source.node)
            x, y = self.anchors.point(first)
            yield Badge((x, y + 10), text, "constant", way.signal, way.route.edge, cycle)
        if way.route.fifo:
            point = self.anchors.point(way.hops[-1][0])
            yield Badge(point, str(way.route.fifo), "fifo", way.signal, way.route.edge, cycle)


def plain_links(layout: ArrayLayout, *, strong: bool = False) -> list[str]:
    """Return the array's own wires, pale under those of a mapping: ALU links, and the chains of switch outputs.

    All paths are one element. Only arcs to the first operand are drawn, since the second has the same sources.
    """
    arch = layout.arch
    anchors = Anchors(layout)
    paths: dict[str, None] = {}
    for a, b in zip(arch.arc_source.tolist(), arch.arc_target.tolist()):
        if arch.tile[a] == arch.tile[b] or arch.kind[a] == Kind.CONST:
            continue
        if arch.kind[a] == Kind.OUT and arch.kind[b] == Kind.IN and arch.position[b] == 0:
            first, second = layout.cores[arch.tile[a]], layout.cores[arch.tile[b]]
            paths[line((first.x, first.top), (second.x, second.bottom))] = None
        elif arch.kind[a] == Kind.SWITCH and anchors.straight(a, b):
            paths[line(anchors.point(a), anchors.point(b))] = None
    kind = "line" if strong else "road"
    width = "1.1" if strong else "1.6"
    return [
        element("path", class_=kind, d="".join(paths), stroke=palette.surface(kind), stroke_width=width, fill="none")
    ]


class RowWires:
    """What a picture of such arrays draws in place of the links of a grid."""

    wiring = VpcmaWiring
    links = staticmethod(plain_links)
