"""The learned cost model: features, both ways to run it, ranks, data that is made again, and that it learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gridloom import registry
from gridloom.errors import OptionError
from gridloom.learn import weights
from gridloom.learn.boosted import Forest
from gridloom.run.work import WorkFolder
from gridloom.targets.dataflow.costs.load import Guide
from gridloom.targets.dataflow.learned import data
from gridloom.targets.dataflow.learned.features import EDGE_FEATURES, POOLED
from gridloom.targets.dataflow.learned.inference import COLUMNS, PREFIX, LearnedCostModel, inputs
from gridloom.targets.dataflow.learned.trees import pool_features
from gridloom.targets.dataflow.mappers.place_kernel import seed_generator
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig

torch = pytest.importorskip("torch")

from gridloom.targets.dataflow.learned import model, rivals, training  # noqa: E402
from gridloom.targets.dataflow.learned.samples import GraphSamples, by_graph  # noqa: E402
from gridloom.targets.dataflow.learned.torch_models import PipelineTensors, Regressor  # noqa: E402

SMALL = ("gemm", {"inner": 64, "columns": 64})


@pytest.fixture(scope="module")
def pipeline() -> data.Pipeline:
    return data.graph_pipeline("mlp", (("layers", 2), ("width", 64)), "present")


def random_places(found: data.Pipeline, count: int, seed: int = 0) -> np.ndarray:
    return AnnealingChains(found, DataflowConfig(cost="heuristic", chains=count, start="random"), seed).places


def stump(tmp_path: Path, low: float, high: float, dead: float = 0.0) -> Path:
    """A file with one tree, which asks for the speed that the formula expects and corrects by one of two numbers."""
    numbers = {name: np.array([[0, 1, 2]], dtype=np.int16) for name in ("left", "right")}
    numbers["left"][0, 0], numbers["right"][0, 0] = 1, 2
    forest = Forest(
        feature=np.zeros((1, 3), dtype=np.int16), threshold=np.array([[0.4, 0, 0]], dtype=np.float32), **numbers,
        value=np.array([[0, low, high]], dtype=np.float32), start=0.0, depth=1,
    )  # fmt: skip
    path = tmp_path / "stump.npz"
    about = {"dead": dead, "scope": {}}
    weights.save_model(path, "cost-model", forest.to_arrays(PREFIX), about, features=COLUMNS)
    return path


def test_trees_correct_the_formula(tmp_path: Path, pipeline: data.Pipeline):
    decisions = data.route_places(pipeline, random_places(pipeline, 8), "present")
    formula = registry.load("costs", "queueing")().efficiency(pipeline, decisions)
    found = LearnedCostModel(stump(tmp_path, -0.3, 0.2, dead=0.1)).efficiency(pipeline, decisions)
    assert formula.min() < 0.4 < formula.max()
    expected = np.minimum(1, formula * np.where(formula <= 0.4, np.exp(-0.2), np.exp(0.1)))
    assert found == pytest.approx(expected, rel=1e-5)


def test_what_trees_see_is_pooled_over_flows():
    random = np.random.default_rng(3)
    edges = random.random((3, 20, len(EDGE_FEATURES))).astype(np.float32)
    speeds = np.array([[0.5, 0.6], [0.4, 0.4], [0.9, 1.0]], dtype=np.float32)
    seen = pool_features(edges, speeds)
    column = {name: k for k, name in enumerate(POOLED)}
    assert seen.shape == (3, len(POOLED)) and len(column) == len(POOLED)
    late, used, trip = (EDGE_FEATURES.index(name) for name in ("late", "used", "trip"))
    ranked = np.sort(edges[:, :, trip], axis=1)[:, ::-1]
    assert seen[:, column["largest", "trip"]] == pytest.approx(ranked[:, 0])
    assert seen[:, column["mean", "trip"]] == pytest.approx(ranked.mean(axis=1))
    for name, rank in (("2nd", 1), ("4th", 3), ("8th", 7), ("16th", 15)):
        assert seen[:, column[name, "trip"]] == pytest.approx(ranked[:, rank])
    worst = edges[:, :, late].argmax(axis=1)
    assert seen[:, column["most late", "used"]] == pytest.approx(edges[range(3), worst, used])
    chosen = edges[:, :, used] > 0.85
    assert seen[:, column["used above 0.85", "count"]].tolist() == chosen.sum(axis=1).tolist()
    means = (edges[:, :, trip] * chosen).sum(axis=1) / chosen.sum(axis=1)
    assert seen[:, column["used above 0.85", "mean trip"]] == pytest.approx(means)
    assert seen[:, column["whole", "waits"]] == pytest.approx(np.log(speeds[:, 1] / speeds[:, 0]))


def test_with_fewer_flows_than_ranks_the_least_flow_takes_their_place():
    edges = np.array([[[0.2] * len(EDGE_FEATURES), [0.7] * len(EDGE_FEATURES)]], dtype=np.float32)
    seen = dict(zip(POOLED, pool_features(edges, np.ones((1, 2), dtype=np.float32))[0]))
    assert [seen[name, "pace"] for name in ("largest", "2nd", "16th")] == pytest.approx([0.7, 0.2, 0.2])


def test_a_search_is_told_the_prediction_and_the_mean_over_flows(tmp_path: Path, pipeline: data.Pipeline):
    learned = LearnedCostModel(stump(tmp_path, -0.3, 0.2))
    decisions = data.route_places(pipeline, random_places(pipeline, 4), "present")
    flows = registry.load("costs", "bottleneck")().flows(pipeline, decisions)
    assert isinstance(learned, Guide)
    expected = learned.efficiency(pipeline, decisions) + flows.mean(axis=1)
    assert learned.preference(pipeline, decisions) == pytest.approx(expected)


@pytest.mark.parametrize("dead", [0.01, 0.02])
def test_small_corrections_are_none(tmp_path: Path, pipeline: data.Pipeline, dead: float):
    decisions = data.route_places(pipeline, random_places(pipeline, 4), "present")
    formula = registry.load("costs", "queueing")().efficiency(pipeline, decisions).astype(np.float32)
    found = LearnedCostModel(stump(tmp_path, -0.01, 0.009, dead)).efficiency(pipeline, decisions)
    assert np.array_equal(found, formula)


def test_weights_of_another_model_are_refused(tmp_path: Path):
    weights.save(tmp_path / "network.npz", Regressor("sharing", width=16).state_dict(), {"layers": 2})
    with pytest.raises(OptionError, match="these are weights of None, expected 'cost-model'"):
        LearnedCostModel(tmp_path / "network.npz")
    weights.save_model(tmp_path / "other.npz", "cost-model", {}, {}, features=["speed"])
    with pytest.raises(OptionError, match="these weights are for other features; make new ones with"):
        LearnedCostModel(tmp_path / "other.npz")


def test_on_a_step_of_the_prediction_shorter_ways_are_still_preferred():
    found = data.graph_pipeline("mlp", (("layers", 3), ("width", 448)), "present")
    search = AnnealingChains(found, DataflowConfig(cost="heuristic", chains=8), 0)
    seed_generator(0)
    search.shorten()
    shaken, units = search.places.copy(), np.flatnonzero(found.unit_kind == 0)
    shaken[:, units[:2]] = shaken[:, units[:2][::-1]]
    learned = registry.load("costs", "learned")()
    near, far = (data.route_places(found, places, "present") for places in (search.places, shaken))
    better, worse = learned.preference(found, near), learned.preference(found, far)
    # Where both have time to spare the price of wire decides.
    assert np.all(better >= worse - 1e-6)
    assert np.sum(better > worse) >= 6


def test_a_decision_scores_the_same_alone_and_in_a_batch(tmp_path: Path, pipeline: data.Pipeline):
    learned = LearnedCostModel(stump(tmp_path, -0.3, 0.2))
    places = random_places(pipeline, 5)
    together = learned.efficiency(pipeline, data.route_places(pipeline, places, "present"))
    alone = [
        learned.efficiency(pipeline, data.route_places(pipeline, places[k : k + 1], "present"))[0] for k in range(5)
    ]
    assert together == pytest.approx(alone, abs=1e-6)


def test_features_count_hops_loads_and_sharers(pipeline: data.Pipeline):
    decisions = data.route_places(pipeline, random_places(pipeline, 1), "present")
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
    decisions = data.route_places(pipeline, random_places(pipeline, 2), "present")
    seen = [torch.as_tensor(values) for values in inputs(pipeline, decisions)]
    graph = PipelineTensors.of(pipeline)
    torch.manual_seed(0)
    with torch.no_grad():
        full = Regressor(variant, "nothing")(graph, *seen)
        without = Regressor(variant, "edges")(graph, *seen)
    assert full[0] != full[1]
    assert float(without[0]) == pytest.approx(float(without[1]), abs=1e-5)


def test_ranks_share_ties():
    values = np.array([3.0, 1.0, 1.0, 2.0])
    assert rivals.spearman(values, values) == pytest.approx(1)
    assert rivals.spearman(values, -values) == pytest.approx(-1)
    assert rivals.spearman(values, np.array([9.0, 4.0, 5.0, 6.0])) == pytest.approx(0.9486833)
    assert rivals.spearman(values, np.ones(4)) == 0


def test_a_job_gives_the_same_row_again_and_labels_are_measured():
    asked = {"family": SMALL[0], "graph": SMALL[1], "era": "present", "seed": 3}
    first, second = data.sample(asked), data.sample(asked)
    assert first == second
    found = data.graph_pipeline(SMALL[0], tuple(sorted(SMALL[1].items())), "present")
    decisions = data.route_places(found, np.array(first["places"]), "present")
    assert registry.load("costs", "simulated")().efficiency(found, decisions) == pytest.approx(
        first["labels"], abs=1e-6
    )


def test_first_jobs_are_of_all_families_and_a_round_is_of_all_graphs():
    listed = [job.asked["parameters"] for job in data.jobs("present", 6080)]
    assert {row["family"] for row in listed[:8]} == {"gemm", "mlp", "ffn", "mha"}
    assert len(listed) == 380
    for seed in range(5):
        mine = [(row["family"], row["graph"]) for row in listed if row["seed"] == seed]
        assert len(mine) == 76 and all(graph in mine for graph in data.graphs())


def test_data_set_goes_on_where_it_was_and_training_learns_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    listed = [SMALL, ("gemm", {"inner": 64, "columns": 128})]
    monkeypatch.setattr(data, "graphs", lambda: listed)
    work = WorkFolder(folder=tmp_path, jobs=1)
    config = model.CostModelConfig(decisions=128, folds=2)
    made = model.MODEL.make_data(config, work)
    assert (made["computed"], made["failed"], made["decisions"]) == (8, 0, 128)
    assert model.MODEL.make_data(config, work)["computed"] == 0
    report = model.MODEL.train(config, work)
    assert report["decisions"] == 128
    assert report["cross_validation"]["spearman"] > 0.5
    samples = data.load(tmp_path / data.STORE_NAME, "present")
    judged = model.judge_models(LearnedCostModel(tmp_path / "cost-model.npz"), samples)
    assert judged["learned"]["relative_error"] < judged["heuristic"]["relative_error"]


def test_training_without_data_says_how_to_make_it(tmp_path: Path):
    with pytest.raises(OptionError, match="make it with `gridloom train cost-model --make-data`"):
        model.MODEL.train(model.CostModelConfig(), WorkFolder(folder=tmp_path))


def test_shipped_weights_rank_a_graph_they_have_not_seen():
    asked = {"family": "mlp", "graph": {"width": 320, "layers": 2}, "era": "present", "seed": 1}
    row = data.sample(asked)
    found = data.graph_pipeline("mlp", (("layers", 2), ("width", 320)), "present")
    decisions = data.route_places(found, np.array(row["places"]), "present")
    labels = np.array(row["labels"])
    learned = registry.load("costs", "learned")().efficiency(found, decisions)
    assert np.abs(learned - labels).mean() < 0.05
    assert rivals.spearman(learned, labels) > 0.8


def test_shipped_weights_are_small_and_have_a_card():
    path = weights.weights_path("cost-model")
    assert path.stat().st_size < 2_000_000
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    assert str(weights.load(path)[1]["data"]) in card


@pytest.fixture(scope="module")
def decisions() -> list[GraphSamples]:
    family, graph = SMALL
    row = data.sample({"family": family, "graph": graph, "era": "present", "seed": 1})
    made = data.DecisionSample(
        family=family, graph=tuple(sorted(graph.items())), era="present",
        places=np.array(row["places"]), labels=np.array(row["labels"]),
    )  # fmt: skip
    return by_graph([made])


@pytest.mark.parametrize(("constants", "starts"), [(0, 1), (1, 2), (9, 3)])
def test_training_that_ends_at_a_constant_starts_again(
    monkeypatch: pytest.MonkeyPatch, decisions: list[GraphSamples], constants: int, starts: int
):
    rates: list[float] = []
    monkeypatch.setattr(training, "_train", lambda *given: rates.append(given[4]))
    monkeypatch.setattr(training, "_constant", lambda *_: len(rates) <= constants)
    training.train(decisions, epochs=1)
    assert rates == [3e-3, 3e-3, 1e-3][:starts]


def test_training_that_is_told_to_end_does_not_start_again(
    monkeypatch: pytest.MonkeyPatch, decisions: list[GraphSamples]
):
    shares: list[float] = []
    monkeypatch.setattr(training, "_constant", lambda *_: True)
    training.train(decisions, epochs=3, told=lambda share: not shares.append(share))
    assert shares == [1 / 3]


def test_a_network_that_says_the_same_of_all_is_constant(decisions: list[GraphSamples]):
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
