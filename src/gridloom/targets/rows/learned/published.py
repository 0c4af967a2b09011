"""The published network as an estimator: DGCNN in numpy, so that asking it needs no torch.

The forward pass is that of ``dgcnn_training.Dgcnn``, in its own order: graph convolutions Z = tanh(D~^-1 A~ Z W), all
layers joined, SortPooling to a fixed number of nodes, two one-dimensional convolutions, W + 1 labels. A predicted width
below the bound is raised to it, as published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.learn import weights
from gridloom.partition.width_estimate import WidthEstimate, bound_estimate, check_columns
from gridloom.targets.rows.learned.features import LOAD, OPS, STORE, ArrayShape, GraphFeatures, of_graph

Floats = NDArray[np.float32]

NAME: Final = "dgcnn"
#: What it sees of a node.
FEATURES: Final = ("op", "constant", "input", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNetwork:
    """The parameters of a trained DGCNN, by the names of the torch module."""

    parameters: Mapping[str, Floats]
    #: Nodes that SortPooling keeps.
    kept: int
    #: The array that it was trained for.
    rows: int
    cols: int

    def scores(self, graph: GraphFeatures) -> Floats:
        """Return a score for each label: 0 for 'not mappable', then the widths. About 1 ms."""
        p = self.parameters
        n = len(graph.ops)
        mixed = np.eye(n, dtype=np.float32)
        np.add.at(mixed, (graph.target, graph.source), 1.0)
        np.add.at(mixed, (graph.source, graph.target), 1.0)
        mixed /= mixed.sum(axis=1, keepdims=True)
        z, layers = node_values(graph), []
        k = 0
        while f"convolutions.{k}.weight" in p:
            z = np.tanh(mixed @ (z @ p[f"convolutions.{k}.weight"].T))
            layers.append(z)
            k += 1
        pooled = self._pooled(np.concatenate(layers, axis=1))
        h = np.maximum(pooled @ p["one.weight"].T + p["one.bias"], 0).T
        h = h[:, : h.shape[1] // 2 * 2].reshape(h.shape[0], -1, 2).max(axis=2)
        h = np.maximum(_convolved(h, p["two.weight"], p["two.bias"]), 0)
        h = np.maximum(h.reshape(-1) @ p["dense.weight"].T + p["dense.bias"], 0)
        return np.asarray(h @ p["labels.weight"].T + p["labels.bias"], dtype=np.float32)

    def _pooled(self, values: Floats) -> Floats:
        """SortPooling: the nodes with the largest last value, in that order, with zeros where there are too few."""
        order = np.argsort(-values[:, -1], kind="stable")[: self.kept]
        pooled = np.zeros((self.kept, values.shape[1]), dtype=np.float32)
        pooled[: len(order)] = values[order]
        return pooled


def node_values(graph: GraphFeatures) -> Floats:
    """Return the four published numbers of each node: op code, constant, input, output, scaled to about 1."""
    own = np.zeros((len(graph.ops), 4), dtype=np.float32)
    own[:, 0] = np.where(graph.kinds == 0, (graph.ops + 1) / len(OPS), 0)
    own[:, 1] = graph.values / 65536
    own[:, 2] = graph.kinds == LOAD
    own[:, 3] = graph.kinds == STORE
    return own


def _convolved(values: Floats, weight: Floats, bias: Floats) -> Floats:
    """A one-dimensional convolution of [channel, place] without padding."""
    size = weight.shape[2]
    windows = np.stack([values[:, k : values.shape[1] - size + 1 + k] for k in range(size)], axis=2)
    return np.asarray(np.einsum("cps,ocs->op", windows, weight) + bias[:, None], dtype=np.float32)


def save(path: Path, network: PublishedNetwork, about: Mapping[str, Any]) -> None:
    """Write a network and a description for its model card to a file of weights."""
    known = {"kept": network.kept, "rows": network.rows, "cols": network.cols}
    weights.save_model(path, NAME, network.parameters, {**about, **known}, features=FEATURES)


def load(path: Path | None = None) -> PublishedNetwork:
    """Return the network of a file of weights; None: the shipped one. OptionError for a file that holds none."""
    arrays, about = weights.load_model(path, NAME, features=FEATURES)
    known = {name: int(about[name]) for name in ("kept", "rows", "cols")}
    return PublishedNetwork(parameters=arrays, **known)


class PublishedEstimator:
    """The estimator ``dgcnn``: the published network and the bound; the bound alone for other arrays."""

    name = NAME

    def __init__(self, network: PublishedNetwork) -> None:
        self.network = network

    def estimate(self, dfg: Dfg, arch: Arch) -> WidthEstimate:
        """Return the width; OptionError for an array on which widths mean nothing. Takes about 2 ms."""
        check_columns(arch)
        counted = bound_estimate(dfg, arch)
        if counted.width is None or not self._suits(arch):
            return counted
        shares = self._shares(dfg, arch)
        label = int(np.argmax(shares))
        width = max(label, counted.bound) if label else None
        fits = width is not None and width <= arch.cols
        return WidthEstimate(
            width=width if fits else None,
            bound=counted.bound,
            reason="dgcnn" if fits else "dgcnn: not mappable",
            probability=float(1 - shares[0]),
        )

    def probability(self, dfg: Dfg, arch: Arch, columns: int) -> float | None:
        """Return the share of the labels up to so many columns; None for other arrays than the trained one."""
        counted = bound_estimate(dfg, arch)
        if counted.width is None or counted.bound > columns:
            return 0.0
        return float(self._shares(dfg, arch)[1 : columns + 1].sum()) if self._suits(arch) else None

    def _suits(self, arch: Arch) -> bool:
        return (arch.rows, arch.cols) == (self.network.rows, self.network.cols)

    def _shares(self, dfg: Dfg, arch: Arch) -> Floats:
        scores = self.network.scores(of_graph(dfg, ArrayShape.of(arch)))
        e = np.exp(scores - scores.max())
        return np.asarray(e / e.sum())


@lru_cache(maxsize=1)
def shipped_estimator() -> PublishedEstimator:
    """Return the estimator with the shipped weights, loaded once."""
    return PublishedEstimator(load())
