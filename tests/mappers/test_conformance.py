"""One battery over every mapper in the registry, on every kind of array that it declares.

A new mapper is tested here by its line in the registry.
"""

from __future__ import annotations

import pytest
from tests.mappers import conformance

from gridloom.registry import ArrayKind

CASES = [pytest.param(name, kind, id=f"{name}-{kind.traits[0]}") for name, kind in conformance.cases()]

every_mapper = pytest.mark.parametrize(("name", "kind"), CASES)


@every_mapper
def test_result_is_legal_and_simulated(name: str, kind: ArrayKind) -> None:
    conformance.check_result_is_confirmed(name, kind)


@every_mapper
def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_workers(name: str, kind: ArrayKind) -> None:
    conformance.check_same_bytes(name, kind)


@pytest.mark.parametrize("after", [0, 4])
@every_mapper
def test_interruption_returns_the_best_so_far(name: str, kind: ArrayKind, after: int) -> None:
    conformance.check_interruption_returns(name, kind, after)


@every_mapper
def test_refusals_name_the_mapper_that_was_asked(name: str, kind: ArrayKind) -> None:
    conformance.check_refusals(name, kind)


@every_mapper
def test_provenance_is_complete(name: str, kind: ArrayKind) -> None:
    conformance.check_provenance(name, kind)


@every_mapper
def test_configuration_is_frozen_documented_and_checked(name: str, kind: ArrayKind) -> None:
    conformance.check_configuration(name, kind)


@every_mapper
def test_progress_is_told_by_the_calling_thread(name: str, kind: ArrayKind) -> None:
    conformance.check_progress(name, kind)


@every_mapper
def test_module_says_what_it_is(name: str, kind: ArrayKind) -> None:
    conformance.check_documentation(name, kind)
