"""Selectors and number maps: which tiles, how much where."""

from __future__ import annotations

from typing import Any

import pytest

from gridloom.archs.selectors import numbers, select
from gridloom.errors import ArchError


def drawn(selector: Any, rows: int = 3, cols: int = 4) -> list[str]:
    return ["".join("#" if cell else "." for cell in row) for row in select(selector, rows, cols, "mul")]


@pytest.mark.parametrize(
    ("selector", "picture"),
    [
        ("all", ["####", "####", "####"]),
        ("any", ["####", "####", "####"]),
        ("none", ["....", "....", "...."]),
        (None, ["....", "....", "...."]),
        ("checkerboard", ["#.#.", ".#.#", "#.#."]),
        ("columns", ["#.#.", "#.#.", "#.#."]),
        ("borders", ["####", "#..#", "####"]),
        ("border", ["####", "#..#", "####"]),
        ({"layout": ["#...", "....", "...#"]}, ["#...", "....", "...#"]),
        ({"region": {"rows": [1, 2]}}, ["....", "####", "####"]),
        ({"region": {"rows": [0, 1], "cols": [1, 1]}}, [".#..", ".#..", "...."]),
        ({"region": {}}, ["####", "####", "####"]),
        ({"tiles": [[0, 3], (2, 0)]}, ["...#", "....", "#..."]),
        ({"tiles": []}, ["....", "....", "...."]),
        ([{"tiles": [[0, 0]]}, {"region": {"rows": [2, 2]}}, "none"], ["#...", "....", "####"]),
        ([], ["....", "....", "...."]),
    ],
)
def test_selector_names_these_tiles(selector: Any, picture: list[str]) -> None:
    assert drawn(selector) == picture


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (
            "diagonal",
            "mul: no layout is called 'diagonal'; known: all, none, checkerboard, columns, borders, any, border",
        ),
        (
            7,
            "mul: expected a layout name (all, none, checkerboard, columns, borders, any, border), 'layout', 'region', "
            "'tiles' or a list of these, found 7",
        ),
        (
            {"layout": [], "tiles": []},
            "mul: expected a layout name (all, none, checkerboard, columns, borders, any, border), 'layout', 'region', "
            "'tiles' or a list of these, found {'layout': [], 'tiles': []}",
        ),
        ({"layout": ["##"]}, "mul.layout: expected 3 strings of 4 characters, '#' or '.', found ['##']"),
        (
            {"layout": ["####", "####", "###x"]},
            "mul.layout: expected 3 strings of 4 characters, '#' or '.', found ['####', '####', '###x']",
        ),
        ({"region": [1]}, "mul.region: expected 'rows' and 'cols', found [1]"),
        ({"region": {"row": [0, 1]}}, "mul.region: expected 'rows' and 'cols', found {'row': [0, 1]}"),
        ({"region": {"rows": [0, 3]}}, "mul.region.rows: expected [first, last] within 0..2, found [0, 3]"),
        ({"region": {"cols": [2, 1]}}, "mul.region.cols: expected [first, last] within 0..3, found [2, 1]"),
        ({"region": {"cols": 2}}, "mul.region.cols: expected [first, last] within 0..3, found 2"),
        ({"tiles": 3}, "mul.tiles: expected a list of [row, col], found 3"),
        ({"tiles": [[3, 0]]}, "mul.tiles: expected [row, col] within 3 x 4, found [3, 0]"),
        ({"tiles": [[0, -1]]}, "mul.tiles: expected [row, col] within 3 x 4, found [0, -1]"),
        ({"tiles": [[0, True]]}, "mul.tiles: expected [row, col] within 3 x 4, found [0, True]"),
    ],
)  # fmt: skip
def test_bad_selector_is_refused_with_the_reason(selector: Any, message: str) -> None:
    with pytest.raises(ArchError) as error:
        select(selector, 3, 4, "mul")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("value", "table"),
    [
        (3, [[3, 3], [3, 3]]),
        (None, [[None, None], [None, None]]),
        ({"layout": [[1, 2], [None, 0]]}, [[1, 2], [None, 0]]),
        ([{"value": 2}, {"where": {"tiles": [[0, 1]]}, "value": None}], [[2, None], [2, 2]]),
        ([{"where": "borders", "value": 1}, {"where": {"region": {"rows": [1, 1]}}, "value": 5}], [[1, 1], [5, 5]]),
        ([{"where": {"tiles": [[0, 0]]}, "value": 4}], [[4, 9], [9, 9]]),
        ([], [[9, 9], [9, 9]]),
    ],
)
def test_number_map_gives_these_numbers(value: Any, table: list[list[int | None]]) -> None:
    assert numbers(value, 2, 2, "fifo", 9) == table


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("many", "fifo: expected a number, 'layout' or a list of where/value, found 'many'"),
        (-1, "fifo: expected a number, 'layout' or a list of where/value, found -1"),
        (True, "fifo: expected a number, 'layout' or a list of where/value, found True"),
        ({"layout": [[1]]}, "fifo.layout: expected 2 lists of 2 numbers, found [[1]]"),
        ({"layout": [[1, 2], [3, "x"]]}, "fifo.layout: expected numbers of at least 0, found 'x'"),
        ([{"where": "all"}], "fifo.0: expected 'where' and 'value', found {'where': 'all'}"),
        ([{"value": 1}, {"value": -1}], "fifo.1.value: expected a number of at least 0, found -1"),
        (
            [{"where": "corner", "value": 1}],
            "fifo.0.where: no layout is called 'corner'; known: all, none, checkerboard, columns, borders, any, border",
        ),
    ],
)
def test_bad_number_map_is_refused_with_the_reason(value: Any, message: str) -> None:
    with pytest.raises(ArchError) as error:
        numbers(value, 2, 2, "fifo", None)
    assert str(error.value) == message
