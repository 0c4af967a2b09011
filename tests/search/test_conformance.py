"""One battery over every mapper in the registry, on every kind of array that it declares.

A new mapper is tested here by its line in the registry.
"""

from __future__ import annotations

import pytest

from gridloom import registry
from gridloom.errors import MissingExtra
from gridloom.testing.mappers import MAPPER_CHECKS, MapperCase, mapper_cases

CASES = [
    pytest.param(case, id=f"{case.name}-{case.kind.traits[0]}")
    for name in registry.names("mappers")
    for case in mapper_cases(name)
]


def test_every_kind_of_array_has_a_problem() -> None:
    assert [name for name, kind in registry.kinds().items() if kind.problem is None] == []


@pytest.mark.parametrize("promise", MAPPER_CHECKS)
@pytest.mark.parametrize("case", CASES)
def test_mapper_keeps_its_promises(case: MapperCase, promise: str) -> None:
    try:
        MAPPER_CHECKS[promise](case)
    except MissingExtra as missing:
        pytest.skip(str(missing))
