"""What a failed search offers: a run that was cut short blames neither the array nor the seed."""

from __future__ import annotations

from tests.search.conftest import far

from gridloom.archs import build
from gridloom.mapping.model import Failure
from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo


def test_a_search_without_time_offers_more_time_alone():
    found = modulo(far(2), build("torus:2x2"), ModuloConfig(), Budget(time_limit=1e-9))
    assert isinstance(found, Failure)
    assert found.levers == ("more time",)
