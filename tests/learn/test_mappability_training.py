"""Training of the mappability models: torch and numpy agree, folds keep families apart, both models learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gridloom.learn import mappability_training as training  # noqa: E402
from gridloom.learn.mappability_data import OPS, Row, encode  # noqa: E402
from gridloom.learn.mappability_features import ArrayShape, of_graph  # noqa: E402
from gridloom.learn.mappability_graphs import draw, style_of  # noqa: E402
from gridloom.learn.mappability_metrics import metrics  # noqa: E402
from gridloom.learn.mappability_network import EXCESS, Network, forward, mixers  # noqa: E402
from gridloom.learn.mappability_torch import MessagePassing, batch_of, published_nodes  # noqa: E402

SHAPE = ArrayShape(rows=8, cols=12, constants=16)


def labelled(family: int, number: int) -> Row:
    """A graph with a label that depth decides: what the models have to find out."""
    dfg = draw(family, number)
    ops, values, edges = encode(dfg)
    graph = of_graph(dfg, SHAPE)
    depth = round(float(graph.nodes[0, 10]) * 8)
    return Row(
        family=family, number=number, shape=style_of(family).shape, arch="vpcma",
        ops=tuple(ops), values=tuple(values), edges=tuple(edges), counts=graph.counts, bound=graph.bound,
        width=None if depth > 9 else min(12, graph.bound + (depth > 6)), decided="found", conflicts=0, moves=1, cpu=0.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def samples() -> list[training.Sample]:
    rows = [labelled(family, number) for family in range(60) for number in range(4)]
    return training.samples_of([row for row in rows if row.bound <= 12], SHAPE)


def test_folds_keep_families_apart(samples: list[training.Sample]) -> None:
    folds = training.folds_of(samples, 5, 0)
    families = [{sample.row.family for sample in fold} for fold in folds]
    assert sum(len(fold) for fold in folds) == len(samples)
    assert all(not a & b for k, a in enumerate(families) for b in families[k + 1 :])


def test_what_counting_decides_is_not_trained_on() -> None:
    assert training.samples_of([replace(labelled(1, 1), decided="bound")], SHAPE) == []


def test_numpy_and_torch_say_the_same(samples: list[training.Sample]) -> None:
    torch.manual_seed(0)
    model = MessagePassing(16, 2, 24, 0.0)
    model.eval()
    member = {key: value.detach().numpy() for key, value in model.state_dict().items()}
    graphs = [sample.graph for sample in samples[:6]]
    with torch.no_grad():
        expected = model(batch_of(graphs)).numpy()
    for graph, row in zip(graphs, expected, strict=True):
        np.testing.assert_allclose(forward(member, graph, mixers(graph)), row, atol=2e-5)


def test_our_network_learns_what_decides(samples: list[training.Sample]) -> None:
    held, *rest = training.folds_of(samples, 4, 0)
    settings = training.OwnSettings(epochs=15, members=2, width=16, hidden=32, layers=2, batch=32, most_false=0.2)
    found = training.train_own([s for fold in rest for s in fold], settings, SHAPE, 0, lambda: False)
    judged = metrics(training.judge_own(found, held, 12))
    assert judged["accuracy"] > 0.85
    assert isinstance(found, Network)
    counted = metrics(training.judge_bound(held))
    assert counted["recall"] == 1.0
    assert judged["accuracy"] > counted["accuracy"]


def test_dgcnn_sees_the_published_features_and_gives_labels(samples: list[training.Sample]) -> None:
    pytest.importorskip("torch_geometric")
    graphs = [sample.graph for sample in samples[:3]]
    nodes = published_nodes(graphs)
    assert nodes.shape == (sum(len(g.nodes) for g in graphs), 4)
    loads = [k for g in graphs for k in g.ops.tolist()]
    assert [bool(x) for x in nodes[:, 2]] == [OPS[k] == "input" for k in loads]
    model = training.train_dgcnn(samples[:40], training.DgcnnSettings(epochs=1), 12, 0, lambda: False)
    judged = training.judge_dgcnn(model, samples[:10], 12)
    assert all(item.said is None or item.said <= 12 for item in judged)
    assert EXCESS >= 2
