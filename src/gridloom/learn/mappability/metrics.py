"""How good an estimator of mappability and width is, and where its threshold lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A graph, what is true of it and what was said: widths, None for 'not mappable'."""

    true: int | None
    said: int | None
    #: False when counting alone shows that it does not fit.
    open: bool = True
    probability: float | None = None


def metrics(judged: Sequence[Judged]) -> dict[str, Any]:
    """Accuracy, recall and false-positive rate of 'mappable'; exact widths and relative error where both say so."""
    positive = [item for item in judged if item.true is not None]
    negative = [item for item in judged if item.true is None]
    hits = [item for item in positive if item.said is not None]
    false = sum(item.said is not None for item in negative)
    errors = [abs(item.said - item.true) / item.true for item in hits if item.said and item.true]
    return {
        "graphs": len(judged),
        "mappable_share": _share(len(positive), len(judged)),
        "accuracy": _share(len(hits) + len(negative) - false, len(judged)),
        "recall": _share(len(hits), len(positive)),
        "false_positive_rate": _share(false, len(negative)),
        "exact_width": _share(sum(item.said == item.true for item in hits), len(hits)),
        "width_error": round(float(np.mean(errors)), 4) if errors else None,
    }


def _share(count: int, total: int) -> float | None:
    return round(count / total, 4) if total else None


def calibrate(logits: Doubles, truths: Doubles) -> tuple[float, float]:
    """Scale and shift of the logits that make their sigmoid a probability: Platt's, by short Newton steps.

    Both are held near 1 and 0 by a little weight: a few graphs that are all told apart say nothing about the scale.
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
    """The probability from which 'mappable' is said: most accurate at a false-positive rate of at most so much."""
    negatives = max(1.0, float((truths == 0).sum()))
    best, best_accuracy = 0.5, -1.0
    for cut in np.linspace(0.05, 0.95, 91):
        said = probabilities >= cut
        if float((said & (truths == 0)).sum()) / negatives > most_false:
            continue
        accuracy = float((said == (truths == 1)).mean())
        if accuracy > best_accuracy + 1e-12:
            best, best_accuracy = float(cut), accuracy
    return best if best_accuracy >= 0 else 0.95


def calibration_error(judged: Sequence[Judged], bins: int = 10) -> float:
    """The mean distance between a probability and the share of graphs that do map, over bins of probabilities."""
    rows = [(item.probability, item.true is not None) for item in judged if item.probability is not None]
    if not rows:
        return 0.0
    p = np.array([row[0] for row in rows], dtype=np.float64)
    truth = np.array([row[1] for row in rows], dtype=np.float64)
    home = np.minimum((p * bins).astype(int), bins - 1)
    error = sum((home == k).sum() * abs(p[home == k].mean() - truth[home == k].mean()) for k in set(home.tolist()))
    return round(float(error) / len(rows), 4)
