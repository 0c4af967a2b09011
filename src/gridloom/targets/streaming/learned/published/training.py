"""Training of placement policies over a distribution of graphs: iterations, checkpoints, learning curves.

An iteration draws graphs, plays boards of each with the policy as it is, and improves it by some epochs of PPO. Its
random numbers come from (seed, iteration) alone, so a run that continues from a checkpoint draws the same graphs as one
that was never stopped. The learning rate falls linearly to a twentieth. Every tenth iteration greedy play is measured
on 16 fixed graphs, and a checkpoint is written.

The published policies as players of the guided search: boards by torch, over the whole state of tiles and spokes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gridloom.errors import OptionError
from gridloom.learn.weights import load, weights_path
from gridloom.search.arrays import Int32s
from gridloom.search.budget import SearchClock
from gridloom.search.settings import check_settings
from gridloom.targets.streaming.learned.checkpoint import Checkpointed
from gridloom.targets.streaming.learned.guided import Player
from gridloom.targets.streaming.learned.published.boards import INCOMPLETE, BoardBatch, BoardOptions, prices
from gridloom.targets.streaming.learned.published.ppo import Episode, PpoConfig, collect, improve, play
from gridloom.targets.streaming.learned.published.torch_policies import Policy, make_policy
from gridloom.targets.streaming.learned.slots.policy import Order
from gridloom.targets.streaming.learned.training_graphs import (
    Kind,
    TrainingAmount,
    TrainingGraph,
    draw_strict,
    draw_task,
)
from gridloom.targets.streaming.mappers.problem import SpokesProblem

#: Graphs on which greedy play is measured while training.
_CHECKS = 16
#: What a board costs at level strict on which a node has no legal slot.
_STUCK = 30.0


def _lacking(batch: BoardBatch) -> NDArray[np.float32]:
    """Minus what links and registers that complete boards lack cost, as a logarithm of cycles.

    Boards of an untrained policy lack hundreds of cycles; as they are, these would drown every other reward.
    """
    found, boards = prices(batch), batch.boards
    lack = np.where(found < INCOMPLETE, found - boards.cycles, 0.0)
    return (-_STUCK / 4 * np.log2(1 + lack / _STUCK)).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(TrainingAmount):
    """All settings of a training."""

    #: The share of graphs with 25 to 52 nodes.
    large: float = 0.25
    ppo: PpoConfig = field(default_factory=PpoConfig)

    def __post_init__(self) -> None:
        check_settings(self, at_least={"iterations": 1, "graphs": 1, "boards": 1}, shares=("large",))


class Training(Checkpointed):
    """The training of a published policy."""

    def __init__(self, config: TrainingConfig, seed: int, folder: Path) -> None:
        super().__init__(config.policy, config, seed, folder)
        torch.manual_seed(seed)
        self.module = self.policy = make_policy(config.policy)
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=config.ppo.rate)
        check = np.random.default_rng((seed, 1))
        self.checks = [self._draw(check) for _ in range(_CHECKS)]

    def _draw(self, rng: np.random.Generator) -> TrainingGraph:
        """A random task; at level strict one of those that the slot policy is trained on."""
        if self.config.level == "paper":
            return draw_task(rng, self.config.large)
        task = draw_strict(rng)
        options = BoardOptions(ii=task.ii, reward="bound", penalty=_STUCK, tiles_weight=task.tiles_weight)
        return TrainingGraph(source=task.source, problem=task.problem, options=options)

    def step(self) -> dict[str, Any]:
        """Run one iteration and return its figures; its graphs and boards follow from the seed and its number alone.

        ``excess`` is the mean of the sampled boards' cycles over the longest path, less 1, over graphs with a complete
        board.
        """
        c = self.config
        rng = np.random.default_rng((self.seed, 2, self.iteration))
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
        self.cool(c.ppo.rate)
        episodes = [self._played(self._draw(rng), generator) for _ in range(c.graphs)]
        parts = improve(self.policy, self.optimiser, [episode for episode, _ in episodes], c.ppo, rng)
        self.iteration += 1
        self.decisions += sum(len(episode.action) for episode, _ in episodes)
        excess = [episode.cycles / floor - 1 for episode, floor in episodes if episode.complete]
        return {
            "iteration": self.iteration,
            "decisions": self.decisions,
            "excess": float(np.mean(excess)) if excess else float("nan"),
            "complete": float(np.mean([episode.complete for episode, _ in episodes])),
            **{key: round(value, 5) for key, value in parts.items()},
        }

    def _played(self, task: TrainingGraph, generator: torch.Generator) -> tuple[Episode, int]:
        """The boards of one task, played to their ends, and the longest path of its graph.

        Tasks on large arrays have half as many boards, since each of their steps looks at more slots.
        """
        boards = self.config.boards if task.problem.tiles <= 16 else max(2, self.config.boards // 2)
        last = _lacking if self.config.level == "strict" else None
        episode = collect(self.policy, task.problem, task.options, boards, generator, self.config.ppo, last)
        return episode, BoardBatch(task.problem, 1, task.options).floor

    def figures(self) -> dict[str, float]:
        """Return the excess of greedy play on fixed graphs that are not trained on."""
        return {"greedy": self.measure()}

    def arrays(self) -> dict[str, Any]:
        """Return the parameters; padded policies have weights for every slot, which are kept in half precision."""
        padded = self.config.policy in ("state", "gga")
        return {name: value.half() if padded else value for name, value in self.policy.state_dict().items()}

    def measure(self) -> float:
        """Return mean cycles of greedy play above the longest path, over fixed graphs that are not trained on.

        At level strict a cycle count includes three cycles for each link and register that the board lacks. NaN where
        no graph has a complete board.
        """
        excess = []
        for task in self.checks:
            batch = BoardBatch(task.problem, 1, replace(task.options, tiles_weight=0.0))
            play(self.policy, batch, None)
            price = float(prices(batch)[0]) if self.config.level == "strict" else float(batch.boards.cycles[0])
            if batch.best() is not None and price < INCOMPLETE:
                excess.append(price / batch.floor - 1)
        return float(np.mean(excess)) if excess else float("nan")


def load_policy(weights: str | None, name: str = "ppo-gga") -> Policy:
    """Return the shipped policy of a name, or that of a file of weights.

    OptionError for a file without weights, or with those of another kind of policy.
    """
    arrays, about = load(weights_path(name) if weights is None else Path(weights))
    return policy_of(arrays, about.get("policy", "attention"))


def policy_of(arrays: dict[str, Any], kind: Kind) -> Policy:
    """Return a policy with given weights; OptionError where they are not those of such a policy."""
    policy = make_policy(kind)
    try:
        policy.load_state_dict({key: torch.from_numpy(np.asarray(value)) for key, value in arrays.items()})
    except RuntimeError as error:
        raise OptionError(f"these weights are not those of policy {kind!r}: {str(error).splitlines()[0]}") from None
    policy.eval()
    return policy


def board_player(name: str, clock: SearchClock) -> Player:
    """Return a player of the shipped policy of a name; nodes are placed in topological order, as published.

    The policy knows neither links nor registers; what boards lack is counted afterwards, one round of routing each.
    """
    torch.set_num_threads(1)
    policy = load_policy(None, name)

    def player(
        ii: int, problem: SpokesProblem, order: Order, seed: int, heats: NDArray[np.float32]
    ) -> tuple[Int32s, Int32s, NDArray[np.float32]]:
        batch = BoardBatch(problem, len(heats), BoardOptions(ii=ii, reward="bound"))
        temperature = torch.from_numpy(np.maximum(heats, 0.02))[:, None]
        play(policy, batch, torch.Generator().manual_seed(seed), temperature=temperature, stop=clock.over)
        return batch.boards.tile.copy(), batch.boards.spoke.copy(), prices(batch)

    return player
