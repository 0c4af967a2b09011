"""Labelled graphs with their features, folds of them, and what networks, rows and bounds say of them.

No family is both trained on and measured on. Nothing here needs torch or scikit-learn.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridloom.targets.rows.learned.data import LabelledGraph, array, is_main
from gridloom.targets.rows.learned.features import ArrayShape, GraphFeatures, of_row
from gridloom.targets.rows.learned.inference import WidthNetwork
from gridloom.targets.rows.learned.metrics import JudgedWidth, calibrate, threshold
from gridloom.targets.rows.learned.random_graphs import group_of


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How long a network is trained, and in what steps."""

    #: Passes over the samples, and samples per step.
    epochs: int = 20
    batch: int = 64
    #: The highest learning rate.
    rate: float = 3e-3


@dataclass(frozen=True, kw_only=True)
class MemberSettings(FitSettings):
    """Size and training of one member of our network."""

    #: Values per node, rounds of messages, and values of the layers behind the pooling.
    width: int = 24
    layers: int = 2
    hidden: int = 48
    dropout: float = 0.25


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(MemberSettings):
    """Size and training of our network: several members, whose outputs are averaged."""

    members: int = 5
    #: The highest false-positive rate, on the families that a member was not trained on.
    most_false: float = 0.03


@dataclass(frozen=True, kw_only=True)
class DgcnnSettings(FitSettings):
    """Size and training of DGCNN."""

    channels: int = 32
    layers: int = 3
    #: How many nodes SortPooling keeps.
    kept: int = 30
    dropout: float = 0.5
    epochs: int = 40
    rate: float = 1e-3


@dataclass(frozen=True, kw_only=True)
class GraphSample:
    """A labelled graph with its features."""

    row: LabelledGraph
    graph: GraphFeatures


def samples_of(rows: Sequence[LabelledGraph]) -> list[GraphSample]:
    """Return the rows that counting does not decide, with features for the array of each. About 1 ms per row."""
    shapes = {spec: ArrayShape.of(array(spec)) for spec in {row.arch for row in rows}}
    return [GraphSample(row=row, graph=of_row(row, shapes[row.arch])) for row in rows if row.decided != "bound"]


def folds_of(samples: Sequence[GraphSample], folds: int, seed: int) -> list[list[GraphSample]]:
    """Return the samples by fold; a family, and all parts of a kernel, are in one fold only, whatever the array.

    Groups of the main array are shuffled and dealt out, further ones go by their number: which other arrays there are
    does not move any of them.
    """
    groups = sorted({group_of(sample.row.family) for sample in samples if is_main(sample.row)})
    random.Random(seed).shuffle(groups)
    home = {group: k % folds for k, group in enumerate(groups)}
    by_fold: list[list[GraphSample]] = [[] for _ in range(folds)]
    for sample in samples:
        group = group_of(sample.row.family)
        by_fold[home.get(group, zlib.crc32(group.encode()) % folds)].append(sample)
    return by_fold


def asked_folds(samples: Sequence[GraphSample], settings: NetworkSettings, seed: int) -> list[list[GraphSample]]:
    """The samples that a network is asked about, by the member that is trained without them."""
    return folds_of([s for s in samples if not s.graph.too_high], max(2, settings.members), seed + 1)


def calibrate_network(
    network: WidthNetwork, samples: Sequence[GraphSample], settings: NetworkSettings, seed: int
) -> WidthNetwork:
    """Return a network with calibration and threshold from what each member says of the samples it was not trained on.

    ``samples``, ``settings`` and ``seed`` are those that it was trained with.
    """
    folds = asked_folds(samples, settings, seed)[: settings.members]
    held = [[sample for sample in fold if is_main(sample.row)] for fold in folds]
    logits: list[float] = []
    for k, fold in enumerate(held):
        alone = replace(network, members=network.members[k : k + 1], forests=network.forests[k : k + 1])
        logits += [alone.predict(sample.graph).logit for sample in fold]
    held_logits = np.array(logits)
    truths = np.array([float(sample.row.width is not None) for fold in held for sample in fold])
    scale, shift = calibrate(held_logits, truths)
    probabilities = 1 / (1 + np.exp(-np.clip(scale * held_logits + shift, -60, 60)))
    return replace(network, scale=scale, shift=shift, threshold=threshold(probabilities, truths, settings.most_false))


def judge_width(sample: GraphSample, width: int | None, probability: float | None = None) -> JudgedWidth:
    """Return a predicted width beside the label."""
    return JudgedWidth(actual=sample.row.width, predicted=width, probability=probability, proved=sample.graph.too_high)


def judge_network(network: WidthNetwork, samples: Sequence[GraphSample]) -> list[JudgedWidth]:
    """Return what our network predicts for samples, also on arrays outside those it was trained for."""
    return [judge_width(sample, *network.judge(sample.graph)) for sample in samples]


def judge_bound(samples: Sequence[GraphSample]) -> list[JudgedWidth]:
    """Return what counting alone predicts for samples that it does not decide: they map, at the bound."""
    return [judge_width(sample, sample.row.bound) for sample in samples]


def judge_rows(samples: Sequence[GraphSample]) -> list[JudgedWidth]:
    """Return what counting and the rows that ops need predict together, without any learning."""
    return [judge_width(s, None if s.graph.too_high else max(s.row.bound, s.graph.least_columns)) for s in samples]
