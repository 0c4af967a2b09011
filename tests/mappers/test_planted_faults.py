"""The conformance checks pass for a trivial mapper and fail for each planted fault."""

from __future__ import annotations

import pytest
from tests.mappers import conformance

from gridloom.registry import GRID, REGISTRY, Mapper

CHECKS = {
    "confirmed": conformance.check_result_is_confirmed,
    "bytes": conformance.check_same_bytes,
    "refusal": conformance.check_refusals,
    "provenance": conformance.check_provenance,
    "configuration": conformance.check_configuration,
}


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mappers of `planted.py`, each registered by one line."""
    names = ("trivial", "unsteady", "impostor", "nameless", "wrong")
    lines = {name: Mapper({GRID: f"tests.mappers.planted:{name}"}, "a planted mapper") for name in names}
    monkeypatch.setitem(REGISTRY, "mappers", {**REGISTRY["mappers"], **lines})


def test_a_registered_mapper_is_a_case_without_another_edit() -> None:
    assert ("trivial", GRID) in conformance.cases()


@pytest.mark.parametrize("check", CHECKS)
def test_trivial_mapper_keeps_every_promise(check: str) -> None:
    CHECKS[check]("trivial", GRID)


@pytest.mark.parametrize(
    ("name", "check", "message"),
    [
        ("unsteady", "bytes", "unsteady gives different bytes when it runs twice"),
        ("impostor", "refusal", "impostor refuses .* with: mapper 'modulo' takes"),
        ("nameless", "provenance", "nameless leaves version out of the provenance"),
        ("wrong", "confirmed", "wrong returns a mapping that is not legal"),
    ],
)
def test_planted_fault_is_caught(name: str, check: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        CHECKS[check](name, GRID)
