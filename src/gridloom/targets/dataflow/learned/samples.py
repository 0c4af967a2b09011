"""The decisions of a data set by graph, with all that cost models see of them, and the figures that judge predictions.

Nothing here needs torch or scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridloom.targets.dataflow.costs.load import Floats, Pipeline
from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.learned.inference import inputs
from gridloom.targets.dataflow.learned.rivals import explained_share, spearman
from gridloom.targets.dataflow.learned.rivals import predictions as predictions_of_rivals
from gridloom.targets.dataflow.learned.trees import Singles, pool_features


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphSamples:
    """All decisions on one graph.

    ``features`` is [decision, flow, feature], ``speeds`` [decision, formula], ``labels`` and ``heuristic`` have one
    number per decision, all in one order.
    """

    family: str
    name: str
    pipeline: Pipeline
    features: Singles
    speeds: Singles
    labels: Singles
    #: [decision, column] -> what trees see.
    pooled: Singles
    #: What the simple rivals predict, by name, and among them the hand-written cost model.
    rivals: dict[str, Floats]

    @property
    def heuristic(self) -> Floats:
        """What the hand-written cost model predicts."""
        return self.rivals["heuristic"]

    @property
    def efficiencies(self) -> Floats:
        """The labels as numbers of 64 bits."""
        return np.asarray(self.labels, dtype=np.float64)


def by_graph(samples: Sequence[data.DecisionSample]) -> list[GraphSamples]:
    """Return the samples by graph, routed and with their features. About half a millisecond per decision."""
    collected: dict[tuple[str, tuple[tuple[str, Any], ...], data.Era], list[data.DecisionSample]] = {}
    for item in samples:
        collected.setdefault((item.family, item.graph, item.era), []).append(item)
    by_pipeline = []
    for (family, parameters, era), items in collected.items():
        pipeline = data.graph_pipeline(family, parameters, era)
        decisions = data.route_places(pipeline, np.concatenate([item.places for item in items]), era)
        edges, speeds = inputs(pipeline, decisions)
        by_pipeline.append(
            GraphSamples(
                family=family,
                name=",".join([family, *(f"{key}={value}" for key, value in parameters if key != "dfg")]),
                pipeline=pipeline,
                features=edges,
                speeds=speeds,
                pooled=pool_features(edges, speeds),
                labels=np.concatenate([item.labels for item in items]).astype(np.float32),
                rivals=predictions_of_rivals(pipeline, decisions),
            )
        )
    return by_pipeline


def fold_of(groups: Sequence[GraphSamples], folds: int) -> list[int]:
    """Return the fold of each graph: the graphs of a family go to the folds in turn, so every fold has all families.

    Where each family has one graph, all graphs take turns.
    """
    seen: dict[str, int] = {}
    result = []
    for group in groups:
        result.append(seen.setdefault(group.family, 0) % folds)
        seen[group.family] += 1
    return result if max(result, default=0) else [k % folds for k in range(len(groups))]


def figures(predicted: Sequence[Floats], groups: Sequence[GraphSamples]) -> dict[str, Any]:
    """Return relative error and rank correlation over all decisions, by family, and the mean within graphs.

    ``predicted`` has one array per graph, in the order of ``groups``. Ranks within graphs matter most for a search,
    which compares placements of one graph; over all decisions a model that only recognises graphs ranks well too.
    """
    labels = [group.efficiencies for group in groups]
    whole = _figures(np.concatenate(list(predicted)), np.concatenate(labels))
    families = {}
    for family in dict.fromkeys(group.family for group in groups):
        mine = [k for k, group in enumerate(groups) if group.family == family]
        families[family] = _figures(
            np.concatenate([predicted[k] for k in mine]), np.concatenate([labels[k] for k in mine])
        )
    # A graph that runs at one speed wherever it is placed has nothing to rank.
    inside = [spearman(predicted[k], labels[k]) for k in range(len(groups)) if np.ptp(labels[k]) > 0]
    within = round(float(np.mean(inside)), 4) if inside else 0.0
    return {**whole, "spearman_within_graphs": within, "families": families}


def _figures(predicted: Floats, labels: Floats) -> dict[str, float]:
    error = float(np.mean(np.abs(predicted - labels) / np.maximum(labels, 1e-6)))
    return {
        "relative_error": round(error, 4),
        "spearman": round(spearman(predicted, labels), 4),
        "explained": round(explained_share([predicted], [labels]), 4),
    }
