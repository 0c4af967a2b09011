"""The batteries pass sound subjects and report every planted fault; a battery that is weakened fails its own test."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gridloom.testing import mappers, self_check
from gridloom.testing.self_check import PlantedSubject, examine

SUBJECTS = [
    *self_check.mapper_subjects(),
    *self_check.family_subjects(),
    *self_check.reader_subjects(),
    *self_check.cost_subjects(),
]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: f"{subject.battery}-{subject.name}")
def test_battery_says_what_it_has_to(subject: PlantedSubject) -> None:
    examine(subject)


def test_every_battery_has_a_sound_subject_and_several_faults() -> None:
    for battery in ("mappers", "families", "readers", "cost models"):
        found = [subject.sentence for subject in SUBJECTS if subject.battery == battery]
        assert found.count(None) == 1
        assert len(found) >= 6


@pytest.mark.parametrize(
    ("promise", "name"), [("same bytes", "ignores_seed"), ("interruption", "deaf"), ("progress", "silent")]
)
def test_fault_that_a_weaker_battery_does_not_report_is_noticed(
    monkeypatch: pytest.MonkeyPatch, promise: str, name: str
) -> None:
    monkeypatch.delitem(mappers.MAPPER_CHECKS, promise)
    (subject,) = (subject for subject in SUBJECTS if subject.name == name)
    with pytest.raises(AssertionError, match=f"the battery for mappers does not report the fault of {name}"):
        examine(subject)


def test_sound_subject_that_is_refused_is_noticed() -> None:
    def refuse() -> None:
        raise AssertionError("no")

    with pytest.raises(AssertionError, match="the battery for readers refuses the sound reader: no"):
        examine(PlantedSubject(battery="readers", name="reader", check=refuse))


def test_another_sentence_than_expected_is_noticed() -> None:
    def refuse() -> None:
        raise AssertionError("something else")

    with pytest.raises(AssertionError, match="says of reader: something else; expected: no edge"):
        examine(PlantedSubject(battery="readers", name="reader", check=refuse, sentence="no edge"))


def test_batteries_need_no_test_framework() -> None:
    probe = (
        "import sys; sys.modules['pytest'] = None\n"
        "import gridloom.testing.self_check as s\n"
        "[s.examine(x) for x in (*s.reader_subjects(), *s.cost_subjects())]"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
