"""A command that takes records of options has their fields as options, in their places."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from gridloom.cli.options import JobOptions, LoopOptions, flatten_records
from gridloom.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two options."""

    left: int = 1
    right: str = "r"


def command(*, first: int, pair: Pair, last: bool = False) -> int:
    """A command."""
    return first + pair.left + len(pair.right) + last


def twice(*, left: int, pair: Pair) -> int:
    """A command that has an option twice."""
    return left + pair.left


def test_fields_stand_in_place_of_their_record():
    signature = inspect.signature(flatten_records(command))
    assert {name: p.default for name, p in signature.parameters.items()} == {
        "first": inspect.Parameter.empty,
        "left": 1,
        "right": "r",
        "last": False,
    }
    assert [p.annotation for p in signature.parameters.values()] == [int, int, str, bool]


def test_the_command_is_called_with_its_record():
    assert flatten_records(command)(first=100, left=20, right="abc", last=False) == 123


def test_an_option_that_a_command_has_twice_is_refused():
    with pytest.raises(ValueError, match="duplicate parameter name: 'left'"):
        flatten_records(twice)


def test_going_on_needs_a_store(tmp_path):
    with pytest.raises(OptionError, match="needs a store to go on with: --store FILE"):
        JobOptions(resume=True).check_store()
    JobOptions(resume=True, store=tmp_path / "rows.sqlite").check_store()


def test_options_of_loops_become_part_of_the_source():
    assert LoopOptions(function="f", loop=1, size=["x=64"]).apply("nest.c", ["x=0..9"]) == (
        "nest.c:f,loop=1,size.x=64,range.x=0..9"
    )
    assert LoopOptions().apply("kernel:fir") == "kernel:fir"
