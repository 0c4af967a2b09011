"""The model ``ppo``: a placement policy is trained, and measured beside random sampling, annealing and the optimum.

An evaluation gives every mapper the same processor time at the same II and reports cycles, because a policy that is
better per sample but slower per sample is of no use. The rivals are random sampling, annealing, the policy without
graph network, and the optimum by constraint solving (or its bound). Greedy play of the policies is reported beside, as
the figure that does not depend on time.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from gridloom.errors import MissingExtra, OptionError
from gridloom.learn.placement.boards import BoardBatch, BoardOptions
from gridloom.learn.placement.mapper import PpoMapperConfig
from gridloom.learn.placement.ppo import PpoConfig, play
from gridloom.learn.placement.sampler import Sampler, load_policy
from gridloom.learn.placement.torch_policies import Policy
from gridloom.learn.placement.training import Training, TrainingAmount, TrainingConfig
from gridloom.learn.placement.training_graphs import draw_task, engine, problem_of
from gridloom.learn.weights import save, shipped
from gridloom.mappers.budget import Budget
from gridloom.mappers.spokes.annealing import annealed
from gridloom.mappers.spokes.kernel import sample
from gridloom.mappers.spokes.problem import SpokesProblem
from gridloom.mappers.spokes.search import ENDLESS, longest_path
from gridloom.run.work import Work
from gridloom.text_file import read_text

#: The graphs of an evaluation: SOURCE, tiles. None of them is drawn for training.
GRAPHS: Final = (
    *(
        (f"kernel:random_growing,nodes={n},inputs=4,seed={s},domain=opaque", 16)
        for n in (10, 15, 20)
        for s in (1, 2, 3, 4)
    ),
    *((f"kernel:random_growing,nodes={n},inputs=8,seed={s},domain=opaque", 64) for n in (40, 50) for s in (1, 2, 3)),
    *((f"kernel:{name}", 16) for name in ("distance", "fft_radix2", "fft_radix4", "ifft")),
)

#: The most seconds that a run of an evaluation takes, however busy the machine is.
_PATIENCE = 3600.0
#: How many random samples are drawn between two readings of the clock.
_SAMPLES = 200


@dataclass(frozen=True, kw_only=True)
class PpoModelConfig(TrainingAmount):
    """Settings of ``gridloom train ppo`` and ``gridloom eval ppo``."""

    #: The first learning rate, and the weight of the entropy of the policy.
    rate: float = 1e-3
    entropy: float = 0.01
    #: Evaluation: the II, seconds of processor time for each mapper, seconds and threads for the exact one.
    ii: int = 6
    seconds: float = 2.0
    exact_seconds: float = 60.0
    workers: int = 2
    #: Evaluation: the most graphs that are measured.
    most: int = 1000


class PpoModel:
    """What the registry holds under ``ppo``.

    Importing this module needs torch.
    """

    name = "ppo"
    config = PpoModelConfig

    def make_data(self, config: PpoModelConfig, work: Work) -> dict[str, Any]:
        """Return a hash of the first graphs of a seed; there is no data set, since graphs are drawn while training."""
        return {"graphs": "drawn while training", "first": 64, "hash": data_hash(work.seed)}

    def train(self, config: PpoModelConfig, work: Work) -> dict[str, Any]:
        """Train, keep checkpoints in the folder, write the weights and return their description."""
        training = Training(training_config(config), work.seed, work.folder)
        resumed = work.resume and training.restore()
        training.run(work)
        path = work.weights or work.folder / f"ppo-{config.policy}.npz"
        about = {
            "policy": config.policy,
            "iterations": training.iteration,
            "decisions": training.decisions,
            "cpu_seconds": round(training.seconds, 1),
            "seed": work.seed,
            "data": data_hash(work.seed),
        }
        save(path, training.policy.state_dict(), about)
        return {**about, "resumed": bool(resumed), "weights": str(path), "greedy_excess": training.measure()}

    def evaluate(self, config: PpoModelConfig, work: Work) -> dict[str, Any]:
        """Return a row for each graph: cycles of every mapper at one II, level paper, and the optimum or its bound.

        ``work.folder`` keeps the optima between evaluations. Costs about four times ``seconds`` for each graph, and
        ``exact_seconds`` where the optimum is not stored yet.
        """
        torch.set_num_threads(1)
        policies = {"ppo": load_policy(None if work.weights is None else str(work.weights))}
        # The policy without a graph network is a rival in the table where its weights are shipped.
        if shipped("ppo-mlp").exists():
            policies["mlp"] = load_policy(None, "ppo-mlp")
        _warm_up(config)
        optima = _StoredOptima(work.folder / "exact.json")
        rows = []
        graphs = GRAPHS[: config.most]
        for k, (source, tiles) in enumerate(graphs):
            if work.over():
                break
            rows.append(_row(source, tiles, config, work.seed, policies, optima))
            work.progress(f"{source}: ppo {rows[-1]['ppo']}, exact {rows[-1]['exact']}", (k + 1) / len(graphs))
        return {"rows": rows, "ii": config.ii, "seconds": config.seconds, "summary": summary(rows)}


def training_config(config: PpoModelConfig) -> TrainingConfig:
    """Return the settings of the training itself."""
    amount = {field.name: getattr(config, field.name) for field in fields(TrainingAmount)}
    return TrainingConfig(**amount, ppo=PpoConfig(rate=config.rate, entropy=config.entropy))


def data_hash(seed: int, tasks: int = 64) -> str:
    """Return a hash of the first tasks that a seed draws: sources, array sizes, IIs, shared variables."""
    digest = hashlib.blake2b(digest_size=12)
    rng = np.random.default_rng((seed, 2, 0))
    for _ in range(tasks):
        task = draw_task(rng)
        digest.update(f"{task.source} {task.problem.tiles} {task.options} {task.problem.variables}".encode())
    return digest.hexdigest()


class _StoredOptima:
    """The optima of earlier evaluations in a file, since each takes minutes of solving."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.optima: dict[str, Any] = {}
        if path.exists():
            try:
                self.optima = json.loads(read_text(path))
            except ValueError as error:
                raise OptionError(f"is not a file of optima ({error}); remove it", where=str(path)) from None

    def get(self, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what is stored under a key; where nothing is, what ``make`` returns, which is stored then."""
        if key not in self.optima:
            self.optima[key] = make()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.optima, indent=1), encoding="utf-8")
        result: dict[str, Any] = self.optima[key]
        return result


def _row(
    source: str, tiles: int, config: PpoModelConfig, seed: int, policies: dict[str, Policy], optima: _StoredOptima
) -> dict[str, Any]:
    """The cycles of all mappers on one graph."""
    problem = problem_of(source, engine(tiles, max(config.ii, 6)))
    floor = longest_path(problem)
    ii = config.ii
    row: dict[str, Any] = {"graph": source, "nodes": problem.size, "tiles": tiles, "ppo": None, "mlp": None}
    for name, policy in policies.items():
        row[name] = _sampled(problem, policy, config, seed)
        row[f"{name}_greedy"] = _greedy(problem, policy, ii)
    row["random"] = _random(problem, config, seed)
    best = annealed(problem, ii, _cpu_budget(config.seconds, seed).start(), 1 << 20, floor)
    row["anneal"] = None if best.legal is None else best.legal.cycles
    key = f"{source} on {tiles} tiles, II {ii}, {config.exact_seconds:g} s"
    row.update(optima.get(key, lambda: _exact(problem, config, seed, floor)))
    return row


def _warm_up(config: PpoModelConfig) -> None:
    """Compile what random sampling and annealing run, so that no graph pays for it with its seconds."""
    problem = problem_of("kernel:distance", engine(16, max(config.ii, 6)))
    _random(problem, replace(config, seconds=0.01), 0)
    annealed(problem, config.ii, Budget(effort=64).start(), 1, longest_path(problem))


def _cpu_budget(seconds: float, seed: int) -> Budget:
    """A budget of processor time, whatever else the machine does."""
    began = time.process_time()
    return Budget(time_limit=_PATIENCE, seed=seed, interrupted=lambda: time.process_time() - began >= seconds)


def _sampled(problem: SpokesProblem, policy: Policy, config: PpoModelConfig, seed: int) -> int | None:
    """The fewest cycles of placements that a policy samples within the time."""
    sampler = Sampler(problem, PpoMapperConfig(ii=config.ii), policy)
    sampler.warm_up()
    best = sampler.best(_cpu_budget(config.seconds, seed).start())
    return None if best.legal is None else best.legal.cycles


def _greedy(problem: SpokesProblem, policy: Policy, ii: int) -> int | None:
    """The cycles of the most probable placement; None where it gets stuck."""
    batch = BoardBatch(problem, 1, BoardOptions(ii=ii, reward="bound"))
    play(policy, batch, None)
    return None if batch.best() is None else int(batch.boards.cycles[0])


def _random(problem: SpokesProblem, config: PpoModelConfig, seed: int) -> int | None:
    """The fewest cycles of uniformly random placements within the time."""
    clock = _cpu_budget(config.seconds, seed).start()
    best, turn = ENDLESS, 0
    tile, spoke = (np.zeros(problem.size, dtype=np.int32) for _ in range(2))
    while not clock.over():
        chance = int(np.random.SeedSequence((seed, turn)).generate_state(1, np.uint32)[0])
        best, _, _ = sample(problem.tables, config.ii, chance, _SAMPLES, 1, clock.stop, tile, spoke, best)
        turn += 1
    return best if best < ENDLESS else None


def _exact(problem: SpokesProblem, config: PpoModelConfig, seed: int, floor: int) -> dict[str, Any]:
    """The fewest cycles that the solver finds in its time, and the bound that it proves."""
    from gridloom.mappers.spokes.exact.search import optimum

    try:
        clock = Budget(time_limit=config.exact_seconds, seed=seed, workers=config.workers).start()
        best, bound, _ = optimum(problem, config.ii, clock, floor, config.workers)
    except MissingExtra:
        return {"exact": None, "bound": floor, "optimal": False}
    cycles = None if best.legal is None else best.legal.cycles
    return {"exact": cycles, "bound": bound, "optimal": cycles == bound}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean cycles above the best known ones (the solver's, or a mapper's where fewer), by size of graph."""
    names = ("ppo", "mlp", "random", "anneal", "exact", "ppo_greedy", "mlp_greedy")
    parts = {"10-20 nodes": (0, 20), "40-50 nodes": (40, 1 << 20), "all": (0, 1 << 20)}
    means: dict[str, Any] = {}
    for part, (least, most) in parts.items():
        chosen = [row for row in rows if least <= row["nodes"] <= most]
        means[part] = {"graphs": len(chosen), **{name: _excess(chosen, name) for name in names}}
    return means


def _excess(rows: list[dict[str, Any]], name: str) -> float | None:
    """The mean excess of a mapper's cycles over the best known ones; None where it has no result."""
    values = []
    for row in rows:
        known = [row[other] for other in ("ppo", "mlp", "random", "anneal", "exact") if row.get(other)]
        if row.get(name) and known:
            values.append(row[name] / min(known) - 1)
    return round(float(np.mean(values)), 4) if values else None


MODEL = PpoModel()
