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


@pytest.mark.slow
def test_a_cost_model_of_ones_own_array(gridloom, tmp_path):
    arch, weights = "rdu:6x6,lanes=64", tmp_path / "mine.npz"
    asked = ("--arch", arch, "--labels", tmp_path / "labels.sqlite", "--folder", tmp_path, "--jobs", 1)
    graph = "kernel:mlp,width=96,layers=2"
    made = gridloom("train", "cost-model", "--make-data", *asked, "--graphs", graph, "--set", "own=64", "--json")
    assert (made.status, made.record["failed"], made.record["decisions"]) == (0, 0, 64), made.err
    trained = gridloom("train", "cost-model", *asked, "-o", weights, "--set", "folds=2", "--json")
    assert trained.status == 0, trained.err
    assert trained.record["scope"]["units along the longer side"] == [1.0, 6.0]
    assert "own" in trained.record["cross_validation"]["families"]
    assert "**scope**" in weights.with_suffix(".md").read_text(encoding="utf-8")
    further = gridloom("train", "cost-model", *asked, "--from-weights", weights, "-o", tmp_path / "more.npz", "--set",
                       "folds=2", "--json")  # fmt: skip
    assert further.record["bytes"] > trained.record["bytes"]
    mapped = gridloom("map", graph, "--arch", arch, "--weights", weights, "--effort", 320, "--json")
    assert mapped.status == 0, mapped.err
    assert mapped.record["verified"]["legal"]
    larger = gridloom("map", graph, "--arch", "rdu:8x8,lanes=64", "--weights", weights, "--effort", 320, "--json")
    assert "the weights were trained for 1 to 6 units along the longer side, found 8" in str(larger.record["remarks"])


@pytest.mark.slow
def test_a_policy_for_ones_own_engine(gridloom, tmp_path):
    pytest.importorskip("torch")
    arch, weights = "streaming-engine:10", tmp_path / "mine.npz"
    graphs = ("--graphs", "kernel:distance", "--folder", tmp_path)
    made = gridloom("train", "ppo", "--make-data", "--arch", arch, *graphs, "--json")
    assert (made.status, made.record["own"]) == (0, 1), made.err
    trained = gridloom("train", "ppo", "--arch", arch, *graphs, "-o", weights, "--set", "own=1", "--json")
    assert trained.status == 0, trained.err
    assert trained.record["data"] == made.record["hash"]
    assert trained.record["scope"] == {"tiles": [10.0, 10.0], "nodes": [1.0, 45.0]}
    measured = gridloom("eval", "ppo", "--arch", arch, "--weights", weights, "--set", "most=1", "--set", "seeds=1",
                        "--set", "seconds=0.2", "--json")  # fmt: skip
    assert measured.status == 0, measured.err
    assert set(measured.record["summary"]) == {"rank", "shipped", "ppo", "anneal"}
    mapping = tmp_path / "mapping.json"
    mapped = gridloom("map", "kernel:distance", "--arch", "streaming-engine:12", "--mapper", "ppo", "--weights",
                      weights, "--effort", 500, "-o", mapping)  # fmt: skip
    assert mapped.status == 0, mapped.err
    assert "the weights were trained for 10 tiles, found 12" in mapping.read_text(encoding="utf-8")


def test_models_refuse_arrays_that_they_know_nothing_of(gridloom, tmp_path):
    for model in ("ppo", "mappability", "cost-model"):
        done = gridloom("train", model, "--make-data", "--arch", "torus:4x4", "--folder", tmp_path)
        assert (done.status, f"model '{model}' knows nothing of array 'torus:4x4'" in done.err) == (2, True), done.err
