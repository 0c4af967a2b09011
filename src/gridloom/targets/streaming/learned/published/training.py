"""Training of placement policies over a distribution of graphs: iterations, checkpoints, learning curves.

An iteration draws graphs, plays boards of each with the policy as it is, and improves it by some epochs of PPO. Its
random numbers come from (seed, iteration) alone, so a run that continues from a checkpoint draws the same graphs as one
that was never stopped. The learning rate falls linearly to a twentieth. Every tenth iteration greedy play is measured
on 16 fixed graphs, and a checkpoint is written.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gridloom.errors import OptionError
from gridloom.learn.weights import load, weights_path
from gridloom.run.work import WorkFolder
from gridloom.search.settings import check_settings
from gridloom.targets.streaming.learned.amount import Kind, TrainingAmount
from gridloom.targets.streaming.learned.checkpoint import Checkpointed
from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions
from gridloom.targets.streaming.learned.published.ppo import Episode, PpoConfig, collect, improve, play
from gridloom.targets.streaming.learned.published.pricing import INCOMPLETE, prices
from gridloom.targets.streaming.learned.published.torch_policies import Policy, make_policy
from gridloom.targets.streaming.learned.training_graphs import TrainingGraph, draw_strict, draw_task

#: Graphs on which greedy play is measured while training, and iterations between measurements.
_CHECKS, _EVERY = 16, 10
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
    """The training of a policy. It sets torch to one thread, since the layers are too small for more."""

    def __init__(self, config: TrainingConfig, seed: int, folder: Path) -> None:
        # Layers this small are slower on several threads.
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.config = config
        self.seed = seed
        self.folder = folder
        self.policy: Policy = make_policy(config.policy)
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=config.ppo.rate)
        self.iteration = 0
        self.decisions = 0
        self.seconds = 0.0
        check = np.random.default_rng((seed, 1))
        self.checks = [self._draw(check) for _ in range(_CHECKS)]

    @property
    def _name(self) -> str:
        return str(self.config.policy)

    @property
    def _module(self) -> torch.nn.Module:
        return self.policy

    def _draw(self, rng: np.random.Generator) -> TrainingGraph:
        """A random task; at level strict one of those that the slot policy is trained on."""
        if self.config.level == "paper":
            return draw_task(rng, self.config.large)
        task = draw_strict(rng)
        options = BoardOptions(ii=task.ii, reward="bound", penalty=_STUCK, tiles_weight=task.tiles_weight)
        return TrainingGraph(source=task.source, problem=task.problem, options=options)

    def run(self, work: WorkFolder) -> None:
        """Iterate until the configured number is reached or the work is over."""
        total = self.config.iterations
        while self.iteration < total and not work.over():
            began = time.process_time()
            row = self.step()
            self.seconds += time.process_time() - began
            if self.iteration % _EVERY == 0 or self.iteration == total:
                row["greedy"] = self.measure()
                self.save()
            self.note(row)
            work.progress(f"iteration {self.iteration}: {row['excess']:.3f} above the bound", self.iteration / total)
        self.save()

    def step(self) -> dict[str, Any]:
        """Run one iteration and return its figures; its graphs and boards follow from the seed and its number alone.

        ``excess`` is the mean of the sampled boards' cycles over the longest path, less 1, over graphs with a complete
        board.
        """
        c = self.config
        rng = np.random.default_rng((self.seed, 2, self.iteration))
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
        for group in self.optimiser.param_groups:
            group["lr"] = c.ppo.rate * max(0.05, 1 - self.iteration / c.iterations)
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
