"""Inference of the learned cost model: numpy and compiled sums, without torch.

One core evaluates thousands of decisions per second.

The network corrects the formula `queueing`: it says by which factor the measured speed differs from the formula's. The
arrays have the names of ``torch_models.Regressor`` (variant ``sharing``) and ``_forward`` computes the same
network; layouts are [decision, flow, feature] and [decision, unit, value]. Everything that does not depend on the
placement is computed once per pipeline. Products run in compiled loops on the calling thread.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.families.rdu import RduParameters
from gridloom.archs.spec import parameters
from gridloom.errors import OptionError
from gridloom.estimate.dataflow import UNIT_KINDS, Decisions, Floats, Ints, Pipeline, rooms
from gridloom.estimate.queueing import Queueing
from gridloom.learn import weights
from gridloom.learn.cost_model.features import EDGE_FEATURES

Singles = NDArray[np.float32]

NAME: Final = "cost-model"
#: The machine that labels come from. Weights that were trained for another one are not asked.
MACHINE: Final = 2
_STAGES: Final = 16
#: Parameters of the array that the network has seen one value of.
_TRAINED_WITH: Final = (
    "fifo", "packet", "switch_buffer", "channels", "memory_ports", "dram_channels", "dram_cycles", "dram_latency",
    "block_rows",
)  # fmt: skip
#: The largest array that its predictions were measured on.
_LARGEST: Final = (32, 16)


class Inputs(NamedTuple):
    """What the network sees of decisions."""

    #: [decision, flow] -> features (`cost_model.kernel.EDGE_FEATURES`).
    edges: Singles
    #: Decision -> the speeds that `queueing` and `bottleneck` predict.
    speeds: Singles


def inputs(pipeline: Pipeline, decisions: Decisions, formula: Queueing | None = None) -> Inputs:
    """Return the features of decisions and what the formulas say of them; ``formula`` is for callers that have one.

    The rows of a decision do not depend on other decisions.
    """
    from gridloom.learn.cost_model.kernel import speed_features

    most, share, meets = (formula or Queueing()).details(pipeline, decisions)
    # A flow sends while its units work, which is longest for the busier one of them.
    busy = np.maximum(pipeline.unit_load[pipeline.source], pipeline.unit_load[pipeline.target])
    at_speed = speed_features(
        share, pipeline.links, decisions.route_start, decisions.route_links, meets, pipeline.rate,
        np.minimum(1.0, pipeline.rate / np.maximum(busy, 1e-9)), pipeline.packet, rooms(pipeline), pipeline.tree,
        np.argsort(pipeline.tree, kind="stable").astype(np.int64),
    )  # fmt: skip
    edges = np.concatenate([full_speed(pipeline, decisions), at_speed], axis=2)
    return Inputs(edges, np.stack([share, most], axis=1).astype(np.float32))


def full_speed(pipeline: Pipeline, decisions: Decisions, room: Ints | None = None) -> Singles:
    """Return [decision, flow] -> features of flows at full speed; see `cost_model.kernel.FULL_SPEED`.

    ``room`` is that of :func:`rooms`, for callers that have it.
    """
    from gridloom.learn.cost_model.kernel import edge_features

    result: Singles = edge_features(
        len(decisions), pipeline.links, decisions.route_start, decisions.route_links, pipeline.rate, pipeline.peak,
        pipeline.packet, rooms(pipeline) if room is None else room, pipeline.tree,
        np.argsort(pipeline.tree, kind="stable").astype(np.int64),
    )  # fmt: skip
    return result


class LearnedCostModel:
    """The cost model `learned`, from trained weights of the variant ``sharing``.

    It keeps what is fixed of the last pipeline only, so alternating between two pipelines costs more. It is not made
    for several threads at once. OptionError for a file without weights.
    """

    name = "learned"

    def __init__(self, path: Path | None = None) -> None:
        arrays, self.about = weights.load(weights.shipped(NAME) if path is None else path)
        self.arrays: dict[str, Singles] = {key: value.astype(np.float32) for key, value in arrays.items()}
        self.layers = int(self.about["layers"])
        if self.arrays["edge_in.weight"].shape[1] != len(EDGE_FEATURES):
            raise OptionError(
                f"the weights are those of another network: expected {len(EDGE_FEATURES)} features of a flow, found "
                f"{self.arrays['edge_in.weight'].shape[1]}; `gridloom train cost-model` makes new ones"
            )
        self._packed: dict[str, tuple[Singles, Singles]] = {}
        for key, weight in self.arrays.items():
            name, _, kind = key.rpartition(".")
            if kind == "weight" and name not in ("op", "stage"):
                bias = self.arrays.get(f"{name}.bias", np.zeros(len(weight), dtype=np.float32))
                self._packed[name] = (np.ascontiguousarray(weight.T), bias)
        # Features are brought to one scale by the first layer.
        first, bias = self._packed["edge_in"]
        scaled = np.ascontiguousarray(first / self.arrays["scale"][:, None])
        self._packed["edge_in"] = (scaled, bias - self.arrays["shift"] @ scaled)
        self.formula = Queueing()
        self._known: tuple[Pipeline, dict[str, Any]] | None = None

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return predicted throughput over the bound. About 0.2 ms per decision of a hundred units, in batches."""
        return self.predicted(pipeline, inputs(pipeline, decisions, self.formula))

    def preference(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Return what a search should maximise: the prediction, plus the mean of what each flow alone would allow.

        Throughput has plateaus: it does not change until the last of the slowest flows has become faster. The mean over
        flows gives a direction on such a plateau; it is that of the formula.
        """
        mean = self.formula.bottleneck.flows(pipeline, decisions).mean(axis=1)
        return np.asarray(self.efficiency(pipeline, decisions) + mean, dtype=np.float64)

    def outside(self, pipeline: Pipeline) -> str | None:
        """Return why a pipeline lies outside what the network was trained on; None where it does not.

        Weights say for which machine they were trained. All training was on ``rdu:16x8``: the buffers, links and speeds
        of that array's units. What decides on other arrays is not in the weights. Arrays of up to 32 x 16 units, on
        which nothing was trained, were measured.
        """
        p, known = parameters(RduParameters, pipeline.arch.spec), RduParameters(rows=16, cols=8)
        if self.about.get("machine", 1) != MACHINE:
            return "its weights were trained for an earlier machine; `gridloom train cost-model` makes new ones"
        for key in _TRAINED_WITH:
            if getattr(p, key) != getattr(known, key):
                return f"it was trained with {key}={getattr(known, key)}, and the array has {getattr(p, key)}"
        if max(p.rows, p.cols) > _LARGEST[0] or min(p.rows, p.cols) > _LARGEST[1]:
            return f"it was tried on {_LARGEST[0]} x {_LARGEST[1]} units at most, and the array has {p.rows} x {p.cols}"
        return None

    def predicted(self, pipeline: Pipeline, seen: Inputs) -> Floats:
        """Return the efficiency of decisions with these features, at most 1."""
        factor = self._forward(self._fixed(pipeline), seen).astype(np.float64)
        return np.asarray(np.minimum(1.0, seen.speeds[:, 0] * np.exp(factor)), dtype=np.float64)

    def _fixed(self, pipeline: Pipeline) -> dict[str, Any]:
        """What is the same in all decisions on a pipeline, computed once."""
        if self._known is not None and self._known[0] is pipeline:
            return self._known[1]
        a = self.arrays
        stage = np.minimum(pipeline.unit_stage, _STAGES - 1)
        one_hot = np.eye(len(UNIT_KINDS), dtype=np.float32)[pipeline.unit_kind]
        load = pipeline.unit_load[:, None].astype(np.float32)
        nodes = np.hstack([one_hot, a["op.weight"][pipeline.unit_op], a["stage.weight"][stage], load])
        into = np.bincount(pipeline.target, minlength=pipeline.units)
        out = np.bincount(pipeline.source, minlength=pipeline.units)
        fixed = {
            "nodes": np.maximum(0, nodes @ a["node_in.weight"].T + a["node_in.bias"]).astype(np.float32),
            "in_share": (1.0 / into[pipeline.target]).astype(np.float32),
            "out_share": (1.0 / out[pipeline.source]).astype(np.float32),
            "source": pipeline.source,
            "target": pipeline.target,
            "units": pipeline.units,
        }
        self._known = (pipeline, fixed)
        return fixed

    def _linear(self, name: str, values: Singles) -> Singles:
        """One linear layer on the last axis."""
        from gridloom.learn.cost_model.kernel import linear

        weight, bias = self._packed[name]
        result: Singles = linear(np.ascontiguousarray(values).reshape(-1, values.shape[-1]), weight, bias)
        return result.reshape(*values.shape[:-1], weight.shape[1])

    def _forward(self, fixed: dict[str, Any], seen: Inputs) -> Singles:
        """The logarithm of the factor by which each decision differs from the formula: ``torch_models`` in numpy.

        In each layer edges take the values of both ends, then units the means of the flows that come in and go out.
        Attention, maximum and mean pool the flows.
        """
        from gridloom.learn.cost_model import kernel

        source, target, units = fixed["source"], fixed["target"], fixed["units"]
        values, speeds = seen
        edges = np.maximum(0, self._linear("edge_in", values))
        nodes = np.broadcast_to(fixed["nodes"], (len(values), *fixed["nodes"].shape))
        if len(values):
            nodes = np.ascontiguousarray(nodes)
        for k in range(self.layers):
            edges = self._linear(f"edge_self.{k}", edges)
            kernel.add_ends(
                edges, self._linear(f"edge_source.{k}", nodes), self._linear(f"edge_target.{k}", nodes), source, target
            )
            into = kernel.gather_edges(edges, target, fixed["in_share"], units)
            out = kernel.gather_edges(edges, source, fixed["out_share"], units)
            nodes = self._linear(f"node_self.{k}", nodes)
            nodes += self._linear(f"node_into.{k}", into)
            nodes += self._linear(f"node_out.{k}", out)
            np.maximum(nodes, 0, out=nodes)
        whole = np.stack([speeds[:, 0], np.log(speeds[:, 1] / speeds[:, 0])], axis=1)
        pooled = kernel.pool_edges(edges, self._linear("attention", edges)[..., 0])
        pooled = np.hstack([pooled, nodes.mean(axis=1), whole])
        for layer in ("head.0", "head.2"):
            pooled = np.maximum(0, self._linear(layer, pooled))
        return self._linear("head.4", pooled)[:, 0]


@cache
def learned() -> LearnedCostModel:
    """Return the cost model with the shipped weights, loaded once."""
    return LearnedCostModel()
