"""The tree of a partitioning as a picture: a circle for each graph that was examined, with its number of ops inside.

A grey graph is not mappable, a coloured one is in the chosen partition, a white one was examined and discarded. The
width is below the circle.

Leaves are placed from left to right in the order in which they occur, and a parent over the middle of its children: a
simple tree drawing that never crosses and may be wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gridloom.emit.picture.text import document, element, label

_STEP: Final = 64.0
_DROP: Final = 86.0
_RADIUS: Final = 20.0
_MARGIN: Final = 40.0


def svg_partition_tree(tree: Mapping[str, Any], name: str) -> str:
    """Return the picture of a tree record (``ops``, ``width``, ``chosen``, ``children``). Linear in its circles.

    ``tree`` is nested: each record has ``predicted_width`` as well, and its children have the same form. ``width`` is
    None for a graph that is not mappable.
    """
    places: list[tuple[Mapping[str, Any], float, int]] = []
    lines: list[tuple[float, int, float]] = []
    leaves = [0]

    def lay(record: Mapping[str, Any], depth: int) -> float:
        below = [lay(child, depth + 1) for child in record["children"]]
        if below:
            x = (below[0] + below[-1]) / 2
        else:
            x = _MARGIN + _RADIUS + _STEP * leaves[0]
            leaves[0] += 1
        lines.extend((x, depth, end) for end in below)
        places.append((record, x, depth))
        return x

    lay(tree, 0)
    deepest = max(depth for _, _, depth in places)
    width = 2 * (_MARGIN + _RADIUS) + _STEP * max(3, leaves[0] - 1)
    height = 2 * _MARGIN + 2 * _RADIUS + 50 + _DROP * deepest
    parts = [label(_MARGIN, 26, name, anchor="start", weight=600)]
    parts += [
        element("line", x1=x, y1=_y(depth), x2=end, y2=_y(depth + 1), stroke="#8a94a3", stroke_width=1.2)
        for x, depth, end in lines
    ]
    for record, x, depth in places:
        parts += _circle(record, x, _y(depth))
    return document(width, height, parts, name=name, kind="tree of parts")


def _y(depth: int) -> float:
    return _MARGIN + _RADIUS + 24 + _DROP * depth


def _circle(record: Mapping[str, Any], x: float, y: float) -> list[str]:
    """A graph of the tree: number of ops, width, and the predicted width where it differs."""
    missing = record["width"] is None
    fill = "#c3c9d2" if missing else "#63c586" if record["chosen"] else "none"
    said = "not mappable" if missing else f"w {record['width']}"
    if record["predicted_width"] != record["width"]:
        said += f" ({'-' if record['predicted_width'] is None else record['predicted_width']})"
    stroke = 2.4 if record["chosen"] else 1.2
    return [
        element("circle", cx=x, cy=y, r=_RADIUS, fill=fill, stroke="#66707e", stroke_width=stroke),
        label(x, y + 4, str(record["ops"]), weight=600 if record["chosen"] else 400),
        label(x, y + _RADIUS + 14, said, size=9.5),
    ]
