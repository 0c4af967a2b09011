"""Gradient-boosted trees: grown with scikit-learn, run on numpy, so that asking them needs neither it nor torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.errors import MissingExtra, install_hint

#: The arrays of a forest, by the names under which they are kept in files of weights.
ARRAYS: Final = ("feature", "threshold", "left", "right", "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestSettings:
    """How many trees are grown, and how."""

    trees: int = 60
    rate: float = 0.1
    depth: int = 2
    #: The share of rows that a tree is grown on, and of features that a split looks at.
    rows: float = 0.7
    features: float = 0.3
    #: The fewest rows in a leaf.
    leaf: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSettings:
    """How trees that predict numbers are grown: the best leaf of a tree is split until there are so many leaves."""

    trees: int = 150
    rate: float = 0.07
    leaves: int = 31
    #: The share of features that a split looks at.
    features: float = 0.3
    #: The fewest rows in a leaf.
    leaf: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Boosted trees as arrays [tree, node]; a leaf points at itself."""

    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    value: NDArray[np.float32]
    #: The score before the first tree, and the depth of the deepest tree.
    start: float
    depth: int

    def scores(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return the score of each row [row, feature]: a number, or the logarithm of the odds that an answer is yes."""
        trees = np.arange(len(self.feature))
        at_node = np.zeros((len(rows), len(self.feature)), dtype=np.int16)
        for _ in range(self.depth):
            asked = np.take_along_axis(rows, self.feature[trees, at_node].astype(np.int64), axis=1)
            goes_left = asked <= self.threshold[trees, at_node]
            at_node = np.where(goes_left, self.left[trees, at_node], self.right[trees, at_node])
        return np.asarray(self.start + self.value[trees, at_node].sum(axis=1, dtype=np.float64))

    def plus(self, other: Forest) -> Forest:
        """Return the forest whose scores are the sums of both."""
        size = max(self.feature.shape[1], other.feature.shape[1])

        def joined(name: str) -> NDArray[Any]:
            both = (getattr(self, name), getattr(other, name))
            return np.concatenate([np.pad(part, ((0, 0), (0, size - part.shape[1]))) for part in both])

        arrays: dict[str, Any] = {name: joined(name) for name in ARRAYS}
        return Forest(**arrays, start=self.start + other.start, depth=max(self.depth, other.depth))

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the trees as arrays for a file of weights, each name behind a prefix."""
        plain = {f"{prefix}{name}": getattr(self, name) for name in ARRAYS}
        return {**plain, f"{prefix}start": np.array([self.start, self.depth], dtype=np.float32)}


def _scikit() -> Any:
    """The ensembles of scikit-learn; MissingExtra without it."""
    try:
        from sklearn import ensemble
    except ImportError:
        raise MissingExtra(
            f"growing trees needs scikit-learn, which is not installed: {install_hint('learn')}"
        ) from None
    return ensemble


def grow_forest(
    rows: NDArray[Any], answers: NDArray[Any], weight: NDArray[Any], settings: ForestSettings, seed: int
) -> Forest:
    """Return trees that are grown on questions [row, feature] with answers 0 and 1. Some seconds for a few thousand.

    Where all answers are the same there are no trees, only a score. MissingExtra without scikit-learn.
    """
    ensemble = _scikit()
    if answers.min() == answers.max():
        return _constant(float(answers[0]), len(answers))
    model = ensemble.GradientBoostingClassifier(
        n_estimators=settings.trees,
        learning_rate=settings.rate,
        max_depth=settings.depth,
        subsample=settings.rows,
        max_features=settings.features,
        min_samples_leaf=settings.leaf,
        random_state=seed,
    )
    model.fit(rows.astype(np.float32), answers, sample_weight=weight)
    prior = float(np.average(answers, weights=weight))
    return _exported(model, float(np.log(prior / (1 - prior))), settings)


def grow_numbers(rows: NDArray[Any], numbers: NDArray[Any], settings: NumberSettings, seed: int) -> Forest:
    """Return trees that predict numbers from rows [row, feature] with the least mean absolute error.

    Features are read as 32-bit numbers. Some seconds for a few thousand rows of some hundred features. MissingExtra
    without scikit-learn.
    """
    ensemble = _scikit()
    model = ensemble.HistGradientBoostingRegressor(
        loss="absolute_error",
        max_iter=settings.trees,
        learning_rate=settings.rate,
        max_leaf_nodes=settings.leaves,
        max_features=settings.features,
        min_samples_leaf=settings.leaf,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
    model.fit(rows.astype(np.float32), numbers)
    return _of_histograms([stage[0].nodes for stage in model._predictors], float(model._baseline_prediction.item()))


def _of_histograms(grown: Sequence[Any], start: float) -> Forest:
    """The trees of a histogram model of scikit-learn, as tables of nodes, in padded arrays."""
    shape = (len(grown), max((len(nodes) for nodes in grown), default=1))
    feature, left, right = (np.zeros(shape, dtype=np.int16) for _ in range(3))
    threshold, value = (np.zeros(shape, dtype=np.float32) for _ in range(2))
    for k, nodes in enumerate(grown):
        n, own, leaf = len(nodes), np.arange(len(nodes)), nodes["is_leaf"] == 1
        feature[k, :n] = np.where(leaf, 0, nodes["feature_idx"])
        threshold[k, :n] = _rounded_down(np.where(leaf, 0.0, nodes["num_threshold"]))
        left[k, :n] = np.where(leaf, own, nodes["left"])
        right[k, :n] = np.where(leaf, own, nodes["right"])
        value[k, :n] = nodes["value"]
    depth = max((int(nodes["depth"].max()) for nodes in grown), default=0)
    return Forest(feature=feature, threshold=threshold, left=left, right=right, value=value, start=start, depth=depth)


def _rounded_down(thresholds: NDArray[Any]) -> NDArray[np.float32]:
    """Thresholds in 32 bits that no feature of 32 bits falls on the other side of."""
    near = thresholds.astype(np.float32)
    return np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)


def _constant(answer: float, count: int) -> Forest:
    """No trees: the answer was the same for so many questions, and one more of each kind keeps the odds finite."""
    counters, numbers = np.zeros((0, 1), dtype=np.int16), np.zeros((0, 1), dtype=np.float32)
    start = float(np.log((count * answer + 1) / (count * (1 - answer) + 1)))
    return Forest(
        feature=counters, threshold=numbers, left=counters, right=counters, value=numbers, start=start, depth=0
    )


def _exported(model: Any, start: float, settings: ForestSettings) -> Forest:
    """The trees of a scikit-learn model as padded arrays."""
    grown = [stage[0].tree_ for stage in model.estimators_]
    size = max(tree.node_count for tree in grown)
    shape = (len(grown), size)
    feature, left, right = (np.zeros(shape, dtype=np.int16) for _ in range(3))
    threshold, value = (np.zeros(shape, dtype=np.float32) for _ in range(2))
    for k, tree in enumerate(grown):
        n, own = tree.node_count, np.arange(tree.node_count)
        leaf = tree.children_left < 0
        feature[k, :n] = np.where(leaf, 0, tree.feature)
        threshold[k, :n] = _rounded_down(np.where(leaf, 0.0, tree.threshold))
        left[k, :n] = np.where(leaf, own, tree.children_left)
        right[k, :n] = np.where(leaf, own, tree.children_right)
        value[k, :n] = settings.rate * tree.value[:, 0, 0]
    return Forest(
        feature=feature, threshold=threshold, left=left, right=right, value=value, start=start, depth=settings.depth
    )


def forest_of_arrays(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Forest:
    """Return the forest that :meth:`Forest.to_arrays` has turned into arrays."""
    start, depth = arrays[f"{prefix}start"].tolist()
    known: dict[str, Any] = {name: arrays[f"{prefix}{name}"] for name in ARRAYS}
    return Forest(**known, start=start, depth=int(depth))
