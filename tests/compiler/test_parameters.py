"""Declared parameters: what is read from text, what is refused with which words, what a spec shows."""

from __future__ import annotations

import pytest

from gridloom.compiler.parameters import check_settings, choice, number, parse_spec, spec
from gridloom.errors import OptionError

DECLARED = {"taps": number(8, 1, 256, "coefficients"), "form": choice("direct", ("direct", 2), "how it is built")}


def test_missing_parameters_take_their_defaults():
    assert check_settings("kernel 'fir'", DECLARED, {}) == {"taps": 8, "form": "direct"}


def test_text_is_read_as_the_declared_type():
    assert check_settings("kernel 'fir'", DECLARED, {"taps": "16", "form": "2"}) == {"taps": 16, "form": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"tap": 3},
            "kernel 'fir' has no parameter 'tap'; it takes taps (1 to 256; default 8), form (direct, 2; default "
            "direct)",
        ),
        ({"taps": 0}, "kernel 'fir': taps = 0 is not taken; expected a whole number, 1 to 256"),
        ({"taps": True}, "kernel 'fir': taps = True is not taken; expected a whole number, 1 to 256"),
        ({"taps": "9" * 5000}, f"kernel 'fir': taps = '{'9' * 5000}' is not taken; expected a whole number, 1 to 256"),
        ({"form": "lattice"}, "kernel 'fir': form = 'lattice' is not taken; expected one of direct, 2"),
    ],
)
def test_wrong_parameters_are_refused_by_name(given: dict[str, object], message: str):
    with pytest.raises(OptionError) as refusal:
        check_settings("kernel 'fir'", DECLARED, given)
    assert str(refusal.value) == message


def test_nothing_declared_takes_nothing():
    with pytest.raises(OptionError, match=r"^kernel 'fir' has no parameter 'n'; it takes none$"):
        check_settings("kernel 'fir'", {}, {"n": 1})


def test_a_broken_rule_is_told_after_the_owner():
    with pytest.raises(OptionError, match=r"^kernel 'fir': taps = 8 is too few$"):
        check_settings("kernel 'fir'", DECLARED, {}, lambda taps, form: f"taps = {taps} is too few")


def test_a_spec_leaves_out_defaults():
    assert spec("fir", DECLARED, {"taps": 8, "form": "direct"}) == "fir"
    assert spec("fir", DECLARED, {"taps": 3, "form": 2}) == "fir,taps=3,form=2"


def test_kernel_parameters_are_numbers_flags_and_words() -> None:
    assert parse_spec("k, a=1,b=2.5,c=true,d=row") == ("k", {"a": 1, "b": 2.5, "c": True, "d": "row"})
