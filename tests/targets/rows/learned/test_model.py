"""The mappability question: drawn graphs, features, the estimator, the published network, and its figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plain_arrays import static_grid
from tests.search.conftest import butterflies

import gridloom
from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.learn import weights
from gridloom.learn.reach import ReachModel
from gridloom.partition.width_estimate import bound_estimate
from gridloom.run.work import WorkFolder
from gridloom.targets.rows.learned.estimator import LearnedEstimator
from gridloom.targets.rows.learned.features import GLOBAL_FEATURES, NAMES, ArrayShape, of_graph, on_columns
from gridloom.targets.rows.learned.model import MODEL
from gridloom.targets.rows.learned.question import QUESTION, drawn_graphs
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


def test_families_of_another_array_spread_over_all_and_more_of_them_only_add() -> None:
    few, many = (drawn_graphs("vpcma:6x12", count, 1, main=False) for count in (100, 400))
    families = [int(source.split(":")[1]) for source, _ in many]
    usual = [family for family in families if family < OVERFULL]
    assert len(usual) == 400 < len(many) == len(set(many)) == 700
    assert set(few) < set(many)
    assert all(40 < sum(160 * k <= family < 160 * (k + 1) for family in usual) < 160 for k in range(4))
    # No two arrays share graphs.
    other = drawn_graphs("vpcma:10x12", 400, 1, main=False)
    assert not {source for source, _ in many} & {source for source, _ in other}


def test_parts_of_a_kernel_are_one_family() -> None:
    part = next(k for k in range(200) if style_of(k).shape == "part")
    assert QUESTION.family(f"graph:{part}:0").startswith("kernel ")
    assert QUESTION.family("graph:3:0") == QUESTION.family("graph:3:7") != QUESTION.family("graph:4:0")
    assert QUESTION.family("mine.c part 2") == QUESTION.family("mine.c")


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
    assert found.numbers.shape == (len(NAMES),)
    assert found.numbers[NAMES.index("alone_8")] * 8 == pytest.approx(longest(dfg))
    assert found.bound == found.numbers[NAMES.index("bound")] == bound_estimate(dfg, build("vpcma")).bound
    rows = QUESTION.rows(found.numbers)
    least, most = QUESTION.span(found.numbers)
    assert rows.shape == (most - least + 1, GLOBAL_FEATURES) and np.isfinite(rows).all()


def test_features_do_not_depend_on_the_order_of_nodes() -> None:
    dfg = draw(4, 2)
    order = np.random.default_rng(0).permutation(len(dfg.nodes))
    moved = replace(dfg, nodes=tuple(dfg.nodes[k] for k in order))
    np.testing.assert_allclose(of_graph(moved, SHAPE).numbers, of_graph(dfg, SHAPE).numbers, atol=1e-6)


@given(
    st.integers(0, 400), st.integers(1, 12), st.integers(1, 16), st.integers(1, 16), st.integers(0, 24),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_features_are_of_their_own_array(family: int, rows: int, cols: int, narrow: int, constants: int) -> None:
    dfg = draw(family, 7)
    here = of_graph(dfg, ArrayShape(rows=rows, cols=cols, constants=constants, own_row_operands=1))
    numbers = dict(zip(NAMES, here.numbers, strict=True))
    assert here.bound == bound_estimate(dfg, build(f"vpcma:{rows}x{cols}")).bound
    assert (numbers["rows"], numbers["columns"], numbers["registers_per_row"] * rows) == pytest.approx(
        (rows, cols, constants)
    )
    at = on_columns(here.numbers, np.array([narrow]))[0]
    assert at[0] * 12 == pytest.approx(narrow)
    assert at[2] * rows * narrow == pytest.approx(numbers["ops"])
    assert at[-15] == pytest.approx(numbers["constants"] / max(1, constants))
    # Asking for the first columns is asking about a narrower array of the same height and constants.
    same = of_graph(dfg, ArrayShape(rows=rows, cols=narrow, constants=constants, own_row_operands=1))
    np.testing.assert_allclose(at, on_columns(same.numbers, np.array([narrow]))[0], rtol=1e-5, atol=1e-6)


# -- the estimator --------------------------------------------------------------------------------------------------


def chain(ops: int) -> Dfg:
    b = DfgBuilder("chain", "cma24")
    value = b.input("x")
    for _ in range(ops):
        value = b.add("add", value, b.const(3))
    b.output(value, "y")
    return b.build()


def shipped(**changes: float) -> ReachModel:
    return replace(MODEL.model(), **changes)  # type: ignore[arg-type]


def test_the_estimator_never_says_less_than_counting() -> None:
    arch = build("vpcma")
    eager, shy = LearnedEstimator(shipped(threshold=0.0)), LearnedEstimator(shipped(threshold=1.1))
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
    arch = build("vpcma:11x12")
    counted = bound_estimate(dfg, arch)
    said = MODEL.estimator().estimate(dfg, arch)
    assert replace(said, reason=counted.reason) == counted
    assert said.reason == ("max(ops / rows, loads, stores); the weights were trained for 4 to 10 rows, found 11")
    with pytest.raises(OptionError, match="vpcma"):
        MODEL.estimator().estimate(dfg, static_grid())


@pytest.mark.parametrize(
    ("spec", "known"),
    [
        ("vpcma:4x12", True), ("vpcma:7x9", True), ("vpcma:10x12", True), ("vpcma", True),
        ("vpcma:3x12", False), ("vpcma:11x12", False), ("vpcma:8x17", False), ("vpcma:8x12,constants=15", False),
    ],
)  # fmt: skip
def test_it_answers_between_the_sizes_it_was_trained_for(spec: str, known: bool) -> None:
    estimator, arch, dfg = LearnedEstimator(shipped(threshold=0.0)), build(spec), chain(3)
    said = estimator.estimate(dfg, arch)
    assert (said.probability is not None) == known
    assert (estimator.probability(dfg, arch, arch.cols) is not None) == known
    assert (said.reason == "learned") == known
    assert known or "the weights were trained for" in said.reason


def test_rows_that_prove_it_are_not_asked_about() -> None:
    dfg = butterflies(9)
    estimator = LearnedEstimator(shipped(threshold=0.0))
    said = estimator.estimate(dfg, build("vpcma"))
    assert (said.width, said.probability, said.reason) == (None, 0.0, "needs at least 9 rows, has 8")
    assert estimator.probability(dfg, build("vpcma"), 12) == 0.0
    assert estimator.estimate(dfg, build("vpcma:9x12")).width is not None
    assert estimator.estimate(dfg, build("vpcma:7x12")).reason == "needs at least 9 rows, has 7"


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
    assert said[6] > 0.8
    assert estimator.probability(dfg, build("vpcma:16x12"), 12) is None


@pytest.mark.parametrize("bad", [{"most_false": 2.0}, {"folds": 1}, {"dgcnn_epochs": 0}, {"learner": "oracle"}])
def test_settings_are_checked(bad: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(bad))):
        MODEL.config(**bad)


def test_the_shipped_weights_are_small_and_have_a_card() -> None:
    path = weights.weights_path("mappability")
    assert path.stat().st_size < 400_000
    assert weights.weights_path("mappability-labels").stat().st_size < 1_000_000
    about = weights.load(path)[1]
    assert about["data"]["sha256"] in path.with_suffix(".md").read_text()
    assert about["scope"]["rows"] == [4.0, 10.0]


def test_the_figure_counts_graphs_by_size() -> None:
    points = MODEL.by_size(None, 20)
    assert sum(point["graphs"] for point in points) > 500
    assert points[0]["mappable"] > points[-1]["mappable"]
    assert all(point["utilisation"] is None or 0 < point["utilisation"] <= 1 for point in points)


# -- the published network ------------------------------------------------------------------------------------------


def test_dgcnn_in_numpy_is_the_trained_network_and_learns(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    from gridloom.targets.rows.learned import dgcnn_training as training
    from gridloom.targets.rows.learned import published

    graphs = [of_graph(draw(k, 0), SHAPE) for k in range(40)]
    widths = [3 if len(graph.ops) < 30 else None for graph in graphs]
    settings_ = training.DgcnnSettings(epochs=40, dropout=0.0, rate=1e-2)
    network = training.train_dgcnn(graphs, widths, settings_, 0)
    said = [int(np.argmax(network.scores(graph))) == 0 for graph in graphs]
    assert np.mean([a == (w is None) for a, w in zip(said, widths, strict=True)]) > 0.8
    model = training.Dgcnn(13, settings_)
    model.load_state_dict({name: torch.from_numpy(np.asarray(v)) for name, v in network.parameters.items()})
    model.eval()
    with torch.no_grad():
        theirs = model(training.Batch(graphs[:5])).numpy()
    np.testing.assert_allclose(theirs, [network.scores(graph) for graph in graphs[:5]], rtol=1e-3, atol=1e-3)
    published.save(tmp_path / "d.npz", network, {})
    again = published.load(tmp_path / "d.npz")
    np.testing.assert_array_equal(again.scores(graphs[0]), network.scores(graphs[0]))


def test_an_array_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = Path(gridloom.__file__).parents[2] / "examples" / "arrays" / "two-cycle-mesh.yaml"
    with pytest.raises(OptionError, match="model 'mappability' knows nothing of array "):
        MODEL.make_data(MODEL.config(), WorkFolder(folder=tmp_path, arch=str(other)))
