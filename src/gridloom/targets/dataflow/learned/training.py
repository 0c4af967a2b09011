"""Training of networks as cost models, on batches of one graph's decisions.

The loss is on the logarithm of the efficiency, because relative errors count. All decisions of a batch are on one
graph: the network then shares the graph's part.
Folds are by graph, so a figure never comes from a graph that was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from gridloom.targets.dataflow.costs.load import Floats
from gridloom.targets.dataflow.learned.samples import GraphSamples
from gridloom.targets.dataflow.learned.torch_models import PipelineTensors, Regressor, Variant, Without

#: Errors of the logarithm below this count by their square.
_SMALL = 0.01
#: Predictions whose standard deviation is less than this count as constant.
_CONSTANT = 1e-3
#: Training starts again in this order until it does not end at a constant: wide first weights or not, largest step.
_STARTS = ((False, 3e-3), (True, 3e-3), (True, 1e-3))


class _Tensors(NamedTuple):
    """The decisions on one graph as torch sees them."""

    graph: PipelineTensors
    features: Tensor
    speeds: Tensor
    labels: Tensor


_known: WeakKeyDictionary[GraphSamples, _Tensors] = WeakKeyDictionary()


def _tensors(group: GraphSamples) -> _Tensors:
    """The tensors of a graph's decisions, which share the memory of its arrays; made once."""
    if group not in _known:
        arrays = (torch.as_tensor(values) for values in (group.features, group.speeds, group.labels))
        _known[group] = _Tensors(PipelineTensors.of(group.pipeline), *arrays)
    return _known[group]


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
        model.standardise([_tensors(group).features for group in groups])
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
            seen = _tensors(group)
            found = model(seen.graph, seen.features[rows], seen.speeds[rows])
            loss = _loss(found, seen.labels[rows])
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
        seen = _tensors(group)
        found = model(seen.graph, seen.features, seen.speeds)
        predicted: Floats = torch.exp(found.clamp(max=0.0)).numpy().astype(np.float64)
    return predicted
