"""Damaged files and random words: an answer or one message, never a traceback, nothing written."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridloom.dfg import DfgBuilder
from gridloom.errors import GridloomError
from gridloom.flow.bench.suite import read_suite
from gridloom.flow.files import load_any
from gridloom.flow.inputs import read_arch
from gridloom.flow.options import parse_settings
from gridloom.mapping import json_format

PER_COMMAND = settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.just(10**30),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["pe_0_0", "pe_0_1.in0", "pe_0_0>pe_0_1", "x0", "z0", "mem", "mesh"]),
    st.lists(st.integers(-1, 3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def places(data, path=()):
    """The paths to every value below some JSON data."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from places(value, (*path, key))


def replaced(data, path, value):
    copy = json.loads(json.dumps(data))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


@pytest.mark.parametrize("command", ["check", "simulate", "show"])
def test_mapping_with_a_damaged_value_is_judged_or_refused(gridloom, saved, command, tmp_path):
    original = json.loads(saved.read_text())
    paths = list(places(original))

    @given(st.sampled_from(paths), JUNK)
    @PER_COMMAND
    def judge(path, value):
        damaged = tmp_path / "damaged.json"
        damaged.write_text(json.dumps(replaced(original, path, value)))
        done = gridloom(command, damaged)
        assert done.status in (0, 1, 2), (path, value, done.err)
        if done.status == 2:
            assert done.err.startswith("error: ")
            assert done.err.count("\n") == 1

    judge()


@given(
    st.sampled_from(
        ["mesh", "onehop", "chess", "hex", "torus", "ramp-7", "vpcma", "streaming-engine", "rdu", "none", ""]
    ),
    st.sampled_from(["", ":2x2", ":0x0", ":3", ":x", ":2x2x2", ":99999x99999", ",", ":auto"]),
    st.lists(
        st.tuples(
            st.sampled_from(["fifo", "io", "mul", "inputs", "regs", "rows", "operands", "latency", "spokes", "x", ""]),
            st.sampled_from(
                ["1", "0", "-1", "none", "border", "skewed", "checkerboard", "1e9", "", "a=b", "999999999"]
            ),
        ),
        max_size=3,
    ),
)
def test_random_arch_string_is_built_or_refused(family, size, options):
    text = family + size + "".join(f",{key}={value}" for key, value in options)
    try:
        read_arch(text)
    except GridloomError as error:
        assert str(error)


@given(st.text(max_size=40))
def test_random_words_are_shown_or_refused(text):
    try:
        load_any(text)
    except GridloomError as error:
        assert str(error)


@given(st.text(alphabet="abc:[]{}-,*&!'\"\n #1.", max_size=60))
def test_random_suite_is_read_or_refused(text):
    try:
        read_suite(text, "suite")
    except GridloomError as error:
        assert str(error).startswith("suite: ")


@given(st.lists(st.text(max_size=8), max_size=3))
def test_random_settings_are_read_or_refused(pairs):
    try:
        parse_settings(pairs)
    except GridloomError as error:
        assert str(error).startswith("--set: ")


def test_yaml_that_multiplies_itself_is_refused_at_once():
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(GridloomError, match="uses YAML aliases"):
        read_suite(bomb, "suite")


def test_mapping_of_another_graph_is_not_legal(gridloom, saved):
    b = DfgBuilder("other", "i32")
    b.output(b.add("sub", b.input("x0"), b.input("y0"), id="add2"), "z0")
    data = json.loads(saved.read_text())
    data["dfg"] = json.loads(json_format.dfg_format.dumps(b.build()))
    saved.write_text(json.dumps(data))
    # The same wires computing something else are as legal as before, and compute what their graph says.
    assert gridloom("check", saved).status == 0
    assert gridloom("simulate", saved).status == 0
