"""Training of the mappability models: torch and numpy agree, folds keep families apart, both models learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gridloom.errors import OptionError  # noqa: E402
from gridloom.run.work import WorkFolder  # noqa: E402
from gridloom.targets.rows.learned import data, published, training  # noqa: E402
from gridloom.targets.rows.learned import model as mappability  # noqa: E402
from gridloom.targets.rows.learned import samples as sampled  # noqa: E402
from gridloom.targets.rows.learned.data import OPS, OTHER_NUMBERS, LabelledGraph, array, encode  # noqa: E402
from gridloom.targets.rows.learned.features import ARRAY_CONSTANTS, ARRAY_ROWS, ArrayShape, of_graph  # noqa: E402
from gridloom.targets.rows.learned.inference import EXCESS, WidthNetwork, forward, load_network, mixers  # noqa: E402
from gridloom.targets.rows.learned.metrics import calibrate, metrics  # noqa: E402
from gridloom.targets.rows.learned.random_graphs import draw, group_of, style_of  # noqa: E402
from gridloom.targets.rows.learned.torch_models import MessagePassing, batch_of, published_nodes  # noqa: E402

SHAPE = ArrayShape(rows=8, cols=12, constants=16, own_row_operands=1)


def labelled(family: int, number: int, arch: str = "vpcma") -> LabelledGraph:
    """A graph with a label that depth decides: what the models have to find out."""
    dfg = draw(family, number)
    ops, values, edges = encode(dfg)
    shape = ArrayShape.of(array(arch))
    graph = of_graph(dfg, shape)
    depth = round(float(graph.nodes[0, 10]) * shape.rows)
    return LabelledGraph(
        family=family, number=number, shape=style_of(family).shape, arch=arch,
        ops=tuple(ops), values=tuple(values), edges=tuple(edges), counts=graph.counts, bound=graph.bound,
        width=None if depth > shape.rows + 1 else min(shape.cols, graph.bound + (depth > shape.rows - 2)),
        decided="found", conflicts=0, moves=1, cpu=0.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def samples() -> list[sampled.GraphSample]:
    rows = [labelled(family, number) for family in range(60) for number in range(4)]
    return sampled.samples_of([row for row in rows if row.bound <= 12])


def test_folds_keep_families_apart(samples: list[sampled.GraphSample]) -> None:
    folds = sampled.folds_of(samples, 5, 0)
    families = [{sample.row.family for sample in fold} for fold in folds]
    assert sum(len(fold) for fold in folds) == len(samples)
    assert all(not a & b for k, a in enumerate(families) for b in families[k + 1 :])


def test_a_family_is_in_one_fold_whatever_the_array(samples: list[sampled.GraphSample]) -> None:
    alone = sampled.folds_of(samples, 5, 0)
    # Families 55 to 59 are of both, 60 and on of the other array only.
    more = sampled.samples_of([labelled(family, OTHER_NUMBERS, "vpcma:10x12") for family in range(55, 75)])
    folds = sampled.folds_of([*samples, *more], 5, 0)
    families = [{sample.row.family for sample in fold} for fold in folds]
    assert all(not a & b for k, a in enumerate(families) for b in families[k + 1 :])
    assert set.union(*families) == set(range(75))
    assert [[sample for sample in fold if sample.row.arch == "vpcma"] for fold in folds] == alone


def test_parts_of_a_kernel_are_in_one_fold() -> None:
    parts = [family for family in range(400) if style_of(family).shape == "part"][:24]
    kept = sampled.samples_of([labelled(family, 0) for family in parts])
    folds = sampled.folds_of(kept, 4, 0)
    kernels = [{group_of(sample.row.family) for sample in fold} for fold in folds]
    assert all(not a & b for k, a in enumerate(kernels) for b in kernels[k + 1 :])
    assert len(set.union(*kernels)) < len(parts)


def test_what_counting_decides_is_not_trained_on() -> None:
    assert sampled.samples_of([replace(labelled(1, 1), decided="bound")]) == []


def test_numpy_and_torch_say_the_same(samples: list[sampled.GraphSample]) -> None:
    torch.manual_seed(0)
    model = MessagePassing(16, 2, 24, 0.0)
    model.eval()
    member = {key: value.detach().numpy() for key, value in model.state_dict().items()}
    graphs = [sample.graph for sample in samples[:6]]
    with torch.no_grad():
        expected = model(batch_of(graphs)).numpy()
    for graph, row in zip(graphs, expected, strict=True):
        np.testing.assert_allclose(forward(member, graph, mixers(graph)), row, atol=2e-5)


def test_our_network_learns_what_decides(samples: list[sampled.GraphSample]) -> None:
    held, *rest = sampled.folds_of(samples, 4, 0)
    settings = sampled.NetworkSettings(epochs=15, members=2, width=16, hidden=32, layers=2, batch=32, most_false=0.2)
    found = training.train_network([s for fold in rest for s in fold], settings, 0, lambda: False)
    judged = metrics(sampled.judge_network(found, held))
    assert judged["accuracy"] > 0.85
    assert isinstance(found, WidthNetwork)
    counted = metrics(sampled.judge_bound(held))
    assert counted["recall"] == 1.0
    assert judged["accuracy"] > counted["accuracy"]


def test_calibration_and_threshold_are_of_the_main_array(samples: list[sampled.GraphSample]) -> None:
    more = [labelled(family, OTHER_NUMBERS, "vpcma:5x14") for family in range(60)]
    more = [replace(row, width=None) for row in more if row.bound <= 14]
    settings = sampled.NetworkSettings(epochs=1, members=2, width=8, hidden=8)
    found = training.train_network([*samples, *sampled.samples_of(more)], settings, 0, lambda: False)
    assert (found.rows, found.columns) == ((5, 8), 14)
    assert found.outside(ArrayShape(rows=6, cols=13, constants=12, own_row_operands=1)) == ""
    # Members and folds as above, asked about the main array's graphs that each was not trained on.
    asked = [sample for sample in (*samples, *sampled.samples_of(more)) if not sample.graph.too_high]
    folds = sampled.folds_of(asked, 2, 1)
    said, true = [], []
    for member, forest, fold in zip(found.members, found.forests, folds, strict=True):
        main = [sample for sample in fold if sample.row.arch == "vpcma"]
        alone = replace(found, members=(member,), forests=(forest,))
        said += [alone.predict(sample.graph).logit for sample in main]
        true += [float(sample.row.width is not None) for sample in main]
    assert calibrate(np.array(said), np.array(true)) == pytest.approx((found.scale, found.shift))


def test_the_parts_alone_add_up(samples: list[sampled.GraphSample]) -> None:
    settings = sampled.NetworkSettings(epochs=1, members=2, width=8, hidden=8)
    found = training.train_network(samples, settings, 0, lambda: False)
    graph = samples[0].graph
    networks, trees = (replace(found, parts=parts).predict(graph) for parts in ((1.0, 0.0), (0.0, 1.0)))
    assert found.predict(graph).logit == pytest.approx(networks.logit + trees.logit)
    assert networks.shares == trees.shares
    assert trees.logit == pytest.approx(np.mean([f.scores(graph.global_features[None])[0] for f in found.forests]))


def test_what_the_rows_prove_is_not_trained_on_and_never_said_to_fit(samples: list[sampled.GraphSample]) -> None:
    proved = [sample for sample in samples if sample.graph.too_high]
    asked = [sample for sample in samples if not sample.graph.too_high]
    assert len(proved) > 20
    settings = sampled.NetworkSettings(epochs=1, members=2, width=8, hidden=8, most_false=0.1)
    both, alone = (training.train_network(some, settings, 0, lambda: False) for some in (samples, asked))
    for mine, other in zip(both.members, alone.members, strict=True):
        assert all(np.array_equal(mine[key], other[key]) for key in mine)
    # The threshold is chosen on graphs that the network is asked about.
    assert both.threshold == alone.threshold
    assert {(item.predicted, item.probability) for item in sampled.judge_network(both, proved)} == {(None, 0.0)}


def test_heights_are_told_apart_where_most_graphs_are_of_one(samples: list[sampled.GraphSample]) -> None:
    more = sampled.samples_of([labelled(family, OTHER_NUMBERS, "vpcma:4x12") for family in range(5)])
    all_global = np.stack([sample.graph.global_features for sample in [*samples, *more]])
    model = MessagePassing(8, 1, 8, 0.0)
    model.standardise(torch.from_numpy(all_global))
    positions = [ARRAY_ROWS, ARRAY_CONSTANTS]
    low = (more[0].graph.global_features - model.mean.numpy())[positions] / model.spread.numpy()[positions]
    assert ((low > -3) & (low < -1)).all()


def test_figures_of_other_arrays_stand_beside_those_of_the_main_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mappability, "FEWEST", 5)
    # Labels of one short start: what they are does not matter here.
    monkeypatch.setattr(data, "LONG_FIT", ((0.25, 0),))
    monkeypatch.setattr(data, "LONG_NARROW", ((0.25, 0),))
    monkeypatch.setattr(data, "LAST_NARROW", ())
    seen: list[set[str]] = []
    monkeypatch.setattr(training, "train_dgcnn", lambda rest, *_: seen.append({sample.row.arch for sample in rest}))
    monkeypatch.setattr(training, "judge_dgcnn", lambda _, held, cols: sampled.judge_bound(held))
    config = mappability.MappabilityConfig(
        families=20, graphs=1, arch="vpcma:5x8", others="vpcma:4x8", unseen="vpcma:5x9", others_families=12,
        folds=2, members=2, epochs=2,
    )  # fmt: skip
    work = WorkFolder(folder=tmp_path, jobs=1, resume=True, weights=tmp_path / "w.npz")
    alone = replace(config, others="", unseen="")
    mappability.MODEL.make_data(alone, work)
    with pytest.raises(OptionError, match=r"no graphs of vpcma:4x8, vpcma:5x9 that counting .* --set others="):
        mappability.MODEL.train(config, work)
    first = mappability.MODEL.evaluate(alone, work)
    assert first["own"]["arrays"] == {}
    made = mappability.MODEL.make_data(config, work)
    trained = mappability.MODEL.train(replace(config, dgcnn=False), work)
    assert set(trained["data"]["arrays"]) == {"vpcma:5x8", "vpcma:4x8"}
    found = load_network(tmp_path / "w.npz")
    assert (found.rows, found.columns) == ((4, 5), 8)

    report = mappability.MODEL.evaluate(config, work)
    assert {spec: part["trained"] for spec, part in report["own"]["arrays"].items()} == {
        "vpcma:4x8": True, "vpcma:5x9": False
    }  # fmt: skip
    for name in ("own", "rows", "bound"):
        parts = {"vpcma:5x8": report[name], **report[name]["arrays"]}
        for spec, part in parts.items():
            assert part["undecided"]["graphs"] == made["arrays"][spec]["undecided_by_bound"]
            assert part["undecided"]["mappable_share"] == made["arrays"][spec]["mappable_share"]
            assert part["all"]["graphs"] == made["arrays"][spec]["graphs"]
    assert {key: report["bound"][key] for key in ("undecided", "all")} == {
        key: first["bound"][key] for key in ("undecided", "all")
    }
    # DGCNN was trained once a fold, on the main array; our members are others once they see other arrays.
    assert seen == [{"vpcma:5x8"}] * 2
    files = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert sum(name.startswith("own") for name in files) == 2 * 2 + 2 + 2 * 2
    assert mappability.MODEL.evaluate(config, work)["own"]["arrays"] == report["own"]["arrays"]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == files


def test_dgcnn_sees_the_published_features_and_gives_labels(samples: list[sampled.GraphSample]) -> None:
    pytest.importorskip("torch_geometric")
    graphs = [sample.graph for sample in samples[:3]]
    nodes = published_nodes(graphs)
    assert nodes.shape == (sum(len(g.nodes) for g in graphs), 4)
    loads = [k for g in graphs for k in g.ops.tolist()]
    assert [bool(x) for x in nodes[:, 2]] == [OPS[k] == "input" for k in loads]
    model = training.train_dgcnn(samples[:40], sampled.DgcnnSettings(epochs=1), 12, 0, lambda: False)
    judged = training.judge_dgcnn(model, samples[:10], 12)
    # The estimator of the package does the same in numpy.
    parameters = {key: value.detach().numpy() for key, value in model.state_dict().items()}
    network = published.PublishedNetwork(parameters=parameters, kept=30, rows=8, cols=12)
    with torch.no_grad():
        scores = model(nodes, batch_of(graphs)).numpy()
    for graph, expected in zip(graphs, scores, strict=True):
        np.testing.assert_allclose(network.scores(graph), expected, atol=1e-4)
    assert all(item.predicted is None or item.predicted <= 12 for item in judged)
    assert EXCESS >= 2
