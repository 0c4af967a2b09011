"""Training of the mappability models, with folds by family: no family is both trained on and measured on.

Labels are widths. A sample of width w also tells that the graph fits any number of columns from w on and none below, so
our network is trained with numbers of columns that change from step to step. Calibration and threshold are set on
predictions for families that the predicting member was not trained on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from gridloom.learn.boosted import Forest, ForestSettings, grow
from gridloom.learn.checkpoints import Checkpoints
from gridloom.targets.rows.learned.features import GLOBAL_FEATURES
from gridloom.targets.rows.learned.inference import EXCESS, WidthNetwork
from gridloom.targets.rows.learned.metrics import JudgedWidth
from gridloom.targets.rows.learned.samples import (
    DgcnnSettings,
    FitSettings,
    GraphSample,
    MemberSettings,
    NetworkSettings,
    asked_folds,
    calibrate_network,
    judge_width,
)
from gridloom.targets.rows.learned.torch_models import Dgcnn, MessagePassing, batch_of, published_nodes

#: The trees beside each member.
TREES: Final = ForestSettings(trees=200, rate=0.05, depth=3, features=0.3, leaf=6)

Over = Callable[[], bool]


def train_network(
    samples: Sequence[GraphSample], settings: NetworkSettings, seed: int, over: Over, kept: Checkpoints | None = None
) -> WidthNetwork:
    """Train the members, each without a share of the families; their predictions for those calibrate them together.

    Graphs that the rows prove not to fit are not trained on, since the network is never asked about them. Samples of
    the main array alone calibrate the members and set the threshold: ``most_false`` limits its false-positive rate,
    over the graphs that neither counting nor rows decide, whichever other arrays there are. Members that ``kept`` has
    are not trained again. About half a minute per member for 6,000 samples.

    Where ``over`` returns True, members are trained for fewer passes.
    """
    # The threshold is chosen after training, so that another one needs no other members.
    about = {key: value for key, value in asdict(settings).items() if key != "most_false"}
    kept = (kept or Checkpoints()).of(settings=about, seed=seed, features=GLOBAL_FEATURES)
    folds = asked_folds(samples, settings, seed)
    shapes = {sample.graph.shape for sample in samples}
    trained = partial(
        WidthNetwork,
        rows=(min(shape.rows for shape in shapes), max(shape.rows for shape in shapes)),
        columns=max(shape.cols for shape in shapes),
    )
    members, forests = [], []
    for k in range(settings.members):
        rest = [sample for j, fold in enumerate(folds) if j != k for sample in fold]
        train = partial(_train_member, rest, settings, seed * 100 + k, over)
        members.append(kept.arrays(f"own-{k}", train))
        forests.append(_grow_forest(rest, seed * 100 + k))
    return calibrate_network(trained(members=tuple(members), forests=tuple(forests)), samples, settings, seed)


def _grow_forest(samples: Sequence[GraphSample], seed: int) -> Forest:
    """The trees of one member: does a graph map on the columns of its array?"""
    rows = np.stack([sample.graph.global_features for sample in samples])
    answers = np.array([sample.row.width is not None for sample in samples], dtype=np.int64)
    return grow(rows, answers, np.ones(len(samples)), TREES, seed)


def _train_member(
    samples: Sequence[GraphSample], settings: MemberSettings, seed: int, over: Over
) -> dict[str, NDArray[np.float32]]:
    """Train one member and return its parameters by the names that inference reads.

    The loss is that of the first head, plus that of the second on the samples that fit.
    """
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = MessagePassing(settings.width, settings.layers, settings.hidden, settings.dropout)
    model.standardise(torch.from_numpy(np.stack([sample.graph.global_features for sample in samples])))

    def loss(chosen: Sequence[GraphSample]) -> Tensor:
        columns = [_columns(sample, rng) for sample in chosen]
        out = model(batch_of([sample.graph for sample in chosen], columns))
        fits = [
            sample.row.width is not None and sample.row.width <= w for sample, w in zip(chosen, columns, strict=True)
        ]
        truth = torch.tensor(fits, dtype=torch.float32)
        loss = functional.binary_cross_entropy_with_logits(out[:, 0], truth)
        if any(fits):
            excess = [
                min(EXCESS - 1, (s.row.width or 0) - s.row.bound) for s, ok in zip(chosen, fits, strict=True) if ok
            ]
            loss = loss + functional.cross_entropy(out[truth > 0, 1:], torch.tensor(excess))
        return loss

    _fit(model, samples, loss, settings, rng, over)
    return {key: value.detach().numpy().astype(np.float32) for key, value in model.state_dict().items()}


def _columns(sample: GraphSample, rng: random.Random) -> int:
    """How many columns to ask about: mostly all of them, sometimes fewer, for which the label is known as well."""
    most = sample.graph.shape.cols
    if rng.random() < 0.75 or sample.row.bound >= most:
        return most
    return rng.randint(sample.row.bound, most)


def _fit(
    model: nn.Module,
    samples: Sequence[GraphSample],
    loss: Callable[[Sequence[GraphSample]], Tensor],
    settings: FitSettings,
    rng: random.Random,
    over: Over,
) -> None:
    """Train a model with AdamW and a one-cycle schedule of the learning rate; ``over`` ends it after a pass."""
    order, size = list(samples), settings.batch
    steps = settings.epochs * -(-len(order) // size)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=settings.rate, total_steps=max(2, steps))
    model.train()
    with _one_thread():
        for _ in range(settings.epochs):
            rng.shuffle(order)
            for start in range(0, len(order), size):
                optimiser.zero_grad()
                value = loss(order[start : start + size])
                value.backward()
                optimiser.step()
                schedule.step()
            if over():
                break
    model.eval()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run on one thread: layers this small are slower on several, and much slower on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train_dgcnn(samples: Sequence[GraphSample], settings: DgcnnSettings, cols: int, seed: int, over: Over) -> Dgcnn:
    """Train DGCNN on W + 1 labels: the widths, and 0 for graphs that do not map."""
    torch.manual_seed(seed)
    model = Dgcnn(cols + 1, settings.channels, settings.layers, settings.kept, settings.dropout)

    def loss(chosen: Sequence[GraphSample]) -> Tensor:
        graphs = [sample.graph for sample in chosen]
        out = model(published_nodes(graphs), batch_of(graphs))
        return functional.cross_entropy(out, torch.tensor([sample.row.width or 0 for sample in chosen]))

    _fit(model, samples, loss, settings, random.Random(seed), over)
    return model


def judge_dgcnn(model: Dgcnn, samples: Sequence[GraphSample], cols: int) -> list[JudgedWidth]:
    """Return what DGCNN predicts for samples, together with the bound, as published.

    A predicted width below the bound is raised to it, one above the array's columns counts as 'not mappable'.
    """
    judged = []
    with torch.no_grad():
        for start in range(0, len(samples), 256):
            chosen = samples[start : start + 256]
            graphs = [sample.graph for sample in chosen]
            labels = model(published_nodes(graphs), batch_of(graphs)).argmax(1).tolist()
            for sample, label in zip(chosen, labels, strict=True):
                width = max(label, sample.row.bound) if label else None
                told = width if width and width <= cols else None
                judged.append(judge_width(sample, told))
    return judged
