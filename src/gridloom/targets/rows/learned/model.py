"""The model ``mappability``: does a graph fit an array of rows, and how many columns does it need?

Its data set, its training and its evaluation beside DGCNN and the bounds. Importing this needs no torch, since the
shipped estimator runs on numpy; training needs it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.learn.checkpoints import Checkpoints
from gridloom.partition.width_estimate import WidthEstimate
from gridloom.run.work import WorkFolder
from gridloom.search.settings import check_settings
from gridloom.targets.rows.learned import data, labels, published
from gridloom.targets.rows.learned.features import ArrayShape, of_row
from gridloom.targets.rows.learned.inference import (
    NAME,
    LearnedEstimator,
    load_network,
    save_network,
    shipped_estimator,
)
from gridloom.targets.rows.learned.metrics import JudgedWidth, calibration_error, metrics
from gridloom.targets.rows.learned.random_graphs import OVERFULL
from gridloom.targets.rows.learned.samples import (
    DgcnnSettings,
    GraphSample,
    NetworkSettings,
    calibrate_network,
    folds_of,
    judge_bound,
    judge_network,
    judge_rows,
    judge_width,
    samples_of,
)

FEWEST = 200

#: The two parts of our estimator, each alone: how much the networks' logit and the trees' score count.
PARTS: Final = {"networks": (1.0, 0.0), "trees": (0.0, 1.0)}


@dataclass(frozen=True, kw_only=True)
class MappabilityConfig:
    """Settings of ``gridloom train mappability`` and ``gridloom eval mappability``.

    OptionError for numbers out of range. Training and evaluation take all rows that the store has of these arrays;
    ``families`` and ``graphs`` only say how many are made.
    """

    read_by: ClassVar[Mapping[str, frozenset[str]]] = {"evaluate": frozenset({"relabel"})}
    #: How many families of graphs, and how many graphs of each.
    families: int = 640
    graphs: int = 8
    #: The array that the figures are measured on.
    arch: str = "vpcma"
    #: Further arrays that training sees, and arrays that are only measured on; spaces separate them.
    others: str = "vpcma:4x12 vpcma:6x12 vpcma:10x12 vpcma:8x16"
    unseen: str = "vpcma:7x12 vpcma:9x14"
    #: For each of those arrays: how many families, and how many graphs of each.
    others_families: int = 100
    others_graphs: int = 1
    #: Folds of the cross-validation; a family is in one fold. 0: the shipped weights alone, on all labels.
    folds: int = 5
    #: Evaluation: also train and measure DGCNN, which takes most of the time.
    dgcnn: bool = True
    #: Trials of Optuna on DGCNN's settings before its folds; 0: the published defaults.
    trials: int = 0
    #: Passes over the data when our network and when DGCNN is trained.
    epochs: int = 20
    dgcnn_epochs: int = 30
    #: Networks whose outputs are averaged; each is trained without a share of the families.
    members: int = 5
    #: The highest false-positive rate (share of the graphs that do not map) at which the threshold is chosen.
    most_false: float = 0.03
    #: Evaluation: label so many graphs again, chosen at random, and only report how many labels differ.
    relabel: int = 0

    def __post_init__(self) -> None:
        at_least = {"families": 1, "graphs": 1, "folds": 0, "relabel": 0, "trials": 0, "epochs": 1, "dgcnn_epochs": 1,
                    "members": 1, "others_families": 1, "others_graphs": 1}  # fmt: skip
        check_settings(self, at_least=at_least, shares=("most_false",))
        if self.folds == 1:
            raise OptionError("folds: expected 0 (the shipped weights) or at least 2, found 1")

    def others_and_unseen(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the arrays beside the main one; OptionError where two of all arrays have the same shape."""
        others, unseen = tuple(self.others.split()), tuple(self.unseen.split())
        seen: dict[ArrayShape, str] = {}
        for spec in (self.arch, *others, *unseen):
            shape = ArrayShape.of(data.array(spec))
            if shape in seen:
                raise OptionError(f"others, unseen: {spec!r} is the same array as {seen[shape]!r}; name each once")
            seen[shape] = spec
        return others, unseen


class MappabilityModel:
    """What the registry holds under ``mappability``.

    Its methods are those of every model in the registry, besides ``estimator`` and ``by_size``.
    """

    name = NAME
    config = MappabilityConfig

    def estimator(self, path: Path | None = None) -> LearnedEstimator:
        """Return the estimator with the shipped weights, or with those of a file."""
        return shipped_estimator() if path is None else LearnedEstimator(load_network(path))

    def published_estimator(self) -> published.PublishedEstimator:
        """Return the published network, DGCNN, with its shipped weights."""
        return published.shipped_estimator()

    def make_data(self, config: MappabilityConfig, work: WorkFolder) -> dict[str, Any]:
        """Label what is missing of the data set and return its counts; a stopped run continues where it was.

        A new data set begins with the labels of the package. The labels alone, as the package holds them, are written
        beside the store.
        """
        others, unseen = config.others_and_unseen()
        more = data.Others(arrays=(*others, *unseen), families=config.others_families, graphs=config.others_graphs)
        arrays = (config.arch, *others, *unseen)
        known = labels.read(only=arrays) if labels.labels_path().exists() else ()
        made = data.make(config.families, config.graphs, config.arch, work, more, known)
        labels.pack(work.folder / labels.FILE, data.read(work.folder / data.STORE_NAME))
        return made

    def estimate(self, dfg: Dfg, arch: Arch) -> WidthEstimate:
        """Return the estimate of the estimator with the shipped weights."""
        return self.estimator().estimate(dfg, arch)

    def train(self, config: MappabilityConfig, work: WorkFolder) -> dict[str, Any]:
        """Train our network on all graphs of the data set but those of the unseen arrays, save it, return its card.

        OptionError where the data set has too few graphs. Costs about half a minute per member for 6,000 graphs, and
        nothing for members whose checkpoint is there.
        """
        from gridloom.targets.rows.learned.training import train_network

        labelled = _labelled(config, work)
        rows = labelled.trained
        began = time.process_time()
        samples = [*labelled.samples, *labelled.others]
        network = train_network(samples, _network_settings(config), work.seed, work.over, _kept(rows, work))
        path = work.weights or work.folder / f"{NAME}.npz"
        about = {
            "data": data.summary(rows),
            "settings": asdict(_network_settings(config)),
            "seed": work.seed,
            "arch": config.arch,
        }
        save_network(path, network, about)
        if config.dgcnn:
            _save_dgcnn(path.with_name(f"{published.NAME}.npz"), config, labelled, work, about)
        return {"weights": str(path), "bytes": path.stat().st_size, "cpu_seconds": time.process_time() - began, **about}

    def evaluate(self, config: MappabilityConfig, work: WorkFolder) -> dict[str, Any]:
        """Return figures of our network, DGCNN and the bounds on held-out families, and the estimator's time per graph.

        All figures are of the main array, except those under ``arrays``: there each other array has its own, and
        ``trained`` says whether training saw it (with other families) or never did.

        Where the time is over, the figures are those of the folds that were finished. ``folds=0`` measures the shipped
        weights, which most of the graphs were trained on; ``relabel`` checks the labels instead.
        """
        if config.relabel:
            return labels.check_labels(_rows(work), config.relabel, work.seed)
        labelled = _labelled(config, work)
        if config.folds == 0:
            return _shipped_figures(config, labelled, work)
        # DGCNN sees the main array only: other arrays do not make its folds another piece of work.
        kept = _kept(labelled.rows, work).of(folds=config.folds)
        settings = tune_settings(config, labelled.samples, labelled.shape, work, kept) if config.dgcnn else None
        judged = _folds(config, settings, labelled, work, kept)
        whole = len(judged["bound", config.arch]) == len(labelled.samples)
        trained = {config.arch, *config.others.split()}
        report: dict[str, Any] = {"data": data.summary([*labelled.trained, *labelled.unseen]), "folds": config.folds}
        for (name, spec), predictions in judged.items():
            figures = _figures(predictions, labelled.decided(spec) if whole else None)
            if spec == config.arch:
                report[name] = {**figures, **({} if name == "dgcnn" else {"arrays": {}})}
            else:
                report[name]["arrays"][spec] = {"trained": spec in trained, **figures}
        report["own"]["calibration_error"] = calibration_error(judged["own", config.arch])
        report["own"]["ms_a_graph"] = milliseconds(labelled.samples, config, work)
        if settings is not None:
            report["dgcnn"]["settings"] = asdict(settings)
        return report

    def by_size(self, folder: Path | None, step: int) -> list[dict[str, Any]]:
        """Return the mappable share and the utilisation N_op / (W * H) of the data set's graphs by number of ops.

        H is the fewest rows that counting and the rule of rows leave on W columns, W the label. Without a folder the
        labels are those of the package. A row covers ``step`` numbers of ops; overfull families and the other arrays
        are left out. OptionError for a data set without such a graph: labelling was interrupted at once, or every
        label failed.
        """
        path = labels.labels_path() if folder is None else folder / data.STORE_NAME
        found = labels.read() if folder is None else data.read(path)
        rows = [row for row in found if row.family < OVERFULL and data.is_main(row)]
        if not rows:
            raise OptionError(
                "holds no labelled graph of the main array; `gridloom train mappability --make-data` adds them",
                where=str(path),
            )
        groups: dict[int, list[data.LabelledGraph]] = {}
        for row in rows:
            groups.setdefault((row.counts[0] - 1) // step, []).append(row)
        return [_point(k * step + 1, (k + 1) * step, groups[k]) for k in sorted(groups)]


def _save_dgcnn(
    path: Path, config: MappabilityConfig, labelled: _Labelled, work: WorkFolder, about: dict[str, Any]
) -> None:
    """Train the published network on the graphs of the main array that counting does not decide, and save it."""
    from gridloom.targets.rows.learned import training

    settings = DgcnnSettings(epochs=config.dgcnn_epochs)
    model = training.train_dgcnn(labelled.samples, settings, labelled.shape.cols, work.seed, work.over)
    parameters = {key: value.detach().numpy() for key, value in model.state_dict().items()}
    network = published.PublishedNetwork(
        parameters=parameters, kept=settings.kept, rows=labelled.shape.rows, cols=labelled.shape.cols
    )
    published.save(path, network, {**about, "data": data.summary(labelled.rows), "settings": asdict(settings)})


def _point(first: int, last: int, rows: Sequence[data.LabelledGraph]) -> dict[str, Any]:
    """Mappable share and utilisation of the graphs of one range of sizes."""
    mapped = [row for row in rows if row.width is not None]
    shapes = {arch: ArrayShape.of(data.array(arch)) for arch in {row.arch for row in rows}}
    used = [row.counts[0] / ((row.width or 1) * _least_height(row, shapes[row.arch])) for row in mapped]
    return {
        "from": first,
        "to": last,
        "ops": round(sum(row.counts[0] for row in rows) / len(rows), 2),
        "graphs": len(rows),
        "mappable": round(len(mapped) / len(rows), 4),
        "utilisation": round(sum(used) / len(used), 4) if used else None,
    }


def _least_height(row: data.LabelledGraph, shape: ArrayShape) -> int:
    """The fewest rows on which a graph could fit its width: by counting its ops, and by the rule of rows."""
    return max(-(-row.counts[0] // (row.width or 1)), of_row(row, shape).least_rows)


def _figures(judged: Sequence[JudgedWidth], decided: int | None) -> dict[str, Any]:
    """Metrics on the graphs that neither counting nor rows decide, on those that counting does not, and on all.

    ``decided`` counts those that counting decides. They are in no fold, so they are left out where only a part of the
    folds was run.
    """
    told = {"open": metrics([item for item in judged if not item.proved]), "undecided": metrics(judged)}
    if decided is None:
        return told
    refused = JudgedWidth(actual=None, predicted=None, open=False)
    return {**told, "all": metrics([*judged, *[refused] * decided])}


def _shipped_figures(config: MappabilityConfig, labelled: _Labelled, work: WorkFolder) -> dict[str, Any]:
    """The shipped weights on all labels, most of which they were trained on, beside rows and bound."""

    network = MODEL.estimator(work.weights).network
    judged = {
        "own": judge_network(network, labelled.samples),
        "rows": judge_rows(labelled.samples),
        "bound": judge_bound(labelled.samples),
    }
    decided = labelled.decided(config.arch)
    report: dict[str, Any] = {
        "data": data.summary([*labelled.trained, *labelled.unseen]),
        "folds": 0,
        "held_out": False,
    }
    report |= {name: _figures(told, decided) for name, told in judged.items()}
    report["own"]["ms_a_graph"] = milliseconds(labelled.samples, config, work)
    return report


@dataclass(frozen=True, kw_only=True)
class _Labelled:
    """The data set as training and evaluation use it."""

    shape: ArrayShape
    #: Rows of the main array; rows of all arrays that are trained on; rows of the unseen arrays.
    rows: list[data.LabelledGraph]
    trained: list[data.LabelledGraph]
    unseen: list[data.LabelledGraph]
    #: Samples of the main array, of the others, and of the unseen ones.
    samples: list[GraphSample]
    others: list[GraphSample]
    further: list[GraphSample]

    def decided(self, spec: str) -> int:
        """Return how many graphs of an array counting decides."""
        return sum(row.decided == "bound" and row.arch == spec for row in (*self.trained, *self.unseen))


def _rows(work: WorkFolder) -> list[data.LabelledGraph]:
    """The labels of the folder, or where it has none, those of the package."""
    path = work.folder / data.STORE_NAME
    return data.read(path) if path.exists() or not labels.labels_path().exists() else labels.read()


def _labelled(config: MappabilityConfig, work: WorkFolder) -> _Labelled:
    """Read the data set; OptionError where it has too little of the main array, or nothing of another."""
    others, unseen = config.others_and_unseen()
    by_array: dict[str, list[data.LabelledGraph]] = {spec: [] for spec in (config.arch, *others, *unseen)}
    for row in _rows(work):
        if row.arch in by_array and data.is_main(row) == (row.arch == config.arch):
            by_array[row.arch].append(row)
    main = by_array[config.arch]
    beside, further = ([row for spec in specs for row in by_array[spec]] for specs in (others, unseen))
    samples = samples_of(main)
    if len(samples) < FEWEST:
        raise OptionError(
            f"the data set has {len(samples)} graphs that counting does not decide, expected at least {FEWEST}; "
            "make more: `gridloom train mappability --make-data`",
            where=str(work.folder),
        )
    missing = [spec for spec, rows in by_array.items() if all(row.decided == "bound" for row in rows)]
    if missing:
        raise OptionError(
            f"the data set has no graphs of {', '.join(missing)} that counting does not decide; make some with "
            "`gridloom train mappability --make-data`, or leave these arrays out: --set others= --set unseen=",
            where=str(work.folder),
        )
    return _Labelled(
        shape=ArrayShape.of(data.array(config.arch)),
        rows=main,
        trained=[*main, *beside],
        unseen=further,
        samples=samples,
        others=samples_of(beside),
        further=samples_of(further),
    )


def _network_settings(config: MappabilityConfig) -> NetworkSettings:
    return NetworkSettings(epochs=config.epochs, members=config.members, most_false=config.most_false)


def _folds(
    config: MappabilityConfig, dgcnn: DgcnnSettings | None, labelled: _Labelled, work: WorkFolder, kept: Checkpoints
) -> dict[tuple[str, str], list[JudgedWidth]]:
    """What each model predicts for each array's graphs, by the model's name and the array, the main array first.

    Folds are by family. A network that predicts a fold of the unseen arrays was trained on the other folds of the seen
    ones, so neither the array nor the family is known to it.
    """
    from gridloom.targets.rows.learned import training

    main = config.arch
    specs = (main, *config.others.split(), *config.unseen.split())
    names = ("own", *PARTS, "rows", "bound")
    judged: dict[tuple[str, str], list[JudgedWidth]] = {(name, spec): [] for name in names for spec in specs}
    if dgcnn is not None:
        judged["dgcnn", main] = []
    known = {id(sample) for sample in (*labelled.samples, *labelled.others)}
    folds = folds_of([*labelled.samples, *labelled.others, *labelled.further], config.folds, work.seed)
    own = _kept(labelled.trained, work).of(folds=config.folds)
    for k, held in enumerate(folds):
        rest = [sample for j, fold in enumerate(folds) if j != k for sample in fold if id(sample) in known]
        part = {"held": k, "split": work.seed}
        settings = _network_settings(config)
        network = training.train_network(rest, settings, work.seed + k, work.over, own.of(**part))
        alone = {
            name: calibrate_network(replace(network, parts=parts), rest, settings, work.seed + k)
            for name, parts in PARTS.items()
        }
        for spec in specs:
            here = [sample for sample in held if sample.row.arch == spec]
            for name, judge in {"own": network, **alone}.items():
                judged[name, spec] += judge_network(judge, here)
            judged["rows", spec] += judge_rows(here)
            judged["bound", spec] += judge_bound(here)
        if dgcnn is not None:
            seen, asked = ([sample for sample in some if sample.row.arch == main] for some in (rest, held))
            judged["dgcnn", main] += _dgcnn_fold(dgcnn, seen, asked, labelled.shape, work, kept.of(**part), k)
        work.progress(f"fold {k + 1} of {config.folds}", (k + 1) / config.folds)
        if work.over():
            break
    return judged


def _kept(rows: list[data.LabelledGraph], work: WorkFolder) -> Checkpoints:
    """The checkpoints of a run on these rows: another data set has other files."""
    return Checkpoints(folder=work.folder, about={"data": data.data_hash(rows)}, resume=work.resume, over=work.over)


def _dgcnn_fold(
    settings: DgcnnSettings,
    rest: Sequence[GraphSample],
    held: Sequence[GraphSample],
    shape: ArrayShape,
    work: WorkFolder,
    kept: Checkpoints,
    k: int,
) -> list[JudgedWidth]:
    """What DGCNN predicts for a fold when it is trained on the others."""
    from gridloom.targets.rows.learned import training

    def predictions() -> list[int | None]:
        model = training.train_dgcnn(rest, settings, shape.cols, work.seed + k, work.over)
        return [item.predicted for item in training.judge_dgcnn(model, held, shape.cols)]

    widths = kept.of(settings=asdict(settings)).plain("dgcnn", predictions)
    return [judge_width(sample, width) for sample, width in zip(held, widths, strict=True)]


def tune_settings(
    config: MappabilityConfig, samples: Sequence[GraphSample], shape: ArrayShape, work: WorkFolder, kept: Checkpoints
) -> DgcnnSettings:
    """Return DGCNN's settings: the published ones, or the best of some trials on two folds with half of the epochs.

    One fold would say too little: settings that train well on it may diverge on others.
    """
    from gridloom.targets.rows.learned import training

    if config.trials == 0:
        return DgcnnSettings(epochs=config.dgcnn_epochs)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folds = folds_of(samples, config.folds, work.seed + 1)

    def trial(asked: optuna.Trial) -> float:
        """Accuracy of one choice of settings on two folds."""
        settings = DgcnnSettings(
            channels=asked.suggest_categorical("channels", [16, 32, 64]),
            layers=asked.suggest_int("layers", 2, 4),
            kept=asked.suggest_categorical("kept", [20, 30, 50]),
            dropout=asked.suggest_float("dropout", 0.1, 0.5),
            rate=asked.suggest_float("rate", 3e-4, 1e-2, log=True),
            epochs=max(1, config.dgcnn_epochs // 2),
        )
        judged: list[JudgedWidth] = []
        for k in range(2):
            rest = [sample for j, fold in enumerate(folds) if j != k for sample in fold]
            model = training.train_dgcnn(rest, settings, shape.cols, work.seed + k, work.over)
            judged += training.judge_dgcnn(model, folds[k], shape.cols)
        return float(metrics(judged)["accuracy"])

    def best() -> dict[str, Any]:
        """The best parameters of all trials."""
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=work.seed))
        # The published settings are the first trial: others have to do better after the short training.
        usual = DgcnnSettings()
        study.enqueue_trial({name: getattr(usual, name) for name in ("channels", "layers", "kept", "dropout", "rate")})
        study.optimize(trial, n_trials=config.trials)
        return dict(study.best_params)

    chosen = kept.of(trials=config.trials, epochs=config.dgcnn_epochs, seed=work.seed, on=2).plain("tuning", best)
    return DgcnnSettings(epochs=config.dgcnn_epochs, **chosen)


def milliseconds(samples: Sequence[GraphSample], config: MappabilityConfig, work: WorkFolder) -> float | None:
    """Return the CPU milliseconds that the estimator takes per graph, features included; None: there are no weights."""
    try:
        estimator = MODEL.estimator(work.weights)
    except OptionError:
        return None
    arch = build(config.arch)
    graphs = [data.decode(sample.row) for sample in samples[:: max(1, len(samples) // 200)]]
    # The first graphs load the weights and warm up numpy, which is not part of the time per graph.
    for graph in graphs[:5]:
        estimator.estimate(graph, arch)
    began = time.process_time()
    for graph in graphs:
        estimator.estimate(graph, arch)
    return round(1000 * (time.process_time() - began) / len(graphs), 3)


MODEL = MappabilityModel()
