"""Boosted trees on numpy are those of scikit-learn, and survive a file of weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gridloom.learn import weights
from gridloom.learn.boosted import ForestSettings, NumberSettings, forest_of_arrays, grow_forest, grow_numbers
from gridloom.targets.dataflow.learned.pooling_kernel import tree_scores

ROWS = np.random.default_rng(1).normal(size=(300, 5)).astype(np.float32)
ANSWERS = (ROWS[:, 1] * ROWS[:, 3] > 0.1).astype(np.int64)
SETTINGS = ForestSettings(trees=30, depth=3, rate=0.2)


def test_scores_are_those_of_scikit_learn() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    forest = grow_forest(ROWS, ANSWERS, np.ones(300), SETTINGS, 7)
    model = ensemble.GradientBoostingClassifier(
        n_estimators=30, max_depth=3, learning_rate=0.2, subsample=0.7, max_features=0.3, min_samples_leaf=5,
        random_state=7,
    ).fit(ROWS, ANSWERS)  # fmt: skip
    assert forest.scores(ROWS) == pytest.approx(model.decision_function(ROWS), abs=1e-4)
    assert np.mean((forest.scores(ROWS) > 0) == ANSWERS) > 0.9


def test_a_forest_comes_back_from_a_file(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    forest = grow_forest(ROWS, ANSWERS, np.ones(300), SETTINGS, 7)
    weights.save(tmp_path / "f.npz", forest.to_arrays("a."), {"model": "x"})
    again = forest_of_arrays(weights.load(tmp_path / "f.npz")[0], "a.")
    assert np.allclose(again.scores(ROWS), forest.scores(ROWS), atol=1e-6)


@pytest.mark.parametrize(("answer", "sign"), [(0, -1), (1, 1)])
def test_equal_answers_need_no_trees(answer: int, sign: int) -> None:
    pytest.importorskip("sklearn")
    forest = grow_forest(ROWS, np.full(300, answer), np.ones(300), SETTINGS, 7)
    assert forest.scores(ROWS[:2]).tolist() == pytest.approx([sign * np.log(301)] * 2)


def test_numbers_are_those_of_scikit_learn_on_numpy_and_compiled() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    numbers = ROWS[:, 0] - np.abs(ROWS[:, 2])
    forest = grow_numbers(ROWS, numbers, NumberSettings(trees=20, leaves=9), 3)
    model = ensemble.HistGradientBoostingRegressor(
        loss="absolute_error", max_iter=20, learning_rate=0.07, max_leaf_nodes=9, max_features=0.3,
        min_samples_leaf=8, l2_regularization=1.0, early_stopping=False, random_state=3,
    ).fit(ROWS, numbers)  # fmt: skip
    expected = model.predict(ROWS)
    assert forest.scores(ROWS) == pytest.approx(expected, abs=1e-5)
    compiled = tree_scores(
        ROWS, forest.feature, forest.threshold, forest.left, forest.right, forest.value, forest.start
    )
    assert compiled == pytest.approx(expected, abs=1e-5)
