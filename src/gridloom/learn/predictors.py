"""Scores from rows of features: linear models with squares, boosted trees, and sums of both; they run on numpy.

A score is a number, or the logarithm of the odds that an answer is yes. :func:`fit_linear` needs numpy alone, and
:func:`fit_trees` scikit-learn. A sum begins with a model that was trained elsewhere and corrects it by a linear one, so
that a few labels of a new array are enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from gridloom.learn.boosted import Forest, ForestSettings, forest_of_arrays, grow_forest

Doubles = NDArray[np.float64]
Kind = Literal["linear", "trees"]

#: Features are limited to so many spreads; further out they say no more.
_LIMIT: Final = 4.0
#: What is added to the spread of a feature, which may be the same everywhere.
_NO_SPREAD: Final = 0.05
#: Newton steps of the logistic fit.
_STEPS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A linear model of features and their squares."""

    mean: NDArray[Any]
    spread: NDArray[Any]
    #: One number for each feature, then one for each square, then the constant.
    weight: NDArray[Any]

    def scores(self, rows: NDArray[Any]) -> Doubles:
        """Return the score of each row [row, feature]."""
        return np.asarray(_columns(rows, self.mean, self.spread) @ self.weight, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Predictor:
    """The sum of the scores of its parts."""

    parts: tuple[Linear | Forest, ...]

    def scores(self, rows: NDArray[Any]) -> Doubles:
        """Return the score of each row [row, feature]."""
        return np.asarray(np.sum([part.scores(rows) for part in self.parts], axis=0), dtype=np.float64)

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the parts as arrays for a file of weights, each name behind a prefix."""
        arrays: dict[str, NDArray[Any]] = {}
        for k, part in enumerate(self.parts):
            if isinstance(part, Forest):
                arrays |= part.to_arrays(f"{prefix}{k}.")
            else:
                arrays |= {f"{prefix}{k}.{name}": getattr(part, name) for name in ("mean", "spread", "weight")}
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Predictor | None:
        """Return the predictor that :meth:`to_arrays` has turned into arrays; None: there is none of that prefix."""
        parts: list[Linear | Forest] = []
        while (at := f"{prefix}{len(parts)}.") + "weight" in arrays or f"{at}value" in arrays:
            if f"{at}value" in arrays:
                parts.append(forest_of_arrays(arrays, at))
            else:
                parts.append(Linear(**{name: arrays[f"{at}{name}"] for name in ("mean", "spread", "weight")}))
        return cls(tuple(parts)) if parts else None


def _columns(rows: NDArray[Any], mean: NDArray[Any], spread: NDArray[Any]) -> Doubles:
    """Features on one scale, their squares, and a one."""
    z = np.clip((np.asarray(rows, dtype=np.float64) - mean) / spread, -_LIMIT, _LIMIT)
    return np.concatenate([z, z * z / 4, np.ones((len(z), 1))], axis=1)


def probabilities(scores: NDArray[Any]) -> Doubles:
    """Return the probabilities that scores stand for.

    >>> probabilities(np.array([0.0])).tolist()
    [0.5]
    """
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -60, 60))), dtype=np.float64)


def fit_linear(
    rows: NDArray[Any],
    answers: NDArray[Any],
    weight: NDArray[Any],
    *,
    penalty: float = 20.0,
    start: Predictor | None = None,
) -> Predictor:
    """Return a logistic model of questions [row, feature] with answers 0 and 1, by Newton steps on a ridge penalty.

    With ``start`` it corrects the scores of another predictor. Seconds for ten thousand rows of a hundred features.
    """
    rows = np.asarray(rows, dtype=np.float64)
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + _NO_SPREAD
    x = _columns(rows, mean, spread)
    offset = np.zeros(len(x)) if start is None else start.scores(rows)
    # The constant is hardly held: how frequent an answer is may differ from array to array.
    ridge = np.full(x.shape[1], penalty)
    ridge[-1] = 1e-2
    solved = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        p = probabilities(offset + x @ solved)
        gradient = x.T @ (weight * (p - answers)) + ridge * solved
        hessian = (x.T * (weight * p * (1 - p))) @ x + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 4.0 / max(1e-12, float(np.abs(step).max())))
        solved -= step
        if float(np.abs(step).max()) < 1e-6:
            break
    own = Linear(mean=mean.astype(np.float32), spread=spread.astype(np.float32), weight=solved.astype(np.float32))
    return Predictor((*(() if start is None else start.parts), own))


def fit_trees(
    rows: NDArray[Any], answers: NDArray[Any], weight: NDArray[Any], settings: ForestSettings, seed: int
) -> Predictor:
    """Return boosted trees of questions with answers 0 and 1; MissingExtra without scikit-learn."""
    return Predictor((grow_forest(rows, answers, weight, settings, seed),))
