"""Which cells of a grid have a link with each other, by the name of the topology."""

from __future__ import annotations

_CROSS = ((-1, 0), (0, -1), (0, 1), (1, 0))
_JUMP = ((-2, 0), (0, -2), (0, 2), (2, 0))


def neighbours(family: str, row: int, col: int, rows: int, cols: int) -> list[tuple[int, int]]:
    """Return the cells that have a link with (row, col), in reading order.

    In ``chess`` a jump of two keeps the colour of a cell, so that jumps join white cells only.

    >>> neighbours("hex", 1, 1, 3, 3)
    [(0, 1), (0, 2), (1, 0), (1, 2), (2, 1), (2, 2)]
    >>> neighbours("onehop", 0, 0, 3, 3)
    [(0, 1), (0, 2), (1, 0), (2, 0)]
    """
    if family == "hex":
        side = -1 if row % 2 == 0 else 0
        steps: tuple[tuple[int, int], ...] = (
            (-1, side), (-1, side + 1), (0, -1), (0, 1), (1, side), (1, side + 1),
        )  # fmt: skip
    elif family == "onehop" or (family == "chess" and (row + col) % 2 == 0):
        steps = _CROSS + _JUMP
    else:
        steps = _CROSS
    cells = [(row + dr, col + dc) for dr, dc in steps]
    return sorted((r, c) for r, c in cells if 0 <= r < rows and 0 <= c < cols)
