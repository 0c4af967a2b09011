"""DGCNN in PyTorch, as published: the network, its training, and its settings by Optuna.

DGCNN (Zhang et al. 2018, as used by Kojima et al. for VPCMA) sees four numbers per node (opcode, constant, input,
output) and the undirected graph. Its layers Z = tanh(D~^-1 A~ Z W) are all concatenated; SortPooling and two 1-D
convolutions follow, and W + 1 labels, of which 0 is 'not mappable'. It is trained and asked on one array.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gridloom.targets.rows.learned.features import GraphFeatures
from gridloom.targets.rows.learned.published import PublishedNetwork, node_values


@dataclass(frozen=True, kw_only=True)
class DgcnnSettings:
    """Size and training of DGCNN."""

    channels: int = 32
    layers: int = 3
    #: How many nodes SortPooling keeps.
    kept: int = 30
    dropout: float = 0.5
    #: Passes over the samples, samples per step, and the highest learning rate.
    epochs: int = 30
    batch: int = 64
    rate: float = 1e-3


class Batch:
    """Several graphs as one graph without edges between them; ``graph`` says which graph a node belongs to."""

    def __init__(self, graphs: Sequence[GraphFeatures]) -> None:
        starts = np.cumsum([0, *(len(g.ops) for g in graphs)])
        self.nodes = torch.from_numpy(np.concatenate([node_values(g) for g in graphs]))
        self.source, self.target = (
            torch.from_numpy(np.concatenate([getattr(g, end) + starts[k] for k, g in enumerate(graphs)])).long()
            for end in ("source", "target")
        )
        self.graph = torch.from_numpy(np.repeat(np.arange(len(graphs)), np.diff(starts))).long()
        self.size = len(graphs)


class Dgcnn(nn.Module):
    """DGCNN as published; ``labels`` is W + 1.

    SortPooling orders the nodes by their last value and keeps ``kept`` of them, so that convolutions can run over a
    fixed number of nodes. It learns one class per width and does not know that widths are ordered.
    """

    def __init__(self, labels: int, settings: DgcnnSettings) -> None:
        super().__init__()
        from torch_geometric.nn.aggr import SortAggregation

        self.kept = settings.kept
        sizes = [4, *([settings.channels] * settings.layers), 1]
        self.convolutions = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairwise(sizes))
        self.total = sum(sizes[1:])
        self.sort = SortAggregation(k=self.kept)
        # This equals a convolution over all numbers of a node with one node per step, and trains in half the time.
        self.one = nn.Linear(self.total, 16)
        self.two = nn.Conv1d(16, 32, 5)
        self.dense = nn.Linear(32 * max(1, self.kept // 2 - 4), 128)
        self.labels = nn.Linear(128, labels)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, batch: Batch) -> Tensor:
        """Return [graph, label]: the scores of the labels."""
        ones = torch.ones(len(batch.source))
        degree = torch.ones(len(batch.nodes))
        degree = degree.index_add(0, batch.source, ones).index_add(0, batch.target, ones)[:, None]
        z, layers = batch.nodes, []
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


def train_dgcnn(
    graphs: Sequence[GraphFeatures], widths: Sequence[int | None], settings: DgcnnSettings, seed: int,
    over: Callable[[], bool] = lambda: False,
) -> PublishedNetwork:  # fmt: skip
    """Return DGCNN trained on graphs of one array and their widths (None: not mappable).

    AdamW and a one-cycle schedule of the learning rate, on one thread; ``over`` ends it after a pass. Deterministic for
    a seed up to the order of floating-point sums.
    """
    shape = graphs[0].shape
    torch.manual_seed(seed)
    # Layers this small are slower on several threads, and much slower on a busy machine.
    torch.set_num_threads(1)
    rng, model = random.Random(seed), Dgcnn(shape.cols + 1, settings)
    order, size = list(range(len(graphs))), settings.batch
    steps = max(2, settings.epochs * -(-len(order) // size))
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=settings.rate, total_steps=steps)
    for _ in range(settings.epochs):
        rng.shuffle(order)
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            optimiser.zero_grad()
            labels = torch.tensor([widths[k] or 0 for k in chosen])
            functional.cross_entropy(model(Batch([graphs[k] for k in chosen])), labels).backward()
            optimiser.step()
            schedule.step()
        if over():
            break
    parameters = {key: value.detach().numpy() for key, value in model.state_dict().items()}
    return PublishedNetwork(parameters=parameters, kept=settings.kept, rows=shape.rows, cols=shape.cols)


def tune_settings(
    graphs: Sequence[GraphFeatures], widths: Sequence[int | None], fold: Any, trials: int, epochs: int, seed: int
) -> DgcnnSettings:
    """Return the best settings of some trials of Optuna, each on two folds with half of the epochs.

    One fold would say too little: settings that train well on it may diverge on others. The published settings are the
    first trial.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    usual = DgcnnSettings(epochs=epochs)

    def accuracy(asked: optuna.Trial) -> float:
        settings = DgcnnSettings(**_suggest(asked), epochs=max(1, epochs // 2))
        right = total = 0
        for k in range(2):
            known = [j for j, own in enumerate(fold) if own != k]
            network = train_dgcnn([graphs[j] for j in known], [widths[j] for j in known], settings, seed + k)
            for j in (j for j, own in enumerate(fold) if own == k):
                right += (int(np.argmax(network.scores(graphs[j]))) == 0) == (widths[j] is None)
                total += 1
        return right / max(1, total)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial({name: getattr(usual, name) for name in ("channels", "layers", "kept", "dropout", "rate")})
    study.optimize(accuracy, n_trials=trials)
    return DgcnnSettings(epochs=epochs, **study.best_params)


def _suggest(asked: Any) -> dict[str, Any]:
    """One choice of settings."""
    return {
        "channels": asked.suggest_categorical("channels", [16, 32, 64]),
        "layers": asked.suggest_int("layers", 2, 4),
        "kept": asked.suggest_categorical("kept", [20, 30, 50]),
        "dropout": asked.suggest_float("dropout", 0.1, 0.5),
        "rate": asked.suggest_float("rate", 3e-4, 1e-2, log=True),
    }
