"""``--set`` against a configuration class: types, defaults and exact complaints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from gridloom.errors import OptionError
from gridloom.flow.options import configure, describe, parse_settings


@dataclass(frozen=True, kw_only=True)
class Config:
    """One field of each kind."""

    moves: int = 10
    cooling: float = 0.9
    verbose: bool = False
    order: Literal["wide", "deep"] = "wide"
    limit: int | None = None
    weights: tuple[float, ...] = (1.0,)

    def __post_init__(self):
        if self.moves < 1:
            raise ValueError("moves: expected at least 1")


def test_pairs_become_a_dictionary():
    assert parse_settings(["a=1", " b = x=y "]) == {"a": "1", "b": "x=y"}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [(["a"], "--set: expected key=value, found 'a'"), (["a=1", "a=2"], "--set: 'a' is given twice")],
)
def test_bad_pairs(pairs, message):
    with pytest.raises(OptionError) as caught:
        parse_settings(pairs)
    assert str(caught.value) == message


def test_text_is_converted_to_the_types_of_the_fields():
    given = {"moves": "20", "cooling": "0.5", "verbose": "true", "order": "deep", "limit": "7", "weights": "1+2.5"}
    assert configure(Config, given, "m") == Config(
        moves=20, cooling=0.5, verbose=True, order="deep", limit=7, weights=(1.0, 2.5)
    )


def test_none_is_a_value_where_the_field_takes_it():
    assert configure(Config, {"limit": "none"}, "m").limit is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"move": "1"},
            "--set: move: mapper 'm' has no such setting; did you mean moves? "
            "it has: cooling, limit, moves, order, verbose, weights",
        ),
        ({"moves": "many"}, "--set: moves: mapper 'm' takes a whole number here, found 'many'"),
        ({"cooling": "none"}, "--set: cooling: mapper 'm' takes a number here, found 'none'"),
        ({"moves": "0"}, "--set: mapper 'm' does not take these settings: moves: expected at least 1"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(OptionError) as caught:
        configure(Config, settings, "m")
    assert str(caught.value) == message


def test_wrong_word_lists_the_right_ones():
    with pytest.raises(OptionError, match="order: mapper 'm' takes one of wide, deep here, found 'high'"):
        configure(Config, {"order": "high"}, "m")


def test_description_has_name_type_and_default():
    assert describe(Config)[:3] == [
        ("moves", "a whole number", 10),
        ("cooling", "a number", 0.9),
        ("verbose", "true or false", False),
    ]
