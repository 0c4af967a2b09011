"""The II estimator: drawn loops and arrays, features, estimates, the closed form, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import static_grid

from gridloom.errors import OptionError
from gridloom.flow.inputs import prepare
from gridloom.learn.boosted import Forest
from gridloom.learn.labels import Labelled, array_of
from gridloom.learn.predictors import Predictor
from gridloom.learn.reach import ReachModel
from gridloom.learn.weights import TrainingScope
from gridloom.mapping.mii import mii
from gridloom.run.work import WorkFolder
from gridloom.targets.modulo.ii_estimate import BoundIi, IiEstimate, bound_ii
from gridloom.targets.modulo.learned import question
from gridloom.targets.modulo.learned.features import AT_NAMES, NAMES, at, of_pair
from gridloom.targets.modulo.learned.model import MODEL, InitiationConfig, LearnedIi, closed_form
from gridloom.targets.modulo.learned.question import ASKED, QUESTION
from gridloom.targets.modulo.learned.random_loops import SHAPES, array_text, draw, style_of


def stump(feature: str, threshold: float, low: float, high: float) -> ReachModel:
    """One tree of one question."""
    names = [*NAMES, *AT_NAMES]
    tree = Forest(
        feature=np.array([[names.index(feature), 0, 0]], dtype=np.int16),
        threshold=np.array([[threshold, 0, 0]], dtype=np.float32),
        left=np.array([[1, 1, 2]], dtype=np.int16),
        right=np.array([[2, 1, 2]], dtype=np.int16),
        value=np.array([[0, low, high]], dtype=np.float32),
        start=0.0,
        depth=1,
    )
    return ReachModel(reach=Predictor((tree,)))


def pair(source: str = "loop:1:0", mii_of: int = 2, above: int = 1, **numbers: float) -> Labelled:
    values = np.ones(len(NAMES))
    for name, value in {"mii": mii_of, "res": mii_of, "tiles": 4, **numbers}.items():
        values[NAMES.index(name)] = value
    return Labelled(source=source, arch="torus:2x2", values=values, found=mii_of + above, decided="found")


#: What the shipped weights say: source, array, II, confidence.
KNOWN = (
    ("kernel:fir", "torus:4x4", 2, 0.997736446),
    ("kernel:fir", "ramp-4", 6, 0.763893458),
    ("kernel:fir", "torus:2x2,regs=1", 9, 0.381615844),
    ("kernel:fir", "hycube:4x4", 2, 0.995671240),
    ("kernel:adpcm", "torus:4x4", 15, 0.999578307),
    ("kernel:adpcm", "ramp-4", 15, 0.962955272),
    ("kernel:adpcm", "torus:2x2,regs=1", 16, 0.195588617),
    ("kernel:adpcm", "hycube:4x4", 15, 0.999872388),
    ("kernel:gemm", "torus:4x4", 3, 0.993221631),
    ("kernel:gemm", "ramp-4", 8, 0.853761797),
    ("kernel:gemm", "torus:2x2,regs=1", 10, 0.452349991),
    ("kernel:gemm", "hycube:4x4", 3, 0.998753305),
)


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
    arch = array_of(array_text(number))
    assert arch.style == "modulo"
    assert question.usable(f"loop:{number}:0", array_text(number))


def test_pairs_come_in_one_order_and_once() -> None:
    pairs = list(question.pairs(20, 2, ("a.c",)))
    assert (
        len(pairs) == len(set(pairs)) == 40 + len(question.KERNELS) * len(question.PRESETS) + len(question.FILE_ARRAYS)
    )
    assert pairs == list(question.pairs(20, 2, ("a.c",)))
    assert {question.group_of(source) for source, _ in pairs[:40]} >= {"drawn", "loops"}


# -- features ---------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(family=st.integers(0, 2000))
def test_features_are_finite_and_agree_with_the_bound(family: int) -> None:
    arch = array_of(array_text(family))
    dfg = QUESTION.read(f"loop:{family}:0", arch)
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
    trees = replace(stump("above", 1.5, -2.0, 3.0), scope=TrainingScope({"nodes": (1, 5), "tiles": (1, 4)}))
    prepared = prepare("kernel:fir", "torus:4x4")
    assert (
        "the weights were trained for 1 to 5 nodes, found"
        in LearnedIi(trees).estimate(prepared.dfg, prepared.arch).reason
    )


def test_a_bound_has_no_chances() -> None:
    prepared = prepare("kernel:fir", "torus:4x4")
    found = BoundIi().estimate(prepared.dfg, prepared.arch)
    assert isinstance(found, IiEstimate)
    assert (found.confidence, found.chance(found.mii.total)) == (None, None)


# -- training and figures ---------------------------------------------------------------------


def test_a_label_is_the_same_twice_and_never_below_the_mii() -> None:
    arch = array_of("torus:2x2,regs=1")
    dfg = QUESTION.read("loop:3:0", arch)
    first = QUESTION.search(dfg, arch)
    assert first == QUESTION.search(dfg, arch)
    assert (first[0] or 0) >= mii(dfg, arch).total


def test_the_closed_form_never_predicts_less_than_the_mii() -> None:
    rng = np.random.default_rng(1)
    pairs = [
        pair(f"loop:{k}:0", 1 + k % 5, int(rng.integers(0, 4)), slots=float(rng.integers(4, 40)), edges=20.0)
        for k in range(80)
    ]
    predict = closed_form(QUESTION)(pairs, 0)
    assert all((answer.found or 0) >= answer.least for answer in predict(pairs))


def test_the_shipped_weights_beat_the_mii_on_their_labels(tmp_path: Path) -> None:
    report = MODEL.evaluate(InitiationConfig(folds=0), WorkFolder(folder=tmp_path))
    assert report["shipped"]["strata"]["above the MII"]["error"] < 1.0
    assert report["shipped"]["all"]["error"] < 0.5


def test_shipped_weights_say_what_they_have_always_said() -> None:
    for source, arch, ii, confidence in KNOWN:
        prepared = prepare(source, arch)
        found = MODEL.estimate(prepared.dfg, prepared.arch)
        assert (found.ii, found.confidence) == (ii, pytest.approx(confidence, abs=1e-6)), (source, arch)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(OptionError, match="files: no file matches 'nowhere/"):
        InitiationConfig(files="nowhere/*.c").sources()


def test_the_users_array_has_loops_of_its_own() -> None:
    drawn = MODEL.drawn(InitiationConfig(own=12), "torus:3x3")
    assert {arch for _, arch in drawn} == {"torus:3x3"}
    assert len({source for source, _ in drawn}) == len(drawn) == 12
