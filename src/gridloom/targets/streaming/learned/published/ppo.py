"""Proximal policy optimisation (Schulman et al. 2017) with masked actions, for boards of many graphs at once.

An iteration plays a batch of boards for each of several graphs, step by step in compiled code, estimates advantages
(generalised, by the critic), and improves the clipped surrogate over a few epochs. A minibatch consists of some graphs
with all their decisions, so that a graph is encoded once per minibatch. It runs on one torch thread.

Why our own and not a library: MaskablePPO of sb3-contrib takes observations of one fixed shape, so that a policy over
many graphs would encode each graph at every step. On one graph with networks of the same width it makes about two
thirds of the decisions per CPU second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions
from gridloom.targets.streaming.learned.published.kernel import COMPLETE
from gridloom.targets.streaming.learned.published.torch_policies import Arrays, Encoded, Policy, tensors
from gridloom.targets.streaming.mappers.problem import SpokesProblem

#: So many cycles count as 1 in returns, which keeps values near 1.
SCALE = 6.0


@dataclass(frozen=True, kw_only=True)
class PpoConfig:
    """Settings of the optimisation. Clip, epochs and discount are those of the authors' released code.

    ``graphs`` counts graphs, not decisions: a minibatch has all decisions of so many graphs.
    """

    #: Learning rate, and how far the probability ratio may be from 1.
    rate: float = 1e-3
    clip: float = 0.2
    #: Passes over the decisions of an iteration.
    epochs: int = 5
    #: Discount of rewards, and decay of the generalised advantage estimate.
    discount: float = 0.99
    trace: float = 0.95
    #: Weights of the entropy and of the critic's error in the loss.
    entropy: float = 0.01
    value: float = 0.5
    #: The largest norm of a gradient.
    norm: float = 0.5
    #: How many graphs of an iteration one step of the optimiser sees.
    graphs: int = 4


@dataclass
class Episode:
    """Boards of one graph, played to the end; rows of all arrays are (step, board) flattened.

    Decisions of boards that were over already are left out, so rows differ in number from graph to graph. ``target`` is
    what the critic should have said: advantage plus its value. ``cycles`` is NaN and ``least`` -1 where no board is
    complete.
    """

    graph: Encoded
    boards: BoardBatch
    seen: dict[str, Tensor]
    action: Tensor
    log_probability: Tensor
    advantage: Tensor
    target: Tensor
    #: Mean and least cycles, share of complete boards.
    cycles: float
    least: int
    complete: float


def play(
    policy: Policy,
    batch: BoardBatch,
    generator: torch.Generator | None,
    on_step: Callable[[Arrays, NDArray[Any], Tensor, Tensor], None] | None = None,
    temperature: float | Tensor = 1.0,
    stop: Callable[[], bool] | None = None,
) -> None:
    """Play all boards to their ends, or until ``stop`` returns True.

    With a generator actions are sampled, without one the most probable is taken. ``temperature`` divides the logits:
    one number for all boards, or a column with one per board. ``on_step`` is called after each step with the
    observation, the choices, their log probabilities and the values.

    The graph is encoded once. Log probabilities are those at temperature 1, whatever the temperature of the choice.
    Without gradients. One step costs a shortlist in compiled code and one pass of the small networks over all boards.
    """
    with torch.no_grad():
        encoded = policy.encode(Encoded(batch.problem, batch.tail))
        while batch.running.any() and not (stop is not None and stop()):
            seen = policy.observe(batch)
            logits, value = policy(encoded, tensors(seen))
            choice = _choose(logits / temperature, generator)
            batch.step(seen["actions"][np.arange(batch.count), choice.numpy()].astype(np.int32))
            if on_step is not None:
                chosen = torch.log_softmax(logits, dim=1).gather(1, choice[:, None]).squeeze(1)
                on_step(seen, choice.numpy(), chosen, value)


def _choose(logits: Tensor, generator: torch.Generator | None) -> Tensor:
    """The most probable action of each row or, with a generator, a sample."""
    if generator is None:
        return logits.argmax(dim=1)
    noise = torch.rand(logits.shape, generator=generator).clamp_(1e-9, 1 - 1e-9)
    # The greatest of logits with Gumbel noise is a sample of their softmax.
    return (logits - torch.log(-torch.log(noise))).argmax(dim=1)


def collect(
    policy: Policy, problem: SpokesProblem, options: BoardOptions, boards: int, generator: torch.Generator,
    c: PpoConfig, last: Callable[[BoardBatch], NDArray[np.float32]] | None = None,
) -> Episode:  # fmt: skip
    """Play boards of a graph and return them with an estimate of the advantage of every decision.

    ``boards`` boards are sampled at temperature 1. Rewards are divided by ``SCALE``. The arrays of an observation are
    copied at each step, since the batch overwrites them. ``last`` gives what each complete board is rewarded with
    beside the rules of ``options``, in its last step.
    """
    batch = BoardBatch(problem, boards, options, seed=int(torch.randint(1 << 30, (1,), generator=generator)))
    seen: list[Arrays] = []
    choices: list[NDArray[Any]] = []
    rows: dict[str, list[Any]] = {"log": [], "value": [], "reward": [], "alive": []}
    alive = [batch.running.copy()]

    def on_step(observed: Arrays, choice: NDArray[Any], log: Tensor, value: Tensor) -> None:
        seen.append({key: array.copy() for key, array in observed.items() if key != "actions"})
        choices.append(choice)
        rows["log"].append(log)
        rows["value"].append(value)
        rows["reward"].append(batch.boards.reward / SCALE)
        rows["alive"].append(alive[-1])
        alive.append(batch.running.copy())

    play(policy, batch, generator, on_step)
    value, kept = torch.stack(rows["value"]).numpy(), np.stack(rows["alive"])
    reward = np.stack(rows["reward"])
    if last is not None:
        # The last step of a board is the last in which it was alive.
        reward[kept.sum(axis=0) - 1, np.arange(boards)] += last(batch) / SCALE
    advantage = advantages(reward, value, np.stack(alive[1:]), c)
    # Boards end at different steps; what a board is shown after its end is no decision.
    keep = torch.from_numpy(kept.reshape(-1))
    done = batch.boards.over == COMPLETE
    flat = {key: torch.from_numpy(np.concatenate([step[key] for step in seen]))[keep] for key in seen[0]}
    return Episode(
        graph=Encoded(problem, batch.tail),
        boards=batch,
        seen=flat,
        action=torch.from_numpy(np.concatenate(choices))[keep],
        log_probability=torch.cat(rows["log"])[keep],
        advantage=torch.from_numpy(advantage.reshape(-1))[keep],
        target=torch.from_numpy((advantage + value).reshape(-1))[keep],
        cycles=float(batch.boards.cycles[done].mean()) if done.any() else float("nan"),
        least=int(batch.boards.cycles[done].min()) if done.any() else -1,
        complete=float(done.mean()),
    )


def advantages(
    reward: NDArray[np.float32], value: NDArray[np.float32], goes_on: NDArray[np.bool_], c: PpoConfig
) -> NDArray[np.float32]:
    """Return generalised advantage estimates of [step, board] arrays.

    ``goes_on`` is False for the last step of a board. An estimate is the sum of this and all later temporal-difference
    errors of the board, each step back weighted by discount times trace (Schulman et al. 2016). What stands in rows
    after the last step of a board has no influence on those before.
    """
    estimates = np.zeros_like(value)
    later = np.zeros(value.shape[1], dtype=np.float32)
    for k in reversed(range(len(value))):
        following = value[k + 1] if k + 1 < len(value) else np.zeros_like(later)
        error = reward[k] + c.discount * following * goes_on[k] - value[k]
        later = error + c.discount * c.trace * later * goes_on[k]
        estimates[k] = later
    return estimates


def improve(
    policy: Policy,
    optimiser: torch.optim.Optimizer,
    episodes: Sequence[Episode],
    c: PpoConfig,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Improve the policy by some epochs of the clipped surrogate over what was played; returns means of its parts.

    ``moved`` is the mean change of the probability ratio; far above ``clip`` it says that the steps are too long.
    """
    parts: dict[str, list[float]] = {"surrogate": [], "value": [], "entropy": [], "moved": []}
    for _ in range(c.epochs):
        order = rng.permutation(len(episodes))
        for start in range(0, len(order), c.graphs):
            chosen = [episodes[k] for k in order[start : start + c.graphs]]
            loss = _loss(policy, chosen, c, parts)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), c.norm)
            optimiser.step()
    return {key: float(np.mean(values)) for key, values in parts.items()}


def _loss(policy: Policy, episodes: Sequence[Episode], c: PpoConfig, parts: dict[str, list[float]]) -> Tensor:
    """The loss of some episodes: clipped surrogate, error of the critic, entropy; adds their values to ``parts``.

    Advantages are standardised over the minibatch. Several graphs are concatenated only after the network, because each
    has its own encoding.
    """
    outcomes = [policy(policy.encode(episode.graph), episode.seen) for episode in episodes]
    logits = torch.cat([outcome[0] for outcome in outcomes])
    value = torch.cat([outcome[1] for outcome in outcomes])
    logs = torch.log_softmax(logits, dim=1)
    action = torch.cat([episode.action for episode in episodes])
    old = torch.cat([episode.log_probability for episode in episodes])
    advantage = torch.cat([episode.advantage for episode in episodes])
    target = torch.cat([episode.target for episode in episodes])
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    ratio = torch.exp(logs.gather(1, action[:, None]).squeeze(1) - old)
    clipped = torch.clamp(ratio, 1 - c.clip, 1 + c.clip)
    surrogate = torch.minimum(ratio * advantage, clipped * advantage).mean()
    error = torch.nn.functional.mse_loss(value, target)
    # Only legal actions count: those at minus infinity have probability 0.
    entropy = -(logs.exp() * logs.clamp(min=-30)).sum(dim=1).mean()
    for key, part in zip(parts, (surrogate, error, entropy, (ratio - 1).abs().mean())):
        parts[key].append(float(part.detach()))
    loss: Tensor = -surrogate + c.value * error - c.entropy * entropy
    return loss
