"""The portfolio: the best result wins, whoever is faster; a proof ends the race."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import pytest
from tests.search.conftest import far, proved_right

from gridloom.archs import Arch, build
from gridloom.dfg import Dfg
from gridloom.errors import OptionError
from gridloom.flow import Request, run
from gridloom.mapping import Failure, Mapping
from gridloom.mapping.json_format import dumps
from gridloom.registry import Mapper, MapperEntry, groups
from gridloom.search.budget import Budget, Progress
from gridloom.search.portfolio import PortfolioConfig, portfolio
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo

ARRAY = "torus:2x2,regs=2,bus=none"


@dataclass(frozen=True, kw_only=True)
class PlainConfig:
    """Takes no II."""


def mapped_at(ii: int, *, optimal: bool, dfg: Dfg, arch: Arch) -> Mapping:
    """A legal mapping at an II, with a word on its proof."""
    found = modulo(dfg, arch, ModuloConfig(ii=ii), Budget(effort=4000))
    if isinstance(found, Failure):
        pytest.fail(f"no mapping at II {ii}")
    return replace(found, provenance={**found.provenance, "optimal": optimal})


def swift(dfg: Dfg, arch: Arch, config: PlainConfig, budget: Budget) -> Mapping | Failure:
    """Returns at once, with a poor result."""
    return mapped_at(4, optimal=False, dfg=dfg, arch=arch)


def slow(dfg: Dfg, arch: Arch, config: PlainConfig, budget: Budget) -> Mapping | Failure:
    """Returns a better result later."""
    time.sleep(0.2)
    return mapped_at(3, optimal=False, dfg=dfg, arch=arch)


def sure(dfg: Dfg, arch: Arch, config: PlainConfig, budget: Budget) -> Mapping | Failure:
    """Returns a result that it says is the best."""
    return mapped_at(3, optimal=True, dfg=dfg, arch=arch)


def endless(dfg: Dfg, arch: Arch, config: PlainConfig, budget: Budget) -> Mapping | Failure:
    """Works until it is told to end."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if budget.interrupted is not None and budget.interrupted():
            return Failure(constraint="interrupted", demand="time", bound="none")
        time.sleep(0.01)
    raise RuntimeError("nobody ended this")


def picky(dfg: Dfg, arch: Arch, config: PlainConfig, budget: Budget) -> Mapping | Failure:
    """Takes no array at all."""
    raise OptionError("not this array")


def helpless(dfg: Dfg, arch: Arch, config: PlainConfig, budget: Budget) -> Mapping | Failure:
    """Finds nothing."""
    return Failure(constraint="luck", demand="some", bound="none")


def broken(dfg: Dfg, arch: Arch, config: PlainConfig, budget: Budget) -> Mapping | Failure:
    """Has a mistake in it."""
    raise ZeroDivisionError("a mistake")


@pytest.fixture(autouse=True)
def entrants(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mappers of this file under their own names."""
    names = ("swift", "slow", "sure", "endless", "picky", "helpless", "broken")
    entries = {
        name: MapperEntry((Mapper({"registers": f"tests.search.test_portfolio:{name}"}, "a sample"),)) for name in names
    }
    monkeypatch.setitem(groups(), "mappers", {**groups()["mappers"], **entries})


def race(*names: str, **budget: float) -> Mapping | Failure:
    limits = budget or {"time_limit": 20}
    return portfolio(far(2), build(ARRAY), PortfolioConfig(mappers=names), Budget(**limits))  # type: ignore[arg-type]


def test_better_result_wins_however_late():
    found = race("swift", "slow")
    assert isinstance(found, Mapping)
    assert (found.ii, found.provenance["mapper"], found.provenance["found_by"]) == (3, "portfolio", "slow")
    assert found.provenance["rivals"] == ["swift: II 4", "slow: II 3"]
    proved_right(found)


def test_ties_go_to_the_first_listed():
    found = race("sure", "slow")
    assert isinstance(found, Mapping)
    assert found.provenance["found_by"] == "sure"


def test_proof_ends_the_race():
    # The other one would raise a RuntimeError after a minute.
    found = race("endless", "sure", time_limit=50)
    assert isinstance(found, Mapping)
    assert found.provenance["rivals"][0].startswith("endless: no mapping (interrupted")


def test_mistake_in_a_mapper_ends_the_race_at_once():
    # The other one would raise a RuntimeError after a minute.
    with pytest.raises(ZeroDivisionError, match="a mistake"):
        race("broken", "endless", time_limit=50)


def test_race_ends_mappers_that_are_past_the_time_limit():
    # The mapper would raise a RuntimeError after a minute.
    found = race("endless", time_limit=0.2)
    assert isinstance(found, Failure)
    assert found.constraint == "interrupted"


def test_caller_ends_the_race():
    budget = Budget(time_limit=50, interrupted=lambda: True)
    assert isinstance(portfolio(far(2), build(ARRAY), PortfolioConfig(mappers=("endless",)), budget), Failure)


def test_mapper_that_does_not_take_the_array_is_passed_over_if_another_maps():
    found = race("picky", "slow")
    assert isinstance(found, Mapping)
    assert found.provenance["rivals"][0] == "picky: no mapping (not this array)"
    with pytest.raises(OptionError, match="not this array"):
        race("picky", "helpless")


def test_failure_is_the_first_mappers():
    found = race("helpless")
    assert isinstance(found, Failure)
    assert found.constraint == "luck"


def test_ii_is_handed_on_and_refused_where_it_is_not_taken():
    budget = Budget(effort=4000)
    found = portfolio(far(2), build(ARRAY), PortfolioConfig(mappers=("modulo",), ii=4), budget)
    assert isinstance(found, Mapping)
    assert found.ii == 4
    with pytest.raises(OptionError, match="mapper 'swift' does not take an II"):
        portfolio(far(2), build(ARRAY), PortfolioConfig(mappers=("swift",), ii=4), budget)


def test_run_by_effort_gives_the_same_bytes_whatever_the_workers():
    pytest.importorskip("ortools")
    made = [
        portfolio(far(2), build(ARRAY), PortfolioConfig(), Budget(effort=20_000, seed=3, workers=workers))
        for workers in (1, 2)
    ]
    assert all(isinstance(mapping, Mapping) for mapping in made)
    first, second = (dumps(mapping) for mapping in made if isinstance(mapping, Mapping))
    assert first == second


def test_progress_is_told_by_the_calling_thread_with_who_has_what():
    import threading

    heard: list[tuple[int, Progress]] = []
    budget = Budget(time_limit=2, progress=lambda p: heard.append((threading.get_ident(), p)))
    found = portfolio(far(2), build(ARRAY), PortfolioConfig(mappers=("modulo", "slow")), budget)
    assert isinstance(found, Mapping)
    assert {thread for thread, _ in heard} == {threading.get_ident()}
    assert heard[-1][1].phase == "2 of 2 mappers done"
    assert heard[-1][1].best.startswith("modulo: II ")


def test_flow_tells_who_found_it():
    result = run(Request(source=far(2), arch=ARRAY, mapper="portfolio", effort=20_000, settings={"mappers": "modulo"}))
    record = result.to_dict()
    assert (record["status"], record["mapper"], record["found_by"]) == ("mapped", "portfolio", "modulo")


def test_static_arrays_race_their_own_mappers():
    result = run(Request(source="kernel:vector_add", arch="mesh:3x3", mapper="portfolio", time_limit=10))
    assert result.to_dict()["found_by"] in ("anneal", "exact")


def test_wrong_lists_are_refused():
    with pytest.raises(OptionError, match="a portfolio does not race itself"):
        PortfolioConfig(mappers=("portfolio",))
    with pytest.raises(OptionError, match="mapper 'portfolio' takes graphs of domain tensor on elastic arrays"):
        portfolio(far(2), build("rdu:4x4"), PortfolioConfig(), Budget(time_limit=1))
