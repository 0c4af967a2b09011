"""Policies and their training: masks, determinism, checkpoints, a trivial task that is learned."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from gridloom.errors import OptionError  # noqa: E402
from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions  # noqa: E402
from gridloom.targets.streaming.learned.published.kernel import COMPLETE  # noqa: E402
from gridloom.targets.streaming.learned.published.ppo import PpoConfig, advantages, collect, improve, play  # noqa: E402
from gridloom.targets.streaming.learned.published.torch_policies import make_policy  # noqa: E402
from gridloom.targets.streaming.learned.published.training import Training, TrainingConfig, policy_of  # noqa: E402
from gridloom.targets.streaming.learned.training_graphs import FIRST_SEED, draw_task, engine, problem_of  # noqa: E402

KINDS = ("attention", "mlp", "state", "gga")
SMALL = "kernel:random_growing,nodes=8,inputs=3,seed=3"


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


def boards(count: int, source: str = SMALL, ii: int = 6) -> BoardBatch:
    return BoardBatch(problem_of(source, engine(16, 8)), count, BoardOptions(ii=ii, reward="bound"))


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_policy_completes_boards_with_legal_actions(kind: str) -> None:
    batch = boards(16)
    play(make_policy(kind), batch, torch.Generator().manual_seed(0))  # type: ignore[arg-type]
    assert (batch.boards.over == COMPLETE).all()
    assert (batch.boards.steps == batch.problem.size).all()


def test_same_seed_plays_the_same() -> None:
    policy = make_policy("attention")
    runs = []
    for _ in range(2):
        batch = boards(8)
        play(policy, batch, torch.Generator().manual_seed(4))
        runs.append(batch.boards.tile.copy())
    assert (runs[0] == runs[1]).all()


def test_one_policy_serves_every_size_of_array_and_ii() -> None:
    policy = make_policy("attention")
    for tiles, ii in ((8, 3), (64, 8)):
        batch = BoardBatch(problem_of(SMALL, engine(tiles, 8)), 4, BoardOptions(ii=ii))
        play(policy, batch, None)
        assert (batch.boards.over == COMPLETE).all()


def test_state_policy_says_what_it_takes() -> None:
    batch = BoardBatch(problem_of("kernel:random_growing,nodes=140,seed=1", engine(64, 8)), 1, BoardOptions(ii=8))
    with pytest.raises(OptionError, match="1024 slots and 128 nodes at most"):
        make_policy("state").observe(batch)


def test_advantages_of_a_perfect_critic_are_zero() -> None:
    reward = np.array([[-1.0], [-2.0], [-3.0]], dtype=np.float32)
    value = np.array([[-6.0], [-5.0], [-3.0]], dtype=np.float32)
    goes_on = np.array([[True], [True], [False]])
    found = advantages(reward, value, goes_on, PpoConfig(discount=1.0))
    assert np.allclose(found, 0)


def test_advantage_without_a_critic_is_the_discounted_rest() -> None:
    reward = np.array([[-1.0], [-2.0]], dtype=np.float32)
    found = advantages(reward, np.zeros_like(reward), np.array([[True], [False]]), PpoConfig(discount=0.5, trace=1.0))
    assert np.allclose(found, [[-2.0], [-2.0]])


def test_policy_learns_a_trivial_task() -> None:
    # One node on one tile: the reward is best on spoke 0, whose cycles are 3; a uniform choice of 6 spokes gives 5.5.
    problem = problem_of("kernel:vector_add", engine(1, 6))
    policy = make_policy("state")
    optimiser = torch.optim.Adam(policy.parameters(), lr=3e-3)
    generator, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    c = PpoConfig(graphs=1)
    seen = []
    for _ in range(25):
        episode = collect(policy, problem, BoardOptions(ii=6), 64, generator, c)
        seen.append(episode.cycles)
        improve(policy, optimiser, [episode], c, rng)
    assert seen[0] > 4.8
    assert seen[-1] < 3.4


def test_training_keeps_a_curve_and_resumes(tmp_path: Path) -> None:
    config = TrainingConfig(policy="attention", iterations=4, graphs=3, boards=8, large=0.0)
    training = Training(config, 0, tmp_path)
    training.run(lambda: False, lambda text, share: None)
    rows = [json.loads(line) for line in (tmp_path / "attention.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4]
    again = Training(config, 0, tmp_path)
    assert again.restore()
    assert (again.iteration, again.decisions) == (4, training.decisions)
    for name, value in training.policy.state_dict().items():
        assert torch.equal(value, again.policy.state_dict()[name])


def test_second_training_starts_the_curve_anew(tmp_path: Path) -> None:
    config = TrainingConfig(policy="attention", iterations=2, graphs=2, boards=4, large=0.0)
    for _ in range(2):
        Training(config, 0, tmp_path).run(lambda: False, lambda text, share: None)
    assert len((tmp_path / "attention.jsonl").read_text().splitlines()) == 2


def test_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    config = TrainingConfig(policy="attention", iterations=1, graphs=2, boards=4, large=0.0)
    Training(config, 0, tmp_path).save()
    with pytest.raises(OptionError) as error:
        Training(replace(config, boards=8), 0, tmp_path).restore()
    assert str(error.value) == (
        f"{tmp_path / 'attention.pt'}: boards: the training was begun with 4, found 8; "
        "continue with the same settings, or train without --resume"
    )


def test_resumed_training_ends_where_an_uninterrupted_one_ends(tmp_path: Path) -> None:
    config = TrainingConfig(policy="attention", iterations=2, graphs=2, boards=4, large=0.0)
    whole = Training(config, 1, tmp_path / "whole")
    whole.run(lambda: False, lambda text, share: None)
    first = Training(config, 1, tmp_path / "parts")
    first.step()
    first.save()
    second = Training(config, 1, tmp_path / "parts")
    assert second.restore()
    second.run(lambda: False, lambda text, share: None)
    for name, value in whole.policy.state_dict().items():
        assert torch.allclose(value, second.policy.state_dict()[name])


def test_training_graphs_are_not_those_of_suites() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        task = draw_task(rng)
        assert int(re.findall(r"seed=(\d+)", task.source)[0]) >= FIRST_SEED


def test_weights_of_another_policy_are_refused() -> None:
    arrays = {name: value.numpy() for name, value in make_policy("mlp").state_dict().items()}
    with pytest.raises(OptionError, match="not those of policy 'attention'"):
        policy_of(arrays, "attention")
