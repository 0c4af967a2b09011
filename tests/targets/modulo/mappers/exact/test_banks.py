"""The exact mapper decides the banks of arrays together with everything else."""

from __future__ import annotations

from typing import Any

import pytest
from tests.targets.modulo.mappers.test_banks import banked, sums

from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.solver import ExactConfig
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.exact.search import exact_modulo
from gridloom.verify import legal

pytest.importorskip("ortools")


def proved(words: int = 32, *banks: dict[str, Any], **settings: Any) -> Mapping | Failure:
    return exact_modulo(sums(words), banked(*banks), ExactConfig(**settings), Budget(seed=1))


@pytest.mark.parametrize(("banks", "ii"), [([{}], 3), ([{}, {"where": {"row": 0}}], 2), ([{"ports": 3}], 1)])
def test_the_lowest_ii_that_the_ports_allow_is_found(banks: list[dict[str, Any]], ii: int) -> None:
    found = proved(32, *banks)
    assert isinstance(found, Mapping)
    assert found.ii == ii
    assert found.provenance["optimal"]
    assert legal(found) == []
    assert simulate(found)


def test_arrays_go_where_there_is_room_for_them() -> None:
    found = proved(32, {"bytes": 128}, {"bytes": 256})
    assert isinstance(found, Mapping)
    names = list(found.settings["banks"].values())
    assert sorted(names) == ["m0", "m1", "m1"]


def test_arrays_that_fit_no_bank_are_refused() -> None:
    found = proved(64, {"bytes": 128})
    assert isinstance(found, Failure)
    assert found.constraint == "sizes of the memory banks"
