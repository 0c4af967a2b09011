"""Searches by cost models over the sections of a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom import registry
from gridloom.learn.labels import array_of
from gridloom.run.work import WorkFolder
from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.learned import search_comparison as searches
from gridloom.targets.dataflow.lowering.lower import lower

SMALL = ("gemm", {"inner": 64, "columns": 64})


def test_parts_of_a_network_cover_all_its_sections():
    # Searched is the training step, whose backward pass has sections of its own: 3 layers have 48 sections instead of
    # 15. The 64 rows of a sample pass each of them, one row a block.
    network = registry.load("networks", "bert_large").build(layers=3, rows=64, training=True)
    lowered = lower(network, array_of(data.ARRAY))
    listed = searches.parts(("bert_large", {"layers": 3, "rows": 64}))
    assert sum(part.blocks for part in listed) == sum(section.blocks for section in lowered.sections)
    assert all(section.blocks == 64 for section in lowered.sections)
    assert len(listed) < len(lowered.sections)


@pytest.mark.parametrize(("array", "judge"), [(data.ARRAY, "simulated"), ("rdu:8x8", None)])
def test_rivals_are_compared_on_equal_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: str, judge: str | None
):
    monkeypatch.setattr(searches, "SUBJECTS", (SMALL,))
    monkeypatch.setattr(searches, "RIVALS", ("wirelength", "queueing"))
    monkeypatch.setattr(searches, "FULL_SPEED", 2.0)
    report = searches.compare_rivals(WorkFolder(folder=tmp_path), seconds=0.02, seeds=2, array=array)
    (row,) = report["rows"]
    assert report["judge"] == judge
    assert (row["sections"], row["of"]) == (1, 1)
    for name in ("start", "wirelength", "queueing"):
        mean, least, largest = row[name]
        assert 0 < least <= mean <= largest <= 1
    assert (row["at_full_speed"], set(row["moves"])) == (0, {"wirelength", "queueing"})


def test_section_at_full_speed_from_the_start_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(searches, "SUBJECTS", (SMALL,))
    monkeypatch.setattr(searches, "FULL_SPEED", 0.0)
    (row,) = searches.compare_rivals(WorkFolder(folder=tmp_path), seconds=0.02, seeds=2)["rows"]
    assert row["at_full_speed"] == 1
    assert row["learned"] == row["start"]


def test_cost_models_may_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(searches, "SUBJECTS", (SMALL,))
    monkeypatch.setattr(searches, "FULL_SPEED", 2.0)
    (row,) = searches.compare_rivals(WorkFolder(folder=tmp_path), seconds=0.02, seeds=1, costs="tuned")["rows"]
    assert set(row["moves"]) == {"tuned"}


def test_judges_choose_among_the_same_finalists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(searches, "SUBJECTS", (SMALL,))
    report = searches.compare_judges(WorkFolder(folder=tmp_path), seconds=0.02, seeds=2, start="random")
    (row,) = report["rows"]
    assert row["any"] <= row["best"]
    assert all(0 < row[name] <= row["best"] for name in searches.JUDGES)
