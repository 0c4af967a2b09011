"""Labels in a store: made by jobs, kept by ordinary runs, never twice; packed in a file with their features."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridloom import registry
from gridloom.archs import build
from gridloom.errors import OptionError
from gridloom.flow.inputs import prepare
from gridloom.learn import labels
from gridloom.run import Store
from gridloom.run.work import WorkFolder
from gridloom.targets.rows.learned.question import QUESTION, drawn_graphs

ARCH = "vpcma:3x4"


def made(tmp_path: Path, count: int = 6) -> tuple[Path, dict[str, int]]:
    path = tmp_path / "labels.sqlite"
    jobs = [labels.ask_label(QUESTION, *pair) for pair in drawn_graphs(ARCH, count, 1, main=False)]
    return path, labels.label_missing(QUESTION, jobs, path, WorkFolder(folder=tmp_path, jobs=1))


def test_a_label_is_the_same_twice_and_made_once(tmp_path: Path) -> None:
    path, first = made(tmp_path)
    assert first["computed"] > 6 and first["failed"] == 0
    assert made(tmp_path)[1]["computed"] == 0
    found = labels.read_store(QUESTION, path)
    assert labels.check_labels(QUESTION, found, 2, 0)["disagree"] == 0
    again = labels.label({"model": "mappability", "source": found[0].source, "arch": ARCH})
    assert (again["found"], again["decided"]) == (found[0].found, found[0].decided)


def test_packed_labels_come_back_with_their_features(tmp_path: Path) -> None:
    path, _ = made(tmp_path)
    found = labels.read_store(QUESTION, path)
    labels.pack(QUESTION, tmp_path / "l.npz", found)
    again = labels.unpack(QUESTION, tmp_path / "l.npz")
    assert [(i.source, i.arch, i.found, i.decided) for i in again] == [
        (i.source, i.arch, i.found, i.decided) for i in found
    ]
    assert np.allclose([i.values for i in again], [i.values for i in found], rtol=1e-6)
    assert labels.summary(QUESTION, again)["sha256"] == labels.summary(QUESTION, found)["sha256"]


def test_a_new_store_begins_with_what_is_known(tmp_path: Path) -> None:
    path, first = made(tmp_path)
    known = labels.read_store(QUESTION, path)[:4]
    jobs = [labels.ask_label(QUESTION, *pair) for pair in drawn_graphs(ARCH, 6, 1, main=False)]
    other = tmp_path / "other.sqlite"
    done = labels.label_missing(QUESTION, jobs, other, WorkFolder(folder=tmp_path, jobs=1), known)
    assert done["computed"] == first["computed"] - 4


def test_a_graph_that_has_changed_since_it_was_labelled_is_left_out(tmp_path: Path) -> None:
    path, _ = made(tmp_path)
    count = len(labels.read_store(QUESTION, path))
    with Store(path) as store:
        row = next(iter(store.rows()))
        value = json.dumps({**dict(row.value), "check": 1})  # type: ignore[arg-type]
        store._connection.execute("UPDATE results SET value = ? WHERE key = ?", (value, row.key))
        store._connection.commit()
    assert len(labels.read_store(QUESTION, path)) == count - 1


def test_what_an_ordinary_run_found_becomes_a_label(tmp_path: Path) -> None:
    model: Any = registry.load("models", "initiation")
    prepared = prepare("kernel:fir", "torus:4x4")
    with Store(tmp_path / "s.sqlite") as store:
        model.observe(store, prepared.dfg, prepared.arch, 3)
        model.observe(store, prepared.dfg, prepared.arch, 7)
        model.observe(store, prepared.dfg, build("vpcma"), 3)
        model.observe(store, prepared.dfg, prepared.arch, None)
    found = labels.read_store(model.question, tmp_path / "s.sqlite")
    assert [(item.source, item.found) for item in found] == [(prepared.dfg.name, 3)]
    assert labels.array_of(found[0].arch).fingerprint == prepared.arch.fingerprint


def test_the_labels_of_the_package_are_of_graphs_that_are_still_drawn() -> None:
    for name in ("mappability", "initiation"):
        question = registry.load("models", name).question
        drawn = [item for item in labels.unpack(question) if question.is_drawn(item.source)]
        assert len(drawn) > 1000
        for item in drawn[::12]:
            arch = labels.array_of(item.arch)
            values = question.look(question.read(item.source, arch), arch).values
            assert np.allclose(values, item.values, rtol=1e-5, atol=1e-5)
            assert item.found is None or item.found >= question.span(item.values)[0]


def test_an_empty_data_set_is_refused() -> None:
    with pytest.raises(OptionError, match="the data set is empty"):
        labels.summary(QUESTION, [])
