"""Every number that a user gives has a range, and what has no limit of its own ends in time."""

from __future__ import annotations

import signal
import threading
import time
import typing

import pytest

import gridloom as gl
from gridloom.cli.app import COMMANDS
from gridloom.errors import OptionError
from gridloom.flow.options import configure
from gridloom.limits import LIMITS, TimeUp, check_number, deadline, reading_seconds


def numeric_options() -> list[tuple[str, str]]:
    """(command, option) of every option that takes a number."""
    found = []
    for name, command in COMMANDS:
        function = command.load()
        for option, hint in typing.get_type_hints(function, include_extras=True).items():
            kind = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
            if option != "return" and {int, float} & {kind, *typing.get_args(kind)}:
                found.append((name, option))
    return found


def test_every_numeric_option_of_every_command_has_a_range():
    assert len(numeric_options()) > 30
    assert not [row for row in numeric_options() if row[1] not in LIMITS]


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_beyond_its_range_is_refused(name):
    least, most = LIMITS[name]
    check_number(name, most)
    with pytest.raises(OptionError, match="expected at most"):
        check_number(name, most + (1 if isinstance(most, int) else most))
    with pytest.raises(OptionError, match="expected a number, found nan"):
        check_number(name, float("nan"))
    if least is not None:
        with pytest.raises(OptionError, match="expected at least"):
            check_number(name, least - 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ii": 10_000_000}, "--ii: expected at most 500, found 10000000"),
        ({"jobs": 10_000}, "--jobs: expected at most 256, found 10000"),
        ({"seed": -1}, "--seed: expected at least 0, found -1"),
        ({"iterations": 10**9}, "--iterations: expected at most 1000000, found 1000000000"),
    ],
)
def test_the_python_interface_has_the_same_ranges(options, message):
    with pytest.raises(OptionError) as caught:
        gl.map("kernel:fir", "torus:4x4", **options)
    assert str(caught.value) == message


def test_slots_have_a_range():
    with pytest.raises(OptionError, match="II 500 on 256 tiles is 128000 slots; expected at most 32768"):
        gl.map("kernel:fir", "torus:16x16", ii=500)


def test_a_setting_has_a_range():
    from gridloom.targets.grid.mappers.anneal import AnnealConfig

    field = next(name for name, kind in typing.get_type_hints(AnnealConfig).items() if kind is int)
    with pytest.raises(OptionError, match=rf"{field}: expected at most 2\^62"):
        configure(AnnealConfig, {field: str(10**40)}, "anneal")


# -- deadlines --------------------------------------------------------------------------------------------------------


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            sum(range(1000))
        except Exception:
            continue


def test_a_block_ends_at_its_deadline():
    with pytest.raises(TimeUp, match=r"spinning took more than 0\.2 s and was ended"), deadline(0.2, "spinning"):
        spin(30.0)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_block_that_ends_early_leaves_no_alarm():
    with deadline(5.0, "nothing"):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_earlier_of_two_deadlines_holds():
    with pytest.raises(TimeUp, match="outer"), deadline(0.2, "outer"), deadline(60.0, "inner"):
        spin(30.0)


def test_an_inner_deadline_leaves_the_outer_one():
    with pytest.raises(TimeUp, match="outer"), deadline(0.5, "outer"):
        with pytest.raises(TimeUp, match="inner"), deadline(0.1, "inner"):
            spin(30.0)
        spin(30.0)


def test_another_thread_is_not_ended():
    done = []

    def work() -> None:
        with deadline(0.01, "a thread"):
            spin(0.1)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done


@pytest.mark.parametrize(("limit", "seconds"), [(None, 30.0), (0.5, 4.0), (10.0, 8.0), (600.0, 30.0)])
def test_reading_a_source_has_a_share_of_the_limit(limit, seconds):
    assert reading_seconds(limit) == seconds
