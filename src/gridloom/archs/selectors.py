"""The small language in which a description of an array says which tiles have something.

A *selector* is a layout name (``all``, ``none``, ``checkerboard``, ``columns``, ``borders``), ``{layout: [rows of # and
.]}``, ``{region: {rows: [first, last], cols: [first, last]}}``, ``{tiles: [[row, col], ...]}``, or a list of selectors
(their union).
A *number map* is one number for all tiles, ``{layout: [[n, ...], ...]}``, or a list of ``{where: selector, value: n}``,
later ones winning, the first of which may leave ``where`` out.

Masks and maps are indexed [row, col] from the top left of the grid. Every error begins with the key of the parameter
(``mul.region.rows``), from which ``gridloom.archs.spec`` finds the line of a YAML file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridloom.errors import ArchError

Mask = NDArray[np.bool_]

LAYOUTS: dict[str, Callable[[int, int, int, int], bool]] = {
    "all": lambda r, c, rows, cols: True,
    "none": lambda r, c, rows, cols: False,
    "checkerboard": lambda r, c, rows, cols: (r + c) % 2 == 0,
    "columns": lambda r, c, rows, cols: c % 2 == 0,
    "borders": lambda r, c, rows, cols: r in (0, rows - 1) or c in (0, cols - 1),
}
LAYOUTS["any"] = LAYOUTS["all"]
LAYOUTS["border"] = LAYOUTS["borders"]


def select(selector: Any, rows: int, cols: int, key: str) -> Mask:
    """Return the mask [row, col] of the tiles that a selector names; an ArchError about it begins with ``key``.

    >>> select("checkerboard", 2, 3, "mul").astype(int).tolist()
    [[1, 0, 1], [0, 1, 0]]
    >>> select([{"tiles": [[0, 0]]}, {"region": {"rows": [1, 1]}}], 2, 3, "mul").astype(int).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    if isinstance(selector, str) or selector is None:
        # An ARCH string's ``none`` is read as null.
        return _named(selector or "none", rows, cols, key)
    if isinstance(selector, list):
        mask = np.zeros((rows, cols), dtype=bool)
        for part in selector:
            mask |= select(part, rows, cols, key)
        return mask
    if isinstance(selector, dict) and len(selector) == 1:
        ((name, value),) = selector.items()
        if name == "layout":
            return _drawn(value, rows, cols, key)
        if name == "region":
            return _region(value, rows, cols, key)
        if name == "tiles":
            return _listed(value, rows, cols, key)
    raise ArchError(
        f"{key}: expected a layout name ({', '.join(LAYOUTS)}), 'layout', 'region', 'tiles' or a list of these, "
        f"found {selector!r}"
    )


def numbers(value: Any, rows: int, cols: int, key: str, default: int | None) -> list[list[int | None]]:
    """Return the number [row][col] that a number map gives each tile; None stands for 'no limit'.

    ``default`` is what tiles get that no entry of a list covers. ArchError for anything but numbers of at least 0.

    >>> numbers([{"value": 4}, {"where": "borders", "value": 1}], 3, 3, "fifo", None)
    [[1, 1, 1], [1, 4, 1], [1, 1, 1]]
    """
    if value is None or _is_count(value):
        return [[value] * cols for _ in range(rows)]
    if isinstance(value, dict) and set(value) == {"layout"}:
        return _number_layout(value["layout"], rows, cols, key)
    if isinstance(value, list):
        table: list[list[int | None]] = [[default] * cols for _ in range(rows)]
        for k, part in enumerate(value):
            if not isinstance(part, dict) or not {"value"} <= set(part) <= {"where", "value"}:
                raise ArchError(f"{key}.{k}: expected 'where' and 'value', found {part!r}")
            if part["value"] is not None and not _is_count(part["value"]):
                raise ArchError(f"{key}.{k}.value: expected a number of at least 0, found {part['value']!r}")
            for r, c in np.argwhere(select(part.get("where", "all"), rows, cols, f"{key}.{k}.where")):
                table[r][c] = part["value"]
        return table
    raise ArchError(f"{key}: expected a number, 'layout' or a list of where/value, found {value!r}")


def _is_count(value: Any) -> bool:
    """Return whether a value is a number of at least 0; True and False, which Python counts as numbers, are not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _named(name: str, rows: int, cols: int, key: str) -> Mask:
    """Return the mask of a layout that has a name."""
    if name not in LAYOUTS:
        raise ArchError(f"{key}: no layout is called {name!r}; known: {', '.join(LAYOUTS)}")
    rule = LAYOUTS[name]
    return np.array([[rule(r, c, rows, cols) for c in range(cols)] for r in range(rows)], dtype=bool)


def _drawn(lines: Any, rows: int, cols: int, key: str) -> Mask:
    """Return the mask of a layout that is drawn, row by row, with ``#`` for the tiles that are selected."""
    good = isinstance(lines, list) and len(lines) == rows
    if not good or any(not isinstance(line, str) or len(line) != cols or set(line) - set("#.") for line in lines):
        raise ArchError(f"{key}.layout: expected {rows} strings of {cols} characters, '#' or '.', found {lines!r}")
    return np.array([[mark == "#" for mark in line] for line in lines], dtype=bool)


def _region(value: Any, rows: int, cols: int, key: str) -> Mask:
    """Return the mask of a rectangle of rows and columns."""
    mask = np.zeros((rows, cols), dtype=bool)
    bounds = {"rows": (0, rows - 1), "cols": (0, cols - 1)}
    if not isinstance(value, dict) or set(value) - set(bounds):
        raise ArchError(f"{key}.region: expected 'rows' and 'cols', found {value!r}")
    for name, (low, high) in list(bounds.items()):
        span = value.get(name, [low, high])
        good = isinstance(span, list) and len(span) == 2 and all(_is_count(n) for n in span)
        if not good or not low <= span[0] <= span[1] <= high:
            raise ArchError(f"{key}.region.{name}: expected [first, last] within {low}..{high}, found {span!r}")
        bounds[name] = (span[0], span[1])
    mask[bounds["rows"][0] : bounds["rows"][1] + 1, bounds["cols"][0] : bounds["cols"][1] + 1] = True
    return mask


def _listed(tiles: Any, rows: int, cols: int, key: str) -> Mask:
    """Return the mask of tiles that are listed one by one."""
    mask = np.zeros((rows, cols), dtype=bool)
    if not isinstance(tiles, list):
        raise ArchError(f"{key}.tiles: expected a list of [row, col], found {tiles!r}")
    for pair in tiles:
        good = isinstance(pair, list | tuple) and len(pair) == 2 and all(_is_count(n) for n in pair)
        if not good or pair[0] >= rows or pair[1] >= cols:
            raise ArchError(f"{key}.tiles: expected [row, col] within {rows} x {cols}, found {pair!r}")
        mask[pair[0], pair[1]] = True
    return mask


def _number_layout(lines: Any, rows: int, cols: int, key: str) -> list[list[int | None]]:
    """Return the numbers of a map that gives one for each tile."""
    good = isinstance(lines, list) and len(lines) == rows
    if not good or any(not isinstance(line, list) or len(line) != cols for line in lines):
        raise ArchError(f"{key}.layout: expected {rows} lists of {cols} numbers, found {lines!r}")
    for line in lines:
        for number in line:
            if number is not None and not _is_count(number):
                raise ArchError(f"{key}.layout: expected numbers of at least 0, found {number!r}")
    return [list(line) for line in lines]
