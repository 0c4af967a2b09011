"""Spaces as data: what a file may say, and what is said about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.errors import OptionError
from gridloom.explore import parse_space, read_space

TEXT = """
explore: small
kernels: ["kernel:fir"]
array: "{topology}:{side}x{side},fifo={fifo}"
parameters:
  topology: [mesh, chess]
  side: {from: 4, to: 8, step: 2}
  fifo: [0, none]
budget: {effort: 1000}
"""


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


def test_the_grid_is_every_combination_in_order() -> None:
    space = parse_space(TEXT, "space")
    points = list(space.grid())
    assert space.size == len(points) == 12
    assert points[0].array == "mesh:4x4,fifo=0"
    assert points[1].array == "mesh:4x4,fifo=none"
    assert points[-1].array == "chess:8x8,fifo=none"
    assert points[3].name == "topology mesh, side 6, fifo none"


@given(st.integers(0, 11))
def test_an_index_names_the_point_of_the_grid(index: int) -> None:
    space = parse_space(TEXT, "space")
    assert space.at(index) == list(space.grid())[index]


def test_a_place_alone_keeps_the_type_of_its_value() -> None:
    space = parse_space(
        "kernels: [kernel:fir]\narray: {family: mesh, rows: '{n}', cols: 4}\n"
        "parameters: {n: [3]}\nsettings: {k: 'x{n}'}\n",
        "space",
    )
    point = space.point({"n": 3})
    assert point.array == {"family": "mesh", "rows": 3, "cols": 4}
    assert point.settings == {"k": "x3"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "space: expected keys and values, found list"),
        ("a: *b", "space: uses YAML aliases (*name), which are not taken; write the values out"),
        (changed("{fifo}", "2"), "space: parameter 'fifo' is not used in array, mapper or settings"),
        (changed("  fifo: [0, none]\n", ""), "space: {fifo} is used, but there is no parameter of that name"),
        (changed("[0, none]", "[]"), "space: parameter 'fifo' has no values"),
        (
            changed("{effort: 1000}", "{effort: 0}"),
            "space: budget.effort: input should be greater than or equal to 1, found 0",
        ),
        (TEXT + "search: {method: tpe}", "space: search: method tpe needs 'points': how many to look at"),
        (
            TEXT + "objectives: [speed]",
            "space: objectives: 'speed' is no objective; known: mapped, throughput, occupancy, gops, mhz, ii, latency, "
            "fifo_max, fifo_total, wirelength, tiles, area, levels, cycles, energy, luts, ns",
        ),
        (
            TEXT + 'constraints: ["mapped = 1"]',
            "space: constraints: expected OBJECTIVE <= NUMBER (or >=, ==, <, >), found 'mapped = 1'",
        ),
        (TEXT + "find: buffers", "space: find: buffers searches one array; it takes no parameters"),
    ],
)  # fmt: skip
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_space(text, "space")
    assert str(caught.value) == message


def test_an_unknown_key_is_named_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"^space: kernel: not a known key; known: explore, summary, find, kernels, "):
        parse_space(TEXT + "kernel: x", "space")


def test_a_grid_that_is_too_large_says_what_to_do() -> None:
    text = "kernels: [kernel:fir]\narray: 'mesh:{a}x{b}'\nparameters: {a: {from: 1, to: 2000}, b: {from: 1, to: 2000}}"
    with pytest.raises(OptionError, match="the grid has 4,000,000 points, more than 1,000,000; use method random"):
        parse_space(text, "space")


def test_the_examples_can_be_read() -> None:
    folder = Path(__file__).parents[2] / "examples" / "explore"
    files = sorted(folder.glob("*.yaml"))
    assert len(files) >= 5
    for file in files:
        space = read_space(file)
        assert space.explore == file.stem


@pytest.mark.parametrize(
    ("text", "figure", "excess"),
    [
        ("area <= 10", 12.0, 2.0), ("area <= 10", 10.0, 0.0), ("area < 10", 10.0, 1e-9), ("mapped >= 0.5", 0.25, 0.25),
        ("mapped == 1", 1.0, 0.0), ("mapped == 1", 0.75, 0.25), ("ii > 1", 2.0, 0.0),
        ("area <= 10", None, float("inf")),
    ],
)  # fmt: skip
def test_constraints_measure_how_far_a_figure_is_off(text: str, figure: float | None, excess: float) -> None:
    space = parse_space(TEXT + f'constraints: ["{text}"]', "space")
    assert space.limits[0].excess(figure) == excess
