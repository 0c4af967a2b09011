"""The shipped mappability estimator: message passing along the edges in numpy, so that its use needs no torch.

Messages run both ways along the edges, with weights of their own for producers and readers. The nodes are pooled and
joined with the global features of graph and array, which also reach the output directly. There are two heads: whether
the graph maps, and how many columns more than the bound it needs. The first is calibrated on graphs that were not
trained on, and its threshold is chosen there. To its logit the score of boosted trees on the global features is added:
the two err on different graphs.

A member is a mapping from parameter names to arrays, with the names of the torch module, so that ``forward`` here and
``torch_models.MessagePassing`` can be read side by side; a test holds their outputs against each other. Graphs have up
to about a hundred nodes, so messages are products with dense matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.learn import weights
from gridloom.learn.boosted import Forest, of_arrays, to_arrays
from gridloom.partition.width_estimate import WidthEstimate, bound_estimate, check_columns
from gridloom.targets.rows.learned.features import GLOBAL_FEATURES, NODE_FEATURES, ArrayShape, GraphFeatures, of_graph

Floats = NDArray[np.float32]

NAME: Final = "mappability"
#: How many numbers of columns above the bound the second head tells apart; the last one stands for all above it.
EXCESS: Final = 5
#: What the names of the trees' arrays begin with.
_FOREST: Final = "forest."
#: How many operands an op can have from its own row on the arrays that networks are trained for.
OWN_ROW_OPERANDS: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A network's prediction for a graph: the logit that it maps, and the columns above the bound if it does.

    ``shares`` has ``EXCESS`` numbers with the sum 1. It is conditional: it says how wide the graph is if it maps.
    """

    logit: float
    #: The probability of each number of columns above the bound; the last stands for all above it.
    shares: tuple[float, ...]

    @property
    def excess(self) -> int:
        """The most probable number of columns above the bound."""
        return int(np.argmax(self.shares))

    def within(self, columns: int) -> float:
        """Return the probability that so many columns above the bound are enough, if the graph maps at all.

        >>> answer = Prediction(logit=0.0, shares=(0.5, 0.3, 0.1, 0.1, 0.0))
        >>> answer.excess, answer.within(1)
        (0, 0.8)
        """
        return min(1.0, sum(self.shares[: columns + 1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthNetwork:
    """Trained parameters of one or several members, whose outputs are averaged.

    ``judge`` answers for any array; whether that means something for an array is for :meth:`outside` to say.
    """

    members: tuple[Mapping[str, Floats], ...]
    #: The arrays it was trained for: the fewest and the most rows; at most so many columns. All have two constants per
    #: row.
    rows: tuple[int, int]
    columns: int
    #: The trees of each member, on the global features, and how much its logit and their score count.
    forests: tuple[Forest, ...] = ()
    parts: tuple[float, float] = (1.0, 1.0)
    #: The calibrated probability is sigmoid(scale * logit + shift); from ``threshold`` on a graph counts as mappable.
    scale: float = 1.0
    shift: float = 0.0
    threshold: float = 0.5

    def outside(self, shape: ArrayShape) -> str:
        """Return in words why an array lies outside what the network was trained for; empty: it does not."""
        least, most = self.rows
        if shape.own_row_operands != OWN_ROW_OPERANDS:
            return "an op's wires within its row are not those that the estimator was trained for"
        if least <= shape.rows <= most and shape.cols <= self.columns and shape.constants == 2 * shape.rows:
            return ""
        rows = f"{least}" if least == most else f"{least} to {most}"
        return (
            f"{shape.rows} rows, {shape.cols} columns and {shape.constants} constant registers are outside what the "
            f"estimator was trained for: {rows} rows, at most {self.columns} columns, two registers a row"
        )

    def predict(self, graph: GraphFeatures) -> Prediction:
        """Return the averaged prediction of the members. About 1 ms per member."""
        ways = mixers(graph)
        answers = [forward(member, graph, ways) for member in self.members]
        # Probabilities are averaged, not scores: members may differ in the scale of their scores.
        shares = np.mean([_softmax(answer[1:]) for answer in answers], axis=0)
        logit = self.parts[0] * float(np.mean([answer[0] for answer in answers]))
        if self.forests:
            row = graph.global_features[None, :]
            logit += self.parts[1] * float(np.mean([forest.scores(row)[0] for forest in self.forests]))
        return Prediction(logit=logit, shares=tuple(shares.tolist()))

    def judge(self, graph: GraphFeatures) -> tuple[int | None, float]:
        """Return the width (None: it does not map) and the probability that the graph maps.

        The probability is 0 where the rows prove that it does not.
        """
        if graph.too_high:
            return None, 0.0
        answer = self.predict(graph)
        probability = self.probability(answer.logit)
        if probability < self.threshold:
            return None, probability
        return min(graph.shape.cols, max(graph.bound + answer.excess, graph.least_columns)), probability

    def probability(self, logit: float) -> float:
        """Return the calibrated probability of a logit."""
        return float(1 / (1 + np.exp(-np.clip(self.scale * logit + self.shift, -60, 60))))


def mixers(graph: GraphFeatures) -> tuple[Floats, Floats]:
    """Return two matrices: readers get half of each operand from its producer, producers the mean of their readers.

    Both are [node, node] and depend on the edges only. A reader of two operands gets their mean.
    """
    a, b, n = graph.source, graph.target, len(graph.nodes)
    to_reader = np.zeros((n, n), dtype=np.float32)
    np.add.at(to_reader, (b, a), 0.5)
    to_maker = np.zeros((n, n), dtype=np.float32)
    np.add.at(to_maker, (a, b), 1.0)
    to_maker /= np.maximum(1.0, to_maker.sum(axis=1, keepdims=True))
    return to_reader, to_maker


def forward(p: Mapping[str, Floats], graph: GraphFeatures, ways: tuple[Floats, Floats]) -> Floats:
    """Return the outputs of one member: the logit, then the scores of the columns above the bound.

    Each layer adds its rectified messages to the values of the nodes. The pooling takes mean, maximum and (scaled) sum,
    and the global features reach the output directly as well, with their squares.
    """
    to_reader, to_maker = ways
    h = _relu(graph.nodes @ p["embed.weight"].T + p["embed.bias"])
    layer = 0
    while f"layers.{layer}.own.weight" in p:
        key = f"layers.{layer}"
        mixed = h @ p[f"{key}.own.weight"].T + p[f"{key}.own.bias"]
        mixed += (to_reader @ h) @ p[f"{key}.made.weight"].T + (to_maker @ h) @ p[f"{key}.read.weight"].T
        h = h + _relu(mixed)
        layer += 1
    whole = np.clip((graph.global_features - p["mean"]) / p["spread"], -4, 4)
    plain = np.concatenate([whole, whole**2 / 4]) @ p["direct.weight"].T
    z = np.concatenate([h.mean(axis=0), h.max(axis=0), h.sum(axis=0) / 40, whole])
    z = _relu(z @ p["first.weight"].T + p["first.bias"])
    z = _relu(z @ p["second.weight"].T + p["second.bias"])
    return np.asarray(z @ p["heads.weight"].T + p["heads.bias"] + plain, dtype=np.float32)


def _relu(x: Floats) -> Floats:
    return np.maximum(x, 0)


def _softmax(x: Floats) -> Floats:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())


def load_network(path: Path | None = None) -> WidthNetwork:
    """Return the network of a file of weights; None: the shipped one. OptionError for a file that holds none.

    Weights that were trained with other features, or by a version that did not record their arrays, are refused.
    """
    arrays, about = weights.load(path or weights.weights_path(NAME))
    if about.get("model") != NAME:
        raise OptionError(f"these are weights of {about.get('model')!r}, expected {NAME!r}", where=str(path))
    if "columns" not in about:
        raise OptionError(
            "these weights do not say which arrays they were trained for; train them again with "
            "`gridloom train mappability`",
            where=str(path),
        )
    parts = [
        {key.removeprefix(f"{k}/"): value for key, value in arrays.items() if key.startswith(f"{k}/")}
        for k in range(int(about["members"]))
    ]
    members = [{key: value for key, value in part.items() if not key.startswith(_FOREST)} for part in parts]
    if any((m["embed.weight"].shape[1], len(m["mean"])) != (NODE_FEATURES, GLOBAL_FEATURES) for m in members):
        raise OptionError(
            "these weights are for other features of graphs; train them again with `gridloom train mappability`",
            where=str(path),
        )
    return WidthNetwork(
        members=tuple(members),
        forests=tuple(of_arrays(part, _FOREST) for part in parts if f"{_FOREST}start" in part),
        scale=float(about["scale"]),
        shift=float(about["shift"]),
        threshold=float(about["threshold"]),
        rows=(int(about["rows"][0]), int(about["rows"][1])),
        columns=int(about["columns"]),
    )


def save_network(path: Path, network: WidthNetwork, about: Mapping[str, Any]) -> None:
    """Write a network and a description for its model card to a file of weights."""
    arrays = {f"{k}/{key}": value for k, member in enumerate(network.members) for key, value in member.items()}
    for k, forest in enumerate(network.forests):
        arrays |= {f"{k}/{key}": value for key, value in to_arrays(forest, _FOREST).items()}
    known = {
        "model": NAME,
        "members": len(network.members),
        "scale": network.scale,
        "shift": network.shift,
        "threshold": network.threshold,
        "rows": list(network.rows),
        "columns": network.columns,
    }
    weights.save(path, arrays, {**about, **known})


class LearnedEstimator:
    """The estimator ``learned``: the network, never below the bound; the bound for arrays it was not trained for.

    What counting or rows prove is never put to the network, so it cannot contradict a proof; widths are at least the
    bound and at most the array's columns.
    """

    name = "learned"

    def __init__(self, network: WidthNetwork) -> None:
        self.network = network

    def estimate(self, dfg: Dfg, arch: Arch) -> WidthEstimate:
        """Return width and probability; OptionError for an array on which widths mean nothing. Takes a few ms."""
        check_columns(arch)
        counted = bound_estimate(dfg, arch)
        shape = ArrayShape.of(arch)
        if counted.width is None:
            return WidthEstimate(width=None, bound=counted.bound, reason=counted.reason, probability=0.0)
        graph = of_graph(dfg, shape)
        if graph.too_high:
            high = f"needs at least {graph.least_rows} rows, has {shape.rows}"
            wide = f"needs at least {graph.least_columns} columns, has {shape.cols}"
            reason = high if graph.least_rows > shape.rows else wide
            if graph.short_of_registers:
                reason = "needs more constant registers in its lower rows than there are"
            return WidthEstimate(width=None, bound=counted.bound, reason=reason, probability=0.0)
        outside = self.network.outside(shape)
        if outside:
            return replace(counted, reason=f"{counted.reason}; {outside}")
        width, probability = self.network.judge(graph)
        low = f"probability {probability:.3f}, below {self.network.threshold:.3f}"
        reason = low if width is None else "learned"
        return WidthEstimate(width=width, bound=counted.bound, reason=reason, probability=probability)

    def probability(self, dfg: Dfg, arch: Arch, columns: int) -> float | None:
        """Return the probability that a graph fits the first ``columns``; None for arrays it was not trained for.

        The columns below the array's width are asked of the second head: the probability that it maps at all times that
        of so few columns above the bound.
        """
        counted = bound_estimate(dfg, arch)
        shape = ArrayShape.of(arch)
        if counted.width is None or counted.bound > columns:
            return 0.0
        graph = of_graph(dfg, shape)
        if graph.too_high or graph.least_columns > columns:
            return 0.0
        if self.network.outside(shape):
            return None
        answer = self.network.predict(graph)
        narrow = answer.within(columns - counted.bound) if columns < arch.cols else 1.0
        return narrow * self.network.probability(answer.logit)


@lru_cache(maxsize=1)
def shipped_estimator() -> LearnedEstimator:
    """Return the estimator with the shipped weights, loaded once."""
    return LearnedEstimator(load_network())
