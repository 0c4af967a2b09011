"""Points, boxes and path texts for pictures.

A point is an (x, y) pair in pixels, a direction a pair of length 1; y grows downwards, so *right of* a direction is
what a reader of the picture sees at its right. Path texts are the values of SVG's ``d`` attribute, with numbers rounded
as :func:`~gridloom.emit.picture.text.number` does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from gridloom.emit.picture.text import number

Point = tuple[float, float]


class Box(NamedTuple):
    """A rectangle by centre and half sizes."""

    x: float
    y: float
    half_width: float
    half_height: float

    @property
    def left(self) -> float:
        """The x of the left side."""
        return self.x - self.half_width

    @property
    def right(self) -> float:
        """The x of the right side."""
        return self.x + self.half_width

    @property
    def top(self) -> float:
        """The y of the upper side."""
        return self.y - self.half_height

    @property
    def bottom(self) -> float:
        """The y of the lower side."""
        return self.y + self.half_height

    def rim(self, direction: Point) -> Point:
        """Return where a ray from the centre leaves the rectangle.

        The direction need not have length 1, but must not be (0, 0).

        >>> Box(10.0, 10.0, 4.0, 2.0).rim((1.0, 0.0))
        (14.0, 10.0)
        """
        dx, dy = direction
        reach = min(
            self.half_width / abs(dx) if abs(dx) > 1e-9 else math.inf,
            self.half_height / abs(dy) if abs(dy) > 1e-9 else math.inf,
        )
        return self.x + dx * reach, self.y + dy * reach


def unit(start: Point, end: Point) -> Point:
    """Return the direction from one point to another, of length 1; (1, 0) when they coincide.

    >>> unit((0.0, 0.0), (0.0, 5.0)), unit((2.0, 2.0), (2.0, 2.0))
    ((0.0, 1.0), (1.0, 0.0))
    """
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    return (dx / length, dy / length) if length > 1e-9 else (1.0, 0.0)


def right_of(direction: Point) -> Point:
    """Return the direction to the right of a direction (y grows downwards).

    >>> right_of((0.0, 1.0))
    (-1.0, 0.0)
    """
    return -direction[1], direction[0]


def shift_point(point: Point, direction: Point, length: float) -> Point:
    """Return a point shifted along a direction."""
    return point[0] + direction[0] * length, point[1] + direction[1] * length


def spot(point: Point) -> str:
    """Return a point as path text."""
    return f"{number(point[0])} {number(point[1])}"


def line(*points: Point) -> str:
    """Return a path of straight lines.

    >>> line((0, 0), (10, 2.25))
    'M0 0L10 2.2'
    """
    return "M" + "L".join(spot(p) for p in points)


def curve(start: Point, first: Point, second: Point, end: Point) -> str:
    """Return a path that is one cubic Bézier curve.

    ``first`` and ``second`` are the control points: the curve leaves ``start`` towards the one and reaches ``end`` from
    the other.
    """
    return f"M{spot(start)}C{spot(first)} {spot(second)} {spot(end)}"


def round_corners(points: Sequence[Point], radius: float) -> str:
    """Return a path of straight lines whose corners are rounded.

    ``radius`` is cut down where a leg is shorter than twice as long. It needs at least two points.

    >>> round_corners([(0, 0), (10, 0), (10, 10)], 4)
    'M0 0L6 0Q10 0 10 4L10 10'
    """
    text = "M" + spot(points[0])
    for before, corner, after in zip(points, points[1:], points[2:]):
        reach = min(radius, math.dist(before, corner) / 2, math.dist(corner, after) / 2)
        entry = shift_point(corner, unit(corner, before), reach)
        leave = shift_point(corner, unit(corner, after), reach)
        text += f"L{spot(entry)}Q{spot(corner)} {spot(leave)}"
    return text + "L" + spot(points[-1])


def smooth(points: Sequence[Point]) -> str:
    """Return a curve through points that go down (or up) throughout; it is vertical at each of them.

    >>> smooth([(0, 0), (10, 20)])
    'M0 0C0 10 10 10 10 20'
    """
    text = "M" + spot(points[0])
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        text += f"C{spot((x0, middle))} {spot((x1, middle))} {spot((x1, y1))}"
    return text
