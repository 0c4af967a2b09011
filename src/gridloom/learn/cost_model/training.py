"""Training of cost models on batches of one graph's decisions, folds by graph, errors and rank correlations.

The loss is on the logarithm of the efficiency, because relative errors count. All decisions of a batch are on one
graph: the network then shares the graph's part.
Folds are by graph, so a figure never comes from a graph that was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gridloom.estimate.dataflow import Floats, Pipeline
from gridloom.learn.cost_model import data
from gridloom.learn.cost_model.inference import inputs
from gridloom.learn.cost_model.rivals import explained, spearman
from gridloom.learn.cost_model.rivals import predictions as predictions_of_rivals
from gridloom.learn.cost_model.torch_models import Graph, Regressor, Variant, Without
from gridloom.learn.cost_model.trees import Singles, pooled

#: Errors of the logarithm below this count by their square.
_SMALL = 0.01
#: Predictions whose standard deviation is less than this count as constant.
_CONSTANT = 1e-3
#: Training starts again in this order until it does not end at a constant: wide first weights or not, largest step.
_STARTS = ((False, 3e-3), (True, 3e-3), (True, 1e-3))


@dataclass(frozen=True, kw_only=True)
class GraphSamples:
    """All decisions on one graph.

    ``features`` is [decision, flow, feature], ``speeds`` [decision, formula], ``labels`` and ``heuristic`` have one
    number per decision, all in one order.
    """

    family: str
    name: str
    graph: Graph
    pipeline: Pipeline
    features: Tensor
    speeds: Tensor
    labels: Tensor
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
        return np.asarray(self.labels.numpy(), dtype=np.float64)


def by_graph(samples: Sequence[data.Sample]) -> list[GraphSamples]:
    """Return the samples by graph, routed and with their features. About half a millisecond per decision."""
    collected: dict[tuple[str, tuple[tuple[str, int], ...], data.Era], list[data.Sample]] = {}
    for item in samples:
        collected.setdefault((item.family, item.graph, item.era), []).append(item)
    by_pipeline = []
    for (family, parameters, era), items in collected.items():
        pipeline = data.graph_pipeline(family, parameters, era)
        decisions = data.routed(pipeline, np.concatenate([item.places for item in items]), era)
        edges, speeds = inputs(pipeline, decisions)
        by_pipeline.append(
            GraphSamples(
                family=family,
                name=",".join([family, *(f"{key}={value}" for key, value in parameters)]),
                graph=Graph.of(pipeline),
                pipeline=pipeline,
                features=torch.as_tensor(edges),
                speeds=torch.as_tensor(speeds),
                pooled=pooled(edges, speeds),
                labels=torch.as_tensor(np.concatenate([item.labels for item in items]), dtype=torch.float32),
                rivals=predictions_of_rivals(pipeline, decisions),
            )
        )
    return by_pipeline


def fold_of(groups: Sequence[GraphSamples], folds: int) -> list[int]:
    """Return the fold of each graph: the graphs of a family go to the folds in turn, so every fold has all families."""
    seen: dict[str, int] = {}
    result = []
    for group in groups:
        result.append(seen.setdefault(group.family, 0) % folds)
        seen[group.family] += 1
    return result


def train(
    groups: Sequence[GraphSamples],
    *,
    variant: Variant = "sharing",
    without: Without = "nothing",
    epochs: int = 20,
    batch: int = 16,
    width: int = 24,
    layers: int = 2,
    seed: int = 0,
    told: Callable[[float], bool] = lambda _share: False,
) -> Regressor:
    """Return a regressor trained on these graphs with Adam.

    The loss is the error of the logarithm. Small batches make more steps of the same work, which counts here. With few
    decisions training may end at a constant because all rectifiers are at 0: then it starts again with wider
    weights, and a third time with smaller steps. ``told`` is called with the share that is done and ends the training
    when it returns True.

    Deterministic for a seed. It sets torch to one thread. Cost: linear in decisions times flows times epochs.
    """
    torch.set_num_threads(1)
    ended = False

    def heard(share: float) -> bool:
        nonlocal ended
        ended = told(share)
        return ended

    for wide, rate in _STARTS:
        torch.manual_seed(seed)
        model = Regressor(variant, without, width, layers)
        model.start(wide=wide)
        model.standardise([group.features for group in groups])
        _train(model, groups, epochs, batch, rate, np.random.default_rng(seed), heard)
        # A training that was ended early may be constant for want of steps, and another start would be ended as well.
        if ended or not _constant(model, groups):
            break
    return model


def _constant(model: Regressor, groups: Sequence[GraphSamples]) -> bool:
    """Whether a model says nearly the same for all decisions: its rectifiers have died."""
    said = np.concatenate([predictions(model, group) for group in groups])
    return float(said.std()) < _CONSTANT


def _train(
    model: Regressor, groups: Sequence[GraphSamples], epochs: int, batch: int, rate: float, random: np.random.Generator,
    told: Callable[[float], bool],
) -> None:  # fmt: skip
    """Train a model with Adam and a one-cycle schedule of the learning rate."""
    steps = epochs * sum(-(-len(group.labels) // batch) for group in groups)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate / 2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps + 1)
    done = 0
    for _ in range(epochs):
        for group, rows in _batches(groups, batch, random):
            found = model(group.graph, group.features[rows], group.speeds[rows])
            loss = _loss(found, group.labels[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            done += 1
        if told(done / steps):
            break
    model.eval()


def _batches(
    groups: Sequence[GraphSamples], size: int, random: np.random.Generator
) -> list[tuple[GraphSamples, Tensor]]:
    """All batches of one pass in random order; a batch has decisions of one graph."""
    listed = []
    for group in groups:
        order = random.permutation(len(group.labels))
        listed += [(group, torch.as_tensor(order[k : k + size])) for k in range(0, len(order), size)]
    return [listed[k] for k in random.permutation(len(listed))]


def _loss(found: Tensor, labels: Tensor) -> Tensor:
    """The smooth L1 error of the logarithm of the efficiency."""
    error = found - torch.log(labels.clamp(min=1e-3))
    return nn.functional.smooth_l1_loss(error, torch.zeros_like(error), beta=_SMALL)


def predictions(model: Regressor, group: GraphSamples) -> Floats:
    """Return what a regressor predicts for a graph's decisions."""
    with torch.no_grad():
        found = model(group.graph, group.features, group.speeds)
        predicted: Floats = torch.exp(found.clamp(max=0.0)).numpy().astype(np.float64)
    return predicted


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
        "explained": round(explained([predicted], [labels]), 4),
    }
