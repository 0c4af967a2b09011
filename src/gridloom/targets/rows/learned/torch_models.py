"""The mappability models in PyTorch: ours, and DGCNN as published.

Ours is the network of :mod:`gridloom.targets.rows.learned.inference` in a form that can be trained. DGCNN (Zhang et al.
2018, as used by Kojima et al. for VPCMA) sees four numbers per node (opcode, constant, input, output) and the
undirected graph. Its layers Z = tanh(D~^-1 A~ Z W) are all concatenated; SortPooling and two 1-D convolutions follow,
and W + 1 labels, of which 0 is 'not mappable'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from gridloom.targets.rows.learned.features import (
    ARRAY_COLUMNS,
    ARRAY_CONSTANTS,
    ARRAY_ROWS,
    GLOBAL_FEATURES,
    NODE_FEATURES,
    GraphFeatures,
    on_columns,
)
from gridloom.targets.rows.learned.inference import EXCESS
from gridloom.targets.rows.learned.published import node_values


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Several graphs as one graph without edges between them.

    Nodes of all graphs are one list and edges index into it; ``graph`` says which graph a node belongs to.
    """

    nodes: Tensor
    source: Tensor
    target: Tensor
    #: The graph of each node.
    graph: Tensor
    global_features: Tensor
    size: int


def batch_of(graphs: Sequence[GraphFeatures], columns: Sequence[int] | None = None) -> Batch:
    """Return graphs as one batch of our features; ``columns`` gives each so many columns of its array.

    Asking about fewer columns than the array has is how one labelled graph gives several training samples.
    """
    starts = np.cumsum([0, *(len(g.nodes) for g in graphs)])
    all_global = [g.global_features if columns is None else on_columns(g, columns[k]) for k, g in enumerate(graphs)]
    return Batch(
        nodes=torch.from_numpy(np.concatenate([g.nodes for g in graphs])),
        source=torch.from_numpy(np.concatenate([g.source + starts[k] for k, g in enumerate(graphs)])).long(),
        target=torch.from_numpy(np.concatenate([g.target + starts[k] for k, g in enumerate(graphs)])).long(),
        graph=torch.from_numpy(np.repeat(np.arange(len(graphs)), np.diff(starts))).long(),
        global_features=torch.from_numpy(np.stack(all_global)),
        size=len(graphs),
    )


def published_nodes(graphs: Sequence[GraphFeatures]) -> Tensor:
    """Return the published numbers of the nodes of some graphs."""
    return torch.from_numpy(np.concatenate([node_values(graph) for graph in graphs]))


class _Layer(nn.Module):
    """One round of messages: from producers to readers (``made``) and from readers to producers (``read``)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(width, width)
        self.made = nn.Linear(width, width, bias=False)
        self.read = nn.Linear(width, width, bias=False)

    def forward(self, h: Tensor, batch: Batch, share: Tensor) -> Tensor:
        made = torch.zeros_like(h).index_add_(0, batch.target, 0.5 * h.index_select(0, batch.source))
        read = torch.zeros_like(h).index_add_(0, batch.source, h.index_select(0, batch.target)) / share
        mixed: Tensor = self.own(h) + self.made(made) + self.read(read)
        return h + torch.relu(mixed)


class MessagePassing(nn.Module):
    """Our network; its parameters carry the names that the numpy version reads.

    ``mean`` and ``spread`` standardise the global features and are saved with the weights. Dropout is behind the
    pooling only.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, width: int, layers: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Linear(NODE_FEATURES, width)
        self.layers = nn.ModuleList(_Layer(width) for _ in range(layers))
        self.first = nn.Linear(3 * width + GLOBAL_FEATURES, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.heads = nn.Linear(hidden, 1 + EXCESS)
        self.direct = nn.Linear(2 * GLOBAL_FEATURES, 1 + EXCESS, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mean", torch.zeros(GLOBAL_FEATURES))
        self.register_buffer("spread", torch.ones(GLOBAL_FEATURES))

    def standardise(self, all_global: Tensor) -> None:
        """Take mean and spread of the global features from the training set."""
        self.mean.copy_(all_global.mean(0))
        self.spread.copy_(all_global.std(0).clamp(min=0.05))
        # Nearly all graphs are on one array: with a spread of almost 0 every other array would be an extreme value.
        self.spread[ARRAY_COLUMNS] = 0.3
        self.spread[[ARRAY_ROWS, ARRAY_CONSTANTS]] = 0.25

    def forward(self, batch: Batch) -> Tensor:
        """Return [graph, 1 + EXCESS]: the logit, then the scores of the columns above the bound."""
        ones = torch.ones(len(batch.source))
        share = torch.zeros(len(batch.nodes)).index_add_(0, batch.source, ones).clamp(min=1)[:, None]
        h = torch.relu(self.embed(batch.nodes))
        for layer in self.layers:
            h = layer(h, batch, share)
        total = torch.zeros(batch.size, h.shape[1]).index_add_(0, batch.graph, h)
        count = torch.bincount(batch.graph, minlength=batch.size)[:, None]
        # The maximum per graph needs an index for every value, unlike the sum.
        home = batch.graph[:, None].expand_as(h)
        largest = torch.full_like(total, -1e9).scatter_reduce(0, home, h, "amax")
        whole = ((batch.global_features - self.mean) / self.spread).clamp(-4, 4)
        plain = self.direct(torch.cat([whole, whole**2 / 4], dim=1))
        z = torch.cat([total / count, largest, total / 40, whole], dim=1)
        z = self.dropout(torch.relu(self.first(z)))
        z = self.dropout(torch.relu(self.second(z)))
        out: Tensor = self.heads(z) + plain
        return out


class Dgcnn(nn.Module):
    """DGCNN as published; ``labels`` is W + 1.

    SortPooling orders the nodes by their last value and keeps ``kept`` of them, so that convolutions can run over a
    fixed number of nodes. It learns one class per width and does not know that widths are ordered.
    """

    def __init__(self, labels: int, channels: int = 32, layers: int = 3, kept: int = 30, dropout: float = 0.5) -> None:
        super().__init__()
        from torch_geometric.nn.aggr import SortAggregation

        sizes = [4, *([channels] * layers), 1]
        self.convolutions = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairwise(sizes))
        total = sum(sizes[1:])
        self.sort = SortAggregation(k=kept)
        self.total, self.kept = total, kept
        # This equals a convolution over all numbers of a node with one node per step, and trains in half the time.
        self.one = nn.Linear(total, 16)
        self.two = nn.Conv1d(16, 32, 5)
        self.dense = nn.Linear(32 * max(1, kept // 2 - 4), 128)
        self.labels = nn.Linear(128, labels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, nodes: Tensor, batch: Batch) -> Tensor:
        """Return [graph, label]: the scores of the labels."""
        degree = torch.ones(len(nodes))
        ones = torch.ones(len(batch.source))
        degree = degree.index_add(0, batch.source, ones).index_add(0, batch.target, ones)[:, None]
        z, layers = nodes, []
        for convolution in self.convolutions:
            h = convolution(z)
            mixed = h.index_add(0, batch.target, h.index_select(0, batch.source)).index_add(
                0, batch.source, h.index_select(0, batch.target)
            )
            z = torch.tanh(mixed / degree)
            layers.append(z)
        pooled = self.sort(torch.cat(layers, dim=1), batch.graph, dim_size=batch.size)
        z = torch.relu(self.one(pooled.view(batch.size, self.kept, self.total))).transpose(1, 2)
        z = torch.relu(self.two(torch.max_pool1d(z, 2)))
        out: Tensor = self.labels(self.dropout(torch.relu(self.dense(z.flatten(1)))))
        return out
