"""The II estimator: drawn loops and arrays, features, labels, trees on numpy, folds, rivals, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import static_grid

from gridloom.archs import build
from gridloom.errors import OptionError
from gridloom.flow.inputs import prepare
from gridloom.learn.boosted import ForestSettings
from gridloom.mapping.mii import mii
from gridloom.run.work import WorkFolder
from gridloom.targets.modulo.ii_estimate import BoundIi, IiEstimate, bound_ii
from gridloom.targets.modulo.learned import data, labels, training
from gridloom.targets.modulo.learned.features import AT_NAMES, NAMES, at, of_pair
from gridloom.targets.modulo.learned.inference import ASKED, LearnedIi, ReachabilityTrees, load_trees, save_trees
from gridloom.targets.modulo.learned.labels import LabelledLoop
from gridloom.targets.modulo.learned.model import MODEL, InitiationConfig
from gridloom.targets.modulo.learned.random_loops import SHAPES, array, array_text, draw, style_of


def stump(feature: str, threshold: float, low: float, high: float) -> ReachabilityTrees:
    """One tree of one question."""
    names = [*NAMES, *AT_NAMES]
    return ReachabilityTrees(
        feature=np.array([[names.index(feature), 0, 0]], dtype=np.int16),
        threshold=np.array([[threshold, 0, 0]], dtype=np.float32),
        left=np.array([[1, 1, 2]], dtype=np.int16),
        right=np.array([[2, 1, 2]], dtype=np.int16),
        value=np.array([[0, low, high]], dtype=np.float32),
        start=0.0,
        depth=1,
    )


def pair(source: str = "loop:1:0", mii_of: int = 2, above: int = 1, **numbers: float) -> LabelledLoop:
    values = np.ones(len(NAMES))
    for name, value in {"mii": mii_of, "res": mii_of, "tiles": 4, **numbers}.items():
        values[NAMES.index(name)] = value
    return LabelledLoop(source=source, arch="torus:2x2", values=values, ii=mii_of + above, mii=mii_of)


# -- what is drawn ----------------------------------------------------------------------------------------------------


def test_loops_are_the_same_twice_and_of_every_shape() -> None:
    seen = set()
    for family in range(60):
        seen.add(style_of(family).shape)
        again = draw(family, 1)
        assert (again.nodes, again.edges) == (draw(family, 1).nodes, draw(family, 1).edges)
    assert seen == set(SHAPES)


@settings(max_examples=40, deadline=None)
@given(family=st.integers(0, 10_000), number=st.integers(0, 50))
def test_every_drawn_loop_reads_all_that_it_computes(family: int, number: int) -> None:
    dfg = draw(family, number)
    read = {edge.source for edge in dfg.edges}
    assert all(node.id in read or node.op == "output" or dfg.op(node.id).timeless for node in dfg.nodes)


@settings(max_examples=40, deadline=None)
@given(number=st.integers(0, 10_000))
def test_every_drawn_array_takes_every_drawn_loop(number: int) -> None:
    arch = array(array_text(number))
    assert arch.style == "modulo"
    assert data.usable(f"loop:{number}:0", array_text(number))


def test_pairs_come_in_one_order_and_once() -> None:
    pairs = list(data.pairs(20, 2, ("a.c",)))
    assert len(pairs) == len(set(pairs)) == 40 + len(data.KERNELS) * len(data.PRESETS) + len(data.FILE_ARRAYS)
    assert pairs == list(data.pairs(20, 2, ("a.c",)))
    assert {data.group_of(source) for source, _ in pairs[:40]} >= {"drawn", "loops"}


# -- features ---------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(family=st.integers(0, 2000))
def test_features_are_finite_and_agree_with_the_bound(family: int) -> None:
    arch = array(array_text(family))
    dfg = data.fit_source(f"loop:{family}:0", arch)
    found = of_pair(dfg, arch)
    assert found.values.shape == (len(NAMES),)
    assert found.mii.total == mii(dfg, arch).total == found.values[0]
    rows = at(found.values, np.arange(found.mii.total, found.mii.total + 5))
    assert rows.shape == (5, len(NAMES) + len(AT_NAMES)) and np.isfinite(rows).all()
    occupied = rows[:, len(NAMES) + AT_NAMES.index("occupied")]
    assert (np.diff(occupied) < 0).all() and occupied[0] <= 1


def test_features_of_a_known_loop() -> None:
    prepared = prepare("kernel:dot_product", "torus:2x2,regs=2")
    found = dict(zip(NAMES, of_pair(prepared.dfg, prepared.arch).values, strict=True))
    assert (found["tiles"], found["registers"], found["degree"], found["memory_ports"]) == (4, 2, 2, 2)
    assert found["memory"] == sum(node.op in ("load", "store") for node in prepared.dfg.nodes)
    assert found["rec"] == 1 and found["bound_nodes"] >= 2


# -- estimates ---------------------------------------------------------------------


def test_the_likely_ii_is_the_first_that_is_reachable() -> None:
    trees = stump("above", 1.5, -2.0, 3.0)
    prepared = prepare("kernel:fir", "torus:4x4")
    found = LearnedIi(trees).estimate(prepared.dfg, prepared.arch)
    assert found.ii == found.mii.total + 2
    assert found.confidence == pytest.approx(1 / (1 + np.exp(-3)) - 1 / (1 + np.exp(2)))
    assert len(found.reachable) == ASKED and found.chance(found.mii.total - 1) == 0.0
    assert found.chance(10_000) == found.reachable[-1]


def test_the_chance_never_falls_with_the_ii_and_the_ii_is_never_below_the_mii() -> None:
    trees = stump("above", 1.5, 3.0, -2.0)
    prepared = prepare("kernel:fir", "torus:4x4")
    found = LearnedIi(trees).estimate(prepared.dfg, prepared.arch)
    assert found.ii == found.mii.total
    assert list(found.reachable) == sorted(found.reachable)


def test_what_no_tile_runs_has_no_ii() -> None:
    prepared = prepare("kernel:fir", "torus:4x4,mul=none")
    assert bound_ii(prepared.dfg, prepared.arch).reason == "no tile for mul"
    found = LearnedIi(stump("above", 1.5, -2.0, 3.0)).estimate(prepared.dfg, prepared.arch)
    assert (found.ii, found.confidence) == (None, 1.0)


def test_too_few_contexts_leave_no_ii() -> None:
    prepared = prepare("kernel:fir", "torus:2x2,contexts=2")
    assert bound_ii(prepared.dfg, prepared.arch).ii is None
    assert "contexts for 2" in BoundIi().estimate(prepared.dfg, prepared.arch).reason


def test_an_array_without_an_ii_is_refused() -> None:
    prepared = prepare("kernel:fir", static_grid(6, 6))
    with pytest.raises(OptionError, match="is static and no array that loops share in time"):
        LearnedIi(stump("above", 1.5, -2.0, 3.0)).estimate(prepared.dfg, prepared.arch)


def test_a_pair_beyond_the_training_says_so() -> None:
    trees = replace(stump("above", 1.5, -2.0, 3.0), nodes=5, tiles=4)
    prepared = prepare("kernel:fir", "torus:4x4")
    assert "more than the 5 nodes or 4 tiles" in LearnedIi(trees).estimate(prepared.dfg, prepared.arch).reason


def test_a_bound_has_no_chances() -> None:
    prepared = prepare("kernel:fir", "torus:4x4")
    found = BoundIi().estimate(prepared.dfg, prepared.arch)
    assert isinstance(found, IiEstimate)
    assert (found.confidence, found.chance(found.mii.total)) == (None, None)


# -- files ---------------------------------------------------------------------


def test_trees_are_the_same_after_a_file(tmp_path: Path) -> None:
    trees = stump("occupied", 0.5, 1.0, -1.0)
    save_trees(tmp_path / "trees.npz", trees, {})
    again = load_trees(tmp_path / "trees.npz")
    rows = np.random.default_rng(0).random((7, len(NAMES) + len(AT_NAMES)))
    assert np.array_equal(again.scores(rows), trees.scores(rows))


def test_a_file_of_another_model_is_refused(tmp_path: Path) -> None:
    labels.pack(tmp_path / "labels.npz", [pair()])
    with pytest.raises(OptionError, match="these are weights of 'initiation-labels', expected 'initiation'"):
        load_trees(tmp_path / "labels.npz")


def test_labels_are_the_same_after_a_file(tmp_path: Path) -> None:
    pairs = [pair(), pair("kernel:fir", 3, 0)]
    labels.pack(tmp_path / "labels.npz", pairs)
    again = labels.read(tmp_path / "labels.npz")
    assert [(p.source, p.arch, p.ii, p.mii) for p in again] == [(p.source, p.arch, p.ii, p.mii) for p in pairs]
    assert np.allclose(again[0].values, pairs[0].values)


def test_the_labels_of_the_package_are_of_loops_that_are_still_drawn() -> None:
    for one in [p for p in labels.read() if p.group == "drawn"][::4]:
        arch = array(one.arch)
        assert np.allclose(of_pair(data.fit_source(one.source, arch), arch).values, one.values, rtol=1e-5, atol=1e-5)
        assert one.ii >= one.mii


def test_a_label_is_the_same_twice() -> None:
    asked = {"source": "loop:3:0", "arch": "torus:2x2,regs=1"}
    first = data.label(asked)
    assert first["ii"] == data.label(asked)["ii"] >= first["bound"]


# -- training and figures ---------------------------------------------------------------------


def test_a_family_is_in_one_fold() -> None:
    pairs = [pair(f"loop:{k % 13}:{k}") for k in range(60)] + [pair("kernel:fir"), pair("examples/fir.c")]
    folds = training.folds_of(pairs, 4, 0)
    families = [{data.family_of(p.source) for p in fold} for fold in folds]
    assert sum(len(f) for f in families) == len(set().union(*families)) == 14
    assert sum(map(len, folds)) == len(pairs)


def test_rivals_never_predict_less_than_the_mii() -> None:
    rng = np.random.default_rng(1)
    pairs = [
        pair(f"loop:{k}:0", 1 + k % 5, int(rng.integers(0, 4)), slots=float(rng.integers(4, 40)), edges=20.0)
        for k in range(80)
    ]
    for fit in training.RIVALS.values():
        assert (fit(pairs)(pairs) >= 0).all()


def test_the_exported_trees_are_those_of_scikit_learn() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(2)
    pairs = [
        pair(f"loop:{k}:0", 2, int(k % 3), slots=float(k % 3) * 4 + rng.random(), edges=rng.random() * 30)
        for k in range(90)
    ]
    settings_ = ForestSettings(trees=20, depth=3, rate=0.05, leaf=12)
    trees = training.train_trees(pairs, settings_, 0)
    assert (training.predictor_of(trees)(pairs) == [p.ii - p.mii for p in pairs]).mean() > 0.9
    features, answers, weight = training.questions(pairs)
    model = ensemble.GradientBoostingClassifier(
        n_estimators=20, learning_rate=0.05, max_depth=3, subsample=0.7, max_features=0.3, min_samples_leaf=12,
        random_state=0,
    ).fit(features.astype(np.float32), answers, sample_weight=weight)  # fmt: skip
    expected = model.decision_function(features.astype(np.float32))
    assert np.allclose(trees.scores(features.astype(np.float32).astype(np.float64)), expected, atol=1e-4)


def test_the_shipped_trees_beat_the_mii_on_their_labels(tmp_path: Path) -> None:
    report = MODEL.evaluate(InitiationConfig(folds=0), WorkFolder(folder=tmp_path))
    assert report["learned"]["above_mii"]["error"] < report["mii"]["above_mii"]["error"]
    assert report["learned"]["all"]["error"] < report["mii"]["all"]["error"]


def test_too_few_pairs_are_refused(tmp_path: Path) -> None:
    labels.pack(tmp_path / labels.FILE, [pair()])
    with pytest.raises(OptionError, match="the data set has 1 pairs, expected at least 40"):
        MODEL.train(InitiationConfig(), WorkFolder(folder=tmp_path))


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(OptionError, match=r"folds: expected 0 .* or at least 2, found 1"):
        InitiationConfig(folds=1)
    with pytest.raises(OptionError, match="files: no file matches 'nowhere/"):
        InitiationConfig(files="nowhere/*.c").sources()


def test_the_array_of_a_label_is_built_from_its_text() -> None:
    assert array("torus:2x2").name == build("torus:2x2").name
