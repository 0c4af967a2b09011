"""Probabilities of scores, and the probability from which an answer counts as yes.

The costs of the two errors differ: a graph that is wrongly called mappable costs a search that fails late, one that is
wrongly refused costs a split that was not needed. The threshold therefore limits the false-positive rate and maximises
accuracy under this limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


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


def calibration_error(probabilities: Doubles, truths: Doubles, bins: int = 10) -> float:
    """Return the mean distance between predicted probability and share of yes, over bins of probability.

    The expected calibration error (Guo et al. 2017): bins are weighted by their answers. 0 of nothing.

    >>> calibration_error(np.array([0.75]), np.array([1.0]))
    0.25
    """
    home = np.minimum((probabilities * bins).astype(int), bins - 1)
    parts = [home == k for k in set(home.tolist())]
    error = sum(part.sum() * abs(probabilities[part].mean() - truths[part].mean()) for part in parts)
    return round(float(error) / max(1, len(truths)), 4)
