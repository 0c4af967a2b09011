"""``ppo``: placements on a streaming engine by a policy that learned to place node after node.

After the published reinforcement-learning mapper of the Streaming Engine (proximal policy optimisation, a graph network
with global graph attention, masked actions). There a policy is trained for each graph; this one was trained once, over
a distribution of graphs, arrays and IIs, and places graphs that it has not seen:

1. the graph is encoded once; many boards are played at once, the first greedily, others more and more by chance;
2. the best complete board is kept, at level strict the best whose values find links and delay registers;
3. IIs upwards, the first with a placement is sampled on; with ``tune`` the policy goes on learning on this graph.

Cost: a batch of 256 boards of 50 nodes on 64 tiles takes about a second. Limits: needs torch (extra ``learn``); proves
nothing; annealing finds as few cycles or fewer in the same time on most graphs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gridloom._version import __version__
from gridloom.arch.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.learn.ppo import PpoConfig, collect, improve, play
from gridloom.learn.streaming_boards import BoardBatch, BoardOptions
from gridloom.learn.streaming_kernel import COMPLETE
from gridloom.learn.streaming_policy import Policy
from gridloom.learn.streaming_training import policy_of
from gridloom.learn.weights import load, shipped
from gridloom.map.budget import Budget, Clock
from gridloom.map.spokes_mapping import to_mapping
from gridloom.map.spokes_problem import SpokesProblem, build_problem
from gridloom.map.spokes_screening import screen
from gridloom.map.spokes_search import Best, longest_path, sweep
from gridloom.mapping.model import Failure, Mapping

#: Boards of a batch that are looked at for links and registers.
_LOOKED_AT = 24


@dataclass(frozen=True, kw_only=True)
class PpoMapperConfig:
    """Settings of ``ppo``."""

    #: The II to map at; None: from the least possible on, the first that is found.
    ii: int | None = None
    #: Boards a batch; the first batch of an II has a quarter.
    boards: int = 256
    #: Batches when the budget has no limit.
    batches: int = 8
    #: The greatest temperature of sampling; boards of a batch go from greedy to this.
    heat: float = 1.6
    #: Go on learning on this graph between batches.
    tune: bool = False
    #: What a goal weighs beside the cycles: each tile in use.
    tiles_weight: float = 0.0
    #: Other weights than the shipped ones: a file that `gridloom train ppo -o` wrote.
    weights: str | None = None

    def __post_init__(self) -> None:
        for name in ("boards", "batches"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}: expected at least 1, found {getattr(self, name)}")
        if not self.heat > 0:
            raise OptionError(f"heat: expected more than 0, found {self.heat}")


def load_policy(weights: str | None, name: str = "ppo") -> Policy:
    """The shipped policy, or that of a file."""
    arrays, about = load(shipped(name) if weights is None else Path(weights))
    return policy_of(arrays, about.get("policy", "attention"))


def ppo(dfg: Dfg, arch: Arch, config: PpoMapperConfig, budget: Budget) -> Mapping | Failure:
    """The best of many placements that the policy samples on a streaming engine, or why there is none."""
    problem = build_problem(dfg, arch)
    reason = screen(problem, config.ii)
    if reason is not None:
        return reason
    torch.set_num_threads(1)
    sampler = Sampler(problem, config, load_policy(config.weights))
    sampler.warm_up()
    clock = budget.start()
    best = sampler.best(clock)
    clock.report("done", best.words)
    if best.legal is None:
        return best.failure()
    origin: dict[str, Any] = {
        "mapper": "ppo", "seed": budget.seed, "moves": clock.moves, "version": __version__,
        "optimal": best.legal.cycles <= sampler.floor, "bound": sampler.floor,
    }  # fmt: skip
    return to_mapping(problem, best.legal, origin)


class Sampler:
    """Batches of boards under a clock."""

    def __init__(self, problem: SpokesProblem, config: PpoMapperConfig, policy: Policy) -> None:
        self.problem = problem
        self.config = config
        self.policy = copy.deepcopy(policy) if config.tune else policy
        self.floor = longest_path(problem)
        settings = PpoConfig(rate=3e-4, graphs=1)
        self.settings = settings
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=settings.rate) if config.tune else None

    def warm_up(self) -> None:
        """Compile and load what a batch needs, so that the clock does not see it."""
        play(self.policy, BoardBatch(self.problem, 2, BoardOptions(ii=self.problem.spokes)), None)

    def best(self, clock: Clock) -> Best:
        """The best of IIs upwards."""
        return sweep(self.problem, self.config.ii, clock, lambda *turn: self._batch(clock, *turn), self.config.batches)

    def _batch(self, clock: Clock, ii: int, best: Best, turn: int) -> bool:
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
        """From almost greedy on the first board to the configured heat on the last."""
        return torch.linspace(0.02, 1.0, count)[:, None] * self.config.heat

    def _take(self, batch: BoardBatch, ii: int, best: Best) -> None:
        boards = batch.boards
        done = np.flatnonzero(boards.over == COMPLETE)
        order = done[np.argsort(boards.cycles[done], kind="stable")]
        for b in order[: _LOOKED_AT if self.problem.strict else 1]:
            if best.legal is not None and (ii, int(boards.cycles[b])) >= (best.legal.ii, best.legal.cycles):
                return
            best.take(self.problem, ii, boards.tile[b], boards.spoke[b])
