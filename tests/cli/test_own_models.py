"""Models for the user's arrays and graphs: label, train, measure, use, each in a command."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("model", "arch", "source", "answer"),
    [
        ("mappability", "vpcma:3x4,constants=4", "kernel:vector_add", "width"),
        ("initiation", "torus:2x2,regs=3", "kernel:dot_product", "ii"),
    ],
)
def test_label_train_measure_and_use(gridloom, tmp_path, model, arch, source, answer):
    store, weights = tmp_path / "labels.sqlite", tmp_path / "mine.npz"
    asked = ("--arch", arch, "--labels", store)
    small = ("--folder", tmp_path, "--jobs", 1)
    made = gridloom("train", model, "--make-data", *asked, "--graphs", source, "--set", "own=44", *small, "--json")
    assert made.status == 0, made.err
    assert made.record["failed"] == 0
    count = made.record["graphs"]
    again = gridloom("train", model, "--make-data", *asked, "--graphs", source, "--set", "own=44", *small, "--json")
    assert (again.record["computed"], again.record["graphs"]) == (0, count)
    trained = gridloom("train", model, *asked, "-o", weights, "--set", "learner=linear", *small, "--json")
    assert trained.status == 0, trained.err
    measured = gridloom("eval", model, *asked, "--weights", weights, "--set", "folds=0", *small, "--json")
    assert measured.record["weights"]["all"]
    found = gridloom("estimate", source, "--arch", arch, "--weights", weights, "--json")
    assert found.record[answer] >= 1
    assert found.record["reason"] == "learned"
    outside = gridloom("estimate", source, "--arch", arch.replace("2x2", "5x5").replace("3x4", "5x4"), "--weights",
                       weights, "--json")  # fmt: skip
    assert "the weights were trained for" in outside.record["reason"]


def test_runs_leave_labels_that_training_takes_in(gridloom, tmp_path):
    store, suite = tmp_path / "s.sqlite", tmp_path / "suite.yaml"
    suite.write_text("suite: s\nsources: [kernel:fir, kernel:iir]\narchs: [torus:4x4]\nbudget: {effort: 20000}\n")
    mapped = gridloom("map", "kernel:dot_product", "--arch", "torus:4x4", "--effort", 20000, "--store", store, "--json")
    assert mapped.status == 0, mapped.err
    assert gridloom("bench", suite, "--store", store, "--resume", "--jobs", 1).status == 0
    done = gridloom("train", "initiation", "--arch", "torus:4x4", "--labels", store, "--folder", tmp_path)
    assert done.status == 2
    assert "the data set has 3 graphs that only a search decides, expected at least 40" in done.err


def test_words_that_do_not_go_together_are_refused(gridloom, tmp_path):
    done = gridloom("train", "initiation", "--graphs", "kernel:fir", "--folder", tmp_path)
    assert (done.status, "needs the array that they are labelled on: --arch ARCH" in done.err) == (2, True)
    done = gridloom("train", "initiation", "--arch", "torus:4x4", "--graphs", tmp_path, "--folder", tmp_path)
    assert "found no graph that torus:4x4 takes in" in done.err
    done = gridloom("estimate", "kernel:fir", "--arch", "torus:4x4", "--estimator", "bound", "--weights", "w.npz")
    assert (done.status, "counting has no weights" in done.err) == (2, True)
    done = gridloom("map", "kernel:fir", "--arch", "torus:4x4", "--weights", "w.npz")
    assert done.status == 2
    (tmp_path / "graph.json").write_text(json.dumps({"nodes": 3}))
    done = gridloom("train", "initiation", "--arch", "torus:4x4", "--graphs", tmp_path / "graph.json")
    assert done.status == 2
