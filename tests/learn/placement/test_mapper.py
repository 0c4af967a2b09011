"""The ``ppo`` mapper with its shipped weights: unseen graphs, both levels, and the figures of an evaluation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from tests.mappers.conftest import proved_right

from gridloom.archs import build
from gridloom.errors import MissingExtra, OptionError
from gridloom.frontend.source import load_source
from gridloom.learn.placement.mapper import PpoMapperConfig, ppo
from gridloom.learn.placement.model import MODEL, PpoModelConfig, data_hash, summary
from gridloom.learn.weights import load, shipped
from gridloom.mappers.budget import Budget
from gridloom.mapping.model import Failure, Mapping
from gridloom.run.work import Work
from gridloom.transform.fuse import fuse

ENGINE = "streaming-engine:16,spokes=6"


def mapped(source: str, arch: str = ENGINE, **settings: object) -> Mapping:
    config = PpoMapperConfig(boards=64, batches=2, **settings)  # type: ignore[arg-type]
    found = ppo(fuse(load_source(source)), build(arch), config, Budget(seed=1))
    assert isinstance(found, Mapping), found
    return found


def cycles(mapping: Mapping) -> int:
    return max(instance.cycle for instance in mapping.instances) + 3


@pytest.mark.parametrize("level", ["paper", "strict"])
@pytest.mark.parametrize("source", ["kernel:distance", "kernel:fft_radix2", "kernel:ifft"])
def test_unseen_graph_is_mapped_legal_and_simulated(source: str, level: str) -> None:
    proved_right(mapped(source, f"{ENGINE},level={level}", ii=6))


@pytest.mark.parametrize(
    ("source", "optimum"),
    [
        ("kernel:distance", 13),
        ("kernel:random_growing,nodes=10,inputs=4,seed=1,domain=opaque", 20),
        ("kernel:random_growing,nodes=15,inputs=4,seed=1,domain=opaque", 24),
        ("kernel:random_growing,nodes=20,inputs=4,seed=2,domain=opaque", 50),
    ],
)
def test_cycles_are_within_five_percent_of_the_proved_optimum(source: str, optimum: int) -> None:
    assert optimum <= cycles(mapped(source, f"{ENGINE},level=paper", ii=6)) <= 1.05 * optimum


def test_lowest_ii_is_kept() -> None:
    assert mapped("kernel:distance", f"{ENGINE},level=paper").ii == 1


def test_same_seed_gives_the_same_mapping() -> None:
    first, second = (mapped("kernel:fft_radix2", ii=6) for _ in range(2))
    assert (first.instances, first.routes) == (second.instances, second.routes)


def test_tuning_on_the_graph_keeps_the_shipped_weights() -> None:
    before = load(shipped("ppo"))[0]
    tuned = mapped("kernel:fft_radix2", ii=6, tune=True)
    proved_right(tuned)
    after = load(shipped("ppo"))[0]
    assert all((before[name] == after[name]).all() for name in before)


def test_shipped_weights_are_small_and_say_where_they_come_from() -> None:
    assert shipped("ppo").stat().st_size < 4_000_000
    about = load(shipped("ppo"))[1]
    assert about["policy"] == "attention"
    assert about["data"] == data_hash(about["seed"])
    assert shipped("ppo").with_suffix(".md").exists()


def test_missing_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gridloom.learn.placement.sampler", None)
    with pytest.raises(MissingExtra, match=r"pip install 'gridloom\[learn\]'"):
        mapped("kernel:distance", ii=6)


def test_missing_weights_are_named() -> None:
    with pytest.raises(OptionError, match="there are no weights here"):
        mapped("kernel:distance", weights="nowhere.npz")


def test_graph_that_cannot_be_placed_is_a_failure() -> None:
    found = ppo(load_source("kernel:vector_add,lanes=17"), build(ENGINE), PpoMapperConfig(), Budget())
    assert isinstance(found, Failure)
    assert "17 tiles" in str(found)


def test_evaluation_has_a_row_for_each_graph(tmp_path: Path) -> None:
    pytest.importorskip("ortools")
    config = PpoModelConfig(most=2, seconds=0.3, exact_seconds=5.0)
    found = MODEL.evaluate(config, Work(folder=tmp_path))
    assert [row["nodes"] for row in found["rows"]] == [10, 10]
    for row in found["rows"]:
        assert {"graph", "nodes", "ppo", "mlp", "random", "anneal", "exact", "bound"} <= row.keys()
        assert row["bound"] <= row["exact"] <= row["ppo"] <= row["random"]
    assert (tmp_path / "exact.json").exists()


def test_summary_is_the_mean_above_the_best_known() -> None:
    rows = [{"nodes": 10, "ppo": 21, "exact": 20, "anneal": 20, "random": 30, "mlp": None}]
    assert summary(rows)["10-20 nodes"]["ppo"] == 0.05
    assert summary(rows)["10-20 nodes"]["random"] == 0.5
    assert summary(rows)["40-50 nodes"]["graphs"] == 0


def test_training_writes_weights_that_the_mapper_takes(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    config = PpoModelConfig(iterations=1, graphs=2, boards=4)
    report = MODEL.train(config, Work(folder=tmp_path, weights=path))
    assert (report["iterations"], report["policy"]) == (1, "attention")
    proved_right(mapped("kernel:distance", ii=6, weights=str(path)))
