"""Our PPO beside sb3-contrib's MaskablePPO on the same boards: decisions per CPU second, and what is learned.

    python benchmarks/ppo_engines.py --decisions 40000

Both see the published state (slots, node, results) of one graph. Both use MLPs of the same width, clip 0.2, discount
0.99 and 5 epochs, and run on one thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv

from gridloom.targets.streaming.learned.published.boards import BoardOptions
from gridloom.targets.streaming.learned.published.env import StreamingVectorEnv
from gridloom.targets.streaming.learned.published.ppo import PpoConfig, collect, improve
from gridloom.targets.streaming.learned.published.torch_policies import StateMlp
from gridloom.targets.streaming.learned.training_graphs import engine, problem_of


class Adapter(VecEnv):
    """The vector environment behind the interface of Stable-Baselines3."""

    def __init__(self, env: StreamingVectorEnv) -> None:
        self.env = env
        self.cycles: list[int] = []
        self.masks = env.action_masks()
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Return the observation of empty boards."""
        seen, info = self.env.reset(seed=0)
        self.masks = info["action_mask"]
        return seen

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions."""
        self.actions = actions

    def step_wait(self) -> Any:
        """Place a node on every board."""
        seen, reward, over, _, info = self.env.step(self.actions)
        self.masks = info["action_mask"]
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for k in np.flatnonzero(over):
            infos[k]["terminal_observation"] = {key: value[k] for key, value in info["final_obs"].items()}
            self.cycles.append(int(info["cycles"][k]))
        return seen, reward.astype(np.float32), over, infos

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Return the masks: no other method is called."""
        return [self.masks[k] for k in range(self.num_envs)]

    def has_attr(self, attr_name: str) -> bool:
        """Return True for the masks, the only attribute there is."""
        return attr_name == "action_masks"

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return None: there is no such attribute."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Nothing to set."""

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for every board: none is wrapped."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Nothing to close."""


def ours(source: str, decisions: int, boards: int) -> dict[str, float]:
    """Train with our PPO."""
    problem = problem_of(source, engine(16, 6))
    policy = StateMlp(slots=96, nodes=problem.size)
    config = PpoConfig(rate=3e-4, graphs=1)
    optimiser = torch.optim.Adam(policy.parameters(), lr=config.rate)
    generator, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    made, cycles, began = 0, [], time.process_time()
    while made < decisions:
        episode = collect(policy, problem, BoardOptions(), boards, generator, config)
        improve(policy, optimiser, [episode], config, rng)
        made += len(episode.action)
        cycles.append(episode.cycles)
    return report(made, time.process_time() - began, cycles[0], cycles[-1])


def theirs(source: str, decisions: int, boards: int) -> dict[str, float]:
    """Train with MaskablePPO."""
    env = Adapter(StreamingVectorEnv(source, "streaming-engine:16,spokes=6,level=paper", boards))
    size = env.env.problem.size
    model = MaskablePPO(
        "MultiInputPolicy", env, n_steps=size, batch_size=size * boards, n_epochs=5, gamma=0.99, learning_rate=3e-4,
        policy_kwargs={"net_arch": [128, 128, 128]}, device="cpu", seed=0,
    )  # fmt: skip
    began = time.process_time()
    model.learn(decisions)
    first, last = (float(np.mean(part)) for part in (env.cycles[:boards], env.cycles[-boards:]))
    return report(decisions, time.process_time() - began, first, last)


def report(made: int, seconds: float, first: float, last: float) -> dict[str, float]:
    """One row of the comparison."""
    return {"decisions": made, "cpu_seconds": round(seconds, 2), "decisions_a_second": round(made / seconds),
            "first_cycles": round(float(first), 1), "last_cycles": round(float(last), 1)}  # fmt: skip


def main() -> None:
    """Compare both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="kernel:ifft")
    parser.add_argument("--decisions", type=int, default=40_000)
    parser.add_argument("--boards", type=int, default=64)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for call in (ours, theirs):
        call(args.source, 1, 2)
    found = {call.__name__: call(args.source, args.decisions, args.boards) for call in (ours, theirs)}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
