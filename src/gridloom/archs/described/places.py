"""Which tiles an entry of a description is about: the selectors of every array, and shorter ways to write them.

======================================  ==================================================================
``[2, 3]``                              the tile in row 2, column 3
``{row: 0}``, ``{col: 5}``              one row, one column
``{rows: [1, 4], cols: [2, 3]}``        a rectangle; a missing side means all of it, a number stands for one
``inner``, ``corners``                  all tiles but the border; the four corners
``{not: selector}``                     all other tiles
``{both: [selector, selector]}``        the tiles that every selector names
======================================  ==================================================================

Everything that :mod:`gridloom.archs.selectors` reads is taken, too, also inside of lists.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, PlainValidator, ValidationInfo, WithJsonSchema

from gridloom.archs.described.draft import ArrayDraft, Cell
from gridloom.archs.described.keys import refuse
from gridloom.archs.selectors import LAYOUTS, Mask, select
from gridloom.errors import ArchError

_FORMS = "layout", "region", "tiles", "rows", "cols", "row", "col", "not", "both"


def _choose(value: Any, info: ValidationInfo[ArrayDraft]) -> list[Cell]:
    """Return the places that a selector names on the array that is described."""
    try:
        return places(value, info.context.rows, info.context.cols, "")
    except ArchError as error:
        key, _, text = error.message.partition(": ")
        raise refuse(text, *(int(part) if part.isdecimal() else part for part in key.split(".")[1:])) from None


#: A selector as a field of an entry, and the field of an entry that is about all tiles unless it says otherwise.
Places = Annotated[list[Cell], PlainValidator(_choose), WithJsonSchema({"format": "selector"})]
ALL: Any = Field("all", validate_default=True)


def places(value: Any, rows: int, cols: int, key: str) -> list[Cell]:
    """Return the places that a selector names, row by row; ArchError where it names none, or none that there are.

    >>> places([{"row": 0}, [1, 1]], 2, 2, "tiles.0.where")
    [(0, 0), (0, 1), (1, 1)]
    """
    found = [(int(r), int(c)) for r, c in np.argwhere(mask(value, rows, cols, key))]
    if not found:
        raise ArchError(f"{key}: {value!r} selects no tile of {rows} x {cols}")
    return found


def mask(value: Any, rows: int, cols: int, key: str) -> Mask:
    """Return the mask [row, col] of the tiles that a selector names; an ArchError about it begins with ``key``."""
    if isinstance(value, list | tuple):
        return _several(list(value), rows, cols, key)
    if isinstance(value, dict):
        return _form(value, rows, cols, key)
    if value in ("inner", "corners"):
        border = select("borders", rows, cols, key)
        return ~border if value == "inner" else _corners(rows, cols)
    if not isinstance(value, str) or value not in LAYOUTS:
        names = ", ".join([*LAYOUTS, "inner", "corners"])
        raise ArchError(f"{key}: expected a layout name ({names}), [row, col], or one of {', '.join(_FORMS)}, "
                        f"found {value!r}")  # fmt: skip
    return select(value, rows, cols, key)


def _several(parts: list[Any], rows: int, cols: int, key: str) -> Mask:
    """Return the mask of one tile, written as two numbers, or of the union of several selectors."""
    if len(parts) == 2 and all(isinstance(part, int) and not isinstance(part, bool) for part in parts):
        row, col = parts
        if not (0 <= row < rows and 0 <= col < cols):
            raise ArchError(f"{key}: tile [{row}, {col}] is outside of {rows} x {cols} (rows 0 to {rows - 1}, "
                            f"columns 0 to {cols - 1})")  # fmt: skip
        return select({"tiles": [[row, col]]}, rows, cols, key)
    chosen = np.zeros((rows, cols), dtype=bool)
    for k, part in enumerate(parts):
        chosen |= mask(part, rows, cols, f"{key}.{k}")
    return chosen


def _form(value: dict[str, Any], rows: int, cols: int, key: str) -> Mask:
    """Return the mask of a selector that is written with keys."""
    names = set(value)
    if names and names <= {"rows", "cols"}:
        region = {name: _span(value[name], f"{key}.{name}") for name in value}
        return select({"region": region}, rows, cols, key)
    if len(names) != 1 or not names <= set(_FORMS):
        raise ArchError(f"{key}: expected one of {', '.join(_FORMS)}, found {value!r}")
    ((name, inner),) = value.items()
    if name in ("row", "col"):
        limit = rows if name == "row" else cols
        if not isinstance(inner, int) or isinstance(inner, bool) or not 0 <= inner < limit:
            raise ArchError(f"{key}.{name}: expected a number from 0 to {limit - 1}, found {inner!r}")
        return select({"region": {f"{name}s": [inner, inner]}}, rows, cols, key)
    if name == "not":
        return ~mask(inner, rows, cols, f"{key}.not")
    if name == "both":
        if not isinstance(inner, list) or not inner:
            raise ArchError(f"{key}.both: expected a list of selectors, found {inner!r}")
        masks = [mask(part, rows, cols, f"{key}.both.{k}") for k, part in enumerate(inner)]
        return np.logical_and.reduce(masks)  # type: ignore[no-any-return]
    return select(value, rows, cols, key)


def _span(value: Any, key: str) -> list[Any]:
    """Return the first and the last of a span; one number stands for both."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value, value]
    if not isinstance(value, list):
        raise ArchError(f"{key}: expected a number or [first, last], found {value!r}")
    return value


def _corners(rows: int, cols: int) -> Mask:
    """Return the mask of the four corners."""
    chosen = np.zeros((rows, cols), dtype=bool)
    chosen[np.ix_([0, rows - 1], [0, cols - 1])] = True
    return chosen
