"""The mappability data set, its features and metrics, and the network that answers without torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import static_grid
from tests.search.conftest import butterflies

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.flow.options import configure, parse_settings
from gridloom.learn import weights
from gridloom.partition.width_estimate import bound_estimate
from gridloom.run.work import WorkFolder
from gridloom.targets.rows.learned import data, labels, random_graphs
from gridloom.targets.rows.learned.features import (
    ARRAY_COLUMNS,
    ARRAY_CONSTANTS,
    ARRAY_ROWS,
    GLOBAL_FEATURES,
    NODE_FEATURES,
    ArrayShape,
    features,
    of_graph,
    of_row,
    on_columns,
)
from gridloom.targets.rows.learned.inference import EXCESS, LearnedEstimator, WidthNetwork, load_network, save_network
from gridloom.targets.rows.learned.metrics import JudgedWidth, calibrate, calibration_error, metrics, threshold
from gridloom.targets.rows.learned.model import MODEL, MappabilityConfig
from gridloom.targets.rows.learned.random_graphs import OVERFULL, SHAPES, draw, part_sources, style_of

SHAPE = ArrayShape(rows=8, cols=12, constants=16, own_row_operands=1)


# -- graphs ---------------------------------------------------------------------------------------------------------


def counts(dfg: Dfg) -> tuple[int, int, int]:
    """Ops, inputs, outputs."""
    inputs = sum(node.op == "input" for node in dfg.nodes)
    outputs = sum(node.op == "output" for node in dfg.nodes)
    return len(dfg.nodes) - inputs - outputs - sum(op.timeless for op in dfg.ops), inputs, outputs


def test_graphs_are_the_same_twice_and_of_every_shape() -> None:
    seen = set()
    for family in range(120):
        style = style_of(family)
        seen.add(style.shape)
        dfg = draw(family, family % 5)
        ops, inputs, outputs = counts(dfg)
        assert 5 <= ops <= 82
        # The result of a whole kernel may be a live-out, which needs no store.
        assert outputs >= 1 or style.shape == "part"
        if style.shape != "part":
            assert inputs <= style.inputs
            assert outputs <= style.outputs
        if family % 10 == 0:
            assert draw(family, family % 5) == dfg
    assert seen == {*SHAPES, "part"}


def test_many_overfull_graphs_are_decided_by_counting() -> None:
    arch = build("vpcma")
    decided = sum(bound_estimate(draw(OVERFULL + k, 0), arch).width is None for k in range(40))
    assert 8 < decided < 40


# -- labels ---------------------------------------------------------------------------------------------------------


def test_a_label_is_the_same_twice_and_its_row_gives_the_graph_back(tmp_path: Path) -> None:
    work = WorkFolder(folder=tmp_path, jobs=1)
    first = data.make(8, 1, "vpcma:4x4", work)
    assert first["computed"] == len(list(data.jobs(8, 1, "vpcma:4x4"))) > 8
    rows = data.read(tmp_path / data.STORE_NAME)
    again = data.make(8, 1, "vpcma:4x4", work)
    assert (again["computed"], again["sha256"]) == (0, first["sha256"])
    other = tmp_path / "other"
    other.mkdir()
    assert data.make(8, 1, "vpcma:4x4", replace(work, folder=other))["sha256"] == first["sha256"]
    for row in rows:
        dfg = draw(row.family, row.number)
        assert tuple(data.encode(data.decode(row))[2]) == row.edges == tuple(data.encode(dfg)[2])
        assert (row.width is None) == (row.decided != "found")
        assert row.width is None or row.bound <= row.width <= 4


def test_a_new_data_set_begins_with_what_is_known(tmp_path: Path) -> None:
    work = WorkFolder(folder=tmp_path / "first", jobs=1)
    work.folder.mkdir()
    first = data.make(8, 1, "vpcma:4x4", work)
    rows = data.read(work.folder / data.STORE_NAME)
    again = replace(work, folder=tmp_path / "second")
    again.folder.mkdir()
    made = data.make(8, 1, "vpcma:4x4", again, known=rows[:9])
    assert (made["computed"], made["sha256"]) == (first["computed"] - 9, first["sha256"])
    # A store that is there already is not written to.
    assert data.make(8, 1, "vpcma:4x4", again, known=[replace(rows[0], width=4)])["sha256"] == first["sha256"]


def test_the_questions_of_the_main_array_stay_what_they_were() -> None:
    # Stores of labels that took half an hour are found again by these keys.
    alone = [job.key for job in data.jobs(8, 2, "vpcma")]
    assert alone[0] == "0915293448b4c1ddae23e28144fd324e148564d2fdef7941a2c5085b34a59a2d"
    more = list(data.jobs(8, 2, "vpcma", data.Others(arrays=("vpcma:4x12", "vpcma:8x16"), families=4)))
    assert [job.key for job in more[: len(alone)]] == alone
    asked = [job.argument for job in more[len(alone) :]]
    assert len(asked) == 2 * len(data.some_families("vpcma:4x12", 8, 4)) > 8
    assert [question["arch"] for question in asked[:2]] == ["vpcma:4x12", "vpcma:8x16"]
    assert min(question["number"] for question in asked) >= data.OTHER_NUMBERS
    assert len({(question["family"], question["number"]) for question in asked}) == len(asked)


def test_families_of_another_array_spread_over_all_and_more_of_them_only_add() -> None:
    few, many = (data.some_families("vpcma:6x12", 640, count) for count in (100, 400))
    usual = [family for family in many if family < OVERFULL]
    assert len(usual) == 400 < len(many) == len(set(many))
    assert set(few) < set(many)
    assert all(40 < sum(160 * k <= family < 160 * (k + 1) for family in usual) < 160 for k in range(4))
    assert set(many) != set(data.some_families("vpcma:10x12", 640, 400))
    assert sum(family < OVERFULL for family in data.some_families("vpcma:6x12", 8, 400)) == 8


def test_other_arrays_are_labelled_after_the_main_one(tmp_path: Path) -> None:
    told: list[str] = []
    work = WorkFolder(folder=tmp_path, jobs=1, progress=lambda text, _: told.append(text))
    data.make(4, 1, "vpcma:4x4", work)
    config = MappabilityConfig(
        families=4, graphs=1, arch="vpcma:4x4", others="vpcma:3x4", unseen="vpcma:2x4", others_families=4
    )
    made = MODEL.make_data(config, work)
    each = len(list(data.jobs(4, 1, "vpcma:4x4")))
    assert made["computed"] == 2 * each
    assert told[-1] == f"{3 * each} of {3 * each} graphs"
    assert {spec: found["graphs"] for spec, found in made["arrays"].items()} == {
        "vpcma:2x4": each, "vpcma:3x4": each, "vpcma:4x4": each
    }  # fmt: skip
    rows = data.read(tmp_path / data.STORE_NAME)
    assert {row.arch for row in rows if data.is_main(row)} == {"vpcma:4x4"}
    assert sum(point["graphs"] for point in MODEL.by_size(tmp_path, 10)) == 4


def test_an_array_is_named_once() -> None:
    config = configure(MappabilityConfig, parse_settings(["others=vpcma:6x12 vpcma:4x12", "unseen="]), "mappability")
    assert config.others_and_unseen() == (("vpcma:6x12", "vpcma:4x12"), ())
    with pytest.raises(OptionError, match="'vpcma:8x12' is the same array as 'vpcma'"):
        MappabilityConfig(unseen="vpcma:8x12").others_and_unseen()


def test_a_missing_or_small_data_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(labels, "labels_path", lambda: tmp_path / "none.npz")
    with pytest.raises(OptionError, match="--make-data"):
        MODEL.evaluate(MappabilityConfig(), WorkFolder(folder=tmp_path))
    with pytest.raises(OptionError, match="folds"):
        MappabilityConfig(folds=1)


# -- labels of the package --------------------------------------------------------------------------------------------


def test_labels_without_graphs_give_the_rows_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small graphs, so that the searches are short.
    monkeypatch.setattr(random_graphs, "MOST_OPS", 12)
    data.make(6, 1, "vpcma:4x4", WorkFolder(folder=tmp_path, jobs=1))
    rows = data.read(tmp_path / data.STORE_NAME)
    labels.pack(tmp_path / labels.FILE, rows)
    again = labels.read(tmp_path / labels.FILE)
    assert data.data_hash(again) == data.data_hash(rows)
    assert [(row.counts, row.bound, row.decided) for row in again] == [
        (row.counts, row.bound, row.decided) for row in rows
    ]
    told = labels.check_labels(again, 2, 0)
    assert told["relabelled"] > 0
    assert told["disagree"] == 0


def test_labels_of_other_graphs_are_refused(tmp_path: Path) -> None:
    row = data.LabelledGraph(
        family=3, number=0, shape="trees", arch="vpcma", ops=(1,), values=(0,), edges=(), counts=(1, 0, 0, 0), bound=1,
        width=1, decided="found", conflicts=0, moves=0, cpu=0.0,
    )  # fmt: skip
    labels.pack(tmp_path / "l.npz", [row])
    with pytest.raises(OptionError, match="graph 0 of family 3 is no longer the one that was labelled"):
        labels.read(tmp_path / "l.npz")


def test_the_package_has_labels_in_less_than_a_megabyte() -> None:
    assert labels.labels_path().stat().st_size < 1_000_000


def test_no_part_comes_from_a_kernel_that_the_flow_is_measured_on() -> None:
    assert not {"dct8", "fft_radix4", "rgb_to_ycc", "aes_column", "md5_step"} & {dfg.name for dfg in part_sources()}


def test_the_published_network_judges_graphs_of_its_array_and_leaves_others_to_counting() -> None:
    estimator = MODEL.published_estimator()
    found = estimator.estimate(chain(6), build("vpcma"))
    assert found.probability is not None
    assert found.width is None or found.width >= found.bound
    assert estimator.estimate(chain(6), build("vpcma:4x4")).width == 2
    assert estimator.probability(chain(6), build("vpcma:4x4"), 4) is None


# -- features -------------------------------------------------------------------------------------------------------


def longest(dfg: Dfg) -> int:
    """Ops on the longest way, by recursion."""
    best: dict[str, int] = {}
    for k in dfg.topological:
        node = dfg.nodes[k]
        before = max((best[dfg.edges[e].source] for e in dfg.in_edges[k]), default=0)
        best[node.id] = before + (node.op not in ("input", "output", "const"))
    return max(best.values())


@pytest.mark.parametrize("family", range(0, 60, 6))
def test_features_know_depth_and_counts(family: int) -> None:
    dfg = draw(family, 1)
    found = of_graph(dfg, SHAPE)
    assert found.nodes.shape == (len(dfg.nodes), NODE_FEATURES)
    assert found.global_features.shape == (GLOBAL_FEATURES,)
    assert found.nodes[0, 10] * 8 == pytest.approx(longest(dfg))
    need = bound_estimate(dfg, build("vpcma"))
    assert found.bound == need.bound
    assert np.isfinite(found.global_features).all()


def test_features_do_not_depend_on_the_order_of_nodes() -> None:
    ops, values, edges = data.encode(draw(4, 2))
    order = np.random.default_rng(0).permutation(len(ops))
    place = {int(old): new for new, old in enumerate(order)}
    moved = features(
        [ops[k] for k in order], [values[k] for k in order], [(place[a], place[b], k) for a, b, k in edges], SHAPE
    )
    np.testing.assert_allclose(moved.global_features, features(ops, values, edges, SHAPE).global_features, atol=1e-6)


def row_of(dfg: Dfg, arch: str) -> data.LabelledGraph:
    """A row without a label."""
    ops, values, edges = data.encode(dfg)
    return data.LabelledGraph(
        family=1, number=data.OTHER_NUMBERS, shape="window", arch=arch, ops=tuple(ops), values=tuple(values),
        edges=tuple(edges), counts=(0, 0, 0, 0), bound=1, width=None, decided="exhausted", conflicts=1, moves=1,
        cpu=0.0,
    )  # fmt: skip


@given(
    st.integers(0, 400), st.integers(1, 12), st.integers(1, 16), st.integers(1, 12), st.integers(1, 16),
    st.integers(0, 24),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_features_are_of_the_rows_own_array(
    family: int, rows: int, cols: int, other: int, narrow: int, constants: int
) -> None:
    dfg = draw(family, 7)
    row = row_of(dfg, f"vpcma:{rows}x{cols}")
    here = of_row(row, ArrayShape(rows=rows, cols=cols, constants=constants, own_row_operands=1))
    there = of_row(row, ArrayShape(rows=other, cols=cols, constants=constants, own_row_operands=1))
    assert here.bound == bound_estimate(dfg, build(row.arch)).bound
    assert (here.global_features[ARRAY_ROWS] * 8, here.global_features[ARRAY_COLUMNS] * 12) == pytest.approx(
        (rows, cols), rel=1e-5
    )
    assert here.global_features[ARRAY_CONSTANTS] * 16 == pytest.approx(constants)
    # Levels against rows: what is as deep on twice the rows is half as deep a share of them.
    np.testing.assert_allclose(here.nodes[:, 7:14] * rows, there.nodes[:, 7:14] * other, rtol=1e-4, atol=1e-4)
    assert here.global_features[-15] == pytest.approx(here.counts[1] / max(1, constants))
    assert here.global_features[2] * rows * cols == pytest.approx(here.counts[0], rel=1e-4)
    # Asking for the first columns is asking about a narrower array of the same height and constants.
    same = of_row(row, ArrayShape(rows=rows, cols=narrow, constants=constants, own_row_operands=1))
    np.testing.assert_allclose(on_columns(here, narrow), same.global_features, rtol=1e-5, atol=1e-6)


# -- metrics --------------------------------------------------------------------------------------------------------


def test_metrics_are_counted_right() -> None:
    judged = [
        JudgedWidth(actual=4, predicted=4),
        JudgedWidth(actual=4, predicted=5),
        JudgedWidth(actual=2, predicted=None),
        JudgedWidth(actual=None, predicted=3),
        JudgedWidth(actual=None, predicted=None),
    ]
    found = metrics(judged)
    assert found["accuracy"] == 0.6
    assert found["recall"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["false_positive_rate"] == 0.5
    assert found["exact_width"] == 0.5
    assert found["width_error"] == 0.125


def test_calibration_makes_probabilities_of_logits() -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 2, 4000)
    truths = (rng.random(4000) < 1 / (1 + np.exp(-(0.5 * logits + 1)))).astype(float)
    scale, shift = calibrate(logits, truths)
    assert scale == pytest.approx(0.5, abs=0.08)
    assert shift == pytest.approx(1, abs=0.12)
    p = 1 / (1 + np.exp(-(scale * logits + shift)))
    right = [
        JudgedWidth(actual=1 if t else None, predicted=None, probability=float(x))
        for x, t in zip(p, truths, strict=True)
    ]
    assert calibration_error(right) < 0.03
    # Ten graphs that are all told apart do not make it certain.
    few = np.array([-9.0] * 5 + [9.0] * 5)
    scale, shift = calibrate(few, (few > 0).astype(float))
    assert 0.05 <= scale < 3
    assert abs(shift) < 1
    cut = threshold(p, truths, 0.05)
    assert ((p >= cut) & (truths == 0)).sum() / (truths == 0).sum() <= 0.05
    assert threshold(p, truths, 1.0) < cut


# -- the network ----------------------------------------------------------------------------------------------------


def network(seed: int = 0, rows: tuple[int, int] = (8, 8)) -> WidthNetwork:
    """A network with random weights."""
    rng = np.random.default_rng(seed)
    width, hidden = 8, 12

    def array(*size: int) -> np.ndarray:
        return rng.normal(0, 0.3, size).astype(np.float32)

    member = {
        "embed.weight": array(width, NODE_FEATURES), "embed.bias": array(width),
        "layers.0.own.weight": array(width, width), "layers.0.own.bias": array(width),
        "layers.0.made.weight": array(width, width), "layers.0.read.weight": array(width, width),
        "first.weight": array(hidden, 3 * width + GLOBAL_FEATURES), "first.bias": array(hidden),
        "second.weight": array(hidden, hidden), "second.bias": array(hidden),
        "heads.weight": array(1 + EXCESS, hidden), "heads.bias": array(1 + EXCESS),
        "direct.weight": array(1 + EXCESS, 2 * GLOBAL_FEATURES),
        "mean": array(GLOBAL_FEATURES), "spread": np.ones(GLOBAL_FEATURES, dtype=np.float32),
    }  # fmt: skip
    return WidthNetwork(members=(member,), scale=1.0, shift=0.0, threshold=0.0, rows=rows, columns=12)


def test_weights_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    save_network(path, network(3), {"data": {"graphs": 1}})
    graph = of_graph(draw(1, 1), SHAPE)
    assert load_network(path).predict(graph) == network(3).predict(graph)
    assert load_network(path).outside(SHAPE) == ""
    assert (load_network(path).rows, load_network(path).columns) == ((8, 8), 12)
    assert path.stat().st_size < 2_000_000


def test_the_estimator_never_says_less_than_counting() -> None:
    arch = build("vpcma")
    eager, shy = LearnedEstimator(network()), LearnedEstimator(replace(network(), threshold=1.1))
    for family in range(30):
        dfg = draw(family, 0)
        said = eager.estimate(dfg, arch)
        counted = bound_estimate(dfg, arch)
        assert said.bound == counted.bound
        if of_graph(dfg, ArrayShape.of(arch)).too_high:
            assert (said.width, said.probability) == (None, 0.0)
        elif counted.width is not None:
            assert said.width is not None
            assert counted.width <= said.width <= 12
            assert 0 <= (said.probability or 0) <= 1
        assert shy.estimate(dfg, arch).width is None
    assert eager.estimate(load_source("kernel:cma_md5"), arch).width is None


def test_arrays_it_was_not_trained_for_get_the_bound_and_the_reason() -> None:
    dfg = draw(3, 0)
    arch = build("vpcma:6x12")
    counted = bound_estimate(dfg, arch)
    said = LearnedEstimator(network()).estimate(dfg, arch)
    assert replace(said, reason=counted.reason) == counted
    assert said.reason == (
        "max(ops / rows, loads, stores); 6 rows, 12 columns and 12 constant registers are outside what the estimator "
        "was trained for: 8 rows, at most 12 columns, two registers a row"
    )
    with pytest.raises(OptionError, match="vpcma"):
        LearnedEstimator(network()).estimate(dfg, static_grid())


@pytest.mark.parametrize(
    ("spec", "known"),
    [
        ("vpcma:4x12", True), ("vpcma:7x9", True), ("vpcma:10x12", True), ("vpcma", True),
        ("vpcma:3x12", False), ("vpcma:11x12", False), ("vpcma:8x13", False), ("vpcma:8x12,constants=15", False),
    ],
)  # fmt: skip
def test_it_answers_between_the_heights_it_was_trained_for(spec: str, known: bool) -> None:
    estimator, arch, dfg = LearnedEstimator(network(rows=(4, 10))), build(spec), chain(3)
    said = estimator.estimate(dfg, arch)
    assert (said.probability is not None) == known
    assert (estimator.probability(dfg, arch, arch.cols) is not None) == known
    assert (said.reason == "learned") == known
    assert known or "4 to 10 rows, at most 12 columns" in said.reason


def test_rows_that_prove_it_are_not_asked_about() -> None:
    dfg = butterflies(9)
    estimator = LearnedEstimator(network(rows=(8, 9)))
    said = estimator.estimate(dfg, build("vpcma"))
    assert (said.width, said.probability, said.reason) == (None, 0.0, "needs at least 9 rows, has 8")
    assert estimator.probability(dfg, build("vpcma"), 12) == 0.0
    assert estimator.estimate(dfg, build("vpcma:9x12")).width is not None
    assert estimator.estimate(dfg, build("vpcma:7x12")).reason == "needs at least 9 rows, has 7"


def test_weights_for_other_features_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    member = dict(network().members[0])
    member["embed.weight"] = member["embed.weight"][:, 1:]
    save_network(path, replace(network(), members=(member,)), {})
    with pytest.raises(OptionError, match="weights are for other features of graphs; train them again"):
        load_network(path)


def test_weights_that_do_not_name_their_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    weights.save(path, {}, {"model": "mappability", "members": 0, "rows": 8, "constants": 16})
    with pytest.raises(OptionError, match="do not say which arrays they were trained for; train them again"):
        load_network(path)


def chain(ops: int) -> Dfg:
    b = DfgBuilder("chain", "cma24")
    value = b.input("x")
    for _ in range(ops):
        value = b.add("add", value, b.const(3))
    b.output(value, "y")
    return b.build()


def test_the_shipped_estimator_knows_what_is_easy_and_what_is_hopeless() -> None:
    estimator, arch = MODEL.estimator(), build("vpcma")
    easy = estimator.estimate(chain(6), arch)
    assert easy.width == 1
    assert (easy.probability or 0) > 0.9
    # A dense random graph of 80 ops with 12 inputs and outputs: counting lets it pass, no mapper does.
    rng = np.random.default_rng(0)
    b = DfgBuilder("dense", "cma24")
    values = [b.input(f"x{k}") for k in range(12)]
    for _ in range(80):
        values.append(b.add("add", *(values[int(k)] for k in rng.choice(len(values), 2, replace=False))))
    for k in range(12):
        b.output(values[-1 - k], f"y{k}")
    dense = b.build()
    assert bound_estimate(dense, arch).width == 12
    assert estimator.estimate(dense, arch).width is None


def test_more_columns_are_never_less_likely_to_do() -> None:
    estimator, arch = MODEL.estimator(), build("vpcma")
    dfg = load_source("kernel:cma_aes")
    said = [estimator.probability(dfg, arch, columns) or 0.0 for columns in range(1, 13)]
    assert said[:5] == [0.0] * 5
    assert said == sorted(said)
    assert said[-1] == estimator.estimate(dfg, arch).probability
    # The mapper finds 7 columns.
    assert said[6] > 0.9
    assert estimator.probability(dfg, build("vpcma:16x12"), 12) is None


@pytest.mark.parametrize("bad", [{"most_false": 2.0}, {"folds": 1}, {"dgcnn_epochs": 0}])
def test_settings_are_checked(bad: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(bad))):
        MODEL.config(**bad)
