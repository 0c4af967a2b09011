"""Batches of placements that a policy samples within a budget, for the mapper ``ppo`` and for its evaluation.

A budget is spent in batches: every batch is one run of the policy over some hundred boards, from almost greedy to
random. The first batch of an II is a quarter as large, so that an II without a placement is left soon.
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gridloom.learn.placement.boards import BoardBatch, BoardOptions
from gridloom.learn.placement.kernel import COMPLETE
from gridloom.learn.placement.mapper import PpoMapperConfig
from gridloom.learn.placement.ppo import PpoConfig, collect, improve, play
from gridloom.learn.placement.torch_policies import Policy
from gridloom.learn.placement.training import policy_of
from gridloom.learn.weights import load, shipped
from gridloom.mappers.budget import Clock
from gridloom.mappers.spokes.problem import SpokesProblem
from gridloom.mappers.spokes.search import Best, longest_path, sweep

#: How many boards of a batch are tried for links and registers.
_LOOKED_AT = 24


def load_policy(weights: str | None, name: str = "ppo") -> Policy:
    """Return the shipped policy, or that of a file of weights.

    OptionError for a file without weights, or with those of another kind of policy.
    """
    arrays, about = load(shipped(name) if weights is None else Path(weights))
    return policy_of(arrays, about.get("policy", "attention"))


class Sampler:
    """Samples batches of boards of one problem until its budget is used up.

    With ``tune`` it works on a copy of the policy, so that what is learned on one graph does not leak into the next;
    every second batch is then played for learning and its boards count as well. The result depends on the budget's seed
    and the number of batches that it allows.
    """

    def __init__(self, problem: SpokesProblem, config: PpoMapperConfig, policy: Policy) -> None:
        torch.set_num_threads(1)
        self.problem = problem
        self.config = config
        self.policy = copy.deepcopy(policy) if config.tune else policy
        self.floor = longest_path(problem)
        settings = PpoConfig(rate=3e-4, graphs=1)
        self.settings = settings
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=settings.rate) if config.tune else None

    def warm_up(self) -> None:
        """Compile and load what a batch needs, before the clock starts."""
        play(self.policy, BoardBatch(self.problem, 2, BoardOptions(ii=self.problem.spokes)), None)

    def best(self, clock: Clock) -> Best:
        """Return the best placement of the first II, upwards, that has one."""
        return sweep(self.problem, self.config.ii, clock, lambda *turn: self._batch(clock, *turn), self.config.batches)

    def _batch(self, clock: Clock, ii: int, best: Best, turn: int) -> bool:
        """Sample one batch at an II, or with ``tune`` learn from it; returns True when nothing better is possible."""
        # An II at which no board is complete should cost little, for the next II waits.
        count = self.config.boards if turn else max(1, self.config.boards // 4)
        seed = np.random.SeedSequence((clock.budget.seed, ii, turn)).generate_state(1, np.uint64)[0]
        generator = torch.Generator().manual_seed(int(seed >> np.uint64(2)))
        options = BoardOptions(ii=ii, reward="bound", tiles_weight=self.config.tiles_weight)
        if self.optimiser is not None and turn % 2 == 1:
            episode = collect(self.policy, self.problem, options, count, generator, self.settings)
            improve(self.policy, self.optimiser, [episode], self.settings, np.random.default_rng(int(seed)))
            batch = episode.boards
        else:
            batch = BoardBatch(self.problem, count, options)
            play(self.policy, batch, generator, temperature=self._temperatures(count), stop=clock.over)
        clock.moves += count * self.problem.size
        self._take(batch, ii, best)
        return best.legal is not None and best.legal.cycles <= self.floor

    def _temperatures(self, count: int) -> Tensor:
        """Temperatures from almost greedy on the first board to the configured heat on the last."""
        return torch.linspace(0.02, 1.0, count)[:, None] * self.config.heat

    def _take(self, batch: BoardBatch, ii: int, best: Best) -> None:
        """Keep the best complete board of a batch that finds links and registers.

        At level strict the boards with the fewest cycles are tried in turn, since links and registers may refuse the
        first ones; at level paper every complete board is legal and the best is enough.
        """
        boards = batch.boards
        done = np.flatnonzero(boards.over == COMPLETE)
        order = done[np.argsort(boards.cycles[done], kind="stable")]
        for b in order[: _LOOKED_AT if self.problem.strict else 1]:
            if best.legal is not None and (ii, int(boards.cycles[b])) >= (best.legal.ii, best.legal.cycles):
                return
            best.take(self.problem, ii, boards.tile[b], boards.spoke[b])
