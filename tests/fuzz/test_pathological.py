"""Inputs of great size, depth and number end with an answer; the fast ones here, the others with the slow tests."""

from __future__ import annotations

import pytest
from tests.fuzz.pathological import CASES, MEMORY, Case, answer

_FAST = ("an II of ten million", "10,000 workers", "a seed of 40 digits", "an array of 10^10 tiles",
         "registers without end", "a kernel of 10^9 operations", "JSON 100,000 deep")  # fmt: skip


def check(case: Case) -> None:
    found = answer(case)
    assert found.status in (0, 1, 2), found
    assert found.memory < MEMORY and "Traceback" not in found.said


def test_there_are_enough_of_them():
    assert len(CASES) >= 20 and len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in _FAST], ids=lambda case: case.name)
def test_a_number_or_a_depth_is_refused(case):
    check(case)


@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.parametrize("case", [case for case in CASES if case.name not in _FAST], ids=lambda case: case.name)
def test_a_large_input_is_answered(case):
    check(case)
