"""Simple rivals of the learned cost model: a constant, wirelength, rules with fitted numbers, a closed form.

A learned model has to show what it adds to these. Their numbers are fitted here to the same training data; they stand
as constants beside the cost models (`gridloom.targets.dataflow.costs`), so that searches can use them without data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.targets.dataflow.costs.bottleneck import Bottleneck
from gridloom.targets.dataflow.costs.formulas import (
    ClosedForm,
    Heuristic,
    RuleCounts,
    Tuned,
    Wirelength,
    mean_hops,
    measures,
    predict_efficiency,
)
from gridloom.targets.dataflow.costs.load import Decisions, Floats, Pipeline
from gridloom.targets.dataflow.costs.queueing import Queueing
from gridloom.targets.dataflow.learned import data

#: The efficiency that is nearest to the training labels by relative error: the rival that looks at nothing.
CONSTANT: Final = 0.42
#: Where the fit of the rules begins.
_FIRST: Final = RuleCounts(unit=1.0, peak=0.1, load=0.5, longest=0.004, mean=0.01, best=0.9)
#: Predictions within this share of a label count as explained.
EXPLAINED: Final = 0.02


def predictions(pipeline: Pipeline, decisions: Decisions) -> dict[str, Floats]:
    """Return what each rival says of decisions, by name. About as much work as one routing of them."""
    models = (Heuristic(), Tuned(), Wirelength(), ClosedForm(), Bottleneck(), Queueing())
    return {
        "constant": np.full(len(decisions), CONSTANT),
        **{model.name: model.efficiency(pipeline, decisions) for model in models},
    }


def explained_share(predicted_labels: Sequence[Floats], labels: Sequence[Floats]) -> float:
    """Return the share of decisions whose prediction is within 2 % of the label."""
    found, true = np.concatenate(predicted_labels), np.concatenate(labels)
    return float(np.mean(np.abs(found - true) <= EXPLAINED * true))


def fit(samples: Sequence[data.DecisionSample]) -> dict[str, Any]:
    """Return the numbers of constant, wirelength and rules that fit samples best by their mean relative error.

    ``rivals`` has error, rank and share of explained labels of every rival with the numbers that the package has. These
    were chosen by this function. Costs a routing of all samples and some thousand evaluations of the
    rules: some seconds for a thousand decisions.
    """
    rows, hops, labels = [], [], []
    said: dict[str, list[Floats]] = {}
    for item in samples:
        pipeline = data.graph_pipeline(item.family, item.graph, item.era)
        decisions = data.route_places(pipeline, item.places, item.era)
        rows.append(measures(pipeline, decisions))
        hops.append(mean_hops(pipeline, decisions))
        labels.append(item.labels)
        for name, values in predictions(pipeline, decisions).items():
            said.setdefault(name, []).append(values)
    true, length = np.concatenate(labels), np.concatenate(hops)
    grid = np.linspace(0.05, 1.0, 96)
    constant = float(grid[np.argmin([_error(np.full(len(true), value), true) for value in grid])])
    line = _search(lambda x: _error(np.clip(x[0] - x[1] * length, 0.01, 1.0), true), [0.9, 0.02])
    measured = np.concatenate(rows)
    rules = _search(lambda x: _error(predict_efficiency(measured, RuleCounts(*x)), true), list(_FIRST))
    return {
        "decisions": len(true),
        "constant": round(constant, 3),
        "wirelength": {"at_zero": round(line[0], 4), "per_hop": round(line[1], 5)},
        "rules": {name: round(value, 5) for name, value in zip(RuleCounts._fields, rules)},
        "rivals": {
            name: {
                "relative_error": round(_error(np.concatenate(values), true), 4),
                "spearman": round(spearman(np.concatenate(values), true), 4),
                "explained": round(explained_share(values, labels), 4),
            }
            for name, values in said.items()
        },
        "errors": {
            "constant": round(_error(np.full(len(true), constant), true), 4),
            "wirelength": round(_error(np.clip(line[0] - line[1] * length, 0.01, 1.0), true), 4),
            "rules": round(_error(predict_efficiency(measured, RuleCounts(*rules)), true), 4),
        },
    }


def spearman(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return Spearman's rank correlation, with mean ranks for ties; 0 where one side is constant.

    >>> round(spearman(np.array([1, 2, 3]), np.array([10, 30, 20])), 2)
    0.5
    """
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else 0.0


def _ranks(values: NDArray[Any]) -> Floats:
    """The rank of each value; equal values have the mean of their ranks."""
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2.0)[inverse]
    return ranks


def _error(found: Floats, true: Floats) -> float:
    """Return the mean relative error."""
    return float(np.mean(np.abs(found - true) / np.maximum(true, 1e-9)))


def _search(loss: Any, first: list[float], *, rounds: int = 1000, seed: int = 0) -> list[float]:
    """Return the numbers of least loss that random steps of shrinking size find; numbers stay positive."""
    random = np.random.default_rng(seed)
    best, value = np.array(first), loss(first)
    for k in range(rounds * len(first)):
        size = 0.5 * (1 - k / (rounds * len(first))) + 0.01
        step = best * np.exp(size * random.standard_normal(len(best)) * (random.random(len(best)) < 0.5))
        found = loss(step)
        if found < value:
            best, value = step, found
    return [float(item) for item in best]
