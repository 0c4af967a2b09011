"""The model ``ppo``: placement policies are trained, and measured in one search beside annealing and the exact model.

The policies: ``slots``, which the mapper ``ppo`` uses; ``gga``, the published actor (graph network, global graph
attention, MLPs over the whole state of tiles and spokes); ``state``, MLPs over the published state; ``attention`` and
``mlp``, which see a shortlist of described slots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gridloom.learn.weights import save
from gridloom.run.work import WorkFolder
from gridloom.search.settings import check_settings
from gridloom.targets.streaming.learned.cells import OutcomeTable
from gridloom.targets.streaming.learned.evaluation import EvaluationPlan, check_columns, measure, summary
from gridloom.targets.streaming.learned.ground import Ground, cases
from gridloom.targets.streaming.learned.training_graphs import TrainingAmount, draw_strict, draw_task

if TYPE_CHECKING:
    from gridloom.targets.streaming.learned.checkpoint import Checkpointed


@dataclass(frozen=True, kw_only=True)
class PpoModelConfig(TrainingAmount):
    """Settings of ``gridloom train ppo`` and ``gridloom eval ppo``."""

    read_by: ClassVar[Mapping[str, frozenset[str]]] = {
        "train": frozenset({"policy", "level", "iterations", "graphs", "boards", "rate", "entropy"}),
        "evaluate": frozenset(
            {"ground", "columns", "seconds", "seeds", "exact_seconds", "exact_workers", "cells", "first", "most"}
        ),
    }
    #: The first learning rate, and the weight of the entropy of the policy.
    rate: float = 1e-3
    entropy: float = 0.01
    #: Evaluation: ``strict``, the suite at level strict and the lowest II, or ``zero-shot``, new arrays at level paper.
    ground: Ground = "strict"
    #: Evaluation: names of columns, joined by plus signs, or ``all``.
    columns: str = "all"
    #: Evaluation: seconds of processor time for each column and seed, seeds, and seconds for the exact model.
    seconds: float = 2.0
    seeds: int = 3
    exact_seconds: float = 60.0
    #: Evaluation: threads of the exact model.
    exact_workers: int = 8
    #: Evaluation: a file that outcomes are appended to as they arrive; a repeated run goes on from what is there.
    cells: str | None = None
    #: Evaluation: the first case and the most cases that are measured.
    first: int = 0
    most: int = 1000

    def __post_init__(self) -> None:
        check_settings(
            self,
            at_least={"seeds": 1, "first": 0, "most": 1, "exact_workers": 1},
            positive=("seconds", "exact_seconds"),
        )
        check_columns(self.columns)


class PpoModel:
    """What the registry holds under ``ppo``.

    Training needs torch, and so do the columns of published policies; the others do not.
    """

    name = "ppo"
    config = PpoModelConfig

    def make_data(self, config: PpoModelConfig, work: WorkFolder) -> dict[str, Any]:
        """Return a hash of the first graphs of a seed; there is no data set, since graphs are drawn while training."""
        return {"graphs": "drawn while training", "first": 64, "hash": data_hash(work.seed)}

    def train(self, config: PpoModelConfig, work: WorkFolder) -> dict[str, Any]:
        """Train, keep checkpoints in the folder, write the weights and return their description."""
        training = make_training(config, work)
        resumed = work.resume and training.restore()
        training.run(work.over, work.progress)
        path = work.weights or work.folder / f"ppo-{config.policy}.npz"
        slots = config.policy == "slots"
        about = {
            "policy": config.policy,
            **({} if slots else {"level": config.level}),
            "iterations": training.iteration,
            "decisions": training.decisions,
            "cpu_seconds": round(training.seconds, 1),
            "seed": work.seed,
            "data": strict_hash(work.seed) if slots else data_hash(work.seed),
        }
        save(path, training.arrays(), about)
        figures = training.figures()
        greedy = {"greedy_excess": figures.pop("greedy"), **figures}
        return {**about, "resumed": bool(resumed), "weights": str(path), **greedy}

    def evaluate(self, config: PpoModelConfig, work: WorkFolder) -> dict[str, Any]:
        """Return a row for each case: II and cycles of every column for every seed, and the exact model's.

        Costs ``seconds`` for each case, column and seed, and ``exact_seconds`` for each case where ``exact`` is asked.
        """
        series = EvaluationPlan(
            cases=cases(config.ground)[config.first : config.first + config.most],
            columns=check_columns(config.columns),
            seconds=config.seconds,
            seeds=list(range(1, config.seeds + 1)),
            exact_seconds=config.exact_seconds,
            exact_workers=config.exact_workers,
            weights=None if work.weights is None else str(work.weights),
        )
        cells = OutcomeTable(None if config.cells is None else Path(config.cells))
        rows = measure(series, cells, work.over, work.progress)
        return {"rows": rows, "ground": config.ground, "seconds": config.seconds, "summary": summary(rows)}


def make_training(config: PpoModelConfig, work: WorkFolder) -> Checkpointed:
    """Return the training of the policy that is asked for; needs torch."""
    if config.policy == "slots":
        from gridloom.targets.streaming.learned.slots.training import SlotTraining, SlotTrainingConfig

        names = ("iterations", "graphs", "boards", "rate", "entropy")
        settings = SlotTrainingConfig(**{name: getattr(config, name) for name in names})
        return SlotTraining(settings, work.seed, work.folder)
    from gridloom.targets.streaming.learned.published.ppo import PpoConfig
    from gridloom.targets.streaming.learned.published.training import Training, TrainingConfig

    amount = {field.name: getattr(config, field.name) for field in fields(TrainingAmount)}
    ppo = PpoConfig(rate=config.rate, entropy=config.entropy)
    return Training(TrainingConfig(**amount, ppo=ppo), work.seed, work.folder)


def data_hash(seed: int) -> str:
    """Return a hash of the first tasks that a seed draws: sources, array sizes, IIs, shared variables."""
    return _hash(seed, 64, draw_task, lambda task: f"{task.options}")


def strict_hash(seed: int) -> str:
    """Return a hash of the first tasks that a seed draws for the slot policy."""
    return _hash(seed, 16, draw_strict, lambda task: f"{task.ii} {task.order}")


def _hash(seed: int, tasks: int, draw: Callable[..., Any], rules: Callable[[Any], str]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    rng = np.random.default_rng((seed, 2, 0))
    for _ in range(tasks):
        task = draw(rng)
        digest.update(f"{task.source} {task.problem.tiles} {rules(task)} {task.problem.variables}".encode())
    return digest.hexdigest()


MODEL = PpoModel()
