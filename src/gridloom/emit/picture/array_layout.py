"""Where the tiles and links of an array are in a picture.

Tiles are drawn in their rows and columns; the exceptions are here: hexagons with odd rows shifted right, rows of
``vpcma`` counted from the bottom, units of ``rdu`` between switches. A directed link keeps to the right of its channel,
so that both directions can be seen; links over two tiles run around the tile between; links over the edge of a torus
end in a ring at either side.

The layout asks for traits of the array (``hexagonal``, ``upward``, ``wraps``), never for its name. It knows nothing of
mappings: the same coordinates serve the picture of the array, of a mapping on it, and of a failed search.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final, NamedTuple

from gridloom.archs.model import Arch, Tile
from gridloom.emit.picture.geometry import Box, Point, line, right_of, round_corners, shift_point, spot, unit

HALF: Final = 42.0
CORE: Final = (28.0, 20.0)
_LANE: Final = 5.5
_LANE_STEP: Final = 4.0
_STUB: Final = 22.0
_JUMP_INSET: Final = 11.0
_JUMP_HEIGHT: Final = (8.0, 14.0)
_HEX_RADIUS: Final = HALF / math.cos(math.pi / 6)


class Track(NamedTuple):
    """The drawn path of one directed link."""

    #: The ports at which it leaves and enters a tile, and the outward direction at each.
    leave: Point
    enter: Point
    outward: Point
    inward: Point
    path: str
    #: ``step``: to a neighbour; ``jump``: around a tile; ``wrap``: over the edge; ``far``: anything else.
    shape: str


class ArrayLayout:
    """The boxes of tiles and the paths of links, in one coordinate system that starts at (0, 0).

    ``boxes`` and ``cores`` go by tile. ``width`` and ``height`` include the room for stubs and jumps at the rim.
    """

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        self._ends = {r: (a, b) for a, b, r in arch.links}
        jumps = any(self._span(a, b) == 2 for a, b in self._ends.values())
        self.gap = 52.0 if jumps else 36.0
        self.pitch = 2 * HALF + self.gap
        raw = [self._raw_box(tile) for tile in arch.tiles]
        pad = _STUB + 12 if arch.has("wraps") else 12.0
        # Jumps run outside the outermost tiles; wrap-around stubs need more room than they do, and no array has both.
        if jumps:
            pad = 20.0
        left = min(box.left for box in raw) - pad
        top = min(box.top for box in raw) - pad
        self.boxes = tuple(Box(b.x - left, b.y - top, b.half_width, b.half_height) for b in raw)
        self.width = max(box.right for box in self.boxes) + pad
        self.height = max(box.bottom for box in self.boxes) + pad

    # -- tiles ------------------------------------------------------------------------------------------------------

    def _raw_box(self, tile: Tile) -> Box:
        """The box of a tile before all are shifted to the origin."""
        x, y = tile.col * self.pitch, tile.row * self.pitch
        if self.arch.has("hexagonal"):
            y *= math.sqrt(3) / 2
            return Box(x + (self.pitch / 2 if tile.row % 2 else 0.0), y, HALF, _HEX_RADIUS)
        if self.arch.has("upward"):
            return self._upward_box(tile)
        if tile.kind == "switch":
            return Box(x - self.pitch / 2, y - self.pitch / 2, 7.0, 7.0)
        return Box(x, y, HALF, HALF)

    def _upward_box(self, tile: Tile) -> Box:
        """The box of a tile where rows count from the bottom.

        Memory ports are below the lowest row, constants left of their rows.
        """
        x, y = tile.col * self.pitch, (self.arch.rows - 1 - tile.row) * self.pitch
        floor = (self.arch.rows - 1) * self.pitch + HALF + 44
        if tile.kind == "load":
            return Box(x + 17, floor, 22.0, 18.0)
        if tile.kind == "store":
            return Box(x - 27, floor, 19.0, 18.0)
        if tile.kind == "const":
            return Box(x + 10 - (tile.col + 1) * (self.pitch - 76), y, 32.0, 16.0)
        return Box(x, y, HALF, HALF)

    @cached_property
    def cores(self) -> tuple[Box, ...]:
        """For each tile the box that a node fills."""
        return tuple(self._core(tile, box) for tile, box in zip(self.arch.tiles, self.boxes))

    def _core(self, tile: Tile, box: Box) -> Box:
        """The part of a tile that its node fills."""
        if tile.kind in ("load", "store", "const", "switch"):
            return box
        if self.arch.has("upward"):
            return Box(box.x + 6, box.y - 6, 30.0, 21.0)
        if tile.kind in ("cu", "mu", "dram"):
            return Box(box.x, box.y, 35.0, 24.0)
        if self.arch.has("wraps"):
            return Box(box.x, box.y - 5, CORE[0], CORE[1])
        return Box(box.x, box.y, *CORE)

    def hexagon(self, box: Box) -> str:
        """Return the corners of a hexagonal tile as text for ``polygon``."""
        corners = [
            (box.x + _HEX_RADIUS * math.sin(math.pi / 3 * k), box.y - _HEX_RADIUS * math.cos(math.pi / 3 * k))
            for k in range(6)
        ]
        return " ".join(spot(corner).replace(" ", ",") for corner in corners)

    # -- links ------------------------------------------------------------------------------------------------------

    def ends(self, link: int) -> tuple[int, int]:
        """Return the tiles that a LINK resource joins."""
        return self._ends[link]

    def _span(self, a: int, b: int) -> int:
        """2 for a link over one tile in a row or a column of an array without wrap-around, else 1."""
        source, target = self.arch.tiles[a], self.arch.tiles[b]
        if self.arch.has("wraps") or "switch" in (source.kind, target.kind):
            return 1
        dr, dc = target.row - source.row, target.col - source.col
        return 2 if sorted((abs(dr), abs(dc))) == [0, 2] else 1

    def track(self, link: int, lane: int = 0) -> Track:
        """Return the path of a link; signals that share it take a lane each.

        Lanes lie further and further to the right of the channel's middle, in the direction of travel. Jumps have one
        lane only: signals that share one are drawn over each other.
        """
        a, b = self._ends[link]
        source, target = self.boxes[a], self.boxes[b]
        if self._span(a, b) == 2:
            return self._jump(a, b)
        if self.arch.has("wraps") and self._wraps(a, b):
            return self._wrap(a, b, lane)
        along = unit((source.x, source.y), (target.x, target.y))
        offset = _LANE + _LANE_STEP * (lane + int(self.arch.position[link]) * self._is_channel(a, b))
        leave = shift_point(self._rim(a, along), right_of(along), offset)
        back = (-along[0], -along[1])
        enter = shift_point(self._rim(b, back), right_of(along), offset)
        # A diagonal neighbour is 1.41 pitches away, a tile in the next column but one is 2.
        near = math.dist((source.x, source.y), (target.x, target.y)) < 1.6 * self.pitch
        return Track(leave, enter, along, back, line(leave, enter), "step" if near else "far")

    def _is_channel(self, a: int, b: int) -> bool:
        """Whether a link joins two switches: such links come in parallel channels, told apart by their position."""
        tiles = self.arch.tiles
        return tiles[a].kind == "switch" and tiles[b].kind == "switch"

    def _rim(self, tile: int, direction: Point) -> Point:
        """Where a link in some direction leaves a tile."""
        box = self.boxes[tile]
        if self.arch.has("hexagonal"):
            return shift_point((box.x, box.y), direction, HALF)
        if self.arch.tiles[tile].kind != "switch" and abs(direction[0]) > 0.5 and abs(direction[1]) > 0.5:
            # A unit's corner, where its switch is.
            return box.x + math.copysign(HALF - 5, direction[0]), box.y + math.copysign(HALF - 5, direction[1])
        return box.rim(direction)

    def _wraps(self, a: int, b: int) -> bool:
        """Whether a link of a torus goes over the edge: its ends are not neighbours in the drawing."""
        source, target = self.arch.tiles[a], self.arch.tiles[b]
        return abs(source.row - target.row) > 1 or abs(source.col - target.col) > 1

    def _wrap(self, a: int, b: int, lane: int) -> Track:
        """A link over the edge of a torus: two stubs with a ring at the end of each."""
        source, target = self.arch.tiles[a], self.arch.tiles[b]
        dr, dc = target.row - source.row, target.col - source.col
        along = (-math.copysign(1.0, dc), 0.0) if dr == 0 else (0.0, -math.copysign(1.0, dr))
        back = (-along[0], -along[1])
        offset = _LANE + _LANE_STEP * lane
        leave = shift_point(self.boxes[a].rim(along), right_of(along), offset)
        enter = shift_point(self.boxes[b].rim(back), right_of(along), offset)
        stub, root = shift_point(leave, along, _STUB), shift_point(enter, back, _STUB)
        path = (
            line(leave, stub)
            + _ring(shift_point(stub, along, 3))
            + line(root, enter)
            + _ring(shift_point(root, back, 3))
        )
        return Track(leave, enter, along, back, path, "wrap")

    def _jump(self, a: int, b: int) -> Track:
        """A link over one tile, drawn around it; neighbouring jumps have different heights."""
        source, target = self.boxes[a], self.boxes[b]
        first, second = self.arch.tiles[a], self.arch.tiles[b]
        height = _JUMP_HEIGHT[(first.col if first.row == second.row else first.row) % 2]
        inset = _JUMP_INSET
        if first.row == second.row:
            east = second.col > first.col
            outward = (0.0, -1.0 if east else 1.0)
            leave = (source.right - inset, source.top) if east else (source.left + inset, source.bottom)
            enter = (target.left + inset, target.top) if east else (target.right - inset, target.bottom)
        else:
            south = second.row > first.row
            outward = (-1.0 if south else 1.0, 0.0)
            leave = (source.left, source.bottom - inset) if south else (source.right, source.top + inset)
            enter = (target.left, target.top + inset) if south else (target.right, target.bottom - inset)
        path = round_corners(
            [leave, shift_point(leave, outward, height), shift_point(enter, outward, height), enter], 7
        )
        return Track(leave, enter, outward, outward, path, "jump")


def _ring(centre: Point) -> str:
    return f"M{spot((centre[0] - 3, centre[1]))}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0"
