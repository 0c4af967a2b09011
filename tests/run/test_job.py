import json
import math
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pytest
import sample_jobs
from hypothesis import given
from hypothesis import strategies as st

from gridloom.run import Job, JobOutcome, RunError, ask, canonical_json, in_order
from gridloom.run.job import call

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
documents = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


class Topology(StrEnum):
    CHESS = "chess"


@dataclass
class Point:
    rows: int
    topology: Topology


def test_key_is_the_same_on_every_machine_and_in_every_version():
    job = ask("gridloom.example", {"seed": 7, "arch": "chess:8x8", "fifo": [2, 3], "rate": 0.1}, version="2")
    assert job.key == "801b8834370fb4395efaa46421381e2d46ba729db8381f84bc090c190aa70519"


def test_key_depends_on_the_function_its_version_and_every_parameter():
    base = ask("f", {"a": 1})
    others = [ask("g", {"a": 1}), ask("f", {"a": 1}, version="2"), ask("f", {"a": 2}), ask("f", {"a": 1.0})]
    others += [ask("f", {"a": True}), ask("f", {"a": "1"}), ask("f", {"a": [1]}), ask("f", {})]
    assert len({base.key, *(job.key for job in others)}) == 9


def test_key_does_not_depend_on_the_order_of_parameters_nor_on_the_argument():
    assert ask("f", {"a": 1, "b": 2}).key == ask("f", {"b": 2, "a": 1}, argument=object()).key


def test_function_is_named_by_module_and_name():
    assert ask(sample_jobs.square, {}).asked["function"] == "sample_jobs.square"


def test_function_of_a_script_has_the_name_it_would_have_imported(tmp_path):
    script = tmp_path / "survey.py"
    script.write_text("from gridloom.run import ask\ndef f(): ...\nprint(ask(f, {}).asked['function'])\n")
    for command in ([str(script)], ["-m", "survey"]):
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout == "survey.f\n"


@given(documents)
def test_canonical_json_keeps_what_it_is_given(document):
    text = canonical_json(document)
    assert json.loads(text) == document
    assert canonical_json(json.loads(text)) == text
    assert text.isascii()


def test_dataclasses_enumerations_tuples_and_numpy_scalars_become_plain():
    value = {"p": Point(4, Topology.CHESS), "t": (1, 2), "n": np.int64(3), "x": np.float64(0.5), "b": np.bool_(True)}
    assert canonical_json(value) == '{"b":true,"n":3,"p":{"rows":4,"topology":"chess"},"t":[1,2],"x":0.5}'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, {2, 3}]}, "a[1]: found a set, which JSON cannot hold"),
        ({"a": math.nan}, "a: found nan, which JSON cannot hold; expected a finite number"),
        ({"a": {1: 2}}, "a: found the int key 1; expected a string"),
        (b"raw", "found a bytes, which JSON cannot hold"),
    ],
)
def test_what_has_no_stable_text_is_refused_by_its_place(value, message):
    with pytest.raises(RunError) as caught:
        canonical_json(value)
    assert str(caught.value).startswith(message)


def test_an_exception_becomes_a_value_with_type_message_and_traceback():
    outcome = call(sample_jobs.fail_on_three, "k", 3)
    assert (outcome.status, outcome.value, outcome.failed) == ("error", None, True)
    assert (outcome.error.type, outcome.error.message) == ("KeyError", "'three'")
    assert "in fail_on_three" in outcome.error.traceback
    assert "job.py" not in outcome.error.traceback


def test_a_huge_message_is_cut():
    def boast(_):
        raise ValueError("x" * 1_000_000)

    error = call(boast, "k", None).error
    assert len(error.message) + len(error.traceback) < 30_000


def test_an_exception_that_cannot_be_printed_is_still_an_outcome():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    def fail(_):
        raise Mute

    assert call(fail, "k", None).error.type == "Mute"


def test_in_order_follows_the_keys():
    outcomes = [JobOutcome(key, "done", key) for key in "cab"]
    assert [outcome.value for outcome in in_order(outcomes, "abcd")] == ["a", "b", "c"]


def test_job_without_store_needs_only_key_and_argument():
    assert Job("k", 1).asked == {}
