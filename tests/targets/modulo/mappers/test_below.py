"""Proofs of the search: each II below a mapping is refuted, mapped after all, or named as not decided."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("ortools")
from tests.search.conftest import far, proved_right
from tests.targets.modulo.mappers.exact.test_search import fan

from gridloom.archs import build
from gridloom.flow import Request, run
from gridloom.mapping import Failure, Mapping
from gridloom.mapping.mii import mii
from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers import below
from gridloom.targets.modulo.mappers.below import decide_below
from gridloom.targets.modulo.mappers.modulo import ModuloConfig, modulo

ARRAY = "torus:2x2,regs=2"


def open_end(*_: Any) -> Failure:
    return Failure(constraint="II 1", demand="", bound="II 1: not decided", levers=(), cause="limit")


def mapped(ii: int) -> Mapping:
    found = modulo(far(1), build(ARRAY), ModuloConfig(ii=ii), Budget(effort=4000))
    assert isinstance(found, Mapping)
    return found


def decided(found: Mapping, monkeypatch: pytest.MonkeyPatch, outcome: Any) -> Mapping:
    monkeypatch.setattr(below, "_decide", outcome)
    budget = Budget()
    return decide_below(found, found.dfg, found.arch, mii(found.dfg, found.arch), budget, budget.start())


def test_result_above_a_refuted_ii_is_optimal_and_tells_its_proof():
    pytest.importorskip("ortools")
    request = Request(source=far(1), arch=ARRAY, mapper="modulo", prove=True, time_limit=60)
    record = run(request).to_dict()
    assert (record["mapper"], record["ii"], record["mii"]) == ("modulo", 2, 1)
    assert (record["optimal"], record["bound"]) == (True, 2)
    assert record["proof"] == [
        "II below 1: refuted by counting (no II is less than 1)",
        "II 1: refuted for schedules of any length",
        "II 2: found",
    ]


def test_mapping_at_the_mii_needs_no_solver(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(below, "_decide")
    found = modulo(fan(2), build("torus:4x4"), ModuloConfig(prove=True), Budget(effort=4000))
    assert isinstance(found, Mapping)
    assert (found.ii, found.provenance["optimal"], found.provenance["bound"]) == (1, True, 1)


def test_ii_that_stays_open_ends_the_proof(monkeypatch: pytest.MonkeyPatch):
    proved = decided(mapped(3), monkeypatch, open_end)
    assert (proved.ii, proved.provenance["optimal"], proved.provenance["bound"]) == (3, False, 1)
    assert proved.provenance["proof"][1:] == ["II 1: not decided", "II 3: found"]


def test_ii_that_is_mapped_after_all_is_the_result(monkeypatch: pytest.MonkeyPatch):
    def decide(name: str, dfg: object, arch: object, ii: int, budget: object) -> Mapping | Failure:
        refuted = Failure(constraint="II 1", demand="", bound="II 1: refuted", levers=(), cause="proved")
        return refuted if ii == 1 else mapped(ii)

    proved = decided(mapped(3), monkeypatch, decide)
    proved_right(proved)
    assert (proved.ii, proved.provenance["found_by"], proved.provenance["optimal"]) == (2, "exact", True)
    assert proved.provenance["proof"][1:] == ["II 1: refuted", "II 2: found"]
