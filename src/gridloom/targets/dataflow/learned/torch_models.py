"""Graph networks that predict the efficiency of a decision: two readings of the published one, and ours.

The graph has the used units as nodes and the routed flows as edges. ``algorithm`` follows the published Algorithm 1: in
each of K layers a node takes the mean of its incident edges' and of its neighbours' values, s = max(0, W_E [a_E, a_V]),
h = W_V [h, s]. We read the maximum there as the maximum with 0, since there is only a single vector to take it over.
Edges keep their values. ``text`` follows the published text, where W_V is 3m x m and edges are updated as well:
h_v = max(0, W_V [h_v, a_E, a_V]), h_e = max(0, W_E [h_e, h_u, h_v]). Both end in the mean over nodes and a 3-layer ReLU
regressor. ``sharing`` is ours: it corrects the formula `queueing`. The features of an edge say how near a flow and its
links are to their limits at the speed that the formula expects, messages go along flows with their direction, edges are
pooled by attention, maximum and mean, since the worst flow decides, and the result is the logarithm of a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import torch
from torch import Tensor, nn

from gridloom.targets.dataflow.costs.load import UNIT_KINDS, UNIT_OPS, Pipeline
from gridloom.targets.dataflow.learned.features import AT_SPEED, EDGE_FEATURES

Variant = Literal["algorithm", "text", "sharing"]
#: What may be left out: all node features, all edge features, the features about the speed of units and flows, or the
#: formula that is corrected. Without edges or annotations there is no formula either, since it knows them.
Without = Literal["nothing", "nodes", "edges", "annotations", "formula"]

STAGES: Final = 16
_PUBLISHED_EDGES: Final = ("length", "load")
_ANNOTATIONS: Final = ("load", "rate", "wait", "window", "peaks")
#: How far from the formula the network is at first.
_FIRST: Final = 0.1
#: What is added to the spread of a feature, which may be the same everywhere.
_NO_SPREAD: Final = 1e-3


@dataclass(frozen=True, kw_only=True)
class PipelineTensors:
    """The part of a pipeline that is the same in all its decisions, as tensors.

    Indices are those of ``Pipeline``: ``kind`` to ``load`` have one entry per unit, ``source`` to ``out_share`` one per
    flow.
    """

    kind: Tensor
    op: Tensor
    stage: Tensor
    load: Tensor
    source: Tensor
    target: Tensor
    #: For each flow 1 over the number of flows that end (begin) where it ends (begins).
    in_share: Tensor
    out_share: Tensor
    units: int = field(default=0)

    @classmethod
    def of(cls, pipeline: Pipeline) -> PipelineTensors:
        """Return the tensors of a pipeline."""
        into = np.bincount(pipeline.target, minlength=pipeline.units)
        out = np.bincount(pipeline.source, minlength=pipeline.units)
        single = torch.float32
        return cls(
            kind=torch.as_tensor(pipeline.unit_kind),
            op=torch.as_tensor(pipeline.unit_op),
            stage=torch.as_tensor(np.minimum(pipeline.unit_stage, STAGES - 1)),
            load=torch.as_tensor(pipeline.unit_load, dtype=single),
            source=torch.as_tensor(pipeline.source),
            target=torch.as_tensor(pipeline.target),
            in_share=torch.as_tensor(1.0 / into[pipeline.target], dtype=single),
            out_share=torch.as_tensor(1.0 / out[pipeline.source], dtype=single),
            units=pipeline.units,
        )


class Regressor(nn.Module):
    """Embeddings, graph layers, pooling and a 3-layer regressor; ``forward`` gives the logarithm of the efficiency.

    ``without`` zeroes inputs instead of removing them, so all ablations have equally many parameters. The published
    variants see the length and the load of an edge only; ``kept`` masks the rest. ``width`` is the m of the papers.
    """

    def __init__(self, variant: Variant, without: Without = "nothing", width: int = 24, layers: int = 2) -> None:
        super().__init__()
        self.variant, self.without, self.width, self.layers = variant, without, width, layers
        self.op = nn.Embedding(len(UNIT_OPS), 6)
        self.stage = nn.Embedding(STAGES, 4)
        self.node_in = nn.Linear(len(UNIT_KINDS) + 6 + 4 + 1, width)
        self.edge_in = nn.Linear(len(EDGE_FEATURES), width)
        m = width
        if variant == "sharing":
            self.edge_self = nn.ModuleList([nn.Linear(m, m) for _ in range(layers)])
            self.edge_source = nn.ModuleList([nn.Linear(m, m, bias=False) for _ in range(layers)])
            self.edge_target = nn.ModuleList([nn.Linear(m, m, bias=False) for _ in range(layers)])
            self.node_self = nn.ModuleList([nn.Linear(m, m) for _ in range(layers)])
            self.node_into = nn.ModuleList([nn.Linear(m, m, bias=False) for _ in range(layers)])
            self.node_out = nn.ModuleList([nn.Linear(m, m, bias=False) for _ in range(layers)])
            self.attention = nn.Linear(m, 1)
            pooled = 4 * m + 2
        elif variant == "algorithm":
            self.w_e = nn.ModuleList([nn.Linear(2 * m, m) for _ in range(layers)])
            self.w_v = nn.ModuleList([nn.Linear(2 * m, m) for _ in range(layers)])
            pooled = m
        else:
            self.w_v = nn.ModuleList([nn.Linear(3 * m, m) for _ in range(layers)])
            self.w_e = nn.ModuleList([nn.Linear(3 * m, m) for _ in range(layers)])
            pooled = m
        self.head = nn.Sequential(
            nn.Linear(pooled, 2 * m), nn.ReLU(), nn.Linear(2 * m, 2 * m), nn.ReLU(), nn.Linear(2 * m, 1)
        )
        #: Whether the result is a factor of what the formula says; else it is the logit of the efficiency.
        self.corrects = variant == "sharing" and without in ("nothing", "nodes")
        kept = [self._keeps(name) for name in EDGE_FEATURES]
        self.register_buffer("kept", torch.tensor(kept, dtype=torch.float32), persistent=False)
        #: Mean and spread of the features in the training data, by which they are brought to one scale.
        self.register_buffer("shift", torch.zeros(len(EDGE_FEATURES)))
        self.register_buffer("scale", torch.ones(len(EDGE_FEATURES)))

    def _keeps(self, name: str) -> bool:
        """Whether an edge feature is an input of this variant and ablation."""
        if self.without == "edges" or (self.without == "annotations" and name in _ANNOTATIONS):
            return False
        if name in AT_SPEED and not self.corrects:
            return False
        return self.variant == "sharing" or name in _PUBLISHED_EDGES

    def nodes(self, graph: PipelineTensors) -> Tensor:
        """Return the first values of the units."""
        one_hot = nn.functional.one_hot(graph.kind, len(UNIT_KINDS)).float()
        load = graph.load[:, None] * (self.without != "annotations" and self.variant == "sharing")
        values = torch.cat([one_hot, self.op(graph.op), self.stage(graph.stage), load], dim=1)
        return self.node_in(values * (self.without != "nodes"))

    def start(self, *, wide: bool = False) -> None:
        """Set the first weights: as torch draws them, or so wide that rectifiers keep the variance (He et al. 2015)."""
        with torch.no_grad():
            for layer in self.modules() if wide else ():
                if isinstance(layer, nn.Linear):
                    nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            last = self.head[-1]
            last.bias.fill_(0.0 if self.corrects else 0.2)
            if self.corrects:
                last.weight.mul_(_FIRST)

    def standardise(self, features: Sequence[Tensor]) -> None:
        """Take mean and spread of the features from data, [decision, flow, feature] for each graph."""
        flat = torch.cat([values.flatten(0, 1) for values in features])
        self.shift.copy_(flat.mean(dim=0))
        self.scale.copy_(flat.std(dim=0) + _NO_SPREAD)

    def forward(self, graph: PipelineTensors, features: Tensor, speeds: Tensor) -> Tensor:
        """Return the logarithm of the efficiency of each decision; for the arguments see ``inference.Inputs``."""
        edges = self.edge_in((features - self.shift) / self.scale * self.kept)
        nodes = self.nodes(graph).expand(len(features), -1, -1)
        if self.variant != "sharing":
            return nn.functional.logsigmoid(self._published(graph, nodes, edges))
        whole = torch.stack([speeds[:, 0], torch.log(speeds[:, 1] / speeds[:, 0])], dim=1)
        found = self._sharing(graph, nodes, edges, whole * self.corrects)
        return torch.log(speeds[:, 0]) + found if self.corrects else nn.functional.logsigmoid(found)

    def _sharing(self, graph: PipelineTensors, nodes: Tensor, edges: Tensor, whole: Tensor) -> Tensor:
        """Our network: edges and nodes are updated in turn, then edges are pooled."""
        edges = torch.relu(edges)
        nodes = torch.relu(nodes)
        for k in range(self.layers):
            ends = self.edge_source[k](nodes)[:, graph.source] + self.edge_target[k](nodes)[:, graph.target]
            edges = torch.relu(self.edge_self[k](edges) + ends)
            into = _sum(edges * graph.in_share[:, None], graph.target, graph.units)
            out = _sum(edges * graph.out_share[:, None], graph.source, graph.units)
            nodes = torch.relu(self.node_self[k](nodes) + self.node_into[k](into) + self.node_out[k](out))
        weight = torch.softmax(self.attention(edges), dim=1)
        pooled = [(weight * edges).sum(1), edges.amax(1), edges.mean(1), nodes.mean(1), whole]
        return self.head(torch.cat(pooled, dim=1))[:, 0]

    def _published(self, graph: PipelineTensors, nodes: Tensor, edges: Tensor) -> Tensor:
        """The two published variants.

        Messages ignore the direction of flows, so every edge counts at both ends.
        """
        both = torch.cat([graph.source, graph.target])
        degree = torch.bincount(both, minlength=graph.units).clamp(min=1)[:, None].float()
        other = torch.cat([graph.target, graph.source])
        for k in range(self.layers):
            around_edges = _sum(torch.cat([edges, edges], dim=1), both, graph.units) / degree
            around_nodes = _sum(nodes[:, other], both, graph.units) / degree
            if self.variant == "algorithm":
                state = torch.relu(self.w_e[k](torch.cat([around_edges, around_nodes], dim=2)))
                nodes = self.w_v[k](torch.cat([nodes, state], dim=2))
            else:
                nodes = torch.relu(self.w_v[k](torch.cat([nodes, around_edges, around_nodes], dim=2)))
                ends = [edges, nodes[:, graph.source], nodes[:, graph.target]]
                edges = torch.relu(self.w_e[k](torch.cat(ends, dim=2)))
        return self.head(nodes.mean(1))[:, 0]


def _sum(values: Tensor, where: Tensor, count: int) -> Tensor:
    """The sums of values along dimension 1, by the index in ``where``."""
    return torch.zeros(len(values), count, values.shape[2], dtype=values.dtype).index_add_(1, where, values)
