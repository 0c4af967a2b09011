"""From routes to drawn pieces: out of a tile, along a link, through a tile, into an operand.

A piece stands for one resource of the array and carries the cycles at which the signal is in it. Branches of a fan-out
share their first pieces: equal pieces of one signal are drawn once.

A family of arrays brings a :class:`Wiring`, which turns a route into pieces and badges; ``array`` merges and draws
them. ``LinkWiring`` here serves all arrays with LINK resources; targets declare others (hooks ``wires`` and
``pictures``). Paths are compared as texts: two pieces are equal when their rounded coordinates are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from gridloom.archs.model import Kind
from gridloom.emit.details import Details, Way
from gridloom.emit.picture.array_layout import ArrayLayout, Track
from gridloom.emit.picture.geometry import Box, Point, curve, line, right_of, round_corners, shift_point, spot, unit


class WirePiece(NamedTuple):
    """A part of a drawn wire.

    ``cycles`` and ``edges`` have one entry as a wiring yields it, and several after :func:`merge_pieces`.
    """

    path: str
    signal: int
    resource: int
    #: The flat cycles at which the signal is there, and the edges that it serves.
    cycles: tuple[int, ...]
    edges: tuple[int, ...]
    #: Whether it ends in an arrow at an operand.
    head: bool = False


class Badge(NamedTuple):
    """A mark where an operand is read: the cycles it waits, or the register or constant it comes from."""

    point: Point
    text: str
    #: ``fifo``, ``register`` or ``constant``.
    kind: str
    signal: int
    edge: int
    cycle: int


class Wiring(Protocol):
    """How a family turns one route into pieces and badges.

    An implementation is made for one mapping and one layout. Both methods are called once per route, in the order of
    the routes; the order of their results is the order of drawing.
    """

    def pieces(self, way: Way) -> Iterable[WirePiece]:
        """Return the pieces of a route."""

    def badges(self, way: Way) -> Iterable[Badge]:
        """Return the marks at its operand."""


def merge_pieces(pieces: Iterable[WirePiece]) -> list[WirePiece]:
    """Return the pieces in first-seen order, equal ones of a signal merged into one with all their cycles and edges.

    Linear in the pieces.

    >>> trunk = WirePiece("M0 0L5 0", signal=2, resource=7, cycles=(1,), edges=(0,))
    >>> merge_pieces([trunk, trunk._replace(edges=(3,)), trunk._replace(signal=4)])[0].edges
    (0, 3)
    """
    table: dict[tuple[str, int, bool], WirePiece] = {}
    for piece in pieces:
        key = (piece.path, piece.signal, piece.head)
        known = table.get(key)
        if known is None:
            table[key] = piece
        else:
            cycles = tuple(sorted({*known.cycles, *piece.cycles}))
            edges = tuple(sorted({*known.edges, *piece.edges}))
            table[key] = WirePiece(piece.path, piece.signal, known.resource, cycles, edges, piece.head)
    return list(table.values())


def clamp(point: Point, box: Box, inset: float = 5.0) -> Point:
    """Return the point of a box that is nearest to a point, kept away from the corners.

    It is where a wire that comes from ``point`` meets the node's box.

    >>> clamp((30.0, 2.0), Box(0.0, 0.0, 20.0, 10.0))
    (20.0, 2.0)
    """
    x = min(max(point[0], box.left), box.right)
    y = min(max(point[1], box.top), box.bottom)
    if abs(point[0] - box.x) / box.half_width >= abs(point[1] - box.y) / box.half_height:
        return x, min(max(y, box.top + inset), box.bottom - inset)
    return min(max(x, box.left + inset), box.right - inset), y


class LinkWiring:
    """Wires of arrays whose tiles are joined by LINK resources.

    Inside a tile wires are drawn around the node: from the output, or from the link that came in, to the port of the
    next link. A value that goes through a register is drawn as a write and a read of the register's square.
    """

    def __init__(self, details: Details, layout: ArrayLayout) -> None:
        self.details = details
        self.layout = layout
        self.arch = details.arch
        self.lanes = self._lanes()

    def _lanes(self) -> dict[tuple[int, int, int], int]:
        """(link, signal, slot) -> lane: signals that are on the same wire (or parallel channels) lie side by side.

        Lanes are given per slot, since panels of different slots are never drawn over each other.
        """
        crowd: dict[tuple[tuple[int, int], int], list[tuple[int, int]]] = {}
        for resource, rows in self.details.uses.items():
            if self.arch.kind[resource] == Kind.LINK:
                for signal, cycle, _ in rows:
                    key = (self.layout.ends(resource), cycle % self.details.ii)
                    if (resource, signal) not in crowd.setdefault(key, []):
                        crowd[key].append((resource, signal))
        return {(*member, key[1]): k for key, members in crowd.items() for k, member in enumerate(members)}

    def _track(self, link: int, cycle: int, signal: int) -> Track:
        return self.layout.track(link, self.lanes[link, signal, cycle % self.details.ii])

    def pieces(self, way: Way) -> Iterable[WirePiece]:
        """Yield the pieces of a route, in the order of its hops.

        ``before`` and ``track`` remember the last resource and, while the route follows links without a stop, the last
        link: a route that goes straight on is joined inside the tile, one that came out of a unit or a register starts
        there.
        """
        before = -1
        track: Track | None = None
        for resource, cycle in way.hops:
            kind = self.arch.kind[resource]
            drawn: list[tuple[str, bool]] = []
            # Ports and buses have no place of their own: what goes through them is drawn from where it comes.
            if kind == Kind.SWITCH:
                continue
            if kind == Kind.LINK:
                following = self._track(resource, cycle, way.signal)
                tile = self.layout.ends(resource)[0]
                drawn.append((self._join(tile, track, following), False))
                drawn.append((following.path, False))
                track = following
            elif kind == Kind.IN:
                path = self._arrival(resource, before, track)
                if path:
                    drawn.append((path, True))
            elif kind == Kind.REG and before >= 0 and self.arch.kind[before] != Kind.REG:
                path = self._write(resource)
                if path:
                    drawn.append((path, False))
            if kind not in (Kind.LINK,):
                track = None
            for path, head in drawn:
                yield WirePiece(path, way.signal, resource, (cycle,), (way.route.edge,), head)
            before = resource

    def badges(self, way: Way) -> Iterable[Badge]:
        """Yield the wait of the operand, and the register it is read from where no wire shows it."""
        hops = [hop for hop in way.hops if self.arch.kind[hop[0]] != Kind.SWITCH]
        if not hops:
            return
        resource, cycle = hops[-1]
        tile = int(self.arch.tile[resource])
        core = self.layout.cores[tile]
        previous = hops[-2] if len(hops) > 1 else (-1, 0)
        point = (core.x, core.bottom)
        if previous[0] >= 0 and self.arch.kind[previous[0]] == Kind.LINK:
            enter = self._track(previous[0], previous[1], way.signal).enter
            point = shift_point(enter, unit(enter, clamp(enter, core)), 1.0)
        if way.route.fifo:
            yield Badge(point, str(way.route.fifo), "fifo", way.signal, way.route.edge, cycle)
        if previous[0] >= 0 and self.arch.kind[previous[0]] == Kind.REG and self.arch.tile[previous[0]] < 0:
            name = self.arch.resource_names[previous[0]].rpartition(".")[2]
            spot_x = core.left + 10 + 18 * int(self.arch.position[resource])
            yield Badge((spot_x, core.bottom), name, "register", way.signal, way.route.edge, cycle)

    # -- wires within a tile ------------------------------------------------------------------------------------------

    def _join(self, tile: int, before: Track | None, after: Track) -> str:
        """From the tile's output, or from the link that came in, to the port of the next link."""
        if before is None:
            if self.arch.has("wraps"):
                return self._from_output_register(tile, after)
            return line(clamp(after.leave, self.layout.cores[tile]), after.leave)
        if self.arch.tiles[tile].kind == "switch":
            return line(before.enter, after.leave)
        return around(self.layout.cores[tile], before.enter, before.inward, after.leave, after.outward)

    def _from_output_register(self, tile: int, after: Track) -> str:
        """From the output register of a torus tile around the node to a port.

        There are four ways, by the side at which the link leaves; all of them keep to the ring between the node and the
        rim of the tile.
        """
        box, core = self.layout.boxes[tile], self.layout.cores[tile]
        start = output_register(box)
        goal = after.leave
        east, ring_y, north = box.right - 7, core.bottom + 6, box.top + 7
        if after.outward[0] > 0.5:
            corners: list[Point] = [(start[0], goal[1])]
        elif after.outward[1] > 0.5:
            corners = [(start[0], ring_y), (goal[0], ring_y)]
        elif after.outward[0] < -0.5:
            corners = [(start[0], ring_y), (box.left + 7, ring_y), (box.left + 7, goal[1])]
        else:
            corners = [(start[0], ring_y), (east, ring_y), (east, north), (goal[0], north)]
        return round_corners([start, *corners, goal], 4)

    def _arrival(self, resource: int, before: int, track: Track | None) -> str:
        """The last piece of a route, into an operand: from a link, a register, the tile's own output, or over a bus.

        Empty where nothing is to be drawn: the operand comes from the central register file, which a badge names
        instead.
        """
        tile = int(self.arch.tile[resource])
        core = self.layout.cores[tile]
        if track is not None:
            return line(track.enter, clamp(track.enter, core))
        if before >= 0 and self.arch.kind[before] == Kind.OUT and self.arch.tile[before] != tile:
            other = self.layout.cores[self.arch.tile[before]]
            return line(clamp((core.x, core.y), other), clamp((other.x, other.y), core))
        if before < 0 or self.arch.tile[before] != tile:
            return ""
        if self.arch.kind[before] == Kind.REG:
            start = register_square(self.layout.boxes[tile], int(self.arch.position[before]), self._registers(tile))
            return line((start[0], start[1] - 3), (min(max(start[0], core.left + 5), core.right - 5), core.bottom))
        if self.arch.has("wraps"):
            start = output_register(self.layout.boxes[tile])
            return round_corners(
                [start, (start[0], core.bottom + 6), (core.right - 8, core.bottom + 6), (core.right - 8, core.bottom)],
                4,
            )
        right = core.right
        return f"M{spot((right, core.y - 7))}c16 -4 16 18 0 14"

    def _write(self, resource: int) -> str:
        """From the function unit into a register of the tile's own file."""
        tile = int(self.arch.tile[resource])
        if tile < 0:
            return ""
        end = register_square(self.layout.boxes[tile], int(self.arch.position[resource]), self._registers(tile))
        core = self.layout.cores[tile]
        return line((end[0], core.bottom), (end[0], end[1] - 3))

    def _registers(self, tile: int) -> int:
        return register_count(self.layout, tile)


def around(core: Box, entry: Point, entry_side: Point, leave: Point, leave_side: Point) -> str:
    """Return a curve from one port of a tile to another that does not touch the node in its middle.

    The sides are outward directions. Where the direct curve would touch the node, a turn goes around the corner between
    the sides, and a straight passage keeps to the right.
    """
    # The control points lie inside the tile, so that the curve leaves both ports at right angles.
    reach = min(16.0, math.dist(entry, leave) / 2.5)
    first, second = shift_point(entry, entry_side, -reach), shift_point(leave, leave_side, -reach)
    if not _touches(core, entry, first, second, leave):
        return curve(entry, first, second, leave)
    mx, my = entry_side[0] + leave_side[0], entry_side[1] + leave_side[1]
    if abs(mx) + abs(my) < 0.2:
        mx, my = entry_side[1], -entry_side[0]
    ring = Box(core.x, core.y, core.half_width + 7.5, core.half_height + 7.5)
    top = ring.rim((mx, my))
    along = right_of(unit((0.0, 0.0), (mx, my)))
    if (leave[0] - entry[0]) * along[0] + (leave[1] - entry[1]) * along[1] < 0:
        along = (-along[0], -along[1])
    swing = (0.5 * math.dist(entry, top), 0.5 * math.dist(top, leave))
    return (
        f"M{spot(entry)}C{spot(shift_point(entry, entry_side, -4))} "
        f"{spot(shift_point(top, along, -swing[0]))} {spot(top)}"
        f"C{spot(shift_point(top, along, swing[1]))} {spot(shift_point(leave, leave_side, -4))} {spot(leave)}"
    )


def _touches(core: Box, start: Point, first: Point, second: Point, end: Point) -> bool:
    """Whether a cubic curve comes within three units of a box.

    The curve is sampled at 15 points, which is enough for curves of this size.
    """
    for k in range(1, 16):
        t, u = k / 16, 1 - k / 16
        x, y = (u**3 * start[i] + 3 * u * u * t * first[i] + 3 * u * t * t * second[i] + t**3 * end[i] for i in (0, 1))
        if abs(x - core.x) < core.half_width + 3 and abs(y - core.y) < core.half_height + 3:
            return True
    return False


def output_register(box: Box) -> Point:
    """Return where the output register of a modulo-scheduled tile is drawn."""
    return box.right - 9, box.bottom - 9


def register_square(box: Box, position: int, count: int) -> Point:
    """Return where a local register is drawn."""
    return box.left + 10 + position * min(10.0, 56 / max(1, count)), box.bottom - 9


def register_count(layout: ArrayLayout, tile: int) -> int:
    """Return how many registers a tile's own register file has."""
    name = layout.arch.tiles[tile].name
    return next((len(file.registers) for file in layout.arch.register_files if file.name == name), 0)
