"""The learned cost model: features, both ways to run it, ranks, data that is made again, and that it learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gridloom import registry
from gridloom.errors import OptionError
from gridloom.estimate.dataflow import Guide
from gridloom.learn import weights
from gridloom.learn.cost_model import data
from gridloom.learn.cost_model.features import EDGE_FEATURES
from gridloom.learn.cost_model.inference import LearnedCostModel, inputs
from gridloom.mappers.elastic.search import DataflowConfig, Search
from gridloom.run.work import Work

torch = pytest.importorskip("torch")

from gridloom.learn.cost_model import model, training  # noqa: E402
from gridloom.learn.cost_model.torch_models import Graph, Regressor  # noqa: E402

SMALL = ("gemm", {"inner": 64, "columns": 64})


@pytest.fixture(scope="module")
def pipeline() -> data.Pipeline:
    return data.graph_pipeline("mlp", (("layers", 2), ("width", 64)), "present")


def random_places(found: data.Pipeline, count: int, seed: int = 0) -> np.ndarray:
    return Search(found, DataflowConfig(cost="heuristic", chains=count, start="random"), seed).places


def saved(tmp_path: Path, layers: int = 2) -> tuple[Regressor, Path]:
    torch.manual_seed(1)
    regressor = Regressor("sharing", width=16, layers=layers).eval()
    regressor.standardise([torch.rand(2, 5, len(EDGE_FEATURES))])
    path = tmp_path / "random.npz"
    weights.save(path, regressor.state_dict(), {"layers": layers})
    return regressor, path


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_inference_without_torch_says_what_torch_says(tmp_path: Path, pipeline: data.Pipeline, layers: int):
    regressor, path = saved(tmp_path, layers)
    decisions = data.routed(pipeline, random_places(pipeline, 8), "present")
    seen = [torch.as_tensor(values) for values in inputs(pipeline, decisions)]
    with torch.no_grad():
        expected = torch.exp(regressor(Graph.of(pipeline), *seen).clamp(max=0)).numpy()
    assert LearnedCostModel(path).efficiency(pipeline, decisions) == pytest.approx(expected, abs=1e-5)


def test_a_search_is_told_the_prediction_and_the_mean_over_flows(tmp_path: Path, pipeline: data.Pipeline):
    learned = LearnedCostModel(saved(tmp_path)[1])
    decisions = data.routed(pipeline, random_places(pipeline, 4), "present")
    flows = registry.load("costs", "bottleneck")().flows(pipeline, decisions)
    assert isinstance(learned, Guide)
    expected = learned.efficiency(pipeline, decisions) + flows.mean(axis=1)
    assert learned.preference(pipeline, decisions) == pytest.approx(expected)


def test_network_that_has_learned_nothing_says_what_the_formula_says(tmp_path: Path, pipeline: data.Pipeline):
    regressor = Regressor("sharing", width=16).eval()
    torch.nn.init.zeros_(regressor.head[-1].weight)
    torch.nn.init.zeros_(regressor.head[-1].bias)
    weights.save(tmp_path / "zero.npz", regressor.state_dict(), {"layers": 2})
    decisions = data.routed(pipeline, random_places(pipeline, 4), "present")
    expected = registry.load("costs", "queueing")().efficiency(pipeline, decisions)
    assert LearnedCostModel(tmp_path / "zero.npz").efficiency(pipeline, decisions) == pytest.approx(expected, rel=1e-5)


def test_weights_of_another_network_are_refused(tmp_path: Path):
    regressor = Regressor("sharing", width=16)
    regressor.edge_in = torch.nn.Linear(8, 16)
    weights.save(tmp_path / "other.npz", regressor.state_dict(), {"layers": 2})
    message = f"those of another network: expected {len(EDGE_FEATURES)} features of a flow, found 8"
    with pytest.raises(OptionError, match=message):
        LearnedCostModel(tmp_path / "other.npz")


def test_on_a_step_of_the_prediction_shorter_ways_are_still_preferred():
    found = data.graph_pipeline("mlp", (("layers", 3), ("width", 448)), "present")
    search = Search(found, DataflowConfig(cost="heuristic", chains=8), 0)
    search.shorten()
    shaken, units = search.places.copy(), np.flatnonzero(found.unit_kind == 0)
    shaken[:, units[:2]] = shaken[:, units[:2][::-1]]
    learned = registry.load("costs", "learned")()
    near, far = (data.routed(found, places, "present") for places in (search.places, shaken))
    assert np.all(learned.preference(found, near) > learned.preference(found, far))


def test_a_decision_scores_the_same_alone_and_in_a_batch(tmp_path: Path, pipeline: data.Pipeline):
    learned = LearnedCostModel(saved(tmp_path)[1])
    places = random_places(pipeline, 5)
    together = learned.efficiency(pipeline, data.routed(pipeline, places, "present"))
    alone = [learned.efficiency(pipeline, data.routed(pipeline, places[k : k + 1], "present"))[0] for k in range(5)]
    assert together == pytest.approx(alone, abs=1e-6)


def test_features_count_hops_loads_and_sharers(pipeline: data.Pipeline):
    decisions = data.routed(pipeline, random_places(pipeline, 1), "present")
    edges = inputs(pipeline, decisions).edges[0]
    start, links = decisions.routes(0)
    column = {name: k for k, name in enumerate(EDGE_FEATURES)}
    loads, sharers = np.zeros(pipeline.links), np.zeros(pipeline.links)
    seen = set()
    for flow in range(pipeline.flows):
        for link in links[start[flow] : start[flow + 1]]:
            # Flows of one multicast tree count once.
            if (pipeline.tree[flow], link) not in seen:
                seen.add((pipeline.tree[flow], link))
                loads[link] += pipeline.rate[flow]
                sharers[link] += 1
    for flow in range(pipeline.flows):
        way = links[start[flow] : start[flow + 1]]
        assert edges[flow, column["length"]] == pytest.approx(len(way) / 16)
        assert edges[flow, column["load"]] == pytest.approx(loads[way].max(), rel=1e-5)
        assert edges[flow, column["sharers"]] == pytest.approx(sharers[way].max() / 8)


@pytest.mark.parametrize("variant", ["algorithm", "text", "sharing"])
def test_every_variant_has_a_use_for_its_edges_unless_they_are_left_out(pipeline: data.Pipeline, variant: str):
    decisions = data.routed(pipeline, random_places(pipeline, 2), "present")
    seen = [torch.as_tensor(values) for values in inputs(pipeline, decisions)]
    graph = Graph.of(pipeline)
    torch.manual_seed(0)
    with torch.no_grad():
        full = Regressor(variant, "nothing")(graph, *seen)
        without = Regressor(variant, "edges")(graph, *seen)
    assert full[0] != full[1]
    assert float(without[0]) == pytest.approx(float(without[1]), abs=1e-5)


def test_ranks_share_ties():
    values = np.array([3.0, 1.0, 1.0, 2.0])
    assert training.spearman(values, values) == pytest.approx(1)
    assert training.spearman(values, -values) == pytest.approx(-1)
    assert training.spearman(values, np.array([9.0, 4.0, 5.0, 6.0])) == pytest.approx(0.9486833)
    assert training.spearman(values, np.ones(4)) == 0


def test_a_job_gives_the_same_row_again_and_labels_are_measured():
    asked = {"family": SMALL[0], "graph": SMALL[1], "era": "present", "seed": 3}
    first, second = data.sample(asked), data.sample(asked)
    assert first == second
    found = data.graph_pipeline(SMALL[0], tuple(sorted(SMALL[1].items())), "present")
    decisions = data.routed(found, np.array(first["places"]), "present")
    assert registry.load("costs", "simulated")().efficiency(found, decisions) == pytest.approx(
        first["labels"], abs=1e-6
    )


def test_data_set_goes_on_where_it_was_and_training_learns_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    listed = [SMALL, ("gemm", {"inner": 64, "columns": 128})]
    monkeypatch.setattr(data, "graphs", lambda: listed)
    work = Work(folder=tmp_path, jobs=1)
    config = model.CostModelConfig(decisions=128, epochs=80, folds=2)
    made = model.MODEL.make_data(config, work)
    assert (made["computed"], made["failed"], made["decisions"]) == (8, 0, 128)
    assert model.MODEL.make_data(config, work)["computed"] == 0
    report = model.MODEL.train(config, work)
    assert report["decisions"] == 128
    assert report["cross_validation"]["spearman"] > 0.5
    judged = model.judged(LearnedCostModel(tmp_path / "cost-model.npz"), data.load(tmp_path, "present"))
    assert judged["learned"]["relative_error"] < judged["heuristic"]["relative_error"]


def test_training_without_data_says_how_to_make_it(tmp_path: Path):
    with pytest.raises(OptionError, match="make it with `gridloom train cost-model --make-data`"):
        model.MODEL.train(model.CostModelConfig(), Work(folder=tmp_path))


def test_shipped_weights_rank_a_graph_they_have_not_seen():
    asked = {"family": "mlp", "graph": {"width": 320, "layers": 2}, "era": "present", "seed": 1}
    row = data.sample(asked)
    found = data.graph_pipeline("mlp", (("layers", 2), ("width", 320)), "present")
    decisions = data.routed(found, np.array(row["places"]), "present")
    labels = np.array(row["labels"])
    learned = registry.load("costs", "learned")().efficiency(found, decisions)
    assert np.abs(learned - labels).mean() < 0.05
    assert training.spearman(learned, labels) > 0.8


def test_shipped_weights_are_small_and_have_a_card():
    path = weights.shipped("cost-model")
    assert path.stat().st_size < 2_000_000
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    assert str(weights.load(path)[1]["data"]) in card


@pytest.fixture(scope="module")
def decisions() -> list[training.GraphSamples]:
    family, graph = SMALL
    row = data.sample({"family": family, "graph": graph, "era": "present", "seed": 1})
    made = data.Sample(
        family=family, graph=tuple(sorted(graph.items())), era="present",
        places=np.array(row["places"]), labels=np.array(row["labels"]),
    )  # fmt: skip
    return training.by_graph([made])


@pytest.mark.parametrize(("constants", "starts"), [(0, 1), (1, 2), (9, 3)])
def test_training_that_ends_at_a_constant_starts_again(
    monkeypatch: pytest.MonkeyPatch, decisions: list[training.GraphSamples], constants: int, starts: int
):
    rates: list[float] = []
    monkeypatch.setattr(training, "_train", lambda *given: rates.append(given[4]))
    monkeypatch.setattr(training, "_constant", lambda *_: len(rates) <= constants)
    training.train(decisions, epochs=1)
    assert rates == [3e-3, 3e-3, 1e-3][:starts]


def test_training_that_is_told_to_end_does_not_start_again(
    monkeypatch: pytest.MonkeyPatch, decisions: list[training.GraphSamples]
):
    shares: list[float] = []
    monkeypatch.setattr(training, "_constant", lambda *_: True)
    training.train(decisions, epochs=3, told=lambda share: not shares.append(share))
    assert shares == [1 / 3]


def test_a_network_that_says_the_same_of_all_is_constant(decisions: list[training.GraphSamples]):
    shut = Regressor("text").eval()
    torch.nn.init.zeros_(shut.head[-1].weight)
    assert training._constant(shut, decisions)
    assert not training._constant(training.train(decisions, epochs=80), decisions)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("epochs", 0, "epochs: expected at least 1, found 0"), ("folds", 1, "folds: expected at least 2, found 1")],
)
def test_a_setting_out_of_its_range_is_named(name: str, value: int, message: str):
    with pytest.raises(OptionError, match=message):
        model.CostModelConfig(**{name: value})
