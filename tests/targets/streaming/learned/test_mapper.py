"""The ``ppo`` mapper with its shipped weights, which needs no torch: unseen graphs, goals, given tiles, quality."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.search.conftest import proved_right

from gridloom.archs import build
from gridloom.compiler.source import load_source
from gridloom.errors import OptionError
from gridloom.learn.weights import load, save, weights_path
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.targets.streaming.fuse import fuse
from gridloom.targets.streaming.learned.mapper import PpoMapperConfig, ppo
from gridloom.targets.streaming.learned.slots.policy import SHAPES, load_slots, random_slots

ENGINE = "streaming-engine:16,spokes=8"


def mapped(source: str, arch: str = ENGINE, effort: int = 6000, **settings: object) -> Mapping:
    config = PpoMapperConfig(boards=16, **settings)  # type: ignore[arg-type]
    found = ppo(fuse(load_source(source)), build(arch), config, Budget(effort=effort, seed=1))
    assert isinstance(found, Mapping), found
    return found


def cycles(mapping: Mapping) -> int:
    return max(instance.cycle for instance in mapping.instances) + 3


@pytest.mark.parametrize("level", ["paper", "strict"])
@pytest.mark.parametrize("source", ["kernel:distance", "kernel:fft_radix2", "kernel:ifft", "kernel:sorting_network"])
def test_unseen_graph_is_mapped_legal_and_simulated(source: str, level: str) -> None:
    proved_right(mapped(source, f"{ENGINE},level={level}"))


def test_instruction_ram_is_kept() -> None:
    mapping = mapped("kernel:kmeans,k=2,n=4", "streaming-engine:16,spokes=8,instructions=2")
    proved_right(mapping)
    ops: dict[str, set[str]] = {}
    for instance in mapping.instances:
        ops.setdefault(instance.place, set()).add(mapping.dfg.node(instance.node).op)
    assert max(len(found) for found in ops.values()) <= 2


def test_lowest_ii_is_kept() -> None:
    assert mapped("kernel:distance", f"{ENGINE},level=paper").ii == 1


def test_same_seed_gives_the_same_mapping() -> None:
    first, second = (mapped("kernel:fft_radix2") for _ in range(2))
    assert (first.instances, first.routes) == (second.instances, second.routes)


def test_pinned_nodes_stay_and_given_ones_begin() -> None:
    node = mapped("kernel:fft_radix2").instances[0].node
    again = mapped("kernel:fft_radix2", pin={node: "t_11"})
    assert next(instance.place for instance in again.instances if instance.node == node) == "t_11"
    proved_right(again)
    proved_right(mapped("kernel:fft_radix2", init={node: "t_3"}))


def test_price_on_tiles_uses_fewer_of_them() -> None:
    def tiles(**settings: float) -> int:
        mapping = mapped("kernel:ifft", f"{ENGINE},level=paper", effort=20_000, ii=6, **settings)
        return len({instance.place for instance in mapping.instances})

    assert tiles(tiles_weight=4.0) < tiles()


def test_weight_of_the_ii_trades_it_for_cycles() -> None:
    lowest = mapped("kernel:fft_radix4", f"{ENGINE},level=paper", effort=20_000)
    cheap = mapped("kernel:fft_radix4", f"{ENGINE},level=paper", effort=20_000, ii_weight=0.0)
    assert cheap.ii >= lowest.ii
    assert cycles(cheap) <= cycles(lowest)


def test_shipped_weights_are_small_and_say_where_they_come_from() -> None:
    assert weights_path("ppo").stat().st_size < 200_000
    arrays, about = load(weights_path("ppo"))
    assert about["policy"] == "slots"
    assert set(arrays) == set(SHAPES)
    assert weights_path("ppo").with_suffix(".md").exists()


def test_missing_weights_are_named() -> None:
    with pytest.raises(OptionError, match="there are no weights here"):
        mapped("kernel:distance", weights="nowhere.npz")


def test_weights_of_another_policy_are_refused() -> None:
    with pytest.raises(OptionError, match="these weights are of policy 'attention'; expected 'slots'"):
        mapped("kernel:distance", weights=str(weights_path("ppo-attention")))


def test_weights_of_another_shape_are_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    wrong = {**random_slots(0), "score": np.zeros(3, dtype=np.float32)}
    save(tmp_path / "w.npz", wrong, {"policy": "slots"})
    with pytest.raises(OptionError, match=r"array 'score': expected shape \(16,\), found \(3,\)"):
        load_slots(str(tmp_path / "w.npz"))


def test_graph_that_cannot_be_placed_is_a_failure() -> None:
    found = ppo(load_source("kernel:vector_add,lanes=17"), build(ENGINE), PpoMapperConfig(), Budget())
    assert isinstance(found, Failure)
    assert "17 tiles" in str(found)


def test_mapper_imports_no_torch() -> None:
    program = (
        "import sys, gridloom as gl;"
        "gl.map('kernel:distance', arch='streaming-engine:8,spokes=4', mapper='ppo', effort=500);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
