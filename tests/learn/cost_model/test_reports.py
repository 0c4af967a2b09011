"""Reports of the cost model: searches over sections, tables of variants and of two tool chains; guides of the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gridloom import registry
from gridloom.learn.cost_model import data
from gridloom.learn.cost_model import search_comparison as searches
from gridloom.learn.cost_model.random_guides import RoundTripGuide, random_guide
from gridloom.mappers.elastic.search import DataflowConfig, Search
from gridloom.run.work import Work
from gridloom.transform.lower_tensor import lower

SMALL = ("gemm", {"inner": 64, "columns": 64})


@pytest.fixture
def found() -> data.Pipeline:
    return data.graph_pipeline("mlp", (("layers", 2), ("width", 64)), "present")


def test_round_trips_tell_short_ways_from_random_ones(found: data.Pipeline):
    short = Search(found, DataflowConfig(cost="heuristic", chains=4), 0)
    random_places = short.places.copy()
    short.shorten()
    guide = RoundTripGuide(power=2.0, peaks=0.5)
    good = guide.efficiency(found, data.routed(found, short.places, "present"))
    poor = guide.efficiency(found, data.routed(found, random_places, "present"))
    assert good.min() > poor.max()
    assert poor.min() > 0
    assert good.max() < 1


def test_jobs_draw_different_guides():
    names = {random_guide(np.random.default_rng(seed)).name for seed in range(20)}
    assert names == {"heuristic", "windows"}


def test_parts_of_a_network_cover_all_its_sections():
    lowered = lower(registry.load("networks", "bert_large").build(layers=3, rows=64), data.array())
    listed = searches.parts(("bert_large", {"layers": 3, "rows": 64}))
    assert sum(part.blocks for part in listed) == sum(section.blocks for section in lowered.sections)
    assert len(listed) < len(lowered.sections)


def test_searches_are_compared_with_the_best_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(searches, "SUBJECTS", (SMALL,))
    report = searches.compare(Work(folder=tmp_path), seconds=0.05, seeds=2)
    row = report["rows"][0]
    assert row["network"] == "gemm,inner=64,columns=64"
    assert row["best_known"] >= max(*row["seeds"]["heuristic"], *row["seeds"]["learned"])
    assert row["gain"] == pytest.approx(row["learned"] / row["heuristic"] - 1, abs=1e-3)
    assert searches.compare(Work(folder=tmp_path), seconds=0.05, seeds=2, subjects="mlp")["rows"] == []


def test_a_network_takes_as_long_as_its_sections_together(found: data.Pipeline):
    listed = [searches.Part(pipeline=found, blocks=n, section=k) for k, n in enumerate((1, 3))]
    results = [
        {"section": k, "heuristic": [0.5, 0.5], "learned": [value, value], "best_known": 1.0, "moves": {}}
        for k, value in enumerate((0.5, 1.0))
    ]
    row = searches._row(("mlp", {}), listed, results)
    assert row["heuristic"] == pytest.approx(0.5)
    assert row["learned"] == pytest.approx(4 / (1 / 0.5 + 3 / 1.0))
    assert row["gap_closed"] == pytest.approx((0.8 - 0.5) / (1.0 - 0.5), abs=1e-3)


@pytest.mark.slow
def test_a_model_trained_again_fits_the_tool_chain_it_was_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch")
    from gridloom.learn.cost_model import model as model

    monkeypatch.setattr(data, "graphs", lambda: [SMALL])
    monkeypatch.setattr(data, "held_out_graphs", lambda: [("gemm", {"inner": 64, "columns": 96})])
    monkeypatch.setattr(data, "large_graphs", lambda: [("mlp", {"width": 64, "layers": 2})])
    work = Work(folder=tmp_path, jobs=1)
    for era in ("past", "present"):
        model.MODEL.make_data(model.CostModelConfig(era=era, decisions=48), work)
    config = model.CostModelConfig(report="adaptivity", decisions=48, epochs=40, folds=2)
    report = model.MODEL.evaluate(config, work)
    assert report["decisions"] == {"past": 48, "present": 48}
    rows = {(row["model"], row["tested"]): row for row in report["rows"]}
    assert len(rows) == 6
    assert all(set(row["families"]) == {"gemm", "mlp"} for row in rows.values())
    for era in ("past", "present"):
        assert rows[f"trained on {era}", era]["relative_error"] < rows["heuristic", era]["relative_error"]
