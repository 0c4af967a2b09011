"""The model ``initiation``: which II does a loop reach on a modulo-scheduled array?

Its data set, its training and its evaluation beside the MII, a constant, a closed form and regression. Importing this
needs neither torch nor scikit-learn, since the shipped estimator runs on numpy; training needs scikit-learn.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.learn import weights
from gridloom.learn.boosted import ForestSettings
from gridloom.learn.labelling import label_missing
from gridloom.run import Store
from gridloom.run.work import WorkFolder
from gridloom.search.settings import check_settings
from gridloom.targets.modulo.ii_estimate import IiEstimate
from gridloom.targets.modulo.learned import data, labels
from gridloom.targets.modulo.learned.inference import NAME, LearnedIi, load_trees, save_trees, shipped_estimator
from gridloom.targets.modulo.learned.labels import LabelledLoop
from gridloom.targets.modulo.learned.random_loops import array
from gridloom.targets.modulo.learned.training import RIVALS, Predictor, folds_of, predictor_of, train_trees

#: The fewest pairs that training takes.
FEWEST = 40


@dataclass(frozen=True, kw_only=True)
class InitiationConfig:
    """Settings of ``gridloom train initiation`` and ``gridloom eval initiation``."""

    read_by: ClassVar[Mapping[str, frozenset[str]]] = {"evaluate": frozenset({"relabel"})}
    #: How many families of drawn loops, and how many loops of each.
    families: int = 500
    graphs: int = 6
    #: Loops of files beside the drawn ones: paths or patterns of paths, spaces separate them.
    files: str = ""
    #: Folds of the cross-validation; a family is in one fold. 0: the shipped weights alone, on all labels.
    folds: int = 5
    #: Boosted trees, their depth and the rate at which they are added.
    trees: int = 300
    depth: int = 4
    rate: float = 0.1
    #: The probability from which on an II counts as reachable.
    level: float = 0.5
    #: Evaluation: draw and label so many pairs again, chosen at random, and only report how many differ.
    relabel: int = 0

    def __post_init__(self) -> None:
        at_least = {"families": 1, "graphs": 1, "folds": 0, "trees": 1, "depth": 1, "relabel": 0}
        check_settings(self, at_least=at_least, positive=("rate",), shares=("level",))
        if self.folds == 1:
            raise OptionError("folds: expected 0 (the shipped weights) or at least 2, found 1")

    @property
    def tree_settings(self) -> ForestSettings:
        """The settings of the trees."""
        return ForestSettings(trees=self.trees, depth=self.depth, rate=self.rate)

    def sources(self) -> list[str]:
        """Return the files, patterns expanded; OptionError for a pattern that no file matches."""
        found: list[str] = []
        for pattern in self.files.split():
            path = Path(pattern)
            matches = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor)))) if path.name else []
            if not matches:
                raise OptionError(f"files: no file matches {pattern!r}")
            found += [str(match) for match in matches]
        return found


class InitiationModel:
    """What the registry holds under ``initiation``: the methods of every model, besides ``estimator``."""

    name = NAME
    config = InitiationConfig

    @property
    def trained(self) -> bool:
        """Whether the package has weights."""
        return weights.weights_path(NAME).exists()

    def estimator(self, path: Path | None = None) -> LearnedIi:
        """Return the estimator with the shipped weights, or with those of a file."""
        return shipped_estimator() if path is None else LearnedIi(load_trees(path))

    def estimate(self, dfg: Dfg, arch: Arch) -> IiEstimate:
        """Return the estimate of the estimator with the shipped weights."""
        return self.estimator().estimate(dfg, arch)

    def make_data(self, config: InitiationConfig, work: WorkFolder) -> dict[str, Any]:
        """Label what is missing of the data set and return its counts; a stopped run continues where it was.

        The labels with their features, as the package holds them, are written beside the store.
        """
        path = work.folder / data.STORE_NAME
        wanted = list(data.pairs(config.families, config.graphs, config.sources()))
        usable = (data.question(source, arch) for source, arch in wanted if data.usable(source, arch))
        with Store(path) as store:
            done = label_missing(data.label, usable, len(wanted), "pairs", store, work)
        pairs = labels.of_store(path)
        labels.pack(work.folder / labels.FILE, pairs)
        return {"computed": done.computed, "failed": done.failed, **summary(pairs)}

    def train(self, config: InitiationConfig, work: WorkFolder) -> dict[str, Any]:
        """Train the trees on all pairs but those of files of other groups, save them and return their card.

        OptionError where the data set has too few pairs. Takes some seconds.
        """
        pairs = [pair for pair in _pairs(work) if pair.group != "files"]
        began = time.process_time()
        trees = replace(train_trees(pairs, config.tree_settings, work.seed), level=config.level)
        path = work.weights or work.folder / f"{NAME}.npz"
        about = {"data": summary(pairs), "settings": asdict(config.tree_settings), "seed": work.seed}
        save_trees(path, trees, about)
        return {"weights": str(path), "bytes": path.stat().st_size, "cpu_seconds": time.process_time() - began, **about}

    def evaluate(self, config: InitiationConfig, work: WorkFolder) -> dict[str, Any]:
        """Return the errors of the trees and of their rivals on held-out families, and the estimator's time.

        ``folds=0`` measures the shipped weights, which all pairs but those of files were trained on; ``relabel`` checks
        the labels instead.
        """
        pairs = _pairs(work)
        if config.relabel:
            return labels.check_labels(pairs, config.relabel, work.seed)
        report: dict[str, Any] = {"data": summary(pairs), "folds": config.folds, "held_out": config.folds > 0}
        if config.folds == 0:
            judged = {"learned": _judged(pairs, predictor_of(self.estimator(work.weights).trees)(pairs))}
            judged["mii"] = _judged(pairs, np.zeros(len(pairs), dtype=np.int64))
        else:
            judged = _folds(config, pairs, work)
        report |= {name: _figures(rows) for name, rows in judged.items()}
        return {**report, "ms_a_pair": self._milliseconds(pairs, work)}

    def _milliseconds(self, pairs: Sequence[LabelledLoop], work: WorkFolder) -> float | None:
        """CPU milliseconds of an estimate, features included; None: there are no weights."""
        try:
            estimator = self.estimator(work.weights)
        except OptionError:
            return None
        drawn = [pair for pair in pairs if pair.group == "drawn"]
        asked = [(data.fit_source(p.source, array(p.arch)), array(p.arch)) for p in drawn[:: max(1, len(drawn) // 100)]]
        # The first estimates load the weights and compute the numbers of each array.
        for dfg, arch in asked:
            estimator.estimate(dfg, arch)
        began = time.process_time()
        for dfg, arch in asked:
            estimator.estimate(dfg, arch)
        return round(1000 * (time.process_time() - began) / max(1, len(asked)), 3)


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair and how far above its MII a model puts its II."""

    pair: LabelledLoop
    above: int

    @property
    def error(self) -> int:
        """How many cycles the predicted II is away from the label."""
        return abs(self.pair.mii + self.above - self.pair.ii)


def _judged(pairs: Sequence[LabelledLoop], above: NDArray[np.int64]) -> list[JudgedPair]:
    return [JudgedPair(pair, int(value)) for pair, value in zip(pairs, above, strict=True)]


def _folds(config: InitiationConfig, pairs: Sequence[LabelledLoop], work: WorkFolder) -> dict[str, list[JudgedPair]]:
    """What each model predicts for families that it was not fitted on.

    Files of other groups are in no training set; families of the same name are held out with them.
    """

    def learned(known: Sequence[LabelledLoop]) -> Predictor:
        trees = train_trees(known, config.tree_settings, work.seed)
        return predictor_of(replace(trees, level=config.level))

    models = {"learned": learned, **RIVALS}
    judged: dict[str, list[JudgedPair]] = {name: [] for name in models}
    folds = folds_of(pairs, config.folds, work.seed)
    for k, held in enumerate(folds):
        known = [pair for j, fold in enumerate(folds) if j != k for pair in fold if pair.group != "files"]
        for name, fit in models.items():
            judged[name] += _judged(held, fit(known)(held))
        work.progress(f"fold {k + 1} of {config.folds}", (k + 1) / config.folds)
        if work.over():
            break
    return judged


def _figures(judged: Sequence[JudgedPair]) -> dict[str, Any]:
    """Errors over all pairs, over those whose label is above the MII, and for each group of loops."""
    told = {"all": _errors(judged), "above_mii": _errors([row for row in judged if row.pair.ii > row.pair.mii])}
    groups = sorted({row.pair.group for row in judged})
    return {**told, "groups": {name: _errors([row for row in judged if row.pair.group == name]) for name in groups}}


def _errors(judged: Sequence[JudgedPair]) -> dict[str, Any]:
    """Pairs, the mean error in cycles and as a share of the label, and the share of exact predictions."""
    if not judged:
        return {"pairs": 0}
    errors = np.array([row.error for row in judged])
    iis = np.array([row.pair.ii for row in judged])
    return {
        "pairs": len(judged),
        "error": round(float(errors.mean()), 4),
        "relative_error": round(float((errors / iis).mean()), 4),
        "exact": round(float((errors == 0).mean()), 4),
    }


def summary(pairs: Sequence[LabelledLoop]) -> dict[str, Any]:
    """Return the counts of a data set."""
    groups = sorted({pair.group for pair in pairs})
    return {
        "version": data.VERSION,
        "pairs": len(pairs),
        "families": len({data.family_of(pair.source) for pair in pairs}),
        "arrays": len({pair.arch for pair in pairs}),
        "above_mii": sum(pair.ii > pair.mii for pair in pairs),
        "groups": {name: sum(pair.group == name for pair in pairs) for name in groups},
    }


def _pairs(work: WorkFolder) -> list[LabelledLoop]:
    """The labels of the folder, or where it has none, those of the package; OptionError where they are too few."""
    store, packed = work.folder / data.STORE_NAME, work.folder / labels.FILE
    if packed.exists():
        pairs = labels.read(packed)
    else:
        pairs = labels.of_store(store) if store.exists() else labels.read()
    if len(pairs) < FEWEST:
        raise OptionError(
            f"the data set has {len(pairs)} pairs, expected at least {FEWEST}; make more: `gridloom train initiation "
            "--make-data`",
            where=str(work.folder),
        )
    return pairs


MODEL = InitiationModel()
