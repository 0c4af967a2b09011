"""Metrics of an estimator of mappability and width, its calibration, and the choice of its threshold.

'Positive' is 'mappable'. The costs of the two errors differ: a graph that is wrongly called mappable costs a search
that fails late, one that is wrongly refused costs a split that was not needed. So the threshold limits the
false-positive rate and maximises accuracy under this limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedWidth:
    """The actual and the predicted width of a graph; None stands for 'not mappable'.

    Which graph it is does not matter to the figures. ``probability`` is None for models that give none.
    """

    actual: int | None
    predicted: int | None
    #: False when counting alone shows that it does not fit.
    open: bool = True
    #: True when the rows that it needs prove that it does not fit.
    proved: bool = False
    probability: float | None = None


def metrics(judged: Sequence[JudgedWidth]) -> dict[str, Any]:
    """Return accuracy, recall and false-positive rate of 'mappable', and the errors of widths.

    Widths are compared on the graphs that map and are predicted to map.

    Shares are rounded to four digits and None where they are over nothing. ``width_error`` is the mean error relative
    to the actual width.

    >>> widths = [(3, 3), (4, None), (None, None)]
    >>> told = [JudgedWidth(actual=actual, predicted=predicted) for actual, predicted in widths]
    >>> figures = metrics(told)
    >>> figures["accuracy"], figures["recall"], figures["false_positive_rate"], figures["exact_width"]
    (0.6667, 0.5, 0.0, 1.0)
    """
    positive = [item for item in judged if item.actual is not None]
    negative = [item for item in judged if item.actual is None]
    hits = [item for item in positive if item.predicted is not None]
    false = sum(item.predicted is not None for item in negative)
    errors = [abs(item.predicted - item.actual) / item.actual for item in hits if item.predicted and item.actual]
    return {
        "graphs": len(judged),
        "mappable_share": _share(len(positive), len(judged)),
        "accuracy": _share(len(hits) + len(negative) - false, len(judged)),
        "recall": _share(len(hits), len(positive)),
        "false_positive_rate": _share(false, len(negative)),
        "exact_width": _share(sum(item.predicted == item.actual for item in hits), len(hits)),
        "width_error": round(float(np.mean(errors)), 4) if errors else None,
    }


def _share(count: int, total: int) -> float | None:
    return round(count / total, 4) if total else None


def calibrate(logits: Doubles, truths: Doubles) -> tuple[float, float]:
    """Return scale and shift of the logits that make their sigmoid a probability (Platt scaling, by Newton steps).

    A small prior holds them near 1 and 0, since a few graphs that are all separated say nothing about the scale.

    ``truths`` are 0 or 1. Steps are limited to 0.3, which keeps Newton's method from overshooting where nearly all
    graphs are on one side. Platt 1999.
    """
    scale, shift = 1.0, 0.0
    for _ in range(200):
        p = 1 / (1 + np.exp(-np.clip(scale * logits + shift, -40, 40)))
        weight = p * (1 - p)
        gradient = np.array([((p - truths) * logits).sum() + 2 * (scale - 1), (p - truths).sum() + shift])
        cross = (weight * logits).sum()
        hessian = np.array([[(weight * logits**2).sum() + 2, cross], [cross, weight.sum() + 1]])
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 0.3 / max(1e-12, float(np.abs(step).max())))
        scale, shift = max(0.05, scale - float(step[0])), shift - float(step[1])
        if np.abs(step).max() < 1e-7:
            break
    return scale, shift


def threshold(probabilities: Doubles, truths: Doubles, most_false: float) -> float:
    """Return the probability from which a graph counts as mappable.

    It is the most accurate one with a false-positive rate of at most ``most_false``, found by trying 91 of them; 0.95
    where none of them keeps that rate.

    >>> threshold(np.array([0.2, 0.6, 0.7, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]), most_false=0.0) > 0.6
    True
    """
    negatives = max(1.0, float((truths == 0).sum()))
    best, best_accuracy = 0.5, -1.0
    for cut in np.linspace(0.05, 0.95, 91):
        positive = probabilities >= cut
        if float((positive & (truths == 0)).sum()) / negatives > most_false:
            continue
        accuracy = float((positive == (truths == 1)).mean())
        if accuracy > best_accuracy + 1e-12:
            best, best_accuracy = float(cut), accuracy
    return best if best_accuracy >= 0 else 0.95


def calibration_error(judged: Sequence[JudgedWidth], bins: int = 10) -> float:
    """Return the mean distance between predicted probability and share of graphs that map, over bins of probability.

    The expected calibration error (Guo et al. 2017): bins are weighted by their graphs. 0 where no probability is
    known.

    >>> calibration_error([JudgedWidth(actual=3, predicted=3, probability=0.75)])
    0.25
    """
    rows = [(item.probability, item.actual is not None) for item in judged if item.probability is not None]
    if not rows:
        return 0.0
    p = np.array([row[0] for row in rows], dtype=np.float64)
    truth = np.array([row[1] for row in rows], dtype=np.float64)
    home = np.minimum((p * bins).astype(int), bins - 1)
    error = sum((home == k).sum() * abs(p[home == k].mean() - truth[home == k].mean()) for k in set(home.tolist()))
    return round(float(error) / len(rows), 4)
