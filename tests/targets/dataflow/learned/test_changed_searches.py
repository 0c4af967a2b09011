"""Searches after a change of the tool chain, by cost models that were and were not trained again."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.run.work import WorkFolder
from gridloom.targets.dataflow.learned import changed_searches, data, model, search_comparison

SMALL = ("gemm", {"inner": 64, "columns": 64})
#: One change that routes see, one of the array, which the shipped trees do not know, and one that the simulator sees.
CHANGED: tuple[data.Era, ...] = ("router", "array", "arbiter")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkFolder:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(data, "graphs", lambda: [SMALL, ("gemm", {"inner": 96, "columns": 64})])
    monkeypatch.setattr(changed_searches, "SUBJECTS", (SMALL,))
    work = WorkFolder(folder=tmp_path, jobs=1)
    for era in ("present", *CHANGED):
        model.MODEL.make_data(model.CostModelConfig(era=era, decisions=32), work)
    return work


def test_every_state_is_searched_by_every_cost_model(work: WorkFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search_comparison, "FULL_SPEED", 2.0)
    config = model.CostModelConfig(report="changes", decisions=32, seconds=0.02, seeds=2)
    rows = {row["era"]: row for row in model.MODEL.evaluate(config, work)["rows"]}
    assert list(rows) == ["present", *CHANGED]
    for row in rows.values():
        assert (row["network"], row["sections"], row["of"], row["searched"]) == ("gemm", 1, 1, 1)
        for name in ("start", *changed_searches.RULES, "learned", "again"):
            mean, least, largest = row[name]
            assert 0 < least <= mean <= largest <= 1
    # Nothing has changed in the present.
    assert rows["present"]["learned"] == rows["present"]["again"]


def test_section_at_full_speed_from_the_start_is_not_searched(work: WorkFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search_comparison, "FULL_SPEED", 0.0)
    config = model.CostModelConfig(report="changes", decisions=32, seconds=0.02, seeds=1)
    row = model.MODEL.evaluate(config, work)["rows"][0]
    assert row["searched"] == 0
    assert row["tuned"] == row["start"] == row["again"]


def test_routes_and_simulator_are_those_of_the_state():
    pipeline = data.graph_pipeline("mlp", (("layers", 2), ("width", 128)), "present")
    rule = changed_searches.registry.load("costs", "wirelength")()
    found = {era: changed_searches._reached(pipeline, era, rule, 4, 0) for era in ("present", "arbiter")}
    places = changed_searches._searched(pipeline, "present", rule, 4, 0).finalists()[0][:1]
    for era, value in found.items():
        assert value == pytest.approx(
            data.measure_decisions(pipeline, data.route_places(pipeline, places, era), era)[0]
        )
