"""From a set of tiles to the selector that a person would write for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridloom.archs.described.draft import Cell
from gridloom.archs.described.places import mask

_NAMES = ("all", "borders", "inner", "corners", "checkerboard", "columns")
#: Sets of more tiles are drawn; smaller ones are listed.
_LISTED = 4


def selector(cells: list[Cell], rows: int, cols: int) -> Any:
    """Return a short selector of exactly these tiles: a name, a tile, a rectangle, what is left of one, a drawing.

    >>> selector([(0, 1), (1, 1), (2, 1)], 3, 4), selector([(2, 3)], 3, 4)
    ({'col': 1}, [2, 3])
    """
    wanted = np.zeros((rows, cols), dtype=bool)
    for row, col in cells:
        wanted[row, col] = True
    if len(cells) == 1 and rows * cols > 1:
        return list(cells[0])
    for name in _NAMES:
        if (mask(name, rows, cols, "") == wanted).all():
            return name
    inside = _rectangle(wanted)
    if inside is not None:
        return inside
    outside = _rectangle(~wanted)
    if outside is not None:
        return {"not": outside}
    if len(cells) <= _LISTED:
        return {"tiles": [list(cell) for cell in cells]}
    return {"layout": ["".join("#" if mark else "." for mark in row) for row in wanted.tolist()]}


def _rectangle(wanted: Any) -> dict[str, Any] | None:
    """Return the selector of a rectangle; None where the tiles are none."""
    rows, cols = np.flatnonzero(wanted.any(axis=1)), np.flatnonzero(wanted.any(axis=0))
    if not len(rows):
        return None
    (top, bottom), (left, right) = (rows[0], rows[-1]), (cols[0], cols[-1])
    if not wanted[top : bottom + 1, left : right + 1].all() or wanted.sum() != len(rows) * len(cols):
        return None
    spans: dict[str, Any] = {}
    for name, first, last, count in (("row", top, bottom, wanted.shape[0]), ("col", left, right, wanted.shape[1])):
        if first == last:
            spans[name] = int(first)
        elif (first, last) != (0, count - 1):
            spans[f"{name}s"] = [int(first), int(last)]
    if len(spans) > 1:
        # Two sides are written in the plural: {rows: 0, cols: [2, 3]}.
        return {f"{name[:3]}s": span for name, span in spans.items()}
    return spans
