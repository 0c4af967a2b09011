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

from gridloom.dfg import json_format
from gridloom.errors import OptionError
from gridloom.learn.cards import publish
from gridloom.learn.labels import array_of
from gridloom.learn.weights import weights_path
from gridloom.run import canonical_json
from gridloom.run.work import WorkFolder
from gridloom.search.settings import check_settings
from gridloom.targets.streaming.learned.cells import OutcomeTable
from gridloom.targets.streaming.learned.evaluation import EvaluationPlan, check_columns, measure, summary
from gridloom.targets.streaming.learned.ground import Ground, cases, cases_on
from gridloom.targets.streaming.learned.training_graphs import (
    OwnTasks,
    TrainingAmount,
    draw_strict,
    draw_task,
    training_scope,
)

if TYPE_CHECKING:
    from gridloom.targets.streaming.learned.checkpoint import Checkpointed


@dataclass(frozen=True, kw_only=True)
class PpoModelConfig(TrainingAmount):
    """Settings of ``gridloom train ppo`` and ``gridloom eval ppo``."""

    read_by: ClassVar[Mapping[str, frozenset[str]]] = {
        "train": frozenset({"policy", "level", "iterations", "own", "graphs", "boards", "rate", "entropy"}),
        "evaluate": frozenset(
            {"ground", "columns", "seconds", "seeds", "exact_seconds", "exact_workers", "cells", "first", "most"}
        ),
    }
    #: Iterations for the user's array (``--arch``), where ``slots`` begins with the shipped weights.
    own: int = 60
    #: The first learning rate, and the weight of the entropy of the policy.
    rate: float = 1e-3
    entropy: float = 0.01
    #: Evaluation: ``strict``, the suite at level strict and the lowest II, or ``zero-shot``, new arrays at level paper.
    ground: Ground = "strict"
    #: Evaluation: names of columns, joined by plus signs, or ``all``, which on the user's array are rank, ppo, shipped
    #: and anneal.
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
            at_least={"own": 1, "seeds": 1, "first": 0, "most": 1, "exact_workers": 1},
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
        digest = data_hash(work.seed) if work.arch is None else strict_hash(work.seed, own_tasks(work))
        return {"graphs": "drawn while training", "own": len(work.graphs), "hash": digest}

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
            "data": strict_hash(work.seed, own_tasks(work)) if slots else data_hash(work.seed),
            "settings": training.settings | ({"start": Path(training.settings["start"]).name} if slots else {}),
        }
        if slots:
            about["scope"] = training_scope(own_tasks(work)).record()
        figures = training.figures()
        about |= {"figures": {"greedy_excess": figures.pop("greedy"), **figures}}
        return {**publish(path, self.name, training.arrays(), about, features=()), "resumed": bool(resumed)}

    def evaluate(self, config: PpoModelConfig, work: WorkFolder) -> dict[str, Any]:
        """Return a row for each case: II and cycles of every column for every seed, and the exact model's.

        On the user's array the cases are graphs that no training draws. Costs ``seconds`` for each case, column and
        seed, and ``exact_seconds`` for each case where ``exact`` is asked.
        """
        own = work.arch is not None
        listed = cases(config.ground) if work.arch is None else cases_on(work.arch)
        series = EvaluationPlan(
            cases=listed[config.first : config.first + config.most],
            columns=check_columns("rank+ppo+shipped+anneal" if own and config.columns == "all" else config.columns),
            seconds=config.seconds,
            seeds=list(range(1, config.seeds + 1)),
            exact_seconds=config.exact_seconds,
            exact_workers=config.exact_workers,
            weights=None if work.weights is None else str(work.weights),
        )
        cells = OutcomeTable(None if config.cells is None else Path(config.cells))
        rows = measure(series, cells, work.over, work.progress)
        ground = work.arch or config.ground
        report = {"rows": rows, "ground": ground, "seconds": config.seconds, "summary": summary(rows)}
        return {**report, "beside_shipped": summary(rows, "shipped")} if own else report


def make_training(config: PpoModelConfig, work: WorkFolder) -> Checkpointed:
    """Return the training of the policy that is asked for; needs torch."""
    if config.policy == "slots":
        from gridloom.targets.streaming.learned.slots.training import SlotTraining, SlotTrainingConfig

        names, own = ("iterations", "graphs", "boards", "rate", "entropy"), own_tasks(work)
        given = {name: getattr(config, name) for name in names}
        start = work.start
        if own is not None:
            start = start or weights_path("ppo")
            text = canonical_json([json_format.to_dict(dfg) for dfg in own.graphs])
            given |= {"arch": own.arch, "iterations": config.own,
                      "graphs_hash": hashlib.sha256(text.encode()).hexdigest()[:16]}  # fmt: skip
        settings = SlotTrainingConfig(**given, start="" if start is None else str(start))
        return SlotTraining(settings, work.seed, work.folder, own)
    if work.arch is not None or work.start is not None:
        given_option = "--arch" if work.arch is not None else "--from-weights"
        raise OptionError("only policy 'slots' is trained for the user's arrays or weights", where=given_option)
    from gridloom.targets.streaming.learned.published.ppo import PpoConfig
    from gridloom.targets.streaming.learned.published.training import Training, TrainingConfig

    amount = {field.name: getattr(config, field.name) for field in fields(TrainingAmount)}
    ppo = PpoConfig(rate=config.rate, entropy=config.entropy)
    return Training(TrainingConfig(**amount, ppo=ppo), work.seed, work.folder)


def own_tasks(work: WorkFolder) -> OwnTasks | None:
    """Return what is trained for where the user names an array; OptionError for one that is no streaming engine."""
    if work.arch is None:
        return None
    if not array_of(work.arch).has("spokes"):
        raise OptionError(f"model 'ppo' knows nothing of array {work.arch!r}", where="--arch")
    return OwnTasks(arch=work.arch, graphs=tuple(dfg for _, dfg in work.graphs))


def data_hash(seed: int) -> str:
    """Return a hash of the first tasks that a seed draws: sources, array sizes, IIs, shared variables."""
    return _hash(seed, 64, draw_task, lambda task: f"{task.options}")


def strict_hash(seed: int, own: OwnTasks | None = None) -> str:
    """Return a hash of the first tasks that a seed draws for the slot policy."""
    return _hash(seed, 16, lambda rng: draw_strict(rng, own), lambda task: f"{task.ii} {task.order}")


def _hash(seed: int, tasks: int, draw: Callable[..., Any], rules: Callable[[Any], str]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    rng = np.random.default_rng((seed, 2, 0))
    for _ in range(tasks):
        task = draw(rng)
        digest.update(f"{task.source} {task.problem.tiles} {rules(task)} {task.problem.variables}".encode())
    return digest.hexdigest()


MODEL = PpoModel()
