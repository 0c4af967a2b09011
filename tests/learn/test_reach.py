"""The framework of estimators on a question that has an exact answer: training, folds, rivals, weights, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.toys import ToyQuestion, toy_labels

from gridloom.errors import OptionError
from gridloom.learn import labels as store
from gridloom.learn import reach_training
from gridloom.learn.calibration import calibrate, calibration_error, threshold
from gridloom.learn.predictors import Predictor, fit_linear, fit_trees, probabilities
from gridloom.learn.reach import ReachModel
from gridloom.learn.reach_training import ReachConfig, ReachEstimation, folds_of
from gridloom.learn.weights import TrainingScope
from gridloom.run.work import WorkFolder

TOY = ToyQuestion()


def estimation(tmp_path: Path, question: ToyQuestion = TOY) -> tuple[ReachEstimation, WorkFolder]:
    """An estimation whose folder has packed labels."""
    return ReachEstimation(question), WorkFolder(folder=tmp_path, labels=tmp_path / "labels.sqlite")


@pytest.fixture(autouse=True)
def labels_of_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "read_labels", lambda question, path: toy_labels())
    monkeypatch.setattr(store, "array_of", lambda text: text)


def train(tmp_path: Path, question: ToyQuestion = TOY, **settings: Any) -> tuple[ReachModel, dict[str, Any]]:
    work = WorkFolder(folder=tmp_path, weights=tmp_path / "toy.npz")
    report = ReachEstimation(question).train(ReachConfig(learner="linear", **settings), work)
    return ReachModel.load(question, tmp_path / "toy.npz"), report


def test_a_linear_model_learns_an_exact_capacity(tmp_path: Path) -> None:
    model, report = train(tmp_path)
    for item in toy_labels(60, seed=3):
        found = model.answer(TOY, item.values).found
        assert (found is None) == (item.found is None)
        assert abs((found or 0) - (item.found or 0)) <= 1
    assert report["figures"]["linear"]["accuracy"] > 0.95
    low, high = report["figures"]["linear"]["accuracy_interval"]
    assert low <= report["figures"]["linear"]["accuracy"] <= high


def test_where_every_graph_maps_only_the_capacity_is_in_question(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(store, "read_labels", lambda question, path: toy_labels(most=8))
    always = ToyQuestion(always=True)
    model, report = train(tmp_path, always)
    assert model.fits is None
    assert report["figures"]["linear"]["error"] < 0.5
    assert model.answer(always, np.array([5.0, 0.0])).found == 5


def test_chances_never_fall_with_the_capacity(tmp_path: Path) -> None:
    model, _ = train(tmp_path)
    answer = model.answer(TOY, np.array([5.0, 0.0]))
    chances = [answer.chance(c) for c in range(12)]
    assert chances == sorted(chances) and chances[0] == 0.0 and chances[-1] == answer.fits


def test_weights_know_what_they_were_trained_for(tmp_path: Path) -> None:
    model, _ = train(tmp_path)
    assert model.scope.outside({"ops": 13}) == "the weights were trained for 1 to 12 ops, found 13"
    assert model.scope.outside({"ops": 0.5}) == "the weights were trained for 1 to 12 ops, found 0.5"
    assert TrainingScope.of([{"ops": 3}], downwards={"ops"}).outside({"ops": 1}) == ""
    card = (tmp_path / "toy.md").read_text()
    assert "# toy" in card and "ops 1 to 12" in card and "sha256" in card


def test_weights_of_another_model_or_other_features_are_refused(tmp_path: Path) -> None:
    train(tmp_path)
    other = ToyQuestion()
    other.name = "other"  # type: ignore[misc]
    with pytest.raises(OptionError, match="these are weights of 'toy', expected 'other'"):
        ReachModel.load(other, tmp_path / "toy.npz")
    changed = ToyQuestion()
    changed.names = ("size",)  # type: ignore[misc]
    with pytest.raises(OptionError, match="other features; make new ones with `gridloom train toy`"):
        ReachModel.load(changed, tmp_path / "toy.npz")


def test_training_that_begins_with_weights_corrects_them(tmp_path: Path, monkeypatch: Any) -> None:
    train(tmp_path)
    few = toy_labels(48, seed=5)
    shifted = [
        replace(item, found=item.found + 1 if item.found and item.found < 8 else None,
                decided="found" if item.found and item.found < 8 else "exhausted") for item in few
    ]  # fmt: skip
    monkeypatch.setattr(store, "read_labels", lambda question, path: shifted)
    work = WorkFolder(folder=tmp_path, weights=tmp_path / "more.npz", start=tmp_path / "toy.npz")
    report = ReachEstimation(TOY).train(ReachConfig(learner="linear"), work)
    assert set(report["figures"]) == {"linear", "corrected"}
    model = ReachModel.load(TOY, tmp_path / "more.npz")
    assert model.answer(TOY, np.array([3.0, 0.0])).found == 4


def test_a_family_is_in_one_fold() -> None:
    items = toy_labels()
    fold = folds_of(TOY, items, 5, 0)
    homes = {(TOY.family(item.source), k) for item, k in zip(items, fold.tolist(), strict=True)}
    assert len(homes) == 24 and set(fold.tolist()) == set(range(5))


def test_evaluation_has_the_simple_rivals_and_the_given_weights(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    train(tmp_path)
    work = WorkFolder(folder=tmp_path, weights=tmp_path / "toy.npz")
    report = ReachEstimation(TOY).evaluate(ReachConfig(trees=20), work)
    assert {"linear", "trees", "bound", "constant", "weights"} <= set(report)
    assert report["linear"]["all"]["accuracy"] > report["constant"]["all"]["accuracy"]
    assert report["best"] in ("linear", "trees")
    assert set(report["linear"]["strata"]) == {"small", "large"}
    alone = ReachEstimation(TOY).evaluate(ReachConfig(folds=0), work)
    assert "linear" not in alone and alone["weights"]["all"]["accuracy"] > 0.95


def test_trees_ship_only_where_they_are_better(monkeypatch: Any) -> None:
    items = toy_labels()
    exact = reach_training.HeldOutAnswers(
        answers=[reach_training.Reached(found=i.found, least=1, fits=float(i.found is not None),
                                        reachable=(np.arange(1, 9) >= (i.found or 8)).astype(float)) for i in items]
    )  # fmt: skip
    vague = reach_training.HeldOutAnswers(
        answers=[reach_training.Reached(found=4, least=1, fits=0.5, reachable=np.linspace(0.1, 1, 8)) for _ in items]
    )
    assert reach_training.choose(TOY, items, {"linear": vague, "trees": exact}) == "trees"
    assert reach_training.choose(TOY, items, {"linear": exact, "trees": exact}) == "linear"
    assert reach_training.choose(TOY, items, {"linear": exact, "trees": vague}) == "linear"


def test_too_few_labels_and_wrong_settings_are_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(store, "read_labels", lambda question, path: toy_labels(9))
    with pytest.raises(OptionError, match="has 9 graphs that only a search decides, expected at least 40"):
        ReachEstimation(TOY).train(ReachConfig(), WorkFolder(folder=tmp_path))
    with pytest.raises(OptionError, match=r"folds: expected 0 .* or at least 2, found 1"):
        ReachConfig(folds=1)
    with pytest.raises(OptionError, match="there are no labels"):
        ReachEstimation(TOY).train(ReachConfig(), WorkFolder(folder=tmp_path, labels=tmp_path / "none.sqlite"))


# -- predictors and calibration ---------------------------------------------------------------------------------------


def test_predictors_come_back_from_arrays_and_add_up() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    answers = (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(float)
    trees = fit_trees(rows, answers.astype(int), np.ones(200), reach_training.ForestSettings(trees=10), 0)
    both = fit_linear(rows, answers, np.ones(200), start=trees)
    again = Predictor.of_arrays(both.to_arrays("p."), "p.")
    assert again is not None and len(again.parts) == 2
    assert np.allclose(again.scores(rows), both.scores(rows), atol=1e-5)
    assert np.mean((both.scores(rows) > 0) == answers) > 0.8
    assert Predictor.of_arrays({}, "p.") is None


def test_the_linear_model_is_that_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 3))
    answers = (rng.random(300) < probabilities(rows[:, 0] - rows[:, 1])).astype(float)
    ours = fit_linear(rows, answers, np.ones(300), penalty=20.0)
    z = np.clip((rows - rows.mean(axis=0)) / (rows.std(axis=0) + 0.05), -4, 4)
    x = np.concatenate([z, z * z / 4], axis=1)
    theirs = linear_model.LogisticRegression(C=1 / 20, max_iter=5000, tol=1e-8).fit(x, answers)
    assert np.allclose(ours.scores(rows), theirs.decision_function(x), atol=5e-3)


def test_calibration_makes_probabilities_of_logits() -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 2, 4000)
    truths = (rng.random(4000) < probabilities(0.5 * logits + 1)).astype(float)
    scale, shift = calibrate(logits, truths)
    assert scale == pytest.approx(0.5, abs=0.08)
    assert shift == pytest.approx(1, abs=0.12)
    p = probabilities(scale * logits + shift)
    assert calibration_error(p, truths) < 0.03
    # Ten graphs that are all told apart do not make it certain.
    few = np.array([-9.0] * 5 + [9.0] * 5)
    scale, shift = calibrate(few, (few > 0).astype(float))
    assert 0.05 <= scale < 3
    assert abs(shift) < 1
    cut = threshold(p, truths, 0.05)
    assert ((p >= cut) & (truths == 0)).sum() / (truths == 0).sum() <= 0.05
    assert threshold(p, truths, 1.0) < cut
