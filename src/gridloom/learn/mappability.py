"""``mappability``: does a graph fit an array of rows, and how wide? Data, training and figures of the estimators.

Importing this needs no torch: the shipped estimator runs on numpy. Training does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridloom.arch import build
from gridloom.errors import OptionError
from gridloom.learn import mappability_data as data
from gridloom.learn.mappability_checkpoints import Checkpoints
from gridloom.learn.mappability_features import ArrayShape
from gridloom.learn.mappability_graphs import OVERFULL
from gridloom.learn.mappability_metrics import Judged, calibration_error, metrics
from gridloom.learn.mappability_network import (
    NAME,
    LearnedEstimator,
    load_network,
    save_network,
    shipped_estimator,
)
from gridloom.run.work import Work

if TYPE_CHECKING:
    from gridloom.learn.mappability_training import DgcnnSettings, OwnSettings, Sample

FEWEST = 200


@dataclass(frozen=True, kw_only=True)
class MappabilityConfig:
    """Settings of ``gridloom train mappability`` and ``gridloom eval mappability``."""

    #: Families of graphs, and graphs of each.
    families: int = 640
    graphs: int = 11
    #: The array that figures are of.
    arch: str = "vpcma"
    #: Arrays that training sees as well, and arrays that it never sees but that are measured on; spaces between them.
    others: str = "vpcma:4x12 vpcma:6x12 vpcma:10x12 vpcma:8x16"
    unseen: str = "vpcma:7x12 vpcma:9x14"
    #: Of how many families each of those arrays has graphs, and how many.
    others_families: int = 400
    others_graphs: int = 1
    folds: int = 5
    #: Evaluation: also DGCNN; it takes most of the time.
    dgcnn: bool = True
    #: Trials of Optuna on DGCNN's settings before its folds; 0: the published defaults.
    trials: int = 0
    epochs: int = 20
    dgcnn_epochs: int = 30
    #: Networks whose answers are averaged; each is trained without a share of the families.
    members: int = 4
    #: False positives at most, as a share of the graphs that do not map, where the threshold is chosen.
    most_false: float = 0.03

    def __post_init__(self) -> None:
        at_least = {"families": 1, "graphs": 1, "folds": 2, "trials": 0, "epochs": 1, "dgcnn_epochs": 1, "members": 1,
                    "others_families": 1, "others_graphs": 1}  # fmt: skip
        for name, least in at_least.items():
            if getattr(self, name) < least:
                raise OptionError(f"{name}: expected at least {least}, found {getattr(self, name)}")
        if not 0 <= self.most_false <= 1:
            raise OptionError(f"most_false: expected 0 to 1, found {self.most_false}")

    def others_and_unseen(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The arrays beside the main one; OptionError where two of all these are of one shape."""
        others, unseen = tuple(self.others.split()), tuple(self.unseen.split())
        seen: dict[ArrayShape, str] = {}
        for spec in (self.arch, *others, *unseen):
            shape = ArrayShape.of(data.array(spec))
            if shape in seen:
                raise OptionError(f"others, unseen: {spec!r} is the same array as {seen[shape]!r}; name each once")
            seen[shape] = spec
        return others, unseen


class Mappability:
    """The model of the registry."""

    name = NAME
    config = MappabilityConfig

    def estimator(self, path: Path | None = None) -> LearnedEstimator:
        """The estimator with the shipped weights, or with others."""
        return shipped_estimator() if path is None else LearnedEstimator(load_network(path))

    def make_data(self, config: MappabilityConfig, work: Work) -> dict[str, Any]:
        """Label what is missing of the data set; goes on where it was stopped."""
        others, unseen = config.others_and_unseen()
        more = data.Others(arrays=(*others, *unseen), families=config.others_families, graphs=config.others_graphs)
        return data.make(config.families, config.graphs, config.arch, work, more)

    def train(self, config: MappabilityConfig, work: Work) -> dict[str, Any]:
        """Train our network on all graphs of the data set and save it."""
        from gridloom.learn.mappability_training import train_own

        rows, samples, shape = _samples(config, work)
        began = time.process_time()
        network = train_own(samples, _own(config), shape, work.seed, work.over, _kept(rows, work))
        path = work.weights or work.folder / f"{NAME}.npz"
        about = {"data": data.summary(rows), "settings": asdict(_own(config)), "seed": work.seed, "arch": config.arch}
        save_network(path, network, about)
        return {"weights": str(path), "bytes": path.stat().st_size, "cpu_seconds": time.process_time() - began, **about}

    def evaluate(self, config: MappabilityConfig, work: Work) -> dict[str, Any]:
        """Our network, DGCNN and the bound on held-out families, fold by fold; and the estimator's time a graph."""
        rows, samples, shape = _samples(config, work)
        kept = _kept(rows, work).of(folds=config.folds)
        settings = tuned(config, samples, shape, work, kept) if config.dgcnn else None
        judged = _folds(config, settings, samples, shape, work, kept)
        decided = [Judged(true=None, said=None, open=False) for row in rows if row.decided == "bound"]
        report: dict[str, Any] = {"data": data.summary(rows), "folds": config.folds}
        whole = len(judged["bound"]) == len(samples)
        for name, found in judged.items():
            report[name] = {"undecided": metrics(found)}
            # What counting decides belongs to no fold: it says nothing beside a part of them.
            if whole:
                report[name]["all"] = metrics([*found, *decided])
        report["own"]["calibration_error"] = calibration_error(judged["own"])
        report["own"]["ms_a_graph"] = milliseconds(samples, config, work)
        if settings is not None:
            report["dgcnn"]["settings"] = asdict(settings)
        return report

    def by_size(self, folder: Path, step: int) -> list[dict[str, Any]]:
        """Mappable share and utilisation N_op / (W * H) of the data set's graphs, by their number of ops."""
        rows = [row for row in data.read(folder / data.STORE_NAME) if row.family < OVERFULL and data.is_main(row)]
        groups: dict[int, list[data.Row]] = {}
        for row in rows:
            groups.setdefault((row.counts[0] - 1) // step, []).append(row)
        return [_point(k * step + 1, (k + 1) * step, groups[k]) for k in sorted(groups)]


def _point(first: int, last: int, rows: Sequence[data.Row]) -> dict[str, Any]:
    mapped = [row for row in rows if row.width is not None]
    shapes = {arch: ArrayShape.of(data.array(arch)) for arch in {row.arch for row in rows}}
    used = [row.counts[0] / ((row.width or 1) * shapes[row.arch].rows) for row in mapped]
    return {
        "from": first,
        "to": last,
        "ops": round(sum(row.counts[0] for row in rows) / len(rows), 2),
        "graphs": len(rows),
        "mappable": round(len(mapped) / len(rows), 4),
        "utilisation": round(sum(used) / len(used), 4) if used else None,
    }


def _samples(config: MappabilityConfig, work: Work) -> tuple[list[data.Row], list[Sample], ArrayShape]:
    from gridloom.learn.mappability_training import samples_of

    rows = [row for row in data.read(work.folder / data.STORE_NAME) if row.arch == config.arch and data.is_main(row)]
    shape = ArrayShape.of(build(config.arch))
    samples = samples_of(rows, shape)
    if len(samples) < FEWEST:
        raise OptionError(
            f"the data set has {len(samples)} graphs that counting does not decide, expected at least {FEWEST}; "
            "make more: `gridloom train mappability --make-data`",
            where=str(work.folder),
        )
    return rows, samples, shape


def _own(config: MappabilityConfig) -> OwnSettings:
    from gridloom.learn.mappability_training import OwnSettings

    return OwnSettings(epochs=config.epochs, members=config.members, most_false=config.most_false)


def _folds(
    config: MappabilityConfig,
    dgcnn: DgcnnSettings | None,
    samples: Sequence[Sample],
    shape: ArrayShape,
    work: Work,
    kept: Checkpoints,
) -> dict[str, list[Judged]]:
    from gridloom.learn import mappability_training as training

    folds = training.folds_of(samples, config.folds, work.seed)
    judged: dict[str, list[Judged]] = {"own": [], "bound": [], **({"dgcnn": []} if dgcnn else {})}
    for k, held in enumerate(folds):
        rest = [sample for j, fold in enumerate(folds) if j != k for sample in fold]
        here = kept.of(held=k, split=work.seed)
        network = training.train_own(rest, _own(config), shape, work.seed + k, work.over, here)
        judged["own"] += training.judge_own(network, held, shape.cols)
        judged["bound"] += training.judge_bound(held)
        if dgcnn is not None:
            judged["dgcnn"] += _dgcnn_fold(dgcnn, rest, held, shape, work, here, k)
        work.progress(f"fold {k + 1} of {config.folds}", (k + 1) / config.folds)
        if work.over():
            break
    return judged


def _kept(rows: list[data.Row], work: Work) -> Checkpoints:
    return Checkpoints(folder=work.folder, about={"data": data.data_hash(rows)}, resume=work.resume, over=work.over)


def _dgcnn_fold(
    settings: DgcnnSettings,
    rest: Sequence[Sample],
    held: Sequence[Sample],
    shape: ArrayShape,
    work: Work,
    kept: Checkpoints,
    k: int,
) -> list[Judged]:
    """What DGCNN says of a fold when it is trained on the others."""
    from gridloom.learn import mappability_training as training

    def said() -> list[int | None]:
        model = training.train_dgcnn(rest, settings, shape.cols, work.seed + k, work.over)
        return [item.said for item in training.judge_dgcnn(model, held, shape.cols)]

    found = kept.of(settings=asdict(settings)).plain("dgcnn", said)
    return [Judged(true=sample.row.width, said=width) for sample, width in zip(held, found, strict=True)]


def tuned(
    config: MappabilityConfig, samples: Sequence[Sample], shape: ArrayShape, work: Work, kept: Checkpoints
) -> DgcnnSettings:
    """DGCNN's settings: the published ones, or the best of some trials on one fold with a quarter of the epochs."""
    from gridloom.learn import mappability_training as training

    if config.trials == 0:
        return training.DgcnnSettings(epochs=config.dgcnn_epochs)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folds = training.folds_of(samples, config.folds, work.seed + 1)
    rest = [sample for fold in folds[1:] for sample in fold]

    def trial(asked: optuna.Trial) -> float:
        settings = training.DgcnnSettings(
            channels=asked.suggest_categorical("channels", [16, 32, 64]),
            layers=asked.suggest_int("layers", 2, 4),
            kept=asked.suggest_categorical("kept", [20, 30, 50]),
            dropout=asked.suggest_float("dropout", 0.1, 0.5),
            rate=asked.suggest_float("rate", 3e-4, 1e-2, log=True),
            epochs=max(1, config.dgcnn_epochs // 4),
        )
        model = training.train_dgcnn(rest, settings, shape.cols, work.seed, work.over)
        return float(metrics(training.judge_dgcnn(model, folds[0], shape.cols))["accuracy"])

    def best() -> dict[str, Any]:
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=work.seed))
        study.optimize(trial, n_trials=config.trials)
        return dict(study.best_params)

    found = kept.of(trials=config.trials, epochs=config.dgcnn_epochs, seed=work.seed).plain("tuning", best)
    return training.DgcnnSettings(epochs=config.dgcnn_epochs, **found)


def milliseconds(samples: Sequence[Sample], config: MappabilityConfig, work: Work) -> float | None:
    """CPU milliseconds that the estimator takes for a graph, features included; None: there are no weights yet."""
    try:
        estimator = Mappability().estimator(work.weights)
    except OptionError:
        return None
    arch = build(config.arch)
    graphs = [data.decode(sample.row) for sample in samples[:: max(1, len(samples) // 200)]]
    for graph in graphs[:5]:
        estimator.estimate(graph, arch)
    began = time.process_time()
    for graph in graphs:
        estimator.estimate(graph, arch)
    return round(1000 * (time.process_time() - began) / len(graphs), 3)


TASK = Mappability()
