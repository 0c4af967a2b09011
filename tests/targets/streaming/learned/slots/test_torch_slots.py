"""Training of the slot policy, and that torch and the compiled play choose the same slots."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gridloom.archs import build  # noqa: E402
from gridloom.compiler.source import load_source  # noqa: E402
from gridloom.targets.streaming.fuse import fuse  # noqa: E402
from gridloom.targets.streaming.learned.guided import GuidedSettings, slot_player  # noqa: E402
from gridloom.targets.streaming.learned.slots.policy import (  # noqa: E402
    contexts,
    graph_of,
    inputs_of,
    load_slots,
    random_slots,
    rank_slots,
)
from gridloom.targets.streaming.learned.slots.training import (  # noqa: E402  # noqa: E402
    SlotNetwork,
    SlotTraining,
    SlotTrainingConfig,
    play_in_torch,
)
from gridloom.targets.streaming.mappers.problem import SpokesProblem, build_problem  # noqa: E402

GRAPHS = (
    "kernel:ifft",
    "kernel:fft_radix4",
    "kernel:sorting_network,n=6",
    "kernel:random_growing,nodes=30,inputs=6,seed=3,domain=opaque",
)


def problem_of(source: str) -> SpokesProblem:
    return build_problem(fuse(load_source(source)), build("streaming-engine:16,spokes=8"))


@pytest.mark.parametrize("source", GRAPHS)
def test_placements_are_the_same_with_and_without_torch(source: str) -> None:
    problem, ii = problem_of(source), 5
    for weights in (load_slots(), random_slots(2)):
        graph = graph_of(problem)
        chosen = play_in_torch(problem, graph, SlotNetwork(weights), ii)
        player = slot_player(weights, GuidedSettings(), np.zeros(1, dtype=np.uint8))
        tile, spoke, cost = player(ii, problem, "depth", 0, np.zeros(1, dtype=np.float32))
        assert cost[0] < 1e9
        assert (tile[0][graph.order] == chosen // ii).all()
        assert (spoke[0][graph.order] == chosen % ii).all()


def test_contexts_are_the_same_with_and_without_torch() -> None:
    problem = problem_of("kernel:ifft")
    inputs = inputs_of(problem, graph_of(problem))
    weights = random_slots(0)
    assert np.allclose(contexts(weights, inputs), SlotNetwork(weights).contexts(inputs).detach().numpy(), atol=1e-5)


@pytest.mark.slow
def test_resumed_training_ends_where_an_uninterrupted_one_ends(tmp_path: Path) -> None:
    config = SlotTrainingConfig(iterations=2, graphs=2, boards=4)
    whole = SlotTraining(config, 1, tmp_path / "whole")
    whole.run(lambda: False, lambda text, share: None)
    first = SlotTraining(config, 1, tmp_path / "parts")
    first.step()
    first.save()
    second = SlotTraining(config, 1, tmp_path / "parts")
    assert second.restore()
    second.run(lambda: False, lambda text, share: None)
    for name, array in whole.network.weights().items():
        assert np.allclose(array, second.network.weights()[name], atol=1e-6)
    rows = [json.loads(line) for line in (tmp_path / "whole" / "slots.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [1, 2]


@pytest.mark.slow
def test_training_lowers_the_price_of_boards(tmp_path: Path) -> None:
    # Of boards that are sampled, as training plays them. So short a run does not make greedy play better than the rank
    # that it begins from; the shipped weights do (below).
    training = SlotTraining(SlotTrainingConfig(iterations=40, graphs=4, boards=12), 3, tmp_path)
    training.run(lambda: False, lambda text, share: None)
    prices = [json.loads(line)["excess"] for line in (tmp_path / "slots.jsonl").read_text().splitlines()]
    assert np.mean(prices[-10:]) < 0.8 * np.mean(prices[:10])


def test_the_shipped_policy_plays_better_boards_than_the_rank_it_began_from(tmp_path: Path) -> None:
    training = SlotTraining(SlotTrainingConfig(), 4, tmp_path)
    prices = []
    for weights in (load_slots(), rank_slots()):
        training.network = SlotNetwork(weights)
        prices.append(training.measure()[0])
    assert prices[0] < 0.95 * prices[1]
