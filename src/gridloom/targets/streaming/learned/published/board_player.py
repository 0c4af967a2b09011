"""The published policies as players of the guided search: boards by torch, over the whole state of tiles and spokes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from gridloom.search.arrays import Int32s
from gridloom.search.budget import SearchClock
from gridloom.targets.streaming.learned.guided import Player
from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions
from gridloom.targets.streaming.learned.published.ppo import play
from gridloom.targets.streaming.learned.published.pricing import prices
from gridloom.targets.streaming.learned.published.training import load_policy
from gridloom.targets.streaming.learned.slots.policy import Order
from gridloom.targets.streaming.mappers.problem import SpokesProblem


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
