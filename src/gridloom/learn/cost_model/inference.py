"""The learned cost model at work: numpy and compiled sums, no torch, thousands of decisions a second on one core."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.estimate.dataflow import UNIT_KINDS, Decisions, Floats, Ints, Pipeline
from gridloom.learn import weights

Singles = NDArray[np.float32]

NAME: Final = "cost-model"
_STAGES: Final = 16
_FLOW_WEIGHT: Final = 1.0


def rooms(found: Pipeline) -> Ints:
    """Flow -> tokens that its target's buffer takes of it."""
    arch, dfg = found.arch, found.dfg
    buffers: dict[str, int] = {}
    for node in dfg.nodes:
        tiles = arch.tiles_for(dfg.op_class(node.id))
        buffers[node.id] = min((arch.tiles[t].buffer for t in tiles), default=1) or 1
    return np.array([min(buffers[e.target], e.room or buffers[e.target]) for e in dfg.edges], dtype=np.int64)


def features(found: Pipeline, decisions: Decisions, room: Ints | None = None) -> Singles:
    """Decision, flow -> features; see `cost_model_kernel.EDGE_FEATURES`."""
    from gridloom.learn.cost_model.kernel import edge_features

    result: Singles = edge_features(
        len(decisions), found.links, decisions.route_start, decisions.route_links, found.rate, found.peak, found.packet,
        rooms(found) if room is None else room,
    )  # fmt: skip
    return result


class Learned:
    """The cost model `learned`, from trained weights of the variant ``sharing``."""

    name = "learned"

    def __init__(self, path: Path | None = None) -> None:
        arrays, self.about = weights.load(weights.shipped(NAME) if path is None else path)
        self.arrays: dict[str, Singles] = {key: value.astype(np.float32) for key, value in arrays.items()}
        self.layers = int(self.about["layers"])
        self._packed: dict[str, tuple[Singles, Singles]] = {}
        for key, weight in self.arrays.items():
            name, _, kind = key.rpartition(".")
            if kind == "weight" and name not in ("op", "stage"):
                bias = self.arrays.get(f"{name}.bias", np.zeros(len(weight), dtype=np.float32))
                self._packed[name] = (np.ascontiguousarray(weight.T), bias)
        #: What the mean over flows counts in `preference`.
        self.flow_weight = _FLOW_WEIGHT
        self._known: tuple[Pipeline, dict[str, Any]] | None = None

    def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """Predicted throughput over the bound. About 0.2 ms a decision of a hundred units, in batches."""
        logits = self.logits(pipeline, features(pipeline, decisions, self._fixed(pipeline)["room"]))
        return _share(logits)

    def preference(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
        """What a search should raise: the prediction, and a little what each flow alone would allow, in the mean.

        Throughput has steps: it stays where it is until the last of the slowest flows has become faster. The mean over
        flows says which way is up on such a step. Costs what `efficiency` does.
        """
        found = features(pipeline, decisions, self._fixed(pipeline)["room"])
        logits, flows = self._forward(self._fixed(pipeline), found)
        mean: Floats = _share(flows).mean(axis=1)
        return _share(logits) + self.flow_weight * mean

    def logits(self, pipeline: Pipeline, found: Singles) -> Singles:
        """Logits of the efficiency of decisions with these features."""
        return self._forward(self._fixed(pipeline), found)[0]

    def _fixed(self, found: Pipeline) -> dict[str, Any]:
        """What is the same in all decisions on a pipeline."""
        if self._known is not None and self._known[0] is found:
            return self._known[1]
        a = self.arrays
        stage = np.minimum(found.unit_stage, _STAGES - 1)
        one_hot = np.eye(len(UNIT_KINDS), dtype=np.float32)[found.unit_kind]
        load = found.unit_load[:, None].astype(np.float32)
        nodes = np.hstack([one_hot, a["op.weight"][found.unit_op], a["stage.weight"][stage], load])
        into = np.bincount(found.target, minlength=found.units)
        out = np.bincount(found.source, minlength=found.units)
        fixed = {
            "nodes": np.maximum(0, nodes @ a["node_in.weight"].T + a["node_in.bias"]).astype(np.float32),
            "in_share": (1.0 / into[found.target]).astype(np.float32),
            "out_share": (1.0 / out[found.source]).astype(np.float32),
            "room": rooms(found),
            "source": found.source,
            "target": found.target,
            "units": found.units,
        }
        self._known = (found, fixed)
        return fixed

    def _linear(self, name: str, values: Singles) -> Singles:
        from gridloom.learn.cost_model.kernel import linear

        weight, bias = self._packed[name]
        result: Singles = linear(np.ascontiguousarray(values).reshape(-1, values.shape[-1]), weight, bias)
        return result.reshape(*values.shape[:-1], weight.shape[1])

    def _forward(self, fixed: dict[str, Any], found: Singles) -> tuple[Singles, Singles]:
        from gridloom.learn.cost_model import kernel

        source, target, units = fixed["source"], fixed["target"], fixed["units"]
        edges = np.maximum(0, self._linear("edge_in", found))
        nodes = np.broadcast_to(fixed["nodes"], (len(found), *fixed["nodes"].shape))
        if len(found):
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
        pooled = np.hstack([kernel.pool_edges(edges, self._linear("attention", edges)[..., 0]), nodes.mean(axis=1)])
        for layer in ("head.0", "head.2"):
            pooled = np.maximum(0, self._linear(layer, pooled))
        return self._linear("head.4", pooled)[:, 0], self._linear("limit", edges)[..., 0]


def _share(logits: Singles) -> Floats:
    found: Floats = 1.0 / (1.0 + np.exp(-logits.astype(np.float64)))
    return found


@cache
def learned() -> Learned:
    """The cost model with the shipped weights."""
    return Learned()
